"""Reduce, solve, lift, certify."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np

from .backends.base import Attempt, Progress, Settings
from .backends.catalogue import SOLVERS
from .backends.catalogue import solver_options as translated
from .backends.isolation import Limits, available_threads
from .backends.routes import ROUTES
from .backends.running import run_route, run_solver
from .certificate import Certificate
from .errors import InaccurateWarning, InfeasibleProblem, InvalidInput, ReductionRefused, SolveFailed
from .matrices import Arrays
from .plan import Plan, make_plan
from .problem import Problem
from .proofs import certify
from .proofs.linear_sdp import Face
from .solution import LearntKernel, Solution, Timings
from .status import DEFAULT_ACCURACY, Status
from .structures import Nearness
from .validation import as_count, as_flag, real_array

# An answer as wrong as this is no answer.
HOPELESS = 0.5
# How much looser tolerances are at a second try; the certificate says what was reached.
LOOSER = 100.0

# Python with CVXPY takes about 200 MB before anything is solved.
LEAST_MEMORY = 3e8
LONGEST_LIMIT = 1e7  # about four months; threads cannot wait much longer


def solve(
    problem: Problem,
    *,
    solver: str | None,
    form: str | None,
    presolve: bool,
    route: str | None,
    accuracy: float | None,
    solver_options: Mapping[str, Any] | None,
    time_limit: float | None,
    memory_limit: float | str | None,
    isolate: bool,
    threads: int | None,
    strict: bool,
    verbose: bool,
    random_state: Any,
    progress: Callable[[Progress], Any] | None,
    start: Any,
) -> Solution:
    """Solve a problem; the parameters and their defaults are those of :meth:`cvxlink.Problem.solve`."""
    check_arguments(accuracy, solver_options, time_limit, progress)
    limits = Limits(time_limit, _bytes(memory_limit), None if threads is None else _thread_count(threads))
    isolated = as_flag(isolate, "isolate") or memory_limit is not None
    began = perf_counter()
    try:
        plan = make_plan(problem, solver=solver, form=form, presolve=presolve, route=route)
    except InfeasibleProblem as contradiction:
        if strict:
            raise
        plan = make_plan(problem, solver=solver, form=problem.declared_form, presolve=False)
        spent = Timings(reduce=perf_counter() - began)
        return Solution(problem, Status.INFEASIBLE, str(contradiction), plan, spent)
    if plan.route is not None and solver_options:
        raise InvalidInput(f"the route {plan.route.name!r} takes no solver options; name the solver they are meant for")
    _check_route(plan, progress, start, isolated)
    factor = None if start is None else _started(plan, start)
    reduce_seconds = perf_counter() - began
    options: dict[str, Any] = {}
    if plan.route is not None:
        settings = Settings(accuracy, time_limit, verbose, random_state, progress, factor)
        attempt = run_route(plan.route, plan.program, settings, limits, isolated)
    else:
        assert plan.solver is not None
        options = translated(plan.solver, accuracy, threads, solver_options or {})
        # Nothing but the end of its process stops a solver in time.
        isolated = isolated or time_limit is not None
        attempt = run_solver(plan.program, plan.solver, options, limits, isolated, verbose)
        if _has_stalled(plan.solver, attempt, accuracy, solver_options):
            assert accuracy is not None
            options = translated(plan.solver, min(LOOSER * accuracy, 0.1), threads, {})
            again = run_solver(plan.program, plan.solver, options, _left_of(limits, attempt), isolated, verbose)
            attempt = replace(again, reason=f"{again.reason}, with tolerances loosened after it had stalled")
    return finished(plan, attempt, accuracy, options, reduce_seconds, strict)


def _has_stalled(solver: str, attempt: Attempt, accuracy: float | None, solver_options: Any) -> bool:
    """Whether a solver gave up that may do so just before a tight tolerance, and the tolerances were ours to choose."""
    ours = accuracy is not None and not solver_options
    return attempt.gave_up and ours and solver in SOLVERS and SOLVERS[solver].stalls


def _left_of(limits: Limits, attempt: Attempt) -> Limits:
    """Return the limits for a second try: of the time, what the first has left."""
    if limits.seconds is None:
        return limits
    return replace(limits, seconds=max(limits.seconds - attempt.compile_seconds - attempt.solve_seconds, 0.1))


def finished(
    plan: Plan,
    attempt: Attempt,
    accuracy: float | None,
    options: dict[str, Any],
    reduce_seconds: float = 0.0,
    strict: bool = True,
) -> Solution:
    """Lift what a backend brought back, certify it, and judge it."""
    problem = plan.problem
    began = perf_counter()
    status, reason, values, duals = _lifted(plan, attempt)
    lift_seconds = perf_counter() - began

    began = perf_counter()
    certificate = certify(problem, values, duals) if values else None
    status, reason = _judged(problem, status, reason, certificate, accuracy, attempt.is_heuristic)
    timings = Timings(
        reduce_seconds, attempt.compile_seconds, attempt.solve_seconds, lift_seconds, perf_counter() - began
    )
    solution = Solution(
        problem,
        status,
        reason,
        plan,
        timings,
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


def check_arguments(accuracy: Any, solver_options: Any, time_limit: Any = None, progress: Any = None) -> None:
    """Raise on arguments of the wrong kind."""
    if progress is not None and not callable(progress):
        raise InvalidInput(f"progress must be a function that takes a Progress, not {progress!r}")
    if time_limit is not None and not (isinstance(time_limit, Real) and 0 < float(time_limit) < LONGEST_LIMIT):
        raise InvalidInput(f"time_limit must be seconds between 0 and {LONGEST_LIMIT:g}, not {time_limit!r}")
    if accuracy is not None and not (isinstance(accuracy, int | float) and 0 < accuracy < 1):
        raise InvalidInput(f"accuracy must be a number between 0 and 1, or None, not {accuracy!r}")
    if not isinstance(solver_options, Mapping | None):
        raise InvalidInput(f"solver_options must be a dictionary, not {solver_options!r}")
    for name in ("solver", "verbose"):
        if name in (solver_options or {}):
            raise InvalidInput(f"{name!r} is no solver option but an argument of its own: solve({name}=…)")


def _bytes(limit: Any) -> float | None:
    """Return a limit of memory in bytes: a number, or one with a unit."""
    if limit is None:
        return None
    if sys.platform != "linux":
        raise InvalidInput("memory_limit needs Linux, where the memory of a process can be watched")
    size = limit
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kMGT]?)(i?)B\s*", limit)
        size = (
            None if found is None else float(found[1]) * (1024 if found[3] else 1000) ** " kMGT".index(found[2] or " ")
        )
    if not (isinstance(size, Real) and not isinstance(size, bool) and LEAST_MEMORY <= float(size) < np.inf):
        raise InvalidInput(
            f"memory_limit must be bytes, or a number with a unit such as '4GB', and at least "
            f"{LEAST_MEMORY / 1e6:.0f} MB, which Python and CVXPY take; not {limit!r}"
        )
    return float(size)


def _thread_count(threads: Any) -> int:
    return as_count(threads, "threads", most=available_threads())


def _check_route(plan: Plan, progress: Any, start: Any, isolated: bool) -> None:
    taken = f"the route {plan.route.name!r}" if plan.route else f"the solver {plan.solver}"
    if progress is not None and plan.route is None:
        raise InvalidInput(f"{taken} reports no progress through CVXPY; verbose=True lets it print")
    if progress is not None and plan.route is not None and not plan.route.iterates:
        raise InvalidInput(f"{taken} has no steps to report progress of; leave it out")
    if progress is not None and isolated:
        raise InvalidInput("progress is reported from this process only; leave out isolate and memory_limit")
    if start is not None and not (plan.route and plan.route.starts_warm):
        able = [route.name for route in ROUTES if route.starts_warm and route.refuses(plan.program) is None]
        remedy = (
            f"name a route that does: {' or '.join(map(repr, able))}" if able else "no route for it does; leave it out"
        )
        raise InvalidInput(f"{taken} does not start from an earlier answer; {remedy}")


def _started(plan: Plan, start: Any) -> np.ndarray:
    """Return an earlier answer as a factor with a row for each point of the reduced program."""
    factor = start.factor if isinstance(start, LearntKernel) else real_array(start, "start")
    n = plan.problem.linear_sdp().n
    if factor.ndim != 2 or len(factor) != n or not np.isfinite(factor).all():
        raise InvalidInput(
            f"start must be an earlier solution on the same {n} points, or a factor with {n} rows of finite numbers"
        )
    largest = abs(factor).max(initial=0.0)
    if not largest > 0 or factor.shape[1] >= max(n, 2):
        raise InvalidInput(
            "start must be a factor with fewer columns than rows, and not zero; of a kernel give the solution it is "
            "of, or its factor"
        )
    factor = factor / largest
    for step in plan.steps:
        if step.lift is not None:
            factor = step.lift.start(factor)
    return factor


def _lifted(plan: Plan, attempt: Attempt) -> tuple[Status, str, dict[str, Any], dict[str, Any]]:
    """Walk back through the reductions, last first."""
    status, reason, values, duals = attempt.status, attempt.reason, dict(attempt.values), dict(attempt.duals)
    for step in reversed(plan.steps):
        if step.lift is None:
            continue
        status, note = step.lift.status(status)
        reason = f"{reason} {note}".strip()
        if values:
            values, duals = step.lift.point(values, duals)
    worth_looking_at = status.has_answer or status is Status.LIMIT
    return (status, reason, values, duals) if worth_looking_at else (status, reason, {}, {})


def _judged(
    problem: Problem,
    status: Status,
    reason: str,
    certificate: Certificate | None,
    accuracy: float | None,
    is_heuristic: bool,
) -> tuple[Status, str]:
    """Believe the certificate, not the solver."""
    if certificate is None:
        if status.has_answer:
            return Status.ERROR, f"{reason}, without the multipliers that hold the answer"
        refuted = _refuted(problem, status)
        return (Status.ERROR, f"{reason}, but {refuted}") if refuted else (status, reason)
    wanted = DEFAULT_ACCURACY if accuracy is None else accuracy
    if certificate.holds(wanted):
        # Without a bound there is only the solver's word for optimality.
        proven = certificate.lower_bound is not None or status is Status.OPTIMAL
        return (Status.OPTIMAL if proven else status), reason
    if status is not Status.LIMIT:
        usable = certificate.holds(HOPELESS, weigh_violations=False)
        if is_heuristic:
            usable = certificate.largest_violation <= wanted
        status = Status.INACCURATE if usable else Status.ERROR
    return status, f"{reason}; certified: {certificate.summary}"


def _refuted(problem: Problem, status: Status) -> str:
    """Return what shows a verdict without an answer to be wrong, or nothing."""
    if status is Status.INFEASIBLE and isinstance(problem.structure, Nearness):
        return "a small enough multiple of the prior satisfies all bounds"
    try:
        sdp = Face.of(problem.linear_sdp()).sdp
    except ReductionRefused:
        return ""
    if status is Status.INFEASIBLE and sdp.has_evident_point():
        return "the problem has a feasible point"
    if status is Status.UNBOUNDED and sdp.trace_bound() is not None:
        return "the constraints bound the trace, and so the objective"
    return ""


def _raise_or_warn(solution: Solution) -> None:
    status, route = solution.status, solution.plan.route
    remedy = (route.remedy if route else None) or status.remedy
    if status is Status.LIMIT and route is not None:
        remedy = "raise the limit"
    if status is Status.INACCURATE:
        warnings.warn(f"{status.sentence}: {solution.reason}; {remedy}", InaccurateWarning, stacklevel=4)
    elif status is not Status.OPTIMAL:
        remedy = status.remedy if status is not Status.LIMIT else remedy
        raise SolveFailed(f"{status.sentence} ({solution.reason}); {remedy}", solution)
