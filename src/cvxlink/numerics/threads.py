"""Threads where they pay: dense algebra of small order is faster on one, and far faster on a busy machine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

# Imported so that the libraries they bring are loaded, and found.
import sklearn.neighbors  # noqa: F401
from threadpoolctl import ThreadpoolController

# Below this order the threads of a factorisation spend their time waiting for one another. Where other processes use
# the cores as well, they wait in turns: a hundredfold slowdown was measured at order 141.
LEAST_ORDER = 500


def threads_for(order: int) -> AbstractContextManager[Any]:
    """Return a context in which dense algebra of that order runs on one thread, or on as many as it did, if large."""
    return on_threads(1 if order < LEAST_ORDER else None)


def on_threads(count: int | None) -> AbstractContextManager[Any]:
    """Return a context in which dense algebra runs on so many threads; None: on as many as it did."""
    return nullcontext() if count is None else _controller().limit(limits=count)


def threads_in_use() -> int:
    """Return on how many threads dense algebra runs now."""
    return max((library["num_threads"] for library in _controller().info()), default=1)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
