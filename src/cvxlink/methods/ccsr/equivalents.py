"""Other programs with the optimum of CCSR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...engine.problem import Problem
from ...model.about import About
from ...numerics.matrices import square_root
from .fitted_products import svec_basis


@dataclass(frozen=True, eq=False)
class CompactCCSR(Problem):
    r"""CCSR in as many squares as M has entries, however many points and links there are.

    .. math:: \min_M\ \|R \operatorname{svec}(M) - d\|^2 + c_0 \quad\text{s.t.}\quad M \succeq 0 .
    """

    ccsr: Any  # the CCSR it is a form of

    about = About("li2009", equation="17", form="compact")

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the objective."""
        return {"objective": r"\|R \operatorname{svec}(M) - d\|^2 + c_0"}

    def variables(self) -> dict[str, cp.Variable]:
        """M."""
        return self.ccsr.variables()

    def objective(self, M: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The misfit."""
        R, d, c_0 = self.ccsr.products.compact
        return cp.Minimize(cp.sum_squares(R @ svec(M) - d) + c_0)

    def constraints(self, M: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Semidefiniteness."""
        return {"psd": terms.semidefinite(M)}


@dataclass(frozen=True, eq=False)
class SchurCCSR(Problem):
    r"""CCSR as equation (20) prints it.

    .. math:: \min_{M, \nu}\ \nu + b^\top z + c \quad\text{s.t.}\quad M \succeq 0,\quad
              \begin{pmatrix} I & B^{1/2} z \\ (B^{1/2} z)^\top & \nu \end{pmatrix} \succeq 0,
              \qquad z = \operatorname{vec}(M).

    The paper drops the constant c.
    """

    ccsr: Any  # the CCSR it is a form of

    about = About("li2009", equation="20", form="schur")

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\nu + b^\top z + c \quad z = \operatorname{vec}(M)",
            "schur": r"[I, B^{1/2} z; (B^{1/2} z)^\top, \nu] \succeq 0",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """M, and the bound ν on zᵀBz."""
        return {**self.ccsr.variables(), "nu": cp.Variable(name="nu")}

    def objective(self, M: cp.Variable, nu: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """ν + bᵀz + c."""
        _, b, c = self.ccsr.products.quadratic
        return cp.Minimize(nu + b @ cp.vec(M, order="F") + c)

    def constraints(self, M: cp.Variable, nu: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """M ⪰ 0, and ν ≥ zᵀBz as a matrix inequality of order m² + 1."""
        B = self.ccsr.products.quadratic[0]
        column = cp.reshape(square_root(B) @ cp.vec(M, order="F"), (len(B), 1), order="F")
        block = cp.bmat([[np.eye(len(B)), column], [column.T, cp.reshape(nu, (1, 1), order="F")]])
        return {"psd": terms.semidefinite(M), "schur": block >> 0}


def svec(M: cp.Variable) -> cp.Expression:
    """Return the upper triangle as a vector, entries off the diagonal times √2."""
    return svec_basis(M.shape[0]).T @ cp.vec(M, order="F")
