r"""A dense primal-dual interior-point method for linear semidefinite programs that are visibly strictly feasible.

The pair :math:`\min \langle C,X\rangle,\ \mathcal{A}(X) = b,\ X \succeq 0` and
:math:`\max b^\top y,\ Z = C - \mathcal{A}^*(y) \succeq 0` is followed along :math:`XZ = \mu I`, μ → 0, with the
HKM direction with Mehrotra's predictor and corrector. With :math:`\Delta Z = -\mathcal{A}^*(\Delta y)` and
:math:`\Delta X = \sigma\mu Z^{-1} - X - (X \Delta Z + \Delta X_a \Delta Z_a) Z^{-1}`, symmetrised, the
multipliers solve

.. math:: M \Delta y = b - \mathcal{A}(\sigma\mu Z^{-1} - \Delta X_a \Delta Z_a Z^{-1}), \qquad
          M_{rs} = \langle A_r, Z^{-1} A_s X\rangle .

The rows of this family touch one or two entries each, so M is cheap, and an iteration costs a handful of dense products
of order n. Inequalities carry slacks x with multipliers z, which add x/z to the diagonal of M.

Both starting points are strictly feasible, from :attr:`LinearSDP.interior_point` and from the rows that bound the
trace. Without them the route refuses: it has no test for infeasible programs.

References
----------
Helmberg, Rendl, Vanderbei & Wolkowicz (1996); Toh, Todd & Tütüncü (1999).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..numerics.matrices import as_dense
from ..numerics.threads import threads_for
from ..programs.linear_sdp import LinearSDP
from .route import Attempt, Iteration, Route, Settings

# The largest order of dense matrices, and the largest number of coefficients, that it accepts.
LARGEST = 5000
MOST_ITERATIONS = 100
# With more rows it is not chosen automatically.
MOST_ROWS = 2500
TO_THE_BOUNDARY = 0.95
# Up to this order sparse matrices take longer than dense ones.
SMALL_ORDER = 100

Solve = Callable[[np.ndarray], np.ndarray]


class InteriorPoint(Route):
    """Follow the central path from a strictly feasible pair."""

    name = "interior-point"
    iterates = True
    why = "strictly feasible points are at hand, and dense linear algebra is fast at this size"

    def refuses(self, data: LinearSDP) -> str | None:
        """Return what is missing."""
        sdp = data
        if not len(sdp.b):
            return "it has no constraint except semidefiniteness"
        if max(sdp.n, len(sdp.b), min(sdp.A.nnz, sdp.n**2)) > LARGEST:
            return f"order {sdp.n} with {sdp.A.nnz} coefficients is too large for dense algebra (at most {LARGEST})"
        if sdp.trace_multipliers() is None:
            return f"no constraint bounds the trace of {sdp.variable}"
        if sdp.interior_point is None:
            return "no strictly feasible point is at hand"
        return None

    def suits(self, data: LinearSDP) -> bool:
        """Whether its steps, which factorise a dense matrix of the order of the rows, take less than a second."""
        return len(data.b) <= MOST_ROWS

    def run(self, data: LinearSDP, settings: Settings) -> Attempt:
        """Solve until the gap is below the tolerance, relative to the value, or no longer shrinks."""
        with threads_for(max(data.n, len(data.b))):
            return self._run(data, settings)

    def _run(self, sdp: LinearSDP, settings: Settings) -> Attempt:
        iteration = Iteration(settings, MOST_ITERATIONS)
        path = _Path(sdp)
        iterate: _Iterate | None = path.start()
        while iterate is not None:
            value, gap = path.value(iterate), path.complementarity(iterate)
            progress = f"value {value + sdp.offset:.10g}  gap {gap:.2e}"
            if not iteration.goes_on(iterate, gap / max(abs(value), 1e-3), progress):
                break
            iterate = path.step(iterate)
        else:
            iteration.stalls()
        best = iteration.best
        return iteration.attempt({sdp.variable: best.X}, {**sdp.split(best.y), sdp.cone: best.Z})


@dataclass(frozen=True, eq=False)
class _Iterate:
    """A strictly feasible pair: X, the slacks x of inequalities, y, Z and the multipliers z = −y of inequalities."""

    X: np.ndarray
    x: np.ndarray
    y: np.ndarray
    Z: np.ndarray
    z: np.ndarray


@dataclass(frozen=True, eq=False)
class _Direction:
    X: np.ndarray
    x: np.ndarray
    y: np.ndarray
    Z: np.ndarray | sp.csr_array
    z: np.ndarray


class _Path:
    """The central path of one program."""

    def __init__(self, sdp: LinearSDP) -> None:
        self.sdp = sdp
        self.C = sdp.C.toarray()
        part = sdp.A.tocoo()
        self.row, self.weight = part.row, part.data
        self.i, self.j = part.col // sdp.n, part.col % sdp.n
        # A(X) = gather @ X[i, j]: each stored coefficient picks one entry.
        places = (part.row, np.arange(part.nnz))
        self.gather = sp.csr_array((part.data, places), shape=(len(sdp.b), part.nnz))
        # The same with each pair i ≤ j of points only once.
        pairs, number = np.unique(np.minimum(self.i, self.j) * sdp.n + np.maximum(self.i, self.j), return_inverse=True)
        self.p, self.q = np.divmod(pairs, sdp.n)
        self.gather_pairs = sp.csr_array((part.data, (part.row, number)), shape=(len(sdp.b), len(pairs)))
        self.signed = np.flatnonzero(sdp.is_inequality)

    def rows(self, X: np.ndarray) -> np.ndarray:
        """A(X)."""
        return self.gather @ X[self.i, self.j]

    def rows_of_product(self, F: np.ndarray, G: np.ndarray) -> np.ndarray:
        """A(FG), without the whole product."""
        return self.gather @ np.einsum("ek,ek->e", F[self.i], G.T[self.j])

    def adjoint(self, y: np.ndarray) -> np.ndarray | sp.csr_array:
        """A*(y), as an array where that takes less time."""
        n, entries = self.sdp.n, self.weight * y[self.row]
        if n <= SMALL_ORDER:
            return np.bincount(self.i * n + self.j, entries, n * n).reshape(n, n)
        return sp.csr_array((entries, (self.i, self.j)), shape=(n, n))

    def value(self, at: _Iterate) -> float:
        """⟨C, X⟩."""
        return float(np.vdot(self.C, at.X))

    def complementarity(self, at: _Iterate) -> float:
        """⟨X, Z⟩ + xᵀz: for feasible pairs the duality gap."""
        return float(np.vdot(at.X, at.Z) + at.x @ at.z)

    @cached_property
    def order(self) -> int:
        """How many eigenvalues and slacks share the gap."""
        return self.sdp.n + len(self.signed)

    def start(self) -> _Iterate:
        """Return a strictly feasible pair."""
        interior, v = self.sdp.interior_point, self.sdp.trace_multipliers()
        assert interior is not None and v is not None
        X = interior.toarray()
        x = (self.sdp.b - self.rows(X))[self.signed]
        size = max(1.0, float(abs(self.C).max()))
        # −1 for the inequalities, then as much of the identity as makes Z at least `size` on all eigenvectors.
        y = -size * self.sdp.is_inequality.astype(float)
        least = np.linalg.eigvalsh(self.C - self.adjoint(y))[0]
        y = y - max(0.0, size - least) * v
        return _Iterate(X, x, y, self.C - self.adjoint(y), -y[self.signed])

    def step(self, at: _Iterate) -> _Iterate | None:
        """Predict, correct, and go most of the way to the boundary; None if rounding prevents a step."""
        try:
            return self._step(at)
        except np.linalg.LinAlgError:
            return None

    def _step(self, at: _Iterate) -> _Iterate | None:
        mu = self.complementarity(at) / self.order
        inverse = np.linalg.inv(at.Z)
        inverse = (inverse + inverse.T) / 2
        M = _factorised(self.schur(at, inverse))
        predicted = self.direction(at, inverse, M, 0.0, None)
        far = self.complementarity(self.moved(at, predicted, *self.lengths(at, predicted))) / self.order
        centring = min(1.0, max(1e-6, (far / mu) ** 3))
        corrected = self.direction(at, inverse, M, centring * mu, predicted)
        primal, dual = (min(1.0, TO_THE_BOUNDARY * length) for length in self.lengths(at, corrected))
        return self.moved(at, corrected, primal, dual) if min(primal, dual) > 1e-8 else None

    def schur(self, at: _Iterate, inverse: np.ndarray) -> np.ndarray:
        """M_rs = ⟨A_r, Z⁻¹ A_s X⟩, and x/z on the diagonal for inequalities."""
        # For A_r = (e_p e_qᵀ + e_q e_pᵀ)/2 and A_s likewise, a quarter of four products of entries.
        p, q = self.p, self.q
        crossed = inverse[np.ix_(p, q)] * at.X[np.ix_(q, p)]
        pairs = crossed + crossed.T
        pairs += inverse[np.ix_(p, p)] * at.X[np.ix_(q, q)]
        pairs += inverse[np.ix_(q, q)] * at.X[np.ix_(p, p)]
        M = self.gather_pairs @ (self.gather_pairs @ pairs).T / 4
        M[self.signed, self.signed] += at.x / at.z
        # Dependent rows make M singular; their right-hand sides agree, so this picks one solution.
        M[np.diag_indices_from(M)] *= 1 + 1e-14
        return M

    def direction(
        self, at: _Iterate, inverse: np.ndarray, M: Solve, target: float, predicted: _Direction | None
    ) -> _Direction:
        """Return the HKM direction towards XZ = target · I, corrected by the second-order terms of a prediction."""
        right = self.sdp.b - target * self.rows(inverse)
        second = np.zeros_like(at.X) if predicted is None else (predicted.Z.T @ predicted.X).T
        second_slack = np.zeros_like(at.x) if predicted is None else predicted.x * predicted.z
        if predicted is not None:
            right = right + (self.rows_of_product(second, inverse) + self.rows_of_product(inverse, second.T)) / 2
        right[self.signed] -= (target - second_slack) / at.z
        y = M(right)
        if not np.isfinite(y).all():
            raise np.linalg.LinAlgError("the multipliers overflow")
        Z, z = -self.adjoint(y), -y[self.signed]
        X = target * inverse - at.X - ((Z.T @ at.X).T + second) @ inverse
        x = (target - second_slack - at.x * z) / at.z - at.x
        return _Direction((X + X.T) / 2, x, y, Z, z)

    def lengths(self, at: _Iterate, way: _Direction) -> tuple[float, float]:
        """Return the longest primal and dual steps, at most 1."""
        primal = min(_to_singular(at.X, way.X), _to_zero(at.x, way.x))
        return primal, min(_to_singular(at.Z, as_dense(way.Z)), _to_zero(at.z, way.z))

    def moved(self, at: _Iterate, way: _Direction, primal: float, dual: float) -> _Iterate:
        """Return the pair after steps along a direction."""
        y = at.y + dual * way.y
        return _Iterate(at.X + primal * way.X, at.x + primal * way.x, y, self.C - self.adjoint(y), at.z + dual * way.z)


def _factorised(M: np.ndarray) -> Solve:
    """Return what solves Mx = b. M is positive definite, unless rounding or dependent rows prevent it."""
    try:
        factor = scipy.linalg.cho_factor(M, lower=True, check_finite=False)
        return lambda b: scipy.linalg.cho_solve(factor, b, check_finite=False)
    except np.linalg.LinAlgError:
        return lambda b: np.linalg.solve(M, b)


def _to_zero(x: np.ndarray, way: np.ndarray) -> float:
    """Return the step, at most 1, at which a positive vector first has a zero."""
    shrinking = way < 0
    return float(np.min(-x[shrinking] / way[shrinking], initial=1.0))


def _to_singular(X: np.ndarray, way: np.ndarray) -> float:
    """Return a step, at most 1, up to which a matrix stays positive definite, by trial and bisection.

    A Cholesky factorisation costs a tenth of the eigenvalues that would give the exact step.
    """
    if _positive_definite(X + way):
        return 1.0
    short = 0.5
    while short > 1e-9 and not _positive_definite(X + short * way):
        short /= 2
    long = 2 * short
    for _ in range(4):
        middle = (short + long) / 2
        if _positive_definite(X + middle * way):
            short = middle
        else:
            long = middle
    return short if short > 1e-9 else 0.0


def _positive_definite(matrix: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
