"""Violations of a declared program at a point: how large they are, and how large compared with their own constraint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.atom import Atom
from cvxpy.expressions.leaf import Leaf
from scipy.sparse import issparse

from ..errors import InvalidInput
from ..model.declared import Declaration
from ..model.keeping import once
from ..numerics.checks import real_array
from ..numerics.least_eigenvalue import least_eigenvalue
from ..numerics.matrices import Congruence, as_dense
from ..numerics.separable import PropagatedLinks
from ..programs.conic_form import misses_exponential, outside_exponential, outside_power
from .evaluation import value_of
from .scales import Scales

PRODUCTS = (Congruence, PropagatedLinks)
# Up to this many unknowns a formulation's data and proof are compared with its declaration; beyond, evaluating one
# point would take longer than solving.
LARGEST_COMPARED = 40_000
# The relative difference allowed between the same number computed in two ways.
SAME_NUMBER = 1e-6


@dataclass(frozen=True)
class Violations:
    """The largest violation of each group of constraints, as it is and relative to the size of its own constraint.

    ``least_eigenvalue`` is that of all semidefinite matrices.
    """

    absolute: dict[str, float]
    relative: dict[str, float]
    least_eigenvalue: float | None


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
    found = judged_violations(declaration, point)
    return found.absolute, found.least_eigenvalue


def judged_violations(declaration: Declaration, point: dict[str, np.ndarray]) -> Violations:
    """Return the violations of a declaration at a point; CVXPY's variables keep the point as their values."""
    absolute: dict[str, float] = {}
    relative: dict[str, float] = {}
    eigenvalues: list[float] = []
    for name, variable in declaration.variables.items():
        value = point[name]
        if variable.ndim >= 2 and variable.is_symmetric():
            value = (value + np.swapaxes(value, -1, -2)) / 2
        variable.save_value(value)
        if variable.attributes["PSD"] and variable.size:
            eigenvalues.append(_least_eigenvalue(value))
    scales = Scales(declaration, {n: np.asarray(variable_value(v)) for n, v in declaration.variables.items()})
    for name, variable in declaration.variables.items():
        outside = _outside(variable, point[name])
        if outside.max(initial=0.0) > 0:
            absolute[f"{name} domain"] = float(outside.max())
            relative[f"{name} domain"] = float(np.max(outside / scales.of_entries(name, outside)))
    for name, group in declaration.constraints.items():
        absolute[name] = relative[name] = 0.0
        for term in group:
            for limit in (term, *domains_of(declaration)[id(term)]):
                largest, compared = _largest(limit, scales)
                absolute[name], relative[name] = max(absolute[name], largest), max(relative[name], compared)
            if isinstance(term, cp.constraints.PSD):
                eigenvalues.append(_least_eigenvalue(value_of(term.args[0])))
    outside_of = [_largest(limit, scales) for limit in domains_of(declaration)[id(declaration.objective)]]
    if any(largest > 0 for largest, _ in outside_of):  # CVXPY has values there, which mean nothing
        absolute["objective domain"] = max(largest for largest, _ in outside_of)
        relative["objective domain"] = max(compared for _, compared in outside_of)
    return Violations(absolute, relative, min(eigenvalues, default=None))


def domains_of(declaration: Declaration) -> dict[int, list[Any]]:
    """Return where the functions of the objective and of each constraint, by ``id()``, are defined, as constraints."""
    parts = (declaration.objective, *declaration.terms)
    return once(declaration, "domains", lambda: {id(part): _domain(part) for part in parts})


def _domain(part: Any) -> list[Any]:
    return [limit for inside in part.args if isinstance(inside, cp.Expression) for limit in _of_functions(inside)]


def _of_functions(expression: Any) -> list[Any]:
    """Return where the functions in an expression are defined; what its variables declare is another matter."""
    if isinstance(expression, Leaf):
        return []
    if not isinstance(expression, Atom):
        return list(expression.domain)
    return [*expression._domain(), *(limit for inside in expression.args for limit in _of_functions(inside))]


def holds_exactly(term: Any) -> bool:
    """Whether a constraint is not violated at all."""
    if isinstance(term, cp.constraints.ExpCone):
        return not misses_exponential(*map(value_of, term.args)).any()
    return violation_of(term) == 0


def violation_of(term: Any) -> float:
    """Return the largest violation of a constraint; what is not a number violates it without limit."""
    violation = np.asarray(_violation(term), dtype=float)
    return float(np.where(np.isnan(violation), np.inf, violation).max(initial=0.0))


def variable_value(variable: cp.Variable) -> Any:
    """Return the value of a variable as an array, also if CVXPY keeps only some of its entries."""
    return variable.value if variable.sparse_idx is None else as_dense(variable.value_sparse)


def _outside(variable: cp.Variable, value: np.ndarray) -> np.ndarray:
    """Return how far entries are from what the attributes of a variable say: signs, bounds, symmetry, a pattern.

    CVXPY's own projection minds one attribute only.
    """
    lower, upper = (as_dense(bound) for bound in variable.get_bounds())
    outside = np.maximum(np.maximum(lower - value, value - upper), 0)
    if not value.size:
        return outside
    if variable.ndim >= 2 and variable.is_symmetric():
        outside = np.maximum(outside, abs(value - np.swapaxes(value, -1, -2)) / 2)
    if variable.attributes["PSD"]:
        outside = np.maximum(outside, -_least_eigenvalue(value))
    if variable.attributes["NSD"]:
        outside = np.maximum(outside, -_least_eigenvalue(-value))
    if variable.attributes["diag"]:
        outside = np.maximum(outside, abs(value - np.diag(np.diag(value))))
    if variable.sparse_idx is not None:
        elsewhere = abs(value)
        elsewhere[variable.sparse_idx] = 0.0
        outside = np.maximum(outside, elsewhere)
    return outside


def _largest(term: Any, scales: Scales) -> tuple[float, float]:
    """Return the largest violation of a constraint, and the largest one relative to its own size.

    What is not a number violates a constraint without limit.
    """
    violation = np.asarray(_violation(term), dtype=float)
    violation = np.where(np.isnan(violation), np.inf, violation)
    largest = float(violation.max(initial=0.0))
    if not 0 < largest < np.inf:
        return largest, largest
    return largest, float(np.max(violation / scales.of_constraint(term, violation)))


def _least_eigenvalue(matrices: np.ndarray) -> float:
    """Return the least eigenvalue of a matrix, or of all matrices in a stack."""
    stack = matrices.reshape(-1, *matrices.shape[-2:])
    return min((least_eigenvalue((matrix + matrix.T) / 2)[0] for matrix in stack), default=0.0)


def _violation(term: Any) -> Any:
    """Return the violations of a constraint, entry by entry where it has entries.

    They are computed here where a rounding error must not make them infinite, and for cones whose violation CVXPY would
    get from a solver.
    """
    constraints = cp.constraints
    if isinstance(term, constraints.PSD):
        return max(0.0, -_least_eigenvalue(value_of(term.args[0])))
    if isinstance(term, constraints.Inequality):
        return np.maximum(value_of(term.expr), 0)
    if isinstance(term, constraints.Equality):
        return abs(value_of(term.expr))
    if isinstance(term, constraints.Zero):
        return abs(value_of(term.args[0]))
    if isinstance(term, constraints.NonNeg | constraints.NonPos):
        value = value_of(term.args[0])
        return np.maximum(-value if isinstance(term, constraints.NonNeg) else value, 0)
    if isinstance(term, constraints.ExpCone):
        return outside_exponential(*map(value_of, term.args))
    if isinstance(term, constraints.PowCone3D):
        x, y, z = map(value_of, term.args[:3])
        return outside_power(x, y, z, np.asarray(term.alpha.value))
    with np.errstate(all="ignore"):  # CVXPY divides by the length of a vector that may be zero
        return term.violation()
