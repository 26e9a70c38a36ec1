"""Violations of a declared program at a point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import issparse

from ..errors import InvalidInput
from ..model.declared import Declaration
from ..numerics.checks import real_array
from ..numerics.least_eigenvalue import least_eigenvalue
from ..numerics.matrices import Congruence, as_dense
from ..numerics.separable import PropagatedLinks
from ..programs.conic_form import outside_exponential, outside_power

PRODUCTS = (Congruence, PropagatedLinks)
# Up to this many unknowns a formulation's data and proof are compared with its declaration; beyond, evaluating one
# point would take longer than solving.
LARGEST_COMPARED = 40_000
# The relative difference allowed between the same number computed in two ways.
SAME_NUMBER = 1e-6


def checked_point(
    variables: Mapping[str, cp.Variable], values: Mapping[str, Any], keep_products: bool = False
) -> dict[str, Any]:
    """Return the values of the variables as arrays of the right shapes, or optionally as products."""
    point: dict[str, Any] = {}
    for name, variable in variables.items():
        if name not in values:
            raise InvalidInput(f"the point has no value for the variable {name}", "values")
        if keep_products and isinstance(values[name], PRODUCTS) and values[name].shape == variable.shape:
            point[name] = values[name]
            continue
        value = values[name]
        if isinstance(value, PRODUCTS) or (issparse(value) and value.shape == variable.shape):
            value = as_dense(value)
        point[name] = real_array(value, f"the value of {name}", "values")
        if point[name].shape != variable.shape:
            raise InvalidInput(
                f"{name} has the shape {variable.shape}, but its value has the shape {point[name].shape}", "values"
            )
    return point


def violations_of(declaration: Declaration, point: dict[str, np.ndarray]) -> tuple[dict[str, float], float | None]:
    """Return the largest violation of each group of constraints, and the least eigenvalue of semidefinite matrices."""
    violations: dict[str, float] = {}
    eigenvalues: list[float] = []
    for name, variable in declaration.variables.items():
        value = point[name]
        # Attributes of the variable itself: symmetric, non-negative, bounded. CVXPY projects onto one of them only.
        lower, upper = variable.get_bounds()
        beyond = np.maximum(np.maximum(lower - value, value - upper), 0)
        outside = float(max(np.max(abs(value - variable.project(value))), np.max(beyond)))
        if outside > 0:
            violations[f"{name} domain"] = outside
        if variable.ndim == 2 and variable.is_symmetric():
            value = (value + value.T) / 2
        if variable.attributes["PSD"]:
            eigenvalues.append(least_eigenvalue(value)[0])
        variable.save_value(value)
    for name, group in declaration.constraints.items():
        worst = 0.0
        for term in group:
            if isinstance(term, cp.constraints.PSD):
                eigenvalues.append(_least_eigenvalue(term))
                worst = max(worst, -eigenvalues[-1])
            else:
                worst = max(worst, _largest(term), *(_largest(limit) for part in term.args for limit in part.domain))
        violations[name] = worst
    outside = max([0.0, *(_largest(limit) for limit in declaration.objective.args[0].domain)])
    if outside > 0:  # CVXPY has values there, which mean nothing
        violations["objective domain"] = outside
    return violations, min(eigenvalues, default=None)


def _largest(term: Any) -> float:
    """Return the largest violation of a constraint; what is not a number violates it without limit."""
    if isinstance(term, cp.constraints.PSD):
        return max(0.0, -_least_eigenvalue(term))
    largest = float(np.max(_violation(term)))
    return np.inf if np.isnan(largest) else largest


def _least_eigenvalue(term: Any) -> float:
    """Return the least eigenvalue of a matrix that should be semidefinite."""
    matrix = np.asarray(term.args[0].value)
    return least_eigenvalue((matrix + matrix.T) / 2)[0]


def _violation(term: Any) -> Any:
    """Return the violation of a constraint; computed here for cones whose violation CVXPY would get from a solver."""
    if isinstance(term, cp.constraints.ExpCone):
        return outside_exponential(*(np.asarray(arg.value, dtype=float) for arg in term.args))
    if isinstance(term, cp.constraints.PowCone3D):
        x, y, z = (np.asarray(arg.value, dtype=float) for arg in term.args[:3])
        return outside_power(x, y, z, np.asarray(term.alpha.value))
    return term.violation()
