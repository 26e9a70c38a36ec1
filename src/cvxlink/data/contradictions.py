r"""The least set of links whose removal leaves the others free of contradictions.

A cannot-link (i, j) contradicts the must-links where these join i to j. With :math:`x_e = 1` for a removed must-link,
:math:`y_c = 1` for a removed cannot-link, and a weight for each,

.. math:: \min_{x, y \in \{0, 1\}}\ \sum_e w_e x_e + \sum_c w_c y_c \quad\text{s.t.}\quad
          y_c + \sum_{e \in P} x_e \ge 1 \ \text{ for each cannot-link } c \text{ and path } P \text{ of must-links
          between its ends.}

There are too many paths to write down, so they are added when they are violated: HiGHS solves the program with the
paths known so far, and where must-links that are left still join the ends of a cannot-link that is left, a shortest
path is added. The optimum with some of the paths is a lower bound; once no path is violated, the removal is feasible.
It is least if it is the optimum, which HiGHS decides up to its tolerances only. Where weights lie so far apart that
these hide the light ones, a search in whole numbers decides (:mod:`cvxlink.data.least_breaking`), or nothing is said.
Blocks of must-links without a cannot-link inside keep all their links, and blocks are solved one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..numerics.checks import as_positive
from .least_breaking import least_breaking, whole_weights
from .link_weights import as_link_values, on_links

# Costs are scaled to have at most this size, as HiGHS stops at an absolute gap of 1e-6.
LARGEST_COST = 1e6
# By so much, at the scale of the costs, the bound of HiGHS may be wrong: its gap, and reduced costs, one per link, that
# are zero up to its tolerance; both twice as large as it promises.
GAP, REDUCED_COST = 2e-6, 2e-7
# A bound that is nearer to the weight than these shares of it and of the lightest link proves it least.
SAME_WEIGHT, SAME_LINK = 1e-9, 1e-2


@dataclass(frozen=True, eq=False)
class Reconciled:
    """Links without contradictions, and what was removed for that.

    Attributes
    ----------
    links, removed : Links
        The links that are left, and those that are not.
    weight : float
        The sum of the weights of the removed links.
    bound : float
        No removal of less weight than this leaves links without contradictions.
    """

    links: Any
    removed: Any
    weight: float
    bound: float

    @property
    def is_least(self) -> bool:
        """Whether it is proven that no lighter set of links would do."""
        return self.weight <= self.bound

    def __str__(self) -> str:
        if not len(self.removed):
            return "nothing had to be removed: the links do not contradict one another"
        proof = "proven least" if self.is_least else f"at least {self.bound:.6g} is necessary"
        named = [("must-links", self.removed.must), ("cannot-links", self.removed.cannot)]
        what = ", ".join(f"{kind} {' '.join(f'({i}, {j})' for i, j in pairs)}" for kind, pairs in named if len(pairs))
        return f"removed {what}; weight {self.weight:.6g}, {proof}"

    __repr__ = __str__


def reconciled(links: Any, must_weight: Any = 1.0, cannot_weight: Any = 1.0, time_limit: float = 10.0) -> Reconciled:
    """Remove the least links, see :meth:`cvxlink.Links.without_contradictions`."""
    weights = [
        on_links(as_link_values(given, pairs, links.n, name), pairs, name, default=1.0)
        for given, pairs, name in (
            (must_weight, links.must, "must_weight"),
            (cannot_weight, links.cannot, "cannot_weight"),
        )
    ]
    end = perf_counter() + as_positive(time_limit, "time_limit")
    is_removed = [np.zeros(len(links.must), dtype=bool), np.zeros(len(links.cannot), dtype=bool)]
    bound, is_proven = 0.0, True
    for conflict in _conflicts(links, *weights):
        removal, below, is_least = conflict.least_removal(end)
        bound += below
        is_proven &= is_least
        is_removed[0][conflict.must] = removal[: len(conflict.must)]
        is_removed[1][conflict.cannot] = removal[len(conflict.must) :]
    weight = float(weights[0][is_removed[0]].sum() + weights[1][is_removed[1]].sum())
    kind, (must, cannot) = type(links), is_removed
    return Reconciled(
        kind(links.n, links.must[~must], links.cannot[~cannot]),
        kind(links.n, links.must[must], links.cannot[cannot]),
        weight,
        weight if is_proven else min(bound, float(np.nextafter(weight, 0.0))),
    )


@dataclass(frozen=True, eq=False)
class _Conflict:
    """A block with cannot-links inside: which links these are, by number, their ends in the block, and their weights.

    ``weights`` and all removals have the must-links first.
    """

    n: int
    must: np.ndarray
    cannot: np.ndarray
    edges: np.ndarray
    apart: np.ndarray
    weights: np.ndarray

    def least_removal(self, end: float) -> tuple[np.ndarray, float, bool]:
        """Return which links to remove, a lower bound on the weight of a removal, and whether none is lighter."""
        best, bound, paths = self._by_program(end)
        best = self._needed(best)
        if self._is_reached(best, bound):
            return best, bound, True
        whole = whole_weights(self.weights)
        best, is_least = least_breaking(whole, paths, self._violated_paths, best, end)
        best = self._needed(best)
        return best, float(self.weights[best].sum()) if is_least else bound, is_least

    def _by_program(self, end: float) -> tuple[np.ndarray, float, list[np.ndarray]]:
        """Return the lightest removal that integer programming finds, its bound, and the paths it took."""
        everything = np.arange(len(self.weights)) >= len(self.must)  # without cannot-links nothing is contradicted
        best, bound, paths = everything, 0.0, list[np.ndarray]()
        chosen = np.zeros(len(self.weights), dtype=bool)
        while True:
            violated = list(self._violated_paths(chosen))
            repaired = chosen.copy()
            repaired[[path[0] for path in violated]] = True
            if self.weights[repaired].sum() < self.weights[best].sum():
                best = repaired
            left = end - perf_counter()
            if not violated or left <= 0 or self._is_reached(best, bound):
                return best, bound, paths
            paths += violated
            found = self._with_paths(paths, left)
            if found is None:
                return best, bound, paths
            chosen, bound = found[0], max(bound, found[1])

    def _is_reached(self, removal: np.ndarray, bound: float) -> bool:
        """Whether a bound leaves no room for a lighter removal, up to rounding."""
        weight = float(self.weights[removal].sum())
        return weight - bound <= min(SAME_WEIGHT * weight, SAME_LINK * float(self.weights.min()))

    def _needed(self, removal: np.ndarray) -> np.ndarray:
        """Return a removal without the links that need not be removed, the heaviest given back first."""
        removal, count = removal.copy(), len(self.must)
        i, j = self.edges[~removal[:count]].T
        graph = sp.coo_array((np.ones(len(i)), (i, j)), shape=(self.n, self.n))
        parts = connected_components(graph, directed=False)[1]
        removed = np.flatnonzero(removal)
        for link in removed[np.argsort(-self.weights[removed], kind="stable")]:
            a, b = parts[self.edges[link] if link < count else self.apart[link - count]]
            if link >= count:
                removal[link] = a == b
                continue
            ends = np.sort(parts[self.apart[~removal[count:]]], axis=1)
            if a == b or not (ends == sorted((a, b))).all(axis=1).any():
                removal[link] = False
                parts[parts == b] = a
        return removal

    def _violated_paths(self, chosen: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the numbers of the links of contradictions that are left: a cannot-link, and a shortest path."""
        kept = np.flatnonzero(~chosen[: len(self.must)])
        i, j = self.edges[kept].T
        numbers = sp.csr_array((kept + 1, (i, j)), shape=(self.n, self.n))
        numbers = sp.csr_array(numbers + numbers.T)
        parts = connected_components(numbers, directed=False)[1]
        for c, (a, b) in enumerate(self.apart):
            if chosen[len(self.must) + c] or parts[a] != parts[b]:
                continue
            _, parent = breadth_first_order(numbers, a, directed=False)
            path, here = [len(self.must) + c], b
            while here != a:
                path.append(int(numbers[here, parent[here]]) - 1)
                here = parent[here]
            yield np.array(path)

    def _with_paths(self, paths: list[np.ndarray], seconds: float) -> tuple[np.ndarray, float] | None:
        """Return the least removal that breaks all these paths, as HiGHS sees it, and the bound that it proves."""
        rows = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
        shape = (len(paths), len(self.weights))
        A = sp.csr_array((np.ones(len(rows)), (rows, np.concatenate(paths))), shape=shape)
        scale = LARGEST_COST / float(self.weights.max())
        found = milp(
            scale * self.weights,
            integrality=np.ones(len(self.weights)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(A, lb=1),
            options={"time_limit": max(seconds, 1e-3), "mip_rel_gap": 0.0},
        )
        if found.x is None:
            return None
        doubt = GAP + REDUCED_COST * len(self.weights)
        return found.x > 0.5, max(0.0, (found.mip_dual_bound - doubt) / scale)


def _conflicts(links: Any, must_weight: np.ndarray, cannot_weight: np.ndarray) -> Iterator[_Conflict]:
    """Yield the blocks of must-links that hold both ends of a cannot-link."""
    blocks = links.blocks
    inside = blocks[links.cannot[:, 0]] == blocks[links.cannot[:, 1]]
    for block in np.unique(blocks[links.cannot[inside, 0]]):
        members = np.flatnonzero(blocks == block)
        must = np.flatnonzero(blocks[links.must[:, 0]] == block)
        cannot = np.flatnonzero(inside & (blocks[links.cannot[:, 0]] == block))
        yield _Conflict(
            len(members),
            must,
            cannot,
            np.searchsorted(members, links.must[must]),
            np.searchsorted(members, links.cannot[cannot]),
            np.concatenate([must_weight[must], cannot_weight[cannot]]),
        )
