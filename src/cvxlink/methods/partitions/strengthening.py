"""Cuts in rounds: solve, find the cuts that the answer violates most, drop those without effect, solve again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...numerics.checks import as_count, as_positive
from ...numerics.threads import threads_for
from .bounds import proven_bound
from .cuts import Cuts, chosen, extended, keys_of, separated, unknown
from .partition import Partition
from .splitting import Blocks, Found, State, solved

# Cuts of each kind that are added in a round, per block.
ADDED_PER_BLOCK = 20
# Steps without cuts.
FIRST_STEPS = 2000
# A program is solved well enough if its value and bound differ by this share of them, or by the other share of what is
# left to the best known clustering.
CLOSE = 1e-5
SHARE = 0.02
# So many rounds without a gain worth its time are the last ones.
MOST_IDLE = 2


class Effort(NamedTuple):
    """How much work goes into cuts.

    Attributes
    ----------
    rounds : int
        The largest number of rounds after the first solve.
    steps : int
        Steps of the algorithm in each of them.
    least_gain : float
        No further round is worth its time if one closes less than this share of the gap to the best known clustering.
    """

    rounds: int = 20
    steps: int = 300
    least_gain: float = 0.05


@dataclass(frozen=True)
class Round:
    """What one round of cuts achieved.

    Attributes
    ----------
    number : int
        0 for the relaxation without further cuts.
    pairs, triangles, cliques : int
        The numbers of cuts in the program.
    bound : float
        The best lower bound so far.
    closed : float or None
        The share of the gap between the first bound and the best known clustering that is closed so far.
    steps : int
        Steps of the algorithm.
    seconds : float
        Since the first round began.
    """

    number: int
    pairs: int
    triangles: int
    cliques: int
    bound: float
    closed: float | None
    steps: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Strengthened:
    """A bound after some rounds of cuts.

    Attributes
    ----------
    cuts : Cuts
        Those that the bound rests on.
    found : Found
        The bound and its multipliers, and the last matrix and state.
    last_cuts : Cuts
        Those of the last matrix and state.
    history : tuple of Round
    """

    cuts: Cuts
    found: Found
    last_cuts: Cuts
    history: tuple[Round, ...]


def strengthened(
    partition: Partition,
    cuts: Cuts | None = None,
    state: State | None = None,
    effort: Effort | None = None,
    best_known: Callable[[np.ndarray], float] | None = None,
    gap: float = 1e-4,
    deadline: float = np.inf,
    report: Callable[[float], Any] | None = None,
    upper: float = np.inf,
) -> Strengthened:
    """Solve a relaxation with more and more cuts.

    Parameters
    ----------
    partition : Partition
    cuts, state : Cuts, State, optional
        Where to start: those of a similar program.
    effort : Effort, optional
    best_known : function, optional
        Given the matrix on blocks of the last round, returns the value of the best clustering known by then. The rounds
        end when the bound is within the gap of it, or when they no longer pay.
    gap : float
        Relative to the value of the best known clustering.
    deadline : float
        When to stop, on the clock of ``time.perf_counter``.
    report : function, optional
        Called with the bound after each round.
    upper : float
        The value of the best clustering known before.
    """
    began, effort = perf_counter(), Effort() if effort is None else effort
    history: list[Round] = []
    cuts = Cuts() if cuts is None else cuts
    first: float | None = None
    best: Found | None = None
    best_cuts, idle = cuts, 0
    for number in range(effort.rounds + 1):
        blocks = Blocks(partition, cuts)
        target = upper - gap * abs(upper)

        def enough(bound: float, value: float, residual: float, target: float = target, upper: float = upper) -> bool:
            left = upper - bound if np.isfinite(upper) else 0.0
            close = abs(value - bound) <= max(CLOSE * abs(value), SHARE * left) and residual <= 1e-3
            return bound >= target or close or perf_counter() > deadline

        most = effort.steps if len(cuts) else FIRST_STEPS
        found = solved(blocks, state, most, enough)
        if best is None or found.bound > best.bound:
            best, best_cuts = found, cuts
        gained = np.inf if not history else best.bound - history[-1].bound
        if best_known is not None:
            upper = best_known(found.Y)
        first = best.bound if first is None else first
        closed = (best.bound - first) / max(upper - first, 1e-300) if np.isfinite(upper) else None
        counts = len(cuts.pairs), len(cuts.triangles), len(cuts.cliques)
        if report is not None:
            report(best.bound)
        history.append(Round(number, *counts, best.bound, closed, found.steps, perf_counter() - began))
        idle = idle + 1 if _gained_little(best.bound, upper, gained, effort.least_gain) else 0
        # A round that ended before its bound had settled may yet gain in the next one.
        is_over = idle > 0 and (found.steps < most or idle >= MOST_IDLE)
        if perf_counter() > deadline or _is_enough(best.bound, upper, gap) or is_over:
            break
        active = found.state.nu > 0
        kept = chosen(cuts, active)
        new = unknown(separated(partition, found.Y, ADDED_PER_BLOCK * partition.order), keys_of(kept))
        if not len(new):
            break
        if number == effort.rounds:
            break
        cuts, nu = extended(kept, new, found.state.nu[active])
        state = replace(found.state, nu=nu)
    assert best is not None  # there is at least one round
    last = found._replace(bound=best.bound, multipliers=best.multipliers)
    return Strengthened(best_cuts, last, cuts, tuple(history))


def _is_enough(bound: float, upper: float, gap: float) -> bool:
    """Whether the bound is as good as is asked for."""
    return bool(np.isfinite(upper)) and upper - bound <= gap * abs(upper)


def _gained_little(bound: float, upper: float, gained: float, least_gain: float) -> bool:
    """Whether a round gained too little for another one to be worth its time."""
    return gained < (least_gain * (upper - bound) if np.isfinite(upper) else CLOSE * abs(bound))


@dataclass(frozen=True, eq=False)
class Strengthening:
    """A problem with cuts, and how they were found.

    Attributes
    ----------
    problem : Problem
        The problem with the cuts that its bound rests on.
    bound : float
        Proven in these rounds: no clustering that keeps the links has a smaller value. Solving ``problem`` may prove
        a little more.
    history : tuple of Round
    """

    problem: Any
    bound: float
    history: tuple[Round, ...]

    def __str__(self) -> str:
        head = "round     pairs triangles  cliques            bound   seconds"
        rows = [
            f"{one.number:5d}  {one.pairs:8d} {one.triangles:9d} {one.cliques:8d} {one.bound:16.9g} {one.seconds:9.2f}"
            for one in self.history
        ]
        return "\n".join([head, *rows, f"proven: no clustering that keeps the links is below {self.bound:.10g}"])

    __repr__ = __str__


def strengthening_of(problem: Any, rounds: int, time_limit: float | None) -> Strengthening:
    """Return a problem of this family with cuts."""
    rounds = as_count(rounds, "rounds", 0, 1000)
    limit = np.inf if time_limit is None else as_positive(time_limit, "time_limit")
    with threads_for(problem.partition.order):
        found = strengthened(problem.partition, problem.cuts, effort=Effort(rounds), deadline=perf_counter() + limit)
        bound, _ = proven_bound(problem.partition, found.cuts, *found.found.multipliers)
    kept = found.found.multipliers.cuts > 0
    return Strengthening(problem.changed(cuts=chosen(found.cuts, kept)), bound.lower, found.history)
