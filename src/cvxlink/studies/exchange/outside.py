"""Read the results of other tools. They come without certificates, so nothing in them is proven."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...data.files.contents import bytes_of, text_in_utf8
from ...errors import InvalidFile, visible
from ...numerics.arguments import as_path, shown
from ...programs.status import Status

MOST_BYTES = 2**26
# What other tools (cvxpy/solver-benchmarks, ClarabelBenchmarks, qpbenchmark) call their columns, the best first.
NAMES = {
    "instance": ("instance", "problem", "problem_name", "dataset_name", "dataset", "name"),
    "solver": ("solver", "solver_name", "configuration", "method", "package"),
    "seconds": ("seconds", "time", "total_time", "runtime", "solve_time", "wall_time", "cpu_time", "time_s"),
    "status": ("status", "termination_status", "found", "outcome"),
    "value": ("value", "objective_value", "objective", "primal_cost", "obj"),
    "accuracy": ("accuracy", "tolerance", "eps"),
    "iterations": ("iterations", "num_iters", "iters", "iter"),
}
# What other tools call their outcomes, and what that is here: a key of a record and its value. All is only claimed.
WORDS = {
    ("claimed", Status.OPTIMAL.name): "optimal, solved, success, ok, true, 1, locally solved, converged",
    ("claimed", Status.INACCURATE.name): (
        "inaccurate, optimal inaccurate, almost optimal, almost solved, solved inaccurate, suboptimal, feasible"
    ),
    ("claimed", Status.INFEASIBLE.name): "infeasible, primal infeasible",
    ("claimed", Status.UNBOUNDED.name): "unbounded, dual infeasible",
    ("stopped_by", "time"): "time limit, timeout, timed out, time, t",
    ("stopped_by", "memory"): "memory limit, out of memory, oom, memory, m",
    ("status", Status.LIMIT.name): (
        "iteration limit, max iterations, user limit, slow progress, insufficient progress"
    ),
    ("status", Status.ERROR.name): (
        "error, failed, failure, fail, f, solver error, numerical error, other error, unknown, false, 0"
    ),
}
KNOWN = "optimal, inaccurate, infeasible, unbounded, time limit, memory limit, iteration limit or error"
STATUSES = {word: meaning for meaning, words in WORDS.items() for word in words.split(", ")}


class DamagedRow(ValueError):
    """A row cannot be used; the message says why."""


@dataclass(frozen=True)
class Outside:
    """What was read from a table: records, and sentences on the rows that are left out."""

    records: tuple[dict[str, Any], ...]
    damaged: tuple[str, ...]


def read_outside(path: str | Path) -> Outside:
    """Read a table of another tool, CSV or JSON lines, with a row for each instance and solver.

    It needs an instance (or problem), a solver and a time in seconds; status, value of the objective, accuracy and
    iterations are read where they are. A table without a solver or a time is read as one with a row for each instance
    and a column for each solver, which holds seconds, or a word where it failed.
    """
    file = as_path(path, "path")
    text = text_in_utf8(bytes_of(file, MOST_BYTES), file.name)
    rows = _json_rows(text) if file.suffix in (".jsonl", ".json") else _csv_rows(text, file.name)
    records: list[dict[str, Any]] = []
    damaged: list[str] = []
    seen: dict[tuple[str, str, float | None], int] = {}
    for line, row in rows:
        try:
            if isinstance(row, DamagedRow):
                raise row
            record = _record(row, file)
        except DamagedRow as error:
            damaged.append(f"{file.name}, line {line}: {error}")
            continue
        place = record["instance"], record["configuration"], record["accuracy"]
        record["repeat"] = seen[place] = seen.get(place, -1) + 1
        words = json.dumps(["outside", *place, record["repeat"]])
        records.append({"key": hashlib.sha256(words.encode()).hexdigest()[:16], **record})
    if not records:
        why = f"; {damaged[0]}" if damaged else ""
        raise InvalidFile(f"{visible(file.name)} has no row that can be used{why}")
    return Outside(tuple(records), tuple(damaged))


def _json_rows(text: str) -> Iterator[tuple[int, dict[str, Any] | DamagedRow]]:
    for line, content in enumerate(text.splitlines(), 1):
        if content.strip():
            try:
                row = json.loads(content)
            except (ValueError, RecursionError):
                row = None
            yield line, _named(row) if isinstance(row, dict) else DamagedRow("is not a JSON object")


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, Any] | DamagedRow]]:
    """Yield rows by line; a cell for each solver becomes a row of its own."""
    first = text.partition("\n")[0]
    reader = csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    head = next(reader, [])
    known = _named(dict.fromkeys(head, ""))
    is_wide = "instance" in known and "solver" not in known and "seconds" not in known
    missing = [] if is_wide else [what for what in ("instance", "solver", "seconds") if what not in known]
    if missing:
        called = "; ".join(f"{what} may be called {', '.join(NAMES[what])}" for what in missing)
        raise InvalidFile(f"{visible(name)} has no column for {' and '.join(missing)}: {called}")
    for cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(head):
            yield reader.line_num, DamagedRow(f"has {len(cells)} cells, and the first line has {len(head)}")
            continue
        row = dict(zip(head, cells, strict=True))
        if not is_wide:
            yield reader.line_num, _named(row)
            continue
        instance = _named(row)["instance"]
        for solver, cell in row.items():
            if _plain(solver) not in NAMES["instance"] and cell.strip():
                number = {"seconds": cell} if _number(cell) is not None else {"status": cell}
                yield reader.line_num, {"instance": instance, "solver": solver, **number}


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row by our own names of columns; of several that fit, the best one."""
    plain = {_plain(name): value for name, value in row.items()}
    return {
        what: plain[next(name for name in names if name in plain)]
        for what, names in NAMES.items()
        if any(name in plain for name in names)
    }


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z0-9]+", "_", str(name).strip().lower()).strip("_")


def _record(row: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return a row as a record of a study, marked as not ours."""
    for what in ("instance", "solver"):
        if not str(row.get(what) or "").strip():
            raise DamagedRow(f"has no {what}")
    given = str(row.get("status") if row.get("status") is not None else "").strip()
    words = _plain(given).replace("_", " ")
    seconds = _positive(row.get("seconds"), "time")
    if words and words not in STATUSES:
        raise DamagedRow(f"the status {shown(given)} is not known; write {KNOWN}")
    what, meaning = STATUSES[words or "optimal"]
    if what == "claimed" and seconds is None:
        raise DamagedRow("claims an answer, but has no time")
    return {
        "outside": True,
        "source": file.name,
        "instance": str(row["instance"]).strip(),
        # Named by its file as well, so that it is never taken for a configuration of the study.
        "configuration": f"{str(row['solver']).strip()} ({file.stem})",
        "accuracy": _positive(row.get("accuracy"), "accuracy"),
        "claimed": None,
        "status": None,
        what: meaning,
        "value": _number(row.get("value")),
        "seconds": seconds,
        "iterations": _number(row.get("iterations")),
        "reason": f"as {visible(file.name)} says: {visible(given) or 'no status'}",
    }


def _positive(value: Any, what: str) -> float | None:
    if value is None or not str(value).strip():
        return None
    number = _number(value)
    if number is None or number < 0:
        raise DamagedRow(f"the {what} {shown(value)} is not a number of at least 0")
    return number


def _number(value: Any) -> float | None:
    try:
        number = float(str(value).strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def compared(records: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the instances that rows of other tools share with the study, and those that only they have."""
    own = {record["instance"] for record in records if not record.get("outside")}
    others = list(dict.fromkeys(record["instance"] for record in records if record.get("outside")))
    return [name for name in others if name in own], [name for name in others if name not in own]
