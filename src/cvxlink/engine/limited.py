"""Limits of time and memory hold for everything from the declaration to the certificate: it all runs in one process."""

from __future__ import annotations

import io
import pickle
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

from joblib import wrap_non_picklable_objects

from ..certificates import measured
from ..errors import SolverUnavailable
from ..programs.base import Program
from ..solvers.isolation import Ended, run_isolated
from ..solvers.licences import remember_refusal, require_licence
from ..solvers.route import Progress, Resources, resources_of, without_answer
from ..solvers.worker import Stage, tell
from .formulation import Formulation, checked_program
from .options import Options
from .plan import Plan
from .solution import Solution, Timings

PRESOLVING, CERTIFYING = "presolving", "certifying the answer"
# What lifting and certifying the best point of an iterative route may take once the time is up. With the time to clean
# up, this keeps the promise of one second or a tenth of the limit.
LEAST_GRACE, SHARE_OF_GRACE = 0.8, 0.08
# The share of the time that an iterative route does not get, for the same purpose.
SHARE_KEPT = 0.1


class Watch(Protocol):
    """Is told how far a solve has come."""

    def has_planned(self, plan: Plan) -> None:
        """Solving begins, as planned."""

    def lifts(self) -> None:
        """There is an outcome, which will be lifted."""

    def certifies(self, answer: Solution) -> None:
        """There is an answer, which will be certified."""


class Unwatched:
    """Nobody wants to know."""

    def has_planned(self, plan: Plan) -> None:
        """Do nothing."""

    def lifts(self) -> None:
        """Do nothing."""

    def certifies(self, answer: Solution) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class _Planned:
    """A plan in bytes, which are read only if there is no solution to have it from."""

    content: bytes


@dataclass(frozen=True)
class _Answer:
    """An answer that is not certified yet, in bytes, which are read only if the time is up before it is."""

    content: bytes


@dataclass(frozen=True)
class _Outcome:
    """What comes back: a solution in bytes or an error, and the warnings on the way."""

    solution: bytes | None
    error: Exception | None
    warnings: tuple[tuple[Warning | str, type[Warning]], ...]


class _Telling:
    """Tells the process that waits how far a solve has come, and what its plan is."""

    def __init__(self, problem: Formulation, time_limit: float | None) -> None:
        self.problem = problem
        limit = time_limit or 0.0
        self.grace = max(LEAST_GRACE, SHARE_OF_GRACE * limit)

    def has_planned(self, plan: Plan) -> None:
        route = plan.route
        who = f"the route {route.name!r}" if route else str(plan.solver)
        tell(_Planned(_dumped(plan, self.problem)))
        # A route with steps ends by itself, with the best point so far.
        tell(Stage(who, self.grace if route and route.iterates else 0.0))

    def lifts(self) -> None:
        tell(Stage(CERTIFYING, self.grace))

    def certifies(self, answer: Solution) -> None:
        tell(_Answer(_dumped(answer, self.problem)))


def solved_within_limits(
    problem: Formulation, options: Options, solved: Callable[[Formulation, Options, Watch], Solution]
) -> Solution:
    """Solve a problem in a process that is stopped at the limits; what it was doing then is the reason."""
    plans: list[bytes] = []
    answers: list[bytes] = []

    def hear(note: Any) -> None:
        if isinstance(note, _Planned):
            plans.append(note.content)
        elif isinstance(note, _Answer):
            answers.append(note.content)
        elif isinstance(note, Progress) and options.progress is not None:
            options.progress(note)

    require_licence((options.solver or "").upper())
    there = replace(options, progress=None, memory_limit=None, isolate=False)
    reports = options.progress is not None
    arguments = (problem, there, solved, reports)
    ended = run_isolated(_solved_there, arguments, options.limits, PRESOLVING, options.verbose, hear)
    resources = resources_of(ended, options.limits, isolated=True)
    if not isinstance(ended.answer, _Outcome) and answers:
        return _not_certified(_loaded(answers[-1], problem), ended, resources)
    if not isinstance(ended.answer, _Outcome):
        plan = _loaded(plans[-1], problem) if plans else _no_plan(problem)
        return _without_solution(problem, plan, ended, resources)
    for message, category in ended.answer.warnings:
        warnings.warn(message, category, stacklevel=2)
    if ended.answer.solution is None:
        error = ended.answer.error
        if isinstance(error, SolverUnavailable) and error.needs_licence:
            remember_refusal((options.solver or "").upper(), str(error))  # the other process is gone
        raise cast(Exception, ended.answer.error)
    solution = _loaded(ended.answer.solution, problem)
    return replace(solution, problem=problem, plan=replace(solution.plan, problem=problem), resources=resources)


def _without_solution(problem: Formulation, plan: Plan, ended: Ended, resources: Resources) -> Solution:
    attempt = without_answer(ended)
    plan = replace(plan, problem=problem)
    return Solution(
        problem, attempt.status, attempt.reason, plan, Timings(solve=attempt.solve_seconds), resources=resources
    )


def _not_certified(answer: Solution, ended: Ended, resources: Resources) -> Solution:
    """Return an answer that was found before the time was up, with its value and violations and without a proof."""
    attempt, problem = without_answer(ended), answer.problem
    certificate = replace(measured(checked_program(problem), answer.values), basis="the time was up before a proof")
    plan = replace(answer.plan, problem=problem)
    return replace(
        answer, status=attempt.status, reason=attempt.reason, plan=plan, certificate=certificate, resources=resources
    )


def _no_plan(problem: Formulation) -> Plan:
    """Return a plan for a solve that was stopped before it had one; reading the program could be what took so long."""
    return Plan(problem, (), cast(Program, None), "it was stopped before it was decided how to solve the problem")


def _solved_there(
    problem: Formulation,
    options: Options,
    solved: Callable[[Formulation, Options, Watch], Solution],
    reports: bool,
) -> _Outcome:
    """Solve in the child; an error is an outcome, since it has to be raised in the process that waits."""
    if reports:
        options = replace(options, progress=tell)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            solution, error = _dumped(solved(problem, options, _Telling(problem, options.time_limit)), problem), None
        except MemoryError:
            raise
        except Exception as raised:
            raised.add_note(f"In the process that solved it:\n{traceback.format_exc()}")
            solution, error = None, raised
    return _Outcome(solution, error, tuple((warning.message, warning.category) for warning in seen))


# ---------------------------------------------------------------------- there and back


class _Pickler(pickle.Pickler):
    """Leaves out the problem, which the process that waits has."""

    def __init__(self, file: io.BytesIO, problem: Formulation) -> None:
        super().__init__(file, protocol=5)
        self.problem = problem

    def persistent_id(self, value: Any) -> str | None:
        return "problem" if value is self.problem else None


class _Unpickler(pickle.Unpickler):
    """Puts in the problem that was left out."""

    def __init__(self, file: io.BytesIO, problem: Formulation) -> None:
        super().__init__(file)
        self.problem = problem

    def persistent_load(self, name: str) -> Formulation:
        return self.problem


def _dumped(value: Any, problem: Formulation) -> bytes:
    """Return a plan or solution in bytes, without the problem; what is defined in a script is sent along."""
    file = io.BytesIO()
    try:
        _Pickler(file, problem).dump(value)
        if b"__main__" not in file.getbuffer().tobytes():
            return file.getvalue()
    except (pickle.PicklingError, AttributeError, TypeError):  # for example a class inside a function
        pass
    return pickle.dumps(wrap_non_picklable_objects(value, keep_wrapper=False))


def _loaded(content: bytes, problem: Formulation) -> Any:
    return _Unpickler(io.BytesIO(content), problem).load()
