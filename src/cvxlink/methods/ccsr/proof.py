"""Optimality conditions and a bound for fitted products: derived in :mod:`cvxlink.methods.ccsr.fitted_products`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.threads import threads_for
from .fitted_products import FittedProducts


def certify_fitted_products(
    program: FittedProducts, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]
) -> Certificate:
    """Check that the gradient is semidefinite and orthogonal to M, and bound the optimum by both."""
    M = (point["M"] + point["M"].T) / 2
    asymmetry = float(abs(point["M"] - M).max())
    with threads_for(program.order):
        eigenvalues, vectors = np.linalg.eigh(M)
        # The nearest semidefinite matrix is feasible: its value is an upper bound, and its gradient gives the lower
        # one.
        feasible = (vectors * np.maximum(eigenvalues, 0)) @ vectors.T
        lower, slope, complementarity = program.lower_bound(feasible)
        value, upper = program.misfit(M), program.misfit(feasible)
    violations = {"psd": max(0.0, -float(eigenvalues[0]))}
    if asymmetry:
        violations["M domain"] = asymmetry
    return Certificate(
        value,
        violations,
        lower,
        upper,
        float(eigenvalues[0]),
        basis="convexity at the answer, whose gradient G is made semidefinite",
        conditions={
            "least eigenvalue of the gradient G, zero or more at the optimum": slope,
            "complementarity ⟨G, M⟩, zero at the optimum": complementarity,
        },
        scale=float(abs(M).max()),
    )
