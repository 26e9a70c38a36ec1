"""Routes for labels that spread over a graph: one sparse system."""

from __future__ import annotations

from time import perf_counter

from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings
from ..shared.routes import LinearEquation
from .harmonic import Harmonic


class Extending(Route):
    """Extend known values harmonically."""

    name = "harmonic"
    why = "one sparse system for all classes"

    def run(self, data: Harmonic, settings: Settings) -> Attempt:
        """Solve the system; the multipliers of the known values are the derivatives of the optimum."""
        start = perf_counter()
        f = data.extension(data.given)
        duals = {"labels": 2 * (data.L @ f)[data.known]}
        seconds = perf_counter() - start
        return Attempt(Status.OPTIMAL, f"solved by {data.extension.method}", {"f": f}, duals, 0.0, seconds)


class OneSolve(LinearEquation):
    """Labels: one sparse solve."""

    name = "sparse-solve"
    why = "one sparse system for all classes"
