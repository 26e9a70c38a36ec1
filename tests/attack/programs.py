"""Random programs, solved in random ways, against optima that are computed independently of cvxlink.

OPTIMAL, INFEASIBLE and UNBOUNDED are claims, and so are the bounds of every certificate. INACCURATE, UNPROVEN, LIMIT
and ERROR are honest outcomes, and only counted.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import cvxlink as cl
from attack import drawn_formulations, drawn_methods
from attack.drawn_methods import Drawn
from attack.findings import FALSE_CLAIM, RAW_ERROR, Finding, note, tally, told
from attack.instances import coin, pick
from attack.references import Reference

SOLVERS = ("CLARABEL", "CLARABEL", "CLARABEL", "SCS", "CVXOPT", "SDPA", "COPT", "OSQP")
EXECUTABLES = ("CSDP", "DSDP", "SDPA-CLI")
LIMIT = 120.0
# How far the value of an OPTIMAL answer may be from the optimum, in units of the accuracy asked for: the gap counts
# once, and the violations may be worth as much again.
UNITS = 3.0


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    """Solve a random program in a random way, and hold what is claimed against what is true."""
    drawn = (drawn_formulations if coin(rng, 0.25) else drawn_methods).draw(rng)
    accuracy = 10.0 ** rng.uniform(-7, -3)
    draws = rng.random(4)
    way: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem = drawn.problem()
            way = _way(rng, problem, draws)
            note(f"{drawn.name}: {way}, accuracy {accuracy:.1e}\n{problem}")
            solution = problem.solve(**way, accuracy=accuracy, strict=False)
        except cl.CvxlinkError as error:
            note(error)
            tally("refused")
            return []
        except Exception as error:
            return [Finding(RAW_ERROR, f"{drawn.name} {way}: {told(error)}")]
        tally(solution.status.name)
        note(f"{solution}\n{solution.reason}")
        reference = drawn.reference(problem)
        tally("reference tight" if reference.is_tight else "reference loose")
        note(f"in truth {reference}")
        found = list(_false_claims(drawn, solution, reference, accuracy))
        if draws[3] < 0.05:
            found += _differences(solution, problem.solve(**way, accuracy=accuracy, strict=False))
    said = f"{drawn.name} {way or 'by default'}, accuracy {accuracy:.1e}: "
    return [Finding(FALSE_CLAIM, said + what) for what in found]


def _way(rng: np.random.Generator, problem: Any, draws: np.ndarray) -> dict[str, Any]:
    """Draw how to solve: by default, by a route, or by a form and a solver; mostly with reductions."""
    presolve = {} if draws[1] < 0.8 else {"presolve": False}
    if draws[0] < 0.4:
        return presolve
    if draws[0] < 0.6 and problem.routes:
        return {"route": pick(rng, problem.routes), **presolve}
    solver = pick(rng, EXECUTABLES if draws[2] < 0.04 else SOLVERS)
    form = {"form": pick(rng, problem.forms)} if problem.forms and coin(rng) else {}
    return {"solver": solver, **form, **presolve}


def _false_claims(drawn: Drawn, solution: Any, truth: Reference, accuracy: float):
    """Yield every claim that is false."""
    status, certificate = solution.status.name, solution.certificate
    if status in ("INFEASIBLE", "UNBOUNDED") and truth.status not in (status, "unknown"):
        yield f"{status}, but in truth it is {truth.status} (optimum {truth.low:.8g} to {truth.high:.8g})"
    if status == "OPTIMAL" and truth.status in ("INFEASIBLE", "UNBOUNDED"):
        yield f"OPTIMAL {solution.value:.8g}, but in truth it is {truth.status}"
    if certificate is None or truth.status != "OPTIMAL":
        return
    lower, upper, rounding = certificate.lower_bound, certificate.upper_bound, truth.rounding
    if lower is not None and lower > truth.high + rounding + 1e-9 * abs(truth.high):
        yield f"{status} with a lower bound {lower:.10g} above the optimum, at most {truth.high:.10g}"
    if upper is not None and upper < truth.low - rounding - 1e-9 * abs(truth.low):
        yield f"{status} with an upper bound {upper:.10g} below the optimum, at least {truth.low:.10g}"
    if truth.objective is not None and np.isfinite(certificate.value):
        value = truth.objective(solution.values)
        if not abs(value - certificate.value) <= (rounding + truth.value_rounding) * _stretch(solution) + 1e-6 * (
            truth.size + abs(value)
        ):
            yield f"{status} with the value {certificate.value:.10g}, but the objective at its point is {value:.10g}"
    if status != "OPTIMAL":
        return
    tally(f"OPTIMAL {drawn.name.partition(',')[0]}")
    if certificate.lower_bound is None and certificate.upper_bound is None:
        tally("OPTIMAL without a bound")
    if truth.checks_value:
        tolerance = UNITS * accuracy * (truth.size + abs(certificate.value)) + rounding
        if certificate.value > truth.high + tolerance or certificate.value < truth.low - tolerance:
            yield f"OPTIMAL {certificate.value:.10g}, but the optimum is {truth.low:.10g} to {truth.high:.10g}"
    if truth.violation is not None:
        off, said = truth.violation(solution.values), certificate.largest_violation
        scale = max(
            1e-6, max(float(abs(value).max(initial=0.0)) for value in map(np.asarray, solution.values.values()))
        )
        if off > max(1.01 * accuracy, 1e-9) * scale or off > said + 1e-7 * scale:
            yield f"OPTIMAL with a violation of {off:.2e} where {said:.2e} is said"


def _stretch(solution: Any) -> float:
    """Return how much rounding in an objective grows with the entries of the point."""
    return 1 + max(float(abs(np.asarray(value)).max(initial=0.0)) for value in solution.values.values()) ** 2


def _differences(one: Any, other: Any):
    """Yield what differs between two answers to the same question."""
    if one.status is not other.status:
        yield f"{one.status} and {other.status} from the same seed"
    elif one.certificate is not None and one.certificate.value != other.certificate.value:
        yield f"{one.certificate.value!r} and {other.certificate.value!r} from the same seed"
