"""Cuts that stand still under propagation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class StationaryCuts:
    r"""Labelings that stand still, :math:`Lf = \lambda Qf` with λ ≠ 0, as the k that agree most with Q.

    ``trivial`` spans the null space of L, where λ = 0.
    """

    L: sp.csr_array
    Q: np.ndarray
    trivial: np.ndarray
    count: int

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.L.shape[0])

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return how much the labelings agree with Q."""
        f = point["f"]
        return float(np.vdot(f, self.Q @ f))

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return the largest violation of each constraint."""
        f, rates = point["f"], point["rates"]
        propagated, smooth = self.Q @ f, self.L @ f
        costs = f.T @ smooth
        violations = {
            "stationary": float(abs(smooth - propagated * rates).max()),
            "nontrivial": float(abs(self.trivial @ propagated).max()),
            "unit": float(abs((f**2).sum(axis=0) - 1).max()),
        }
        return {**violations, "different": float(abs(costs - np.diag(np.diag(costs))).max())}
