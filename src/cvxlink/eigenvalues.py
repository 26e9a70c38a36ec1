"""Least eigenvalues with a proof."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from .factorisation import positive_definite_factors
from .matrices import Congruence, as_dense
from .spectrum import norm_bound

# Up to this order all eigenvalues are computed; beyond it Lanczos finds the least one.
DENSE_EIGENVALUES = 3000


def least_eigenvalue(matrix: Any) -> tuple[float, float]:
    """Return the least eigenvalue of a symmetric matrix and how much lower it can really be.

    A dense matrix, and a sparse one up to order 3000, has all eigenvalues computed, with a margin of n·ε·‖·‖ for
    rounding. For a larger sparse one Lanczos's method guesses the least eigenvalue θ (its residual only shows that some
    eigenvalue is near θ), and the margin is widened until a factorisation shows that nothing lies below θ − margin.
    """
    n = matrix.shape[0]
    if not sp.issparse(matrix) or n <= DENSE_EIGENVALUES:
        if isinstance(matrix, Congruence):
            eigenvalues = matrix.eigenvalues()
        else:
            dense = as_dense(matrix)
            eigenvalues = np.linalg.eigvalsh((dense + dense.T) / 2)
        return float(eigenvalues[0]), float(n * np.finfo(float).eps * abs(eigenvalues).max())
    size = norm_bound(matrix)
    identity = sp.eye_array(n)
    guess = 0.0
    with suppress(sp.linalg.ArpackError):  # without convergence the bisection below does all the work
        start = np.random.default_rng(0).standard_normal(n)
        largest = sp.linalg.eigsh(size * identity - matrix, k=1, which="LA", tol=1e-12, v0=start)[0]
        guess = size - float(largest[0])
    below, margin = 0.0, 1e-10 * size
    while margin < guess + size and positive_definite_factors(matrix - (guess - margin) * identity) is None:
        below, margin = margin, 4 * margin
    for _ in range(8 if below else 0):  # the guess was wrong: find out by how much
        middle = (below + margin) / 2
        if positive_definite_factors(matrix - (guess - middle) * identity) is not None:
            margin = middle
        else:
            below = middle
    return guess, min(margin, guess + size)
