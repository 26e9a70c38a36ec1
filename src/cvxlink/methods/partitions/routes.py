"""The route to relaxations of partitions with Z ≥ 0: alternating projections with multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ...numerics.matrices import Congruence
from ...numerics.rounding import norm_above
from ...numerics.threads import threads_for
from ...programs.status import DEFAULT_ACCURACY, Status
from ...solvers.route import Attempt, Progress, Route, Settings
from .bounds import cost_sizes, highest_value
from .feasible import repaired
from .relaxation import Relaxation
from .splitting import Blocks, Found, solved

MOST_STEPS = 20_000
# The gap that is aimed at, as a share of the accuracy that is asked for; the feasible point that is made of the answer
# takes the rest.
SHARE = 0.2
# Each step takes an eigendecomposition; beyond this order one takes seconds.
LARGEST = 5000
# Where the matrices with the right eigenvalues and those with the right entries are still so far apart at the end, no
# point was found that is both.
APART = 1e-2


@dataclass(frozen=True, eq=False)
class Iterated:
    """How an iteration ended."""

    found: Found
    status: Status
    reason: str
    history: tuple[float, ...]
    seconds: float
    accuracy: float
    unit: float

    def attempt(self, values: dict[str, Any], duals: dict[str, Any]) -> Attempt:
        """Return the outcome with a point; without one, if none may exist."""
        return Attempt(
            self.status,
            self.reason,
            values if self.status.has_answer or self.status is Status.LIMIT else {},
            duals,
            solve_seconds=self.seconds,
            iterations=self.found.steps,
            history=self.history,
        )


def iterated(blocks: Blocks, settings: Settings, highest: float, closer: float = 1.0) -> Iterated:
    """Iterate until value and bound agree; no feasible point has a value above the highest.

    The residual is to be below the gap by the factor ``closer``.
    """
    start, history = perf_counter(), []
    accuracy = SHARE * (DEFAULT_ACCURACY if settings.accuracy is None else settings.accuracy)
    unit = min(1.0, float(norm_above(cost_sizes(blocks.partition)))) or 1.0  # as in the certificate

    def enough(bound: float, value: float, residual: float) -> bool:
        gap = abs(value - bound) / (unit + abs(value))
        history.append(gap)
        seconds = perf_counter() - start
        if settings.verbose:
            print(f"{len(history):3d}  value {value:.8g}  bound {bound:.8g}  residual {residual:.1e}")
        if settings.progress is not None:
            settings.progress(Progress(len(history), seconds, gap, value, bound))
        done = (gap <= accuracy and residual <= closer * accuracy) or bound > highest
        return done or seconds > settings.seconds_left

    found = solved(blocks, most=MOST_STEPS, enough=enough)
    seconds = perf_counter() - start
    status, reason = Status.OPTIMAL, f"converged in {found.steps} steps"
    if found.bound > highest:
        reason = f"multipliers have the bound {found.bound:.4g}, and no point has a value above {highest:.4g}"
        status = Status.INFEASIBLE
    elif seconds > settings.seconds_left:
        status, reason = Status.LIMIT, f"stopped after {settings.time_limit:g} s"
    elif found.steps == MOST_STEPS:
        status, reason = Status.INACCURATE, f"stopped after {found.steps} steps"
        if found.residual > APART:
            status = Status.UNPROVEN
            reason += f" without a point that satisfies all constraints; none is below the bound {found.bound:.6g}"
    return Iterated(found, status, reason, tuple(history), seconds, accuracy, unit)


class Splitting(Route):
    """Project in turn on the matrices with the right eigenvalues and on those with the right entries."""

    name = "splitting"
    why = "accelerated alternating directions on the blocks of must-linked points"
    iterates = True
    remedy = "raise the time limit, or ask for less accuracy"

    def refuses(self, data: Relaxation) -> str | None:
        """Return why there are too many blocks for it."""
        order = data.partition.order
        return f"{order} blocks are too many for dense eigendecompositions" if order > LARGEST else None

    def run(self, data: Relaxation, settings: Settings) -> Attempt:
        """Iterate until value and bound agree."""
        with threads_for(data.partition.order):
            blocks = Blocks(data.partition, data.cuts)
            run = iterated(blocks, settings, highest_value(data.partition))
            found = run.found
            feasible = repaired(data.partition, data.cuts, found.Y)
        Y = found.Y
        limit = run.accuracy * (run.unit + abs(found.value))
        if feasible is not None and abs(np.vdot(blocks.C, feasible - Y)) <= limit:
            Y = feasible
        return run.attempt({"Z": Congruence(data.partition.T, Y)}, data.duals_of(found.multipliers))
