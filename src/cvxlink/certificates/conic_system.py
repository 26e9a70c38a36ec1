r"""A convex program as cones over one vector of unknowns, with scaled rows and columns: :math:`Mz + a \in \mathcal{K}`.

It is the standard form (:mod:`cvxlink.reductions.standard_form`) in other units. Rows are scaled to about unit length
as far as that leaves their cone as it is, and columns towards unit length: whether a point is far away does not depend
on the units of its entries. All scales are powers of two, so that no number is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..model.declared import Declaration
from ..numerics.rounding import gamma
from ..reductions.cones import Block, interior, into_dual, triangle
from ..reductions.standard_form import StandardForm

# Smaller numbers, relative to the largest, count as zero when a solver's answer is made exact.
INACTIVE = 1e-6
# How often rows and columns are scaled in turn.
SCALINGS = 10
# Changes by smaller powers of two do not count.
SCALED = 0.2


@dataclass(frozen=True, eq=False)
class ConicSystem:
    """A convex program as cones over one vector of unknowns."""

    M: sp.csr_array
    a: np.ndarray
    cost: np.ndarray
    blocks: tuple[Block, ...]
    units: np.ndarray  # what 1 is in each unknown, in the units of the standard form
    scales: np.ndarray  # what the rows of the standard form were divided by
    form: StandardForm | None = None  # if these are all of its rows and unknowns

    @classmethod
    def of(cls, form: StandardForm) -> ConicSystem:
        """Scale a program in standard form."""
        M = sp.coo_array(form.M)
        row, column, value = M.row, M.col, M.data
        scales, units = np.ones(M.shape[0]), np.ones(M.shape[1])
        group, matrices = _rows_alike(form.blocks, M.shape[0])
        for _ in range(SCALINGS):
            by = _row_scales(np.sqrt(np.bincount(row, value**2, M.shape[0])), group, matrices)
            value, scales = value / by[row], scales * by
            lengths = np.sqrt(np.bincount(column, value**2, M.shape[1]))
            by = np.sqrt(np.where(lengths > 0, lengths, 1.0))
            value, units = value / by[column], units / by
            if float(abs(np.log2(by)).max(initial=0.0)) <= SCALED:
                break
        scales, units = _powers_of_two(scales, matrices), _powers_of_two(units)
        matrix = sp.csr_array((M.data / scales[row] * units[column], (row, column)), shape=M.shape)
        return cls(matrix, form.a / scales, form.cost * units, form.blocks, units, scales, form)

    @classmethod
    def read(cls, declaration: Declaration, most: int) -> ConicSystem:
        """Read a declaration; refuse it if it has more unknowns or rows than ``most``."""
        return cls.of(StandardForm.of(declaration, most))

    @property
    def distance(self) -> float:
        """How far the constraints are from the origin: the largest offset."""
        return float(abs(self.a).max(initial=0.0))

    # ------------------------------------------------------------------ multipliers

    def into_dual(self, w: np.ndarray) -> np.ndarray:
        """Return multipliers moved into the dual cone, which they may miss by rounding."""
        return into_dual(self.blocks, w)

    def gain(self, w: np.ndarray) -> float:
        """Return −aᵀw, rounded down."""
        return -float(self.a @ w) - gamma(2 * len(w) + 4) * float(abs(self.a) @ abs(w))

    def slopes(self, w: np.ndarray) -> np.ndarray:
        """Return the absolute values of Mᵀw, rounded up."""
        return abs(self.M.T @ w) + gamma(2 * len(w) + 8) * (abs(self.M).T @ abs(w))

    # ------------------------------------------------------------------ parts

    @property
    def interior(self) -> np.ndarray:
        """A point inside the cone and its dual; zero for equations."""
        return interior(self.blocks, len(self.a))

    def only(self, rows: np.ndarray) -> ConicSystem:
        """Return the system with some of its rows, given by a mask; of a cone that is not linear all or none."""
        if rows.all():
            return self
        blocks, start = [], 0
        for block in self.blocks:
            count = int(rows[block.rows].sum())
            if count:
                blocks.append(replace(block, rows=slice(start, start + count)))
                start += count
        kept = np.flatnonzero(rows)
        return ConicSystem(
            sp.csr_array(self.M[kept]), self.a[kept], self.cost, tuple(blocks), self.units, self.scales[kept]
        )

    def with_unknowns(self, E: sp.csr_array) -> ConicSystem:
        """Return the system with further unknowns u ≥ 0, of which Eu is added to the rows."""
        count = E.shape[1]
        wider = replace(
            self,
            M=sp.csr_array(sp.hstack([self.M, E], format="csr")),
            cost=np.concatenate([self.cost, np.zeros(count)]),
            units=np.concatenate([self.units, np.ones(count)]),
            form=None,
        )
        every = sp.hstack([sp.csr_array((count, len(self.cost))), sp.eye_array(count)], format="csr")
        return wider.with_rows(sp.csr_array(every), np.zeros(count))

    def with_rows(self, rows: sp.csr_array, offsets: np.ndarray) -> ConicSystem:
        """Return the system with further inequalities rows · z + offsets ≥ 0."""
        start, count = len(self.a), len(offsets)
        return replace(
            self,
            M=sp.csr_array(sp.vstack([self.M, rows], format="csr")),
            a=np.concatenate([self.a, offsets]),
            blocks=(*self.blocks, Block("nonnegative", slice(start, start + count))),
            scales=np.concatenate([self.scales, np.ones(count)]),
            form=None,
        )


def _rows_alike(blocks: Sequence[Block], count: int) -> tuple[np.ndarray, list[tuple[slice, int]]]:
    """Return the number of the cone of each row that must be scaled as the others of it, and the matrices."""
    group, matrices = np.arange(count), []
    for block in blocks:
        if block.kind == "semidefinite":
            matrices.append((block.rows, block.order))
        elif block.kind not in ("zero", "nonnegative"):
            group[block.rows] = block.rows.start
    return group, matrices


def _row_scales(lengths: np.ndarray, group: np.ndarray, matrices: list[tuple[slice, int]]) -> np.ndarray:
    """Return what to divide the rows by so that they have unit length; only where that leaves the cone as it is."""
    longest = np.zeros(len(lengths))
    np.maximum.at(longest, group, lengths)
    by = longest[group]
    for rows, order in matrices:  # a congruence, by the diagonal
        i, j = triangle(order)
        own = np.sqrt(lengths[rows][i == j])
        own = np.where(own > 0, own, 1.0)
        by[rows] = own[i] * own[j]
    return np.where(by > 0, by, 1.0)


def _powers_of_two(numbers: np.ndarray, matrices: Sequence[tuple[slice, int]] = ()) -> np.ndarray:
    """Return the nearest powers of two: scaling by them rounds nothing."""
    powers = np.round(np.log2(numbers))
    for rows, order in matrices:
        i, j = triangle(order)
        own = np.round(np.log2(numbers[rows][i == j]) / 2)
        powers[rows] = own[i] + own[j]
    return np.exp2(powers)
