"""The smallest eigenvalues of S(z) on the complement of w, exact or good enough for the next step."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...numerics.eigenpairs import chebyshev, norm_bound, ritz, smallest_eigenpairs
from ...numerics.matrices import as_dense
from .linked_fantope import LinkedFantope

# Up to this order LAPACK computes them.
DENSE = 1200
# Residuals of the wanted eigenvectors, relative to the norm, at which the filter stops; the most products for them.
FILTERED = 1e-7
MOST_PRODUCTS = 600


def smallest(
    data: LinkedFantope, z: np.ndarray, count: int, start: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenvalues and their eigenvectors as columns, from approximate ones if there are any."""
    S, w = data.matrix(z), data.block_w
    if S.shape[0] <= DENSE or not sp.issparse(S):
        return _by_lapack(as_dense(S), count, w)
    if start is None:
        return smallest_eigenpairs(S, count, w)
    return _by_filter(S, count, w, start)


def _by_lapack(S: np.ndarray, count: int, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    v, size = S @ w, norm_bound(S)
    moved = S - np.outer(w, v) - np.outer(v, w) + (w @ v + 2 * size) * np.outer(w, w)
    return scipy.linalg.eigh(moved, subset_by_index=[0, count - 1])


class _Complement:
    """A sparse matrix on the complement of w; w itself is moved to the far end of the spectrum."""

    def __init__(self, S: sp.csr_array, w: np.ndarray, size: float) -> None:
        self.S, self.w, self.size = S, w[:, None], size

    def __matmul__(self, U: np.ndarray) -> np.ndarray:
        along = self.w.T @ U
        image = self.S @ (U - self.w @ along)
        return image + self.w @ (self.size * along - self.w.T @ image)


def _by_filter(S: Any, count: int, w: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Filter given columns by Chebyshev polynomials until they are eigenvectors, or nearly so."""
    size, products = norm_bound(S), 0
    inside = _Complement(S, w, size)
    extra = np.random.default_rng(0).standard_normal((S.shape[0], max(count + 4 - start.shape[1], 0) + 2))
    U = np.column_stack([start, extra / np.linalg.norm(extra, axis=0)])
    U -= np.outer(w, w @ U)
    eigenvalues, U, rest = ritz(inside.__matmul__, U)
    while products < MOST_PRODUCTS:
        off = float(np.linalg.norm(rest[:, :count], axis=0).max())
        if off <= FILTERED * size:
            break
        low = min(float(eigenvalues[-1]), 0.5 * size)
        spread = float(np.arccosh(1 + 2 * max(low - float(eigenvalues[0]), 1e-12) / (size - low)))
        degree = int(np.clip(14 / max(spread, 1e-12), 8, 60))
        eigenvalues, U, rest = ritz(inside.__matmul__, chebyshev(inside, U, degree, low, size))
        products += degree + 1
    return eigenvalues[:count], U[:, :count]
