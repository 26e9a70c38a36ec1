"""Symmetric graph regularized constraint propagation (Fu, Lu, Ip, Peng & Lu 2011)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import cvxpy as cp

from ... import terms
from ...errors import InvalidInput
from ...numerics.checks import as_positive
from ...programs.declared import SpecialProgram
from .base import PropagatingProblem
from .lyapunov import Lyapunov
from .routes import Eigen, Factored, Kronecker, Spreading

# Beyond this range of mu one of the two terms is below the rounding of the other.
LEAST_MU = 1e-15


@dataclass(frozen=True, eq=False)
class SRCP(PropagatingProblem):
    r"""Symmetric graph regularized constraint propagation.

    .. math::

        \min_F\ \mu \|F - Y\|_F^2 + \tfrac12 \operatorname{tr}(F^\top \bar L F + F \bar L F^\top),
        \qquad Y_{ij} = +1 \text{ on } \mathcal{M},\ -1 \text{ on } \mathcal{C},\ 0 \text{ elsewhere}.

    Links spread over the graph along rows and columns at once. The gradient vanishes exactly where the Lyapunov
    equation (5) of the paper holds,

    .. math:: (\mu I + \bar L) F + F (\mu I + \bar L) = 2\mu Y,

    and where the spreading process (7), :math:`F \leftarrow \tfrac12\alpha(SF + FS) + (1-\alpha)Y` with
    :math:`\mu = (1-\alpha)/\alpha`, stands still. F then raises or lowers the affinity (equation (9)), and spectral
    clustering follows.

    Parameters
    ----------
    graph : Graph
        Weights between 0 and 1, for equation (9).
    links : Links
        They may contradict one another: they are fitted, not enforced.
    normalized : bool
        Use the normalised Laplacian L̄ (the paper's choice) or L = D − W.
    mu : float
        The cost of a unit of misfit to the links, relative to a unit of roughness; 0.2 in the paper. The smaller it is,
        the farther and the fainter links spread.
    scale : "links" or float
        The size of F that counts as certain in equation (9), by which F is divided. "links" is the median of
        :math:`|F|` on the links themselves, so that a typical link counts as ±1 again; 1 is the paper's equation as
        printed.

    Notes
    -----
    By the spreading process a link keeps the share 1 − α = μ/(1+μ) of itself, 1/6 at μ = 0.2, and pairs beside it get
    about a hundredth. Equation (9) is then nearly without effect: weights of neighbours change by a percent, and
    cannot-links lower nothing else. The factor does not matter for the sign of F, which is why label propagation can
    ignore it.

    References
    ----------
    Fu, Lu, Ip, Peng & Lu (2011), AAAI, equations (3) to (9).
    """

    mu: float = 0.2

    about = replace(PropagatingProblem.about, paper="fu2011", equation="3", program="quadratic", form="quadratic")
    adjustable = ("mu",)

    def variables(self) -> dict[str, cp.Variable]:
        """The propagated links."""
        return {"F": cp.Variable((self.graph.n, self.graph.n), name="F")}

    def objective(self, F: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Fit to the links, and smoothness of the columns and of the rows."""
        R = self.graph.incidence(self.normalized)
        smooth = terms.smooth_rows_and_columns(F, R, self.L_symbol)
        return cp.Minimize(self.parameter("mu") * terms.fit(F, self.links.matrix) + 0.5 * smooth)

    def constraints(self, F: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """None."""
        return {}

    @cached_property
    def program(self) -> SpecialProgram:
        """The Lyapunov equation it is equal to."""
        equation = Lyapunov(
            self.L,
            self.links.matrix,
            self.mu,
            partial(self.graph.smoothest, self.graph.n, self.normalized),
            is_contraction=self.normalized,  # the eigenvalues of L̄ are between 0 and 2
        )
        return self.propagating(equation, Eigen(), Spreading(), Kronecker(), Factored())

    def __post_init__(self) -> None:
        super().__post_init__()
        mu = as_positive(self.mu, "mu")
        if not LEAST_MU <= mu <= 1 / LEAST_MU:
            raise InvalidInput.about(
                "mu", f"must be between {LEAST_MU:g} and {1 / LEAST_MU:g}, not {mu:g}: beyond, rounding loses one term"
            )
        object.__setattr__(self, "mu", mu)
