"""Values on a graph, where a spring ties each point to what is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...numerics.eigenpairs import norm_bound
from ...numerics.harmonic import HarmonicExtension
from ...numerics.matrices import as_dense


@dataclass(frozen=True, eq=False)
class Springs:
    """L positive semidefinite, Y what is known, and the strength μ of the springs."""

    L: sp.csr_array
    Y: Any
    mu: float

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
    def largest_row(self) -> float:
        """A bound on the norm of L."""
        return norm_bound(self.L)
