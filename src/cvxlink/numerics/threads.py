"""Control of threads: dense algebra of small order is faster on one thread, and far faster on a busy machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any

# Imported so that the libraries it uses are loaded, and found.
import sklearn.neighbors  # noqa: F401
from threadpoolctl import ThreadpoolController

# Below this order the threads of a factorisation mostly wait for one another. If other processes use the cores too,
# this becomes much worse: a hundredfold slowdown was measured at order 141.
LEAST_ORDER = 500


def threads_for(order: int) -> AbstractContextManager[Any]:
    """Return a context in which dense algebra runs on one thread if the order is small, otherwise unchanged."""
    return on_threads(1 if order < LEAST_ORDER else None)


def on_threads(count: int | None) -> AbstractContextManager[Any]:
    """Return a context in which dense algebra runs on ``count`` threads; None leaves the number unchanged.

    BLAS has one number of threads for the whole process. Where contexts overlap, nested or in different threads of
    Python, the smallest count holds, and the number from before the first is restored after the last.
    """
    return nullcontext() if count is None else _limited(count)


def processes_per_core() -> float:
    """Return how many processes want each core, on average over the last minute; at least 1, and 1 if nobody says."""
    try:
        return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    except (AttributeError, OSError):  # not every system says
        return 1.0


def threads_in_use() -> int:
    """Return the current number of threads of dense algebra."""
    return max((library["num_threads"] for library in _controller().info()), default=1)


class _SharedLimit:
    """The limits that are in force on the libraries whose number of threads belongs to the whole process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: list[int] = []
        self.before: list[tuple[Any, int]] = []

    def add(self, count: int) -> None:
        with self.lock:
            if not self.counts:
                self.before = [(library, library.num_threads) for library in _libraries("blas")]
            self.counts.append(count)
            self._apply()

    def remove(self, count: int) -> None:
        with self.lock:
            self.counts.remove(count)
            self._apply()

    def _apply(self) -> None:
        for library, before in self.before:
            _release(library)
            library.set_num_threads(min(self.counts, default=before))
            _release(library)


def _release(library: Any) -> None:
    """Let any thread set the number: threadpoolctl lets only the first, whoever that was; here they take turns."""
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


_shared = _SharedLimit()


@contextmanager
def _limited(count: int) -> Iterator[None]:
    # OpenMP keeps one number for each thread of Python, so contexts there can only be nested.
    before = [(library, library.num_threads) for library in _libraries("openmp")]
    _shared.add(count)
    try:
        for library, _ in before:
            library.set_num_threads(count)
        yield
    finally:
        for library, number in before:
            library.set_num_threads(number)
        _shared.remove(count)


def _libraries(kind: str) -> list[Any]:
    return [library for library in _controller().lib_controllers if library.user_api == kind]


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
