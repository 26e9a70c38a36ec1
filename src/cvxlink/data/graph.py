"""The graph: which points are near each other, and how smooth a kernel is over it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from ..errors import InvalidInput
from ..numerics.arguments import as_choice, as_instance, as_text, shown
from ..numerics.checks import (
    MOST_ENTRIES,
    as_count,
    as_flag,
    as_permutation,
    as_points,
    as_positive,
    as_square,
    finite_array,
)
from ..numerics.eigenpairs import smallest_eigenpairs
from ..numerics.matrices import inverse_root

Symmetrize = Literal["union", "mean", "mutual"]

# An edge that joins two components must join them numerically too: far apart, exp(−d²/2σ²) underflows.
LEAST_BRIDGE_WEIGHT = 1e-6
# Fewer points than this are searched for neighbours in less time than it takes to start threads.
SEARCHED_IN_PARALLEL = 5000


@dataclass(frozen=True)
class Rule:
    """How weights follow from distances, kept so that points that come later can join the graph."""

    width: float
    n_neighbors: int | None = None  # None: every pair is joined
    symmetrize: Symmetrize = "union"
    connect: bool = False

    def weights(self, distances: np.ndarray) -> np.ndarray:
        """exp(−d²/2σ²)."""
        return np.exp(-((distances / self.width) ** 2) / 2)

    def symmetrized(self, directed: sp.csr_array) -> sp.csr_array:
        """Return one weight per edge from its two directions."""
        if self.symmetrize == "union":
            return directed.maximum(directed.T)
        if self.symmetrize == "mutual":
            return directed.minimum(directed.T)
        return (directed + directed.T) / 2

    def joined(self, W: sp.csr_array, points: np.ndarray, together: int = 0) -> tuple[sp.csr_array, int]:
        """Add the spanning-tree edges that join the components (Borůvka's rounds); return how many, too.

        Edges too weak to join anything numerically do not count as such, and are strengthened where they are the
        shortest. The first ``together`` points count as one component, whether they are joined or not.
        """
        added = 0
        while True:
            chain = np.arange(max(together - 1, 0))
            known = sp.csr_array((np.ones(len(chain)), (chain, chain + 1)), shape=W.shape)
            count, components = connected_components((W >= LEAST_BRIDGE_WEIGHT) + (known > 0), directed=False)
            if count == 1:
                return W, added
            ends, distances = _bridges(points, components)
            weights = np.maximum(self.weights(distances), LEAST_BRIDGE_WEIGHT)
            bridge = sp.csr_array((weights, (ends[:, 0], ends[:, 1])), shape=W.shape)
            W, added = _cleaned(W.maximum(bridge + bridge.T)), added + len(ends)


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
    rule : Rule or None
        How it was built, for points that come later.

    Notes
    -----
    Build one with :meth:`knn`, :meth:`rbf` or :meth:`from_affinity`. Its Laplacian measures how smooth
    a kernel :math:`K` is: :math:`\langle L, K\rangle = \tfrac12\sum_{ij} w_{ij}\|\phi_i-\phi_j\|^2`.
    """

    W: sp.csr_array
    points: np.ndarray | None = None
    recipe: str = "given affinity"
    rule: Rule | None = None

    def __post_init__(self) -> None:
        if not sp.issparse(self.W):
            raise InvalidInput("build a graph with Graph.knn, Graph.rbf or Graph.from_affinity", "W")
        object.__setattr__(self, "W", as_square(self.W, "the affinity", "W"))
        self._check_origin()
        least, most = (self.W.min(), self.W.max()) if self.W.nnz else (0.0, 0.0)
        if least < 0:
            raise InvalidInput(
                f"the affinity has negative entries (the least is {least:.3g}); clip or shift them first", "W"
            )
        asymmetry = abs(self.W - self.W.T).max() if self.W.nnz else 0.0
        if asymmetry > 1e-8 * most:
            raise InvalidInput(
                f"the affinity is not symmetric (by {asymmetry:.3g}); use (W + W.T) / 2 if that is meant", "W"
            )

    def _check_origin(self) -> None:
        """Raise unless the points are as many as the graph has, and rule and recipe are what they should be."""
        if self.points is not None:
            object.__setattr__(self, "points", finite_array(self.points, "points", (self.n, None)))
        as_text(self.recipe, "recipe")
        if self.rule is not None:
            as_instance(self.rule, Rule, "rule", "the rule of another graph, or None")

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
            raise InvalidInput("a neighbour graph needs at least two points", "X")
        k = as_count(n_neighbors, "n_neighbors", 1, n - 1, f"X has {n} points")
        as_choice(symmetrize, "symmetrize", ("union", "mean", "mutual"))
        connect = as_flag(connect, "connect")
        distances = sp.csr_array(kneighbors_graph(points, k, mode="distance", n_jobs=_jobs(n)))
        rule = Rule(_width(sigma, distances.data), k, symmetrize, connect)
        distances.data = rule.weights(distances.data)
        W = _cleaned(rule.symmetrized(distances))
        recipe = f"{k} nearest neighbours ({symmetrize}), sigma = {rule.width:.4g}"
        if connect:
            W, added = rule.joined(W, points)
            recipe += f", {added} spanning-tree edges added" if added else ""
        return cls(W, points, recipe, rule)

    @classmethod
    def rbf(cls, X: Any, sigma: float | str = 1.0) -> Graph:
        r"""Join every pair of points with weight :math:`\exp(-d^2/2\sigma^2)`.

        The width "mean" is the average distance of two points. The graph is dense: for a few thousand
        points at most.
        """
        points = as_points(X)
        n = len(points)
        if n * n > MOST_ENTRIES:
            raise InvalidInput(f"X has {n} points, too many for a dense graph; use Graph.knn", "X")
        distances = pairwise_distances(points)
        rule = Rule(_width(sigma, distances[np.triu_indices(n, 1)]))
        weights = rule.weights(distances)
        # Distances differ by rounding in the two directions, which far below one is a larger share of a weight.
        return cls(_cleaned((weights + weights.T) / 2), points, f"RBF, sigma = {rule.width:.4g}", rule)

    @classmethod
    def from_affinity(cls, W: Any) -> Graph:
        """Take a given affinity, dense or sparse.

        It must be square, symmetric and non-negative. Its diagonal is set to zero: a point's affinity to
        itself says nothing about clusters, but would change the degrees.
        """
        given = cls(sp.csr_array(as_square(W, "the affinity", "W")))  # checks the rest
        return cls(_cleaned((given.W + given.W.T) / 2))

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

    def require_unit_weights(self, why: str) -> None:
        """Raise if the graph has weights above one; ``why`` says which rule they break."""
        largest = float(self.W.max()) if self.W.nnz else 0.0
        as_text(why, "why")
        if largest > 1:
            raise InvalidInput(
                f"{why}, but the largest is {largest:.4g}; divide the affinity by it when the graph is built", "graph"
            )

    def laplacian(self, normalized: bool = True) -> sp.csr_array:
        r"""Return :math:`\bar L = D^{-1/2}(D-W)D^{-1/2}`, or :math:`L = D - W`.

        An isolated point has a zero row in both: it costs nothing wherever it goes.
        """
        L = sp.diags_array(self.degrees) - self.W
        if as_flag(normalized, "normalized"):
            scale = sp.diags_array(inverse_root(self.degrees))
            L = scale @ L @ scale
            L = (L + L.T) / 2  # rounding in the two scalings differs
        return sp.csr_array(L)

    def smoothest(self, count: int, normalized: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest eigenvalues of the Laplacian, in increasing order, and their eigenvectors as columns.

        They are computed once; the largest entry of an eigenvector is positive.
        """
        count, normalized = as_count(count, "count", 1, self.n), as_flag(normalized, "normalized")
        known = self._spectra.get(normalized)
        if known is None or len(known[0]) < count:
            eigenvalues, vectors = smallest_eigenpairs(self.laplacian(normalized), count)
            vectors = vectors * np.where(vectors.max(axis=0) >= -vectors.min(axis=0), 1.0, -1.0)
            known = self._spectra[normalized] = np.maximum(eigenvalues, 0), vectors
        return known[0][:count], known[1][:, :count]

    @cached_property
    def _spectra(self) -> dict[bool, tuple[np.ndarray, np.ndarray]]:
        return {}

    @property
    def S(self) -> sp.csr_array:
        """The normalised affinity S = I − L̄, by which labels spread."""
        return sp.csr_array(sp.eye_array(self.n) - self.laplacian())

    @cached_property
    def trivial_cut(self) -> np.ndarray:
        """The unit vector along D^{1/2}1, which costs nothing and separates nothing."""
        root = np.sqrt(self.degrees) if self.n_edges else np.ones(self.n)
        return root / np.linalg.norm(root)

    def null_vector(self, normalized: bool = True) -> np.ndarray:
        """Return a positive vector that the Laplacian carries to zero: D^{1/2}1 for L̄, ones for L = D − W."""
        if not as_flag(normalized, "normalized"):
            return np.ones(self.n)
        return np.sqrt(np.where(self.degrees > 0, self.degrees, 1.0))  # an isolated point may have any value

    @property
    def free_cuts(self) -> np.ndarray:
        """Orthonormal columns that span what L̄ carries to zero: D^{1/2}1 on each component by itself."""
        columns = self.null_vector()[:, None] * (self.components[:, None] == np.arange(self.n_components))
        return columns / np.linalg.norm(columns, axis=0)

    def incidence(self, normalized: bool = True) -> sp.csr_array:
        r"""Return R with :math:`R^\top R = \bar L` (or L).

        It has a row for each edge, :math:`\sqrt{w_{ij}}(e_i/\sqrt{d_i} - e_j/\sqrt{d_j})`, for L without the degrees.
        """
        edges = sp.triu(self.W).tocoo()
        scale = np.sqrt(self.degrees) if as_flag(normalized, "normalized") else np.ones(self.n)
        ends = np.column_stack([edges.row, edges.col])
        values = np.sqrt(edges.data)[:, None] * [1.0, -1.0] / scale[ends]
        rows = np.repeat(np.arange(len(ends)), 2)
        return sp.csr_array((values.ravel(), (rows, ends.ravel())), shape=(len(ends), self.n))

    def kernel(self) -> np.ndarray:
        """Return the affinity as a kernel: dense, with ones on the diagonal, as exp(−d²/2σ²) has them.

        That of :meth:`rbf` is positive definite unless points coincide; that of neighbours alone need not be.
        """
        return self.W.toarray() + np.eye(self.n)

    def permuted(self, order: Any) -> Graph:
        """Return the same graph with its points renumbered: new point k is old point ``order[k]``."""
        order = as_permutation(order, self.n)
        points = None if self.points is None else self.points[order]
        return Graph(sp.csr_array(self.W[order][:, order]), points, self.recipe, self.rule)

    def __repr__(self) -> str:
        parts = "connected" if self.n_components == 1 else f"{self.n_components} components"
        return f"Graph({self.n} points, {self.n_edges} edges, {parts}; {self.recipe})"


def _width(sigma: float | str, distances: np.ndarray) -> float:
    if isinstance(sigma, str):
        if sigma != "mean":
            raise _bad_width(sigma)
        width = float(distances.mean()) if distances.size else 1.0
        if width == 0:
            raise InvalidInput.asking_for(
                "these points coincide with their neighbours, so their mean distance, the default width, is zero",
                "sigma",
            )
        return width
    try:
        return as_positive(sigma, "sigma")
    except InvalidInput:
        raise _bad_width(sigma) from None


def _bad_width(sigma: Any) -> InvalidInput:
    return InvalidInput.about("sigma", f"must be 'mean' or a positive number, not {shown(sigma)}")


def _jobs(n: int) -> int | None:
    """Return the ``n_jobs`` for scikit-learn: all cores if a search among n points is enough work for them."""
    return -1 if n >= SEARCHED_IN_PARALLEL else None


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
    everything = NearestNeighbors(n_jobs=_jobs(len(points))).fit(points)
    found: dict[tuple[int, int], float] = {}
    for component in np.delete(np.arange(len(sizes)), sizes.argmax()):
        inside = np.flatnonzero(components == component)
        if sizes[component] <= 64:
            distances, neighbours = everything.kneighbors(points[inside], n_neighbors=len(inside) + 1)
            distances = np.where(components[neighbours] == component, np.inf, distances)
        else:
            outside = np.flatnonzero(components != component)
            distances, nearest = (
                NearestNeighbors(n_neighbors=1, n_jobs=_jobs(len(points)))
                .fit(points[outside])
                .kneighbors(points[inside])
            )
            neighbours = outside[nearest]
        row, column = np.unravel_index(distances.argmin(), distances.shape)
        i, j = sorted((int(inside[row]), int(neighbours[row, column])))
        found[i, j] = float(distances[row, column])
    return np.array(list(found)), np.array(list(found.values()))
