"""The route to relaxations of partitions with Z ≥ 0: alternating projections with multipliers."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ...numerics.matrices import Congruence
from ...numerics.rounding import norm_above
from ...numerics.threads import threads_for
from ...programs.status import DEFAULT_ACCURACY, Status
from ...solvers.route import Attempt, Progress, Route, Settings
from .bounds import cost_sizes
from .feasible import repaired
from .relaxation import Relaxation
from .splitting import Blocks, solved

MOST_STEPS = 20_000
# The gap that is aimed at, as a share of the accuracy that is asked for; the feasible point that is made of the answer
# takes the rest.
SHARE = 0.2
# Each step takes an eigendecomposition; beyond this order one takes seconds.
LARGEST = 5000


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
        start = perf_counter()
        accuracy = SHARE * (DEFAULT_ACCURACY if settings.accuracy is None else settings.accuracy)
        blocks, history = Blocks(data.partition, data.cuts), []
        unit = min(1.0, float(norm_above(cost_sizes(data.partition)))) or 1.0  # as in the certificate

        def enough(bound: float, value: float, residual: float) -> bool:
            gap = abs(value - bound) / (unit + abs(value))
            history.append(gap)
            seconds = perf_counter() - start
            if settings.verbose:
                print(f"{len(history):3d}  value {value:.8g}  bound {bound:.8g}  residual {residual:.1e}")
            if settings.progress is not None:
                settings.progress(Progress(len(history), seconds, gap, value, bound))
            return (gap <= accuracy and residual <= accuracy) or seconds > settings.seconds_left

        with threads_for(data.partition.order):
            found = solved(blocks, most=MOST_STEPS, enough=enough)
            feasible = repaired(data.partition, data.cuts, found.Y)
        status, reason = Status.OPTIMAL, f"converged in {found.steps} steps"
        if perf_counter() - start > settings.seconds_left:
            status, reason = Status.LIMIT, f"stopped after {settings.time_limit:g} s"
        elif found.steps == MOST_STEPS:
            status, reason = Status.INACCURATE, f"stopped after {found.steps} steps"
        Y = found.Y
        if feasible is not None and abs(np.vdot(blocks.C, feasible - Y)) <= accuracy * (unit + abs(found.value)):
            Y = feasible
        return Attempt(
            status,
            reason,
            {"Z": Congruence(data.partition.T, Y)},
            data.duals_of(found.multipliers),
            solve_seconds=perf_counter() - start,
            iterations=found.steps,
            history=tuple(history),
        )
