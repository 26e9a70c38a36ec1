r"""A learnt kernel, extended to points that come later.

With the old points I as the known ones and the new points O as the unknown ones of a graph over both, the harmonic
extension of the factor B of :math:`K_{II}` is that of the kernel (Hu et al. 2010, equations (9) and (10)):

.. math:: K_{\mathrm{full}} = Q K_{II} Q^\top, \qquad Q = \begin{pmatrix} I \\ -L_{OO}^{-1} L_{OI} \end{pmatrix}.

Online (Table II) the points come one by one, each as the only unknown point: its row is :math:`-L_{iI} B / L_{ii}`, and
from then on it counts as an old point. Alone, each point gets that row in the graph of the old points and itself, so
its result does not depend on the other new points or their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from ..data.graph import Graph
from ..data.growing_graph import GrowingGraph, Surroundings
from ..errors import InvalidInput
from ..numerics.checks import as_flag, as_labels, as_points, is_known
from ..numerics.harmonic import HarmonicExtension, require_reached
from ..numerics.matrices import Congruence
from ..numerics.threads import threads_for
from .formulation import Formulation, Learnt
from .learnt_kernel import LearntKernel

# New points that come alone are handled in portions with this many distances to old points: 40 MB per array.
DISTANCES_AT_ONCE = 5_000_000


class ExtendableKernel(LearntKernel):
    """A learnt kernel that new points can join."""

    def extend(self, X_new: Any, online: bool = False, unit_length: bool = False, *, alone: bool = False) -> Extension:
        """Extend the kernel to new points without learning it again; the old points stay where they are.

        Parameters
        ----------
        X_new : array, m × d
            New points, in the coordinates of the old ones.
        online : bool
            Add the points one at a time, each seeing only those before it (Table II of Hu et al. 2010), instead of all
            at once (equations (9) and (10)).
        unit_length : bool
            Scale the new points to unit length in feature space; the paper does not.
        alone : bool
            Add each point as if it were the only new one, so that its place depends neither on the other new points
            nor on their order. Cannot be combined with ``online``.
        """
        return extend(self, X_new, online, unit_length, alone)


@dataclass(frozen=True, eq=False)
class Extension(ExtendableKernel):
    """A learnt kernel on old and new points; the old points come first.

    Attributes
    ----------
    solution : LearntKernel
        The solution that was extended.
    graph : Graph
        The graph over old and new points.
    embedding : array
        One row per point; the rows of old points are those of ``solution.embedding``.
    online : bool
        Whether the points were added one at a time.
    alone : bool
        Whether each point was added as if it were the only new one; ``graph`` then has no edges between new points.
    """

    solution: LearntKernel = field(repr=False)
    graph: Graph
    rows: np.ndarray = field(repr=False)
    online: bool
    alone: bool = False

    @property
    def problem(self) -> Formulation:  # type: ignore[override]
        """The problem that the kernel was learnt from."""
        return self.solution.problem

    @property
    def _graph(self) -> Graph:
        return self.graph

    @property
    def n_old(self) -> int:
        """The number of points the kernel was learnt on."""
        return len(self.solution.embedding)

    @cached_property
    def factor(self) -> np.ndarray:
        """A factor B with K = BBᵀ; its first rows are the unchanged rows of the old points."""
        return self.rows

    @property
    def weights(self) -> np.ndarray | None:
        """The degrees of the points if the solution has weights; otherwise None."""
        return None if self.solution.weights is None else self.graph.degrees

    @property
    def scores(self) -> np.ndarray:
        """The share of each class at each old and new point."""
        _ = self.solution.scores  # raises if there are none
        return self.rows

    @cached_property
    def learnt(self) -> Learnt:
        """The kernel of the rows."""
        return Learnt(kernel=Congruence(self.rows, np.eye(self.rows.shape[1])))

    def predict(self, labels: Any) -> np.ndarray:
        """Return a label for each new point: that of the nearest cluster mean of the old points.

        ``labels`` are the labels of the old points, for instance from ``solution.cluster``; -1 means unknown.
        """
        return nearest_mean(self.rows[: self.n_old], labels)(self.rows[self.n_old :])


def extend(
    solution: LearntKernel, X_new: Any, online: bool = False, unit_length: bool = False, alone: bool = False
) -> Extension:
    """Extend a learnt kernel; see :meth:`LearntKernel.extend`."""
    graph, new = _checked(solution, X_new)
    online, unit_length, alone = as_flag(online, "online"), as_flag(unit_length, "unit_length"), as_flag(alone, "alone")
    if online and alone:
        raise InvalidInput("online and alone exclude each other; give online or alone", "online")
    if alone:
        grown, rows = _extend_alone(solution, graph, new)
    else:
        grown, rows = _extend_jointly(solution, graph, new, online)
    if unit_length:
        lengths = np.linalg.norm(rows[graph.n :], axis=1, keepdims=True)
        rows[graph.n :] /= np.where(lengths > 0, lengths, 1.0)
    return Extension(solution, grown, rows, online, alone)


def predict_alone(solution: LearntKernel, X_new: Any, labels: Any) -> np.ndarray:
    """Return a label for each new point as if it were the only one; memory grows with the old points alone.

    It is the label of the nearest cluster mean of the old points, as in :meth:`Extension.predict`. If ``labels`` is
    None, it is the number of the class with the largest share, for methods whose embedding consists of shares.
    """
    graph, new = _checked(solution, X_new)
    choose: Callable[[np.ndarray], np.ndarray] = _largest_share
    if labels is not None:
        choose = nearest_mean(solution.embedding, labels)
    return np.concatenate([choose(rows) for _, rows in _arrivals(solution, graph, new)])


def _checked(solution: LearntKernel, X_new: Any) -> tuple[Graph, np.ndarray]:
    """Return the graph that the new points will join, and the new points."""
    graph = solution._graph
    if graph is None:
        raise InvalidInput(f"{type(solution.problem).__name__} has no graph that new points can join", "X_new")
    if graph.points is None or graph.rule is None:
        raise InvalidInput(
            "new points can only join a graph that was built from points; build it with Graph.knn or Graph.rbf", "X_new"
        )
    new = as_points(X_new, "X_new")
    if new.shape[1] != graph.points.shape[1]:
        raise InvalidInput.about(
            "X_new", f"has {new.shape[1]} columns, but the graph was built from {graph.points.shape[1]}"
        )
    return graph, new


def _extend_jointly(solution: LearntKernel, graph: Graph, new: np.ndarray, online: bool) -> tuple[Graph, np.ndarray]:
    """Return the graph and the rows of all points if new points see one another: all of them, or those before."""
    normalized, rows, growing = _is_normalized(solution), solution.embedding, GrowingGraph(graph, len(new))
    if online:
        rows = np.vstack([rows, np.empty((len(new), rows.shape[1]))])
        with threads_for(1):  # one point at a time is too little work to share
            for i, point in enumerate(new, start=graph.n):
                rows[i] = _follow_neighbours(growing, point, rows[:i], normalized)
    else:
        growing.add(new)
        rows = HarmonicExtension(growing.graph.laplacian(normalized), np.arange(graph.n))(rows)
    return growing.graph, rows


def _extend_alone(solution: LearntKernel, graph: Graph, new: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Return the graph and the rows of all points if no new point sees another."""
    assert graph.points is not None
    weights, rows = zip(*_arrivals(solution, graph, new), strict=True)
    w = sp.vstack(weights)
    W = sp.csr_array(sp.block_array([[graph.W, w.T], [w, None]]))
    grown = Graph(W, np.vstack([graph.points, new]), f"{graph.recipe}, {len(new)} points added", graph.rule)
    return grown, np.vstack([solution.embedding, *rows])


def _arrivals(solution: LearntKernel, graph: Graph, new: np.ndarray) -> Iterator[tuple[sp.csr_array, np.ndarray]]:
    """Yield, for portions of the new points, their weights to the old ones and their rows −L_iI B / L_ii."""
    B, normalized, surroundings = solution.embedding, _is_normalized(solution), Surroundings.of(graph)
    portion = max(1, DISTANCES_AT_ONCE // graph.n)
    for start in range(0, len(new), portion):
        w = surroundings.weights(new[start : start + portion])
        degrees = np.asarray(w.sum(axis=1)).ravel()
        if not degrees.all():
            raise InvalidInput(
                f"new point {start + int(np.flatnonzero(degrees == 0)[0])} is so far from the old points that no edge "
                f"joins them; leave it out, or build the graph with Graph.knn(connect=True) or a larger sigma",
                "X_new",
            )
        counts = np.diff(w.indptr)
        if normalized:  # L_ii = 1, and the degree of an old point grows by its new edge
            data = w.data / np.sqrt(np.repeat(degrees, counts)) / np.sqrt(graph.degrees[w.indices] + w.data)
        else:
            data = w.data / np.repeat(degrees, counts)
        yield w, sp.csr_array((data, w.indices, w.indptr), shape=w.shape) @ B


def _is_normalized(solution: LearntKernel) -> bool:
    return bool(getattr(solution.problem, "normalized", True))


def nearest_mean(old: np.ndarray, labels: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the map from rows to the label of the nearest cluster mean."""
    labels = as_labels(labels, len(old))
    known = is_known(labels)
    if not known.any():
        raise InvalidInput(
            "no label is known, so there is nothing to predict from; pass the labels of solution.cluster()", "labels"
        )
    classes, membership = np.unique(labels[known], return_inverse=True)
    means = np.array([old[known][membership == c].mean(axis=0) for c in range(len(classes))])
    return lambda new: classes[pairwise_distances(new, means, metric="sqeuclidean").argmin(axis=1)]


def _largest_share(rows: np.ndarray) -> np.ndarray:
    return rows.argmax(axis=1)


def _follow_neighbours(growing: GrowingGraph, point: np.ndarray, rows: np.ndarray, normalized: bool) -> np.ndarray:
    """Add one point; return its row −L_iI B / L_ii, the harmonic extension from its neighbours."""
    w = growing.add(point[None, :])
    i, near, degrees = len(rows), w.indices, growing.degrees
    if not len(near):
        require_reached(np.repeat([0, 1], [i, 1]), np.arange(i))
    # The part of the Laplacian that touches the point; entries between its neighbours do not matter.
    L = np.zeros((len(near) + 1, len(near) + 1))
    L[-1, :-1] = -w.data / np.sqrt(degrees[i]) / np.sqrt(degrees[near]) if normalized else -w.data
    L[:-1, -1] = L[-1, :-1]
    L[-1, -1] = 1.0 if normalized else degrees[i]
    return HarmonicExtension(L, np.arange(len(near)))(rows[near])[-1]
