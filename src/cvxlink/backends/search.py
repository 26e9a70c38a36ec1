"""Search: a program in one unknown number, convex or not, over a positive interval."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize_scalar

from ..problem import Problem
from ..status import Status
from .base import Attempt, Route, Settings

GRID = 200


class Search(Route):
    """Try a grid on a logarithmic scale, then refine between the neighbours of its best point."""

    name = "search"
    why = f"one unknown number: a grid of {GRID} points on a logarithmic scale, refined at the best"

    def refuses(self, problem: Problem) -> str | None:
        """Return what is missing."""
        if getattr(problem, "search_interval", None) is None:
            return "it names no interval to search (search_interval)"
        variables = list(problem.variables().values())
        if len(variables) != 1 or variables[0].size != 1:
            return "it has more than one unknown number"
        return None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Search the whole interval."""
        start = perf_counter()
        declaration = problem.declare()
        ((name, variable),) = declaration.variables.items()
        sign = 1.0 if isinstance(declaration.objective, cp.Minimize) else -1.0
        terms = [term for group in declaration.constraints.values() for term in group]

        def cost(logarithm: Any) -> float:
            variable.save_value(np.full(variable.shape, np.exp(logarithm)))
            feasible = all(np.max(term.violation()) <= 1e-12 for term in terms)
            value = float(declaration.objective.value) if feasible else np.nan
            return sign * value if np.isfinite(value) else np.inf

        first, last = np.log(problem.search_interval)  # type: ignore[attr-defined]
        grid = np.linspace(first, last, GRID)
        costs = np.array([cost(point) for point in grid])
        best = int(costs.argmin())
        if not np.isfinite(costs[best]):
            return Attempt(Status.ERROR, "the objective is nowhere finite on the grid")
        between = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
        refined = minimize_scalar(cost, bounds=between, method="bounded", options={"xatol": settings.tolerance})
        found = refined.x if refined.fun < costs[best] else grid[best]
        if settings.verbose:
            print(f"{name} = {np.exp(found):.6g}, objective {sign * cost(found):.10g}")
        value = np.full(variable.shape, np.exp(found))
        seconds = perf_counter() - start
        reason = f"searched between {np.exp(first):g} and {np.exp(last):g}"
        if min(found - first, last - found) < (last - first) / GRID:
            reason += f"; the best {name} is at that end, and further out the objective may be better still"
        return Attempt(Status.OPTIMAL, reason, {name: value}, {}, solve_seconds=seconds, iterations=int(refined.nfev))
