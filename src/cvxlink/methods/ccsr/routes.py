r"""A primal-dual interior-point method for least squares over the cone, in the few unknowns of M.

With :math:`f(M) = x^\top B x + b^\top x + c`, :math:`x = \operatorname{svec}(M)`, the solution has a semidefinite
gradient Z with ZM = 0. Both are followed along :math:`MZ = \mu I`, μ → 0: with :math:`H = 2B` a step solves

.. math:: \bigl(H + Z \circledast M^{-1}\bigr)\Delta m = \sigma\mu\, M^{-1} - \nabla f(M), \qquad
          (A \circledast B) X = \tfrac12(AXB + BXA),

a positive definite system of order m(m+1)/2, whether H is singular or not, and
:math:`\Delta Z = \nabla f(M) - Z + H \Delta m`.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from ...numerics.threads import threads_for
from ...solvers.route import Attempt, Iteration, Route, Settings
from .fitted_products import FittedProducts, svec_basis

# A step factorises a dense matrix of order m(m+1)/2.
LARGEST_ORDER = 60
TO_THE_BOUNDARY = 0.98

_Pair = tuple[np.ndarray, np.ndarray]  # M and Z


class InteriorLeastSquares(Route):
    """Follow the central path of a least-squares program over the cone."""

    name = "interior-point"
    iterates = True
    why = "few unknowns, whatever the number of points and links: nothing to compile, and about ten steps"

    def refuses(self, data: FittedProducts) -> str | None:
        """Return why the route does not apply, if it does not."""
        if data.order > LARGEST_ORDER:
            return f"order {data.order} is too large for dense algebra (at most {LARGEST_ORDER})"
        return None

    def run(self, data: FittedProducts, settings: Settings) -> Attempt:
        """Solve until the gap is below the tolerance times 1 + |value|, or no longer shrinks."""
        iteration = Iteration(settings)
        with threads_for(len(data.U)):
            path = _Path(data)
        with threads_for(path.size):
            point: _Pair | None = path.start()
            while point is not None:
                value, gap = path.certified(point[0])
                if not iteration.goes_on(point, gap / (1 + abs(value)), f"value {value:.10g}  gap {gap:.2e}"):
                    break
                point = path.step(*point)
            else:
                iteration.stalls()
            M = iteration.best[0]
            return iteration.attempt({"M": M}, {"psd": path.gradient(M)})


class _Path:
    """The central path of one program."""

    def __init__(self, data: FittedProducts) -> None:
        self.n, self.m = data.U.shape
        B, self.b, self.c = data.symmetric_quadratic
        self.H = 2 * B
        self.basis = svec_basis(self.m)
        self.i, self.j = np.triu_indices(self.m)
        self.scale = np.where(self.i == self.j, np.sqrt(0.5), 1.0)

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return len(self.i)

    def svec(self, X: np.ndarray) -> np.ndarray:
        return self.basis.T @ X.ravel()

    def matrix(self, x: np.ndarray) -> np.ndarray:
        return (self.basis @ x).reshape(self.m, self.m)

    def gradient(self, M: np.ndarray) -> np.ndarray:
        return self.matrix(self.H @ self.svec(M) + self.b)

    def certified(self, M: np.ndarray) -> tuple[float, float]:
        """Return the value at M, and how far above the optimum it can be; see the module ``fitted_products``."""
        x, G = self.svec(M), self.gradient(M)
        delta = max(0.0, -float(np.linalg.eigvalsh(G)[0]))
        gap = float(np.sum(G * M)) + delta * float(np.trace(M)) + self.n * delta**2 / 4
        return float(x @ (self.H @ x) / 2 + self.b @ x) + self.c, gap

    def start(self) -> _Pair:
        """Unit length on average, and a multiplier as large as the gradient there."""
        M = np.eye(self.m) * self.n / self.m
        return M, np.eye(self.m) * max(float(np.linalg.norm(self.gradient(M), 2)), 1e-12 / self.n)

    def symmetric_kronecker(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the matrix of X ↦ ½(AXB + BXA) in the coordinates of svec."""
        i, j = self.i, self.j

        def term(P: np.ndarray, Q: np.ndarray) -> np.ndarray:
            return P[np.ix_(i, i)] * Q[np.ix_(j, j)] + P[np.ix_(i, j)] * Q[np.ix_(j, i)]

        return (term(A, B) + term(B, A)) / 2 * self.scale[:, None] * self.scale[None, :]

    def step(self, M: np.ndarray, Z: np.ndarray) -> _Pair | None:
        """Take one step; None where rounding leaves nothing to factorise."""
        try:
            lower_M, lower_Z = np.linalg.cholesky(M), np.linalg.cholesky(Z)
            inverse = scipy.linalg.cho_solve((lower_M, True), np.eye(self.m))
            inverse = (inverse + inverse.T) / 2
            system = self.H + self.symmetric_kronecker(Z, inverse)
            factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        G = self.gradient(M)
        mu = float(np.sum(M * Z)) / self.m

        def direction(target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            x = scipy.linalg.cho_solve(factor, self.svec(target - G), check_finite=False)
            return self.matrix(x), G - Z + self.matrix(self.H @ x)

        def length(lower: np.ndarray, D: np.ndarray) -> float:
            half = scipy.linalg.solve_triangular(lower, D, lower=True, check_finite=False)
            whole = scipy.linalg.solve_triangular(lower, half.T, lower=True, check_finite=False)
            least = float(np.linalg.eigvalsh((whole + whole.T) / 2)[0])
            return 1.0 if least >= -TO_THE_BOUNDARY else TO_THE_BOUNDARY / -least

        dM, dZ = direction(np.zeros_like(M))
        primal, dual = length(lower_M, dM), length(lower_Z, dZ)
        reached = float(np.sum((M + primal * dM) * (Z + dual * dZ))) / self.m
        curved = dZ @ dM @ inverse
        dM, dZ = direction(max(reached / mu, 0.0) ** 3 * mu * inverse - (curved + curved.T) / 2)
        # One length for both: the gradient moves with M, so Z has to keep up with it.
        both = min(length(lower_M, dM), length(lower_Z, dZ))
        return M + both * dM, Z + both * dZ
