"""Reduce and solve, then lift and certify."""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import InfeasibleProblem, InvalidInput, InvalidProblem, LinkWarning, ReductionRefused
from ..model.quiet import quiet_about_sparsity
from ..numerics.checks import real_array
from ..numerics.interruption import Interruptible
from ..numerics.threads import on_threads
from ..programs.status import Status
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
from .finishing import Proving, finished
from .formulation import Formulation, checked_program
from .judging import raise_or_warn
from .learnt_kernel import LearntKernel
from .limited import SHARE_KEPT, Unwatched, Watch, solved_within_limits
from .options import Options
from .plan import Plan, make_plan, warm_routes
from .second_try import another_solver, better_of, limited_iterations
from .solution import Solution, Timings

# How much looser the tolerances are on a second try; the certificate says what was reached.
LOOSER = 100.0


def solve(problem: Formulation, options: Options) -> Solution:
    """Solve a problem."""
    for caution in problem.cautions():
        warnings.warn(caution, LinkWarning, stacklevel=3)
    computation = Interruptible()
    heard = replace(options, progress=computation.here(options.progress))
    with quiet_about_sparsity():
        solution = computation.run(_solved_as_asked, problem, heard)
    if options.strict:
        raise_or_warn(solution, wants_proof=options.certify is not False)
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
