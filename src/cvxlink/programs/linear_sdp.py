"""The linear semidefinite program as data, on which reductions and certificates work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput
from ..model.declared import Declaration, Sizes
from ..model.linear_maps import LinearMap, at_places, inner_product
from ..numerics.arguments import as_list, as_mapping
from ..numerics.checks import LARGEST_COORDINATE, as_matrix, as_number, as_pairs_of_points, as_square, real_array
from ..numerics.harmonic import HarmonicExtension
from ..numerics.least_eigenvalue import least_eigenvalue
from ..numerics.matrices import Congruence, Matrix, Stiffened, entries, inner
from ..numerics.rounding import PIECE, dot, gamma, total
from .base import Program
from .interior_matrix import interior_matrix, least_at_most

Sense = Literal["==", "<="]
# Between these, the solvers' own scaling is good enough.
LEAST_MODERATE, MOST_MODERATE = 0.1, 100.0
# Rows with more coefficients are added up in pieces.
LONG_ROW = 4 * PIECE


@dataclass(frozen=True, eq=False)
class Rows:
    """A named group of linear constraints ⟨A_r, K⟩ = b_r (or ≤ b_r).

    Row r of ``A`` is the symmetric matrix A_r, written out row by row: entry (i, j) is column i·n + j.
    """

    name: str
    A: sp.csr_array
    b: np.ndarray
    sense: Sense = "=="

    def __len__(self) -> int:
        return len(self.b)

    def coefficients(self, r: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns and coefficients of row r."""
        where = slice(self.A.indptr[r], self.A.indptr[r + 1])
        return self.A.indices[where], self.A.data[where]


@dataclass(frozen=True, eq=False)
class LinearSDP(Program):
    r"""A linear semidefinite program.

    .. math:: \min_K \langle C, K\rangle + c_0 \quad \text{s.t.}\quad
              \langle A_r, K\rangle = b_r \ (\text{or} \le b_r),\quad K \succeq 0.

    Its dual is :math:`\max_y b^\top y + c_0` subject to :math:`S(y) = C - \sum_r y_r A_r \succeq 0`, with
    :math:`y_r \le 0` for the inequalities.
    """

    C: sp.csr_array
    rows: tuple[Rows, ...]
    offset: float = 0.0
    variable: str = "K"
    cone: str = "psd"
    unit: float = 1.0  # what 1 in the objective of the original problem is here; gaps are judged by it
    null_vector: np.ndarray | None = None  # a positive vector that C takes to zero, where C is a kind of Laplacian

    @property
    def n(self) -> int:
        """The order of K."""
        return int(self.C.shape[0])

    @cached_property
    def declaration(self) -> Declaration:
        """The rows by name, and K ⪰ 0."""
        K = cp.Variable((self.n, self.n), symmetric=True, name=self.variable)
        groups = {
            g.name: [LinearMap(K, g.A) == g.b if g.sense == "==" else LinearMap(K, g.A) <= g.b]
            for g in self.rows
            if len(g)
        }
        cost = cp.Minimize(inner_product(self.C, K) + self.offset)
        return Declaration({self.variable: K}, cost, {**groups, self.cone: [K >> 0]})

    def linear_sdp(self) -> LinearSDP:
        """Return itself."""
        return self

    @property
    def sizes(self) -> Sizes:
        """The sizes, counted without CVXPY."""
        count = {sense: sum(len(g) for g in self.rows if g.sense == sense) for sense in ("==", "<=")}
        return Sizes(self.n * (self.n + 1) // 2, count["=="], count["<="], (self.n,))

    # ------------------------------------------------------------------ as data

    @classmethod
    def with_fixed_entries(cls, C: sp.csr_array, entries: Mapping[str, tuple[np.ndarray, float]]) -> LinearSDP:
        """Build the program whose constraints fix entries; ``entries`` maps a name to pairs (i, j) and their value."""
        C = sp.csr_array(as_square(C, "C"))
        n = C.shape[0]
        groups = []
        for name, (pairs, value) in _fixed(entries, n).items():
            m = len(pairs)
            if m:
                i, j = pairs.T.astype(np.int64)  # n² may be more than 32 bits hold
                A = at_places(n, np.arange(m), i, j, np.ones(m), m)
                groups.append(Rows(name, A, np.full(m, float(value))))
        return cls(sp.csr_array(C), tuple(groups))

    @cached_property
    def A(self) -> sp.csr_array:
        """All rows, group after group."""
        if not self.rows:
            return sp.csr_array((0, self.n * self.n))
        return sp.csr_array(sp.vstack([g.A for g in self.rows], format="csr"))

    @cached_property
    def b(self) -> np.ndarray:
        """All right-hand sides."""
        return np.concatenate([g.b for g in self.rows]) if self.rows else np.zeros(0)

    @cached_property
    def is_inequality(self) -> np.ndarray:
        """Which rows are inequalities."""
        return np.concatenate([np.full(len(g), g.sense == "<=") for g in self.rows] or [np.zeros(0, bool)])

    @property
    def extremes(self) -> tuple[float, float]:
        """The largest cost and the largest right-hand side, where they are far from one; otherwise 1."""
        return _far_from_one(self.C.data), _far_from_one(self.b)

    @cached_property
    def constrained_points(self) -> np.ndarray:
        """The points that some row mentions, in increasing order."""
        columns = self.A.indices[self.A.data != 0]
        return np.unique(np.concatenate([columns // self.n, columns % self.n]))

    @cached_property
    def extension(self) -> HarmonicExtension:
        """How the other points follow from the constrained ones."""
        return HarmonicExtension(self.C, self.constrained_points, null_vector=self.null_vector)

    def joined(self, duals: Mapping[str, Any]) -> np.ndarray:
        """Return multipliers by name as one vector."""
        parts = []
        for g in self.rows:
            if g.name not in as_mapping(duals, "duals", "multipliers by name"):
                raise InvalidInput(f"duals has no multipliers for the constraint {g.name!r}", "duals")
            given = duals[g.name]
            if isinstance(given, Stiffened) or (sp.issparse(given) and np.prod(given.shape) == len(g)):
                given = given.toarray()
            part = real_array(given, f"the multipliers of {g.name!r}", "duals").ravel(order="F")
            if len(part) != len(g):
                problem = f"the constraint {g.name!r} has {len(g)} rows, but {len(part)} multipliers were given"
                raise InvalidInput(problem, "duals")
            parts.append(part)
        return np.concatenate(parts) if parts else np.zeros(0)

    def split(self, y: np.ndarray) -> dict[str, np.ndarray]:
        """Split one vector of multipliers by name."""
        y = self._one_per_row(y, "y")
        if not self.rows:
            return {}
        ends = np.cumsum([len(g) for g in self.rows])[:-1]
        return dict(zip((g.name for g in self.rows), np.split(y, ends), strict=True))

    def adjoint(self, y: np.ndarray) -> sp.csr_array:
        """Return Σ y_r A_r."""
        y = self._one_per_row(y, "y")
        row, place, coefficients = self._entries
        total = sp.csr_array((coefficients * y[row], place), shape=(self.n, self.n))
        total.eliminate_zeros()
        return total

    @cached_property
    def _entries(self) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
        """The rows, the places in K and the sizes of all coefficients."""
        entries = self.A.tocoo()
        return entries.row, (entries.col // self.n, entries.col % self.n), entries.data

    def slack(self, y: np.ndarray) -> sp.csr_array:
        """Return S(y) = C − Σ y_r A_r."""
        return sp.csr_array(self.C - self.adjoint(y))

    def trace_multipliers(self) -> np.ndarray | None:
        """Return v with A*(v) ⪰ I, so that tr K ≤ bᵀv for every feasible K, if single constraints give one; else None.

        Either one row bounds the diagonal with positive weights, or each diagonal entry has its own row.
        """
        A, n = self.A.copy(), self.n
        A.eliminate_zeros()
        starts, counts = A.indptr[:-1], np.diff(A.indptr)
        leading = np.zeros(len(self.b))
        leading[counts > 0] = A.data[starts[counts > 0]]
        from_above = (leading > 0) | ((leading < 0) & ~self.is_inequality)
        largest, entry_rows, entry_weights = np.full(n, np.inf), np.zeros(n, dtype=int), np.ones(n)
        single = np.flatnonzero((counts == 1) & from_above)
        single = single[A.indices[starts[single]] % (n + 1) == 0]
        points, bounds = A.indices[starts[single]] // (n + 1), self.b[single] / leading[single]
        order = np.lexsort((single, bounds, points))
        known, first = np.unique(points[order], return_index=True)
        largest[known], entry_rows[known] = bounds[order][first], single[order][first]
        entry_weights[known] = leading[entry_rows[known]]
        best, whole = np.inf, None
        for r, weights in self.diagonal_rows:
            least = weights[np.argmin(abs(weights))]
            if from_above[r] and self.b[r] / least < best:
                best, whole = self.b[r] / least, (r, least)
        v = np.zeros(len(self.b))
        if whole is not None and best <= largest.sum():
            v[whole[0]] = 1 / whole[1]
        elif np.isfinite(largest).all():
            v[entry_rows] = 1 / entry_weights
        else:
            return None
        return v

    @cached_property
    def diagonal_rows(self) -> list[tuple[int, np.ndarray]]:
        """The rows of all diagonal entries and no others, with weights of the same sign, point by point."""
        found, diagonal = [], np.arange(self.n) * (self.n + 1)
        for r in np.flatnonzero((np.diff(self.A.indptr) == self.n) & (self.n > 1)).tolist():
            where = slice(self.A.indptr[r], self.A.indptr[r + 1])
            order = np.argsort(self.A.indices[where])
            weights = self.A.data[where][order]
            if np.array_equal(self.A.indices[where][order], diagonal) and (weights * weights[0] > 0).all():
                found.append((r, weights))
        return found

    def trace_bound(self) -> float | None:
        """Return the bound on the trace that single constraints give for every feasible K, rounded up; or None."""
        v = self.trace_multipliers()
        # A multiplier is a quotient, rounded once.
        return None if v is None else (dot(self.b, v) + gamma(2) * dot(abs(self.b), abs(v))).upper

    def onto_equations(
        self, excess: np.ndarray, active: np.ndarray | None = None, inset: float = 0.0
    ) -> np.ndarray | None:
        """Return v such that K − A*(v) is the projection of K onto the equations, given A(K) − b; None on failure.

        Inequalities marked as ``active`` count as equations whose right-hand sides are lowered by ``inset``.
        """
        excess, inset = self._one_per_row(excess, "excess"), as_number(inset, "inset")
        active = None if active is None else self._one_per_row(active, "active").astype(bool)
        rows = np.flatnonzero(~self.is_inequality if active is None else ~self.is_inequality | active)
        gram = sp.csc_array(self.gram[rows][:, rows])
        solve = _gram_solver(gram)
        wanted = (excess + inset * self.is_inequality)[rows]
        v, left = np.zeros(len(rows)), wanted
        for _ in range(2):  # the second pass removes the rounding of the first
            v = v + solve(left)
            left = wanted - gram @ v
        if not (np.isfinite(v).all() and abs(left).max(initial=0) <= 1e-12 * (1 + abs(self.b).max(initial=0))):
            return None
        whole = np.zeros(len(self.b))
        whole[rows] = v
        return whole

    @cached_property
    def gram(self) -> sp.csr_array:
        """The inner products of the rows: A(A*(v)) is this times v."""
        used, places = np.unique(self.A.indices, return_inverse=True)  # few of the n² columns
        A = sp.csr_array((self.A.data, places, self.A.indptr), shape=(len(self.b), len(used)))
        return sp.csr_array(A @ A.T)

    def least_norm_solution(self) -> sp.csr_array | None:
        """Return the smallest matrix, in the Frobenius norm, that satisfies the equations."""
        v = self.onto_equations(-self.b)
        return None if v is None else self.adjoint(-v)

    @cached_property
    def interior_point(self) -> sp.csr_array | None:
        """A strictly feasible matrix, or None; see :mod:`cvxlink.programs.interior_matrix`."""
        return interior_matrix(self)

    @cached_property
    def room(self) -> float:
        """A lower bound on the least eigenvalue of the interior point."""
        assert self.interior_point is not None
        return least_at_most(self.interior_point)

    def value(self, K: Matrix) -> float:
        """Return ⟨C, K⟩ + c₀."""
        K = self._matrix(K)
        return inner(self.C, K) + self.offset

    def residual(self, K: Matrix) -> np.ndarray:
        """Return ⟨A_r, K⟩ − b_r; for an inequality, only the excess."""
        residual = self.rows_of(K) - self.b
        return np.where(self.is_inequality, np.maximum(residual, 0), residual)

    def violations(self, K: Matrix) -> dict[str, float]:
        """Return the largest violation of each group of rows, and of K ⪰ 0: max(0, −λ_min(K))."""
        rows = {name: float(abs(part).max(initial=0.0)) for name, part in self.split(self.residual(K)).items()}
        if not isinstance(K := self._matrix(K), Congruence) and not abs(K).max() <= LARGEST_COORDINATE:
            raise InvalidInput.about("K", f"must have finite entries of at most {LARGEST_COORDINATE:g}")
        return {**rows, self.cone: max(0.0, -least_eigenvalue(K)[0])}

    def rows_of(self, K: Matrix | sp.csr_array) -> np.ndarray:
        """Return ⟨A_r, K⟩ for all rows."""
        K = self._matrix(K)
        row, place, coefficients = self._entries
        terms = coefficients * entries(K, *place)
        found = np.bincount(row, terms, len(self.b))
        for r in np.flatnonzero(np.diff(self.A.indptr) > LONG_ROW).tolist():  # rounding grows with the number of terms
            found[r] = total(terms[self.A.indptr[r] : self.A.indptr[r + 1]]).middle
        return found

    @cached_property
    def additions(self) -> np.ndarray:
        """For each row, how many additions in a row :meth:`rows_of` makes at most."""
        counts = np.diff(self.A.indptr)
        return np.where(counts > LONG_ROW, PIECE + 2, counts)

    def share_for_inequalities(self, at: np.ndarray, inside: np.ndarray) -> float:
        """Return the share of an interior point to mix in so that the inequalities hold, given A(·) of both points."""
        rows, at, inside = self.is_inequality, self._one_per_row(at, "at"), self._one_per_row(inside, "inside")
        excess = np.maximum((at - self.b)[rows], 0)
        room = (self.b - inside)[rows]
        needed = np.divide(excess, excess + room, out=np.full_like(excess, np.inf), where=room > 0)
        return float(np.max(np.where(excess > 0, needed, 0), initial=0.0))

    def inequalities_hold(self, at: np.ndarray) -> bool:
        """Whether a matrix K satisfies the inequalities up to rounding, given A(K)."""
        rows, at = self.is_inequality, self._one_per_row(at, "at")
        return bool((at[rows] <= self.b[rows] + 1e-12 * (1 + abs(self.b[rows]))).all())

    def _one_per_row(self, numbers: Any, name: str) -> np.ndarray:
        """Return one number per row."""
        if not _is_plain(numbers) or sp.issparse(numbers):
            numbers = real_array(numbers, name)
        if numbers.shape != self.b.shape:
            raise InvalidInput.about(name, f"must have {len(self.b)} numbers, one per row, not {numbers.shape}")
        return numbers

    def _matrix(self, K: Any) -> Any:
        """Return a matrix of order n: an array, a sparse matrix or a product."""
        if not isinstance(K, Congruence) and not _is_plain(K):
            K = as_matrix(K, "K", (self.n, self.n))
        if K.shape != (self.n, self.n):
            raise InvalidInput.about("K", f"must have the shape {(self.n, self.n)}, not {K.shape}")
        return K

    def has_evident_point(self) -> bool:
        """Whether the least-norm solution of the equations is feasible."""
        K = self.least_norm_solution()
        return K is not None and self.inequalities_hold(self.rows_of(K)) and least_eigenvalue(K)[0] >= -1e-12


def _is_plain(array: Any) -> bool:
    return type(array) in (np.ndarray, sp.csr_array) and (array.dtype.kind in "biu" or array.dtype == float)


def _fixed(entries: Any, n: int) -> dict[str, tuple[np.ndarray, float]]:
    """Return pairs of points and their value by name."""
    found = {}
    for name, entry in as_mapping(entries, "entries", "pairs and their value by name").items():
        parts = as_list(entry, "entries", "pairs and their value")
        pairs, value = parts if len(parts) == 2 else (None, None)
        found[name] = as_pairs_of_points(pairs, n, "entries", f"C is {n} × {n}"), as_number(value, "entries")
    return found


def _far_from_one(numbers: np.ndarray) -> float:
    largest = float(abs(numbers).max(initial=0.0))
    return 1.0 if largest == 0 or LEAST_MODERATE <= largest <= MOST_MODERATE else largest


def _gram_solver(gram: sp.csc_array) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves AAᵀz = r, by least squares if rows are dependent."""
    with suppress(RuntimeError):  # exactly singular
        factors = sp.linalg.splu(gram)
        pivots = abs(factors.U.diagonal())
        if pivots.min(initial=1.0) > 1e-12 * pivots.max(initial=1.0):
            return factors.solve

    def least_squares(r: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # numbers that overflow make a solution that is not finite, which is refused
            return sp.linalg.lsmr(gram, r, atol=1e-15, btol=1e-15, conlim=0)[0]

    return least_squares
