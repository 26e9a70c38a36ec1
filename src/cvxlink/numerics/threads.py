"""Control of threads: dense algebra of small order is faster on one thread, and far faster on a busy machine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
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
    """Return a context in which dense algebra runs on ``count`` threads; None leaves the number unchanged."""
    return nullcontext() if count is None else _controller().limit(limits=count)


def threads_in_use() -> int:
    """Return the current number of threads of dense algebra."""
    return max((library["num_threads"] for library in _controller().info()), default=1)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
