r"""Out-of-sample extension: a learnt kernel carried over to points that come later.

With the old points I as the known ones and the new points O as the unknown ones of a graph over both, the harmonic
extension of the factor B of :math:`K_{II}` is that of the kernel (Hu et al. 2010, equations (9) and (10)):

.. math:: K_{\mathrm{full}} = Q K_{II} Q^\top, \qquad Q = \begin{pmatrix} I \\ -L_{OO}^{-1} L_{OI} \end{pmatrix}.

Online (Table II) the points come one by one, each as the only unknown one: its row is :math:`-L_{iI} B / L_{ii}`, and
it is an old point from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from .errors import InvalidInput
from .graph import Graph
from .harmonic import HarmonicExtension, require_reached
from .matrices import Congruence
from .problem import Problem
from .solution import LearntKernel
from .threads import threads_for
from .validation import as_flag, as_labels, as_points, is_known


@dataclass(frozen=True, eq=False)
class Extension(LearntKernel):
    """A learnt kernel on old and new points; old ones first.

    Attributes
    ----------
    solution : LearntKernel
        What was extended.
    graph : Graph
        The graph over old and new points.
    embedding : array
        One row a point; the rows of old points are those of ``solution.embedding``.
    online : bool
        Whether the points came one at a time.
    """

    solution: LearntKernel = field(repr=False)
    graph: Graph
    rows: np.ndarray = field(repr=False)
    online: bool

    @property
    def problem(self) -> Problem:  # type: ignore[override]
        """The problem the kernel was learnt by."""
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
        """A factor B with K = BBᵀ; its first rows are those of the old points, as they were."""
        return self.rows

    @property
    def _weights(self) -> np.ndarray | None:
        return None if self.problem.point_weights is None else self.graph.degrees

    @property
    def scores(self) -> np.ndarray:
        """Scores for each class, as shares, of old and new points."""
        _ = self.solution.scores  # says so if there are none
        return self.rows

    def _learnt(self) -> Congruence:
        return Congruence(self.rows, np.eye(self.rows.shape[1]))

    def predict(self, labels: Any) -> np.ndarray:
        """Return a label for each new point: that of the nearest cluster mean of the old points.

        ``labels`` are those of the old points, for instance from ``solution.cluster``; -1 means unknown.
        """
        labels = as_labels(labels, self.n_old)
        old, new = self.rows[: self.n_old], self.rows[self.n_old :]
        known = is_known(labels)
        if not known.any():
            raise InvalidInput("no label is known, so there is nothing to predict from; give those of solution.cluster")
        labels, old = labels[known], old[known]
        classes, membership = np.unique(labels, return_inverse=True)
        means = np.array([old[membership == c].mean(axis=0) for c in range(len(classes))])
        return classes[pairwise_distances(new, means, metric="sqeuclidean").argmin(axis=1)]


def extend(solution: LearntKernel, X_new: Any, online: bool, unit_length: bool) -> Extension:
    """Extend a learnt kernel; see :meth:`cvxlink.solution.LearntKernel.extend`."""
    graph = solution._graph
    if graph is None:
        raise InvalidInput(f"{type(solution.problem).__name__} has no graph that new points could join")
    if graph.points is None or graph.rule is None:
        raise InvalidInput(
            "new points can join only a graph that was built from points; build it with Graph.knn or Graph.rbf"
        )
    new = as_points(X_new, "X_new")
    if new.shape[1] != graph.points.shape[1]:
        raise InvalidInput(f"X_new has {new.shape[1]} columns, but the graph was built from {graph.points.shape[1]}")
    online, unit_length = as_flag(online, "online"), as_flag(unit_length, "unit_length")
    normalized = bool(getattr(solution.problem, "normalized", True))
    rows = solution.embedding
    growing = GrowingGraph(graph, len(new))
    if online:
        rows = np.vstack([rows, np.empty((len(new), rows.shape[1]))])
        with threads_for(1):  # a point at a time is too little to share
            for i, point in enumerate(new, start=graph.n):
                rows[i] = _follow_neighbours(growing, point, rows[:i], normalized)
    else:
        growing.add(new)
        rows = HarmonicExtension(growing.graph.laplacian(normalized), np.arange(graph.n))(rows)
    if unit_length:
        lengths = np.linalg.norm(rows[graph.n :], axis=1, keepdims=True)
        rows[graph.n :] /= np.where(lengths > 0, lengths, 1.0)
    return Extension(solution, growing.graph, rows, online)


def _follow_neighbours(growing: GrowingGraph, point: np.ndarray, rows: np.ndarray, normalized: bool) -> np.ndarray:
    """Let one point join; return its row −L_iI B / L_ii, the harmonic extension from its neighbours."""
    w = growing.add(point[None, :])
    i, near, degrees = len(rows), w.indices, growing.degrees
    if not len(near):
        require_reached(np.repeat([0, 1], [i, 1]), np.arange(i))
    # The part of the Laplacian that touches the point; what stands between its neighbours does not matter.
    L = np.zeros((len(near) + 1, len(near) + 1))
    L[-1, :-1] = -w.data / np.sqrt(degrees[i]) / np.sqrt(degrees[near]) if normalized else -w.data
    L[:-1, -1] = L[-1, :-1]
    L[-1, -1] = 1.0 if normalized else degrees[i]
    return HarmonicExtension(L, np.arange(len(near)))(rows[near])[-1]


class GrowingGraph:
    """A graph that new points join by the rule it was built with; old edges stay as they are.

    An old point chooses a new one if that is among its nearest neighbours now; nothing but the list of the distances
    to these has to be kept.
    """

    def __init__(self, graph: Graph, room: int) -> None:
        assert graph.points is not None and graph.rule is not None
        self.rule, self.recipe = graph.rule, graph.recipe
        self.n = self.n_old = graph.n
        self.points = np.vstack([graph.points, np.empty((room, graph.points.shape[1]))])
        self.degrees = np.concatenate([graph.degrees, np.zeros(room)])
        self.W = graph.W
        self.blocks: list[sp.csr_array] = []
        if self.rule.n_neighbors is not None:
            k = self.rule.n_neighbors
            nearest = NearestNeighbors(n_neighbors=k).fit(graph.points).kneighbors()[0]
            self.nearest = np.vstack([nearest, np.empty((room, k))])

    def add(self, new: np.ndarray) -> sp.csr_array:
        """Let points join at once; return their weights, one row each, to all points there are then."""
        n, m = self.n, len(new)
        self.points[n : n + m] = new
        if self.rule.n_neighbors is None:
            weights = self.rule.weights(pairwise_distances(new, self.points[: n + m]))
            weights[np.arange(m), n + np.arange(m)] = 0  # no point is its own neighbour
            W = sp.csr_array(weights)
        else:
            W = self._neighbours(new)
        self.degrees[n : n + m] = W.sum(axis=1)
        self.degrees[:n] += W[:, :n].sum(axis=0)
        self.blocks.append(W)
        self.n += m
        return W

    def _neighbours(self, new: np.ndarray) -> sp.csr_array:
        n, m, k = self.n, len(new), self.rule.n_neighbors
        assert k is not None
        total = n + m
        everyone = NearestNeighbors(n_neighbors=k).fit(self.points[:total])
        chosen, choice = everyone.kneighbors(new, n_neighbors=k + 1)
        keep = choice != n + np.arange(m)[:, None]  # not itself, which is found first unless another point coincides
        keep[keep.all(axis=1), -1] = False
        chosen, choice = chosen[keep].reshape(m, k), choice[keep].reshape(m, k)
        by_new = sp.csr_array(
            (self.rule.weights(chosen).ravel(), (n + np.repeat(np.arange(m), k), choice.ravel())), shape=(total, total)
        )
        few = min(k, m)
        seen, seen_who = NearestNeighbors(n_neighbors=few).fit(new).kneighbors(self.points[:n])
        candidates = np.hstack([self.nearest[:n], seen])
        order = np.argsort(candidates, axis=1, kind="stable")[:, :k]
        old, place = np.nonzero(order >= k)
        which = order[old, place] - k
        by_old = sp.csr_array(
            (self.rule.weights(seen[old, which]), (old, n + seen_who[old, which])), shape=(total, total)
        )
        self.nearest[:n] = np.take_along_axis(candidates, order, axis=1)
        self.nearest[n:total] = chosen
        W = self.rule.symmetrized(sp.csr_array(by_new + by_old))
        if self.rule.connect:
            W, _ = self.rule.joined(sp.csr_array(W), self.points[:total], together=n)
        return sp.csr_array(sp.csr_array(W)[n:])

    @property
    def graph(self) -> Graph:
        """The graph as it is now."""
        parts = [self.W.tocoo()]
        start = self.n_old
        for block in self.blocks:
            part = sp.coo_array((block.data, (block.tocoo().row + start, block.indices)), shape=(self.n, self.n))
            parts.append(part)
            start += block.shape[0]
        row, column = (np.concatenate([getattr(part, side) for part in parts]) for side in ("row", "col"))
        one_way = sp.csr_array((np.concatenate([part.data for part in parts]), (row, column)), shape=(self.n, self.n))
        recipe = f"{self.recipe}, {self.n - self.n_old} points added"
        # Points that joined together hold their edges in both directions, others in one.
        return Graph(one_way.maximum(one_way.T).tocsr(), self.points[: self.n].copy(), recipe, self.rule)
