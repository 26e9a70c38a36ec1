r"""Which constraints contradict one another: shares, multipliers, and an irreducible subset.

Let w prove that :math:`Mz + a \in \mathcal{K}` has no solution, scaled to :math:`a^\top w = -1`. Then
:math:`-w^\top (Mz + a) = 1` for every z: weighted by w, the constraints are violated by 1 in total, wherever z is.
Relaxing rows by :math:`u \ge 0` therefore admits a feasible point only if :math:`\sum_r |w_r| u_r \ge 1`. Rows without
weight play no part in this contradiction.

A subset is irreducible if it is contradictory and no proper subset is. It is found by deletion: leave out some rows; if
the others still contradict one another, leave them out for good. What cannot be left out is needed, since fewer
constraints have even more feasible points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..programs.declared import semidefinite_variable
from ..reductions.cones import Block, unpacked
from .alternatives import Alternative, alternative
from .conic_system import ConicSystem
from .diagnosis import BlamedRow
from .facial_contradiction import facial_contradiction
from .merged_points import MergedPoints
from .ownership import Item, OwnedSystem
from .search import Budget, dual_cones
from .search import search as find

# Smaller weights, relative to the largest, count as zero when a search begins.
NEGLIGIBLE = 1e-6


class Search:
    """Tests of subsets of a program's constraints, up to a number of solves and a time.

    Parameters
    ----------
    owned : OwnedSystem
    most_solves : float
    until : float
        When to stop, on the clock of :func:`time.perf_counter`.
    merged : MergedPoints
        The constraints that merge points.
    """

    def __init__(self, owned: OwnedSystem, most_solves: float, until: float, merged: MergedPoints) -> None:
        self.owned, self.most_solves, self.until, self.merged = owned, most_solves, until, merged
        self.solves = 0
        self.undecided: list[Item] = []  # whether these are needed is not known

    @property
    def is_over(self) -> bool:
        """Whether no further solve is allowed."""
        return self.solves >= self.most_solves or perf_counter() >= self.until

    def alternative(self, kept: np.ndarray) -> Alternative:
        """Return a contradiction among some items, or a point that satisfies them."""
        self.solves += 1
        if self.merged.contradict(self.owned.items[k] for k in np.flatnonzero(kept)):
            return Alternative(is_exact=True)
        system = self.owned.only(kept)
        found = alternative(system)
        return found if found.is_contradiction else facial_contradiction(system, found.point) or found

    def multipliers(self, kept: np.ndarray, known: np.ndarray | None) -> np.ndarray | None:
        """Return multipliers of a contradiction among some items, for all rows, or else the known ones."""
        found = alternative(self.owned.only(kept)) if known is None or not kept.all() else None
        return known if found is None or not found.is_contradiction else self._whole(kept, found)

    def steps(self, kept: np.ndarray) -> np.ndarray | None:
        """Return the sizes of the multipliers of a contradiction in several steps among some items, for all rows."""
        found = facial_contradiction(self.owned.only(kept))
        return None if found is None else self._whole(kept, found)

    def _whole(self, kept: np.ndarray, found: Alternative) -> np.ndarray:
        whole = np.zeros(len(self.owned.system.a))
        whole[self.owned.rows(kept)] = found.multipliers
        return whole

    def irreducible(self, kept: np.ndarray, parts: Sequence[np.ndarray]) -> tuple[np.ndarray, bool]:
        """Return which items remain when as many parts as possible are left out, and whether all of these are needed.

        ``parts`` are sets of items, by number; they are tried in this order, several at once.
        """
        waiting, at_once, all_needed = list(parts), max(1, len(parts) // 2), True
        while waiting:
            if self.is_over:
                return kept, False
            tried = waiting[:at_once]
            without = kept.copy()
            without[np.concatenate(tried)] = False
            found = self.alternative(without)
            if found.is_contradiction:
                kept, waiting = without, waiting[at_once:]
            elif len(tried) > 1:
                at_once = len(tried) // 2
                continue
            else:
                if not found.is_feasible:
                    self.undecided += [self.owned.items[k] for k in tried[0]]
                    all_needed = False
                waiting = waiting[1:]
            at_once = max(1, min(2 * at_once, len(waiting) // 2))
        return kept, all_needed


def weights_of_items(owned: OwnedSystem, w: np.ndarray) -> np.ndarray:
    """Return the weight of each item in a contradiction: norms of multipliers, for rows of unit length."""
    return np.array([_size(owned, item, w[item.rows]) for item in owned.items])


def _size(owned: OwnedSystem, item: Item, w: np.ndarray) -> float:
    if item.kind == "semidefinite":
        order = round((8 * len(w) + 1) ** 0.5 - 1) // 2
        return float(abs(np.linalg.eigvalsh(unpacked(w, order))).sum())  # the nuclear norm
    return float(np.linalg.norm(w))


def shares(owned: OwnedSystem, w: np.ndarray) -> dict[str, float]:
    """Return the share of each group in a contradiction."""
    weights = weights_of_items(owned, w)
    total = max(float(weights.sum()), 1e-300)
    found = dict.fromkeys(owned.groups, 0.0)
    for item, weight in zip(owned.items, weights, strict=True):
        found[item.group] += float(weight) / total
    return found


def multipliers_by_group(owned: OwnedSystem, w: np.ndarray) -> dict[str, list[Any]]:
    """Return multipliers in the units and shapes of the declaration, scaled to a violation of 1 in total."""
    unscaled = w / owned.system.scales / -float(owned.system.a @ w)
    found: dict[str, dict[int, Any]] = {}
    for item in owned.items:
        terms = found.setdefault(item.group, {}) if item.kind is not None else {}
        if item.kind is not None and item.number not in terms:
            terms[item.number] = _in_shape(owned, item, unscaled)
    if owned.points is not None:  # constraints on other points have no part in it
        for group, constraints in owned.declaration.constraints.items():
            for number, term in enumerate(constraints):
                found.setdefault(group, {}).setdefault(number, np.zeros(term.shape))
    return {group: [parts for _, parts in sorted(terms.items())] for group, terms in found.items()}


def _in_shape(owned: OwnedSystem, item: Item, unscaled: np.ndarray) -> Any:
    """Return the multipliers of a whole constraint in its shape; those of several expressions as a list."""
    term, form = item.term, owned.form
    own = semidefinite_variable(term, owned.declaration.variables) if term is not None else None
    if item.kind == "semidefinite" and (term is None or own is not None):
        matrix = unpacked(unscaled[item.rows], round((8 * len(item.rows) + 1) ** 0.5 - 1) // 2)
        return matrix if owned.points is None else _among_all(owned, owned.points, matrix)
    if term is None:
        rows = form.domains[item.group.removesuffix(" domain")][item.number]
        return unscaled[rows] + 0.0
    flat = (-1.0 if item.kind == "zero" else 1.0) * form.owners[term.id].transposed_times(unscaled) + 0.0
    several = cp.constraints.SOC | cp.constraints.ExpCone | cp.constraints.PowCone3D
    if not isinstance(term, several):
        return flat.reshape(term.shape, order="F")
    args = term.args[: 2 if isinstance(term, cp.constraints.SOC) else 3]
    parts = np.split(flat, np.cumsum([arg.size for arg in args])[:-1])
    return [part.reshape(arg.shape, order="F") for part, arg in zip(parts, args, strict=True)]


def _among_all(owned: OwnedSystem, points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return a matrix on some points as one on all of them."""
    (variable,) = owned.declaration.variables.values()
    whole = np.zeros(variable.shape)
    whole[np.ix_(points, points)] = matrix
    return whole


def blamed_row(owned: OwnedSystem, item: Item) -> BlamedRow:
    """Return an item as it is shown."""
    return BlamedRow(item.group, owned.words(item), item.number, item.place)


def irreducible_items(search: Search, w: np.ndarray | None) -> tuple[np.ndarray, bool]:
    """Return a subset of the items, irreducible by groups and then by rows, and whether it is known to be that."""
    owned = search.owned
    weights = np.ones(len(owned.items)) if w is None else weights_of_items(owned, w)
    kept = np.ones(len(owned.items), dtype=bool)
    support = weights > NEGLIGIBLE * weights.max(initial=0.0)
    if not support.all() and search.alternative(support).is_contradiction:
        kept = support
    kept, _ = search.irreducible(kept, _lightest_first(owned, kept, weights, lambda item: item.group))
    search.undecided.clear()  # the rows of such a group are tried again
    kept = _with_few_rows(search, kept)
    return search.irreducible(
        kept, _lightest_first(owned, kept, weights, lambda item: (item.group, item.number, item.place))
    )


def _with_few_rows(search: Search, kept: np.ndarray) -> np.ndarray:
    """Return a contradictory subset with few rows: the support of multipliers with a small 1-norm, if that is one.

    With different prices for the rows, the cheapest multipliers are most often unique, and then a vertex.
    """
    if search.is_over:
        return kept
    owned, system = search.owned, search.owned.only(kept)
    search.solves += 1
    w = _cheapest(system)
    if w is None:
        return kept
    whole = np.zeros(len(owned.system.a))
    whole[owned.rows(kept)] = w
    weights = weights_of_items(owned, whole)
    fewer = kept & (weights > NEGLIGIBLE * weights.max(initial=0.0))
    return fewer if fewer.sum() < kept.sum() and search.alternative(fewer).is_contradiction else kept


def _cheapest(system: ConicSystem) -> np.ndarray | None:
    """Return multipliers of a contradiction with the least Σ prices · |w|, up to a solver's tolerances."""
    m, n = system.M.shape
    prices = 1 + np.random.default_rng(0).random(m)
    into, cones = dual_cones(system.blocks, np.arange(m), m, n + 1 + 2 * m)
    every, none = sp.eye_array(m), sp.csr_array((n + 1, m))
    # Unknowns: the multipliers, and their absolute values.
    balance = sp.hstack([sp.vstack([system.M.T, system.a[None, :]]), none])
    sizes = sp.vstack([sp.hstack([every, every]), sp.hstack([-every, every])])
    dual = sp.hstack([into, sp.csr_array((into.shape[0], m))])
    offsets = np.zeros(n + 1 + 2 * m + into.shape[0])
    offsets[n] = system.distance
    blocks = [Block("zero", slice(0, n + 1)), Block("nonnegative", slice(n + 1, n + 1 + 2 * m)), *cones]
    rows = sp.csr_array(sp.vstack([balance, sizes, dual], format="csr"))
    found = find(np.concatenate([np.zeros(m), prices]), rows, offsets, blocks, Budget())
    return None if found is None else found.z[:m]


def _lightest_first(
    owned: OwnedSystem, kept: np.ndarray, weights: np.ndarray, key: Callable[[Item], Any]
) -> list[np.ndarray]:
    """Return sets of items with equal keys, in the order of their weights.

    Cones come first: a contradiction between equations and inequalities alone is easier to understand.
    """
    sets: dict[Any, list[int]] = {}
    for k in np.flatnonzero(kept):
        sets.setdefault(key(owned.items[k]), []).append(int(k))

    def order(group: list[int]) -> tuple[bool, float]:
        return all(owned.is_row(owned.items[k]) for k in group), float(weights[group].sum())

    return [np.array(group) for group in sorted(sets.values(), key=order)]
