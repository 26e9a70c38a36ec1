"""A study in words and small tables, for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .description import Study
from .judging import Outcome, outcome
from .statistics import SHIFT, Times, interval, mean_ranks

Record = Mapping[str, Any]


def summary(study: Study, records: Sequence[Record], score: str = "ari") -> str:
    """Return what a study found."""
    if study.kind == "methods":
        return _of_methods(study, records, score)
    parts = [_of_solvers(study, records, accuracy) for accuracy in study.accuracy]
    return "\n\n".join([study.title, *parts])


def _of_solvers(study: Study, records: Sequence[Record], accuracy: float) -> str:
    chosen = [record for record in records if record["accuracy"] == accuracy]
    if not chosen:
        return f"accuracy {accuracy:g}: no cells yet"
    times = Times.of(chosen, study.time_limit)
    means = times.means()
    rows = [["", "proven", f"mean seconds (shift {SHIFT:g})", "fastest on", "failures"]]
    fastest = (times.seconds <= times.seconds.min(axis=1, keepdims=True)) & np.isfinite(times.seconds)
    for k in np.lexsort((means, -times.solved)):
        name = times.configurations[k]
        kinds = Counter(str(outcome(record)) for record in chosen if record["configuration"] == name)
        kinds.pop(Outcome.PROVEN, None)
        failures = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        share = f"{times.solved[k]} of {len(times.instances)}"
        rows.append([name, share, f"{means[k]:.3g}", str(int(fastest[:, k].sum())), failures])
    return (
        f"accuracy {accuracy:g}: an answer counts if its certificate proves it; failures count {study.time_limit:g} s\n"
        + _table(rows)
    )


def _of_methods(study: Study, records: Sequence[Record], score: str) -> str:
    names = [configuration.name for configuration in study.configurations]
    found: dict[tuple[str, str], list[float]] = {}
    for record in records:
        value = (record.get("scores") or {}).get(score)
        found.setdefault((record["instance"], record["configuration"]), []).append(np.nan if value is None else value)
    instances = list(dict.fromkeys(record["instance"] for record in records))
    scores = np.array([[np.mean(found.get((one, name), [np.nan])) for name in names] for one in instances])
    whole = np.isfinite(scores).all(axis=1) if len(scores) else np.zeros(0, dtype=bool)
    ranks = mean_ranks(scores[whole]) if whole.any() else np.full(len(names), np.nan)
    rows = [["", f"mean {score}", "± (95 %)", "mean rank", "failures"]]
    for k in np.argsort(ranks):
        column = scores[np.isfinite(scores[:, k]), k]
        mean, half = interval(column) if len(column) else (np.nan, np.nan)
        failures = sum("scores" not in record for record in records if record["configuration"] == names[k])
        rows.append([names[k], f"{mean:.3f}", f"{half:.3f}", f"{ranks[k]:.2f}", str(failures or "")])
    note = f"{int(whole.sum())} of {len(instances)} instances are scored by all, and ranked"
    return f"{study.title}\n\n{note}\n{_table(rows)}"


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
