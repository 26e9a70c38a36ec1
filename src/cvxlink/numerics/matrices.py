"""Symmetric matrices kept as products, and arrays that are built only when they are accessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class Congruence:
    r"""The symmetric matrix :math:`T M T^\top` of order n, with T n × c and M c × c.

    Reductions lead back to this form: a small matrix that was solved for, and how it extends to the points.
    """

    T: Any
    M: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the product."""
        return self.T.shape[0], self.T.shape[0]

    @property
    def is_thin(self) -> bool:
        """Whether working with the parts is cheaper than with the product."""
        return bool(2 * self.T.shape[1] <= self.T.shape[0])

    def toarray(self) -> np.ndarray:
        """Return the product, n × n."""
        product = (self.T @ self.M) @ self.T.T
        return (product + product.T) / 2

    def factor(self) -> np.ndarray:
        """Return B with BBᵀ equal to the product, for a semidefinite M; negative eigenvalues count as zero."""
        return self.T @ square_root(self.M)

    def eigenvalues(self) -> np.ndarray:
        """Return the eigenvalues in increasing order; the zeros due to low rank are given once.

        With TᵀT = RᵀR, the others are those of R M Rᵀ.
        """
        if not self.is_thin:
            return np.linalg.eigvalsh(self.toarray())
        squares, vectors = np.linalg.eigh(as_dense(self.T.T @ self.T))
        R = np.sqrt(np.maximum(squares, 0))[:, None] * vectors.T
        small = R @ self.M @ R.T
        return np.sort(np.append(np.linalg.eigvalsh((small + small.T) / 2), 0.0))


@dataclass(frozen=True, eq=False)
class Stiffened:
    """Multipliers with a large part that has no effect on blocks, kept separately to avoid loss of digits."""

    base: np.ndarray
    large: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the sum."""
        return self.base.shape

    def toarray(self) -> np.ndarray:
        """Return the sum."""
        return self.base + self.large

    def __neg__(self) -> Stiffened:
        return Stiffened(-self.base, -self.large)


Matrix = np.ndarray | Congruence


def as_dense(matrix: Any) -> np.ndarray:
    """Return any matrix, sparse or kept as a product, as an array."""
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def congruent(T: Any, K: Matrix) -> Congruence:
    """Return T K Tᵀ, kept as a product."""
    return Congruence(T @ K.T, K.M) if isinstance(K, Congruence) else Congruence(T, K)


def entries(K: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the entries K_ij at given places, of an array, a sparse matrix or a product."""
    if not isinstance(K, Congruence):
        return as_dense(K[i, j])
    left, right = as_dense(K.T[i]) @ K.M, as_dense(K.T[j])
    return np.einsum("ij,ij->i", left, right)


def diagonal(K: Matrix) -> np.ndarray:
    """Return the diagonal."""
    everyone = np.arange(K.shape[0])
    return entries(K, everyone, everyone)


def inner(C: Any, K: Matrix) -> float:
    """Return ⟨C, K⟩ for a sparse or dense C."""
    if isinstance(K, Congruence):
        return float(np.sum(as_dense(K.T.T @ (C @ K.T)) * K.M))
    return float(C.multiply(K).sum() if sp.issparse(C) else np.vdot(C, K))


def scaled(factor: float, K: Any) -> Any:
    """Return a multiple of a matrix."""
    return Congruence(K.T, factor * K.M) if isinstance(K, Congruence) else factor * K


def unit_diagonal(K: Matrix) -> Matrix:
    r"""Return :math:`\hat D^{-1/2} K \hat D^{-1/2}` with :math:`\hat D = \mathrm{diag}(K)`; a zero row stays zero."""
    lengths = np.sqrt(np.maximum(diagonal(K), 0))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 1e-12 * lengths.max(initial=0))
    if isinstance(K, Congruence):
        return congruent(sp.diags_array(scale), K)
    return scale[:, None] * K * scale[None, :]


def inverse_root(degrees: np.ndarray) -> np.ndarray:
    """Return the diagonal of D^{-1/2}, zero where there is no degree."""
    return np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)


def indicators(labels: np.ndarray) -> np.ndarray:
    """Return one column of ones and zeros per label."""
    return (labels[:, None] == np.unique(labels)[None, :]).astype(float)


def class_shares(scores: np.ndarray) -> np.ndarray:
    """Return scores as shares that sum to one; equal shares where no label arrives."""
    positive = np.maximum(scores, 0)
    totals = positive.sum(axis=1, keepdims=True)
    return np.divide(positive, totals, out=np.full_like(positive, 1 / scores.shape[1]), where=totals > 0)


def square_root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric square root of a semidefinite matrix; negative eigenvalues count as zero."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(eigenvalues, 0))) @ vectors.T


class Arrays(Mapping[str, np.ndarray]):
    """Arrays by name; a sparse matrix or a product is converted to an array on first access."""

    def __init__(self, stored: Mapping[str, Any] | None = None) -> None:
        self.stored = dict(stored or {})
        self._built: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._built:
            self._built[name] = as_dense(self.stored[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {np.shape(value)}" for name, value in self.stored.items()) + "}"


def joined_multipliers(found: list[Any]) -> Any:
    """Return the multipliers of a group of constraints: unchanged for a single constraint, otherwise as one vector.

    For a cone with several parts, such as a second-order cone, they are always one vector, part after part.
    """
    if len(found) == 1 and not isinstance(found[0], list | tuple):
        return found[0]
    parts = [part for dual in found for part in (dual if isinstance(dual, list | tuple) else [dual])]
    return np.concatenate([np.ravel(part, order="F") for part in parts])


def factorise(matrix: Any) -> Any:
    """Factorise a symmetric matrix, pivoting on the diagonal in an order that keeps the factors sparse.

    Raises ``RuntimeError`` if a pivot is exactly zero.
    """
    return sp.linalg.splu(
        sp.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )


def positive_definite_factors(matrix: Any) -> Any | None:
    """Return the factors of a symmetric matrix that is positive definite beyond rounding; otherwise None.

    All pivots must be larger than rounding errors.
    """
    try:
        factors = factorise(matrix)
    except RuntimeError:  # exactly singular
        return None
    on_diagonal = np.array_equal(factors.perm_r, factors.perm_c)
    rounding = matrix.shape[0] * np.finfo(float).eps * float(abs(matrix.diagonal()).max())
    return factors if on_diagonal and (factors.U.diagonal() > rounding).all() else None


def largest_clique(pattern: Any) -> int:
    """Return the order of the largest dense block that chordal decomposition leaves of a non-negative matrix.

    It is the largest column of the Cholesky factor of a matrix with that pattern, ordered for little fill. The cost of
    an interior-point code that uses the decomposition grows with it, not with the order.
    """
    n = pattern.shape[0]
    pattern = sp.csc_array(pattern + sp.eye_array(n))
    pattern = sp.csc_array(pattern / pattern.max() + n * sp.eye_array(n))
    return int(np.diff(factorise(pattern).L.tocsc().indptr).max())
