"""Optimality conditions and a bound for fitted products: derived in :mod:`cvxlink.methods.ccsr.fitted_products`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.least_eigenvalue import least_eigenvalue
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
        # The nearest semidefinite matrix is feasible, once its eigenvalues are raised above rounding: its value is an
        # upper bound, and its gradient gives the lower one.
        near = (vectors * np.maximum(eigenvalues, 0)) @ vectors.T
        near = (near + near.T) / 2
        missing = max(0.0, -least_eigenvalue(near).lower)
        feasible = near + 2 * missing * np.eye(len(near))
        if least_eigenvalue(feasible).lower < 0:
            feasible = near + 8 * missing * np.eye(len(near))
        lower, slope, complementarity = program.lower_bound(near)
        value, upper = program.exact_misfit(M), program.exact_misfit(feasible)
        is_feasible = least_eigenvalue(feasible).lower >= 0
    violations = {"psd": max(0.0, -float(eigenvalues[0]))}
    if asymmetry:
        violations["M domain"] = asymmetry
    return Certificate(
        value.middle,
        violations,
        lower.lower if np.isfinite(lower.lower) else None,
        upper.upper if is_feasible else None,
        float(eigenvalues[0]),
        basis="convexity at the answer, whose gradient G is made semidefinite",
        conditions={
            "least eigenvalue of the gradient G, zero or more at the optimum": slope,
            "complementarity ⟨G, M⟩, zero at the optimum": complementarity,
        },
        scale=float(abs(M).max()),
        rounding=max(value.radius, lower.radius, upper.radius),
    )
