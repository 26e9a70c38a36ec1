"""Processes that a test started."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from cvxlink.solvers.processes import descendants, processes


def descendants_of_this() -> set[int]:
    """Processes started by this one, directly or not, that still run."""
    among = processes()
    return {number for number in descendants(os.getpid(), among) if not among[number].has_ended}


def alive() -> set[int]:
    """All processes that have not ended."""
    return {number for number, process in processes().items() if not process.has_ended}


def with_helpers(**variables: str) -> dict[str, str]:
    """Return an environment in which a script can import these helpers."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}


def until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait until something holds; return whether it does after so many seconds at most."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
