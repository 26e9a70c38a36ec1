"""A bound for nearest matrices: derived in :mod:`cvxlink.methods.spectral_learning.fixed_entries`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates import Certificate
from .fixed_entries import FixedEntries


def certify_fixed_entries(
    program: FixedEntries, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]
) -> Certificate:
    """Compare with what the given entries cost alone, and with the solution, which is known."""
    A, least = point["A"], program.least()
    return Certificate(
        program.value(point),
        {**program.violations(point), "A domain": float(abs(A - A.T).max())},
        upper_bound=program.cost(program.replaced((A + A.T) / 2)),
        lower_bound=least - 4 * float(np.finfo(float).eps) * len(A) * least,
        basis="what the given entries cost, whatever the others are",
        distance=float(np.linalg.norm(A - program.solution().toarray())),
        norm=max(float(np.linalg.norm(A)), 1e-300),
    )
