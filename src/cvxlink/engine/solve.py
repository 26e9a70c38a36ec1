"""Reduce, solve, lift, certify."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np

from ..certificates import Certificate, certify_program, measured
from ..certificates.face import Face
from ..certificates.verdicts import Hint, proven_unbounded, proven_verdict
from ..errors import InaccurateWarning, InfeasibleProblem, InvalidInput, InvalidProblem, ReductionRefused, SolveFailed
from ..model.quiet import quiet_about_sparsity
from ..numerics.checks import real_array
from ..numerics.interruption import Interruptible
from ..numerics.matrices import Arrays, Stiffened
from ..numerics.threads import on_threads
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..programs.status import DEFAULT_ACCURACY, Status
from ..reductions import Negation
from ..solvers.catalogue import SOLVERS, is_executable, needs_process
from ..solvers.catalogue import solver_options as translated
from ..solvers.direct import LARGEST as LARGEST_DIRECT
from ..solvers.direct import SOLVER as DIRECT
from ..solvers.direct import run_directly
from ..solvers.isolation import Ended, Limits, NotSendable, run_isolated
from ..solvers.route import Attempt, Route, Settings, resources_of, without_answer
from ..solvers.through_cvxpy import run_solver
from ..solvers.worker import tell
from .contradictions import require_no_contradiction
from .formulation import Formulation, checked_program
from .learnt_kernel import LearntKernel
from .limited import SHARE_KEPT, Unwatched, Watch, solved_within_limits
from .options import Options
from .plan import FromEquivalent, Plan, make_plan, warm_routes
from .repair import WORDS, repaired
from .second_try import another_solver, better_of, limited_iterations
from .solution import Solution, Timings

# Searches for a proof may take this many seconds even if compiling and solving took less: on small programs they take
# milliseconds, unless the machine is busy, and then a proof should not fail.
LEAST_PROOF = 1.0
# An answer with a larger error is not an answer.
HOPELESS = 0.5
# An answer with a larger relative gap is looked at once more.
DOUBTFUL = 1e-3
# How much looser the tolerances are on a second try; the certificate says what was reached.
LOOSER = 100.0
# Outcomes without a point; a dual that is infeasible leaves open which of the other two it is.
VERDICTS = (Status.INFEASIBLE, Status.UNBOUNDED, Status.UNPROVEN)


def solve(problem: Formulation, options: Options) -> Solution:
    """Solve a problem."""
    computation = Interruptible()
    heard = replace(options, progress=computation.here(options.progress))
    with quiet_about_sparsity():
        solution = computation.run(_solved_as_asked, problem, heard)
    if options.strict:
        _raise_or_warn(solution, wants_proof=options.certify is not False)
    return solution


def _solved_as_asked(problem: Formulation, options: Options) -> Solution:
    """Solve in a process that can be stopped if there are limits, and in this one otherwise."""
    if options.time_limit is None and options.memory_limit is None:
        return solved(problem, options)
    try:
        return solved_within_limits(problem, options, solved)
    except NotSendable:
        if options.solver is None:
            raise
    # A solver needs the declaration only, which any process can read.
    return solved(problem, options)


def solved(problem: Formulation, options: Options, watch: Watch | None = None) -> Solution:
    """Reduce, solve, lift and certify; the outcome is a solution, however good."""
    began, watch = perf_counter(), watch or Unwatched()
    try:
        first = _solved(problem, options, watch)
        solver = another_solver(first, options)
        if solver is None:
            return first
        left = _left_of(options.limits, perf_counter() - began).seconds
        again = _solved(problem, replace(options, solver=solver, time_limit=left), watch)
        return better_of(first, again)
    except InfeasibleProblem as contradiction:  # seen without a solver
        if options.strict:
            raise
        plan = make_plan(problem, replace(options, form=problem.about.form, route=None, presolve=False))
        spent = Timings(reduce=perf_counter() - began)
        return Solution(problem, Status.INFEASIBLE, str(contradiction), plan, spent)


def _solved(problem: Formulation, options: Options, watch: Watch) -> Solution:
    limits, began = options.limits, perf_counter()
    require_no_contradiction(problem)
    plan = make_plan(problem, options)
    _check_route(plan, options)
    watch.has_planned(plan)
    factor = None if options.start is None else _started(plan, options.start)
    reduce_seconds = perf_counter() - began
    if plan.route is not None:
        settings = Settings(
            options.accuracy,
            options.time_limit,
            options.verbose,
            options.random_state,
            options.progress,
            factor,
            reduce_seconds + SHARE_KEPT * (options.time_limit or 0.0),
        )
        attempt = _by_route(plan.route, plan.data, settings, limits, options.is_isolated)
        told: dict[str, Any] = {}
    else:
        attempt, told = _by_solver(plan, options, _left_of(limits, reduce_seconds))
    is_free = options.solver is None and options.route is None
    left = None if options.time_limit is None else _left_of(limits, perf_counter() - began).seconds
    proving = Proving(options.certify, is_free, left, watch)
    return finished(plan, attempt, options.accuracy, told, reduce_seconds, strict=False, proving=proving)


def _by_route(route: Route, data: Any, settings: Settings, limits: Limits, isolated: bool) -> Attempt:
    """Run a route, in a process of its own if that is wanted."""
    if isolated:
        there = replace(settings, progress=None if settings.progress is None else tell)
        who = f"the route {route.name!r}"
        ended = run_isolated(route.run, (data, there), limits, who, settings.verbose, settings.progress)
    else:
        with on_threads(limits.threads):
            ended = Ended(route.run(data, settings))
    attempt = without_answer(ended) if ended.answer is None and (ended.limit or ended.failure) else ended.answer
    if not isinstance(attempt, Attempt):
        raise InvalidProblem(f"the route {route.name!r} must return an Attempt, not {attempt!r}")
    return replace(attempt, resources=resources_of(ended, limits, isolated))


def _by_solver(plan: Plan, options: Options, limits: Limits) -> tuple[Attempt, dict[str, Any]]:
    """Run the solver, and once more with looser tolerances if it stalls; return the options as well."""
    assert plan.solver is not None
    told = translated(plan.solver, options.accuracy, options.threads, options.solver_options or {})
    if options.solver is None and not options.solver_options:
        told |= limited_iterations(plan)
    # Only ending its process stops a solver in time.
    isolated = _needs_isolation(plan, options) or limits.seconds is not None or limits.memory is not None
    if _goes_directly(plan, options, isolated):
        found = run_directly(plan.program.declaration, told, limits, options.verbose)
        if found is not None:
            return found, told
    attempt = run_solver(plan.program, plan.solver, told, limits, isolated, options.verbose)
    if _has_stalled(plan.solver, attempt, options):
        assert options.accuracy is not None
        told = translated(plan.solver, min(LOOSER * options.accuracy, 0.1), options.threads, {})
        left = _left_of(limits, attempt.compile_seconds + attempt.solve_seconds)
        again = run_solver(plan.program, plan.solver, told, left, isolated, options.verbose)
        attempt = replace(again, reason=f"{again.reason}, with looser tolerances after it had stalled")
    return attempt, told


def _goes_directly(plan: Plan, options: Options, isolated: bool) -> bool:
    """Whether the solver is called on matrices: a small program for which no solver was named."""
    is_free = options.solver is None and not options.solver_options and not isolated
    return is_free and plan.solver == DIRECT and plan.program.sizes.unknowns <= LARGEST_DIRECT


def _needs_isolation(plan: Plan, options: Options) -> bool:
    """Whether the solver runs in a child process: because that is asked for, or by default because it needs one."""
    assert plan.solver is not None
    if options.isolate is None:
        return needs_process(plan.solver, plan.program.sizes.unknowns)
    return options.isolate or is_executable(plan.solver)


def _has_stalled(solver: str, attempt: Attempt, options: Options) -> bool:
    """Whether a solver gave up that can stall near a tight tolerance, while the tolerances were not set by the user."""
    ours = options.accuracy is not None and not options.solver_options
    return attempt.gave_up and ours and solver in SOLVERS and SOLVERS[solver].stalls


def _left_of(limits: Limits, spent: float) -> Limits:
    """Return the limits for what comes next, with the time that is left."""
    return limits if limits.seconds is None else replace(limits, seconds=max(limits.seconds - spent, 0.1))


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
        enough = max(attempt.compile_seconds + attempt.solve_seconds, LEAST_PROOF)
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
        if by_form is not None and not _is_proven(certificate, accuracy):
            certificate = _with_bounds_of(by_form, certificate, seconds)
    hint = Hint() if is_lifted else Hint(attempt.conic, attempt.direction)
    ended, why = _judged(problem, status, reason, certificate, accuracy, attempt.is_heuristic, hint)
    if certify is not False and _is_doubtful(ended, certificate, attempt):
        ended, why = _second_look(problem, ended, why, certificate)
        if ended in (Status.INFEASIBLE, Status.UNBOUNDED):
            values, duals, certificate = {}, {}, None
    # An equivalent form that led to a wrong answer should be seen.
    may_repair = proving.may_repair and by_form is None and certify is not False
    if may_repair and (values or ended in (Status.ERROR, Status.UNPROVEN)):
        better = repaired(
            program, values, duals, certificate, lambda c: _is_proven(c, accuracy), seconds, accuracy, conic
        )
        if better is not None:
            values, certificate, ended, why = *better, Status.OPTIMAL, f"{reason}; {WORDS}"
    status, reason = ended, why
    solution = Solution(
        problem,
        status,
        reason,
        plan,
        replace(spent, certify=perf_counter() - began),
        Arrays(values),
        Arrays(duals),
        certificate,
        attempt.iterations,
        options,
        attempt.history,
        attempt.resources,
    )
    if strict:
        _raise_or_warn(solution)
    return solution


def _check_route(plan: Plan, options: Options) -> None:
    """Raise on options that the route or solver of the plan does not support."""
    route, taken = plan.route, f"the route {plan.route.name!r}" if plan.route else f"the solver {plan.solver}"
    if route is not None and options.solver_options:
        raise InvalidInput(f"{taken} takes no solver options; name the solver they are for", "solver_options")
    if options.progress is not None and route is None:
        raise InvalidInput(f"{taken} reports no progress through CVXPY; verbose=True lets it print", "progress")
    if options.progress is not None and route is not None and not route.iterates:
        raise InvalidInput(f"{taken} has no steps to report; leave out progress", "progress")
    if options.start is not None and not (route and route.starts_warm):
        able = warm_routes(plan.program)
        remedy = f"use route={' or '.join(map(repr, able))}" if able else "no route for it does, so leave out start"
        raise InvalidInput(f"{taken} does not start from an earlier answer; {remedy}", "start")


def _started(plan: Plan, start: Any) -> np.ndarray:
    """Return an earlier answer as a factor with one row per point of the reduced program."""
    factor = start.factor if isinstance(start, LearntKernel) else real_array(start, "start")
    program = checked_program(plan.problem)
    try:
        n = program.linear_sdp().n
    except ReductionRefused:
        n = program.separable_sdp().n
    if factor.ndim != 2 or len(factor) != n or not np.isfinite(factor).all():
        raise InvalidInput(
            f"start must be an earlier solution on the same {n} points, or a factor with {n} rows of finite numbers",
            "start",
        )
    largest = abs(factor).max(initial=0.0)
    if not largest > 0 or factor.shape[1] >= max(n, 2):
        raise InvalidInput(
            "start must be a factor with fewer columns than rows, and not zero; for a kernel pass its solution or its "
            "factor",
            "start",
        )
    factor = factor / largest
    for step in plan.steps:
        if step.lift is not None:
            factor = step.lift.start(factor)
    return factor


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


def _is_proven(certificate: Certificate, accuracy: float | None) -> bool:
    wanted = DEFAULT_ACCURACY if accuracy is None else accuracy
    return certificate.has_bound and certificate.holds(wanted) and certificate.reaches(wanted)


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


def _judged(
    problem: Formulation,
    status: Status,
    reason: str,
    certificate: Certificate | None,
    accuracy: float | None,
    is_heuristic: bool,
    hint: Hint,
) -> tuple[Status, str]:
    """Return the status and its reason: the certificate decides, not the solver."""
    if certificate is None:
        if status in (Status.OPTIMAL, Status.INACCURATE):
            return Status.ERROR, f"{reason}, but without the multipliers from which the answer is computed"
        return _verdict(problem, status, reason, hint) if status in VERDICTS else (status, reason)
    wanted = DEFAULT_ACCURACY if accuracy is None else accuracy
    if _is_proven(certificate, accuracy):
        return Status.OPTIMAL, reason
    if status is not Status.LIMIT:
        usable = certificate.holds(HOPELESS, weigh_violations=False)
        if is_heuristic:
            usable = certificate.largest_violation <= wanted
        is_short = certificate.holds(wanted) and not certificate.reaches(wanted)
        answered = Status.INACCURATE if certificate.has_bound and not is_short else Status.UNPROVEN
        status = answered if usable else Status.ERROR
    if not certificate.has_bound:
        feasible = f"constraints hold to {certificate.largest_violation:.1e}"
        return status, f"{reason}; {feasible}, and nothing proves the value: {certificate.basis}"
    if status is Status.UNPROVEN:
        return status, f"{reason}; what is certified does not reach far beyond the answer: {certificate.basis}"
    if status is Status.INACCURATE and certificate.sensitivity == np.inf and certificate.attained is None:
        return status, f"{reason}; {certificate.missing}, so that tiny violations can change the value by any amount"
    return status, f"{reason}; certified: {certificate.summary}"


def _verdict(problem: Formulation, status: Status, reason: str, hint: Hint) -> tuple[Status, str]:
    """Return what is proven of a program that a solver found infeasible or unbounded."""
    known = refuted(problem, status)
    if known:
        return Status.ERROR, f"{reason}, but {known}"
    program = checked_program(problem)
    if not program.convex:
        return Status.UNPROVEN, f"{reason}, which nothing proves"
    proven = proven_verdict(program.declaration, status, hint)
    if proven is not None:
        return proven[0], f"{reason}; {proven[1]}"
    with suppress(ReductionRefused):
        minimised = Negation().apply(program).program if _maximises(program) else program
        words = proven_unbounded(minimised.linear_sdp())
        if words is not None:
            return Status.UNBOUNDED, f"{reason}; {words}"
    return Status.UNPROVEN, f"{reason}, which nothing proves"


def _is_doubtful(status: Status, certificate: Certificate | None, attempt: Attempt) -> bool:
    """Whether an outcome may hide that a program has no feasible point or no finite optimum.

    Where the objective falls ever more slowly, or where points violate the constraints as little as one likes, solvers
    end with a point far away, or give up.
    """
    if certificate is None:
        return status is Status.ERROR and attempt.gave_up
    if attempt.is_heuristic or status not in (Status.UNPROVEN, Status.INACCURATE, Status.ERROR):
        return False
    return not certificate.has_bound or not certificate.holds(DOUBTFUL, weigh_violations=False)


def _second_look(
    problem: Formulation, status: Status, reason: str, certificate: Certificate | None
) -> tuple[Status, str]:
    """Return a proven verdict on a program of which a solver found no good answer, or else what was known."""
    if checked_program(problem).sizes.unknowns > LARGEST_DIRECT:
        return status, reason
    is_off = certificate is None or certificate.largest_violation > DEFAULT_ACCURACY
    verdict, words = _verdict(problem, Status.INFEASIBLE if is_off else Status.UNBOUNDED, reason, Hint())
    is_bounded = certificate is not None and certificate.has_bound and certificate.reach is None
    if verdict is Status.INFEASIBLE or (verdict is Status.UNBOUNDED and not is_bounded):
        return verdict, words
    return status, reason


def _maximises(program: Program) -> bool:
    return not isinstance(program, SpecialProgram) and isinstance(program.declaration.objective, cp.Maximize)


def refuted(problem: Formulation, status: Status) -> str:
    """Return why a verdict without an answer is wrong, or an empty string."""
    program = checked_program(problem)
    if isinstance(program, SpecialProgram) and program.refutes is not None:
        return program.refutes(program.data, status)
    try:
        sdp = Face.of(program.linear_sdp()).sdp
    except ReductionRefused:
        return ""
    if status is Status.INFEASIBLE and sdp.has_evident_point():
        return "the problem has a feasible point"
    if status is Status.UNBOUNDED and sdp.trace_bound() is not None:
        return "the constraints bound the trace and therefore the objective"
    return ""


def _raise_or_warn(solution: Solution, wants_proof: bool = True) -> None:
    status, route = solution.status, solution.plan.route
    remedy = (route.remedy if route else None) or status.remedy
    if status is Status.LIMIT and route is not None:
        remedy = "raise the limit"
    if status is Status.UNPROVEN and solution.values and not wants_proof:
        return
    if status in (Status.INACCURATE, Status.UNPROVEN) and solution.values:
        warnings.warn(f"{status.sentence}: {solution.reason}; {remedy}", InaccurateWarning, stacklevel=4)
    elif status is not Status.OPTIMAL:
        remedy = status.remedy if status is not Status.LIMIT else remedy
        raise SolveFailed(f"{status.sentence} ({solution.reason}); {remedy}", solution)
