"""Times as they are claimed, by solvers of the study and by other tools: nothing here is proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..programs.status import Status
from .judging import outcome
from .statistics import shifted_geometric_mean

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Claim:
    """What a configuration, or a solver of another tool, claims on the instances that all of them have.

    Attributes
    ----------
    name : str
    outside : bool
        Whether another tool says so.
    optimal : int
        The number of instances on which it claims an optimal answer.
    mean : float
        The shifted geometric mean of its times; what is not claimed to be optimal counts as the limit.
    off : int
        On how many instances its value differs from the proven one by more than the accuracy.
    """

    name: str
    outside: bool
    optimal: int
    mean: float
    off: int


def claims(records: Sequence[Record], limit: float, accuracy: float) -> tuple[list[str], list[Claim]]:
    """Return the instances on which claims can be compared at an accuracy, and the claims, the fastest first.

    Rows of other tools that name no accuracy count at every one.
    """
    chosen = [r for r in records if r["accuracy"] == accuracy or (r.get("outside") and r["accuracy"] is None)]
    columns: dict[str, dict[str, list[Record]]] = {}
    for record in chosen:
        columns.setdefault(record["configuration"], {}).setdefault(record["instance"], []).append(record)
    outside = {record["configuration"] for record in chosen if record.get("outside")}
    if not outside or len(outside) == len(columns):
        return [], []
    common = [name for name in next(iter(columns.values())) if all(name in column for column in columns.values())]
    if not common:
        return [], []
    known = _proven_values(chosen)
    found = []
    for name, column in columns.items():
        seconds = [_seconds(column[instance], limit) for instance in common]
        mean = float(shifted_geometric_mean(np.minimum(seconds, limit)))
        off = sum(_is_off(column[instance], known.get(instance), accuracy) for instance in common)
        found.append(Claim(name, name in outside, int(np.isfinite(seconds).sum()), mean, off))
    return common, sorted(found, key=lambda claim: claim.mean)


def _seconds(repeats: Sequence[Record], limit: float) -> float:
    """Return the median time, or infinity if one repeat does not claim to be optimal."""
    if not all(record.get("claimed") == Status.OPTIMAL.name for record in repeats):
        return np.inf
    return float(np.median([record["seconds"] for record in repeats]))


def _proven_values(records: Sequence[Record]) -> dict[str, float]:
    """Return the value that is proven best, by instance: of the library, or else of the study itself."""
    found: dict[str, tuple[float, float]] = {}
    for record in records:
        if record.get("outside") or not outcome(record).is_success or record.get("value") is None:
            continue
        reference = record.get("reference")
        proven = (0.0, reference["value"]) if reference else (record["proven_to"], record["value"])
        found[record["instance"]] = min(found.get(record["instance"], (np.inf, 0.0)), proven)
    return {name: value for name, (_, value) in found.items()}


def _is_off(repeats: Sequence[Record], proven: float | None, accuracy: float) -> bool:
    if proven is None:
        return False
    values = [r["value"] for r in repeats if r.get("claimed") == Status.OPTIMAL.name and r.get("value") is not None]
    return any(abs(value - proven) > 2 * accuracy * (1 + abs(proven)) for value in values)
