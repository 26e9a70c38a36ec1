"""Cells of methods and functions that fail: once for each data set or reason, with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any

from .cells import expanded
from .description import Study
from .phrases import counted, listed
from .scores import Scores, numbers_in

# A longer reason is cut; the cell has all of it.
LONGEST_REASON = 240
# So many data sets are listed; of more, the number is said.
MOST_PLACES = 3

Record = Mapping[str, Any]


def unscored(study: Study, records: Sequence[Record], at: str) -> list[str]:
    """Say which cells fail and why: data on which nothing works in one sentence, and otherwise one for each reason."""
    data = data_of(study)
    lost: list[Record] = []
    hopeless: dict[str, list[Record]] = {}
    by_data: dict[str, list[Record]] = {}
    for record in records:
        by_data.setdefault(_place(record, data), []).append(record)
    for name, mine in by_data.items():
        failures = [record for record in mine if not numbers_in(record)]
        is_hopeless = len(failures) == len(mine) and len({record["configuration"] for record in mine}) > 1
        if is_hopeless:
            hopeless[name] = failures
        else:
            lost += failures
    return [*_hopeless(study, hopeless, at), *_by_reason(lost, data, at)]


def left_out(study: Study, records: Sequence[Record], score: str) -> list[str]:
    """Return which data the ranking leaves out because a method fails on them: "6 of 6 instances of own.csv"."""
    data = data_of(study)
    every: dict[str, dict[str, bool]] = {}
    for record in records:
        name = record["instance"]
        mine = every.setdefault(_place(record, data), {})
        mine[name] = mine.get(name, True) and numbers_in(record).get(score) is not None
    if not len(Scores.of(study, records, score).values):
        return []  # there is no ranking, which is said
    return [
        f"{len(mine) - sum(mine.values())} of {counted(len(mine), 'instance')} of {name}"
        for name, mine in every.items()
        if not all(mine.values())
    ]


def data_of(study: Study) -> dict[str, str]:
    """Return the data set of each instance that has one."""
    if study.kind != "methods":
        return {}
    return {one.name: str(one.data) for one in expanded(study) if one.data is not None}


def _place(record: Record, data: Mapping[str, str]) -> str:
    name: str = record["instance"]
    return data.get(name, name)


def _hopeless(study: Study, failures: Mapping[str, Sequence[Record]], at: str) -> Iterator[str]:
    what = "method could be scored" if study.kind == "methods" else "function returned numbers"
    for name, mine in failures.items():
        counts = _counts(mine)
        each = (
            f"{counted(next(iter(counts.values())), 'cell')} each"
            if len(set(counts.values())) == 1
            else counted(len(mine), "cell")
        )
        reasons = _reasons(mine)
        first = next(iter(reasons.values()))
        also = f" ({counted(len(reasons) - 1, 'other reason')} in the cells)" if len(reasons) > 1 else ""
        yield _ended(f"{name}: no {what}{at} ({each})", first[0].get("reason"), also)


def _by_reason(failures: Sequence[Record], data: Mapping[str, str], at: str) -> Iterator[str]:
    for mine in _reasons(failures).values():
        counts = _counts(mine)
        places = list(dict.fromkeys(_place(record, data) for record in mine))
        on = f" of {listed(places, MOST_PLACES)}" if mine[0].get("reason") else ""
        if len(counts) == 1:
            words = f"{next(iter(counts))} fails on {counted(len(mine), 'cell')}{on}{at}"
        else:
            words = f"{listed([f'{name} ({count})' for name, count in counts.items()])} fail on cells{on}{at}"
        yield _ended(words, mine[0].get("reason"))


def _reasons(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records by their reasons, the most frequent first; reasons that differ in numbers only are one."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(re.sub(r"\d+", "#", str(record.get("reason") or "")), []).append(record)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _counts(records: Sequence[Record]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        counts[record["configuration"]] = counts.get(record["configuration"], 0) + 1
    return counts


def _ended(words: str, reason: Any, also: str = "") -> str:
    """End a sentence with its reason, if there is one."""
    if not reason:
        return f"{words}."
    return f"{words}: {shorten(str(reason), LONGEST_REASON, placeholder=' …').rstrip('.')}{also}."
