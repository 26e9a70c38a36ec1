"""The assignment step: labels of least cost that keep blocks apart and clusters within their sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import SolveFailed
from ..numerics.checks import as_positive, finite_array
from .colouring import require_labels
from .elimination import Component, Elimination, eliminate
from .integer_program import Outcome, cheapest
from .rules import Rules
from .transport import transport


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels, and whether no others cost less.

    Attributes
    ----------
    labels : array of n
    is_optimal : bool
        False if the time was up before the labels were proven best.
    """

    labels: np.ndarray
    is_optimal: bool = True


@dataclass(frozen=True, eq=False)
class Assigner:
    """Finds labels of least cost under the same rules again and again."""

    rules: Rules

    def __call__(self, costs: np.ndarray, time_limit: float = 10.0) -> Assignment:
        """Return the labels for costs with a row per block and a column per cluster.

        Raises :class:`InfeasibleProblem` if no labels keep the rules, and :class:`SolveFailed` if none were found in
        time.
        """
        end = perf_counter() + time_limit
        costs = np.asarray(costs, dtype=float)
        found = self._apart(costs, end)
        if self.rules.fits_sizes(found.labels):
            return found
        return self._with_sizes(costs, end)

    @cached_property
    def _elimination(self) -> Elimination:
        return Elimination.of(self.rules)

    def _apart(self, costs: np.ndarray, end: float) -> Assignment:
        """Keep blocks apart, whatever the sizes: the cheapest labels, mended only where they break a link."""
        labels = costs.argmin(axis=1)
        if self.rules.keeps_apart(labels):
            return Assignment(labels)
        gathered, choices = self._elimination.gathered(costs)
        roots = self.rules.is_linked
        labels[roots] = gathered[roots].argmin(axis=1)
        is_optimal = True
        for component in self._elimination.core:
            pairs = labels[component.pairs]
            if (pairs[:, 0] == pairs[:, 1]).any():
                is_optimal &= self._core(component, gathered, labels, end)
        self._elimination.scatter(labels, choices)
        return Assignment(labels, is_optimal)

    def _core(self, component: Component, costs: np.ndarray, labels: np.ndarray, end: float) -> bool:
        """Label one component of the core in place; return whether that is proven best."""
        if component.steps is not None:
            if not eliminate(component.steps, costs, labels):
                self._fail(end)
            return True
        pairs = np.searchsorted(component.blocks, component.pairs)
        rules = Rules.of(len(component.blocks), self.rules.k, pairs, nonempty=False)
        outcome = cheapest(costs[component.blocks], rules, end - perf_counter())
        labels[component.blocks] = self._checked(outcome, end)
        return outcome.is_optimal

    def _with_sizes(self, costs: np.ndarray, end: float) -> Assignment:
        rules = self.rules
        every_block_is_a_point = rules.total == rules.n
        fits = rules.k * rules.least <= rules.n and rules.k * rules.most >= rules.total
        if not len(rules.apart) and fits and (every_block_is_a_point or self._forbids_only_empty):
            most = rules.n if self._forbids_only_empty else rules.most
            return Assignment(transport(costs, rules.least, most))
        decided = self._decided(costs)
        labels, kept = costs.argmin(axis=1), np.flatnonzero(~decided)
        pairs = np.searchsorted(kept, rules.apart)
        smaller = replace(rules, n=len(kept), apart=pairs, sizes=rules.sizes[kept])
        if decided.any():
            smaller = replace(smaller, most=smaller.total)
        outcome = cheapest(costs[kept], smaller, end - perf_counter())
        labels[kept] = self._checked(outcome, end)
        return Assignment(labels, outcome.is_optimal)

    @property
    def _forbids_only_empty(self) -> bool:
        return self.rules.least == 1 and not self.rules.bounds_above

    def _decided(self, costs: np.ndarray) -> np.ndarray:
        """Return which blocks take their cheapest labels in some best solution.

        If clusters only must not be empty, one block in each is enough to show it. Of the unlinked blocks, the k that
        lose least by moving to a cluster are enough to choose from for it.
        """
        rules = self.rules
        decided = np.zeros(rules.n, dtype=bool)
        if self._forbids_only_empty and rules.n > rules.k:
            loss = np.where(rules.is_linked[:, None], np.inf, costs - costs.min(axis=1, keepdims=True))
            decided = ~rules.is_linked
            decided[np.argpartition(loss, rules.k - 1, axis=0)[: rules.k]] = False
        return decided

    def _checked(self, outcome: Outcome, end: float) -> np.ndarray:
        if outcome.is_infeasible:
            self._fail(end)
        if outcome.labels is None:
            raise SolveFailed("no labels that keep all cannot-links and sizes were found in time; allow more time")
        return outcome.labels

    def _fail(self, end: float) -> None:
        """Raise an error that says why no labels keep the rules."""
        require_labels(self.rules, max(end, perf_counter() + 1))
        raise SolveFailed("HiGHS calls an assignment impossible that is possible; allow more time, or fewer links")


def assign(
    costs: Any,
    apart: Any = (),
    sizes: Any = None,
    least: int | None = None,
    most: int | None = None,
    nonempty: bool = True,
    time_limit: float = 10.0,
) -> np.ndarray:
    r"""Minimise :math:`\sum_a c_{a, l(a)}` over labels :math:`l` that keep blocks apart and clusters in their sizes.

    Parameters
    ----------
    costs : array, c × k
        What each block costs in each cluster.
    apart : pairs of blocks
        Pairs that must get different labels.
    sizes : array of c, optional
        The number of points in each block; one by default.
    least, most : int, optional
        The smallest and the largest number of points in a cluster.
    nonempty : bool
        Whether every cluster needs a block.
    time_limit : float
        Seconds; after that, the best labels found so far are returned.

    Returns
    -------
    array of c
        Labels 0 … k − 1.

    Raises
    ------
    InfeasibleProblem
        If no labels keep all rules; the message names the links or sizes that contradict one another.
    SolveFailed
        If no labels were found in time.
    """
    costs = finite_array(costs, "costs", (None, None))
    rules = Rules.of(costs.shape[0], costs.shape[1], apart, sizes, least, most, nonempty)
    return Assigner(rules)(costs, as_positive(time_limit, "time_limit")).labels
