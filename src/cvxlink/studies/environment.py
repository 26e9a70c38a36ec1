"""The machine that computes a cell: what it is, and how busy and how fast it is at a moment."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from ..solvers.capacity import memory_there_is
from ..solvers.isolation import available_threads

CPU_INFORMATION = Path("/proc/cpuinfo")
CPUS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Condition:
    """How a machine is doing at a moment; None where the system does not say.

    Attributes
    ----------
    load : float or None
        How many processes want a core, on average over the last minute.
    megahertz : float or None
        The frequency of the cores, on average.
    throttled : int or None
        How often cores have been slowed down because they were hot, since the machine was started.
    """

    load: float | None
    megahertz: float | None
    throttled: int | None


def condition() -> Condition:
    """Return how this machine is doing now."""
    load = None
    with suppress(AttributeError, OSError):  # not every system says
        load = round(os.getloadavg()[0], 2)
    frequencies = [float(found) for found in re.findall(r"^cpu MHz\s*:\s*([\d.]+)", _text(CPU_INFORMATION), re.M)]
    megahertz = round(sum(frequencies) / len(frequencies)) if frequencies else None
    return Condition(load, megahertz, _throttled())


def environment(threads: int) -> dict[str, Any]:
    """Return what this machine and its Python are, for cells that compute with so many threads."""
    return {**_of_this_process(), "threads": threads}


def hash_of(described: Mapping[str, Any]) -> str:
    """Return the name of an environment: a short hash of what it is."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:12]


@lru_cache(maxsize=1)
def _of_this_process() -> dict[str, Any]:
    now, information = condition(), _text(CPU_INFORMATION)
    memory = memory_there_is()
    blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {
        "cpu": _first(r"^(?:model name|Model)\s*:\s*(.+)$", information) or platform.processor() or platform.machine(),
        "is_virtual": "hypervisor" in _first(r"^flags\s*:\s*(.+)$", information).split() if information else None,
        "cores": available_threads(),
        "gigabytes": round(memory / 1e9, 1) if memory < float("inf") else None,
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "blas": sorted({f"{one['internal_api']} {one['version']} ({_architecture(one)})" for one in blas}),
        "governor": _text(CPUS / "cpu0/cpufreq/scaling_governor").strip() or None,
        "says_frequency": now.megahertz is not None,
        "says_throttling": now.throttled is not None,
    }


def _architecture(library: Mapping[str, Any]) -> str:
    return str(library.get("architecture") or "generic")


def _throttled() -> int | None:
    counts = []
    for path in CPUS.glob("cpu[0-9]*/thermal_throttle/core_throttle_count"):
        with suppress(ValueError):
            counts.append(int(_text(path)))
    return sum(counts) if counts else None


def _first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.M)
    return found[1].strip() if found else ""


def _text(path: Path) -> str:
    """Return the content of a file of the system, or nothing if it has none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
