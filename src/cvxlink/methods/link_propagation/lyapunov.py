r"""Symmetric propagation: a strongly convex quadratic in a matrix, and the Lyapunov equation it is equal to.

.. math:: \min_F\ \mu\|F - Y\|_F^2 + \tfrac12 \operatorname{tr}(F^\top L F + F L F^\top)
          \quad\Longleftrightarrow\quad (\mu I + L)F + F(\mu I + L) = 2\mu Y .

The gradient is :math:`2\mu(F-Y) + LF + FL`, and with L positive semidefinite the objective is 2μ-strongly convex. So
for *any* F with gradient R, whoever computed it, the solution F* and the optimum q* obey

.. math:: \|F - F^*\|_F \le \frac{\|R\|_F}{2\mu}, \qquad q(F) - q^* \le \frac{\|R\|_F^2}{4\mu}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...numerics.eigenpairs import norm_bound
from ...numerics.rounding import Ball, dot, gamma, norm_above

# Above this share of nonzero entries a dense product is faster.
DENSE_IS_FASTER = 0.05
# Rows of a matrix that are worked on at once: few enough to stay in the cache.
CHUNK = 128


@dataclass(frozen=True, eq=False)
class Lyapunov:
    """The program as data.

    Attributes
    ----------
    L : sparse matrix
        Positive semidefinite.
    Y : sparse matrix
        Symmetric.
    mu : float
    eigenpairs : function
        Returns all eigenvalues of L and its eigenvectors as columns; they are computed once per graph.
    is_contraction : bool
        Whether no eigenvalue of I − L is outside [−1, 1], as spreading needs.
    """

    L: sp.csr_array
    Y: sp.csr_array
    mu: float
    eigenpairs: Callable[[], tuple[np.ndarray, np.ndarray]]
    is_contraction: bool

    variable = "F"
    gradient = "2μ(F − Y) + LF + FL"

    @property
    def amplification(self) -> float:
        """A bound on the norm of F ↦ LF + FL."""
        return 2 * norm_bound(self.L)

    @property
    def high(self) -> float:
        """A positive number that no eigenvalue of L exceeds."""
        largest = norm_bound(self.L) or self.mu  # without edges, L is zero
        return min(2.0, largest) if self.is_contraction else largest

    @property
    def pole(self) -> float:
        """How far below zero the response first has a pole."""
        return 2 * self.mu

    def response(self, x: Any, y: Any) -> Any:
        """What is left of a link between eigenvectors of L with eigenvalues x and y: F = Y multiplied by that."""
        return 2 * self.mu / (2 * self.mu + x + y)

    def gradient_times(self, F: Any, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the objective at F times columns, for F that may be known by its products only."""
        Fx = F @ x
        return 2 * self.mu * (Fx - self.Y @ x) + self.L @ Fx + F @ (self.L @ x)

    @property
    def n(self) -> int:
        """The order of F."""
        return int(self.L.shape[0])

    @cached_property
    def _quick(self) -> Any:
        """L in the format whose products with dense matrices are fast."""
        return self.L.toarray() if self.L.nnz > DENSE_IS_FASTER * self.n**2 else self.L

    def smoothed(self, F: np.ndarray) -> np.ndarray:
        """Return LF + FL."""
        left, right = self._both_sides(F)
        return left + right

    def _both_sides(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return LF and FL; where F is symmetric, each is a view of the other."""
        left = self._quick @ F
        return left, left.T if np.array_equal(F, F.T) else (self._quick @ F.T).T

    def add_links(self, G: np.ndarray, factor: float) -> np.ndarray:
        """Add a multiple of Y to a matrix, in place."""
        Y = self.Y.tocoo()
        G[Y.row, Y.col] += factor * Y.data
        return G

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.residual(point["F"])[1].middle

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return nothing: there are no constraints to violate."""
        return {}

    def residual(self, F: np.ndarray) -> tuple[float, Ball]:
        """Return the norm of the gradient of the objective at F, rounded up, and the objective.

        Some rows at a time: beside F only LF is held, and FL where F is not symmetric.
        """
        left, right = self._both_sides(F)
        norms, fit, smoothness = [], Ball(0.0), Ball(0.0)
        for rows in chunks(self.n):
            smooth = left[rows] + right[rows]
            difference = F[rows] - self.Y[rows].toarray()
            smoothness = smoothness + dot(F[rows], smooth)
            fit = fit + dot(difference, difference)
            difference *= 2 * self.mu
            difference += smooth
            norms.append(norm_above(difference))
        return norm_above(norms), self.mu * fit * Ball(1.0, gamma(4)) + smoothness / 2

    def curvature(self, loss: float) -> float:
        """Return a lower bound on the curvature, if no eigenvalue of L is below −loss."""
        return (2 * (Ball(self.mu) - loss)).lower


def chunks(n: int) -> Iterator[slice]:
    """Yield the rows of a matrix, some at a time."""
    for first in range(0, n, CHUNK):
        yield slice(first, first + CHUNK)
