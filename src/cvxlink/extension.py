r"""Out-of-sample extension: a learnt kernel carried over to points that come later.

With the old points I as the known ones and the new points O as the unknown ones of a graph over both, the harmonic
extension of the factor B of :math:`K_{II}` is that of the kernel (Hu et al. 2010, equations (9) and (10)):

.. math:: K_{\mathrm{full}} = Q K_{II} Q^\top, \qquad Q = \begin{pmatrix} I \\ -L_{OO}^{-1} L_{OI} \end{pmatrix}.

Online (Table II) the points come one by one, each as the only unknown one: its row is :math:`-L_{iI} B / L_{ii}`, and
it is an old point from then on. Alone, each point has that same row in the graph of the old points and itself: what
becomes of it does not depend on the other new points, nor on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from .errors import InvalidInput
from .graph import LEAST_BRIDGE_WEIGHT, Graph
from .harmonic import HarmonicExtension, require_reached
from .matrices import Congruence
from .problem import Problem
from .solution import LearntKernel
from .threads import threads_for
from .validation import as_flag, as_labels, as_points, is_known

# New points that each come alone are taken in portions, as many as have so many distances to old ones: 40 MB an array.
DISTANCES_AT_ONCE = 5_000_000


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
    alone : bool
        Whether each point came as the only one; in ``graph`` new points then have no edges between them.
    """

    solution: LearntKernel = field(repr=False)
    graph: Graph
    rows: np.ndarray = field(repr=False)
    online: bool
    alone: bool = False

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
        return _nearest_mean(self.rows[: self.n_old], labels)(self.rows[self.n_old :])


def extend(
    solution: LearntKernel, X_new: Any, online: bool = False, unit_length: bool = False, alone: bool = False
) -> Extension:
    """Extend a learnt kernel; see :meth:`cvxlink.solution.LearntKernel.extend`."""
    graph, new = _checked(solution, X_new)
    online, unit_length, alone = as_flag(online, "online"), as_flag(unit_length, "unit_length"), as_flag(alone, "alone")
    if online and alone:
        raise InvalidInput("online points see those before them and points alone do not; give online or alone")
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

    It is that of the nearest cluster mean of the old points, as in :meth:`Extension.predict`. With None for the labels
    of the old points it is the number of the class with the largest share, for methods whose embedding are such.
    """
    graph, new = _checked(solution, X_new)
    choose: Callable[[np.ndarray], np.ndarray] = _largest_share
    if labels is not None:
        choose = _nearest_mean(solution.embedding, labels)
    return np.concatenate([choose(rows) for _, rows in _arrivals(solution, graph, new)])


def _checked(solution: LearntKernel, X_new: Any) -> tuple[Graph, np.ndarray]:
    """Return the graph that new points are to join, and these."""
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
    return graph, new


def _extend_jointly(solution: LearntKernel, graph: Graph, new: np.ndarray, online: bool) -> tuple[Graph, np.ndarray]:
    """Return the graph and the rows of all points, where new points see one another: all of them, or those before."""
    normalized, rows, growing = _is_normalized(solution), solution.embedding, GrowingGraph(graph, len(new))
    if online:
        rows = np.vstack([rows, np.empty((len(new), rows.shape[1]))])
        with threads_for(1):  # a point at a time is too little to share
            for i, point in enumerate(new, start=graph.n):
                rows[i] = _follow_neighbours(growing, point, rows[:i], normalized)
    else:
        growing.add(new)
        rows = HarmonicExtension(growing.graph.laplacian(normalized), np.arange(graph.n))(rows)
    return growing.graph, rows


def _extend_alone(solution: LearntKernel, graph: Graph, new: np.ndarray) -> tuple[Graph, np.ndarray]:
    """Return the graph and the rows of all points, where no new point sees another."""
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
                f"new point {start + int(np.flatnonzero(degrees == 0)[0])} is so far from the old ones that nothing "
                f"joins it to them; leave it out, or build the graph by Graph.knn(connect=True) or with a larger sigma"
            )
        counts = np.diff(w.indptr)
        if normalized:  # L_ii = 1, and the degree of an old point grows by its new edge
            data = w.data / np.sqrt(np.repeat(degrees, counts)) / np.sqrt(graph.degrees[w.indices] + w.data)
        else:
            data = w.data / np.repeat(degrees, counts)
        yield w, sp.csr_array((data, w.indices, w.indptr), shape=w.shape) @ B


def _is_normalized(solution: LearntKernel) -> bool:
    return bool(getattr(solution.problem, "normalized", True))


def _nearest_mean(old: np.ndarray, labels: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the map from rows to the label of the nearest cluster mean."""
    labels = as_labels(labels, len(old))
    known = is_known(labels)
    if not known.any():
        raise InvalidInput("no label is known, so there is nothing to predict from; give those of solution.cluster")
    classes, membership = np.unique(labels[known], return_inverse=True)
    means = np.array([old[known][membership == c].mean(axis=0) for c in range(len(classes))])
    return lambda new: classes[pairwise_distances(new, means, metric="sqeuclidean").argmin(axis=1)]


def _largest_share(rows: np.ndarray) -> np.ndarray:
    return rows.argmax(axis=1)


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


class Surroundings:
    """A graph as each of several new points sees it that comes alone: its weights to the old points.

    A point chooses its nearest neighbours, and an old point chooses it if it is nearer than the last of its own.
    """

    _known: WeakKeyDictionary[Graph, Surroundings] = WeakKeyDictionary()

    def __init__(self, graph: Graph) -> None:
        assert graph.points is not None and graph.rule is not None
        self.points, self.rule = graph.points, graph.rule
        if self.rule.n_neighbors is not None:
            self.search = NearestNeighbors(n_neighbors=self.rule.n_neighbors).fit(self.points)
            last = self.search.kneighbors(return_distance=False)[:, -1]
            self.reach, self.centre = _distances(self.points, self.points[last]), self.points.mean(axis=0)

    @classmethod
    def of(cls, graph: Graph) -> Surroundings:
        """Return those of a graph; old points are searched for neighbours once, however often new ones come."""
        if graph not in cls._known:
            cls._known[graph] = cls(graph)
        return cls._known[graph]

    def weights(self, new: np.ndarray) -> sp.csr_array:
        """Return the weights between new points, one row each, and old ones."""
        if self.rule.n_neighbors is None:
            return sp.csr_array(self.rule.weights(pairwise_distances(new, self.points)))
        m = len(new)
        chosen = self.search.kneighbors(new, return_distance=False)
        by_new = self._edges(new, np.repeat(np.arange(m), chosen.shape[1]), chosen.ravel())
        by_old = self._edges(new, *self._choosing(new))
        # The two directions as one matrix over new and old points, which is what the rule takes.
        directed = sp.block_array([[None, by_new], [by_old.T, None]]).tocsr()
        w = sp.csr_array(self.rule.symmetrized(directed)[:m, m:])
        if self.rule.connect:
            w = w.maximum(self._bridges(new, w, chosen[:, 0]))
        w.eliminate_zeros()
        return w

    def _choosing(self, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of a new point and an old one that chooses it."""
        # With ‖x − p‖² < r² as 2⟨x, p⟩ > ‖x‖² + ‖p‖² − r², one product finds the pairs, and a few more by rounding.
        x, p = self.points - self.centre, new - self.centre
        squares = (p**2).sum(axis=1)[:, None] + (x**2).sum(axis=1)
        who, old = np.nonzero(2 * p @ x.T > squares * (1 - 1e-10) - self.reach**2)
        nearer = _distances(self.points[old], new[who]) < self.reach[old]
        return who[nearer], old[nearer]

    def _edges(self, new: np.ndarray, who: np.ndarray, old: np.ndarray) -> sp.csr_array:
        weights = self.rule.weights(_distances(new[who], self.points[old]))
        return sp.csr_array((weights, (who, old)), shape=(len(new), len(self.points)))

    def _bridges(self, new: np.ndarray, w: sp.csr_array, nearest: np.ndarray) -> sp.csr_array:
        """Return the shortest edges of the points that no edge joins numerically, as Rule.joined strengthens them."""
        loose = np.flatnonzero(w.max(axis=1).toarray() < LEAST_BRIDGE_WEIGHT)
        bridges = self._edges(new, loose, nearest[loose])
        bridges.data = np.maximum(bridges.data, LEAST_BRIDGE_WEIGHT)
        return bridges


def _distances(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the distances of points in the same places of two arrays.

    A search rounds differently from one call to the next. Here a copy of a point is exactly as far away as that is, so
    ties are ties, whoever asks.
    """
    return np.sqrt((np.ascontiguousarray(first - second) ** 2).sum(axis=-1))


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
            nearest = NearestNeighbors(n_neighbors=k).fit(graph.points).kneighbors(return_distance=False)
            self.nearest = np.vstack([_distances(graph.points[:, None], graph.points[nearest]), np.empty((room, k))])

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
        choice = everyone.kneighbors(new, n_neighbors=k + 1, return_distance=False)
        keep = choice != n + np.arange(m)[:, None]  # not itself, which is found first unless another point coincides
        keep[keep.all(axis=1), -1] = False
        choice = choice[keep].reshape(m, k)
        chosen = _distances(new[:, None], self.points[choice])
        by_new = sp.csr_array(
            (self.rule.weights(chosen).ravel(), (n + np.repeat(np.arange(m), k), choice.ravel())), shape=(total, total)
        )
        few = min(k, m)
        seen_who = NearestNeighbors(n_neighbors=few).fit(new).kneighbors(self.points[:n], return_distance=False)
        seen = _distances(self.points[:n, None], new[seen_who])
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
