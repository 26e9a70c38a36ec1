"""Routes for labels and links that spread over a graph: linear equations with one sparse matrix."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from ..problem import Problem
from ..status import Status
from ..structures import Harmonic, Smoothing, TwoSided
from .base import Attempt, Settings, StructuredRoute
from .lyapunov import LARGEST


class Extending(StructuredRoute):
    """Extend known values harmonically."""

    name = "harmonic"
    why = "one sparse system for all classes"
    kind = Harmonic

    def cannot(self, structure: Harmonic) -> str | None:
        """Return that nothing is in the way."""
        return None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Solve the system; the multipliers of the known values are the derivatives of the optimum."""
        structure: Harmonic = problem.structure
        start = perf_counter()
        f = structure.extension(structure.given)
        duals = {"labels": 2 * (structure.L @ f)[structure.known]}
        seconds = perf_counter() - start
        return Attempt(Status.OPTIMAL, f"solved by {structure.extension.method}", {"f": f}, duals, 0.0, seconds)


class Spread(StructuredRoute):
    """Solve the equation the quadratic is equal to."""

    def cannot(self, structure: Any) -> str | None:
        """Return that nothing is in the way."""
        return None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Solve it."""
        structure = problem.structure
        start = perf_counter()
        values = {structure.variable: structure.solution()}
        return Attempt(Status.OPTIMAL, "solved a linear system", values, solve_seconds=perf_counter() - start)


class OneSolve(Spread):
    """Labels: one sparse solve."""

    name = "sparse-solve"
    why = "one sparse system for all classes"
    kind = Smoothing


class TwoPasses(Spread):
    """Links: along columns, then along rows."""

    name = "two-passes"
    why = "one sparse system, solved for the columns and then for the rows"
    kind = TwoSided

    def cannot(self, structure: TwoSided) -> str | None:
        """Return what is in the way."""
        if structure.n > LARGEST:
            return f"{structure.n} points are too many for a dense matrix of propagated links (at most {LARGEST})"
        return None
