r"""Matrix nearness: the Gaussian nearest to a given one whose differences and sums of coordinates are small.

With a prior kernel K ≻ 0 and a column u of U for each link, :math:`e_i - e_j` or :math:`e_i + e_j`,

.. math:: \min_{\bar K \succ 0}\ -\log\frac{|\bar K|}{|K|} + \operatorname{tr}(K^{-1}\bar K)
          + \sum_r w_r\, u_r^\top \bar K u_r \quad\text{s.t.}\quad u_r^\top \bar K u_r \le a_r .

For fixed multipliers λ ≥ 0 of the bounds the Lagrangian is least at
:math:`\bar K = (K^{-1} + U\Lambda U^\top)^{-1}`, and its least value there is, for *any* λ ≥ 0, below the optimum:

.. math:: \varphi(\lambda) = n + \log\det(I + \Lambda^{1/2} G \Lambda^{1/2}) - a^\top\lambda, \qquad G = U^\top K U .

So bounds make a concave program with one unknown per link. With weights w instead (λ = w, no bounds) nothing is left
to optimise: the optimum is :math:`n + \log\det(I + \Lambda^{1/2} G \Lambda^{1/2})`, at a :math:`\bar K` in closed
form.

Everything is done on the factor R of :math:`G = R^\top R`, with at most as many rows as there are linked points:
:math:`h = \operatorname{diag}(U^\top\bar K U)` are the squared lengths of the columns of :math:`T^{-1}R`, where
:math:`TT^\top = I + R\Lambda R^\top`: a sum of squares, in which nothing cancels. In the entries of :math:`\bar K`
itself bounds far below those of K drown in rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.linalg import cholesky

from ...numerics.rounding import Ball, dot, gamma


@dataclass(frozen=True, eq=False)
class Nearness:
    """The program as data: either ``bounds`` a or ``weights`` w are given, one per link."""

    prior: np.ndarray
    U: sp.csc_array
    groups: dict[str, slice]
    bounds: np.ndarray | None = None
    weights: np.ndarray | None = None

    @property
    def n(self) -> int:
        """The order of the kernel."""
        return len(self.prior)

    @property
    def n_links(self) -> int:
        """The number of links."""
        return int(self.U.shape[1])

    @cached_property
    def prior_factor(self) -> np.ndarray:
        """The lower triangular C with K = CCᵀ."""
        return cholesky(self.prior)

    @cached_property
    def KU(self) -> np.ndarray:
        """The product KU."""
        return np.asarray(self.prior @ self.U)

    @cached_property
    def R(self) -> np.ndarray:
        """A factor of G = UᵀKU = RᵀR with few rows."""
        linked = np.unique(self.U.indices)
        rows = cholesky(self.prior[np.ix_(linked, linked)]).T @ self.U[linked].toarray()
        return np.asarray(np.linalg.qr(rows, mode="r")) if rows.shape[0] > rows.shape[1] else rows

    def squared_lengths(self, kernel: np.ndarray) -> np.ndarray:
        """Return uᵀK̄u for each link."""
        return np.asarray(self.U.multiply(kernel @ self.U).sum(axis=0)).ravel()

    def kernel(self, multipliers: np.ndarray) -> np.ndarray:
        """Return K̄ = (K⁻¹ + UΛUᵀ)⁻¹ = K − KUΛ^½ (I + Λ^½GΛ^½)⁻¹ Λ^½UᵀK."""
        root = np.sqrt(multipliers)
        used = root > 0
        if not used.any():
            return self.prior.copy()
        scaled, RU = self.KU[:, used] * root[used], self.R[:, used] * root[used]
        T = cholesky(np.eye(RU.shape[1]) + RU.T @ RU)
        half = scipy.linalg.solve_triangular(T, scaled.T, lower=True, check_finite=False)
        return self.prior - half.T @ half

    def bound(self, multipliers: np.ndarray) -> Ball:
        """Return a lower bound on the optimum, for any multipliers, with an estimate of its rounding error."""
        try:
            V, logarithm = shrunk(self.R, multipliers)
        except np.linalg.LinAlgError:
            return Ball(np.nan, np.inf)
        cost = Ball(0.0) if self.bounds is None else dot(self.bounds, multipliers)
        # What rounding in R does: log det(I + ΛG) changes by tr((I + ΛG)⁻¹Λ ΔG), and the diagonal of (I + ΛG)⁻¹Λ is
        # λ(1 − λh).
        changed = multipliers * np.clip(1 - multipliers * (V**2).sum(axis=0), 0, 1)
        rounding = 4 * float(np.diag(self.prior).max(initial=0)) * float(changed.sum())
        return self.n + Ball(logarithm, gamma(self.n + 8) * (rounding + 2 * abs(logarithm))) - cost

    def rounding(self, kernel: np.ndarray, eigenvalues: np.ndarray) -> float:
        """Return an estimate of the rounding error of the value at a kernel with these eigenvalues.

        To the first order: a change ΔK of a kernel changes log det K by ⟨K⁻¹, ΔK⟩, and solving CX = B for a triangular
        C changes X by at most γ|C⁻¹||C||X|.
        """
        if eigenvalues[0] <= 0:
            return np.inf
        X, C, inverse = self._whitened(cholesky(kernel)), self.prior_factor, self._whitened(np.eye(self.n))
        solved = float((abs(X) * (abs(inverse) @ (abs(C) @ abs(X)))).sum())
        largest = max(float(np.diag(self.prior).max()), float(np.diag(kernel).max()))
        determinants = largest * (float((1 / eigenvalues).sum()) + float((inverse**2).sum()))
        return gamma(self.n + 8) * (determinants + 4 * solved)

    def _whitened(self, columns: np.ndarray) -> np.ndarray:
        """Return C⁻¹ times columns, for K = CCᵀ."""
        return scipy.linalg.solve_triangular(self.prior_factor, columns, lower=True, check_finite=False)

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.objective_at(point["K"])

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return by how much links exceed their bounds, where they have any."""
        if self.bounds is None:
            return {}
        excess = np.maximum(self.squared_lengths(point["K"]) - self.bounds, 0)
        return {name: float(excess[group].max(initial=0.0)) for name, group in self.groups.items()}

    def objective_at(self, kernel: np.ndarray) -> float:
        """Return the objective at a kernel; infinity where it is not positive definite."""
        try:
            own = cholesky(kernel)
        except np.linalg.LinAlgError:
            return float("inf")
        C = self.prior_factor
        divergence = -2 * float(np.log(np.diag(own) / np.diag(C)).sum())
        # tr(K⁻¹K̄) = ‖C⁻¹C̄‖² for factors of both: a sum of squares.
        divergence += float((self._whitened(own) ** 2).sum())
        penalty = 0.0 if self.weights is None else float(self.weights @ self.squared_lengths(kernel))
        return divergence + penalty


def shrunk(R: np.ndarray, multipliers: np.ndarray) -> tuple[np.ndarray, float]:
    """Return T⁻¹R and log det(I + RΛRᵀ), with TTᵀ = I + RΛRᵀ."""
    T = cholesky(np.eye(len(R)) + (R * multipliers) @ R.T)
    logarithm = 2 * float(np.log(np.diag(T)).sum())
    return scipy.linalg.solve_triangular(T, R, lower=True, check_finite=False), logarithm
