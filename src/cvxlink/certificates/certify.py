"""Certificates: what can be proven about an answer, regardless of who computed it.

Everything is recomputed on the declared program from the point and the multipliers alone. A special program may bring
its own proof; the proof for linear semidefinite programs is in :mod:`cvxlink.certificates.linear_sdp`; any other convex
program gets a bound from its multipliers (:mod:`cvxlink.certificates.lagrangian`).
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import CvxlinkError, InfeasibleProblem, InvalidProblem, ReductionRefused
from ..model.declared import Declaration, declared_variables
from ..model.linear_maps import LinearMap
from ..numerics.arguments import as_mapping
from ..numerics.matrices import Arrays, Congruence
from ..numerics.separable import PropagatedLinks
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from .certificate import Certificate
from .lagrangian import lagrange_bound
from .linear_sdp import certify_linear_sdp
from .violations import LARGEST_COMPARED, SAME_NUMBER, checked_point, violations_of

# The variables of CVXPY hold one value each, whichever thread asks.
ONE_AT_A_TIME = RLock()
# Sums of two larger numbers may overflow.
LARGEST_NUMBER = 1e300
NOT_FINITE = "the point contains NaN or infinity, or numbers beyond 1e300"


def certify_program(program: Program, values: Mapping[str, Any], duals: Mapping[str, Any] | None = None) -> Certificate:
    """Return what a point, and optionally multipliers, prove about a program."""
    with ONE_AT_A_TIME:
        return _certified(program, values, duals)


def _certified(program: Program, values: Mapping[str, Any], duals: Mapping[str, Any] | None) -> Certificate:
    as_mapping(values, "values", "the values of the variables by name")
    as_mapping({} if duals is None else duals, "duals", "multipliers by name")
    values, duals = _stored(values), _stored({} if duals is None else duals)
    if isinstance(program, SpecialProgram) and program.proof is not None:
        point = checked_point(declared_variables(program.problem), values, keep_products=True)
        if not _is_finite(point):
            return Certificate(float("nan"), {}, basis=NOT_FINITE, scale=0.0)
        certificate = _proven(program, point, duals)
        _require_credible(program, point, certificate)
        return certificate
    try:
        sdp = program.linear_sdp()
    except ReductionRefused:
        return _certify_declared(program, values, duals)
    K = values.get(sdp.variable)
    if isinstance(K, Congruence) and (sdp.n**2 > LARGEST_COMPARED or _carries_rows(program.declaration)):
        # The rows stand for the constraints: nothing of order n × n is ever built.
        return certify_linear_sdp(sdp, K, duals, sdp.value(K), {})
    declaration = program.declaration
    point = checked_point(declaration.variables, values)
    if not _is_finite(point):
        return _nothing_proven(program)
    violations, _ = violations_of(declaration, point)
    dense = point[sdp.variable]
    kept = K if isinstance(K, Congruence) else (dense + dense.T) / 2
    return certify_linear_sdp(sdp, kept, duals, float(declaration.objective.value), violations)


def _carries_rows(declaration: Declaration) -> bool:
    """Whether a declaration is made of terms that carry their rows, which then were not read off it."""
    rows = all(hasattr(term, "rows") or isinstance(term, cp.constraints.PSD) for term in declaration.terms)
    return rows and isinstance(declaration.objective.args[0], LinearMap)


def _proven(program: SpecialProgram, point: Mapping[str, Any], duals: Mapping[str, Any]) -> Any:
    assert program.proof is not None
    try:
        return program.proof(program.data, point, duals)
    except (CvxlinkError, MemoryError):
        raise
    except Exception as error:  # it may be anybody's code
        name = type(program.problem).__name__
        raise InvalidProblem(f"the proof of {name} fails: {type(error).__name__}: {error}") from error


def _require_credible(program: SpecialProgram, point: Mapping[str, Any], certificate: Any) -> None:
    """Raise if what a formulation's own proof returns cannot be right."""
    name = type(program.problem).__name__
    if not isinstance(certificate, Certificate):
        raise InvalidProblem(f"the proof of {name} must return a Certificate, not {certificate!r}")
    if all(isinstance(value, np.ndarray) and value.size <= LARGEST_COMPARED for value in point.values()):
        if certificate.maximises != isinstance(program.declaration.objective, cp.Maximize):
            asked = "True" if not certificate.maximises else "False"
            raise InvalidProblem(
                f"the proof of {name} must return Certificate(…, maximises={asked}), as it is declared"
            )
        value = program.value(point)
        allowed = SAME_NUMBER * (abs(value) + abs(certificate.value)) + 1e-9
        if np.isfinite(value) and abs(value - certificate.value) > allowed:
            raise InvalidProblem(
                f"the proof of {name} says that the objective is {certificate.value:.10g}, and its data say "
                f"{value:.10g}; correct one of them"
            )
        for constraint, violation in program.violations(point).items():
            if violation > SAME_NUMBER and not certificate.violations.get(constraint, 0.0) > 0:
                raise InvalidProblem(
                    f"the proof of {name} says nothing of the constraint {constraint!r}, which the point violates by "
                    f"{violation:.3g}"
                )
    bound, value = certificate.bound, certificate.value
    better = 0.0 if bound is None else (value - bound if certificate.maximises else bound - value)
    if certificate.largest_violation == 0 and better > SAME_NUMBER * (1 + abs(value)):
        words = ("upper", "below") if certificate.maximises else ("lower", "above")
        raise InvalidProblem(
            f"the proof of {name} is wrong: its {words[0]} bound {bound:.10g} is {words[1]} {value:.10g}, the value "
            f"of a feasible point"
        )


def _certify_declared(program: Program, values: Mapping[str, Any], duals: Mapping[str, Any]) -> Certificate:
    """Compute the violations and, if the program is convex, a bound from the multipliers."""
    declaration = program.declaration
    point = checked_point(declaration.variables, values)
    if not _is_finite(point):
        return _nothing_proven(program)
    violations, eigenvalue = violations_of(declaration, point)
    value = float(declaration.objective.value)
    bound, sensitivity, cost_scale, rounding, reach = None, None, 1.0, None, None
    basis = "the program is not convex; the answer was found by search, and nothing proves it optimal"
    if program.convex:
        try:
            proven = lagrange_bound(declaration, point, duals, violations)
            bound, basis, sensitivity, cost_scale, rounding, reach = proven
        except (ReductionRefused, InfeasibleProblem) as reason:
            basis = str(reason)
    maximises = isinstance(declaration.objective, cp.Maximize)
    if bound is not None and _is_refuted(value, bound, maximises, violations, point):
        bound, basis = (
            None,
            "the point itself is better than the bound from the conic form, which CVXPY may have approximated",
        )
    return Certificate(
        value,
        violations,
        lower_bound=None if maximises else bound,
        upper_bound=bound if maximises else None,
        maximises=maximises,
        min_eigenvalue=eigenvalue,
        basis=basis,
        scale=max(float(abs(v).max()) for v in point.values()),
        cost_scale=cost_scale,
        sensitivity=sensitivity,
        rounding=rounding,
        rounding_is_proven=False,
        reach=reach,
    )


def _is_refuted(
    value: float, bound: float, maximises: bool, violations: Mapping[str, float], point: Mapping[str, np.ndarray]
) -> bool:
    """Whether a feasible point is better than a bound allows."""
    better = value - bound if maximises else bound - value
    size = max(float(abs(x).max(initial=0.0)) for x in point.values())
    feasible = max([0.0, *violations.values()]) <= 1e-14 * size
    return bool(feasible and better > SAME_NUMBER * (1 + abs(value)))


def _nothing_proven(program: Program) -> Certificate:
    return Certificate(float("nan"), dict.fromkeys(program.declaration.constraints, np.inf), basis=NOT_FINITE)


def _is_finite(point: Mapping[str, Any]) -> bool:
    parts = [part for v in point.values() for part in _parts(v)]
    arrays = [np.asarray(part.data if sp.issparse(part) else part) for part in parts]
    return all(bool((abs(array) <= LARGEST_NUMBER).all()) for array in arrays)  # NaN is not


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Congruence):
        return value.T, value.M
    return (value.terms.coefficients,) if isinstance(value, PropagatedLinks) else (value,)


def _stored(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return values.stored if isinstance(values, Arrays) else values
