"""Which declared constraint each row of a conic system belongs to, and the system without some of them.

CVXPY writes ``exp(x) <= 1`` as t ≤ 1 and a cone that makes t at least exp(x). The first belongs to the constraint; the
second only defines t, and is needed as long as something that uses t is. So removing a constraint removes its own
rows, and the definitions that nothing else needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..model.declared import Declaration
from ..programs.declared import semidefinite_variable
from ..reductions.cones import Block
from ..reductions.standard_form import StandardForm
from .conic_system import ConicSystem
from .row_words import in_words

OBJECTIVE = "objective domain"
LINEAR = ("zero", "nonnegative")


@dataclass(frozen=True, eq=False)
class Item:
    """One constraint that can be removed by itself: an entry of an equation or inequality, or a whole cone.

    ``place`` is its number within the constraint, column by column; ``term`` is None for what a variable requires by
    itself, and for the domain of the objective, which has no ``kind`` of cone either.
    """

    group: str
    number: int  # of the constraint within its group
    term: Any
    place: int
    rows: np.ndarray  # of the system
    kind: str | None


@dataclass(frozen=True, eq=False)
class OwnedSystem:
    """A conic system whose rows have owners: named groups, attributes of variables, and the objective's domain."""

    declaration: Declaration
    form: StandardForm
    system: ConicSystem
    points: np.ndarray | None = None  # of the semidefinite matrix, if these are not all of them

    @classmethod
    def of(cls, declaration: Declaration, most: int) -> OwnedSystem:
        """Read a declaration; refuse it if it has more unknowns or rows than ``most``."""
        form = StandardForm.as_declared(declaration, most)
        return cls(declaration, form, ConicSystem.of(form))

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """What can be removed by itself."""
        items = list(_items(self.declaration, self.form))
        owned = np.zeros(len(self.system.a), dtype=bool)
        for item in items:
            owned[item.rows] = True
        part_of, of_objective = self._components
        used = set(part_of[owned].tolist())
        parts = [(row, int(part_of[row])) for row in np.flatnonzero(~owned)]
        unused = [row for row, part in parts if part in of_objective or part not in used]
        if unused:
            items.append(Item(OBJECTIVE, 0, None, 0, np.array(unused), None))
        return tuple(items)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups: the declared ones, then attributes of variables, then the objective's domain."""
        return tuple(dict.fromkeys(item.group for item in self.items))

    def only(self, kept: np.ndarray) -> ConicSystem:
        """Return the system with some of the items only, and the definitions that they need."""
        return self.system.only(self.rows(kept))

    def rows(self, kept: np.ndarray) -> np.ndarray:
        """Return a mask of the rows of some items, and of the definitions that they need."""
        rows = np.zeros(len(self.system.a), dtype=bool)
        for k in np.flatnonzero(kept):
            rows[self.items[k].rows] = True
        return rows | (np.asarray(self._needed_by[np.flatnonzero(kept)].sum(axis=0)).ravel() > 0)

    def words(self, item: Item) -> str:
        """Return an item as mathematics with its numbers."""
        if item.kind is None:
            return "the objective is defined"
        if item.term is None and item.kind == "semidefinite":
            name = item.group.removesuffix(" domain")
            sign = "positive" if self.declaration.variables[name].attributes["PSD"] else "negative"
            return f"{name} is {sign} semidefinite"
        return in_words(item.term, item.place, self.declaration, self._row(item), item.kind == "zero")

    def _row(self, item: Item) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Return lhs − rhs in the units of the declaration, if it is affine: unknowns, coefficients and constant."""
        if not self.is_row(item):
            return None
        row, sign = int(item.rows[0]), 1.0 if item.kind == "zero" else -1.0
        M = self.form.M
        inside = slice(M.indptr[row], M.indptr[row + 1])
        columns, coefficients = M.indices[inside], sign * M.data[inside]
        used = coefficients != 0
        if (columns[used] >= self._n_declared).any():
            return None
        return self._entries[columns[used]], coefficients[used], sign * float(self.form.a[row])

    @cached_property
    def _entries(self) -> np.ndarray:
        """The first entry, among those of all variables, of each unknown."""
        spread = sp.csc_array(self.form.spread)
        return spread.indices[np.minimum(spread.indptr[:-1], max(spread.nnz - 1, 0))]

    @property
    def _n_declared(self) -> int:
        return max((columns.stop for columns in self.form.columns.values()), default=0)

    def is_row(self, item: Item) -> bool:
        """Whether an item is an equation or inequality, not a cone."""
        return item.kind in LINEAR

    def values(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return unknowns of the system as values of the declared variables."""
        return self.form.point(z * self.system.units)

    @cached_property
    def _components(self) -> tuple[np.ndarray, set[int]]:
        """Which rows hang together through variables that CVXPY added, and which of these the objective uses."""
        units, declared = _units(self.system.blocks, len(self.system.a)), self._n_declared
        n_units, added = int(units.max(initial=-1)) + 1, self.system.M.shape[1] - declared
        if not added:
            return units, set()
        uses = sp.coo_array(self.system.M[:, declared:])
        nonzero = uses.data != 0
        ends = (units[uses.row[nonzero]], n_units + uses.col[nonzero])
        size = n_units + added
        graph = sp.coo_array((np.ones(len(ends[0])), ends), shape=(size, size))
        part_of = connected_components(graph, directed=False)[1]
        of_objective = set(part_of[n_units + np.flatnonzero(self.system.cost[declared:])].tolist())
        return part_of[units], of_objective

    @cached_property
    def _needed_by(self) -> sp.csr_array:
        """Which defining rows each item needs, as a matrix of items × rows."""
        part_of, _ = self._components
        owned = np.zeros(len(self.system.a), dtype=bool)
        for item in self.items:
            if item.kind is not None:
                owned[item.rows] = True
        by_part: dict[int, list[int]] = {}
        for row in np.flatnonzero(~owned):
            by_part.setdefault(int(part_of[row]), []).append(int(row))
        places = [
            (k, row)
            for k, item in enumerate(self.items)
            for part in {int(part_of[r]) for r in item.rows}
            for row in by_part.get(part, ())
        ]
        i, j = np.array(places, dtype=int).reshape(-1, 2).T
        return sp.csr_array((np.ones(len(places)), (i, j)), shape=(len(self.items), len(owned)))


def _items(declaration: Declaration, form: StandardForm) -> Iterator[Item]:
    """Yield what belongs to declared constraints, then to attributes of variables."""
    kinds, starts = [block.kind for block in form.blocks], np.array([block.rows.start for block in form.blocks])
    taken: set[int] = set()  # a matrix that is declared semidefinite twice has one cone
    for group, terms in declaration.constraints.items():
        for number, term in enumerate(terms):
            owner = semidefinite_variable(term, declaration.variables)
            if owner is not None:
                rows = form.matrices[owner].rows
                if rows.start not in taken:
                    taken.add(rows.start)
                    yield Item(group, number, term, 0, np.arange(rows.start, rows.stop), "semidefinite")
                continue
            rows_of, first = np.unique(form.owners[term.id].rows, return_index=True)
            places = form.owners[term.id].columns[first]
            yield from _items_of(group, number, term, rows_of, kinds, starts, places)
    for name, parts in form.domains.items():
        for number, part in enumerate(parts):
            if part.start not in taken:
                rows_of = np.arange(part.start, part.stop)
                yield from _items_of(f"{name} domain", number, None, rows_of, kinds, starts)


def _items_of(
    group: str,
    number: int,
    term: Any,
    rows: np.ndarray,
    kinds: list[str],
    starts: np.ndarray,
    places: np.ndarray | None = None,
) -> Iterator[Item]:
    """Yield the items of one constraint: its rows if it is linear, of which some may be missing, else its cones."""
    if not len(rows):
        return
    cone = np.searchsorted(starts, rows, side="right") - 1
    kind = kinds[cone[0]]
    parts = rows[:, None] if kind in LINEAR else np.split(rows, np.flatnonzero(np.diff(cone)) + 1)
    for place, part in enumerate(parts):
        own = int(places[place]) if places is not None and kind in LINEAR else place
        yield Item(group, number, term, own, part, kind)


def _units(blocks: tuple[Block, ...], count: int) -> np.ndarray:
    """Number the smallest parts of the cones that are cones themselves: one number per row of the system."""
    units, first = np.zeros(count, dtype=int), 0
    for block in blocks:
        size = block.rows.stop - block.rows.start
        if block.kind in LINEAR:
            units[block.rows] = first + np.arange(size)
            first += size
        else:
            units[block.rows] = first
            first += 1
    return units
