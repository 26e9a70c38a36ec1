"""The smallest eigenvalues of S(z) on the complement of w, exact or good enough for the next step."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...numerics.eigenpairs import InOrder, chebyshev, norm_bound, ritz, smallest_eigenpairs
from ...numerics.matrices import as_dense
from .linked_fantope import LinkedFantope

# Up to this order LAPACK computes them.
DENSE = 1200
# Above this share of nonzero entries products with a dense matrix are faster.
DENSE_IS_FASTER = 0.05
# Residuals of the wanted eigenvectors, relative to the norm, at which the filter stops; the most products for them.
FILTERED = 1e-6
MOST_PRODUCTS = 400
# Columns that are filtered beside the wanted ones, and the largest growth of a component, as a power of e.
BESIDE = 4
GROWTH = 14


class Eigenvectors:
    """S(z) for a program, in an order of the blocks that makes products fast.

    Attributes
    ----------
    C : matrix
        The cost on blocks.
    w : array
        The root weights of blocks, of length one.
    a, b : array
        The pairs of blocks that are kept apart, or pay for not being so.
    """

    def __init__(self, data: LinkedFantope) -> None:
        C, order = data.partition.block_C, np.arange(data.partition.order)
        if len(order) <= DENSE or not sp.issparse(C) or C.nnz > DENSE_IS_FASTER * len(order) ** 2:
            C = as_dense(C)
        else:
            inside = InOrder(C)
            C, order = inside.matrix, inside.order
        self.C, self.order, self.w = C, order, data.block_w[order]
        self.a, self.b = np.argsort(order)[data.block_pairs[data.counts].T]

    def outer(self, columns: np.ndarray) -> np.ndarray:
        """Return columns in the order of the program."""
        out = np.empty_like(columns)
        out[self.order] = columns
        return out

    def smallest(self, z: np.ndarray, count: int, start: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest eigenvalues and their eigenvectors as columns, from approximate ones if there are any."""
        S = self._matrix(z)
        if len(self.w) <= DENSE:
            return _by_lapack(S, count, self.w)
        if start is None:
            return smallest_eigenpairs(S, count, self.w)
        return _by_filter(S, count, self.w, start)

    def _matrix(self, z: np.ndarray) -> Any:
        order, half = len(self.w), np.tile(z / 2, 2)
        places = np.concatenate([self.a, self.b]), np.concatenate([self.b, self.a])
        change = sp.csr_array((half, places), shape=(order, order))
        return sp.csr_array(self.C - change) if sp.issparse(self.C) else self.C - change.toarray()


def _by_lapack(S: np.ndarray, count: int, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    v, size = S @ w, norm_bound(S)
    moved = S - np.outer(w, v) - np.outer(v, w) + (w @ v + 2 * size) * np.outer(w, w)
    return scipy.linalg.eigh(moved, subset_by_index=[0, count - 1])


class _Complement:
    """A matrix on the complement of w; w itself is moved to the far end of the spectrum."""

    def __init__(self, S: Any, w: np.ndarray, size: float) -> None:
        self.S, self.w, self.size = S, w[:, None], size

    def __matmul__(self, U: np.ndarray) -> np.ndarray:
        along = self.w.T @ U
        image = self.S @ (U - self.w @ along)
        return image + self.w @ (self.size * along - self.w.T @ image)


def _by_filter(S: Any, count: int, w: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Filter given columns by Chebyshev polynomials until they are eigenvectors, or nearly so."""
    size, products = norm_bound(S), 0
    inside = _Complement(S, w, size)
    extra = np.random.default_rng(0).standard_normal((len(w), max(count + BESIDE - start.shape[1], 1)))
    U = np.column_stack([start, extra / np.linalg.norm(extra, axis=0)])
    U -= np.outer(w, w @ U)
    eigenvalues, U, rest = ritz(inside.__matmul__, U)
    while products < MOST_PRODUCTS and np.linalg.norm(rest[:, :count], axis=0).max() > FILTERED * size:
        low = min(float(eigenvalues[-1]), 0.5 * size)
        spread = float(np.arccosh(1 + 2 * max(low - float(eigenvalues[0]), 1e-12) / (size - low)))
        degree = int(np.clip(GROWTH / max(spread, 1e-12), 8, 60))
        eigenvalues, U, rest = ritz(inside.__matmul__, chebyshev(inside, U, degree, low, size))
        products += degree + 1
    return eigenvalues[:count], U[:, :count]
