"""What the result of a cell holds: a dictionary of numbers, words and tables, of which each can be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Whole numbers beyond become no float.
LARGEST = 10**300
NAMES = ("instance", "configuration")
NUMBERS = (
    *("accuracy", "repeat", "time_limit", "value", "bound", "gap", "violation", "proven_to"),
    *("seconds", "whole_seconds", "megabytes", "iterations", "links_left_out"),
)
WORDS = (*("key", "identity", "status", "claimed", "reason", "refused", "stopped_by", "by", "plan", "log", "started"),)
TABLES = ("scores", "numbers", "texts", "timings", "versions", "solver_options", "tolerances", "reference")


def is_result(record: Any) -> bool:
    """Whether something is the result of a cell, as far as anything here relies on it."""
    if not isinstance(record, Mapping) or not all(isinstance(record.get(name), str) for name in NAMES):
        return False
    right = (
        all(_is_number(record.get(name)) for name in NUMBERS)
        and all(isinstance(record.get(name), str | None) for name in WORDS)
        and all(isinstance(record.get(name), Mapping | None) for name in TABLES)
        and isinstance(record.get("verdict_is_proven"), bool | None)
        and isinstance(record.get("outside"), bool | None)
        and isinstance(record.get("dimacs"), list | None)
        and _is_reference(record.get("reference") or {})
        and all(map(_is_number, (record.get("scores") or record.get("numbers") or {}).values()))
    )
    # Other tools need not say which accuracy they were asked for.
    return right and ("scores" in record or bool(record.get("outside")) or record.get("accuracy") is not None)


def _is_reference(reference: Mapping[str, Any]) -> bool:
    """Whether it is nothing, or an optimum with its tolerance."""
    return not reference or all(
        name in reference and reference[name] is not None and _is_number(reference[name])
        for name in ("value", "tolerance")
    )


def _is_number(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= LARGEST
    return isinstance(value, float) and value == value
