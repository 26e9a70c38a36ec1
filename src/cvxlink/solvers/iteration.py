"""What iterative routes share: the best point so far, when to stop, and why."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from ..programs.status import Status
from .route import Attempt, Progress, Settings


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
        return self.settings.time_limit is not None and self.seconds > self.settings.time_limit

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
