"""Sparse elimination with diagonal pivots, for tests of positive definiteness, for solves and for fill."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


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
