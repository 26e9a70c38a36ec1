r"""The alignment of a shifted inverse with links, as a function of its shift.

With :math:`\mu_i = 1/(\lambda_i + \varepsilon)` and :math:`\lambda_1` the smallest eigenvalue,
:math:`\nu_i = (\lambda_1 + \varepsilon)\mu_i` is as good as μ, as only its direction counts:

.. math:: A(\varepsilon) = \frac{a^\top\nu}{\|R\nu\|}, \qquad
          \nu_i = \frac{\lambda_1 + \varepsilon}{\lambda_i + \varepsilon} \in [0, 1] .

Each :math:`\nu_i` increases with ε, and has limits at 0 and ∞.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class ShiftedSpectrum:
    """The program as data: the eigenvalues in increasing order, the vector a and the matrix R."""

    eigenvalues: np.ndarray
    agreement: np.ndarray
    norm_root: np.ndarray

    def value(self, point: Mapping[str, Any]) -> float:
        """Return the alignment."""
        with np.errstate(all="ignore"):
            mu = 1 / (self.eigenvalues + float(point["epsilon"]))
            return float(self.agreement @ mu / np.linalg.norm(self.norm_root @ mu))

    def violations(self, point: Mapping[str, Any]) -> dict[str, float]:
        """Return by how much the shift is negative."""
        return {"positive": max(0.0, -float(point["epsilon"]))}

    def shares(self, shifts: np.ndarray) -> np.ndarray:
        """Return ν, a row for each shift; 0 and infinity stand for the limits."""
        first, shifts = self.eigenvalues[0], shifts[:, None]
        with np.errstate(all="ignore"):
            shares = (shifts + first) / (shifts + self.eigenvalues)
        return np.where((self.eigenvalues == first) | np.isinf(shifts), 1.0, shares)

    @property
    def gaps(self) -> np.ndarray:
        """The differences between the first eigenvalue and larger ones, between which the alignment changes."""
        gaps = self.eigenvalues - self.eigenvalues[0]
        return gaps[gaps > 0]
