"""The Gaussian-field kernel (Zhu, Lafferty & Ghahramani)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp

from ...engine.formulation import Learnt
from ...model.about import About
from ...numerics.matrices import Arrays
from ...programs.declared import SpecialProgram
from ..shared.solvable import AlwaysSolvable
from .base import ALIGNMENT_IS_BOUNDED, SpectralTransform
from .proof import certify_shifted
from .search import Search
from .shifted_spectrum import ShiftedSpectrum


@dataclass(frozen=True, eq=False)
class GaussianField(SpectralTransform):
    r"""Gaussian-field kernel.

    .. math:: \max_{\varepsilon > 0}\ \frac{\langle K_{ll}, T\rangle}{\|K_{ll}\|_F}, \qquad
              K = \sum_i \frac{1}{\lambda_i + \varepsilon} v_i v_i^\top = (\bar L + \varepsilon I)^{-1}.

    One unknown, not convex in it: solved by search (a grid on a logarithmic scale, refined at its best points). That no
    other shift is better is proven by bounds on intervals of shifts.

    Parameters
    ----------
    graph : Graph
    links : Links
        They may contradict one another: they are fitted, not enforced.
    normalized : bool
        Use the normalised Laplacian or L = D − W.
    order : int
        How many of the smoothest eigenvectors are used; with all n the kernel is exactly the inverse.

    References
    ----------
    Zhu, Lafferty & Ghahramani (2003); for links as in Hu, Chen, Zhang & Yin (2010), section IV.
    """

    about = About("zhu2003", printed_in="hu2010", program="one unknown, not convex", takes="soft links")
    convex = False

    def variables(self) -> dict[str, cp.Variable]:
        """The shift."""
        return {"epsilon": cp.Variable(name="epsilon")}

    def objective(self, epsilon: cp.Variable) -> cp.Maximize:  # type: ignore[override]
        """Alignment with the links."""
        self.require_variables(epsilon=epsilon)
        mu = cp.inv_pos(self.spectrum[0] + epsilon)
        return cp.Maximize((self.agreement @ mu) / cp.norm(self.norm_root @ mu))

    def constraints(self, epsilon: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """The shift keeps the kernel positive."""
        self.require_variables(epsilon=epsilon)
        return {"positive": epsilon >= 0}

    @cached_property
    def program(self) -> SpecialProgram:
        """A function of one number: searched, and bounded over all numbers."""
        data = ShiftedSpectrum(self.spectrum[0], self.agreement, self.norm_root)
        return SpecialProgram(
            self,
            data,
            (Search(),),
            certify_shifted,
            not_linear="it is not convex",
            suits_solvers=False,
            refutes=AlwaysSolvable("every positive shift is feasible", ALIGNMENT_IS_BOUNDED),
        )

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\langle K_{ll}, T \rangle / \|K_{ll}\|"
            r" \quad K = \sum_i (\lambda_i + \varepsilon)^{-1} v_i v_i^\top",
            "positive": r"\varepsilon \ge 0",
        }

    def learnt(self, values: Arrays) -> Learnt:
        """The kernel with the shift that was found."""
        return Learnt(kernel=self.kernel_with(1 / (self.spectrum[0] + self.answer(values)["epsilon"])))
