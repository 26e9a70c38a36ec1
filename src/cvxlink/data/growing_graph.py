"""Graphs that new points join: one by one, all at once, or each as if it were the only one."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from ..errors import InvalidInput
from ..numerics.arguments import as_instance
from ..numerics.checks import MOST_POINTS, as_count, as_points
from .graph import LEAST_BRIDGE_WEIGHT, Graph


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
        as_instance(graph, Graph, "graph", "a Graph")
        if graph.points is None or graph.rule is None:
            raise InvalidInput("graph must have been built from points; build it with Graph.knn or Graph.rbf", "graph")
        room = as_count(room, "room", 0, MOST_POINTS)
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
        new = as_points(new, "new")
        n, m = self.n, len(new)
        if new.shape[1] != self.points.shape[1]:
            raise InvalidInput(f"new has {new.shape[1]} columns, but the graph {self.points.shape[1]}", "new")
        if n + m > len(self.points):
            raise InvalidInput(f"new has {m} points, but there is room for {len(self.points) - n}", "new")
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
