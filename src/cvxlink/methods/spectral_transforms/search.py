"""Search: a program in one unknown number, convex or not, over a positive interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings

GRID = 200


@dataclass(frozen=True, eq=False)
class OneUnknown:
    """A function of one positive number, to be maximised over an interval."""

    variable: str
    function: Callable[[float], float]
    interval: tuple[float, float]

    def value(self, point: Mapping[str, Any]) -> float:
        """Return the objective."""
        return self.function(float(point[self.variable]))


class Search(Route):
    """Try a grid on a logarithmic scale, then refine between the neighbours of its best point."""

    name = "search"
    why = f"one unknown number: a grid of {GRID} points on a logarithmic scale, refined at the best"

    def run(self, data: OneUnknown, settings: Settings) -> Attempt:
        """Search the whole interval."""
        start = perf_counter()

        def cost(logarithm: Any) -> float:
            value = data.function(float(np.exp(logarithm)))
            return -value if np.isfinite(value) else np.inf

        first, last = np.log(data.interval)
        grid = np.linspace(first, last, GRID)
        costs = np.array([cost(point) for point in grid])
        best = int(costs.argmin())
        if not np.isfinite(costs[best]):
            return Attempt(Status.ERROR, "the objective is nowhere finite on the grid")
        between = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
        refined = minimize_scalar(cost, bounds=between, method="bounded", options={"xatol": settings.tolerance})
        found = refined.x if refined.fun < costs[best] else grid[best]
        if settings.verbose:
            print(f"{data.variable} = {np.exp(found):.6g}, objective {-cost(found):.10g}")
        reason = f"searched between {np.exp(first):g} and {np.exp(last):g}"
        if min(found - first, last - found) < (last - first) / GRID:
            reason += f"; the best {data.variable} is at an end of that range, so the objective may be better beyond it"
        values = {data.variable: np.asarray(np.exp(found))}
        seconds = perf_counter() - start
        return Attempt(Status.OPTIMAL, reason, values, {}, solve_seconds=seconds, iterations=int(refined.nfev))
