r"""Dualisation: the multipliers become the unknowns.

The program :math:`\min \langle C,K\rangle,\ \langle A_r,K\rangle = b_r,\ K \succeq 0` has n(n+1)/2 unknowns. Its
Lagrange dual

.. math:: \max_y\ b^\top y \quad\text{s.t.}\quad S(y) = C - \sum_r y_r A_r \succeq 0

has one unknown per constraint, and S(y) is as sparse as C. K is the multiplier of the matrix inequality. If
the program is strictly feasible (contraction ensures that for must-links), both optima agree and the dual one is
attained.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import ReductionRefused
from ..model.declared import Declaration, Sizes
from ..numerics.checks import real_array
from ..numerics.matrices import largest_clique
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..programs.linear_sdp import LinearSDP
from .base import Lift, Reduced, Reduction, Values, as_point, as_program
from .conic_dual import VERDICTS_OF_DUALS, ConicDual, ConicDualLift


class Dualisation(Reduction):
    """Solve for the multipliers instead of the matrix."""

    name = "dualisation"

    def reduce(self, program: Program) -> Reduced:
        """Return the dual program; for a program that is not linear, the dual of its conic form."""
        program = as_program(program)
        try:
            primal: LinearSDP = program.linear_sdp()
        except ReductionRefused as refusal:
            return _conic_dual(program, str(refusal))
        if not len(primal.b):
            raise ReductionRefused("it has no constraint except semidefiniteness, so there are no multipliers")
        dual = DualSDP(primal)
        return Reduced(dual, DualLift(dual), "one unknown per constraint instead of one per entry")


def _conic_dual(program: Program, not_linear: str) -> Reduced:
    if isinstance(program, SpecialProgram) or not program.convex:
        raise ReductionRefused(not_linear)
    try:
        dual = ConicDual.of(program.declaration)
    except ReductionRefused as other:
        reasons = dict.fromkeys([not_linear, str(other)])
        raise ReductionRefused(", and ".join(reasons)) from other
    why = "unknowns for the constraints and for nonlinear terms, instead of one per entry"
    return Reduced(dual, ConicDualLift(dual), why)


@dataclass(frozen=True, eq=False)
class DualSDP(Program):
    """The Lagrange dual of a linear semidefinite program: a linear matrix inequality."""

    primal: LinearSDP

    suits_sdp_codes = True

    @cached_property
    def declaration(self) -> Declaration:
        """Maximise bᵀy over S(y) ⪰ 0, with signs for the multipliers of inequalities."""
        n, y = self.primal.n, cp.Variable(len(self.primal.b), name="y")
        S = cp.reshape(self.primal.C.toarray().ravel() - self.primal.A.T @ y, (n, n), order="C")
        signed = np.flatnonzero(self.primal.is_inequality)
        groups = {"slack": [S >> 0], **({"sign": [y[signed] <= 0]} if len(signed) else {})}
        return Declaration({"y": y}, cp.Maximize(self.primal.b @ y + self.primal.offset), groups)

    @property
    def sizes(self) -> Sizes:
        """The sizes, counted without CVXPY."""
        return Sizes(len(self.primal.b), 0, int(self.primal.is_inequality.sum()), (self.primal.n,))

    @cached_property
    def largest_clique(self) -> int:
        """The order of the largest dense block that chordal decomposition leaves of S."""
        return largest_clique(abs(self.primal.C) + abs(self.primal.slack(np.ones(len(self.primal.b)))))


@dataclass(frozen=True, eq=False)
class DualLift(Lift):
    """The multiplier of S ⪰ 0 is K; the unknowns are the multipliers."""

    dual: DualSDP

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Exchange unknowns and multipliers."""
        (values, duals), primal = as_point(values, duals, "y"), self.dual.primal
        y = real_array(values["y"], "values['y']", "values").ravel()
        lifted = {primal.variable: duals["slack"]} if "slack" in duals else {}
        return lifted, {**primal.split(y), primal.cone: primal.slack(y)}

    verdicts = VERDICTS_OF_DUALS
