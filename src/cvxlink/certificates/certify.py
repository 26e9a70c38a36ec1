"""Certificates: what can be proven about an answer, regardless of who computed it.

Everything is recomputed on the declared program from the point and the multipliers alone. A special program may bring
its own proof; the proof for linear semidefinite programs is in :mod:`cvxlink.certificates.linear_sdp`; any other convex
program gets its bounds from its standard form (:mod:`cvxlink.certificates.general`,
:mod:`cvxlink.certificates.feasible_point`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
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
from ..programs.declared import SpecialProgram, name_of_cone
from ..programs.status import DEFAULT_ACCURACY
from ..reductions.negation import Negation, linear_minimisation, negated_multipliers
from ..reductions.standard_form import StandardForm
from .certificate import Certificate
from .evaluation import value_of
from .feasible_point import attained_value, best_on_faces
from .general import LARGEST, general_bound
from .linear_sdp import certify_linear_sdp
from .search import Attained, Budget
from .separable_sdp import certify_separable_sdp
from .violations import LARGEST_COMPARED, SAME_NUMBER, checked_point, judged_violations

# The variables of CVXPY hold one value each, whichever thread asks.
ONE_AT_A_TIME = RLock()
# Sums of two larger numbers may overflow.
LARGEST_NUMBER = 1e300
# Linear semidefinite programs of a larger order are not searched for a feasible point.
LARGEST_SEARCHED = 200
# Up to this order a point without multipliers of the terms of its objective is certified as it is declared.
LARGEST_DECLARED = 1000
NOT_FINITE = "the point contains NaN or infinity, or numbers beyond 1e300"


def certify_program(
    program: Program,
    values: Mapping[str, Any],
    duals: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    accuracy: float | None = None,
    conic: np.ndarray | None = None,
    reached: Attained | None = None,
) -> Certificate:
    """Return what a point, and optionally multipliers, prove about a program.

    Searches that a proof may need end after so many seconds; without that number they take as long as they need. A gap
    much smaller than the accuracy is not searched for. ``conic`` are multipliers of all rows of the standard form, and
    ``reached`` is what :func:`best_answer` returned.
    """
    with ONE_AT_A_TIME:
        return _certified(program, values, duals, Budget(seconds, accuracy or DEFAULT_ACCURACY, conic, reached))


def best_answer(program: Program, values: Mapping[str, Any], seconds: float | None = None) -> Attained | None:
    """Return the best point of a small convex program, solved anew on the faces of its cones; None if that fails.

    It is searched near the given values, or anywhere if there are none.
    """
    if isinstance(program, SpecialProgram) or not program.convex:
        return None
    declaration = program.declaration
    values = values or {name: np.zeros(variable.shape) for name, variable in declaration.variables.items()}
    with ONE_AT_A_TIME, suppress(ReductionRefused, InfeasibleProblem):
        form = StandardForm.of(declaration, LARGEST).with_room(declaration, LARGEST)
        return best_on_faces(declaration, form, checked_point(declaration.variables, _stored(values)), Budget(seconds))
    return None


def _certified(
    program: Program, values: Mapping[str, Any], duals: Mapping[str, Any] | None, budget: Budget
) -> Certificate:
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
        with suppress(ReductionRefused):
            return _certify_separable(program, values, duals)
        return _as_minimisation(program, values, duals, budget) or _certify_declared(program, values, duals, budget)
    K = values.get(sdp.variable)
    if isinstance(K, Congruence) and (sdp.n**2 > LARGEST_COMPARED or _carries_rows(program.declaration)):
        # The rows stand for the constraints: nothing of order n × n is ever built.
        return certify_linear_sdp(sdp, K, duals, sdp.value(K), {})
    declaration = program.declaration
    point = checked_point(declaration.variables, values)
    if not _is_finite(point):
        return _nothing_proven(program)
    found = judged_violations(declaration, point)
    dense = point[sdp.variable]
    kept = K if isinstance(K, Congruence) else (dense + dense.T) / 2
    certificate = certify_linear_sdp(sdp, kept, duals, _objective(declaration), found.absolute, found.relative)
    if sdp.n > LARGEST_SEARCHED:
        return certificate
    if certificate.bound is None and certificate.dimacs is not None:  # with multipliers that are of no use
        general = _certify_declared(program, values, duals, budget)
        return certificate if general.bound is None else general
    if certificate.attained is None and certificate.bound is not None:
        return _with_feasible_point(certificate, declaration, point, budget)
    return certificate


def _with_feasible_point(
    certificate: Certificate, declaration: Declaration, point: Mapping[str, np.ndarray], budget: Budget
) -> Certificate:
    """Add the value of an exactly feasible point that is found by a search."""
    try:
        form = StandardForm.of(declaration, LARGEST)
        reached = attained_value(declaration, form, point, {}, budget)
    except (ReductionRefused, InfeasibleProblem):
        return certificate
    sensitivity = certificate.sensitivity if reached.has_room else np.inf
    return replace(
        certificate,
        upper_bound=reached.value,
        missing=reached.missing,
        better=reached if reached.point else None,
        sensitivity=sensitivity,
        rounding_is_proven=certificate.rounding_is_proven and reached.value is None,
    )


def _as_minimisation(
    program: Program, values: Mapping[str, Any], duals: Mapping[str, Any], budget: Budget
) -> Certificate | None:
    """Return the certificate of a maximisation whose negative has a proof of its own kind, or None."""
    with suppress(ReductionRefused):
        mirror = negated_multipliers(program.declaration, duals)
        try:
            mirrored = _certified(linear_minimisation(program), values, mirror, budget)
        except ReductionRefused:
            mirrored = _certify_separable(Negation().reduce(program).program, values, mirror)
        lower, upper = (None if bound is None else -bound for bound in (mirrored.upper_bound, mirrored.lower_bound))
        return replace(mirrored, value=-mirrored.value, lower_bound=lower, upper_bound=upper, maximises=True)
    return None


def measured(program: Program, values: Mapping[str, Any]) -> Certificate:
    """Return the objective and the violations at a point, and no bound."""
    basis = "a proof was not asked for"
    with ONE_AT_A_TIME:
        if isinstance(program, SpecialProgram):
            point = checked_point(declared_variables(program.problem), _stored(values), keep_products=True)
            return Certificate(program.value(point), dict(program.violations(point)), basis=basis)
        declaration = program.declaration
        point = checked_point(declaration.variables, _stored(values))
        found = judged_violations(declaration, point)
        scale = max(float(abs(v).max(initial=0.0)) for v in point.values())
        return Certificate(
            _objective(declaration),
            found.absolute,
            min_eigenvalue=found.least_eigenvalue,
            basis=basis,
            scale=scale,
            relative_violations=found.relative,
        )


def _objective(declaration: Declaration) -> float:
    """Return the objective at the saved point."""
    return float(np.sum(value_of(declaration.objective.args[0])))


def _certify_separable(program: Program, values: Mapping[str, Any], duals: Mapping[str, Any]) -> Certificate:
    """Certify a point that comes with multipliers of the terms of the objective, or is large; otherwise refuse."""
    cones = {name_of_cone(name, program.declaration) for name in program.declaration.variables}
    extra = duals.keys() - program.declaration.constraints.keys() - cones
    large = [K for K in values.values() if isinstance(K, Congruence) and K.shape[0] > LARGEST_DECLARED]
    if not program.convex or len(values) != 1 or not (extra or large):
        raise ReductionRefused("it is certified as it is declared")
    separable = program.separable_sdp()
    if separable.name not in duals and not large:
        raise ReductionRefused("it is certified as it is declared")
    declaration = program.declaration
    point = checked_point(declaration.variables, values, keep_products=True)
    if not _is_finite(point):
        return _nothing_proven(program)
    K, violations = point[separable.linear.variable], dict[str, float]()
    if not isinstance(K, Congruence) or K.shape[0] ** 2 <= LARGEST_COMPARED:
        dense = checked_point(declaration.variables, values)
        violations = judged_violations(declaration, dense).absolute
    if not isinstance(K, Congruence):
        K = (dense[separable.linear.variable] + dense[separable.linear.variable].T) / 2
    return certify_separable_sdp(separable, K, duals, violations)


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


def _certify_declared(
    program: Program, values: Mapping[str, Any], duals: Mapping[str, Any], budget: Budget
) -> Certificate:
    """Compute the violations and, if the program is convex, bounds from its standard form."""
    declaration = program.declaration
    point = checked_point(declaration.variables, values)
    if not _is_finite(point):
        return _nothing_proven(program)
    found = judged_violations(declaration, point)
    violations, value = found.absolute, _objective(declaration)
    maximises = isinstance(declaration.objective, cp.Maximize)
    certificate = Certificate(
        value,
        violations,
        maximises=maximises,
        min_eigenvalue=found.least_eigenvalue,
        basis="the program is not convex; the answer was found by search, and nothing proves it optimal",
        scale=max(float(abs(v).max(initial=0.0)) for v in point.values()),
        rounding_is_proven=False,
        relative_violations=found.relative,
    )
    if not program.convex:
        return certificate
    try:
        form = StandardForm.of(declaration, LARGEST)
        reached = attained_value(declaration, form, point, duals, budget)
    except (ReductionRefused, InfeasibleProblem) as reason:
        return replace(certificate, basis=str(reason))
    _save(declaration, point)
    certificate = _with_bounds(certificate, None, reached.value)
    certificate = replace(certificate, missing=reached.missing, better=reached if reached.point else None)
    try:
        proven = general_bound(declaration, form, point, value, duals, violations, budget)
    except (ReductionRefused, InfeasibleProblem) as reason:
        return replace(certificate, basis=str(reason))
    bound, basis = proven.value, proven.basis
    if _is_refuted(value, bound, maximises, violations, point):
        basis = "the point itself is better than the bound from the conic form, which CVXPY may have approximated"
        return replace(certificate, basis=basis)
    if reached.value is not None:
        crossed = reached.value - bound if maximises else bound - reached.value
        if crossed > proven.rounding + SAME_NUMBER * (1 + abs(value)):
            basis = f"the two bounds contradict each other by {crossed:.1e}, so neither is relied on"
            return replace(certificate, lower_bound=None, upper_bound=None, basis=basis, better=None)
    return replace(
        _with_bounds(certificate, bound, reached.value),
        basis=basis,
        cost_scale=proven.cost_scale,
        sensitivity=proven.sensitivity if reached.has_room else np.inf,
        rounding=proven.rounding,
        reach=proven.reach,
    )


def _with_bounds(certificate: Certificate, bound: float | None, attained: float | None) -> Certificate:
    """Return a certificate with the bound that no point can improve on, and a value that is attained."""
    lower, upper = (attained, bound) if certificate.maximises else (bound, attained)
    return replace(certificate, lower_bound=lower, upper_bound=upper)


def _save(declaration: Declaration, point: Mapping[str, np.ndarray]) -> None:
    """Put a point into CVXPY's variables, for its gradients."""
    for name, variable in declaration.variables.items():
        value = point[name]
        variable.save_value((value + value.T) / 2 if variable.ndim == 2 and variable.is_symmetric() else value)


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
