"""Gaussian fields and harmonic functions (Zhu, Ghahramani & Lafferty 2003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp

from ..citations import Citation
from ..harmonic import require_reached
from ..structures import Harmonic
from .base import LabelledProblem


@dataclass(frozen=True, eq=False)
class GFHF(LabelledProblem):
    r"""Gaussian fields and harmonic functions.

    .. math:: \min_f\ \operatorname{tr}(f^\top L f) \quad\text{s.t.}\quad f_l = y_l, \qquad
              \operatorname{tr}(f^\top L f) = \tfrac12\sum_{ij} w_{ij}\|f_i - f_j\|^2 .

    Labels that were given are kept, the others are as smooth over the graph as can be: every other row of f is the
    weighted mean of its neighbours, :math:`f_u = (I - P_{uu})^{-1} P_{ul}\, y_l` with :math:`P = D^{-1}W`. A column for
    each class; the rows sum to one.

    Parameters
    ----------
    graph : Graph
        Every connected component must hold a labelled point.
    labels : array of n
        Numbers or names; -1 (or None among names) for unknown.
    confidence : float or array of n
        How sure the given labels are, between 0 (every class alike) and 1.

    References
    ----------
    Zhu, Ghahramani & Lafferty (2003), ICML; equations (1) to (3) and algorithm 1 of Wang, Qian & Davidson (2012).
    """

    normalized = False

    cites = Citation("zhu2003icml", equation="3", printed_in="wang2012")
    program = "quadratic, equations"
    takes = "hard labels"
    declared_form = "quadratic"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_reached(self.graph.components, self.known)

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {"objective": r"\operatorname{tr}(f^\top L f)", "labels": r"f_l = y_l"}

    def variables(self) -> dict[str, cp.Variable]:
        """The scores, a column for each class."""
        return {"f": cp.Variable(self.Y.shape, name="f")}

    def objective(self, f: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Smoothness: with L = RᵀR, tr(fᵀLf) = ‖Rf‖²."""
        return cp.Minimize(cp.sum_squares(self.graph.incidence(normalized=False) @ f))

    def constraints(self, f: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """What was given is kept."""
        return {"labels": f[self.known] == self.Y[self.known]}

    @cached_property
    def structure(self) -> Harmonic:
        """The harmonic extension it is equal to."""
        return Harmonic(self.graph.laplacian(normalized=False), self.known, self.Y[self.known])
