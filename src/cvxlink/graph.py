"""The graph: who is near whom, and how smooth a kernel is over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from .errors import InvalidInput
from .validation import as_count, as_permutation, as_points, real_array

Symmetrize = Literal["union", "mean", "mutual"]

# An edge that joins two components must join them numerically too: far apart, exp(−d²/2σ²) underflows.
LEAST_BRIDGE_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class Graph:
    r"""A weighted undirected graph on n points.

    Attributes
    ----------
    W : sparse matrix, n × n
        The affinity: symmetric, non-negative, zero diagonal.
    points : array or None
        The data the graph was built from, where it was.
    recipe : str
        How it was built, in words.

    Notes
    -----
    Build one with :meth:`knn`, :meth:`rbf` or :meth:`from_affinity`. Its Laplacian measures how smooth
    a kernel :math:`K` is: :math:`\langle L, K\rangle = \tfrac12\sum_{ij} w_{ij}\|\phi_i-\phi_j\|^2`.
    """

    W: sp.csr_array
    points: np.ndarray | None = None
    recipe: str = "given affinity"

    def __post_init__(self) -> None:
        if not sp.issparse(self.W):
            raise InvalidInput("build a graph with Graph.knn, Graph.rbf or Graph.from_affinity")
        if self.W.shape[0] != self.W.shape[1] or self.W.shape[0] == 0:
            raise InvalidInput(f"the affinity must be square and not empty; its shape is {self.W.shape}")
        if not np.isfinite(self.W.data).all():
            raise InvalidInput("the affinity has NaN or infinite entries; remove them first")
        least, most = (self.W.min(), self.W.max()) if self.W.nnz else (0.0, 0.0)
        if least < 0:
            raise InvalidInput(
                f"the affinity has negative entries (the least is {least:.3g}); clip or shift them first"
            )
        asymmetry = abs(self.W - self.W.T).max() if self.W.nnz else 0.0
        if asymmetry > 1e-8 * most:
            raise InvalidInput(
                f"the affinity is not symmetric (by {asymmetry:.3g}); use (W + W.T) / 2 if that is meant"
            )

    # ------------------------------------------------------------------ building

    @classmethod
    def knn(
        cls,
        X: Any,
        n_neighbors: int = 10,
        sigma: float | str = "mean",
        symmetrize: Symmetrize = "union",
        connect: bool = True,
    ) -> Graph:
        r"""Join each point to its nearest neighbours with weights :math:`\exp(-d^2/2\sigma^2)`.

        Parameters
        ----------
        X : array, n × d
        n_neighbors : int
            Neighbours of each point, itself not counted.
        sigma : float or "mean"
            The width; "mean" is the average distance from a point to its neighbours.
        symmetrize : "union", "mean" or "mutual"
            Keep an edge if either end chose the other (the larger weight), average the two directions,
            or keep it only if both did (the smaller weight).
        connect : bool
            Join the components by the shortest edges that do it (those of a minimum spanning tree).
            Such an edge weighs at least 1e-6, so that distance cannot make it vanish.
        """
        points = as_points(X)
        n = len(points)
        if n < 2:
            raise InvalidInput("a neighbour graph needs at least two points")
        k = as_count(n_neighbors, "n_neighbors", 1, n - 1)
        if symmetrize not in ("union", "mean", "mutual"):
            raise InvalidInput(f"symmetrize must be 'union', 'mean' or 'mutual', not {symmetrize!r}")
        distances = sp.csr_array(kneighbors_graph(points, k, mode="distance"))
        width = _width(sigma, distances.data)
        directed = distances.copy()
        directed.data = _gaussian(distances.data, width)
        if symmetrize == "union":
            W = directed.maximum(directed.T)
        elif symmetrize == "mutual":
            W = directed.minimum(directed.T)
        else:
            W = (directed + directed.T) / 2
        recipe = f"{k} nearest neighbours ({symmetrize}), sigma = {width:.4g}"
        graph = cls(_cleaned(W), points, recipe)
        return graph._connected(lambda d: _gaussian(d, width)) if connect else graph

    @classmethod
    def rbf(cls, X: Any, sigma: float | str = 1.0) -> Graph:
        r"""Join every pair of points with weight :math:`\exp(-d^2/2\sigma^2)`.

        The width "mean" is the average distance of two points. The graph is dense: for a few thousand
        points at most.
        """
        points = as_points(X)
        n = len(points)
        distances = pairwise_distances(points)
        width = _width(sigma, distances[np.triu_indices(n, 1)])
        return cls(_cleaned(sp.csr_array(_gaussian(distances, width))), points, f"RBF, sigma = {width:.4g}")

    @classmethod
    def from_affinity(cls, W: Any) -> Graph:
        """Take a given affinity, dense or sparse.

        It must be square, symmetric and non-negative. Its diagonal is set to zero: a point's affinity to
        itself says nothing about clusters, but would change the degrees.
        """
        if not sp.issparse(W):
            W = real_array(W, "the affinity")
            if W.ndim != 2:
                raise InvalidInput(f"the affinity must be a matrix; its shape is {W.shape}")
        if np.iscomplexobj(W):
            raise InvalidInput("the affinity is complex; give real numbers")
        given = cls(sp.csr_array(W, dtype=float))  # checks it
        return cls(_cleaned((given.W + given.W.T) / 2))

    def _connected(self, weight: Callable[[np.ndarray], np.ndarray]) -> Graph:
        """Add the spanning-tree edges that join the components (Borůvka's rounds)."""
        graph, added = self, 0
        while graph.n_components > 1:
            assert self.points is not None
            ends, distances = _bridges(self.points, graph.components)
            weights = np.maximum(weight(distances), LEAST_BRIDGE_WEIGHT)
            bridge = sp.csr_array((weights, (ends[:, 0], ends[:, 1])), shape=self.W.shape)
            added += len(ends)
            recipe = f"{self.recipe}, {added} spanning-tree edges added"
            graph = Graph(_cleaned(graph.W + bridge + bridge.T), self.points, recipe)
        return graph

    # ------------------------------------------------------------------ reading

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.W.shape[0])

    @property
    def n_edges(self) -> int:
        """The number of edges, each counted once."""
        return int(self.W.nnz // 2)

    @cached_property
    def degrees(self) -> np.ndarray:
        """The degree d = W1 of each point."""
        return np.asarray(self.W.sum(axis=1)).ravel()

    @cached_property
    def components(self) -> np.ndarray:
        """The number of the connected component each point lies in."""
        return connected_components(self.W, directed=False)[1]

    @property
    def n_components(self) -> int:
        """The number of connected components."""
        return int(self.components.max()) + 1

    def laplacian(self, normalized: bool = True) -> sp.csr_array:
        r"""Return :math:`\bar L = D^{-1/2}(D-W)D^{-1/2}`, or :math:`L = D - W`.

        An isolated point has a zero row in both: it costs nothing wherever it goes.
        """
        L = sp.diags_array(self.degrees) - self.W
        if normalized:
            d = self.degrees
            scale = sp.diags_array(np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0))
            L = scale @ L @ scale
            L = (L + L.T) / 2  # rounding in the two scalings differs
        return sp.csr_array(L)

    def permuted(self, order: Any) -> Graph:
        """Return the same graph with its points renumbered: new point k is old point ``order[k]``."""
        order = as_permutation(order, self.n)
        points = None if self.points is None else self.points[order]
        return Graph(sp.csr_array(self.W[order][:, order]), points, self.recipe)

    def __repr__(self) -> str:
        parts = "connected" if self.n_components == 1 else f"{self.n_components} components"
        return f"Graph({self.n} points, {self.n_edges} edges, {parts}; {self.recipe})"


def _gaussian(distances: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-((distances / width) ** 2) / 2)


def _width(sigma: float | str, distances: np.ndarray) -> float:
    if isinstance(sigma, str):
        if sigma != "mean":
            raise InvalidInput(f"sigma must be 'mean' or a positive number, not {sigma!r}")
        width = float(distances.mean()) if distances.size else 1.0
        if width == 0:
            raise InvalidInput(
                "the average distance is zero: these points coincide with their neighbours; give sigma as a number"
            )
        return width
    try:
        width = float(sigma)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"sigma must be 'mean' or a positive number, not {sigma!r}") from error
    if not (np.isfinite(width) and width > 0):
        raise InvalidInput(f"sigma must be 'mean' or a positive number, not {sigma!r}")
    return width


def _cleaned(W: Any) -> sp.csr_array:
    """Zero the diagonal, drop stored zeros, sort."""
    W = sp.coo_array(W)
    off = W.row != W.col
    cleaned = sp.csr_array((W.data[off], (W.row[off], W.col[off])), shape=W.shape)
    cleaned.sum_duplicates()
    cleaned.eliminate_zeros()
    return cleaned


def _bridges(points: np.ndarray, components: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find for every component but the largest its shortest edge to another one.

    A component of s points reaches outside within its points' s + 1 nearest neighbours, so small ones are
    asked of one tree over all points; only a large one needs a tree over the rest.
    """
    sizes = np.bincount(components)
    everything = NearestNeighbors().fit(points)
    found: dict[tuple[int, int], float] = {}
    for component in np.delete(np.arange(len(sizes)), sizes.argmax()):
        inside = np.flatnonzero(components == component)
        if sizes[component] <= 64:
            distances, neighbours = everything.kneighbors(points[inside], n_neighbors=len(inside) + 1)
            distances = np.where(components[neighbours] == component, np.inf, distances)
        else:
            outside = np.flatnonzero(components != component)
            distances, nearest = NearestNeighbors(n_neighbors=1).fit(points[outside]).kneighbors(points[inside])
            neighbours = outside[nearest]
        row, column = np.unravel_index(distances.argmin(), distances.shape)
        i, j = sorted((int(inside[row]), int(neighbours[row, column])))
        found[i, j] = float(distances[row, column])
    return np.array(list(found)), np.array(list(found.values()))
