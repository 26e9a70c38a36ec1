"""Compute one cell in a process of its own, and record how that went and on what machine."""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from ..engine.options import in_bytes
from ..solvers.isolation import Limits, run_isolated
from .cells import Cell
from .computing import worked_out


def computed(cell: Cell) -> dict[str, Any]:
    """Return the result of a cell, ready to be written."""
    began, load = perf_counter(), _load()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    found = _isolated(cell)
    return {
        "key": cell.key,
        "identity": cell.identity,
        "instance": cell.instance.name,
        "configuration": cell.configuration.name,
        "accuracy": cell.accuracy,
        "repeat": cell.repeat,
        "time_limit": cell.time_limit,
        **found,
        "whole_seconds": round(perf_counter() - began, 6),
        "started": started,
        "load": [load, _load()],
        "versions": cell.versions,
    }


def _isolated(cell: Cell) -> dict[str, Any]:
    """Compute in a process with the limits of the cell; only this process ever runs the code of a formulation."""
    limits = Limits(cell.time_limit, in_bytes(cell.memory_limit), cell.threads)
    ended = run_isolated(worked_out, (cell,), limits, cell.configuration.name)
    used = {"megabytes": ended.megabytes, "stopped_by": ended.stopped_by}
    if isinstance(ended.answer, dict):
        return ended.answer | used
    return {"reason": ended.limit or ended.failure, "seconds": round(ended.seconds, 6)} | used


def _load() -> float:
    """Return how many processes want a core, on average over the last minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):  # not every system says
        return math.nan
