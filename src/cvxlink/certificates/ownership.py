"""Which declared constraint each row of a conic system belongs to, and the system without some of them.

CVXPY writes ``exp(x) <= 1`` as t ≤ 1 and a cone that makes t at least exp(x). The first belongs to the constraint; the
second only defines t, and is needed as long as something that uses t is. So removing a constraint removes its own
rows, and the definitions that nothing else needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..model.declared import Declaration
from ..programs.conic_form import Cone, Part
from .conic_system import ConicSystem
from .row_words import in_words

OBJECTIVE = "objective domain"


@dataclass(frozen=True, eq=False)
class Item:
    """One constraint that can be removed by itself: an entry of an equation or inequality, or a whole cone.

    ``place`` is its number within the constraint, column by column; ``term`` is None for the domain of the objective.
    """

    group: str
    number: int  # of the constraint within its group
    term: Any
    place: int
    rows: np.ndarray  # of the system
    cone: int | None


@dataclass(frozen=True, eq=False)
class OwnedSystem:
    """A conic system whose rows have owners: named groups, attributes of variables, and the objective's domain."""

    declaration: Declaration
    system: ConicSystem
    items: tuple[Item, ...]
    _needed_by: sp.csr_array  # which definitions each item needs: items × rows

    @classmethod
    def of(cls, declaration: Declaration, most: int) -> OwnedSystem:
        """Read a declaration; refuse it if it has more unknowns or rows than ``most``."""
        system = ConicSystem.of(declaration, most)
        units = _units(system)
        starts = np.cumsum([0, *(len(a) for a in system.offsets)])
        items = []
        for group, number, term in _owned_terms(declaration, system):
            k = system.owners[term.id]
            own = units[starts[k] : starts[k + 1]]
            order = np.argsort(own, kind="stable")
            for place, rows in enumerate(np.split(order, np.flatnonzero(np.diff(own[order])) + 1)):
                items.append(Item(group, number, term, place, starts[k] + rows, k))
        part_of, of_objective = _components(declaration, system, units)
        owned = np.zeros(len(units), dtype=bool)
        for item in items:
            owned[item.rows] = True
        used = {int(part_of[row]) for item in items for row in item.rows}
        defines = np.flatnonzero(~owned)
        unused = [row for row in defines if int(part_of[row]) in of_objective or int(part_of[row]) not in used]
        if unused:
            items.append(Item(OBJECTIVE, 0, None, 0, np.array(unused), None))
        return cls(declaration, system, tuple(items), _definitions(items, defines, part_of, len(units)))

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups: the declared ones, then attributes of variables, then the objective's domain."""
        return tuple(dict.fromkeys(item.group for item in self.items))

    def only(self, kept: np.ndarray) -> ConicSystem:
        """Return the system with some of the items only, and the definitions that they need."""
        return restricted(self.system, self.rows(kept))

    def rows(self, kept: np.ndarray) -> np.ndarray:
        """Return a mask of the rows of some items, and of the definitions that they need."""
        rows = np.zeros(len(self.system.a), dtype=bool)
        for k in np.flatnonzero(kept):
            rows[self.items[k].rows] = True
        return rows | (np.asarray(self._needed_by[np.flatnonzero(kept)].sum(axis=0)).ravel() > 0)

    def words(self, item: Item) -> str:
        """Return an item as mathematics with its numbers."""
        if item.term is None:
            return "the objective is defined"
        for name, implied in self.system.implied.items():
            if isinstance(item.term, cp.constraints.PSD) and any(item.term is own for own in implied):
                sign = "positive" if self.declaration.variables[name].attributes["PSD"] else "negative"
                return f"{name} is {sign} semidefinite"
        assert item.cone is not None
        is_equation = self.system.cones[item.cone].kind == "zero"
        return in_words(item.term, item.place, self.declaration, self._row(item), is_equation)

    def _row(self, item: Item) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return lhs − rhs in the units of the declaration, if it is affine: unknowns, coefficients and constant."""
        if not self.is_row(item):
            return None
        assert item.cone is not None
        row, declared = int(item.rows[0]), sum(v.size for v in self.declaration.variables.values())
        scale = self.scales[row] * (1.0 if self.system.cones[item.cone].kind == "zero" else -1.0)
        coefficients = self.system.M[[row]].toarray().ravel() / self.system.units * scale
        if coefficients[declared:].any():
            return None
        used = np.flatnonzero(coefficients)
        return used, coefficients[used], float(self.system.a[row] * scale)

    @cached_property
    def scales(self) -> np.ndarray:
        """What the declared rows were divided by."""
        return np.concatenate([np.zeros(0), *self.system.scales])

    def is_row(self, item: Item) -> bool:
        """Whether an item is an equation or inequality, not a cone."""
        return item.cone is not None and self.system.cones[item.cone].kind in ("zero", "nonnegative")

    def values(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return unknowns of the system as values of the declared variables."""
        parts = self.system.by_variable(z * self.system.units) if len(z) else []
        named = zip(self.declaration.variables.items(), parts, strict=False)
        values = {name: part.reshape(variable.shape, order="F") for (name, variable), part in named}
        symmetric = {name for name, v in self.declaration.variables.items() if v.ndim == 2 and v.is_symmetric()}
        return {name: (value + value.T) / 2 if name in symmetric else value for name, value in values.items()}


def restricted(system: ConicSystem, rows: np.ndarray) -> ConicSystem:
    """Return a system with some of its rows only; nothing is known then about the size of its variables."""
    cones, matrices, offsets, scales = [], [], [], []
    ends = np.cumsum([len(a) for a in system.offsets])[:-1]
    parts = zip(system.cones, system.matrices, system.offsets, system.scales, np.split(rows, ends), strict=True)
    for cone, M, a, scale, kept in parts:
        if kept.any():
            cones.append(_smaller(cone, kept))
            matrices.append(sp.csr_array(M[np.flatnonzero(kept)]))
            offsets.append(a[kept])
            scales.append(scale[kept])
    reach = system.reach if rows.all() else [np.inf] * len(system.reach)
    return replace(system, cones=cones, matrices=matrices, offsets=offsets, scales=scales, reach=reach)


def _smaller(cone: Cone, kept: np.ndarray) -> Cone:
    """Return a cone with some of its rows; only its shape matters, the coefficients are in the system."""
    if kept.all():
        return cone

    def part(*shape: int) -> Part:
        return Part(shape, {}, [], np.zeros(int(np.prod(shape))))

    count = int(kept.sum())
    if cone.kind == "second-order":
        length = cone.parts[1].shape[cone.axis]
        m = count // (length + 1)
        return replace(cone, parts=(part(m), part(length, m) if cone.axis == 0 else part(m, length)))
    if cone.kind in ("exponential", "power"):
        alpha = cone.alpha
        if alpha is not None and np.size(alpha) > 1:
            alpha = np.ravel(alpha, order="F")[kept[: len(kept) // 3]]
        return replace(cone, parts=(part(count // 3),) * 3, alpha=alpha)
    return replace(cone, parts=(part(count),))


def _owned_terms(declaration: Declaration, system: ConicSystem) -> Iterator[tuple[str, int, Any]]:
    for group, terms in declaration.constraints.items():
        yield from ((group, number, term) for number, term in enumerate(terms))
    for name, terms in system.implied.items():
        yield from ((f"{name} domain", number, term) for number, term in enumerate(terms))


def _units(system: ConicSystem) -> np.ndarray:
    """Number the smallest parts of the cones that are cones themselves: one number per row of the system."""
    numbered, start = [np.zeros(0, dtype=int)], 0
    for cone in system.cones:
        numbered.append(start + cone.units)
        start = int(numbered[-1].max(initial=start - 1)) + 1
    return np.concatenate(numbered)


def _components(declaration: Declaration, system: ConicSystem, units: np.ndarray) -> tuple[np.ndarray, set[int]]:
    """Return which rows hang together through variables that CVXPY added, and which of these the objective uses."""
    declared = sum(variable.size for variable in declaration.variables.values())
    n_units, added = int(units.max(initial=-1)) + 1, system.M.shape[1] - declared
    uses = sp.coo_array(system.M[:, declared:])
    nonzero = uses.data != 0
    ends = (units[uses.row[nonzero]], n_units + uses.col[nonzero])
    size = n_units + added
    graph = sp.coo_array((np.ones(len(ends[0])), ends), shape=(size, size))
    part_of = connected_components(graph, directed=False)[1]
    of_objective = set(part_of[n_units + np.flatnonzero(system.cost[declared:])].tolist())
    return part_of[units], of_objective


def _definitions(items: list[Item], defines: np.ndarray, part_of: np.ndarray, rows: int) -> sp.csr_array:
    """Return which defining rows each item needs, as a matrix of items × rows."""
    by_part: dict[int, list[int]] = {}
    for row in defines:
        by_part.setdefault(int(part_of[row]), []).append(int(row))
    places = [
        (k, row)
        for k, item in enumerate(items)
        for part in {int(part_of[r]) for r in item.rows}
        for row in by_part.get(part, ())
    ]
    i, j = np.array(places, dtype=int).reshape(-1, 2).T
    return sp.csr_array((np.ones(len(places)), (i, j)), shape=(len(items), rows))
