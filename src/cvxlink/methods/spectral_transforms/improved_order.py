"""The improved-order spectral kernel (Zhu, Kandola, Lafferty & Ghahramani)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ...engine.formulation import Learnt
from ...errors import CvxlinkError
from ...model.about import About
from ...numerics.matrices import Arrays, Congruence
from ...programs.declared import SpecialProgram
from ..shared.solvable import AlwaysSolvable
from .base import ALIGNMENT_IS_BOUNDED, SpectralTransform
from .ordered_spectrum import OrderedSpectrum
from .proof import certify_ordered


@dataclass(frozen=True, eq=False)
class ImprovedOrder(SpectralTransform):
    r"""Improved-order spectral kernel.

    .. math::

        \max_\mu\ \langle K_{ll}, T\rangle \quad\text{s.t.}\quad \|K_{ll}\|_F \le 1,\quad \mu \ge 0,\quad
        \mu_i \ge \mu_{i+1} \text{ for } i \ge 2, \qquad K = \sum_i \mu_i v_i v_i^\top .

    Smoother eigenvectors weigh more, except that the first, the constant one of L = D − W or :math:`D^{1/2} 1` of L̄,
    may weigh anything. In μ it is a second-order cone program: the objective is :math:`a^\top\mu` and the norm
    :math:`\|R\mu\|`.

    Parameters
    ----------
    graph : Graph
    links : Links
        They may contradict one another: they are fitted, not enforced.
    normalized : bool
        Use the normalised Laplacian or L = D − W.
    order : int
        How many of the smoothest eigenvectors are used.

    References
    ----------
    Zhu, Kandola, Lafferty & Ghahramani (2006), for labels; for links as in Hu, Chen, Zhang & Yin (2010), section IV.
    """

    about = About("zhu2006", printed_in="hu2010", program="second-order cone", form="paper", takes="soft links")

    def variables(self) -> dict[str, cp.Variable]:
        """The spectrum of the kernel."""
        return {"mu": cp.Variable(len(self.spectrum[0]), name="mu")}

    def objective(self, mu: cp.Variable) -> cp.Maximize:  # type: ignore[override]
        """Agreement with the links."""
        self.require_variables(mu=mu)
        return cp.Maximize(self.agreement @ mu)

    def constraints(self, mu: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Norm at most one, no negative weights, smoother ones larger."""
        self.require_variables(mu=mu)
        return {"norm": cp.norm(self.norm_root @ mu) <= 1, "nonnegative": mu >= 0, "order": mu[1:-1] >= mu[2:]}

    @cached_property
    def program(self) -> SpecialProgram:
        """The same numbers as data, with a bound of its own."""
        data = OrderedSpectrum(self.agreement, self.norm_root)
        return SpecialProgram(
            self,
            data,
            (),
            certify_ordered,
            not_linear="it has no matrix variable",
            refutes=AlwaysSolvable("zero is feasible", ALIGNMENT_IS_BOUNDED),
        )

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\langle K_{ll}, T \rangle",
            "norm": r"\|K_{ll}\| \le 1 \quad K = \sum_i \mu_i v_i v_i^\top",
            "nonnegative": r"\mu_i \ge 0",
            "order": r"\mu_i \ge \mu_{i+1} \quad i \ge 2",
        }

    def learnt(self, values: Arrays) -> Learnt:
        """The kernel with the fitted spectrum."""
        mu = self.answer(values)["mu"]
        return Learnt(kernel=lambda: self._kernel(np.maximum(mu, 0)))

    def _kernel(self, mu: np.ndarray) -> Congruence:
        if self.agreement @ mu <= 1e-6 * np.linalg.norm(self.agreement) * np.linalg.norm(mu):
            raise CvxlinkError(
                "no kernel of this kind agrees with the links, so the best one is zero; give must-links, or use KP"
            )
        return self.kernel_with(mu)
