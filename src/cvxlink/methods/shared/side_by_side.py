"""Programs side by side: no constraint and no cost joins them, so each is solved and proven by itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from ...certificates.certificate import Certificate
from ...certificates.certify import certify_program
from ...certificates.violations import violations_of
from ...engine.formulation import checked_program
from ...engine.judging import refuted
from ...engine.problem import Problem
from ...engine.solution import Solution
from ...errors import InaccurateWarning
from ...model.declared import declared_variables
from ...numerics.matrices import as_dense
from ...programs.declared import SpecialProgram
from ...programs.status import Status
from ...solvers.route import Attempt, Progress, Route, Settings


@dataclass(frozen=True, eq=False)
class SideBySide:
    """The problems, each under the word that its constraints begin with; their variables have different names."""

    parts: Mapping[str, Problem]

    def value(self, point: Mapping[str, Any]) -> float:
        """Return the sum of the objectives."""
        return sum(_value(part, self.point_of(part, point)) for part in self.parts.values())

    def violations(self, point: Mapping[str, Any]) -> dict[str, float]:
        """Return the largest violation of each constraint of each problem."""
        return self.named(lambda part: _violations(part, self.point_of(part, point)))

    def named(self, of: Callable[[Problem], Mapping[str, Any]]) -> dict[str, Any]:
        """Return numbers or matrices that each problem has by the names of its constraints."""
        return {f"{word} {name}": value for word, part in self.parts.items() for name, value in of(part).items()}

    def point_of(self, part: Problem, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables of one problem."""
        return {name: point[name] for name in declared_variables(part)}

    def duals_of(self, word: str, duals: Mapping[str, Any]) -> dict[str, Any]:
        """Return the multipliers of one problem."""
        start = f"{word} "
        return {name.removeprefix(start): value for name, value in duals.items() if name.startswith(start)}


def _value(part: Problem, point: Mapping[str, Any]) -> float:
    program = checked_program(part)
    if isinstance(program, SpecialProgram):
        return program.value(point)
    return program.linear_sdp().value(next(iter(point.values())))


def _violations(part: Problem, point: Mapping[str, Any]) -> Mapping[str, float]:
    program = checked_program(part)
    if isinstance(program, SpecialProgram):
        return program.violations(point)
    return violations_of(program.declaration, {name: as_dense(value) for name, value in point.items()})[0]


def refuted_by_parts(data: SideBySide, status: Status) -> str:
    """Return why a verdict is wrong: it is unbounded or infeasible only if one of the parts is."""
    said = [refuted(part, status) for part in data.parts.values()]
    return "; ".join(said) if all(said) else ""


class OneAfterTheOther(Route):
    """Solve the problems one after the other, each in its default way."""

    name = "separately"
    why = "nothing joins the programs, so each has its own solution"
    iterates = True

    def run(self, data: SideBySide, settings: Settings) -> Attempt:
        """Solve them; steps are counted on from one to the next."""
        start, solved, steps = perf_counter(), {}, _Counted(settings.progress)
        for word, part in data.parts.items():
            left = None if settings.time_limit is None else settings.seconds_left - (perf_counter() - start)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InaccurateWarning)  # the answer is judged as a whole
                solved[word] = part.solve(
                    accuracy=settings.accuracy,
                    time_limit=left if left is None else max(left, 0.01),
                    random_state=settings.random_state,
                    progress=steps if settings.progress is not None and _iterates(part) else None,
                    verbose=settings.verbose,
                    strict=False,
                )
        values = {name: value for one in solved.values() for name, value in one.values.stored.items()}
        status, reason = _of_all(solved)
        duals = data.named(lambda part: next(s for s in solved.values() if s.problem is part).duals.stored)
        return Attempt(status, reason, values, duals, solve_seconds=perf_counter() - start)


class _Counted:
    """Passes the progress of several solves on as that of one."""

    def __init__(self, progress: Callable[[Progress], Any] | None) -> None:
        self.progress, self.step, self.start = progress, 0, perf_counter()

    def __call__(self, one: Progress) -> None:
        assert self.progress is not None
        self.progress(replace(one, step=self.step, seconds=perf_counter() - self.start))
        self.step += 1


def _iterates(part: Problem) -> bool:
    route = part.explain().route
    return route is not None and route.iterates


def _of_all(solved: Mapping[str, Solution]) -> tuple[Status, str]:
    """Return how the solves ended: as the first that found no optimum, or as all of them."""
    for one in solved.values():
        if one.status is not Status.OPTIMAL:
            return one.status, f"{type(one.problem).__name__}: {one.reason}"
    return Status.OPTIMAL, "; ".join(f"{type(one.problem).__name__}: {one.reason}" for one in solved.values())


def certify_side_by_side(data: SideBySide, point: Mapping[str, Any], duals: Mapping[str, Any]) -> Certificate:
    """Certify each problem by itself: values add up, and so do bounds."""
    proven = {
        word: certify_program(checked_program(part), data.point_of(part, point), data.duals_of(word, duals))
        for word, part in data.parts.items()
    }
    several = list(proven.values())
    eigenvalues = [one.min_eigenvalue for one in several if one.min_eigenvalue is not None]
    whole = Certificate(
        sum(one.value for one in several),
        {f"{word} {name}": size for word, one in proven.items() for name, size in one.violations.items()},
        lower_bound=_sum(one.lower_bound for one in several),
        upper_bound=_sum(one.upper_bound for one in several),
        min_eigenvalue=min(eigenvalues, default=None),
        basis="; ".join(f"{word}: {one.basis}" for word, one in proven.items()),
        sensitivity=_sum(_worth(one) for one in several),
        rounding=_sum(one.rounding for one in several),
        rounding_is_proven=all(one.rounding_is_proven for one in several),
        missing="; ".join(one.missing for one in several if one.missing),
        scale=max(one.scale for one in several),
        cost_scale=max(one.cost_scale for one in several),
    )
    relative = {
        f"{word} {name}": size
        for word, one in proven.items()
        for name, size in (one.relative_violations or _by_scale(one)).items()
    }
    return replace(whole, relative_violations=relative)


def _worth(one: Certificate) -> float | None:
    """Return how much the violations are worth, from an exactly feasible point or else from the multipliers."""
    return one.sensitivity if one.attained is None else abs(one.attained - one.value)


def _by_scale(one: Certificate) -> dict[str, float]:
    return {name: size / max(one.scale, 1e-6) for name, size in one.violations.items()}


def _sum(numbers: Any) -> float | None:
    """Return the sum, or None if a number is not known."""
    numbers = list(numbers)
    return None if any(number is None for number in numbers) else float(sum(numbers))
