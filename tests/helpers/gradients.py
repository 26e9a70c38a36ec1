"""Coefficients of affine expressions by CVXPY's gradient, a way of its own to the same numbers."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from cvxlink.model.linear_maps import at_places
from cvxlink.numerics.matrices import as_dense


def by_gradient(expression: Any, K: cp.Variable) -> tuple[sp.csr_array, np.ndarray]:
    """Return the coefficients from CVXPY's gradient and the value at K = 0."""
    n, saved = K.shape[0], K._value
    K.save_value(np.zeros(K.shape))
    try:
        constant = np.atleast_1d(np.asarray(as_dense(expression.value), dtype=float)).ravel(order="F")
        gradient = sp.coo_array(_matrix(expression.grad[K]).T)
    finally:
        K.save_value(saved)  # somebody may be working with the point
    # CVXPY counts entries column by column; symmetrising makes that the same as row by row.
    i, j = gradient.col % n, gradient.col // n
    A = at_places(n, gradient.row, i, j, gradient.data, expression.size)
    A.eliminate_zeros()
    return A, constant


def _matrix(gradient: Any) -> sp.csr_array:
    """Return CVXPY's gradient as a matrix; for a 1 × 1 variable it is a number."""
    return sp.csr_array(gradient if sp.issparse(gradient) else np.atleast_2d(gradient))
