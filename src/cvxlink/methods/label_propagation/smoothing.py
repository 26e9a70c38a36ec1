r"""Labels that spread over a graph: a strongly convex quadratic and the linear equation it is equal to.

.. math:: \min_f\ \mu\|f - y\|_F^2 + \operatorname{tr}(f^\top L f)
          \quad\Longleftrightarrow\quad (\mu I + L)f = \mu y .

It is 2μ-strongly convex: the Hessian is :math:`2(\mu I + L)`. So for any f with gradient R the solution is within
:math:`\|R\|_F/2\mu`, and the optimum at most :math:`\|R\|_F^2/4\mu` lower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...numerics.eigenpairs import InOrder
from ...numerics.matrices import as_dense
from ...numerics.rounding import Ball, dot, gamma, norm_above
from ..shared.springs import Springs

# Below this share of the largest value the result of conjugate gradients is noise.
FAINT = 1e-9
# Steps by which labels are spread to far points, and the relative change at which they stand still.
MOST_STEPS = 2000
STEADY = 1e-6


@dataclass(frozen=True, eq=False)
class Smoothing(Springs):
    """Labels that spread over a graph."""

    variable = "f"
    gradient = "2μ(f − y) + 2Lf"

    def solution(self) -> np.ndarray:
        """Return the solution.

        Conjugate gradients stop where the residual is faint against the whole, and by then have not reached points
        that are many edges away from any label. What arrives there is fainter still, but it decides the class of such
        a point. Where that happens, labels are spread step by step: that adds up positive terms only, so every entry
        is accurate relative to its own size.
        """
        f = self.spread(self.Y)
        if self._extension.method == "factorisation" or not self.is_contraction:
            return f
        faint = abs(f) <= FAINT * abs(f).max()
        return np.where(faint, self._step_by_step(), f) if faint.any() else f

    def _step_by_step(self) -> np.ndarray:
        """Iterate f ← α S f + (1 − α) y, from zero, until nothing that has arrived changes any more."""
        alpha = 1 / (1 + self.mu)
        inside = InOrder(self._spreading)
        Y = as_dense(self.Y)[inside.order]
        f = np.zeros_like(Y)
        for _ in range(MOST_STEPS):
            following = alpha * (inside.matrix @ f) + (1 - alpha) * Y
            arrived = following > 0
            if (arrived == (f > 0)).all() and (following - f <= STEADY * following).all():
                break
            f = following
        return inside.outer(following)

    @property
    def is_contraction(self) -> bool:
        """Whether I − L spreads: it has no negative entry, as that of a normalised Laplacian."""
        return bool(self._spreading.min() >= 0)

    @cached_property
    def _spreading(self) -> sp.csr_array:
        S = sp.csr_array(sp.eye_array(self.n) - self.L)
        S.data[abs(S.data) <= 1e-15] = 0  # what rounding leaves on the diagonal
        return S

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.residual(point["f"])[1].middle

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return nothing: there are no constraints to violate."""
        return {}

    def residual(self, F: np.ndarray) -> tuple[float, Ball]:
        """Return the norm of the gradient of the objective at F, rounded up, and the objective."""
        smooth, difference = self.L @ F, F - as_dense(self.Y)
        value = self.mu * dot(difference, difference) * Ball(1.0, gamma(4)) + dot(F, smooth)
        return 2 * norm_above(self.mu * difference + smooth), value

    def curvature(self, loss: float) -> float:
        """Return a lower bound on the curvature, if no eigenvalue of L is below −loss."""
        return (2 * (Ball(self.mu) - loss)).lower

    @property
    def amplification(self) -> float:
        """A bound on the norm of F ↦ 2LF."""
        return 2 * self.largest_row
