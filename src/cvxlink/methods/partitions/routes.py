"""The route to relaxations of partitions with Z ≥ 0: alternating projections with multipliers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from ...numerics.matrices import Congruence
from ...numerics.rounding import UNIT, norm_above
from ...numerics.threads import threads_for
from ...programs.status import DEFAULT_ACCURACY, Status
from ...solvers.route import Attempt, Progress, Route, Settings
from .bounds import cost_sizes, highest_value
from .feasible import repaired
from .only_point import only_matrix
from .proof import cost_scale_of, disproof
from .relaxation import Relaxation
from .splitting import Blocks, Found, Multipliers, solved

MOST_STEPS = 20_000
# The gap that is aimed at, as a share of the accuracy that is asked for; the feasible point that is made of the answer
# takes the rest.
SHARE = 0.2
# Each step takes an eigendecomposition; beyond this order one takes seconds.
LARGEST = 5000
# Where the matrices with the right eigenvalues and those with the right entries are still so far apart at the end, no
# point was found that is both.
APART = 1e-2
# Squared distances may be tiny beside the cost: gaps are judged relative to them, plus this share of the cost.
SMALL = 1e-3
# A bound that is too high without a proof is looked at again when it has risen by this factor more.
MARGIN = 10.0


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


@dataclass(frozen=True)
class Disproof:
    """When there is no point: the value that none exceeds, and what proves it from multipliers, with rounding."""

    highest: float
    proves: Callable[[Multipliers], str]


def iterated(
    blocks: Blocks, settings: Settings, disproof: Disproof, closer: float = 1.0, size: float = 1.0
) -> Iterated:
    """Iterate until value and bound agree, or until it is proven that no point is feasible.

    The residual is to be below the gap by the factor ``closer``. The cost was divided by ``size``.
    """
    start, history, before = perf_counter(), [], 0
    accuracy = SHARE * (DEFAULT_ACCURACY if settings.accuracy is None else settings.accuracy)
    unit = cost_scale_of(blocks.partition, size) or 1.0  # as in the certificate
    if blocks.partition.is_distortion:
        unit = min(unit, SMALL * norm_above(cost_sizes(blocks.partition))) or 1.0
    highest, infeasible = disproof.highest, False

    def enough(bound: float, value: float, residual: float) -> bool:
        gap = abs(value - bound) / (unit + abs(value))
        history.append(gap)
        seconds = perf_counter() - start
        if settings.verbose:
            print(f"{len(history):3d}  value {value * size:.8g}  bound {bound * size:.8g}  residual {residual:.1e}")
        if settings.progress is not None:
            settings.progress(Progress(len(history), seconds, gap, value * size, bound * size))
        done = (gap <= accuracy and residual <= closer * accuracy) or bound > highest
        return done or seconds > settings.seconds_left

    found = solved(blocks, most=MOST_STEPS, enough=enough)
    while found.bound > highest:
        infeasible = bool(disproof.proves(found.multipliers))
        before += found.steps
        if infeasible or before >= MOST_STEPS or perf_counter() - start > settings.seconds_left:
            break
        # Rounding may lift the bound of a program whose points all have nearly the highest value: it goes on.
        highest += MARGIN * (found.bound - highest) + MARGIN * UNIT * (abs(highest) + unit)
        found = solved(blocks, found.state, MOST_STEPS - before, enough)
    else:
        before += found.steps
    found = found._replace(steps=before)
    seconds = perf_counter() - start
    status, reason = Status.OPTIMAL, f"converged in {found.steps} steps"
    if infeasible:
        low, high = found.bound * size, disproof.highest * size
        reason = f"multipliers have the bound {low:.4g}, and no point has a value above {high:.4g}"
        status = Status.INFEASIBLE
    elif seconds > settings.seconds_left:
        status, reason = Status.LIMIT, f"stopped after {settings.time_limit:g} s"
    elif found.steps == MOST_STEPS:
        status, reason = Status.INACCURATE, f"stopped after {found.steps} steps"
        if found.residual > APART:
            status = Status.UNPROVEN
            reason += (
                f" without a point that satisfies all constraints; none is below the bound {found.bound * size:.6g}"
            )
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
        start = perf_counter()
        own, size = data.to_its_own_size()
        only = only_matrix(own.partition)
        if only is not None and repaired(own.partition, data.cuts, only) is not None:
            none = Multipliers(np.zeros_like(only), np.zeros(len(data.cuts)))
            Z, seconds = Congruence(data.partition.T, only), perf_counter() - start
            reason = "links and the number of clusters leave one point"
            return Attempt(Status.OPTIMAL, reason, {"Z": Z}, data.duals_of(none), solve_seconds=seconds)
        with threads_for(data.partition.order):
            blocks = Blocks(own.partition, data.cuts)
            refuted = Disproof(highest_value(own.partition), lambda found: disproof(own, own.duals_of(found)))
            run = iterated(blocks, settings, refuted, size=size)
            found = run.found
            feasible = repaired(own.partition, data.cuts, found.Y)
        Y = found.Y
        limit = run.accuracy * (run.unit + abs(found.value))
        if feasible is not None and abs(np.vdot(blocks.C, feasible - Y)) <= limit:
            Y = feasible
        return run.attempt({"Z": Congruence(data.partition.T, Y)}, data.duals_of(found.multipliers.times(size)))
