r"""By how much constraints have to be relaxed: the least total slack after which there is a feasible point.

.. math:: \min_{z, u \ge 0}\ \sum_r u_r \quad\text{s.t.}\quad Mz + a + Eu \in \mathcal{K}

Each u is the change of one right-hand side as it is declared, of either sign for an equation. For the solver it is
scaled by the largest coefficient of its row. Often many relaxations are equally small; a second solve picks one with
few rows, of those that are preferred.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..programs.declared import body_of
from ..reductions.cones import packed
from .alternatives import alternative
from .blame import blamed_row
from .certify import ONE_AT_A_TIME
from .conic_system import ConicSystem
from .diagnosis import BlamedRow, Relaxation
from .ownership import Item, OwnedSystem
from .search import Budget, search
from .violations import violations_of

# Smaller amounts, relative to the total, are not shown.
NEGLIGIBLE = 1e-5
# How much more slack is given when a feasible point is looked for anew, as a share of the total.
MORE = 1e-4
# How exactly the relaxed constraints must hold at that point.
HOLDS = 1e-5
# What squares of unknowns cost beside the changes where the least change is as small as you like.
PRICE_OF_SIZE = 1e-6


def relaxation(
    parts: Sequence[tuple[OwnedSystem, list[Item]]],
    preferred: Collection[int] = (),
    known: Mapping[str, np.ndarray] | None = None,
    is_least: bool = True,
) -> Relaxation | None:
    """Return the least relaxation of some items after which the whole program is feasible, or None.

    ``parts`` are the systems without a feasible point, each with the items that may be relaxed; ``known`` is a point of
    the other parts of the program. Of equally small relaxations, that of the ``preferred`` items is returned; they are
    given by ``id()``. Where the least one is as small as you like, one that is not the least keeps values moderate.
    """
    rows, amounts, violated = list[BlamedRow](), list[float](), list[tuple[Item, float]]()
    values = dict(known or {})
    for owned, items in parts:
        elastic = _Elastic.of(owned, items)
        found = elastic.least(np.array([id(item) in preferred for item in items])) if is_least else elastic.moderate()
        if found is None:
            return None
        kept = found > NEGLIGIBLE * max(float(found.sum()), 1e-300)
        found = np.where(kept, found, 0.0)
        with_more = found + MORE * float(found.sum())
        again = alternative(elastic.within(with_more / elastic.sizes))
        own = owned.values(elastic.unknowns(again.point)) if again.point is not None else {}
        values = {name: value + values.get(name, 0.0) for name, value in own.items()}
        rows += [blamed_row(owned, item) for item, take in zip(items, kept, strict=True) if take]
        amounts += found[kept].tolist()
        violated += zip(items, with_more.tolist(), strict=True)
        if not own:
            break
    violation = _violation(parts[0][0], violated, values) if values else float("inf")
    size = max(1.0, max((float(abs(value).max(initial=0.0)) for value in values.values()), default=1.0))
    return Relaxation(tuple(rows), tuple(amounts), values, violation, violation <= HOLDS * size, is_least)


@dataclass(frozen=True, eq=False)
class _Elastic:
    """A system with slacks as further unknowns, which are not negative."""

    system: ConicSystem
    sizes: np.ndarray  # what a slack of 1 is in the units of each item
    item_of: np.ndarray  # of each slack
    first: int  # the number of the first slack among the unknowns

    @classmethod
    def of(cls, owned: OwnedSystem, items: list[Item]) -> _Elastic:
        system = owned.system
        columns, sizes, item_of = [], [], []
        for k, item in enumerate(items):
            direction, size = _direction(owned, item)
            signs = (1.0, -1.0) if item.kind == "zero" else (1.0,)
            columns += [sign * size * direction for sign in signs]
            item_of += [k] * len(signs)
            sizes.append(size)
        E = sp.csr_array(sp.hstack(columns, format="csr"))
        extended = system.with_unknowns(E)
        return cls(extended, np.array(sizes), np.array(item_of), len(system.cost))

    def least(self, is_preferred: np.ndarray) -> np.ndarray | None:
        """Return the change of each item in the least relaxation, in the units of the declaration, or None."""
        system, count, sizes = self.system, len(self.item_of), self.sizes[self.item_of]
        cost = np.concatenate([np.zeros(self.first), sizes])
        first = search(cost, system.M, system.a, system.blocks, Budget())
        if first is None:
            return None
        found = sizes * np.maximum(first.z[self.first :], 0)
        total = float(found.sum())
        # Rows that need little are made dearer, as are those that are not preferred, and later ones a little more than
        # earlier ones, which decides ties.
        later = (1 + 0.1 * np.arange(count) / count) * np.where(is_preferred[self.item_of], 1.0, 4.0)
        dear = later / (found / max(total, 1e-300) + 0.01)
        scale = float(sizes.max())
        within = system.with_rows(
            sp.csr_array(-cost[None, :] / scale), np.array([(total * (1 + 1e-7) + 1e-12) / scale])
        )
        second = search(
            cost * np.concatenate([np.zeros(self.first), dear]), within.M, within.a, within.blocks, Budget()
        )
        if second is not None:
            again = sizes * np.maximum(second.z[self.first :], 0)
            found = again if again.sum() <= total * (1 + 1e-5) else found
        return np.bincount(self.item_of, found, int(self.item_of.max()) + 1)

    def moderate(self) -> np.ndarray | None:
        """Return changes of items that are small, but not so small that unknowns must be large."""
        system, sizes = self.system, self.sizes[self.item_of]
        cost = np.concatenate([np.zeros(self.first), sizes])
        squares = np.concatenate([np.full(self.first, PRICE_OF_SIZE), np.zeros(len(sizes))])
        found = search(cost, system.M, system.a, system.blocks, Budget(), squares)
        if found is None:
            return None
        changes = sizes * np.maximum(found.z[self.first :], 0)
        return np.bincount(self.item_of, changes, int(self.item_of.max()) + 1)

    def within(self, amounts: np.ndarray) -> ConicSystem:
        """Return the system in which slacks are limited."""
        count = len(self.item_of)
        rows = sp.hstack([sp.csr_array((count, self.first)), -sp.eye_array(count)], format="csr")
        return self.system.with_rows(sp.csr_array(rows), amounts[self.item_of])

    def unknowns(self, z: np.ndarray) -> np.ndarray:
        """Return the unknowns without the slacks."""
        return z[: self.first]


def _direction(owned: OwnedSystem, item: Item) -> tuple[sp.csr_array, float]:
    """Return what a slack of 1 adds to the rows of the system, and the largest coefficient of the item."""
    added = np.zeros(len(item.rows))
    if owned.is_row(item):
        added[:] = 1.0
    elif item.kind == "semidefinite":
        added = packed(np.eye(round((8 * len(item.rows) + 1) ** 0.5 - 1) // 2))
    elif item.kind == "second-order":
        added[0] = 1.0
    elif item.kind == "exponential":
        added[-1] = 1.0
    else:
        added[:2] = 1.0
    places = (item.rows, np.zeros(len(added), dtype=int))
    column = sp.csr_array((added / owned.system.scales[item.rows], places), shape=(len(owned.system.a), 1))
    if not owned.is_row(item):
        return column, 1.0
    M, row = owned.form.M, int(item.rows[0])
    return column, float(abs(M.data[M.indptr[row] : M.indptr[row + 1]]).max(initial=0.0)) or 1.0


def _violation(owned: OwnedSystem, amounts: list[tuple[Item, float]], values: dict[str, np.ndarray]) -> float:
    """Return by how much a point violates the relaxed constraints, evaluated row by row as they are declared."""
    allowed, in_group = dict[tuple[int, int], float](), dict[str, float]()
    for item, amount in amounts:
        allowed[id(item.term), item.place] = float(amount)
        in_group[item.group] = max(in_group.get(item.group, 0.0), float(amount))
    semidefinite = [amount for item, amount in amounts if item.kind == "semidefinite"]
    over = [0.0]
    with ONE_AT_A_TIME, np.errstate(all="ignore"):
        found, least_eigenvalue = violations_of(owned.declaration, values)
        if least_eigenvalue is not None:
            over.append(-least_eigenvalue - max(semidefinite, default=0.0))
        for name in owned.declaration.variables:
            over.append(found.get(f"{name} domain", 0.0) - in_group.get(f"{name} domain", 0.0))
        for group, terms in owned.declaration.constraints.items():
            for term in terms:
                if isinstance(term, cp.constraints.Equality | cp.constraints.Zero | cp.constraints.Inequality):
                    body = np.ravel(body_of(term).value, order="F")
                    sizes = body if isinstance(term, cp.constraints.Inequality) else abs(body)
                    over += [float(size) - allowed.get((id(term), k), 0.0) for k, size in enumerate(sizes)]
                elif not isinstance(term, cp.constraints.PSD):
                    over.append(found[group] - max(in_group.values(), default=0.0))
    worst = max(over)
    return worst if np.isfinite(over).all() else float("inf")
