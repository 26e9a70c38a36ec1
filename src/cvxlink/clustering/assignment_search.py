"""Cheap labels that keep blocks apart, searched by hand: what was found before is found again, then branch and bound.

The assignment steps of one search have the same pairs and other costs, and dense pairs leave few ways to label blocks.
So the last labels, with the clusters renamed at least cost and chains exchanged while that is cheaper, are often the
best, and branch and bound soon shows it. Work is counted, not timed, so results do not depend on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from .rules import Rules

# Differences below this share of the largest cost are rounding.
ROUNDING = 1e-12
# Labels tried in one call of branch and bound, and in all calls for the same rules.
MOST_TRIALS, ALL_TRIALS = 2000, 40_000
# Blocks relabelled by one search for labels that break no pair (Hertz & de Werra's tabu search).
MOST_REPAIRS = 20_000


@dataclass(eq=False)
class AssignmentSearch:
    """Searches labels under the same rules for other costs again and again; sizes are not looked at.

    Attributes
    ----------
    rules : Rules
    labels : array or None
        The last labels found that keep all pairs apart.
    trials : int
        What is left to try in branch and bound.
    is_repairable : bool
        False after labels could not be repaired: that is not tried again.
    """

    rules: Rules
    labels: np.ndarray | None = None
    trials: int = ALL_TRIALS
    is_repairable: bool = True

    def cheapest(self, costs: np.ndarray) -> tuple[np.ndarray | None, bool]:
        """Return the cheapest labels found, and whether it is proven that none are cheaper, or that there are none."""
        search = _BranchAndBound(self.rules, costs)
        if self.labels is not None:
            search.offer(exchanged(self.rules, costs, renamed(costs, self.labels)))
        limit = min(MOST_TRIALS, self.trials)
        is_proven = search.run(limit)
        self.trials -= search.trials
        if search.best is None and not is_proven and self.is_repairable:
            search.offer(repaired(self.rules, costs.argmin(axis=1)))
            self.is_repairable = search.best is not None
        if search.best is not None and not is_proven:
            search.offer(exchanged(self.rules, costs, renamed(costs, search.best)))
        if search.best is not None:
            self.labels = search.best
        return search.best, is_proven


def renamed(costs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the same partition with the labels that cost least."""
    k = costs.shape[1]
    totals = np.zeros((k, k))
    np.add.at(totals, labels, costs)
    return linear_sum_assignment(totals)[1][labels]


def exchanged(rules: Rules, costs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Exchange labels along chains of pairs between two clusters (Kempe's) while that is cheaper."""
    labels, i, j = labels.copy(), *rules.apart.T
    tolerance = ROUNDING * float(abs(costs).max())
    clusters = [(A, B) for A in range(rules.k) for B in range(A + 1, rules.k)]
    since = 0  # pairs of clusters that were looked at since the last exchange
    while clusters and since < len(clusters):
        A, B = clusters[0]
        clusters.append(clusters.pop(0))
        inside = (labels == A) | (labels == B)
        both = inside[i] & inside[j]
        graph = sp.coo_array((np.ones(int(both.sum())), (i[both], j[both])), shape=(rules.n, rules.n))
        count, chain = connected_components(graph, directed=False)
        other = np.where(inside, A + B - labels, labels)
        each = np.arange(rules.n)
        change = np.bincount(chain, weights=costs[each, other] - costs[each, labels], minlength=count)
        gains = (change < -tolerance)[chain]
        labels = np.where(gains, other, labels)
        since = 0 if gains.any() else since + 1
    return labels


def repaired(rules: Rules, labels: np.ndarray) -> np.ndarray | None:
    """Return labels that keep all pairs apart, by relabelling one block of a broken pair at a time; None if not found.

    The best relabelling is made, even if more pairs are broken, but a block does not get back a label it lost lately.
    """
    rng = np.random.default_rng(0)
    labels, n, k = labels.copy(), rules.n, rules.k
    starts, around = rules.adjacency.indptr, rules.adjacency.indices
    clusters = np.zeros((n, k))
    clusters[np.arange(n), labels] = 1
    broken = np.asarray(rules.adjacency @ clusters)  # by each block with each label
    until = np.zeros((n, k))
    fewest = np.inf
    for step in range(MOST_REPAIRS):
        own = broken[np.arange(n), labels]
        total = own.sum() / 2
        if total == 0:
            return labels
        fewest = min(fewest, total)
        inside = np.flatnonzero(own)
        change = broken[inside] - own[inside, None]
        change[np.arange(len(inside)), labels[inside]] = np.inf
        change[(until[inside] > step) & (total + change >= fewest)] = np.inf
        best = np.flatnonzero(change == change.min())
        place, there = divmod(int(best[rng.integers(len(best))]), k)
        a = int(inside[place])
        here = labels[a]
        near = around[starts[a] : starts[a + 1]]
        broken[near, here] -= 1
        broken[near, there] += 1
        labels[a] = there
        until[a, here] = step + 0.6 * len(inside) + rng.integers(10)
    return None


class _BranchAndBound:
    """Labels the block with the fewest free labels next, its cheapest label first."""

    def __init__(self, rules: Rules, costs: np.ndarray) -> None:
        self.rules, self.trials = rules, 0
        self.costs = costs - costs.min(axis=1, keepdims=True)
        self.tolerance = ROUNDING * float(self.costs.max()) * rules.n
        self.best: np.ndarray | None = None
        self.lowest = np.inf
        self.labels = np.full(rules.n, -1)
        self.taken = np.zeros(costs.shape, dtype=int)
        self.free = np.full(rules.n, costs.shape[1])
        self.low = np.zeros(rules.n)  # the cost of the label of each block, or of its cheapest free label
        starts, around = rules.adjacency.indptr, rules.adjacency.indices
        self.around = [around[starts[a] : starts[a + 1]] for a in range(rules.n)]
        self.degree = np.diff(starts) / (rules.n + 1)

    def offer(self, labels: np.ndarray | None) -> None:
        """Take labels that keep all pairs apart as the best if they are cheaper."""
        if labels is not None:
            value = float(self.costs[np.arange(len(labels)), labels].sum())
            if value < self.lowest:
                self.best, self.lowest = labels.copy(), value

    def run(self, limit: int) -> bool:
        """Search; return whether everything was searched."""
        path = [self._branch()]
        while path:
            a, options = path[-1]
            if self.labels[a] >= 0:
                self._unlabel(a)
            if not options:
                path.pop()
                continue
            if self.trials >= limit:
                return False
            self.trials += 1
            self._label(a, options.pop())
            if len(path) == len(self.labels):
                self.offer(self.labels)
            elif self._may_be_cheaper():
                path.append(self._branch())
        return True

    def _may_be_cheaper(self) -> bool:
        return float(self.low.sum()) < self.lowest - self.tolerance

    def _branch(self) -> tuple[int, list[int]]:
        a = int(np.where(self.labels < 0, self.free - self.degree, np.inf).argmin())
        free = np.flatnonzero(self.taken[a] == 0)
        return a, free[np.argsort(-self.costs[a, free], kind="stable")].tolist()

    def _label(self, a: int, label: int) -> None:
        self.labels[a] = label
        self.low[a] = self.costs[a, label]
        self.taken[self.around[a], label] += 1
        self._look_at(self.around[a])

    def _unlabel(self, a: int) -> None:
        self.taken[self.around[a], self.labels[a]] -= 1
        self.labels[a] = -1
        self._look_at(np.append(self.around[a], a))

    def _look_at(self, blocks: np.ndarray) -> None:
        """Find again which labels are free for some blocks, and what they cost at least."""
        blocks = blocks[self.labels[blocks] < 0]
        is_free = self.taken[blocks] == 0
        self.free[blocks] = is_free.sum(axis=1)
        self.low[blocks] = np.where(is_free, self.costs[blocks], np.inf).min(axis=1)
