"""Running a route or a solver, in this process or in its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from ..numerics.threads import on_threads, threads_in_use
from ..programs.base import Program
from ..programs.status import Status
from .isolation import Ended, Limits, available_threads, run_isolated
from .route import Attempt, Resources, Route, Settings
from .through_cvxpy import call_cvxpy, interpreted


def run_route(route: Route, data: Any, settings: Settings, limits: Limits, isolated: bool) -> Attempt:
    """Run a route; it ends after the step in which its time is up, and is stopped a little later in a child process."""
    if settings.time_limit is not None:
        limits = replace(limits, seconds=5 + 1.25 * settings.time_limit)
    ended = _call(route.run, (data, settings), limits, isolated, f"the route {route.name!r}", settings.verbose)
    attempt = ended.answer if ended.answer is not None else _without_answer(ended)
    return replace(attempt, resources=_resources(ended, limits, isolated))


def run_solver(
    program: Program, solver: str, options: Mapping[str, Any], limits: Limits, isolated: bool, verbose: bool
) -> Attempt:
    """Run a solver on a declared program."""
    start = perf_counter()
    declaration = program.declaration
    declare_seconds = perf_counter() - start
    arguments = declaration, solver, dict(options), verbose
    ended = _call(call_cvxpy, arguments, limits, isolated, solver, verbose)
    attempt = interpreted(ended.answer, solver) if ended.answer is not None else _without_answer(ended)
    compile_seconds = declare_seconds + attempt.compile_seconds
    return replace(attempt, compile_seconds=compile_seconds, resources=_resources(ended, limits, isolated))


def _call(work: Callable[..., Any], arguments: tuple, limits: Limits, isolated: bool, who: str, verbose: bool) -> Ended:
    if isolated:
        return run_isolated(work, arguments, limits, who, verbose)
    with on_threads(limits.threads):
        return Ended(work(*arguments))


def _without_answer(ended: Ended) -> Attempt:
    status = Status.ERROR if ended.limit is None else Status.LIMIT
    return Attempt(status, str(ended.limit or ended.failure), solve_seconds=ended.seconds)


def _resources(ended: Ended, limits: Limits, isolated: bool) -> Resources:
    threads = limits.threads or (available_threads() if isolated else threads_in_use())
    return Resources(threads, isolated, ended.megabytes)
