"""Moves that improve a partition and keep its rules: one block, two blocks, or all blocks of a chain of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .partition_value import State
from .rules import Rules

# A change below this share of the value is rounding, not improvement.
ROUNDING = 1e-11
# Of every cluster, so many blocks at most are tried in exchanges with another cluster.
MOST_PARTNERS = 60


@dataclass(frozen=True, eq=False)
class Mover:
    """Makes single moves, exchanges along chains and swaps, best first, until none improves the value."""

    rules: Rules
    state: State
    end: float
    tolerance: float

    @classmethod
    def of(cls, rules: Rules, state: State, end: float = np.inf) -> Mover:
        """Start from a state that keeps the rules; ``end`` is a time of ``perf_counter`` after which nothing starts."""
        return cls(rules, state, end, ROUNDING * (float(abs(state.ratios).sum()) + np.finfo(float).tiny))

    def single_moves(self) -> bool:
        """Move single blocks while that improves the value; return whether any moved."""
        moved = False
        while perf_counter() < self.end and self._sweep():
            moved = True
        return moved

    def _sweep(self) -> bool:
        """Move every block whose move still improves the value when its turn comes, the best first."""
        rules, state = self.rules, self.state
        conflicts, points = self.conflicts(), rules.points_in(state.labels)
        starts, around = rules.adjacency.indptr, rules.adjacency.indices
        changes = self._allowed(state.move_changes(), conflicts, points, slice(None)).min(axis=1)
        promising = np.flatnonzero(changes < -self.tolerance)
        moved = False
        for a in promising[np.argsort(changes[promising], kind="stable")]:
            row = np.array([a])
            change = self._allowed(state.move_changes(row), conflicts[row], points, row)[0]
            here, there = int(state.labels[a]), int(change.argmin())
            if change[there] >= -self.tolerance:
                continue
            state.move(int(a), there)
            near = around[starts[a] : starts[a + 1]]
            conflicts[near, here] -= 1
            conflicts[near, there] += 1
            points[here] -= rules.sizes[a]
            points[there] += rules.sizes[a]
            moved = True
        return moved

    def _allowed(self, changes: np.ndarray, conflicts: np.ndarray, points: np.ndarray, blocks: Any) -> np.ndarray:
        """Return the changes of single moves, infinity for those that break a rule."""
        rules = self.rules
        changes[conflicts > 0] = np.inf
        if rules.least > 1:
            changes[points[self.state.labels[blocks]] - rules.sizes[blocks] < rules.least] = np.inf
        if rules.bounds_above:
            changes[points[None, :] + rules.sizes[blocks][:, None] > rules.most] = np.inf
        return changes

    def conflicts(self) -> np.ndarray:
        """Return how many blocks of each cluster every block is kept apart from."""
        labels, k = self.state.labels, self.rules.k
        i, j = self.rules.apart.T
        places = np.concatenate([i * k + labels[j], j * k + labels[i]])
        return np.bincount(places, minlength=len(labels) * k).reshape(-1, k)

    def chain_move(self) -> bool:
        """Exchange the labels of the best chain; return whether one improved the value.

        Blocks of two clusters that pairs join, directly or through others of the two, must change sides together.
        """
        if not len(self.rules.apart):
            return False
        state, k = self.state, self.rules.k
        blocks, clusters, chain = self._chains()
        pair = np.zeros(int(chain.max()) + 1, dtype=int)
        pair[chain] = clusters
        changes = self._chain_changes(pair // k, pair % k, blocks, chain)
        best = int(changes.argmin())
        if changes[best] >= -self.tolerance:
            return False
        A, B = divmod(int(pair[best]), k)
        for a in blocks[chain == best]:
            state.move(int(a), A if state.labels[a] == B else B)
        return True

    def _chains(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the blocks on chains, the two clusters A < B of each, as Ak + B, and the number of its chain."""
        k, pairs = self.rules.k, self.rules.apart
        ends = np.sort(self.state.labels[pairs], axis=1)
        clusters = ends[:, 0] * k + ends[:, 1]
        # A block is on several chains, between its own cluster and others, so it appears once for each of them.
        nodes, places = np.unique(pairs * k**2 + clusters[:, None], return_inverse=True)
        i, j = places.reshape(-1, 2).T
        graph = sp.coo_array((np.ones(len(i)), (i, j)), shape=(len(nodes),) * 2)
        return nodes // k**2, nodes % k**2, connected_components(graph, directed=False)[1]

    def _chain_changes(self, A: np.ndarray, B: np.ndarray, blocks: np.ndarray, chain: np.ndarray) -> np.ndarray:
        rules, state, count = self.rules, self.state, len(A)
        cost = state.cost
        sign = np.where(state.labels[blocks] == B[chain], 1.0, -1.0)

        def per_chain(weights: np.ndarray) -> np.ndarray:
            return np.bincount(chain, weights=sign * weights, minlength=count)

        d = cost.d[blocks]
        quadratic = cost.forms(blocks, sign * d, chain, count)
        linear = (per_chain(d * state.G[blocks, A[chain]]), per_chain(d * state.G[blocks, B[chain]]))
        changes = state.exchange_changes(A, B, per_chain(cost.squares[blocks]), linear, quadratic)
        now, points = rules.points_in(state.labels), per_chain(rules.sizes[blocks])
        return np.where(self._fit(now[A] + points) & self._fit(now[B] - points), changes, np.inf)

    def _fit(self, points: np.ndarray) -> np.ndarray:
        return (points >= self.rules.least) & (points <= self.rules.most)

    def swap(self) -> bool:
        """Exchange the best two blocks of two clusters; return whether that improved the value."""
        changes = self.state.move_changes()
        changes[np.isinf(changes)] = 0.0  # a block that is alone in its cluster may not move, but may be exchanged
        changes[self.conflicts() > 0] = np.inf
        best: tuple[float, int, int] = (-self.tolerance, -1, -1)
        for A, B, left, right in self._partners(changes):
            change = self._swap_changes(A, B, left, right)
            i, j = divmod(int(change.argmin()), len(right))
            if change[i, j] < best[0]:
                best = (float(change[i, j]), int(left[i]), int(right[j]))
        _, a, b = best
        if a < 0:
            return False
        here, there = int(self.state.labels[a]), int(self.state.labels[b])
        self.state.move(a, there)
        self.state.move(b, here)
        return True

    def _partners(self, changes: np.ndarray) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
        """Yield two clusters and the blocks of each that lose least by moving to the other."""
        members = [np.flatnonzero(self.state.labels == cluster) for cluster in range(self.rules.k)]

        def candidates(here: int, there: int) -> np.ndarray:
            loss = changes[members[here], there]
            order = np.argsort(loss, kind="stable")[:MOST_PARTNERS]
            return members[here][order[np.isfinite(loss[order])]]

        for A, B in combinations(range(self.rules.k), 2):
            left, right = candidates(A, B), candidates(B, A)
            if len(left) and len(right):
                yield A, B, left, right

    def _swap_changes(self, A: int, B: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the change of the value for each a in A and b in B that change places."""
        rules, state = self.rules, self.state
        cost, G = state.cost, state.G
        d_a, d_b = cost.d[left][:, None], cost.d[right][None, :]
        own_a, own_b = (cost.squares * cost.own)[left][:, None], (cost.squares * cost.own)[right][None, :]
        quadratic = own_a + own_b - 2 * d_a * d_b * cost.block(left, right)
        linear = (d_b * G[right, A] - d_a * G[left, A][:, None], d_b * G[right, B] - d_a * G[left, B][:, None])
        change = state.exchange_changes(A, B, d_b**2 - d_a**2, linear, quadratic)
        now, points = rules.points_in(state.labels), rules.sizes[right][None, :] - rules.sizes[left][:, None]
        return np.where(self._fit(now[A] + points) & self._fit(now[B] - points), change, np.inf)
