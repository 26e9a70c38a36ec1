"""The relaxation of constrained spectral clustering, which is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from ... import terms
from ...engine.problem import Problem
from ...model.about import About
from .constrained_cut import ConstrainedCut


@dataclass(frozen=True, eq=False)
class CutRelaxation(Problem):
    r"""The relaxation of constrained spectral clustering.

    .. math:: \min_X\ \langle \bar L, X\rangle \quad\text{s.t.}\quad \langle \bar Q, X\rangle \ge (K-1)\beta,\quad
              \operatorname{tr} X = K - 1,\quad 0 \preceq X \preceq I

    over matrices on the complement of :math:`D^{1/2}1`, of order n − 1. With two scalar constraints an extreme point is
    a projection, of rank K − 1, so an optimal cut can be read off it. For two clusters X ⪯ I follows from the trace.
    """

    cut: ConstrainedCut

    about = About("wang2010", printed_in="wang2012", form="sdp")

    def variables(self) -> dict[str, cp.Variable]:
        """X in place of ffᵀ, on the complement of the trivial cut."""
        order = self.cut.space.dimension
        return {"X": cp.Variable((order, order), symmetric=True, name="X")}

    def objective(self, X: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The cost of the cut."""
        return cp.Minimize(terms.smoothness(X, self.cut.space.restrict(self.cut.L), r"\bar L"))

    def constraints(self, X: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Satisfaction, and a convex combination of projections of rank K − 1."""
        k = self.cut.count
        threshold = k * self.cut.beta
        satisfaction = terms.smoothness(X, self.cut.space.restrict(self.cut.Q)) >= threshold
        constraints = {
            "satisfaction": terms.stands_for(satisfaction, rf"\langle \bar Q, @ \rangle \ge {threshold:.6g}", X),
            "trace": terms.trace_equals(X, k),
            "psd": terms.semidefinite(X),
        }
        if k > 1:
            constraints["below"] = terms.below_identity(X)
        return constraints
