r"""Scaling: costs far from one are divided by the largest of them.

:math:`\min \langle C, K\rangle` and :math:`\min \langle C/s, K\rangle` have the same solutions; the optimum and the
multipliers of the first are s times those of the second. Solvers stop at absolute tolerances, so with costs of 1e-8
anything would pass for optimal, and with 1e8 nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import scipy.sparse as sp

from ..errors import ReductionRefused
from ..linear_sdp import LinearSDP
from ..problem import Problem
from .base import Lift, Reduced, Reduction, Values

# Between these, the solvers' own equilibration does as well.
LEAST, MOST = 0.1, 100.0


class Scaling(Reduction):
    """Divide the costs by the largest of them."""

    name = "scaling"

    def apply(self, problem: Problem) -> Reduced:
        """Return the problem with costs of size one."""
        sdp = problem.linear_sdp()
        largest = float(abs(sdp.C).max()) if sdp.C.nnz else 0.0
        if largest == 0 or LEAST <= largest <= MOST:
            raise ReductionRefused("the costs are of moderate size")
        scaled = replace(sdp, C=sp.csr_array(sdp.C / largest), offset=sdp.offset / largest)
        return Reduced(scaled, ScalingLift(sdp, largest))


@dataclass(frozen=True, eq=False)
class ScalingLift(Lift):
    """The same matrix; multipliers times the scale."""

    original: LinearSDP
    scale: float

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Multiply every multiplier by the scale."""
        return dict(values), {name: self.scale * dual for name, dual in duals.items()}
