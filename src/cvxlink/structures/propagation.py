r"""Labels, or links, that spread over a graph: strongly convex quadratics and the linear equations they are equal to.

*Smoothing* spreads along one side, *two-sided* propagation along both, one after the other:

.. math:: \min_F\ \mu\|F - Y\|_F^2 + \operatorname{tr}(F^\top L F)
          \quad\Longleftrightarrow\quad (\mu I + L)F = \mu Y ,

.. math:: \min_F\ \mu\|F - Y\|_F^2 + \operatorname{tr}(F^\top L F + F L F^\top)
          + \tfrac1\mu\operatorname{tr}(F^\top L F L)
          \quad\Longleftrightarrow\quad (\mu I + L)F(\mu I + L) = \mu^2 Y .

Both are 2μ-strongly convex, as the Lyapunov equation's program is: the Hessians are :math:`2(\mu I + L)` and
:math:`\tfrac2\mu(\mu I + L)\otimes(\mu I + L)`. So for any F with gradient R the solution is within
:math:`\|R\|_F/2\mu`, and the optimum at most :math:`\|R\|_F^2/4\mu` lower.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..harmonic import HarmonicExtension
from ..matrices import as_dense
from ..spectrum import InOrder, norm_bound

# Below this share of the largest value what conjugate gradients leave is noise.
FAINT = 1e-9
# Steps by which labels are spread to far points, and the relative change at which they stand still.
MOST_STEPS = 2000
STEADY = 1e-6


@dataclass(frozen=True, eq=False)
class Propagation:
    """What the two have in common: L positive semidefinite, Y what is known, and μ."""

    L: sp.csr_array
    Y: Any
    mu: float

    suits_solvers = False

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.L.shape[0])

    @cached_property
    def _extension(self) -> HarmonicExtension:
        # Every point hangs by a spring of strength μ on a twin that holds its row of Y: the harmonic extension from
        # the twins to the points is μ(μI + L)⁻¹.
        springs = self.mu * sp.eye_array(self.n)
        doubled = sp.block_array([[springs, -springs], [-springs, self.L + springs]])
        return HarmonicExtension(doubled, np.arange(self.n))

    def spread(self, rows: Any) -> np.ndarray:
        """Return μ(μI + L)⁻¹ times a matrix."""
        return self._extension(as_dense(rows))[self.n :]

    @cached_property
    def _largest_row(self) -> float:
        return norm_bound(self.L)


class Smoothing(Propagation):
    """Labels that spread over a graph."""

    described = "the spreading of labels"
    not_linear = "its objective is quadratic, and labels are fitted, not enforced"
    variable = "f"
    gradient = "2μ(f − y) + 2Lf"

    def solution(self) -> np.ndarray:
        """Return the solution.

        Conjugate gradients stop where what is left is faint against the whole, and by then have not come to points
        that are many edges from any label. What arrives there is fainter still, but it decides to which class such a
        point belongs. So where that happens labels are spread step by step, which adds up positive terms only and
        leaves every entry with digits of its own.
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

    def residual(self, F: np.ndarray) -> tuple[float, float]:
        """Return the norm of the gradient of the objective at F, and the objective."""
        smooth, difference = self.L @ F, F - as_dense(self.Y)
        value = self.mu * float(np.vdot(difference, difference)) + float(np.vdot(F, smooth))
        return 2 * float(np.linalg.norm(self.mu * difference + smooth)), value

    @property
    def amplification(self) -> float:
        """A bound on the norm of F ↦ 2LF."""
        return 2 * self._largest_row


class TwoSided(Propagation):
    """Links that spread over a graph, along columns and then along rows."""

    described = "the propagation of links along columns, then rows"
    not_linear = "its objective is quadratic, and links are fitted, not enforced"
    variable = "F"
    gradient = "2μ(F − Y) + 2(LF + FL) + 2LFL/μ"

    def solution(self) -> np.ndarray:
        """Return the solution: two passes."""
        F = self.spread(self.spread(self.Y).T)
        return (F + F.T) / 2

    def residual(self, F: np.ndarray) -> tuple[float, float]:
        """Return the norm of the gradient of the objective at F, and the objective."""
        left, difference = self.L @ F, F - as_dense(self.Y)
        both = left + (self.L @ F.T).T + (self.L @ left.T).T / self.mu
        value = self.mu * float(np.vdot(difference, difference)) + float(np.vdot(F, both))
        return 2 * float(np.linalg.norm(self.mu * difference + both)), value

    @property
    def high(self) -> float:
        """A number that no eigenvalue of L exceeds."""
        return self._largest_row

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
        return 4 * self._largest_row + 2 * self._largest_row**2 / self.mu
