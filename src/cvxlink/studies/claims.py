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
    """What a configuration, or a solver of another tool, claims on instances that are compared.

    Attributes
    ----------
    name : str
    outside : bool
        Whether another tool says so.
    optimal : int
        The number of instances on which it claims an optimal answer.
    mean : float
        The shifted geometric mean of its times; what is not claimed to be optimal counts as the limit of the study.
    off : int
        On how many instances its value differs from the proven one by more than the accuracy.
    """

    name: str
    outside: bool
    optimal: int
    mean: float
    off: int


@dataclass(frozen=True)
class Comparison:
    """The study beside one other tool, or several that have the same instances.

    Attributes
    ----------
    instances : tuple of str
        Those that the tools have and on which all configurations of the study have a result.
    claims : tuple of Claim
        The fastest first.
    """

    instances: tuple[str, ...]
    claims: tuple[Claim, ...]

    @property
    def at_limit(self) -> list[tuple[str, int]]:
        """Which other tools have so many instances that count as the limit of the study, whatever theirs was."""
        counts = [(one.name, len(self.instances) - one.optimal) for one in self.claims if one.outside]
        return [(name, count) for name, count in counts if count]


def claims(records: Sequence[Record], limit: float, accuracy: float) -> list[Comparison]:
    """Compare what is claimed at an accuracy: each other tool with the study, on the instances that both have.

    Rows of other tools that name no accuracy count at every one. A tool that has few instances takes none from others.
    """
    chosen = [r for r in records if r["accuracy"] == accuracy or (r.get("outside") and r["accuracy"] is None)]
    own: dict[str, dict[str, list[Record]]] = {}
    others: dict[str, dict[str, list[Record]]] = {}
    for record in chosen:
        columns = others if record.get("outside") else own
        columns.setdefault(record["configuration"], {}).setdefault(record["instance"], []).append(record)
    if not own:
        return []
    whole = [name for name in next(iter(own.values())) if all(name in column for column in own.values())]
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, column in others.items():
        common = tuple(instance for instance in whole if instance in column)
        if common:
            groups.setdefault(common, []).append(name)
    known = _proven_values(chosen)
    found = []
    for common, tools in groups.items():
        columns = own | {name: others[name] for name in tools}
        told = [
            _claim(
                name,
                name in tools,
                [column[instance] for instance in common],
                limit,
                [_is_off(column[instance], known.get(instance), accuracy) for instance in common],
            )
            for name, column in columns.items()
        ]
        found.append(Comparison(common, tuple(sorted(told, key=lambda claim: claim.mean))))
    return found


def _claim(name: str, outside: bool, column: Sequence[Sequence[Record]], limit: float, off: Sequence[bool]) -> Claim:
    seconds = [_seconds(repeats) for repeats in column]
    mean = float(shifted_geometric_mean(np.minimum(seconds, limit)))
    return Claim(name, outside, int(np.isfinite(seconds).sum()), mean, sum(off))


def _seconds(repeats: Sequence[Record]) -> float:
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
