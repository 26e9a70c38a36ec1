"""What a route is, an algorithm instead of a CVXPY solver: what it is told, and what it brings back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..programs.status import DEFAULT_ACCURACY, Status


def interior_tolerance(accuracy: float | None) -> float:
    """Return our accuracy as the tolerance of an interior-point code.

    Such codes gain three digits in a few iterations, and the bound pays for the last ones n-fold.
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
        How far off the point at hand is, by the route's own measure: for the kernel programs the gap between the bounds
        relative to the value.
    objective, bound : float or None
        The value of the point, and a number that no feasible point goes below, where the route has them.
    rank : int or None
        The number of columns of the factor, where there is one.
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
        What the answer shall be accurate to, as it was asked for.
    time_limit : float or None
        Seconds after which no further step is taken.
    verbose : bool
        Print a line for each step.
    random_state : None, int or numpy generator
        Everything random follows from it.
    progress : function or None
        Called with a :class:`Progress` after each step.
    start : array or None
        A factor to start from, a row for each point of the program.
    """

    accuracy: float | None = None
    time_limit: float | None = None
    verbose: bool = False
    random_state: Any = None
    progress: Callable[[Progress], Any] | None = None
    start: np.ndarray | None = None

    @property
    def tolerance(self) -> float:
        """The accuracy as the tolerance of a method that gains its last digits easily."""
        return interior_tolerance(self.accuracy)


@dataclass(frozen=True)
class Resources:
    """What a solve ran on.

    Attributes
    ----------
    threads : int
        Threads of dense algebra.
    isolated : bool
        Whether it had a process of its own.
    megabytes : float or None
        The most memory that process used.
    """

    threads: int
    isolated: bool = False
    megabytes: float | None = None

    def __str__(self) -> str:
        threads = f"{self.threads} thread{'s' if self.threads != 1 else ''}"
        peak = f", at most {self.megabytes:.0f} MB" if self.megabytes is not None else ""
        return f"{'a process of its own' if self.isolated else 'this process'}, {threads}{peak}"


@dataclass(frozen=True)
class Attempt:
    """What a backend brings back: an outcome, and a point where there is one.

    A heuristic promises a feasible point, not an optimal one; however far it is off, it is an answer. A solver that
    gave up came to an end by itself without an answer.
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


class Route(ABC):
    """An algorithm that solves programs of some kind without CVXPY.

    ``data`` is what the algorithm works on: the ``data`` of a :class:`~cvxlink.SpecialProgram`, or a linear
    semidefinite program. A route never certifies its own answer.

    Attributes
    ----------
    name, why : str
        What it is called in ``solve(route=…)``, and why it is chosen.
    iterates : bool
        Whether it goes step by step, and reports progress.
    starts_warm : bool
        Whether it can start from an earlier answer.
    history : str
        What its history holds: "gap", relative, or "distance", to the solution.
    remedy : str or None
        What to do where its answer is not good enough, if not what the status says.
    """

    name: str
    why: str
    iterates: bool = False
    starts_warm: bool = False
    history: str = "gap"
    remedy: str | None = None

    def refuses(self, data: Any) -> str | None:
        """Return why a program of the right kind cannot be solved this way, or None if it can."""
        return None

    def suits(self, data: Any) -> bool:
        """Whether to take it, without being asked for, for a program it does not refuse."""
        return True

    @abstractmethod
    def run(self, data: Any, settings: Settings) -> Attempt:
        """Solve it."""
