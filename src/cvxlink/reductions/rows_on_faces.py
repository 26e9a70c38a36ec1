"""Rows on a face: scaled to coefficients of sum one, without repeated, implied or empty ones.

Of equal equations one is kept; an inequality beside an equation in the same quantity says nothing more; of inequalities
in the same quantity the tightest is kept. K_ii ≥ 0 and squared distances of at least zero follow from K ⪰ 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..errors import InfeasibleProblem
from ..numerics.digits import shown, shown_apart
from ..programs.linear_sdp import Rows
from .row_systems import CONTRADICTION

# Right-hand sides of the same row that differ by less are the same up to rounding.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class RowsOnFace:
    """The rows that are kept, and what became of every row given."""

    rows: tuple[Rows, ...]
    row_map: np.ndarray  # given row → kept row, or −1 if it became empty or follows from K ⪰ 0
    factors: np.ndarray  # given row = factor × kept row
    first: np.ndarray  # for each kept row, the given row that it is
    implied: tuple[tuple[str, str], ...]  # some rows that follow from others, in words, and those others

    @property
    def changes(self) -> bool:
        """Whether rows were dropped."""
        return len(self.first) < len(self.row_map)

    def spread(self, y: np.ndarray) -> np.ndarray:
        """Return multipliers of all given rows; those of rows that were dropped are zero."""
        spread = np.zeros(len(self.row_map))
        spread[self.first] = y / self.factors[self.first]
        return spread

    def restrict(self, y: np.ndarray) -> np.ndarray:
        """Return multipliers of the kept rows: sums over the rows merged into each."""
        kept = self.row_map >= 0
        return np.bincount(self.row_map[kept], (self.factors * y)[kept], len(self.first))

    @cached_property
    def kept(self) -> np.ndarray:
        """Which of the given rows are kept."""
        kept = np.zeros(len(self.row_map), dtype=bool)
        kept[self.first] = True
        return kept


def rows_on_face(groups: Sequence[Rows], A: sp.csr_array, n: int, named: Callable[[int], str]) -> RowsOnFace:
    """Return the rows to keep, given their coefficients on a matrix of order n; raise if they contradict each other."""
    b = np.concatenate([g.b for g in groups] or [np.zeros(0)])
    inequality = np.concatenate([np.full(len(g), g.sense == "<=") for g in groups] or [np.zeros(0, bool)])
    A = A.copy()
    A.sort_indices()
    m, counts = len(b), np.diff(A.indptr)
    row = np.repeat(np.arange(m), counts)
    empty = counts == 0
    for r in np.flatnonzero(empty & np.where(inequality, b < -CONTRADICTION, abs(b) > CONTRADICTION))[:1].tolist():
        sense = "<=" if inequality[r] else "=="
        raise InfeasibleProblem(f"{named(r)} becomes 0 {sense} {shown(b[r])} for the points that the constraints merge")
    total = np.bincount(row, abs(A.data), m)
    total[empty] = 1.0
    sign = np.ones(m)
    sign[~empty] = np.sign(A.data[A.indptr[:-1][~empty]])
    oriented = sign * total  # in which opposite inequalities are about the same quantity
    quantity = _equal_rows(A.indices, A.data / oriented[row], A.indptr)
    quantity[empty] = -1
    free = empty | (inequality & (b >= 0) & _is_free(A, n))
    side = b / oriented
    number, mapped_by_sign = _choose(quantity, side, inequality & ~free, ~inequality & ~empty, sign, named)
    target = np.where(free, -1, number)
    kept = np.flatnonzero(target == np.arange(m))
    position = np.full(m + 1, -1)
    position[kept] = np.arange(len(kept))
    # Inequalities keep their direction; a row that follows from an equation may be a negative multiple of it.
    factors = np.where(~inequality | mapped_by_sign, oriented, total)
    factors[free] = 1.0
    scaled = sp.csr_array((A.data / factors[row], A.indices, A.indptr), shape=A.shape)
    rows, start = [], 0
    for g in groups:
        own = kept[(kept >= start) & (kept < start + len(g))]
        start += len(g)
        if len(own):
            rows.append(Rows(g.name, sp.csr_array(scaled[own]), b[own] / factors[own], g.sense))
    dropped = np.flatnonzero((target >= 0) & (target != np.arange(m)))[:3].tolist()
    implied = tuple((named(r), named(int(target[r]))) for r in dropped)
    return RowsOnFace(tuple(rows), position[target], factors, kept, implied)


def _equal_rows(indices: np.ndarray, data: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Return a number for each row of a sparse matrix, the same for rows with the same columns and coefficients."""
    counts, numbers, known = np.diff(indptr), np.full(len(indptr) - 1, -1), 0
    for count in np.unique(counts[counts > 0]).tolist():
        rows = np.flatnonzero(counts == count)
        places = indptr[rows][:, None] + np.arange(count)
        keys = np.concatenate([indices[places].astype(np.int64), data[places].view(np.int64)], axis=1)
        whole = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.dtype.itemsize * keys.shape[1]))).ravel()
        _, inverse = np.unique(whole, return_inverse=True)
        numbers[rows] = known + inverse.ravel()
        known += int(inverse.max()) + 1
    return numbers


def _is_free(A: sp.csr_array, n: int) -> np.ndarray:
    """Return which rows are −K_ii, or minus a multiple of K_ii + K_jj ∓ 2 K_ij: never positive."""
    counts, starts = np.diff(A.indptr), A.indptr[:-1]
    free = np.zeros(len(counts), dtype=bool)
    one = np.flatnonzero(counts == 1)
    free[one] = (A.indices[starts[one]] % (n + 1) == 0) & (A.data[starts[one]] < 0)
    four = np.flatnonzero(counts == 4)
    if len(four):
        # ii, ij, ji and jj, in this order
        columns = A.indices[starts[four][:, None] + np.arange(4)].astype(np.int64)
        data = A.data[starts[four][:, None] + np.arange(4)]
        i, j = columns[:, 0] // n, columns[:, 3] // n
        expected = np.stack([i * n + i, i * n + j, j * n + i, j * n + j], axis=1)
        sizes = (abs(data) == abs(data[:, :1])).all(axis=1) & (data[:, 1] == data[:, 2])
        free[four] = (columns == expected).all(axis=1) & sizes & (data[:, 0] < 0) & (data[:, 3] < 0)
    return free


def _choose(
    quantity: np.ndarray,
    side: np.ndarray,
    inequality: np.ndarray,
    equation: np.ndarray,
    sign: np.ndarray,
    named: Callable[[int], str],
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row the row that stands for it, and whether that is an equation for an inequality."""
    number, m = np.arange(len(side)), int(quantity.max(initial=-1)) + 1
    first = _first(quantity, side, equation, m, by_side=False)
    _compare(side, equation, first[quantity], named)
    number[equation] = first[quantity][equation]
    has_equation = (first >= 0)[quantity] & inequality
    above, below = inequality & (sign > 0), inequality & (sign < 0)
    by_sign = np.zeros(len(side), dtype=bool)
    known = np.where(has_equation, side[first[quantity]], 0.0)
    excess = np.where(above, known - side, side - known)
    scale = np.maximum(1.0, np.maximum(abs(known), abs(side)))
    _refuse(has_equation & (excess > CONTRADICTION * scale), side, first[quantity], named)
    implied = has_equation & (excess <= SAME * scale)
    number[implied], by_sign[implied] = first[quantity][implied], True
    least = _first(quantity, side, above & ~implied, m)
    most = _first(quantity, -side, below & ~implied, m)
    upper, lower = above & ~implied, below & ~implied
    number[upper], number[lower] = least[quantity][upper], most[quantity][lower]
    opposite = most[quantity]
    both = upper & (opposite >= 0)
    _refuse(both & (side[opposite] - side > CONTRADICTION * np.maximum(1.0, abs(side))), side, opposite, named)
    return number, by_sign


def _first(quantity: np.ndarray, side: np.ndarray, which: np.ndarray, m: int, by_side: bool = True) -> np.ndarray:
    """Return for each quantity the first of the marked rows, or that with the least side; −1 if there is none."""
    rows = np.flatnonzero(which)
    order = rows[np.lexsort((rows, side[rows], quantity[rows]) if by_side else (rows, quantity[rows]))]
    found = np.full(m + 1, -1)  # the last is for rows without a quantity
    known, places = np.unique(quantity[order], return_index=True)
    found[known] = order[places]
    return found


def _compare(side: np.ndarray, equation: np.ndarray, first: np.ndarray, named: Callable[[int], str]) -> None:
    """Raise if two equations require different values of the same quantity."""
    known = np.where(equation, side[first], 0.0)
    off = equation & (abs(side - known) > SAME * np.maximum(1.0, np.maximum(abs(side), abs(known))))
    _refuse(off, side, first, named)


def _refuse(wrong: np.ndarray, side: np.ndarray, other: np.ndarray, named: Callable[[int], str]) -> None:
    for r in np.flatnonzero(wrong)[:1].tolist():
        s = int(other[r])
        known, wanted = shown_apart(float(side[s]), float(side[r]))
        raise InfeasibleProblem(
            f"{named(r)} contradicts {named(s)}: after merging points, the same quantity is required to be "
            f"{known} and {wanted}"
        )
