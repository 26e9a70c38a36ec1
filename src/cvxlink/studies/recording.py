"""Compute one cell in a process of its own, and record how that went and on what machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from ..engine.options import in_bytes
from ..errors import CvxlinkError
from ..numerics.versions import differences_in_words
from ..solvers.isolation import Ended, Limits, run_isolated
from .cells import Cell
from .computing import worked_out
from .environment import condition, environment
from .refusals import refusal

# The characters that are kept of the end of what a cell prints.
LONGEST_LOG = 2000
# Whoever kills processes can hit a cell that has done nothing wrong. One that is killed so many times probably has.
MOST_KILLS = 3


class Unwanted(Exception):
    """A cell was stopped because nobody wants its result any more."""


def computed(cell: Cell, is_unwanted: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Return the result of a cell, ready to be written; ``environment`` is still what it is, not its hash."""
    began, before = perf_counter(), condition()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    found = refusal(cell.configuration.solver) or _found(cell, is_unwanted)
    whole_seconds, after = perf_counter() - began, condition()
    record = {
        **_named(cell),
        **found,
        "whole_seconds": round(whole_seconds, 6),
        "started": started,
        "load": [before.load, after.load],
        "megahertz": [before.megahertz, after.megahertz],
        "versions": cell.versions,
        "environment": environment(cell.threads),
    }
    if before.throttled is not None and after.throttled is not None:
        record["throttled"] = after.throttled - before.throttled
    return record


def lost(cell: Cell) -> dict[str, Any]:
    """Return the result of a cell with which worker after worker of a cluster died."""
    return {
        **_named(cell),
        "reason": "the workers of the cluster that computed it died, one after the other",
        "stopped_by": "crash",
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": cell.versions,
    }


def unfitness(cell: Cell) -> str | None:
    """Return in words why a cell cannot be computed here as it was described elsewhere, or None if it can."""
    try:
        different = differences_in_words(cell.versions, replace(cell).versions)
        if different is not None:
            return different
        if cell.found_here().identity != cell.identity:
            return f"cannot compute {cell}: its files or its code are others there"
        cell.require_importable()
    except (CvxlinkError, OSError) as error:
        return f"cannot compute {cell}: {error}"
    return None


def _ended(cell: Cell, is_unwanted: Callable[[], bool]) -> Ended:
    """Compute in a process with the limits of the cell; only that process ever runs the code of a formulation."""
    limits = Limits(cell.time_limit, in_bytes(cell.memory_limit), cell.threads)
    for _ in range(MOST_KILLS):
        ended = run_isolated(worked_out, (cell,), limits, cell.configuration.name, is_unwanted=is_unwanted)
        if ended.stopped_by == "caller":
            raise Unwanted
        if not ended.was_killed:
            break
    return ended


def _found(cell: Cell, is_unwanted: Callable[[], bool]) -> dict[str, Any]:
    ended = _ended(cell, is_unwanted)
    found = {"reason": ended.limit or ended.failure, "seconds": round(ended.seconds, 6)}
    used = {"megabytes": ended.megabytes, "stopped_by": ended.stopped_by, "log": ended.printed[-LONGEST_LOG:]}
    return (ended.answer if isinstance(ended.answer, dict) else found) | used


def _named(cell: Cell) -> dict[str, Any]:
    return {
        "key": cell.key,
        "identity": cell.identity,
        "instance": cell.instance.name,
        "configuration": cell.configuration.name,
        "accuracy": cell.accuracy,
        "repeat": cell.repeat,
        "time_limit": cell.time_limit,
    }
