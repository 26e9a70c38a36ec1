"""Learning with local and global consistency (Zhou, Bousquet, Lal, Weston & Schölkopf 2003)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ... import terms
from ...engine.formulation import Learnt
from ...numerics.checks import as_fraction
from ...numerics.matrices import Arrays
from ...programs.declared import SpecialProgram
from ..base import LabelledProblem
from ..shared.solvable import FREE_SQUARES
from ..shared.strongly_convex import certify_strongly_convex
from .routes import OneSolve, Spreading
from .smoothing import Smoothing


@dataclass(frozen=True, eq=False)
class LLGC(LabelledProblem):
    r"""Learning with local and global consistency.

    .. math:: \min_f\ \operatorname{tr}(f^\top \bar L f) + \mu\|f - y\|_F^2, \qquad \mu = \frac{1-\alpha}{\alpha} .

    Given labels are fitted, not kept. The gradient vanishes where the spreading process
    :math:`f \leftarrow \alpha S f + (1-\alpha) y` stands still, at :math:`f = (1-\alpha)(I - \alpha S)^{-1} y`.

    Parameters
    ----------
    graph : Graph
    labels : array of n
        Numbers or names; -1 (or None among names) for unknown.
    confidence : float or array of n
        How sure the given labels are, between 0 (all classes alike) and 1.
    alpha : float
        Between 0 and 1: how much of a row comes from its neighbours.

    References
    ----------
    Zhou, Bousquet, Lal, Weston & Schölkopf (2003), NIPS; equations (4) to (6) and algorithm 2 of Wang, Qian & Davidson
    (2012).
    """

    alpha: float = 0.5

    about = replace(
        LabelledProblem.about,
        paper="zhou2003",
        equation="6",
        printed_in="wang2012",
        program="quadratic",
        form="quadratic",
        takes="soft labels",
    )
    adjustable = ("alpha",)

    def variables(self) -> dict[str, cp.Variable]:
        """The scores, one column per class."""
        return {"f": cp.Variable(self.Y.shape, name="f")}

    def objective(self, f: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Smoothness and fit."""
        smooth = terms.smooth_columns(f, self.graph.incidence(), r"\bar L")
        return cp.Minimize(smooth + self.parameter("mu") * terms.fit(f, self.Y, "y"))

    def constraints(self, f: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """None."""
        return {}

    @cached_property
    def program(self) -> SpecialProgram:
        """The linear system it is equal to."""
        return SpecialProgram(
            self,
            Smoothing(self.graph.laplacian(), self.Y, self.mu),
            (OneSolve(), Spreading()),
            certify_strongly_convex,
            not_linear="its objective is quadratic, and labels are fitted, not enforced",
            suits_solvers=False,
            refutes=FREE_SQUARES,
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", as_fraction(self.alpha, "alpha"))

    @property
    def mu(self) -> float:
        """The cost of a unit of misfit to the labels, relative to a unit of roughness."""
        return (1 - self.alpha) / self.alpha

    def learnt(self, values: Arrays) -> Learnt:
        """The scores; propagation within the graph and into it, αS and I, is claim 2 of Wang et al. (2012)."""
        n = self.graph.n
        return replace(
            super().learnt(values),
            propagation=lambda: (self.alpha * self.graph.S, sp.eye_array(n, format="csr"), np.zeros((n, 0))),
        )
