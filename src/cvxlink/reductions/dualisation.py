r"""Dualisation: the multipliers become the unknowns.

The program :math:`\min \langle C,K\rangle,\ \langle A_r,K\rangle = b_r,\ K \succeq 0` has n(n+1)/2 unknowns. Its
Lagrange dual

.. math:: \max_y\ b^\top y \quad\text{s.t.}\quad S(y) = C - \sum_r y_r A_r \succeq 0

has one unknown per constraint, and S(y) is as sparse as C. K is the multiplier of the matrix inequality. Where
the program is strictly feasible (contraction sees to that for must-links) both optima agree and the dual one is
attained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..declaration import Sizes
from ..errors import ReductionRefused
from ..factorisation import largest_clique
from ..linear_sdp import LinearSDP
from ..problem import Problem
from ..status import Status
from .base import Lift, Reduced, Reduction, Values
from .conic_dual import ConicDual, ConicDualLift


class Dualisation(Reduction):
    """Solve for the multipliers instead of the matrix."""

    name = "dualisation"

    def apply(self, problem: Problem) -> Reduced:
        """Return the dual program; of a program that is not linear, that of its conic form."""
        try:
            primal = problem.linear_sdp()
        except ReductionRefused as refusal:
            if problem.structure is not None or not problem.convex:
                raise
            try:
                conic = ConicDual.of(problem.declare())
            except ReductionRefused as other:
                reasons = dict.fromkeys([str(refusal), str(other)])
                raise ReductionRefused(", and ".join(reasons)) from refusal
            return Reduced(conic, ConicDualLift(conic))
        if not len(primal.b):
            raise ReductionRefused("it has no constraint but semidefiniteness, so there are no multipliers")
        dual = DualSDP(primal)
        return Reduced(dual, DualLift(dual))


@dataclass(frozen=True, eq=False)
class DualSDP(Problem):
    """The Lagrange dual of a linear semidefinite program: a linear matrix inequality."""

    primal: LinearSDP

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"b^\top y",
            "slack": r"S(y) = C - \sum_r y_r A_r \succeq 0",
            "sign": r"y_r \le 0 \quad \text{for the inequalities}",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """One multiplier a row."""
        return {"y": cp.Variable(len(self.primal.b), name="y")}

    def objective(self, y: cp.Variable) -> cp.Maximize:  # type: ignore[override]
        """bᵀy."""
        return cp.Maximize(self.primal.b @ y + self.primal.offset)

    def constraints(self, y: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """S(y) ⪰ 0, and the signs of the multipliers of inequalities."""
        n = self.primal.n
        S = cp.reshape(self.primal.C.toarray().ravel() - self.primal.A.T @ y, (n, n), order="C")
        signed = np.flatnonzero(self.primal.is_inequality)
        return {"slack": S >> 0, "sign": [y[signed] <= 0] if len(signed) else []}

    @property
    def sizes(self) -> Sizes:
        """Its sizes, known without asking CVXPY."""
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
        primal = self.dual.primal
        y = np.ravel(values["y"])
        lifted = {primal.variable: duals["slack"]} if "slack" in duals else {}
        return lifted, {**primal.split(y), primal.cone: primal.slack(y)}

    def status(self, status: Status) -> tuple[Status, str]:
        """Translate: an unbounded dual means infeasible, an infeasible dual unbounded or infeasible."""
        if status is Status.UNBOUNDED:
            return Status.INFEASIBLE, "of the dual"
        if status is Status.INFEASIBLE:
            if self.dual.primal.has_evident_point():
                return Status.UNBOUNDED, "of the dual"
            return Status.ERROR, "of the dual, so the problem is unbounded or infeasible; its declared form tells which"
        return status, ""
