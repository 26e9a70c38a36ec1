"""From what a solver or route returned to a solution: lift it, certify it, and decide the status."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..certificates import Certificate, certify_program, measured
from ..certificates.verdicts import Hint
from ..numerics.matrices import Arrays, Stiffened
from ..numerics.threads import processes_per_core
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..programs.status import DEFAULT_ACCURACY, Status
from ..solvers.catalogue import tolerances_asked, words_on_floor
from ..solvers.route import Attempt
from ..solvers.versions import versions_with
from .formulation import checked_program
from .judging import is_doubtful, is_proven, judged, raise_or_warn, second_look
from .limited import Unwatched, Watch
from .plan import FromEquivalent, Plan
from .repair import WORDS, repaired
from .solution import Solution, Timings

# Searches for a proof may take this many seconds even if compiling and solving took less: on small programs they take
# milliseconds. On a busy machine everything takes longer, and a proof should not fail because of that.
LEAST_PROOF = 1.0


class Proving(NamedTuple):
    """How an answer is certified.

    ``may_repair`` says whether an answer of a small program that is not accurate may be replaced by one that is, which
    only happens where the user did not choose the solver. ``left`` are the seconds until a limit, and ``watch`` is told
    of the answer before it is certified.
    """

    certify: str | bool = "full"
    may_repair: bool = False
    left: float | None = None
    watch: Watch = Unwatched()

    def seconds(self, attempt: Attempt) -> float | None:
        """Return how long searches for a proof may take; None if nothing limits them."""
        if self.certify == "full":
            return self.left
        enough = max(attempt.compile_seconds + attempt.solve_seconds, LEAST_PROOF * processes_per_core())
        return enough if self.left is None else min(enough, self.left)


def finished(
    plan: Plan,
    attempt: Attempt,
    accuracy: float | None,
    options: dict[str, Any],
    reduce_seconds: float = 0.0,
    strict: bool = True,
    proving: Proving | None = None,
) -> Solution:
    """Lift what a solver or route returned, certify it, and decide the status."""
    problem, proving = plan.problem, proving or Proving()
    certify, seconds = proving.certify, proving.seconds(attempt)
    proving.watch.lifts()
    began = perf_counter()
    status, reason, values, duals, by_form = _lifted(plan, attempt)
    lift_seconds = perf_counter() - began
    spent = Timings(reduce_seconds, attempt.compile_seconds, attempt.solve_seconds, lift_seconds)
    if values:
        proving.watch.certifies(Solution(problem, status, reason, plan, spent, Arrays(values), Arrays(duals)))

    began = perf_counter()
    certificate, program = None, checked_program(problem)
    is_lifted = any(step.lift is not None for step in plan.steps)
    conic = None if is_lifted else attempt.conic
    if values and certify is False:
        certificate = measured(program, values)
    elif values:
        certificate = certify_program(program, values, duals, seconds, accuracy, conic)
        if by_form is not None and not is_proven(certificate, accuracy):
            certificate = _with_bounds_of(by_form, certificate, seconds)
    hint = Hint() if is_lifted else Hint(attempt.conic, attempt.direction, attempt.duals)
    ended, why = judged(problem, status, reason, certificate, accuracy, attempt.is_heuristic, hint)
    if certify is not False and is_doubtful(ended, certificate, attempt):
        ended, why = second_look(problem, ended, why, certificate)
        if ended in (Status.INFEASIBLE, Status.UNBOUNDED):
            values, duals, certificate = {}, {}, None
    # An equivalent form that led to a wrong answer should be seen.
    may_repair = proving.may_repair and by_form is None and certify is not False
    if may_repair and (values or ended in (Status.ERROR, Status.UNPROVEN)):
        better = repaired(
            program, values, duals, certificate, lambda c: is_proven(c, accuracy), seconds, accuracy, conic
        )
        if better is not None:
            values, certificate, ended, why = *better, Status.OPTIMAL, f"{reason}; {WORDS}"
    status, reason = ended, why
    floor = words_on_floor(plan.solver, accuracy) if status is Status.INACCURATE and plan.solver else ""
    solution = Solution(
        problem,
        status,
        f"{reason}; {floor}" if floor else reason,
        plan,
        replace(spent, certify=perf_counter() - began),
        Arrays(values),
        Arrays(duals),
        certificate,
        attempt.iterations,
        options,
        attempt.history,
        attempt.resources,
        attempt.status,
        tolerances_of(plan, accuracy, options),
        versions_with(plan.solver),
    )
    if strict:
        raise_or_warn(solution)
    return solution


def tolerances_of(plan: Plan, accuracy: float | None, options: dict[str, Any]) -> dict[str, float]:
    """Return the tolerances that were asked for: of a solver by the names of its options, of a route the accuracy."""
    if plan.solver is not None:
        return tolerances_asked(plan.solver, options)
    return {"accuracy": DEFAULT_ACCURACY if accuracy is None else accuracy}


@dataclass(frozen=True, eq=False)
class _ByForm:
    """A point of an equivalent program with the same optimum."""

    form: str
    program: Program
    values: dict[str, Any]
    duals: dict[str, Any]


def _lifted(plan: Plan, attempt: Attempt) -> tuple[Status, str, dict[str, Any], dict[str, Any], _ByForm | None]:
    """Walk back through the reductions, last first."""
    status, reason, values, duals = attempt.status, attempt.reason, dict(attempt.values), dict(attempt.duals)
    by_form = None
    for step in reversed(plan.steps):
        if step.lift is None:
            continue
        status, note = step.lift.verdicts.get(status, (status, ""))
        reason = f"{reason} {note}".strip()
        if values and isinstance(step.lift, FromEquivalent):
            by_form = _ByForm(step.lift.form, checked_program(step.lift.equivalent), values, duals)
        if values:
            values, duals = step.lift.point(values, duals)
    duals = _in_declared_shapes(checked_program(plan.problem), duals)
    worth_looking_at = status.has_answer or status is Status.LIMIT
    return (status, reason, values, duals, by_form) if worth_looking_at else (status, reason, {}, {}, None)


def _in_declared_shapes(program: Program, duals: dict[str, Any]) -> dict[str, Any]:
    """Return multipliers with the shapes of the constraints, which programs as data have as one row after another."""
    shaped = dict(duals)
    for name, given in duals.items():
        shape = np.shape(given) if isinstance(given, np.ndarray) else getattr(given, "shape", ())
        if len(shape) != 1 or isinstance(program, SpecialProgram):
            continue
        terms = program.declaration.constraints.get(name, [])
        if len(terms) == 1 and len(terms[0].shape) > 1 and terms[0].size == shape[0]:
            wanted = terms[0].shape
            if isinstance(given, Stiffened):
                parts = (np.reshape(part, wanted, order="F") for part in (given.base, given.large))
                shaped[name] = Stiffened(*parts)
            else:
                shaped[name] = np.reshape(given, wanted, order="F")
    return shaped


def _with_bounds_of(by_form: _ByForm, certificate: Certificate, seconds: float | None) -> Certificate:
    """Return a certificate with the bound of an equivalent program if that bound is better."""
    own = certify_program(by_form.program, by_form.values, by_form.duals, seconds)
    if own.bound is None or own.maximises != certificate.maximises:
        return certificate
    if certificate.bound is not None and (certificate.bound >= own.bound) != certificate.maximises:
        return certificate
    bounds: dict[str, Any] = {"lower_bound": own.lower_bound, "upper_bound": own.upper_bound}
    if certificate.attained is not None:
        bounds["lower_bound" if certificate.maximises else "upper_bound"] = certificate.attained
    return replace(
        certificate,
        **bounds,
        basis=f"{own.basis}, for the form {by_form.form!r}, which the formulation says has the same optimum",
        sensitivity=own.sensitivity if certificate.sensitivity is None else certificate.sensitivity,
        rounding=max(own.rounding or 0.0, certificate.rounding or 0.0),
        rounding_is_proven=own.rounding_is_proven and certificate.rounding_is_proven,
        reach=own.reach,
    )
