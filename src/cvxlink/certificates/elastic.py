r"""By how much constraints have to be relaxed: the least total slack after which there is a feasible point.

.. math:: \min_{z, u \ge 0}\ \sum_r u_r \quad\text{s.t.}\quad Mz + a + Eu \in \mathcal{K}

Each u is the slack of one row, of either sign for an equation, in units of the largest coefficient of the row, so that
writing a row with other units changes nothing. Often many relaxations are equally small; a second solve picks one with
few rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..programs.conic_form import Cone, Part
from ..programs.declared import body_of
from .alternatives import alternative
from .blame import blamed_row
from .certify import ONE_AT_A_TIME
from .conic_system import ConicSystem, solved
from .diagnosis import Relaxation
from .ownership import Item, OwnedSystem
from .violations import violations_of

# Smaller amounts, relative to the total, are not shown.
NEGLIGIBLE = 1e-6
# How much more slack is given when a feasible point is looked for anew, as a share of the total.
MORE = 1e-4
# How exactly the relaxed constraints must hold at that point.
HOLDS = 1e-5


def relaxation(owned: OwnedSystem, items: list[Item]) -> Relaxation | None:
    """Return the least relaxation of some items after which the whole program is feasible, or None."""
    elastic = _Elastic.of(owned, items)
    slacks = elastic.least()
    if slacks is None:
        return None
    kept = slacks > NEGLIGIBLE * max(float(slacks.sum()), 1e-300)
    slacks = np.where(kept, slacks, 0.0)
    with_more = slacks + MORE * float(slacks.sum())
    again = alternative(elastic.within(with_more))
    values = owned.values(elastic.unknowns(again.point)) if again.point is not None else {}
    violation = _violation(owned, items, with_more * elastic.sizes, values) if values else float("inf")
    amounts = slacks * elastic.sizes
    size = max(1.0, max((float(abs(value).max(initial=0.0)) for value in values.values()), default=1.0))
    return Relaxation(
        tuple(blamed_row(owned, item) for item, take in zip(items, kept, strict=True) if take),
        tuple(float(amount) for amount, take in zip(amounts, kept, strict=True) if take),
        values,
        violation,
        violation <= HOLDS * size,
    )


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
            signs = (1.0, -1.0) if _kind(owned, item) == "zero" else (1.0,)
            columns += [sign * size * direction for sign in signs]
            item_of += [k] * len(signs)
            sizes.append(size)
        E = sp.csr_array(sp.hstack(columns, format="csr"))
        extended = _with_columns(system, E)
        return cls(extended, np.array(sizes), np.array(item_of), len(system.cost))

    def least(self) -> np.ndarray | None:
        """Return the slack of each item in the least relaxation, or None."""
        z = cp.Variable(len(self.system.cost))
        slack, holds = z[self.first :], self.system.holds(z, 1.0)
        if not solved(cp.Problem(cp.Minimize(cp.sum(slack)), holds)):
            return None
        found = np.maximum(np.asarray(slack.value), 0)
        total = float(found.sum())
        # Rows that need little are made dearer, and later ones a little more than earlier ones, which decides ties.
        later = 1 + 0.1 * np.arange(len(found)) / len(found)
        dear = later / (found / max(total, 1e-300) + 0.01)
        within = cp.sum(slack) <= total * (1 + 1e-7) + 1e-12
        if solved(cp.Problem(cp.Minimize(dear @ slack), [*holds, within])):
            found = np.maximum(np.asarray(slack.value), 0)
        return np.bincount(self.item_of, found, int(self.item_of.max()) + 1)

    def within(self, amounts: np.ndarray) -> ConicSystem:
        """Return the system in which slacks are limited."""
        count = len(self.item_of)
        rows = sp.hstack([sp.csr_array((count, self.first)), -sp.eye_array(count)], format="csr")
        return _with_rows(self.system, sp.csr_array(rows), amounts[self.item_of])

    def unknowns(self, z: np.ndarray) -> np.ndarray:
        """Return the unknowns without the slacks."""
        return z[: self.first]


def _kind(owned: OwnedSystem, item: Item) -> str:
    assert item.cone is not None
    return owned.system.cones[item.cone].kind


def _direction(owned: OwnedSystem, item: Item) -> tuple[sp.csr_array, float]:
    """Return what a slack of 1 adds to the rows of the system, and the largest coefficient of the item."""
    kind, scales = _kind(owned, item), owned.scales[item.rows]
    added = np.zeros(len(item.rows))
    if kind in ("zero", "nonnegative"):
        added[:] = 1 / scales
    elif kind == "semidefinite":
        order = round(len(item.rows) ** 0.5)
        added = np.eye(order).ravel() / scales
    elif kind == "second-order":
        added[0] = 1 / scales[0]
    elif kind == "exponential":
        added[-1] = 1 / scales[-1]
    else:
        added[:2] = 1 / scales[:2]
    column = sp.csr_array((added, (item.rows, np.zeros(len(added), dtype=int))), shape=(len(owned.system.a), 1))
    if kind not in ("zero", "nonnegative"):
        return column, 1.0
    row = abs(owned.system.M[[int(item.rows[0])]]).toarray().ravel() / owned.system.units * scales[0]
    return column, _largest_coefficient(owned, row) or 1.0


def _largest_coefficient(owned: OwnedSystem, row: np.ndarray) -> float:
    """Return the largest coefficient, where the two places of an entry of a symmetric matrix count as one."""
    largest, start = 0.0, 0
    for variable in owned.declaration.variables.values():
        own = row[start : start + variable.size]
        start += variable.size
        if variable.ndim == 2 and variable.is_symmetric():
            square = own.reshape(variable.shape, order="F")
            own = square + square.T - np.diag(square.diagonal())
        largest = max(largest, float(own.max(initial=0.0)))
    return max(largest, float(row[start:].max(initial=0.0)))


def _with_columns(system: ConicSystem, E: sp.csr_array) -> ConicSystem:
    """Return a system with further unknowns that are not negative."""
    ends = np.cumsum([0, *(len(a) for a in system.offsets)])
    matrices = [
        sp.csr_array(sp.hstack([M, E[start:end]], format="csr"))
        for M, start, end in zip(system.matrices, ends[:-1], ends[1:], strict=True)
    ]
    count = E.shape[1]
    wider = replace(
        system,
        matrices=matrices,
        cost=np.concatenate([system.cost, np.zeros(count)]),
        units=np.concatenate([system.units, np.ones(count)]),
        widths=[*system.widths, count],
        reach=[np.inf] * (len(system.reach) + 1),
    )
    every = sp.hstack([sp.csr_array((count, len(system.cost))), sp.eye_array(count)], format="csr")
    return _with_rows(wider, sp.csr_array(every), np.zeros(count))


def _with_rows(system: ConicSystem, rows: sp.csr_array, offsets: np.ndarray) -> ConicSystem:
    """Return a system with further inequalities rows · z + offsets ≥ 0."""
    cone = Cone("nonnegative", (Part((len(offsets),), {}, [], offsets),))
    return replace(
        system,
        cones=[*system.cones, cone],
        matrices=[*system.matrices, rows],
        offsets=[*system.offsets, offsets],
        scales=[*system.scales, np.ones(len(offsets))],
    )


def _violation(owned: OwnedSystem, items: list[Item], amounts: np.ndarray, values: dict[str, np.ndarray]) -> float:
    """Return by how much a point violates the relaxed constraints, evaluated row by row as they are declared."""
    allowed, in_group = dict[tuple[int, int], float](), dict[str, float]()
    for item, amount in zip(items, amounts, strict=True):
        allowed[id(item.term), item.place] = float(amount)
        in_group[item.group] = max(in_group.get(item.group, 0.0), float(amount))
    semidefinite = [a for item, a in zip(items, amounts, strict=True) if _kind(owned, item) == "semidefinite"]
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
                    over.append(found[group] - max(in_group.values()))
    worst = max(over)
    return worst if np.isfinite(over).all() else float("inf")
