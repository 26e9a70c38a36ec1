"""The assignment step: labels of least cost that keep blocks apart and clusters within their sizes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import SolveFailed
from ..numerics.checks import as_positive, finite_array
from .assignment_search import AssignmentSearch, renamed
from .colouring import require_labels, spread
from .elimination import Component, Elimination, eliminate
from .integer_program import Outcome, cheapest
from .rules import Rules
from .transport import transport

# For all assignments of one search, so many integer programs that only keep blocks apart, which is searched by hand
# first, and so many seconds for all programs.
MOST_PROGRAMS, MOST_SECONDS = 40, 4.0


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels, and whether no others cost less.

    Attributes
    ----------
    labels : array of n
    is_optimal : bool
        False if the effort was spent before the labels were proven best.
    """

    labels: np.ndarray
    is_optimal: bool = True


@dataclass(eq=False)
class _Effort:
    """The seconds and numbers of integer programs that are left, and the last labels that kept all rules."""

    seconds: float = MOST_SECONDS
    programs: int = MOST_PROGRAMS
    labels: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Assigner:
    """Finds labels of least cost under the same rules again and again."""

    rules: Rules
    effort: _Effort = field(default_factory=_Effort)

    def __call__(self, costs: np.ndarray, time_limit: float = 10.0) -> Assignment:
        """Return the labels for costs with a row per block and a column per cluster.

        Raises :class:`InfeasibleProblem` if no labels keep the rules, and :class:`SolveFailed` if none were found in
        time.
        """
        end = perf_counter() + time_limit
        costs = np.asarray(costs, dtype=float)
        found = self._apart(costs, end)
        if not self.rules.fits_sizes(found.labels):
            found = self._with_sizes(costs, found.labels, end)
        self.effort.labels = found.labels
        return found

    def remember(self, labels: np.ndarray) -> None:
        """Begin with labels that keep all rules, if none were found before."""
        self.effort.labels = labels
        for component, search in zip(self._elimination.core, self._searches, strict=True):
            if search is not None and search.labels is None:
                search.labels = labels[component.blocks]

    @cached_property
    def _searches(self) -> list[AssignmentSearch | None]:
        """One for each component of the core without elimination."""
        return [
            None if component.steps is not None else AssignmentSearch(self._rules_of(component))
            for component in self._elimination.core
        ]

    def _rules_of(self, component: Component) -> Rules:
        pairs = np.searchsorted(component.blocks, component.pairs)
        return Rules.of(len(component.blocks), self.rules.k, pairs, nonempty=False)

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
        for component, search in zip(self._elimination.core, self._searches, strict=True):
            pairs = labels[component.pairs]
            if (pairs[:, 0] == pairs[:, 1]).any():
                is_optimal &= self._core(component, search, gathered, labels, end)
        self._elimination.scatter(labels, choices)
        return Assignment(labels, is_optimal)

    def _core(
        self, component: Component, search: AssignmentSearch | None, costs: np.ndarray, labels: np.ndarray, end: float
    ) -> bool:
        """Label one component of the core in place; return whether that is proven best."""
        if component.steps is not None:
            if not eliminate(component.steps, costs, labels):
                self._fail(end)
            return True
        assert search is not None
        known, is_proven = search.cheapest(costs[component.blocks])
        if not is_proven and self.effort.programs > 0:
            self.effort.programs -= 1
            outcome = self._program(costs[component.blocks], search.rules, end)
            known, is_proven = _cheapest(costs[component.blocks], [outcome.labels, known]), outcome.is_optimal
            search.labels = known
        labels[component.blocks] = self._required(known, end, is_proven)
        return is_proven

    def _program(self, costs: np.ndarray, rules: Rules, end: float) -> Outcome:
        """Ask HiGHS, as long as there are seconds left for it."""
        began = perf_counter()
        left = min(end - began, self.effort.seconds)
        if left <= 0:
            return Outcome(None)
        outcome = cheapest(costs, rules, left)
        self.effort.seconds -= perf_counter() - began
        if outcome.is_infeasible:
            self._fail(end)
        return outcome

    def _with_sizes(self, costs: np.ndarray, apart: np.ndarray, end: float) -> Assignment:
        """Keep sizes too; ``apart`` are labels that keep all pairs apart."""
        rules = self.rules
        every_block_is_a_point = rules.total == rules.n
        fits = rules.k * rules.least <= rules.n and rules.k * rules.most >= rules.total
        if not len(rules.apart) and fits and (every_block_is_a_point or self._forbids_only_empty):
            most = rules.n if self._forbids_only_empty else rules.most
            return Assignment(transport(costs, rules.least, most))
        decided = self._decided(costs)
        kept = np.flatnonzero(~decided)
        pairs = np.searchsorted(kept, rules.apart)
        smaller = replace(rules, n=len(kept), apart=pairs, sizes=rules.sizes[kept])
        if decided.any():
            smaller = replace(smaller, most=smaller.total)
        outcome, known = self._program(costs[kept], smaller, end), list[np.ndarray | None]()
        if outcome.labels is not None:
            labels = costs.argmin(axis=1)
            labels[kept] = outcome.labels
            known.append(labels)
        if not outcome.is_optimal:
            filled = spread(apart, rules)
            known.append(filled if rules.admits(filled) else None)
            known.append(None if self.effort.labels is None else renamed(costs, self.effort.labels))
        return Assignment(self._required(_cheapest(costs, known), end), outcome.is_optimal)

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

    def _required(self, labels: np.ndarray | None, end: float, is_proven: bool = False) -> np.ndarray:
        if labels is None and is_proven:
            self._fail(end)
        if labels is None:
            raise SolveFailed("no labels that keep all cannot-links and sizes were found in time; allow more time")
        return labels

    def _fail(self, end: float) -> None:
        """Raise an error that says why no labels keep the rules."""
        require_labels(self.rules, max(end, perf_counter() + 1))
        raise SolveFailed("HiGHS calls an assignment impossible that is possible; allow more time, or fewer links")


def _cheapest(costs: np.ndarray, found: list[np.ndarray | None]) -> np.ndarray | None:
    """Return the labels that cost least, or None if there are none."""
    known = [labels for labels in found if labels is not None]
    return min(known, key=lambda labels: float(costs[np.arange(len(costs)), labels].sum()), default=None)


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
    limit = as_positive(time_limit, "time_limit")
    return Assigner(rules, _Effort(limit))(costs, limit).labels
