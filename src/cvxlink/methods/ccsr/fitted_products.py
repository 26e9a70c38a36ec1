r"""Fitted products: a least-squares program over the cone, whose size depends neither on the points nor on the links.

Rows :math:`u_i^\top` of a matrix U with orthonormal columns, and wanted products t, the first n of them of each point
with itself:

.. math:: \min_{M \succeq 0}\ f(M) = \sum_{(i,j,t)\in\mathcal S} w_{ij} (u_i^\top M u_j - t_{ij})^2
          = z^\top B z + b^\top z + c, \qquad z = \operatorname{vec}(M).

*Compact.* :math:`\operatorname{svec}(M)`, the upper triangle with entries off the diagonal times √2, has half as many
entries, and keeps inner products. On antisymmetric matrices only links contribute to B, which is singular there if they
are fewer than m(m−1)/2; on symmetric ones :math:`B_s = R^\top R`, and
:math:`f(M) = \|R \operatorname{svec}(M) - d\|^2 + c_0`.

*A bound from any M.* Let G be the gradient there, :math:`N = U^\top U = \sum_i u_i u_i^\top`, and δ ≥ 0 with
:math:`G + \delta N \succeq 0`. For feasible M + H, with :math:`a_i = u_i^\top H u_i` and so :math:`\langle N,
H\rangle = \sum a_i`,

.. math:: f(M + H) \ge f(M) + \langle G, H\rangle + \sum_i a_i^2
          \ge f(M) - \langle G + \delta N, M\rangle + \sum_i (a_i^2 - \delta a_i)
          \ge f(M) - \langle G + \delta N, M\rangle - n\delta^2/4 .
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...numerics.least_eigenvalue import least_eigenvalue
from ...numerics.rounding import Ball, dot, gamma, norm_above, terms_per_row

# Rows of the least-squares problem in memory at once: few enough to stay in the cache.
CHUNK = 2000

Coefficients = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class FittedProducts:
    """The program as data.

    Attributes
    ----------
    U : array, n × m
        Orthonormal columns.
    pairs : array
        The pairs (i, j) whose products are wanted; the first n are (0, 0), (1, 1), …
    targets, weights : arrays
        The wanted products, and how much each matters.
    """

    U: np.ndarray
    pairs: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    @property
    def order(self) -> int:
        """The order of M."""
        return int(self.U.shape[1])

    # ------------------------------------------------------------------ as a function of M

    def residual(self, M: np.ndarray) -> np.ndarray:
        """Return u_iᵀMu_j − t_ij for each pair."""
        i, j = self.pairs.T
        return np.einsum("ij,ij->i", (self.U @ M)[i], self.U[j]) - self.targets

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.misfit(point["M"])

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return how far M is from semidefinite."""
        M = point["M"]
        return {"psd": max(0.0, -float(np.linalg.eigvalsh((M + M.T) / 2)[0]))}

    def misfit(self, M: np.ndarray) -> float:
        """Return f(M)."""
        return float(self.weights @ self.residual(M) ** 2)

    def exact_misfit(self, M: np.ndarray) -> Ball:
        """Return f(M) with a bound on its rounding error."""
        residual, off = self.residual(M), self._rounding_of_residual(M)
        uncertain = dot(self.weights, (2 * abs(residual) + off) * off).upper * (1 + gamma(8))
        return dot(self.weights, residual**2) * Ball(1.0, gamma(4)) + Ball(0.0, uncertain)

    def _rounding_of_residual(self, M: np.ndarray) -> np.ndarray:
        """Return bounds on the rounding errors of ``residual(M)``, one per pair."""
        (i, j), lengths = self.pairs.T, np.linalg.norm(self.U, axis=1)
        products = lengths[i] * lengths[j] * norm_above(M)
        return gamma(4 * self.order + 16) * (products + abs(self.targets))

    def gradient(self, M: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the gradient of f, a symmetric matrix, and a bound on its rounding error in the spectral norm."""
        i, j = self.pairs.T
        slopes = 2 * self.weights * self.residual(M)
        half = sp.csr_array((slopes, (i, j)), shape=(len(self.U),) * 2)
        G = self.U.T @ (half @ self.U)
        lengths = np.linalg.norm(self.U, axis=1)
        uncertain = 2 * self.weights * self._rounding_of_residual(M)
        uncertain += gamma(len(self.U) + terms_per_row(half) + 8) * abs(slopes)
        return (G + G.T) / 2, dot(uncertain, lengths[i] * lengths[j]).upper * (1 + gamma(4 * self.order + 16))

    def lower_bound(self, M: np.ndarray) -> tuple[Ball, float, float]:
        """Return a lower bound on the optimum, the least eigenvalue of the gradient G at M, and ⟨G, M⟩.

        M may be any symmetric matrix; the nearer to the solution it is, the better is the bound.
        """
        G, rounding = self.gradient(M)
        N = self.U.T @ self.U
        least, least_of_N = least_eigenvalue(G), least_eigenvalue((N + N.T) / 2).lower
        off = gamma(2 * len(self.U) + 8) * norm_above(self.U) ** 2
        delta = Ball(max(0.0, rounding - least.lower)) / (Ball(least_of_N) - off).lower
        complementarity = dot(G, M)
        slack = complementarity + delta * (dot(N, M) + Ball(0.0, off * norm_above(M)))
        slack = slack + Ball(0.0, np.sqrt(self.order) * rounding * norm_above(M) * (1 + gamma(8)))
        bound = self.exact_misfit(M) - slack - len(self.U) * delta * delta / 4
        return bound, least.value, complementarity.middle

    # ------------------------------------------------------------------ as a quadratic

    def _rows(self, coefficients: Coefficients) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows of the least-squares problem, some at a time, and their targets, times the root of the weights."""
        for first in range(0, len(self.pairs), CHUNK):
            part = slice(first, first + CHUNK)
            u_i, u_j = (self.U[ends] for ends in self.pairs[part].T)
            root = np.sqrt(self.weights[part])
            yield coefficients(u_i * root[:, None], u_j), self.targets[part] * root

    def _assembled(self, coefficients: Coefficients) -> tuple[np.ndarray, np.ndarray, float]:
        """Return B, b and c of equation (19), by matrix products."""
        B, b = 0.0, 0.0
        for S, t in self._rows(coefficients):
            B = B + S.T @ S
            b = b - 2 * (t @ S)
        return np.asarray(B), np.asarray(b), float(self.weights @ self.targets**2)

    @cached_property
    def quadratic(self) -> tuple[np.ndarray, np.ndarray, float]:
        """B, b and c with f(M) = zᵀBz + bᵀz + c, z = vec(M): equations (18) and (19)."""
        return self._assembled(_vec_coefficients)

    @cached_property
    def symmetric_quadratic(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The same with z = svec(M)."""
        return self._assembled(_svec_coefficients)

    @cached_property
    def compact(self) -> tuple[np.ndarray, np.ndarray, float]:
        """R, d and c₀ with f(M) = ‖R svec(M) − d‖² + c₀.

        They are an orthogonal factor of the rows, not a root of B: that would lose half of the digits.
        """
        size = self.order * (self.order + 1) // 2
        triangle = np.zeros((0, size + 1))
        for S, t in self._rows(_svec_coefficients):
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, np.column_stack([S, t])]), mode="r"))
        rest = float(triangle[size, size] ** 2) if len(triangle) > size else 0.0
        return triangle[:size, :size], triangle[:size, size], rest


def _vec_coefficients(u_i: np.ndarray, u_j: np.ndarray) -> np.ndarray:
    """Return s = vec(u_j u_iᵀ), one per row: the coefficients of u_iᵀMu_j in vec(M)."""
    return (u_i[:, :, None] * u_j[:, None, :]).reshape(len(u_i), -1)


def _svec_coefficients(u_i: np.ndarray, u_j: np.ndarray) -> np.ndarray:
    """Return the coefficients of u_iᵀMu_j in svec(M)."""
    above, below = np.triu_indices(u_i.shape[1])
    scale = np.where(above == below, 0.5, np.sqrt(0.5))
    return (u_i[:, above] * u_j[:, below] + u_i[:, below] * u_j[:, above]) * scale


def svec_basis(m: int) -> sp.csr_array:
    """Return the m² × m(m+1)/2 matrix T of orthonormal columns with vec(M) = T svec(M) and svec(M) = Tᵀ vec(M)."""
    i, j = np.triu_indices(m)
    column = np.arange(len(i))
    value = np.where(i == j, 0.5, np.sqrt(0.5))  # a diagonal entry occurs twice
    places = np.concatenate([i * m + j, j * m + i])
    return sp.csr_array((np.tile(value, 2), (places, np.tile(column, 2))), shape=(m * m, len(i)))
