"""Gaussian fields and harmonic functions (Zhu, Ghahramani & Lafferty 2003)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp

from ... import terms
from ...numerics.checks import as_flag
from ...numerics.harmonic import require_reached
from ...programs.declared import SpecialProgram
from ..base import LabelledProblem
from ..shared.solvable import AlwaysSolvable
from .harmonic import Harmonic
from .proof import certify_harmonic
from .routes import Averaging, Extending


@dataclass(frozen=True, eq=False)
class GFHF(LabelledProblem):
    r"""Gaussian fields and harmonic functions.

    .. math:: \min_f\ \operatorname{tr}(f^\top L f) \quad\text{s.t.}\quad f_l = y_l, \qquad
              \operatorname{tr}(f^\top L f) = \tfrac12\sum_{ij} w_{ij}\|f_i - f_j\|^2 .

    Given labels are kept, and the others are as smooth over the graph as possible: every other row of f is the
    weighted mean of its neighbours, :math:`f_u = (I - P_{uu})^{-1} P_{ul}\, y_l` with :math:`P = D^{-1}W`. A column for
    each class; the rows sum to one.

    Parameters
    ----------
    graph : Graph
        Every connected component must hold a labelled point.
    labels : array of n
        Numbers or names; -1 (or None among names) for unknown.
    confidence : float or array of n
        How sure the given labels are, between 0 (all classes alike) and 1.
    normalized : bool
        Use the normalised Laplacian, as label propagation is printed in equation (2) of Hu, Chen, Zhang & Yin (2010).
        Then :math:`D^{-1/2}f` is harmonic instead of f, and the rows no longer sum to one.

    References
    ----------
    Zhu, Ghahramani & Lafferty (2003), ICML; equations (1) to (3) and algorithm 1 of Wang, Qian & Davidson (2012).
    """

    normalized: bool = False

    about = replace(
        LabelledProblem.about,
        paper="zhu2003icml",
        equation="3",
        printed_in="wang2012",
        program="quadratic, equations",
        form="quadratic",
        takes="hard labels",
    )

    def variables(self) -> dict[str, cp.Variable]:
        """The scores, one column per class."""
        return {"f": cp.Variable(self.Y.shape, name="f")}

    def objective(self, f: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Smoothness."""
        symbol = r"\bar L" if self.normalized else "L"
        return cp.Minimize(terms.smooth_columns(f, self.graph.incidence(self.normalized), symbol))

    def constraints(self, f: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """What was given is kept."""
        return {"labels": terms.given_rows(f, self.known, self.Y[self.known])}

    @cached_property
    def program(self) -> SpecialProgram:
        """The harmonic extension it is equal to."""
        null_vector = self.graph.null_vector(self.normalized)
        data = Harmonic(self.graph.laplacian(self.normalized), self.known, self.Y[self.known], null_vector)
        return SpecialProgram(
            self,
            data,
            (Extending(), Averaging()),
            certify_harmonic,
            not_linear="its objective is quadratic",
            refutes=AlwaysSolvable(
                "the given labels and zeros elsewhere are feasible", "its objective is not negative"
            ),
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        as_flag(self.normalized, "normalized")
        require_reached(self.graph.components, self.known)
