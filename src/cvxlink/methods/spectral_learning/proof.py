"""A bound for nearest matrices: derived in :mod:`cvxlink.methods.spectral_learning.fixed_entries`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates import Certificate
from ...numerics.rounding import gamma, norm_above
from .fixed_entries import FixedEntries


def certify_fixed_entries(
    program: FixedEntries, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]
) -> Certificate:
    """Compare with what the given entries cost alone, and with the solution, which is known."""
    A, least = point["A"], program.least()
    value, upper = program.exact_cost(A), program.exact_cost(program.replaced((A + A.T) / 2))
    return Certificate(
        value.middle,
        {**program.violations(point), "A domain": float(abs(A - A.T).max())},
        upper_bound=upper.upper,
        lower_bound=least.lower,
        basis="what the given entries cost, whatever the others are",
        distance=norm_above(A - program.solution().toarray()) * (1 + gamma(2)),
        norm=max(float(np.linalg.norm(A)), 1e-300),
        rounding=max(value.radius, upper.radius, least.radius),
    )
