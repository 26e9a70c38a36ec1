"""Learning with local and global consistency (Zhou, Bousquet, Lal, Weston & Schölkopf 2003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..citations import Citation
from ..structures import Smoothing
from ..validation import as_fraction
from .base import LabelledProblem


@dataclass(frozen=True, eq=False)
class LLGC(LabelledProblem):
    r"""Learning with local and global consistency.

    .. math:: \min_f\ \operatorname{tr}(f^\top \bar L f) + \mu\|f - y\|_F^2, \qquad \mu = \frac{1-\alpha}{\alpha} .

    Labels that were given are fitted, not kept. The gradient vanishes where the spreading process
    :math:`f \leftarrow \alpha S f + (1-\alpha) y` stands still, at :math:`f = (1-\alpha)(I - \alpha S)^{-1} y`.

    Parameters
    ----------
    graph : Graph
    labels : array of n
        Numbers or names; -1 (or None among names) for unknown.
    confidence : float or array of n
        How sure the given labels are, between 0 (every class alike) and 1.
    alpha : float
        Between 0 and 1: how much of a row comes from its neighbours.

    References
    ----------
    Zhou, Bousquet, Lal, Weston & Schölkopf (2003), NIPS; equations (4) to (6) and algorithm 2 of Wang, Qian & Davidson
    (2012).
    """

    alpha: float = 0.5

    cites = Citation("zhou2003", equation="6", printed_in="wang2012")
    program = "quadratic"
    takes = "soft labels"
    declared_form = "quadratic"
    adjustable = ("alpha",)
    quantities = ("mu",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", as_fraction(self.alpha, "alpha"))

    @property
    def mu(self) -> float:
        """What a unit of misfit to the labels costs against a unit of roughness."""
        return (1 - self.alpha) / self.alpha

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {"objective": rf"\operatorname{{tr}}(f^\top \bar L f) + \mu \|f - y\|^2 \quad \mu = {self.mu:g}"}

    def variables(self) -> dict[str, cp.Variable]:
        """The scores, a column for each class."""
        return {"f": cp.Variable(self.Y.shape, name="f")}

    def objective(self, f: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Smoothness and fit: with L̄ = RᵀR, tr(fᵀL̄f) = ‖Rf‖²."""
        smooth, fit = cp.sum_squares(self.graph.incidence() @ f), cp.sum_squares(f - self.Y)
        return cp.Minimize(smooth + self.quantity("mu") * fit)

    def constraints(self, f: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """None."""
        return {}

    @cached_property
    def structure(self) -> Smoothing:
        """The linear system it is equal to."""
        return Smoothing(self.graph.laplacian(), self.Y, self.mu)

    @property
    def propagation(self) -> tuple[Any, Any, np.ndarray]:
        """Propagation within the graph and into it, αS and I: claim 2 of Wang, Qian & Davidson (2012)."""
        n = self.graph.n
        return self.alpha * self.graph.S, sp.eye_array(n, format="csr"), np.zeros((n, 0))
