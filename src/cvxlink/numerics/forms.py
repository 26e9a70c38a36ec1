r"""Linear functions of a matrix :math:`K = VV^\top`, as products of rows of V and of combinations of them.

The sum of a row of K, :math:`\sum_j K_{ij} = v_i \cdot \sum_j v_j`, has n coefficients, and the sum of all entries has
n²; as products of combinations of points both are one term. So combinations, such as :math:`\sum_j v_j`, count as
additional points: with :math:`E = \binom{I}{U}`, every function is a weighted sum of a few entries of
:math:`EKE^\top`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

# Rows with fewer coefficients than this share of n are sums over pairs of points.
MANY = 0.5
# Coefficients of a product that differ by less, relative to the largest, are the same.
SAME = 1e-14


@dataclass(frozen=True, eq=False)
class Forms:
    """The functions Σ weight · (EKEᵀ)_ij, one term per entry of the arrays ``row``, ``i``, ``j``, ``weight``.

    ``U`` has one row for each combination of points; these are numbered from n.
    """

    count: int
    U: np.ndarray
    row: np.ndarray
    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, A: sp.csr_array, n: int) -> Forms:
        """Return rows of symmetric coefficients, written out row by row, with products for the long ones."""
        counts = np.diff(A.indptr)
        long = np.flatnonzero(counts > max(MANY * n, 4))
        combinations, terms = list[np.ndarray](), list[tuple[int, int, int, float]]()
        products = np.zeros(len(counts), dtype=bool)
        for r in long.tolist():
            where = slice(A.indptr[r], A.indptr[r + 1])
            found = _as_product(A.indices[where], A.data[where], n)
            if found is not None:
                products[r] = True
                left, right = (_number(part, combinations, n) for part in found)
                terms.append((r, left, right, 1.0))
        part = A.tocoo()
        i, j = part.col // n, part.col % n
        upper = (i <= j) & ~products[part.row]  # both triangles hold the same
        row, i, j, weight = part.row[upper], i[upper], j[upper], part.data[upper]
        weight = np.where(i < j, 2.0, 1.0) * weight
        if terms:
            more = np.array(terms)
            row, i, j = (np.concatenate([a, b.astype(a.dtype)]) for a, b in zip((row, i, j), more.T, strict=False))
            weight = np.concatenate([weight, more[:, 3]])
        return cls(len(counts), np.array(combinations).reshape(-1, n), row, i, j, weight)

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.U.shape[1])

    def lengths_given(self, lengths: np.ndarray) -> Forms:
        """Return the same functions of K' with K = DK'D, for the diagonal matrix D of lengths."""
        far = np.concatenate([lengths, np.ones(len(self.U))])
        weight = self.weight * far[self.i] * far[self.j]
        return Forms(self.count, self.U * lengths, self.row, self.i, self.j, weight)

    def times(self, factors: np.ndarray) -> Forms:
        """Return multiples, one factor per function."""
        return Forms(self.count, self.U, self.row, self.i, self.j, self.weight * factors[self.row])

    @cached_property
    def norms(self) -> np.ndarray:
        """The Frobenius norms of the coefficients, as if no two terms of a function met; a scale, not a bound."""
        size = np.concatenate([np.ones(self.n), np.linalg.norm(self.U, axis=1)])
        squares = (self.weight * size[self.i] * size[self.j]) ** 2 * np.where(self.i == self.j, 1.0, 0.5)
        return np.sqrt(np.bincount(self.row, squares, self.count))

    def extended(self, V: np.ndarray) -> np.ndarray:
        """EV: the rows of V, then their combinations."""
        return np.vstack([V, self.U @ V]) if len(self.U) else V

    def values(self, V: np.ndarray) -> np.ndarray:
        """Return the functions of VVᵀ."""
        W = self.extended(V)
        return np.bincount(self.row, self.weight * np.einsum("ij,ij->i", W[self.i], W[self.j]), self.count)

    @cached_property
    def touched(self) -> np.ndarray:
        """The points that occur in some function, in increasing order."""
        used = np.unique(np.concatenate([self.i, self.j]))
        combined = np.flatnonzero(self.U[used[used >= self.n] - self.n].any(axis=0))
        return np.union1d(used[used < self.n], combined)

    def among(self, points: np.ndarray) -> Forms:
        """Return the same functions of the rows of V at some points, which must include all that occur."""
        i, j = (np.where(a < self.n, np.searchsorted(points, a), a - self.n + len(points)) for a in (self.i, self.j))
        return Forms(self.count, self.U[:, points], self.row, i, j, self.weight)

    def adjoint(self, z: np.ndarray) -> Adjoint:
        """Return Σ z_r A_r."""
        half, order = self.weight * z[self.row] / 2, self.n + len(self.U)
        places = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        whole = sp.csr_array((np.concatenate([half, half]), places), shape=(order, order))
        if not len(self.U):
            return Adjoint(whole)
        near, far = whole[: self.n], whole[self.n :]
        return Adjoint(sp.csr_array(near[:, : self.n]), self.U, near[:, self.n :].toarray(), far[:, self.n :].toarray())


@dataclass(frozen=True, eq=False)
class Adjoint:
    """The symmetric matrix N + BU + UᵀBᵀ + UᵀMU with a sparse N."""

    N: sp.csr_array
    U: np.ndarray | None = None
    B: np.ndarray | None = None
    M: np.ndarray | None = None

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        product = self.N @ x
        if self.U is None or self.B is None or self.M is None:
            return product
        combined = self.U @ x
        return product + self.B @ combined + self.U.T @ (self.B.T @ x + self.M @ combined)

    def toarray(self) -> np.ndarray:
        """Return all entries."""
        dense = self.N.toarray()
        if self.U is None or self.B is None or self.M is None:
            return dense
        beside = self.B @ self.U
        return dense + beside + beside.T + self.U.T @ self.M @ self.U

    @property
    def norm_above(self) -> float:
        """A bound on the norm, up to rounding."""
        size = float(abs(self.N).sum(axis=1).max()) if self.N.nnz else 0.0
        if self.U is None or self.B is None or self.M is None:
            return size
        long = float(np.linalg.norm(self.U, 2))
        return size + 2 * long * float(np.linalg.norm(self.B)) + long**2 * float(np.linalg.norm(self.M))


def _number(part: int | np.ndarray, combinations: list[np.ndarray], n: int) -> int:
    """Return the number of a point, or of a combination, which is added if it is new."""
    if isinstance(part, int):
        return part
    for k, known in enumerate(combinations):
        if np.array_equal(known, part):
            return n + k
    combinations.append(part)
    return n + len(combinations) - 1


def _as_product(columns: np.ndarray, data: np.ndarray, n: int) -> tuple[Any, Any] | None:
    """Return a symmetric row as the product of a point or combination with a combination, or None if it is not one."""
    i, j = columns // n, columns % n
    centre = int(np.bincount(i, minlength=n).argmax())
    if ((i == centre) | (j == centre)).all():  # a star: w_j = 2a_ij beside the centre, a_ii at it
        w = np.zeros(n)
        beside = i == centre
        w[j[beside]] = np.where(j[beside] == centre, 1.0, 2.0) * data[beside]
        return centre, w
    on_diagonal = i == j
    largest = int(abs(np.where(on_diagonal, data, 0.0)).argmax())
    if not on_diagonal[largest] or data[largest] == 0:
        return None
    w = np.zeros(n)
    through = i == i[largest]
    w[j[through]] = data[through]
    scale = float(data[largest])
    whole = len(columns) == np.count_nonzero(w) ** 2
    if whole and (abs(w[i] * w[j] / scale - data) <= SAME * abs(data).max()).all():
        return w / scale, w
    return None
