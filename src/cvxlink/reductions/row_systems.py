"""Linear constraints on a semidefinite matrix, arranged for a search: by row, and by the one entry in a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..errors import InfeasibleProblem
from ..numerics.digits import shown_apart

# Right-hand sides that contradict one another by less may do so by rounding; a solver is asked.
CONTRADICTION = 1e-9


@dataclass(frozen=True, eq=False)
class NullVector:
    """A vector v, and multiples of rows that add up to −vᵀKv (or to a larger matrix of the same kind) = 0."""

    points: tuple[int, ...]
    weights: tuple[float, ...]
    rows: tuple[int, ...]
    multiples: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class RowSystem:
    """Rows ⟨A_r, K⟩ = b_r or ≤ b_r on a semidefinite matrix of order n.

    ``is_exact`` marks rows whose coefficients are free of rounding; ``named`` and ``place`` put a row and an entry into
    words.
    """

    n: int
    A: sp.csr_array  # m × n², symmetric
    b: np.ndarray
    is_inequality: np.ndarray
    is_exact: np.ndarray
    named: Callable[[int], str]
    place: Callable[[int, int], str]

    @cached_property
    def folded(self) -> sp.csr_array:
        """The same rows with the coefficient of K_ij at column i·n + j for i ≤ j only."""
        part = self.A.tocoo()
        i, j = np.divmod(part.col.astype(np.int64), self.n)
        columns = np.minimum(i, j) * self.n + np.maximum(i, j)
        U = sp.csr_array((part.data, (part.row, columns)), shape=self.A.shape)
        U.sum_duplicates()
        U.eliminate_zeros()
        return U

    @cached_property
    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The rows, points i ≤ j and coefficients of all stored entries, row after row."""
        U = self.folded
        i, j = np.divmod(U.indices.astype(np.int64), self.n)
        return np.repeat(np.arange(len(self.b)), np.diff(U.indptr)), i, j, U.data

    @cached_property
    def single(self) -> SingleEntries:
        """The rows that mention one entry only."""
        return SingleEntries.of(self)

    def coefficients(self, r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points i ≤ j and coefficients of row r."""
        where = slice(self.folded.indptr[r], self.folded.indptr[r + 1])
        _, i, j, u = self.entries
        return i[where], j[where], u[where]

    def exactly(self, r: int, weight: float) -> Fraction:
        """Return b_r / weight without rounding."""
        return Fraction(float(self.b[r])) / Fraction(float(weight))


@dataclass(frozen=True, eq=False)
class Limits:
    """The tightest bound on each of some entries: its key i·n + j, the bound, its row and the coefficient there."""

    keys: np.ndarray
    values: np.ndarray
    rows: np.ndarray
    weights: np.ndarray

    @classmethod
    def tightest(cls, keys: np.ndarray, values: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> Limits:
        """Keep the least value of each entry, of equal ones the first."""
        order = np.lexsort((rows, values, keys))
        kept, first = np.unique(keys[order], return_index=True)
        return cls(kept, values[order][first], rows[order][first], weights[order][first])

    def at(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of some entries, and which of them have a bound."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=int), np.zeros(len(keys), dtype=bool)
        number = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return number, self.keys[number] == keys


@dataclass(frozen=True, eq=False)
class SingleEntries:
    """Bounds on entries; ``lower`` has the negative of lower bounds, and ``equations`` one row for each fixed entry."""

    upper: Limits
    lower: Limits
    equations: dict[int, int]

    @classmethod
    def of(cls, system: RowSystem) -> SingleEntries:
        """Read the rows of one entry, and raise if two contradict each other."""
        starts = system.folded.indptr[:-1]
        rows = np.flatnonzero((np.diff(system.folded.indptr) == 1) & system.is_exact)
        keys, weights = system.folded.indices[starts[rows]].astype(np.int64), system.folded.data[starts[rows]]
        with np.errstate(over="ignore"):
            values = system.b[rows] / weights + 0.0
        equation = ~system.is_inequality[rows]
        above, below = equation | (weights > 0), equation | (weights < 0)
        upper = Limits.tightest(keys[above], values[above], rows[above], weights[above])
        lower = Limits.tightest(keys[below], -values[below], rows[below], weights[below])
        number, known = upper.at(lower.keys)
        least, most = -lower.values[known], upper.values[number[known]]
        wrong = least - most > CONTRADICTION * np.maximum(1.0, np.maximum(abs(least), abs(most)))
        for k in np.flatnonzero(wrong)[:1]:
            at, other = int(np.flatnonzero(known)[k]), int(number[known][k])
            _raise_both(system, int(lower.keys[at]), upper, other, lower, at)
        return cls(upper, lower, dict(zip(keys[equation][::-1].tolist(), rows[equation][::-1].tolist(), strict=True)))


def quantum(numbers: np.ndarray) -> np.ndarray:
    """Return the power of two that the last binary digit of each number stands for."""
    mantissa, exponent = np.frexp(abs(numbers))
    digits = (mantissa * 2.0**53).astype(np.int64)
    last = np.where(digits == 0, np.inf, (digits & -digits).astype(float))
    return np.ldexp(last, exponent - 53)


def _raise_both(system: RowSystem, key: int, upper: Limits, k: int, lower: Limits, m: int) -> None:
    i, j = divmod(key, system.n)
    rows, values = (int(upper.rows[k]), int(lower.rows[m])), (float(upper.values[k]), -float(lower.values[m]))
    fixed = not system.is_inequality[list(rows)].any()
    most, least = shown_apart(*values)
    words = f"both {most} and {least}" if fixed else f"at most {most} and at least {least}"
    where = " and ".join(dict.fromkeys(map(system.named, rows)))
    raise InfeasibleProblem(f"entry {system.place(i, j)} is required to be {words} ({where})")
