"""Write the results of a study as one table, for other programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ...data.files.atomic import put_in_place, write_whole
from ...errors import InvalidInput, MissingDependency
from ..description import Study
from ..judging import outcome
from ..scores import numbers_in

SUFFIXES = (".csv", ".jsonl", ".parquet")
COLUMNS = (
    *("instance", "configuration", "accuracy", "repeat", "outcome", "status", "claimed", "proven_to", "value"),
    *("bound", "gap", "violation", "seconds", "megabytes", "iterations", "by", "reason", "outside", "key"),
)

Record = Mapping[str, Any]


def write_table(study: Study, records: Sequence[Record], out: str | Path) -> None:
    """Write the results as CSV, JSON lines or Parquet, as the ending of the name says.

    CSV and Parquet have a row for each cell and a column for each number; JSON lines hold everything that is known.
    """
    out = Path(out)
    if out.suffix not in SUFFIXES:
        raise InvalidInput(
            f"{out} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}, which says what to write", "out"
        )
    judged = [_judged(study, record) for record in records]
    if out.suffix == ".jsonl":
        write_whole(out, "".join(json.dumps(record) + "\n" for record in judged))
        return
    rows = [_flat(record) for record in judged]
    found = list(dict.fromkeys(name for row in rows for name in row))
    names = [*(name for name in COLUMNS if name in found), *(name for name in found if name not in COLUMNS)]
    if out.suffix == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(out, text.getvalue())
    else:
        _write_parquet(rows, names, out)


def _judged(study: Study, record: Record) -> dict[str, Any]:
    return dict(record) | ({"outcome": str(outcome(record))} if study.kind == "solvers" else {})


def _flat(record: Record) -> dict[str, Any]:
    """Return one row: the columns that all kinds of studies share, seconds by stage, and all scores."""
    stages = {f"seconds_{name}": seconds for name, seconds in (record.get("timings") or {}).items()}
    errors = {f"dimacs_{k}": error for k, error in enumerate(record.get("dimacs") or (), 1)}
    return {name: record[name] for name in COLUMNS if name in record} | stages | errors | dict(numbers_in(record))


def _write_parquet(rows: Sequence[Record], names: Sequence[str], out: Path) -> None:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        words = "Parquet needs pyarrow; get it with: pip install 'cvxlink[parquet]', or write NAME.csv"
        raise MissingDependency(words) from error
    columns = {name: [row.get(name) for row in rows] for name in names}
    for name, values in columns.items():
        if len({type(value) for value in values if value is not None} - {int, float}) > 1:
            columns[name] = [None if value is None else str(value) for value in values]
    with put_in_place(out) as file:
        parquet.write_table(arrow.table(columns), file)
