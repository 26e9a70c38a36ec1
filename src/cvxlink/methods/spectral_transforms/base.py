"""Kernels that share the graph's eigenvectors and fit their spectrum to links (Zhu, Kandola, Lafferty, Ghahramani)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import InvalidInput
from ...numerics.checks import as_count, finite_array
from ...numerics.eigenpairs import norm_bound
from ...numerics.matrices import Congruence
from ..base import LinkedGraphProblem

# The largest matrix of products of coordinates, in entries; beyond, R is computed as a root of RᵀR.
LARGEST_PRODUCTS = 10_000_000
ALIGNMENT_IS_BOUNDED = "no kernel agrees with the links by more than its norm times that of their signs"


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
            raise InvalidInput(f"{type(self).__name__} fits a spectrum to links, and there are none; give one", "links")

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest eigenvalues of the Laplacian, at most ``order`` of them, and their eigenvectors as columns.

        Each component of the graph has an eigenvalue zero, and what rounding leaves in its place says nothing.
        """
        eigenvalues, V = self.graph.smoothest(min(self.order, self.graph.n), self.normalized)
        rounding = self.graph.n * float(np.finfo(float).eps) * norm_bound(self.L)
        zero = (np.arange(len(eigenvalues)) < self.graph.n_components) | (eigenvalues <= rounding)
        return np.where(zero, 0.0, eigenvalues), V

    @cached_property
    def agreement(self) -> np.ndarray:
        """The vector a: how much the kernel of each eigenvector agrees with the links."""
        V = self.spectrum[1]
        return np.einsum("ni,ni->i", V, self.links.matrix @ V)

    @cached_property
    def norm_root(self) -> np.ndarray:
        """The matrix R with ‖K_ll‖_F = ‖Rμ‖.

        Its columns are the matrices v vᵀ on an orthonormal basis of the range of V_l, written as vectors. A root of RᵀR
        would have half as many digits where eigenvectors nearly vanish on the linked points.
        """
        V = self.spectrum[1][self.links.linked]
        small = np.linalg.qr(V, mode="r") if len(V) > V.shape[1] else V
        i, j = np.triu_indices(len(small))
        if len(i) * V.shape[1] > LARGEST_PRODUCTS:
            eigenvalues, vectors = np.linalg.eigh((V.T @ V) ** 2)
            return np.sqrt(np.maximum(eigenvalues, 0))[:, None] * vectors.T
        products = np.where(i == j, 1.0, np.sqrt(2.0))[:, None] * small[i] * small[j]
        return np.asarray(np.linalg.qr(products, mode="r")) if len(i) > V.shape[1] else products

    def kernel_with(self, mu: np.ndarray) -> Congruence:
        """Return K(μ), kept as a product."""
        return Congruence(self.spectrum[1], np.diag(finite_array(mu, "mu", self.spectrum[0].shape)))
