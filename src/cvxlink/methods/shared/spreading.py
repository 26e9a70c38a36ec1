"""Iterations that spread labels or links over a graph until nothing moves, with a bound on what is left to go."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from ...programs.status import Status
from ...solvers.route import Attempt, Settings

MOST_ITERATIONS = 100_000


def spread(
    name: str,
    F: np.ndarray,
    following: Callable[[np.ndarray], np.ndarray],
    distance: Callable[[np.ndarray], float],
    settings: Settings,
) -> Attempt:
    """Iterate F ← following(F) until F is as near to the fixed point, relative to its norm, as was asked for.

    Parameters
    ----------
    name : str
        The variable that F is the value of.
    F : array
        Where to begin.
    following : function
        The map.
    distance : function
        A bound on the distance of following(F) to the fixed point, from the step following(F) − F.
    settings : Settings
    """
    start = perf_counter()
    history: list[float] = []
    status, reason = Status.INACCURATE, f"stopped after {MOST_ITERATIONS} iterations"
    while len(history) < MOST_ITERATIONS:
        moved = following(F)
        history.append(distance(moved - F))
        F = moved
        if settings.verbose:
            print(f"{len(history):4d}  within {history[-1]:.2e} of the solution")
        if history[-1] <= settings.tolerance * float(np.linalg.norm(F)):
            status, reason = Status.OPTIMAL, f"converged in {len(history)} iterations"
            break
        if perf_counter() - start > settings.seconds_left:
            status, reason = Status.LIMIT, f"stopped after {settings.time_limit:g} s"
            break
    seconds = perf_counter() - start
    return Attempt(status, reason, {name: F}, {}, 0.0, seconds, iterations=len(history), history=tuple(history))
