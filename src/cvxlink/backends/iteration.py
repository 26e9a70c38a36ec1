"""What iterative routes share: the best point so far, when to stop, and why it was."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from ..status import Status
from .base import Attempt


class Iteration:
    """Follows a route from point to point.

    Parameters
    ----------
    accuracy : float
        How far off the best point may be.
    time_limit : float or None
        Seconds after which no further step is taken.
    verbose : bool
        Print a line for each point.
    most : int
        Steps after which it ends in any case.
    patience : int
        A step may lead away; so many in a row that do not improve on the best point mean that rounding has the upper
        hand.
    """

    def __init__(
        self, accuracy: float, time_limit: float | None, verbose: bool, most: int = 100, patience: int = 5
    ) -> None:
        self.accuracy, self.time_limit, self.verbose = accuracy, time_limit, verbose
        self.most, self.patience = most, patience
        self.start = perf_counter()
        self.best: Any = None
        self.least, self.since = float("inf"), 0
        self.history: list[float] = []
        self.status, self.reason = Status.INACCURATE, ""

    def goes_on(self, point: Any, off: float, progress: str) -> bool:
        """Take note of a point and how far off it is; return whether another step is to be taken."""
        steps = len(self.history)
        self.history.append(off)
        self.since += 1
        if self.best is None or off < self.least:
            self.best, self.least, self.since = point, off, 0
        if self.verbose:
            print(f"{steps:3d}  {progress}")
        if self.least <= self.accuracy:
            self.status, self.reason = Status.OPTIMAL, f"converged in {steps} iterations"
        elif self.time_limit is not None and perf_counter() - self.start > self.time_limit:
            self.status, self.reason = Status.LIMIT, f"stopped after {self.time_limit:g} s"
        elif steps == self.most:
            self.reason = f"stopped after {steps} iterations"
        elif self.since == self.patience:
            self.stalls()
        else:
            return True
        return False

    def stalls(self) -> None:
        """Take note that no further step is possible."""
        self.reason = f"no further progress after {max(len(self.history) - 1, 0)} iterations"

    def attempt(self, values: dict[str, Any], duals: dict[str, Any]) -> Attempt:
        """Return the outcome, with the point and the multipliers that were made of the best point."""
        return Attempt(
            self.status,
            self.reason,
            values,
            duals,
            solve_seconds=perf_counter() - self.start,
            iterations=max(len(self.history) - 1, 0),
            history=tuple(self.history),
        )
