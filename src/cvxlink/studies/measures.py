"""What a configuration takes and reaches over all its cells: stages, memory, errors, spread over repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .judging import COARSEST, outcome

# Stages of a solve, in the order in which they are told: before solving, solving, afterwards.
STAGES = {"reduce + compile": ("reduce", "compile"), "solve": ("solve", "lift"), "certify": ("certify",)}

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Measures:
    """One configuration at one accuracy.

    Attributes
    ----------
    cells, proven : int
    failures : mapping
        How many cells failed, by kind.
    shares : mapping
        The mean share of the time of a proven cell that each stage takes: reduce + compile, solve, certify.
    megabytes : float or None
        The most memory that a cell took.
    dimacs_median, dimacs_worst : float or None
        Over the answers, proven or not, the largest of the six DIMACS errors of each.
    unsolving : float or None
        How much of the median time of a proven cell does not go into solving, as a share.
    spread : float or None
        The median over instances of the longest time divided by the shortest, where several repeats are proven.
    """

    cells: int
    proven: int
    failures: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    megabytes: float | None = None
    dimacs_median: float | None = None
    dimacs_worst: float | None = None
    unsolving: float | None = None
    spread: float | None = None


def measures(records: Sequence[Record], accuracy: float | None = None) -> dict[str, Measures]:
    """Return the measures of each configuration, from records of one accuracy asked for."""
    names = dict.fromkeys(record["configuration"] for record in records)
    return {
        name: _measured([record for record in records if record["configuration"] == name], accuracy) for name in names
    }


def _measured(records: Sequence[Record], accuracy: float | None) -> Measures:
    outcomes = [outcome(record, accuracy) for record in records]
    proven = [record for record, what in zip(records, outcomes, strict=True) if what.is_success]
    failures = Counter(str(what) for what in outcomes if not what.is_success)
    errors = [largest for record in records if (largest := largest_dimacs(record)) is not None]
    used = [record["megabytes"] for record in records if record.get("megabytes")]
    return Measures(
        len(records),
        len(proven),
        dict(failures.most_common()),
        _shares(proven),
        max(used, default=None),
        float(np.median(errors)) if errors else None,
        max(errors, default=None),
        _unsolving(proven),
        _spread(proven),
    )


def largest_dimacs(record: Record) -> float | None:
    """Return the largest of the six DIMACS errors of an answer, without their signs; None if there are none."""
    errors = [abs(error) for error in record.get("dimacs") or () if error is not None]
    return max(errors, default=None)


def _shares(records: Sequence[Record]) -> dict[str, float]:
    """Return the mean over cells of the share of each stage, so that long cells do not outweigh all others."""
    rows = []
    for record in records:
        timings = record.get("timings") or {}
        stages = [sum(timings.get(part) or 0.0 for part in parts) for parts in STAGES.values()]
        if sum(stages) > 0:
            rows.append(np.array(stages) / sum(stages))
    return dict(zip(STAGES, map(float, np.mean(rows, axis=0)), strict=True)) if rows else {}


def solve_seconds(record: Record) -> float | None:
    """Return the seconds of a cell that went into solving, without what comes before and after; None if unknown."""
    timings = record.get("timings") or {}
    parts = [timings.get(part) for part in STAGES["solve"]]
    return None if parts[0] is None else float(sum(part or 0.0 for part in parts))


def has_solve_seconds(records: Sequence[Record]) -> bool:
    """Whether solving can be compared apart: the stages of all answers that are proven to any accuracy are known."""
    answers = [record for record in records if outcome(record, COARSEST).is_success]
    return bool(answers) and all(solve_seconds(record) is not None for record in answers)


def _unsolving(records: Sequence[Record]) -> float | None:
    whole = [float(record["seconds"]) for record in records]
    solving = [solve_seconds(record) for record in records]
    known = [seconds for seconds in solving if seconds is not None]
    if not known or len(known) < len(whole) or not np.median(whole) > 0:
        return None
    return float(1 - np.median(known) / np.median(whole))


def _spread(records: Sequence[Record]) -> float | None:
    several: dict[str, list[float]] = {}
    for record in records:
        several.setdefault(record["instance"], []).append(float(record["seconds"]))
    ratios = [max(times) / min(times) for times in several.values() if len(times) > 1 and min(times) > 0]
    return float(np.median(ratios)) if ratios else None
