"""Bounds for sums of smallest eigenvalues and for nearest matrices: derived in the structures of these names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate import Certificate
from ..matrices import Congruence, Matrix
from ..spectrum import sum_of_smallest
from ..structures import Fantope, FixedEntries
from ..threads import threads_for


def certify_fantope(program: Fantope, point: Mapping[str, Matrix], duals: Mapping[str, Any]) -> Certificate:
    """Compare with the sum of the smallest eigenvalues, computed again."""
    X = point["X"]
    with threads_for(program.n):
        eigenvalues, vectors = _decomposed(X)
        found = program.eigenpairs() if sp.issparse(program.C) else None
        least, margin, how = sum_of_smallest(program.C, program.count, found)
    # A product of lower rank has zeros besides.
    smallest = float(eigenvalues[0]) if len(eigenvalues) == program.n else min(float(eigenvalues[0]), 0.0)
    violations = {
        "trace": abs(float(eigenvalues.sum()) - program.count),
        "psd": max(0.0, -smallest),
        "below": max(0.0, float(eigenvalues[-1]) - 1),
    }
    if not isinstance(X, Congruence):
        violations["X domain"] = float(abs(X - X.T).max())
    upper = None
    if len(eigenvalues) >= program.count:  # a product of lower rank has nothing to make a projection of
        upper = program.value(Congruence(vectors, np.diag(_nearest(eigenvalues, program.count)))) + margin
    return Certificate(
        program.value(X),
        violations,
        lower_bound=program.offset + least - margin,
        upper_bound=upper,
        min_eigenvalue=smallest,
        basis=f"{program.said}{how or ', computed again'}",
    )


def _decomposed(X: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of X; of a product, as many as it has columns."""
    if not isinstance(X, Congruence):
        return np.linalg.eigh((X + X.T) / 2)
    V, R = np.linalg.qr(X.T)
    small = R @ X.M @ R.T
    eigenvalues, turned = np.linalg.eigh((small + small.T) / 2)
    return eigenvalues, V @ turned


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


def certify_fixed_entries(
    program: FixedEntries, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]
) -> Certificate:
    """Compare with what the given entries cost alone, and with the solution, which is known."""
    A = point["A"]
    violations = {
        name: float(abs(A[tuple(pairs.T)] - entry).max(initial=0.0)) for name, (pairs, entry) in program.given.items()
    }
    violations["A domain"] = float(abs(A - A.T).max())
    least = program.least()
    return Certificate(
        program.value(A),
        violations,
        upper_bound=program.value(program.replaced((A + A.T) / 2)),
        lower_bound=least - 4 * float(np.finfo(float).eps) * len(A) * least,
        basis="what the given entries cost, whatever the others are",
        distance=float(np.linalg.norm(A - program.solution().toarray())),
        norm=max(float(np.linalg.norm(A)), 1e-300),
    )
