"""Exhaustive and efficient constraint propagation (Lu & Ip 2010)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp

from ... import terms
from ...numerics.checks import as_fraction
from ...programs.declared import SpecialProgram
from .base import PropagatingProblem
from .routes import Factored, TwoPasses
from .two_sided import TwoSided


@dataclass(frozen=True, eq=False)
class E2CP(PropagatingProblem):
    r"""Exhaustive and efficient constraint propagation.

    .. math::

        \min_F\ \mu \|F - Y\|_F^2 + \operatorname{tr}(F^\top \bar L F + F \bar L F^\top)
        + \tfrac1\mu \operatorname{tr}(F^\top \bar L F \bar L), \qquad \mu = \frac{1-\alpha}{\alpha} .

    Two passes of LLGC as one program: Y, with +1 on must-links and −1 on cannot-links, is spread along the columns, and
    what comes out along the rows. The gradient vanishes exactly where
    :math:`(\mu I + \bar L)F(\mu I + \bar L) = \mu^2 Y`,

    .. math:: F = (1-\alpha)^2 (I - \alpha S)^{-1} Y (I - \alpha S)^{-1}, \qquad S = I - \bar L .

    SRCP has the factor ½ on the second term, and lacks the third, which makes F smooth along rows and columns at
    once. F then raises or lowers the affinity (equation (9) of the paper on SRCP), and spectral clustering
    follows.

    Parameters
    ----------
    graph : Graph
        Weights between 0 and 1, for equation (9).
    links : Links
        They may contradict one another: they are fitted, not enforced.
    normalized : bool
        Use the normalised Laplacian L̄ (the paper's choice) or L = D − W.
    alpha : float
        Between 0 and 1: how much comes from the neighbours in each pass. 5/6 makes μ the 0.2 of SRCP.
    scale : "links" or float
        The size of F that counts as certain in equation (9), by which F is divided. "links" is the median of
        :math:`|F|` on the links themselves, so that a typical link counts as ±1 again; 1 is the paper's equation as
        printed.

    Notes
    -----
    A link keeps about (1 − α)² of itself, 1/36 at α = 5/6, and pairs beside it get less than a hundredth. Equation (9)
    is then nearly without effect: weights of neighbours change by a percent, and cannot-links lower nothing else. The
    factor does not matter for the sign of F, which is why label propagation can ignore it.

    References
    ----------
    Lu & Ip (2010), ECCV.
    """

    alpha: float = 5 / 6

    about = replace(PropagatingProblem.about, paper="lu2010", program="quadratic", form="quadratic")
    adjustable = ("alpha",)

    def variables(self) -> dict[str, cp.Variable]:
        """The propagated links."""
        return {"F": cp.Variable((self.graph.n, self.graph.n), name="F")}

    def objective(self, F: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Fit, smoothness of columns and of rows, and of both at once."""
        R, L = self.graph.incidence(self.normalized), self.L_symbol
        smooth = terms.smooth_rows_and_columns(F, R, L)
        both = terms.smooth_on_both_sides(F, R, L)
        fit = terms.fit(F, self.links.matrix)
        return cp.Minimize(self.parameter("mu") * fit + smooth + self.parameter("inverse_mu") * both)

    def constraints(self, F: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """None."""
        return {}

    @cached_property
    def program(self) -> SpecialProgram:
        """The matrix equation it is equal to."""
        return self.propagating(TwoSided(self.L, self.links.matrix, self.mu), TwoPasses(), Factored())

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", as_fraction(self.alpha, "alpha"))

    @property
    def mu(self) -> float:
        """The cost of a unit of misfit to the links, relative to a unit of roughness."""
        return (1 - self.alpha) / self.alpha

    @property
    def inverse_mu(self) -> float:
        """1/μ."""
        return 1 / self.mu
