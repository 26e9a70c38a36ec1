r"""The harmonic extension as a program: known rows are kept, the others make f as smooth as possible.

.. math:: \min_f\ \operatorname{tr}(f^\top L f) \quad\text{s.t.}\quad f_l = y_l .

For a feasible f with residual :math:`r = (Lf)_u` on the unknown points, and the solution f*, f − f* vanishes on l and
is :math:`L_{uu}^{-1} r` on u, so

.. math:: \operatorname{tr}(f^\top L f) - \operatorname{tr}(f^{*\top} L f^*) = \langle r, L_{uu}^{-1} r\rangle
          \le \langle |r|, |L_{uu}^{-1} r|\rangle .

:math:`L_{uu}` is an M-matrix: its inverse has no negative entry. So for *any* x with :math:`L_{uu}x > 0`,

.. math:: |L_{uu}^{-1} r| \ \le\ x\,\max_i \frac{|r_i|}{(L_{uu}x)_i}

entry by entry, which bounds both: see :attr:`cvxlink.HarmonicExtension.walk`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...numerics.harmonic import HarmonicExtension


@dataclass(frozen=True, eq=False)
class Harmonic:
    """The program as data: a Laplacian, the known points, and a row of ``given`` for each.

    ``null_vector`` is a positive vector that L carries to zero: ones for L = D − W.
    """

    L: sp.csr_array
    known: np.ndarray
    given: np.ndarray
    null_vector: np.ndarray | None = None

    @cached_property
    def extension(self) -> HarmonicExtension:
        """The operator that solves it."""
        return HarmonicExtension(self.L, self.known, null_vector=self.null_vector)

    def kept(self, f: np.ndarray) -> np.ndarray:
        """Return f with its known rows as they were given."""
        kept = f.copy()
        kept[self.known] = self.given
        return kept

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.roughness(point["f"])

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return how far known values are from what was given."""
        return {"labels": float(abs(point["f"][self.known] - self.given).max(initial=0.0))}

    def roughness(self, f: np.ndarray) -> float:
        """Return tr fᵀLf."""
        return float(np.vdot(f, self.L @ f))
