"""Kernels that share the graph's eigenvectors and fit their spectrum to links (Zhu, Kandola, Lafferty, Ghahramani)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..citations import Citation
from ..errors import CvxlinkError, InvalidInput
from ..matrices import Arrays, Congruence
from ..validation import as_count
from .base import LinkedGraphProblem


@dataclass(frozen=True, eq=False)
class SpectralTransform(LinkedGraphProblem):
    r"""A kernel :math:`K(\mu) = \sum_i \mu_i v_i v_i^\top` on the smoothest eigenvectors of the Laplacian.

    How well it fits the links is the kernel alignment with their signs T on the linked points l: +1 for must-linked
    pairs, −1 for cannot-linked pairs, 0 for the others,

    .. math:: A(\mu) = \frac{\langle K_{ll}, T\rangle}{\|K_{ll}\|_F} = \frac{a^\top \mu}{\|R\mu\|}, \qquad
              a_i = v_{i,l}^\top T v_{i,l}, \quad (R^\top R)_{ij} = (v_{i,l}^\top v_{j,l})^2 .
    """

    order: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.order, "order", 1)
        if not len(self.links):
            raise InvalidInput(f"{type(self).__name__} fits a spectrum to links, and there are none; give at least one")

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest eigenvalues of the Laplacian, at most ``order`` of them, and their eigenvectors as columns."""
        return self.graph.smoothest(min(self.order, self.graph.n), self.normalized)

    @cached_property
    def agreement(self) -> np.ndarray:
        """The vector a: what one unit of each eigenvector's kernel agrees with the links."""
        V = self.spectrum[1]
        return np.einsum("ni,ni->i", V, self.links.matrix @ V)

    @cached_property
    def norm_root(self) -> np.ndarray:
        """The matrix R with ‖K_ll‖_F = ‖Rμ‖."""
        V = self.spectrum[1][self.links.linked]
        eigenvalues, vectors = np.linalg.eigh((V.T @ V) ** 2)
        return np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T

    def kernel_with(self, mu: np.ndarray) -> Congruence:
        """Return K(μ), kept as a product."""
        return Congruence(self.spectrum[1], np.diag(mu))


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

    cites = Citation("zhu2006", printed_in="hu2010")
    program = "second-order cone"
    takes = "soft links"
    declared_form = "paper"

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\langle K_{ll}, T \rangle",
            "norm": r"\|K_{ll}\| \le 1 \quad K = \sum_i \mu_i v_i v_i^\top",
            "nonnegative": r"\mu_i \ge 0",
            "order": r"\mu_i \ge \mu_{i+1} \quad i \ge 2",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """The spectrum of the kernel."""
        return {"mu": cp.Variable(len(self.spectrum[0]), name="mu")}

    def objective(self, mu: cp.Variable) -> cp.Maximize:  # type: ignore[override]
        """Agreement with the links."""
        return cp.Maximize(self.agreement @ mu)

    def constraints(self, mu: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Norm at most one, no negative weights, smoother ones larger."""
        return {"norm": cp.norm(self.norm_root @ mu) <= 1, "nonnegative": mu >= 0, "order": mu[1:-1] >= mu[2:]}

    def kernel_of(self, values: Arrays) -> Congruence:
        """The kernel with the fitted spectrum."""
        mu = np.maximum(values["mu"], 0)
        if self.agreement @ mu <= 1e-6 * np.linalg.norm(self.agreement) * np.linalg.norm(mu):
            raise CvxlinkError(
                "no kernel of this kind agrees with the links, so the best one is zero; give must-links, or use KP"
            )
        return self.kernel_with(mu)


@dataclass(frozen=True, eq=False)
class GaussianField(SpectralTransform):
    r"""Gaussian-field kernel.

    .. math:: \max_{\varepsilon > 0}\ \frac{\langle K_{ll}, T\rangle}{\|K_{ll}\|_F}, \qquad
              K = \sum_i \frac{1}{\lambda_i + \varepsilon} v_i v_i^\top = (\bar L + \varepsilon I)^{-1}.

    One unknown, not convex in it: solved by search (a grid on a logarithmic scale, refined at its best point).

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

    cites = Citation("zhu2003", printed_in="hu2010")
    program = "one unknown, not convex"
    takes = "soft links"
    convex = False
    search_interval = (1e-6, 1e4)

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\langle K_{ll}, T \rangle / \|K_{ll}\|"
            r" \quad K = \sum_i (\lambda_i + \varepsilon)^{-1} v_i v_i^\top",
            "positive": r"\varepsilon \ge 0",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """The shift."""
        return {"epsilon": cp.Variable(name="epsilon")}

    def objective(self, epsilon: cp.Variable) -> cp.Maximize:  # type: ignore[override]
        """Alignment with the links."""
        mu = cp.inv_pos(self.spectrum[0] + epsilon)
        return cp.Maximize((self.agreement @ mu) / cp.norm(self.norm_root @ mu))

    def constraints(self, epsilon: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """The shift keeps the kernel positive."""
        return {"positive": epsilon >= 0}

    def kernel_of(self, values: Arrays) -> Congruence:
        """The kernel with the shift that was found."""
        return self.kernel_with(1 / (self.spectrum[0] + values["epsilon"]))
