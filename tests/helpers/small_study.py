"""A study that takes a second, and what of its results differs from run to run."""

from __future__ import annotations

SMALL = {
    "title": "Small",
    "time_limit": 60,
    "instances": [{"library": "path_*"}],
    "configurations": [{"solver": "SCS"}, {"name": "ours"}],
}
MEASURED = {"seconds", "whole_seconds", "timings", "started", "load", "megahertz", "throttled", "megabytes", "log"}


def told(records):
    return {r["key"]: {name: value for name, value in r.items() if name not in MEASURED} for r in records}
