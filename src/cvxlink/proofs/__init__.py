"""Certificates: what can be proven about an answer, whoever computed it.

Everything is recomputed on the original problem from the point and the multipliers alone. Each kind of program has its
own proof, a file each; a program of no such kind has its violations shown, and a bound from its multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate import Certificate
from ..errors import InfeasibleProblem, InvalidInput, ReductionRefused
from ..matrices import Arrays, Congruence
from ..problem import Problem
from ..propagated import PropagatedLinks
from ..structures import (
    ConstrainedCut,
    Fantope,
    FittedProducts,
    FixedEntries,
    Harmonic,
    Lyapunov,
    Nearness,
    Smoothing,
    StationaryCuts,
    TwoSided,
)
from .cut import certify_cut, certify_stationary
from .declared import checked_point, violations_of
from .fantope import certify_fantope, certify_fixed_entries
from .harmonic import certify_harmonic
from .lagrangian import lower_bound
from .linear_sdp import certify_linear_sdp
from .nearness import certify_nearness
from .propagation import certify_propagation
from .quadratic import certify_fitted_products

PROOFS: dict[type, Any] = {
    ConstrainedCut: certify_cut,
    Fantope: certify_fantope,
    FittedProducts: certify_fitted_products,
    FixedEntries: certify_fixed_entries,
    Harmonic: certify_harmonic,
    Lyapunov: certify_propagation,
    Nearness: certify_nearness,
    Smoothing: certify_propagation,
    StationaryCuts: certify_stationary,
    TwoSided: certify_propagation,
}
NOT_FINITE = "the point holds NaN or infinity"


def certify(problem: Problem, values: Mapping[str, Any], duals: Mapping[str, Any] | None = None) -> Certificate:
    """Return what a point, and multipliers if there are any, prove about a problem.

    Parameters
    ----------
    problem : Problem
    values : dict
        A value for each declared variable.
    duals : dict, optional
        Multipliers by the name of the constraint: for lhs = rhs and lhs ≤ rhs the change of the optimum per unit of u
        in rhs + u (CVXPY reads a ≥ b as b ≤ a), for a semidefinite one the slack matrix.
    """
    if not isinstance(values, Mapping) or not isinstance(duals, Mapping | None):
        raise InvalidInput("values and multipliers are given by name, as dictionaries")
    values, duals = _stored(values), _stored(duals or {})
    if problem.structure is not None:
        point = checked_point(problem.variables(), values, keep_products=True)
        if not _is_finite(point):
            return Certificate(float("nan"), {}, basis=NOT_FINITE, scale=0.0)
        return PROOFS[type(problem.structure)](problem.structure, point, duals)
    try:
        sdp, refusal = problem.linear_sdp(), ""
    except ReductionRefused as error:
        sdp, refusal = None, str(error) if problem.convex else "the program is not convex; it was searched, not proven"
    if sdp is not None and isinstance(values.get(sdp.variable), Congruence):
        K = values[sdp.variable]
        return certify_linear_sdp(sdp, K, duals, sdp.value(K), {})
    declaration = problem.declare()
    point = checked_point(declaration.variables, values)
    if not _is_finite(point):
        return Certificate(float("nan"), dict.fromkeys(declaration.constraints, np.inf), basis=NOT_FINITE)
    violations, eigenvalue = violations_of(declaration, point)
    value = float(declaration.objective.value)
    if sdp is None:
        scale = max(float(abs(v).max()) for v in point.values())
        bound, sensitivity, cost_scale = None, None, 1.0
        if problem.convex:
            try:
                bound, refusal, sensitivity, cost_scale = lower_bound(declaration, point, duals, violations)
            except (ReductionRefused, InfeasibleProblem) as reason:
                refusal = str(reason)
        return Certificate(
            value,
            violations,
            bound,
            min_eigenvalue=eigenvalue,
            basis=refusal,
            scale=scale,
            cost_scale=cost_scale,
            sensitivity=sensitivity,
        )
    K = point[sdp.variable]
    return certify_linear_sdp(sdp, (K + K.T) / 2, duals, value, violations)


def _is_finite(point: Mapping[str, Any]) -> bool:
    parts = [part for v in point.values() for part in _parts(v)]
    return all(np.isfinite(part.data if sp.issparse(part) else part).all() for part in parts)


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Congruence):
        return value.T, value.M
    return (value.terms.coefficients,) if isinstance(value, PropagatedLinks) else (value,)


def _stored(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return values.stored if isinstance(values, Arrays) else values
