r"""Links that spread along columns, then along rows: a strongly convex quadratic and its matrix equation.

.. math:: \min_F\ \mu\|F - Y\|_F^2 + \operatorname{tr}(F^\top L F + F L F^\top)
          + \tfrac1\mu\operatorname{tr}(F^\top L F L)
          \quad\Longleftrightarrow\quad (\mu I + L)F(\mu I + L) = \mu^2 Y .

It is 2μ-strongly convex: the Hessian is :math:`\tfrac2\mu(\mu I + L)\otimes(\mu I + L)`. So for any F with gradient R
the solution is within :math:`\|R\|_F/2\mu`, and the optimum at most :math:`\|R\|_F^2/4\mu` lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numerics.matrices import as_dense
from ...numerics.rounding import Ball, dot, gamma, norm_above
from ..shared.springs import Springs


@dataclass(frozen=True, eq=False)
class TwoSided(Springs):
    """Links that spread over a graph, along columns and then along rows."""

    variable = "F"
    gradient = "2μ(F − Y) + 2(LF + FL) + 2LFL/μ"

    def solution(self) -> np.ndarray:
        """Return the solution: two passes."""
        F = self.spread(self.spread(self.Y).T)
        return (F + F.T) / 2

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.residual(point["F"])[1].middle

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return nothing: there are no constraints to violate."""
        return {}

    def residual(self, F: np.ndarray) -> tuple[float, Ball]:
        """Return the norm of the gradient of the objective at F, rounded up, and the objective."""
        left, difference = self.L @ F, F - as_dense(self.Y)
        both = left + (self.L @ F.T).T + (self.L @ left.T).T / self.mu
        value = self.mu * dot(difference, difference) * Ball(1.0, gamma(4)) + dot(F, both)
        return 2 * norm_above(self.mu * difference + both), value

    def curvature(self, loss: float) -> float:
        """Return a lower bound on the curvature, if no eigenvalue of L is below −loss."""
        left = max(0.0, (Ball(self.mu) - loss).lower)
        return (2 * Ball(left) * left / self.mu).lower

    @property
    def high(self) -> float:
        """A positive number that no eigenvalue of L exceeds."""
        return self.largest_row or self.mu  # without edges, L is zero

    @property
    def pole(self) -> float:
        """How far below zero the response has its pole."""
        return self.mu

    def response(self, x: Any, y: Any) -> Any:
        """What is left of a link between eigenvectors of L with eigenvalues x and y: F = Y multiplied by that."""
        return self.mu**2 / ((self.mu + x) * (self.mu + y))

    def gradient_times(self, F: Any, x: np.ndarray) -> np.ndarray:
        """Return the gradient of the objective at F times columns, for F that may be known by its products only."""
        Lx = self.L @ x
        Fx, FLx = F @ x, F @ Lx
        return 2 * self.mu * (Fx - self.Y @ x) + 2 * (self.L @ Fx + FLx) + 2 / self.mu * (self.L @ FLx)

    @property
    def amplification(self) -> float:
        """A bound on the norm of F ↦ 2(LF + FL) + 2LFL/μ."""
        return 4 * self.largest_row + 2 * self.largest_row**2 / self.mu
