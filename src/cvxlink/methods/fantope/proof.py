"""A bound for sums of smallest eigenvalues: derived in :mod:`cvxlink.methods.fantope.fantope`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...certificates.certificate import Certificate
from ...numerics.least_eigenvalue import sum_of_smallest
from ...numerics.matrices import Congruence, Matrix
from ...numerics.threads import threads_for
from .fantope import Fantope, eigenvalues_of


def certify_fantope(program: Fantope, point: Mapping[str, Matrix], duals: Mapping[str, Any]) -> Certificate:
    """Compare with the sum of the smallest eigenvalues, computed again."""
    X = point["X"]
    with threads_for(program.n):
        eigenvalues, vectors = eigenvalues_of(X)
        found = program.eigenpairs() if sp.issparse(program.C) else None
        least, margin, how = sum_of_smallest(program.C, program.count, found)
    violations = program.violated(eigenvalues)
    if not isinstance(X, Congruence):
        violations["X domain"] = float(abs(X - X.T).max())
    upper = None
    if len(eigenvalues) >= program.count:  # a product of lower rank has nothing to make a projection of
        upper = program.cost(Congruence(vectors, np.diag(_nearest(eigenvalues, program.count)))) + margin
    return Certificate(
        program.cost(X),
        violations,
        lower_bound=program.offset + least - margin,
        upper_bound=upper,
        min_eigenvalue=program.smallest(eigenvalues),
        basis=f"{program.said}{how or ', computed again'}",
    )


def _nearest(eigenvalues: np.ndarray, count: int) -> np.ndarray:
    """Return the nearest numbers between 0 and 1 with a given sum: all are shifted alike, then clipped."""
    low, high = -float(eigenvalues.max()) - 1, 1 - float(eigenvalues.min())
    for _ in range(100):
        middle = (low + high) / 2
        if np.clip(eigenvalues + middle, 0, 1).sum() < count:
            low = middle
        else:
            high = middle
    return np.clip(eigenvalues + high, 0, 1)
