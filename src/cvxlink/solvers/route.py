"""Routes: our own algorithms, used instead of a CVXPY solver; what they are told and what they return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from ..numerics.threads import threads_in_use
from ..programs.status import DEFAULT_ACCURACY, Status
from .isolation import Ended, Limits
from .processes import own_peak_in_megabytes


def interior_tolerance(accuracy: float | None) -> float:
    """Return our accuracy as the tolerance of an interior-point code.

    Such codes gain three digits in a few iterations, and errors enter the bound multiplied by n.
    """
    return min(1e-6, max(1e-9, (DEFAULT_ACCURACY if accuracy is None else accuracy) * 1e-4))


@dataclass(frozen=True)
class Progress:
    """How far an iterative route has come.

    Attributes
    ----------
    step : int
    seconds : float
        Since the route began.
    gap : float
        The error of the current point by the route's own measure: for kernel programs the gap between the bounds
        relative to the value.
    objective, bound : float or None
        The value of the point and a lower bound on the optimum, if the route has them.
    rank : int or None
        The number of columns of the factor, if there is one.
    """

    step: int
    seconds: float
    gap: float
    objective: float | None = None
    bound: float | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Settings:
    """What a route is told.

    Attributes
    ----------
    accuracy : float or None
        The requested accuracy of the answer.
    time_limit : float or None
        Seconds for the whole solve; ``seconds_left`` of them are left when the route begins.
    verbose : bool
        Print a line for each step.
    random_state : None, int or numpy generator
        Seed of everything random.
    progress : function or None
        Called with a :class:`Progress` after each step.
    start : array or None
        A factor to start from, one row per point of the program.
    spent : float
        The seconds of the time limit that are not for the route: those spent before it began, and some kept for the
        certificate.
    """

    accuracy: float | None = None
    time_limit: float | None = None
    verbose: bool = False
    random_state: Any = None
    progress: Callable[[Progress], Any] | None = None
    start: np.ndarray | None = None
    spent: float = 0.0

    @property
    def seconds_left(self) -> float:
        """The seconds after which no further step is taken; infinite if there is no limit."""
        return float("inf") if self.time_limit is None else self.time_limit - self.spent

    @property
    def tolerance(self) -> float:
        """The accuracy as a tolerance, for methods that gain their last digits easily."""
        return interior_tolerance(self.accuracy)


@dataclass(frozen=True)
class Resources:
    """What a solve ran on.

    Attributes
    ----------
    threads : int
        The number of threads of dense linear algebra.
    isolated : bool
        Whether it ran in its own process.
    megabytes : float or None
        The peak memory of the process it ran in; in this process that is the most it has used since it began.
    stopped_by : str or None
        What ended that process: "time" or "memory" at a limit, "crash", or None if it ended by itself.
    """

    threads: int
    isolated: bool = False
    megabytes: float | None = None
    stopped_by: str | None = None

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads != 1 else ''}"
        peak = f", peak memory {self.megabytes:.0f} MB" if self.megabytes is not None else ""
        return f"{'its own process' if self.isolated else 'this process'}, {threads}{peak}"


@dataclass(frozen=True)
class Attempt:
    """What a solver or route returns: an outcome, and a point if there is one.

    A heuristic promises a feasible point, not an optimal one, so its point is an answer however large the gap. A solver
    that gave up ended by itself, without an answer.
    """

    status: Status
    reason: str
    values: dict[str, Any] = field(default_factory=dict)
    duals: dict[str, Any] = field(default_factory=dict)
    compile_seconds: float = 0.0
    solve_seconds: float = 0.0
    iterations: int | None = None
    history: tuple[float, ...] = ()
    is_heuristic: bool = False
    resources: Resources | None = None
    gave_up: bool = False
    # Of the standard form: multipliers of all rows, also of those that CVXPY adds, and a direction without a limit.
    conic: np.ndarray | None = None
    direction: np.ndarray | None = None


class Route(ABC):
    """An algorithm that solves programs of a certain kind without CVXPY.

    ``data`` is what the algorithm works on: the ``data`` of a :class:`~cvxlink.SpecialProgram`, or a linear
    semidefinite program. A route never certifies its own answer.

    Attributes
    ----------
    name, why : str
        Its name in ``solve(route=…)``, and the reason for choosing it that ``explain()`` shows.
    iterates : bool
        Whether it iterates and reports progress.
    starts_warm : bool
        Whether it can start from an earlier answer.
    least_order : int
        The order of a matrix from which it is considered without being requested.
    history : str
        What its history contains: "gap" (relative) or "distance" (to the solution).
    remedy : str or None
        What to do if its answer is not accurate enough; by default the remedy of the status.
    """

    name: str
    why: str
    iterates: bool = False
    starts_warm: bool = False
    least_order: int = 0
    history: str = "gap"
    remedy: str | None = None

    def refuses(self, data: Any) -> str | None:
        """Return why a program of the right kind cannot be solved this way, or None if it can."""
        return None

    def suits(self, data: Any) -> bool:
        """Whether to choose this route automatically for a program it does not refuse."""
        return True

    @abstractmethod
    def run(self, data: Any, settings: Settings) -> Attempt:
        """Solve it."""


class Iteration:
    """Keeps track of an iterative route.

    Parameters
    ----------
    settings : Settings
    most : int
        The largest number of steps.
    patience : int
        The number of consecutive steps without improvement after which it stops, because rounding dominates.
    tolerance : float, optional
        The error at which it stops; by default that of the settings.
    """

    def __init__(self, settings: Settings, most: int = 100, patience: int = 5, tolerance: float | None = None) -> None:
        self.settings, self.most, self.patience = settings, most, patience
        self.tolerance = settings.tolerance if tolerance is None else tolerance
        self.start = perf_counter()
        self.best: Any = None
        self.least, self.since = float("inf"), 0
        self.history: list[float] = []
        self.status, self.reason = Status.INACCURATE, ""

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return perf_counter() - self.start

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.seconds > self.settings.seconds_left

    def goes_on(self, point: Any, off: float, progress: str, **numbers: Any) -> bool:
        """Record a point and its error; return whether to take another step.

        ``progress`` is the line to print, ``numbers`` are further fields of :class:`Progress`.
        """
        steps = len(self.history)
        self.history.append(off)
        self.since += 1
        if self.best is None or off < self.least:
            self.best, self.least, self.since = point, off, 0
        if self.settings.verbose:
            print(f"{steps:3d}  {progress}")
        if self.settings.progress is not None:
            self.settings.progress(Progress(steps, self.seconds, off, **numbers))
        if self.least <= self.tolerance:
            self.status, self.reason = Status.OPTIMAL, f"converged in {steps} iterations"
        elif self.is_late:
            self.status, self.reason = Status.LIMIT, f"stopped after {self.settings.time_limit:g} s"
        elif steps == self.most:
            self.reason = f"stopped after {steps} iterations"
        elif self.since == self.patience:
            self.stalls()
        else:
            return True
        return False

    def stalls(self) -> None:
        """Record that no further step is possible."""
        self.reason = f"no further progress after {max(len(self.history) - 1, 0)} iterations"

    def attempt(self, values: dict[str, Any], duals: dict[str, Any]) -> Attempt:
        """Return the outcome, with the values and multipliers computed from the best point."""
        return Attempt(
            self.status,
            self.reason,
            values,
            duals,
            solve_seconds=self.seconds,
            iterations=max(len(self.history) - 1, 0),
            history=tuple(self.history),
        )


def without_answer(ended: Ended) -> Attempt:
    """Return the outcome of work that ended at a limit or in failure."""
    status = Status.ERROR if ended.limit is None else Status.LIMIT
    return Attempt(status, str(ended.limit or ended.failure), solve_seconds=ended.seconds)


def resources_of(ended: Ended, limits: Limits, isolated: bool) -> Resources:
    """Return what the work ran on."""
    megabytes = ended.megabytes if isolated else own_peak_in_megabytes()
    return Resources(limits.threads or threads_in_use(), isolated, megabytes, ended.stopped_by)
