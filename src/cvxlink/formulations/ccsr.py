"""Constrained clustering via spectral regularization (Li, Liu & Tang 2009)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..citations import Citation
from ..declaration import Sizes
from ..link_values import as_link_values, on_links
from ..matrices import Arrays, Congruence, square_root
from ..problem import Problem
from ..structures import FittedProducts
from ..structures.quadratic import svec_basis
from ..validation import as_count
from .base import LinkedGraphProblem

MOST_SHOWN = 20


@dataclass(frozen=True, eq=False)
class CCSR(LinkedGraphProblem):
    r"""Constrained clustering via spectral regularization.

    .. math::

        \min_{M \succeq 0}\ \sum_{(i,j,t)\in\mathcal S} (u_i^\top M u_j - t_{ij})^2, \qquad
        t_{ii} = 1,\quad t_{ij} = 1 \text{ on } \mathcal{M},\quad t_{ij} = 0 \text{ on } \mathcal{C},

    with :math:`u_i^\top` the rows of :math:`F_m`, the m smoothest eigenvectors of :math:`\bar L`. Among all smooth
    representations :math:`F_m A`, :math:`M = AA^\top`, it is the one that comes nearest to unit length, must-linked
    points together and cannot-linked points at right angles. The program has m(m+1)/2 unknowns, however many points
    and links there are; k-means on the rows of :math:`F_m M^{1/2}` clusters them.

    Forms: "compact", :math:`\|R\operatorname{svec}(M) - d\|^2 + c_0` over M ⪰ 0, and "schur", equation (20) as
    printed, whose second matrix inequality has order m² + 1.

    Parameters
    ----------
    graph : Graph
    links : Links
        They may contradict one another: they are fitted, not enforced.
    normalized : bool
        Use the normalised Laplacian L̄ (the paper's choice) or L = D − W.
    order : int
        The number m of eigenvectors; 15 in the paper, for hundreds of links and more. M has m(m+1)/2 entries to fit, so
        a few links call for a few more eigenvectors than there are clusters. With fewer points, all there are.
    must_weight, cannot_weight : number, mapping, matrix or array
        How much a link counts, against 1 for the unit length of a point: one number for all; by pair
        ``{(0, 1): 5.0}``, the others 1; a symmetric matrix; or an array in the order of ``links.must`` and
        ``links.cannot``, which are sorted.

    References
    ----------
    Li, Liu & Tang (2009), CVPR, equations (17) to (20), Algorithm 1; there all weights are 1.
    """

    order: int = 15
    must_weight: Any = 1.0
    cannot_weight: Any = 1.0

    cites = Citation("li2009", equation="17")
    declared_form = "compact"
    program = "least squares, semidefinite"
    takes = "soft links"
    yields = "embedding, kernel"
    adjustable = ("must_weight", "cannot_weight")

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.order, "order", 1)
        for name, pairs in (("must_weight", self.links.must), ("cannot_weight", self.links.cannot)):
            weights = as_link_values(getattr(self, name), pairs, self.links.n, name)
            on_links(weights, pairs, name, positive=False, default=1.0)
            object.__setattr__(self, name, weights)

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        weighted = (self.must_weight, self.cannot_weight) != (1.0, 1.0)
        weight = "w_{ij} " if weighted else ""
        rows = r"u_i^\top \text{ row of } F_m"
        return {
            "objective": rf"\sum_{{ij}} {weight}(u_i^\top M u_j - t_{{ij}})^2 \quad {rows}",
            "psd": r"M \succeq 0",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """The matrix M = AAᵀ of the representation F_m A."""
        m = self.products.order
        return {"M": cp.Variable((m, m), symmetric=True, name="M")}

    def objective(self, M: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The misfit: ‖R svec(M) − d‖² + c₀."""
        R, d, c_0 = self.products.compact
        return cp.Minimize(cp.sum_squares(R @ svec(M) - d) + c_0)

    def constraints(self, M: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Semidefiniteness."""
        return {"psd": M >> 0}

    @property
    def equivalents(self) -> Mapping[str, Problem]:
        """Equation (20) of the paper."""
        return {"schur": CCSRSchur(self)}

    @property
    def with_quantities(self) -> CCSRWeighted:
        """The program with the weights in sight."""
        return CCSRWeighted(self)

    @property
    def sizes(self) -> Sizes:
        """Its sizes, known without asking CVXPY."""
        m = min(self.order, self.graph.n)
        return Sizes(m * (m + 1) // 2, 0, 0, (m,))

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """The m smallest eigenvalues of the Laplacian, and F_m."""
        return self.graph.smoothest(min(self.order, self.graph.n), self.normalized)

    @property
    def structure(self) -> FittedProducts:
        """Least squares over the cone."""
        return self.products

    @cached_property
    def products(self) -> FittedProducts:
        """The wanted products: of each point with itself, of must-linked and of cannot-linked points."""
        everyone = np.arange(self.graph.n)
        must, cannot = self.links.must, self.links.cannot
        sizes = [len(everyone), len(must), len(cannot)]
        weights = [
            np.ones(len(everyone)),
            on_links(self.must_weight, must, "must_weight", positive=False, default=1.0),
            on_links(self.cannot_weight, cannot, "cannot_weight", positive=False, default=1.0),
        ]
        return FittedProducts(
            self.spectrum[1],
            np.vstack([np.column_stack([everyone, everyone]), must, cannot]),
            np.repeat([1.0, 1.0, 0.0], sizes),
            np.concatenate(weights),
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """The order, and the eigenvalues it takes."""
        eigenvalues = self.spectrum[0]
        m = len(eigenvalues)
        fewer = f" ({self.order} asked for, there are no more)" if m < self.order else ""
        L = "L̄" if self.normalized else "L"
        shown = ", ".join(f"{value:.3g}" if value > 1e-12 else "0" for value in eigenvalues[:MOST_SHOWN])
        if m > MOST_SHOWN:
            shown += f", … {eigenvalues[-1]:.3g}"
        return (f"order {m}{fewer}: the smoothest eigenvectors of {L}, with the eigenvalues {shown}",)

    def embedding_of(self, values: Arrays) -> np.ndarray:
        """The representation F_m M^½."""
        return self.spectrum[1] @ square_root(values["M"])

    def kernel_of(self, values: Arrays) -> Congruence:
        """The kernel F_m M F_mᵀ of the representation, kept as a product."""
        return Congruence(self.spectrum[1], values["M"])


@dataclass(frozen=True, eq=False)
class CCSRSchur(Problem):
    r"""CCSR as equation (20) prints it.

    .. math:: \min_{M, \nu}\ \nu + b^\top z + c \quad\text{s.t.}\quad M \succeq 0,\quad
              \begin{pmatrix} I & B^{1/2} z \\ (B^{1/2} z)^\top & \nu \end{pmatrix} \succeq 0,
              \qquad z = \operatorname{vec}(M).

    The paper drops the constant c.
    """

    ccsr: CCSR

    cites = Citation("li2009", equation="20")
    declared_form = "schur"

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\nu + b^\top z + c \quad z = \operatorname{vec}(M)",
            "psd": r"M \succeq 0",
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
        return {"psd": M >> 0, "schur": block >> 0}


@dataclass(frozen=True, eq=False)
class CCSRWeighted(Problem):
    r"""CCSR with the weights of links in sight.

    .. math:: \min_M\ \sum_i (u_i^\top M u_i - 1)^2 + \sum_{(i,j)} w_{ij} (u_i^\top M u_j - t_{ij})^2
              \quad\text{s.t.}\quad M \succeq 0 .

    The compact form has them inside a factorisation, so that it must be compiled again when they change.
    """

    ccsr: CCSR

    cites = Citation("li2009", equation="17")
    declared_form = "weighted"
    quantities = ("weights",)

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        links = r"\sum_{ij} w_{ij} (u_i^\top M u_j - t_{ij})^2"
        return {"objective": rf"\sum_i (u_i^\top M u_i - 1)^2 + {links}", "psd": r"M \succeq 0"}

    @property
    def weights(self) -> np.ndarray:
        """One a link, must-links first."""
        return self.ccsr.products.weights[self.ccsr.graph.n :]

    def variables(self) -> dict[str, cp.Variable]:
        """M."""
        return self.ccsr.variables()

    def objective(self, M: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The misfit of the points, compact, and of the links one by one."""
        n, products = self.ccsr.graph.n, self.ccsr.products
        R, d, c_0 = FittedProducts(products.U, products.pairs[:n], products.targets[:n], products.weights[:n]).compact
        misfit = cp.sum_squares(R @ svec(M) - d) + c_0
        if len(self.weights):
            u, (i, j) = products.U, products.pairs[n:].T
            found = cp.sum(cp.multiply(u[i] @ M, u[j]), axis=1)
            misfit += cp.sum(cp.multiply(self.quantity("weights"), cp.square(found - products.targets[n:])))
        return cp.Minimize(misfit)

    def constraints(self, M: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Semidefiniteness."""
        return {"psd": M >> 0}


def svec(M: cp.Variable) -> cp.Expression:
    """Return the upper triangle as a vector, entries off the diagonal times √2."""
    return svec_basis(M.shape[0]).T @ cp.vec(M, order="F")
