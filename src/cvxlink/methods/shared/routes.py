"""Solve a quadratic program by its linear equation."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings


class LinearEquation(Route):
    """Solve the linear equation of a quadratic program."""

    def run(self, data: Any, settings: Settings) -> Attempt:
        """Solve it."""
        start = perf_counter()
        values = {data.variable: data.solution()}
        return Attempt(Status.OPTIMAL, "solved a linear system", values, solve_seconds=perf_counter() - start)
