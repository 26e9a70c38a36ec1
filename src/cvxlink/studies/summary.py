"""A study in words and tables, for a terminal: conclusions first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from textwrap import fill
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from ..errors import InvalidInput, visible
from ..numerics.arguments import shown
from .claims import claims
from .conclusions import conclusions
from .description import Study
from .measures import STAGES, Measures, has_solve_seconds, measures, solve_seconds
from .phrases import RANKED, at_limit, counted, failed, power
from .scores import Scores, numbers_in
from .statistics import SHIFT, TIE, Times, critical_difference, interval

# Lines of words; tables may be wider.
WIDTH, WIDEST = 100, 160
# Where numbers are missing.
NOTHING = "–"

Record = Mapping[str, Any]


def summary(
    study: Study,
    records: Sequence[Record],
    score: str = "ari",
    environments: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """Return what a study found: conclusions, then tables for each accuracy."""
    own = [record for record in records if not record.get("outside")]
    _require_score(study, own, score)
    found = conclusions(study, records, score, environments)
    words = "\n".join(fill(visible(line), WIDTH, initial_indent="• ", subsequent_indent="  ") for line in found)
    parts = [visible(study.title), words]
    for accuracy in study.accuracy:
        chosen = [record for record in own if record["accuracy"] == accuracy]
        if chosen:
            parts += _tables(study, chosen, accuracy, score)
        parts += _as_claimed(study, records, accuracy)
    return "\n\n".join(parts)


def _require_score(study: Study, records: Sequence[Record], score: str) -> None:
    known = list(dict.fromkeys(name for record in records for name in numbers_in(record)))
    if study.kind == "methods" and known and score not in known:
        raise InvalidInput(f"there is no score {shown(score)}; there are {', '.join(known)}", "score")


def _tables(study: Study, records: Sequence[Record], accuracy: float, score: str) -> list[str]:
    if study.kind == "solvers":
        return _of_solvers(study, records, accuracy)
    at = f", accuracy {power(accuracy)}" if len(study.accuracy) > 1 else ""
    if study.kind == "methods":
        return _of_methods(Scores.of(study, records, score), records, at)
    return [_of_functions(records, at)]


# ---------------------------------------------------------------------- studies of solvers


def _of_solvers(study: Study, records: Sequence[Record], accuracy: float) -> list[str]:
    times, of_each = Times.of(records, study.time_limit), measures(records)
    solving = Times.of(records, study.time_limit, None, solve_seconds).means() if has_solve_seconds(records) else None
    order = np.lexsort((times.means(), -times.solved))
    tables = [_overview(times, solving, of_each, order, accuracy), _costs(times, of_each, order)]
    return [*tables, *([_wins(times, order)] if len(order) > 1 and times.solved.any() else [])]


def _overview(
    times: Times, solving: np.ndarray | None, of_each: Mapping[str, Measures], order: np.ndarray, accuracy: float
) -> str:
    """Who proves what, and in which time; the time in the solver alone, where it is known."""
    means, fastest = times.means(), times.common.fastest(TIE)
    rows = []
    for k in order:
        name = times.configurations[k]
        failures = ", ".join(failed(count, kind) for kind, count in of_each[name].failures.items())
        share = f"{times.solved[k]} of {times.finished[k]}"
        alone = [] if solving is None else [_number(solving[k], ".3g")]
        rows.append([name, share, _number(means[k], ".3g"), *alone, str(fastest[k]), failures])
    alone = [] if solving is None else ["mean solve seconds"]
    head = ["", "proven", "mean wall seconds", *alone, "fastest on", "failures"]
    title = (
        f"Accuracy {power(accuracy)}: an answer counts if its certificate proves it. Seconds: "
        f"{RANKED}. Mean: shifted geometric, shift "
        f"{SHIFT:g} s, failures at {times.limit:g} s, over the {len(times.common.instances)} instances on which "
        f"all have a result; within {TIE - 1:.0%} of the fastest is as good as the fastest."
    )
    return _table(title, head, rows, f"lrr{'r' * len(alone)}rl")


def _costs(times: Times, of_each: Mapping[str, Measures], order: np.ndarray) -> str:
    """Where the time goes, the memory, the errors of the answers, and how far repeats differ."""
    rows = []
    for k in order:
        name = times.configurations[k]
        one = of_each[name]
        split = " / ".join(f"{share:.0%}" for share in one.shares.values()) or NOTHING
        errors = [NOTHING if error is None else power(error, 1) for error in (one.dimacs_median, one.dimacs_worst)]
        rows.append([name, split, _number(one.megabytes, ".0f"), *errors, _number(one.spread, ".2f")])
    head = ["", " / ".join(STAGES), "peak MB", "DIMACS median", "worst", "spread of repeats"]
    title = (
        "Time of proven cells by stage; peak memory; the largest of the six DIMACS errors of every answer, proven or "
        "not; slowest repeat divided by fastest, median over instances."
    )
    return _table(title, head, rows, "lrrrrr")


def _wins(times: Times, order: np.ndarray) -> str:
    wins = times.wins(TIE)
    rows = [[times.configurations[a], *(NOTHING if a == b else str(wins[a, b]) for b in order)] for a in order]
    head = ["", *(times.configurations[k] for k in order)]
    title = f"On how many instances the row beats the column: by more than {TIE - 1:.0%}, or as the only one to prove."
    return _table(title, head, rows, "l" + "r" * len(order))


def _as_claimed(study: Study, records: Sequence[Record], accuracy: float) -> list[str]:
    """Compare with other tools, whose rows nothing proves, by what all claim."""
    tables = []
    for found in claims(records, study.time_limit, accuracy):
        count = len(found.instances)
        rows = [
            [
                one.name,
                "outside" if one.outside else "study",
                f"{one.optimal} of {count}",
                f"{one.mean:.3g}",
                str(one.off or ""),
            ]
            for one in found.claims
        ]
        title = (
            f"AS CLAIMED, NOT PROVEN, accuracy {power(accuracy)}: what solvers and other tools say on the "
            f"{counted(count, 'instance')} that both have. Mean: shifted geometric, shift {SHIFT:g} s; other machines "
            f"are not made up for. {at_limit(found.at_limit, study.time_limit)}"
        )
        tables.append(
            _table(title.strip(), ["", "from", "claims optimal", "mean seconds", "value is off"], rows, "llrrr")
        )
    return tables


# ---------------------------------------------------------------------- studies of methods and of functions


def _of_methods(scores: Scores, records: Sequence[Record], at: str) -> list[str]:
    ranks, means, halves = scores.ranks, scores.means, scores.halves
    order = np.lexsort((-scores.sign * means, ranks))
    rows = []
    for k in order:
        mine = [record for record in records if record["configuration"] == scores.methods[k]]
        behind = scores.behind(k) if len(scores.values) and k != scores.best else (np.nan, np.nan)
        failures = sum(not numbers_in(record) for record in mine)
        seconds = [record["seconds"] for record in mine if numbers_in(record)]
        numbers = [_number(means[k], ".3f"), _number(halves[k], ".3f"), *(_number(one, ".3f") for one in behind)]
        median = _number(float(np.median(seconds)) if seconds else None, ".3g")
        rows.append([scores.methods[k], *numbers, _number(ranks[k], ".2f"), median, str(failures or "")])
    head = ["", f"mean {scores.score}", "±", "behind", "±", "mean rank", "median s", "failures"]
    title = (
        f"{scores.score}{at}, {'less' if scores.sign < 0 else 'more'} is better: {len(scores.values)} of {scores.rows} "
        f"instances are scored by all. ±: 95 % confidence over draws, paired for the distance behind the best. Ranks "
        f"over {len(scores.blocks)} {scores.unit}."
    )
    parts = [_table(title, head, rows, "lrrrrrrr")]
    pairs = sorted(scores.pairs(), key=lambda pair: pair.adjusted)
    if pairs:
        tests = [
            [f"{pair.first} – {pair.second}", f"{pair.difference:+.3f}", f"{pair.p:.2g}", f"{pair.adjusted:.2g}"]
            for pair in pairs
        ]
        p = scores.friedman()
        least = critical_difference(len(scores.methods), len(scores.blocks))
        title = (
            f"Friedman's test: p = {p:.2g}; critical difference of mean ranks (Nemenyi, 5 %): {least:.2f}. Pairs by "
            f"Wilcoxon's signed-rank test over {len(scores.blocks)} {scores.unit}, adjusted by Holm."
        )
        parts.append(_table(title, ["", "difference", "p", "adjusted p"], tests, "lrrr"))
    return parts


def _of_functions(records: Sequence[Record], at: str) -> str:
    """Means of whatever the functions return, over all cells."""
    names = list(dict.fromkeys(name for record in records for name in numbers_in(record)))
    rows = []
    for configuration in dict.fromkeys(record["configuration"] for record in records):
        mine = [record for record in records if record["configuration"] == configuration]
        cells = []
        for name in names:
            values = [one for record in mine if (one := numbers_in(record).get(name)) is not None]
            mean, half = interval(np.array(values, dtype=float))
            cells.append(_number(mean, ".4g") + ("" if np.isnan(half) else f" ± {half:.2g}"))
        failures = sum(not numbers_in(record) for record in mine)
        rows.append([configuration, *cells, str(len(mine) - failures), str(failures or "")])
    title = f"Means over the cells{at}, ± 95 % confidence as if the cells were independent."
    return _table(title, ["", *names, "cells", "failures"], rows, "l" + "r" * (len(names) + 2))


# ---------------------------------------------------------------------- tables


def _number(value: float | None, form: str) -> str:
    return NOTHING if value is None or np.isnan(value) else format(value, form)


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    """Return a table as plain text; names in it come from files of others."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, side in zip(head, sides, strict=True):
        table.add_column(visible(name), justify="left" if side == "l" else "right", overflow="fold")
    for row in rows:
        table.add_row(*(visible(cell) for cell in row))
    text = StringIO()
    Console(file=text, width=WIDEST, color_system=None, markup=False, emoji=False, highlight=False).print(table)
    lines = "\n".join(line.rstrip() for line in text.getvalue().splitlines())
    return f"{fill(title, WIDTH)}\n{lines}"
