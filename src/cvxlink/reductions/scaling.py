r"""Scaling: costs, and right-hand sides, that are far from one are divided by the largest of them.

With :math:`K = \beta K'`, the programs :math:`\min \langle C, K\rangle,\ \mathcal{A}(K) = b` and
:math:`\min \langle C/\gamma, K'\rangle,\ \mathcal{A}(K') = b/\beta` have the same solutions; the multipliers of the
first are γ times those of the second. Solvers stop at absolute tolerances, so with costs of 1e-8 any point would
pass as optimal, and with 1e8 none would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..numerics.checks import real_array
from ..numerics.matrices import scaled
from ..programs.base import Program
from ..programs.linear_sdp import LinearSDP
from .base import Lift, Reduced, Reduction, Values, as_point, as_program


class Scaling(Reduction):
    """Divide costs and right-hand sides by the largest of each."""

    name = "scaling"

    def reduce(self, program: Program) -> Reduced:
        """Return the program with costs and right-hand sides of size one."""
        sdp: LinearSDP = as_program(program).linear_sdp()
        gamma, beta = sdp.extremes
        if gamma == beta == 1:
            raise ReductionRefused("costs and right-hand sides already have moderate size")
        rows = tuple(replace(g, b=g.b / beta) for g in sdp.rows)
        scaled = replace(
            sdp,
            C=sp.csr_array(sdp.C / gamma),
            rows=rows,
            offset=sdp.offset / gamma / beta,
            unit=sdp.unit / gamma / beta,
        )
        why = "costs and right-hand sides are divided by the largest, because solvers use absolute tolerances"
        return Reduced(scaled, ScalingLift(sdp, gamma, beta), why)


@dataclass(frozen=True, eq=False)
class ScalingLift(Lift):
    """Multiply the matrix by β and the multipliers by γ."""

    original: LinearSDP
    gamma: float
    beta: float

    def start(self, factor: np.ndarray) -> np.ndarray:
        """Divide by the root of β."""
        return real_array(factor, "factor") / np.sqrt(self.beta)

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Multiply back."""
        values, duals = as_point(values, duals)
        lifted = {name: scaled(self.beta, value) for name, value in values.items()}
        return lifted, {name: self.gamma * dual for name, dual in duals.items()}
