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
from ..spectrum import norm_bound


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
        """Return the solution."""
        return self.spread(self.Y)

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
    def amplification(self) -> float:
        """A bound on the norm of F ↦ 2(LF + FL) + 2LFL/μ."""
        return 4 * self._largest_row + 2 * self._largest_row**2 / self.mu
