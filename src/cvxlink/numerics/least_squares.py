"""Least squares for sparse matrices of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

# Matrices with fewer entries are solved as dense ones, which takes less time than one iteration of the other kind.
LARGEST_DENSE = 20_000


def least_norm_solution(A: Any, b: np.ndarray) -> np.ndarray:
    """Return the x of least norm among those that minimise ‖Ax − b‖, up to rounding; call it again on what is left."""
    if A.shape[0] * A.shape[1] <= LARGEST_DENSE:
        return np.linalg.lstsq(A.toarray(), b, rcond=None)[0]
    return sp.linalg.lsmr(A, b, atol=1e-15, btol=1e-15, conlim=0, maxiter=10 * max(A.shape))[0]
