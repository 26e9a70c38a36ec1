r"""Local search for the best partition of blocks into k clusters that keeps links and sizes.

The value of a partition is :math:`\sum_S d_S^\top C d_S / \|d_S\|^2`; see :mod:`cvxlink.clustering.partition_value`.
What is found is an upper bound on the least value, never a proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput, SolveFailed
from ..numerics.checks import (
    MOST_REPEATS,
    as_count,
    as_generator,
    as_labels,
    as_points,
    as_positive,
)
from ..numerics.eigenpairs import smallest_eigenpairs
from .assignment import Assigner
from .colouring import require_labels
from .partition_moves import Mover
from .partition_value import Cost, State, value_of
from .rules import Rules

__all__ = ["search", "value_of"]

# Lloyd's method converges in far fewer steps.
MOST_STEPS = 100
# Far more than are ever needed.
MOST_EXCHANGES = 1000
# Differences below this share of the value are rounding.
ROUNDING = 1e-12
# Seconds for one assignment at most; nearly all take less than a millisecond.
ASSIGNMENT = 2.0
# Without a time limit, seconds to decide whether there are labels at all, if no start leads to any.
DECISION = 60.0
# So many times per start, one cluster of the best partition is replaced. On public data sets with links, this finds the
# best known values far more often than as many starts from seeds.
REPLACEMENTS = 7


def search(
    C: Any,
    d: Any,
    k: int,
    apart: Any = (),
    starts: Sequence[Any] = (),
    sizes: Any = None,
    least: int | None = None,
    most: int | None = None,
    random_state: Any = None,
    n_init: int = 10,
    time_limit: float | None = None,
) -> tuple[np.ndarray, float]:
    r"""Look for the partition of blocks into k clusters with the least :math:`\sum_S d_S^\top C d_S / \|d_S\|^2`.

    Every start is improved by Lloyd's method in the space of the kernel, with an assignment step that keeps all rules;
    then by moves of single blocks, exchanges along chains of cannot-links, and swaps, with the exact change of the
    value; until none of them improves it.

    Parameters
    ----------
    C : array, sparse matrix or Congruence
        Symmetric, of order c. Only products with C are used.
    d : array of c
        Positive weights.
    k : int
        The number of clusters, none of which is empty.
    apart : pairs of blocks
        Pairs that must get different labels.
    starts : list of arrays
        Labels of the blocks, -1 for unknown, which may break the rules; or embeddings with one row per block, which are
        clustered by weighted k-means with the same rules.
    sizes : array of c, optional
        The number of points in each block; one by default.
    least, most : int, optional
        The smallest and the largest number of points in a cluster.
    random_state : None, int or numpy generator
    n_init : int
        Further starts from seeds drawn as in k-means++. After each, one cluster of the best partition found so far is
        replaced by another, several times.
    time_limit : float, optional
        Seconds after which no further start is tried.

    Returns
    -------
    labels : array of c
        0 … k − 1, in the order of first appearance.
    value : float
        Computed anew from C, d and the labels.

    Raises
    ------
    InfeasibleProblem
        If no partition keeps all rules; the message names the links or sizes that contradict one another.
    SolveFailed
        If no partition was found in time.
    """
    cost = Cost.of(C, d)
    rules = Rules.of(cost.n, k, apart, sizes, least, most)
    limit = np.inf if time_limit is None else as_positive(time_limit, "time_limit")
    effort = as_count(n_init, "n_init", 0, MOST_REPEATS)
    given = [_checked_start(start, cost.n, rules.k) for start in starts]
    run = _Search(cost, rules, as_generator(random_state), perf_counter() + limit)
    if rules.k > rules.n:
        require_labels(rules, perf_counter() + 1)  # says why there are none
    labels = _numbered(run.best_of(given, effort))
    return labels, value_of(C, d, labels)


class _Search:
    """One search: its data, its random numbers and when it ends."""

    def __init__(self, cost: Cost, rules: Rules, rng: np.random.Generator, end: float) -> None:
        self.cost, self.rules, self.rng, self.end = cost, rules, rng, end
        self.assigner = Assigner(rules)
        self.best: np.ndarray | None = None
        self.value = np.inf

    def best_of(self, given: list[np.ndarray], n_init: int) -> np.ndarray:
        """Improve all starts and return the best labels."""
        for start in given:
            if start.ndim == 1 and start.min() >= 0:
                self._keep(State(self.cost, start, self.rules.k))
        for labels in self._starts(given, n_init):
            self._improve(labels)
            if perf_counter() > self.end:
                break
        if self.best is None:
            labels = require_labels(self.rules, perf_counter() + max(1.0, min(self.end - perf_counter(), DECISION)))
            self._keep(State(self.cost, labels, self.rules.k))
            self.assigner.remember(labels)
            self._improve(labels)
        assert self.best is not None
        return self.best

    def _starts(self, given: list[np.ndarray], n_init: int) -> Iterator[np.ndarray]:
        """Yield labels to start from, which may break the rules or be incomplete."""
        spaces = [] if sp.issparse(self.cost.C) else [self.cost]
        for start in given:
            if start.ndim == 2:
                spaces.append(Cost.of_embedding(start, self.cost.d))
                yield self._clustered(spaces[-1], max(1, n_init // 2))
            else:
                yield start
        if not spaces and n_init:
            spaces.append(self._eigenvectors())
        for number in range(n_init):
            yield self._seeds(spaces[number % len(spaces)])
            for _ in range(REPLACEMENTS if self.best is not None and self.rules.k > 1 else 0):
                yield self._replaced()

    def _eigenvectors(self) -> Cost:
        """Return where seeds for a sparse C are drawn; by C itself, blocks that are not neighbours are all alike."""
        vectors = smallest_eigenpairs(self.cost.C, min(self.rules.k, self.cost.n))[1]
        return Cost.of_embedding(vectors / self.cost.d[:, None], self.cost.d)

    # ------------------------------------------------------------------ starts

    def _seeds(self, space: Cost) -> np.ndarray:
        """Label k blocks, drawn with probabilities proportional to their squared distances from those before."""
        labels = np.full(self.cost.n, -1)
        share = np.array(space.squares)
        nearest = np.full(self.cost.n, np.inf)
        for label in range(min(self.rules.k, self.cost.n)):
            share[labels >= 0] = 0.0
            if not share.any():
                share = (labels < 0).astype(float)
            chosen = self._drawn(share)
            labels[chosen] = label
            nearest = np.minimum(nearest, space.squared_distances(chosen))
            share = nearest.copy()
        return self._lloyd(space, labels) if space is not self.cost else labels

    def _replaced(self) -> np.ndarray:
        """Return the best labels without one cluster, which begins again at a block far from the other means."""
        assert self.best is not None
        state = State(self.cost, self.best, self.rules.k)
        labels, cluster = state.labels.copy(), int(self.rng.integers(self.rules.k))
        share = np.maximum(state.lloyd_costs().min(axis=1), 0.0)
        share[(labels == cluster) | (state.counts[labels] == 1)] = 0.0
        labels[labels == cluster] = -1
        if share.any():
            labels[self._drawn(share)] = cluster
        return labels

    def _drawn(self, share: np.ndarray) -> int:
        """Draw a block with probability proportional to its share."""
        chosen = int(np.searchsorted(share.cumsum(), self.rng.random() * share.sum(), side="right"))
        return min(chosen, int(np.flatnonzero(share)[-1]))

    def _clustered(self, space: Cost, repeats: int) -> np.ndarray:
        """Return the best of several k-means clusterings of an embedding."""
        found = [State(space, self._seeds(space), self.rules.k) for _ in range(repeats)]
        return min(found, key=lambda state: state.value).labels

    # ------------------------------------------------------------------ improvement

    def _improve(self, labels: np.ndarray) -> None:
        """Improve labels, which may break the rules or be incomplete, and keep what is best."""
        lowest = np.inf
        while True:
            labels = self._lloyd(self.cost, labels)
            if labels.min() < 0 or not self.rules.admits(labels):
                return  # no labels that keep the rules were found in time
            state = State(self.cost, labels, self.rules.k)
            self._keep(state)
            if state.value >= lowest or not self._moved(state):
                return
            self._keep(state)
            labels, lowest = state.labels, state.value - ROUNDING * abs(state.value)
            if perf_counter() > self.end:
                return

    def _moved(self, state: State) -> bool:
        """Improve a partition by moves until none is left; return whether there were any."""
        mover = Mover.of(self.rules, state, self.end)
        moved = mover.single_moves()
        for _ in range(MOST_EXCHANGES):  # rounding could make a circle of exchanges that each seem to gain
            if perf_counter() >= self.end or not (mover.chain_move() or mover.swap()):
                break
            moved = True
            mover.single_moves()
        return moved

    def _lloyd(self, cost: Cost, labels: np.ndarray) -> np.ndarray:
        """Alternate between means and assignments that keep the rules, while the value falls."""
        best, lowest = labels, np.inf
        for _ in range(MOST_STEPS):
            state = State(cost, labels, self.rules.k)
            if labels.min() >= 0 and self.rules.admits(labels):
                if state.value >= lowest:
                    break
                best, lowest = labels, state.value - ROUNDING * abs(state.value)
            if not state.counts.all():
                state = self._filled(state)
            try:
                new = self.assigner(state.lloyd_costs(), min(ASSIGNMENT, max(self.end - perf_counter(), 0.1))).labels
            except SolveFailed:  # no labels were found in time; another start may be luckier
                break
            if np.array_equal(new, labels):
                break
            labels = new
        return best

    def _filled(self, state: State) -> State:
        """Give every empty cluster a block that is far from all means."""
        labels, k = state.labels.copy(), self.rules.k
        for cluster in np.flatnonzero(state.counts == 0):
            now = State(state.cost, labels, k)
            far = now.lloyd_costs().min(axis=1) if now.counts.any() else self.rng.random(len(labels))
            far[(labels >= 0) & (now.counts[labels] == 1)] = -np.inf
            labels[int(far.argmax())] = cluster
        return State(state.cost, labels, k)

    def _keep(self, state: State) -> None:
        if state.value < self.value and self.rules.admits(state.labels):
            self.best, self.value = state.labels.copy(), state.value


def _checked_start(start: Any, n: int, k: int) -> np.ndarray:
    """Return labels, numbered from 0, or an embedding."""
    if np.ndim(start) == 2:
        rows = as_points(start, "starts")
        if len(rows) != n:
            raise InvalidInput.about("starts", f"holds an embedding of {len(rows)} rows for {n} blocks")
        return rows
    labels = as_labels(start, n, "starts")
    known = labels != -1
    names, numbers = np.unique(labels[known], return_inverse=True)
    if len(names) > k:
        raise InvalidInput.about("starts", f"holds labels of {len(names)} clusters, more than k = {k}")
    numbered = np.full(n, -1)
    numbered[known] = numbers
    return numbered


def _numbered(labels: np.ndarray) -> np.ndarray:
    """Number clusters in the order of first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
