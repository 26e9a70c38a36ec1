r"""Intervals that contain the unknowns of every feasible point that is at least as good as the answer.

Bounds on single unknowns, simplices, balls, traces and definite costs all limit a program, but none of them does so
by a single constraint of a fixed kind. So intervals are propagated through the rows of its standard form: a row
:math:`\sum_j m_j z_j + a \ge 0` limits each of its unknowns once the others are limited; the entries of a semidefinite
matrix are at most :math:`\sqrt{K_{ii} K_{jj}}`; the vector of a second-order cone is no longer than its first entry;
:math:`y e^{x/y} \le z` implies :math:`e^k((1-k)y + x) \le z` for every k; and :math:`\langle C, K\rangle \le u` with
:math:`C \succ 0` limits the trace of K. Points that are worse than the answer need no bound, so the objective is one
more row. Rows of the same unknowns, such as u ≥ x and u ≥ −x, are also added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..reductions.cones import Block, triangle, unpacked
from ..reductions.standard_form import StandardForm

# Larger intervals help no proof.
LARGEST = 1e12
MOST_PASSES = 40
# Intervals are widened by this share against rounding: they only multiply what should vanish.
WIDER = 1e-9
# The slopes of the exponential function that are used.
TANGENTS = (-3.0, -1.0, 0.0, 1.0)
# At most so many rows are compared with one another, and so many in the same unknowns are added up.
MOST_COMPARED, MOST_ALIKE = 10_000, 4
# At most so many rows are tested for definiteness.
MOST_TESTED = 20


@dataclass(frozen=True, eq=False)
class Intervals:
    """Bounds on the unknowns, infinite where there are none, and on the traces of semidefinite variables."""

    low: np.ndarray
    high: np.ndarray
    traces: dict[str, float]

    @property
    def is_closed(self) -> bool:
        """Whether every unknown is limited."""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())

    @property
    def sizes(self) -> np.ndarray:
        """The largest absolute value of each unknown."""
        return np.maximum(abs(self.low), abs(self.high))


def intervals_of(form: StandardForm, worst: float, more: int = 0) -> Intervals:
    """Return intervals for all feasible points whose objective is at most ``worst``.

    They are not narrowed any further once all unknowns are limited, except by so many more passes.
    """
    return _Propagation(form, worst).run(more)


class _Propagation:
    """Rows with intervals for what they add up to, from which intervals for the unknowns follow, and back."""

    def __init__(self, form: StandardForm, worst: float) -> None:
        self.form = form
        matrices, offsets = [form.M], [form.a]
        self.triples = np.array([block.rows.start for block in form.parts("exponential")], dtype=int)
        if len(self.triples):
            (x, y, z), (p, q, r) = (tuple(part[self.triples + k] for k in range(3)) for part in (form.M, form.a))
            for k in TANGENTS:
                matrices.append(sp.csr_array(np.exp(-k) * z - (1 - k) * y - x))
                offsets.append(np.exp(-k) * r - (1 - k) * q - p)
        first, second = _alike(form)
        if len(first):
            matrices.append(sp.csr_array(form.M[first] + form.M[second]))
            offsets.append(form.a[first] + form.a[second])
        offsets.append(np.array([worst - form.constant]))
        self.a = np.concatenate(offsets)
        self.count = len(self.a)
        costly = np.flatnonzero(form.cost)
        self.row = np.concatenate([*_rows_of(matrices), np.full(len(costly), self.count - 1)])
        self.column = np.concatenate([*(M.indices for M in matrices), costly])
        self.value = np.concatenate([*(M.data for M in matrices), -form.cost[costly]])
        if not self.value.all():
            used = self.value != 0
            self.row, self.column, self.value = self.row[used], self.column[used], self.value[used]
        self.row_low = np.full(self.count, -np.inf)
        self.row_high = np.full(self.count, np.inf)
        self.row_low[len(form.a) :] = 0.0  # the rows that were added
        self.low, self.high = np.full(len(form.cost), -np.inf), np.full(len(form.cost), np.inf)
        self.definite = _definite_rows(form, self)

    def run(self, more: int) -> Intervals:
        fewest, idle = np.inf, 0
        for _ in range(MOST_PASSES):
            for block in self.form.blocks:
                self._of_cone(block)
            self._of_exponentials()
            self._of_rows()
            self._of_traces()
            still_open = int(np.isinf(self.low).sum() + np.isinf(self.high).sum())
            # What a pass finds about rows limits unknowns in the next one, so two must pass without any success.
            idle = 0 if still_open < fewest else idle + 1
            if idle == 2 or (not still_open and more == 0):
                break
            more -= not still_open
            fewest = min(fewest, still_open)
        return Intervals(self.low, self.high, {name: self._trace(name) for name in self.form.matrices})

    def _of_rows(self) -> None:
        """Limit each unknown by its rows, and each row by its unknowns."""
        rising = self.value > 0
        with np.errstate(invalid="ignore"):
            highest = self.value * np.where(rising, self.high[self.column], self.low[self.column])
            lowest = self.value * np.where(rising, self.low[self.column], self.high[self.column])
        rest_high, all_high = self._rest(highest, 1.0)
        rest_low, all_low = self._rest(lowest, -1.0)
        self.row_high = np.minimum(self.row_high, _up(all_high + self.a))
        self.row_low = np.maximum(self.row_low, _down(all_low + self.a))
        at_least = (self.row_low - self.a)[self.row] - rest_high
        at_most = (self.row_high - self.a)[self.row] - rest_low
        with np.errstate(invalid="ignore"):
            lower = np.where(rising, at_least, at_most) / self.value
            upper = np.where(rising, at_most, at_least) / self.value
        np.maximum.at(self.low, self.column, _down(np.nan_to_num(lower, nan=-np.inf)))
        np.minimum.at(self.high, self.column, _up(np.nan_to_num(upper, nan=np.inf)))

    def _rest(self, terms: np.ndarray, way: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the other terms of its row for each term, and the sum of each row, rounded up or down.

        ``way`` is 1 for the highest values of the terms and −1 for the lowest; a sum is infinite if any term is.
        """
        endless = np.isinf(terms) | (abs(terms) > LARGEST)
        finite = np.where(endless, 0.0, terms)
        sums = np.bincount(self.row, finite, self.count)
        sizes = np.bincount(self.row, abs(finite), self.count)
        missing = np.bincount(self.row, endless, self.count)
        slack = way * WIDER * sizes  # against cancellation
        others = np.where(missing[self.row] - endless > 0, way * np.inf, sums[self.row] - finite)
        return others + slack[self.row], np.where(missing > 0, way * np.inf, sums + slack)

    def _of_cone(self, block: Block) -> None:
        """Limit the rows of a cone by one another."""
        rows, low, high = block.rows, self.row_low, self.row_high
        if block.kind == "zero":
            low[rows] = high[rows] = 0.0
        elif block.kind == "nonnegative":
            low[rows] = np.maximum(low[rows], 0.0)
        elif block.kind == "second-order":
            low[rows.start] = max(low[rows.start], 0.0)
            inside = slice(rows.start + 1, rows.stop)
            high[inside] = np.minimum(high[inside], high[rows.start])
            low[inside] = np.maximum(low[inside], -high[rows.start])
        elif block.kind == "semidefinite":
            i, j = triangle(block.order)
            diagonal = i == j
            on = np.arange(rows.start, rows.stop)[diagonal]
            low[on] = np.maximum(low[on], 0.0)
            roots = np.sqrt(np.maximum(high[on], 0.0))
            with np.errstate(invalid="ignore"):
                most = np.nan_to_num(np.sqrt(2) * roots[i] * roots[j], nan=np.inf)
            most = _up(np.where(diagonal, high[rows], most))
            high[rows] = np.minimum(high[rows], most)
            low[rows] = np.maximum(low[rows], np.where(diagonal, low[rows], -most))
        elif block.kind == "power":
            x, y, z = range(rows.start, rows.stop)
            low[x], low[y] = max(low[x], 0.0), max(low[y], 0.0)
            if np.isfinite(high[x]) and np.isfinite(high[y]):
                most = _up(max(high[x], 0.0) ** block.alpha * max(high[y], 0.0) ** (1 - block.alpha))
                high[z], low[z] = min(high[z], most), max(low[z], -most)

    def _of_exponentials(self) -> None:
        """Limit y exp(x/y) ≤ z: y and z are not negative, and x is at most z/e."""
        x, y, z = (self.triples + k for k in range(3))
        for part in (y, z):
            self.row_low[part] = np.maximum(self.row_low[part], 0.0)
        self.row_high[x] = np.minimum(self.row_high[x], _up(self.row_high[z] / np.e))

    def _of_traces(self) -> None:
        """Limit the diagonals of semidefinite variables by rows that are definite in them."""
        for name, row, least in self.definite:
            columns = self.form.columns[name]
            others = (self.row == row) & ((self.column < columns.start) | (self.column >= columns.stop))
            value, at = self.value[others], self.column[others]
            with np.errstate(invalid="ignore"):
                most = float(np.sum(value * np.where(value > 0, self.high[at], self.low[at])))
            trace = _up((self.a[row] - min(self.row_low[row], 0.0) + most) / least)
            if np.isfinite(trace) and trace < LARGEST:
                diagonal = _diagonal(self.form, name)
                self.high[diagonal] = np.minimum(self.high[diagonal], max(trace, 0.0))

    def _trace(self, name: str) -> float:
        """Return a bound on the trace of a semidefinite variable."""
        return float(np.maximum(self.high[_diagonal(self.form, name)], 0.0).sum())


def _rows_of(matrices: list[sp.csr_array]) -> Iterator[np.ndarray]:
    """Yield the row of each entry of matrices that are stacked."""
    top = 0
    for M in matrices:
        yield top + np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
        top += M.shape[0]


def _alike(form: StandardForm) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of inequalities in the same unknowns."""
    groups: dict[bytes, list[int]] = {}
    for block in form.parts("nonnegative"):
        if block.rows.stop - block.rows.start > MOST_COMPARED:
            continue
        for row in range(block.rows.start, block.rows.stop):
            columns = form.M.indices[form.M.indptr[row] : form.M.indptr[row + 1]]
            if len(columns) > 1:
                groups.setdefault(np.sort(columns).tobytes(), []).append(row)
    pairs = [(a, b) for group in groups.values() if len(group) <= MOST_ALIKE for a in group for b in group if a < b]
    return tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)  # type: ignore[return-value]


def _definite_rows(form: StandardForm, rows: _Propagation) -> list[tuple[str, int, float]]:
    """Return rows b − ⟨C, K⟩ + … ≥ 0 with C ≻ 0: the variable, the row, and the least eigenvalue of C."""
    found = []
    kinds = (*form.parts("nonnegative"), *form.parts("zero"))
    linear = np.concatenate([np.zeros(0, dtype=int), *(np.arange(b.rows.start, b.rows.stop) for b in kinds)])
    for name, columns in ((name, form.columns[name]) for name in form.matrices):
        order, diagonal = form.matrices[name].order, _diagonal(form, name)
        whole, is_diagonal = rows.count - 1, np.zeros(len(form.cost), dtype=bool)
        is_diagonal[diagonal] = True
        negative = np.bincount(rows.row[is_diagonal[rows.column] & (rows.value < 0)], minlength=rows.count)
        full = linear[negative[linear] == order]
        for row in [whole, *full[:MOST_TESTED]]:
            own = (rows.row == row) & (rows.column >= columns.start) & (rows.column < columns.stop)
            flat = np.zeros(columns.stop - columns.start)
            flat[rows.column[own] - columns.start] = -rows.value[own]
            i, j = triangle(order)
            C = unpacked(np.where(i == j, 1.0, np.sqrt(0.5)) * flat, order)  # ⟨C, K⟩ has each entry twice
            eigenvalues = np.linalg.eigvalsh(C)
            least = float(eigenvalues[0]) - 1e-12 * max(float(abs(eigenvalues).max()), 0.0)
            if least > 1e-9 * float(abs(eigenvalues).max()) and least > 0:
                found.append((name, row, least))
    return found


def _diagonal(form: StandardForm, name: str) -> np.ndarray:
    """Return the unknowns on the diagonal of a semidefinite variable."""
    i, j = triangle(form.matrices[name].order)
    return form.columns[name].start + np.flatnonzero(i == j)


def _up(numbers: Any) -> Any:
    """Return numbers a little larger; infinite if they are too large to be of use."""
    return np.where(abs(numbers) > LARGEST, np.inf, numbers + WIDER * np.minimum(abs(numbers), LARGEST) + 1e-300)


def _down(numbers: Any) -> Any:
    """Return numbers a little smaller; infinite if they are too large to be of use."""
    return -_up(-numbers)
