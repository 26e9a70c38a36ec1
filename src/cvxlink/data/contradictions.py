r"""The least set of links whose removal leaves the others free of contradictions.

A cannot-link (i, j) contradicts the must-links where these join i to j. With :math:`x_e = 1` for a removed must-link,
:math:`y_c = 1` for a removed cannot-link, and a weight for each,

.. math:: \min_{x, y \in \{0, 1\}}\ \sum_e w_e x_e + \sum_c w_c y_c \quad\text{s.t.}\quad
          y_c + \sum_{e \in P} x_e \ge 1 \ \text{ for each cannot-link } c \text{ and path } P \text{ of must-links
          between its ends.}

There are too many paths to write down, so they are added when they are violated: HiGHS solves the program with the
paths known so far, and where must-links that are left still join the ends of a cannot-link that is left, a shortest
path is added. The optimum with some of the paths is a lower bound; once no path is violated, the removal is feasible,
and least.
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
from .link_weights import as_link_values, on_links

# Costs are scaled to have at most this size, as HiGHS stops at an absolute gap of 1e-6.
LARGEST_COST = 1e4
# A bound that is nearer to the weight than this share of it proves it least.
SAME_WEIGHT = 1e-9


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
        return self.weight <= self.bound + SAME_WEIGHT * self.weight

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
    bound = 0.0
    for conflict in _conflicts(links, *weights):
        removal, below = conflict.least_removal(end)
        bound += below
        is_removed[0][conflict.must] = removal[: len(conflict.must)]
        is_removed[1][conflict.cannot] = removal[len(conflict.must) :]
    weight = float(weights[0][is_removed[0]].sum() + weights[1][is_removed[1]].sum())
    kind, (must, cannot) = type(links), is_removed
    return Reconciled(
        kind(links.n, links.must[~must], links.cannot[~cannot]),
        kind(links.n, links.must[must], links.cannot[cannot]),
        weight,
        min(bound, weight),
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

    def least_removal(self, end: float) -> tuple[np.ndarray, float]:
        """Return which links to remove, and a lower bound on the weight of any removal that is enough."""
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
            if not violated or left <= 0 or bound >= self.weights[best].sum() * (1 - SAME_WEIGHT):
                return best, bound
            paths += violated
            found = self._with_paths(paths, left)
            if found is None:
                return best, bound
            chosen, bound = found[0], max(bound, found[1])

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
        """Return the least removal that breaks all these paths, and the bound that HiGHS proves."""
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
        chosen = found.x > 0.5
        below = float(self.weights[chosen].sum()) if found.status == 0 else max(0.0, found.mip_dual_bound / scale)
        return chosen, below


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
