"""Links in files: JSON, and CSV with the columns ``i,j,kind``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from .errors import InvalidInput

Pairs = list[tuple[int, int]]


def write(path: Path, n: int, must: np.ndarray, cannot: np.ndarray) -> Path:
    """Write links in the format the file's ending names."""
    if _kind(path) == "json":
        content = {"n": n, "must": must.tolist(), "cannot": cannot.tolist()}
        path.write_text(json.dumps(content) + "\n", encoding="utf-8")
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["i", "j", "kind"])
        rows.writerows([i, j, "must"] for i, j in must.tolist())
        rows.writerows([i, j, "cannot"] for i, j in cannot.tolist())
    return path


def read(path: Path, n: int | None) -> tuple[int, Pairs, Pairs]:
    """Return the number of points, the must-links and the cannot-links of a file."""
    kind = _kind(path)
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    return _read_json(path, n) if kind == "json" else _read_csv(path, n)


def _kind(path: Path) -> str:
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("json", "csv"):
        raise InvalidInput(f"links are kept in .json or .csv files, not {path.name!r}")
    return kind


def _read_json(path: Path, n: int | None) -> tuple[int, Pairs, Pairs]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
        stored, must, cannot = content["n"], content["must"], content["cannot"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{path} is not a file of links: it needs an object with n, must and cannot ({error})"
        ) from error
    if n is not None and n != stored:
        raise InvalidInput(f"{path} holds links on {stored} points, not {n}")
    return stored, must, cannot


def _read_csv(path: Path, n: int | None) -> tuple[int, Pairs, Pairs]:
    if n is None:
        raise InvalidInput(f"a CSV does not hold the number of points; use Links.load({path.name!r}, n=…)")
    pairs: dict[str, Pairs] = {"must": [], "cannot": []}
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file)
        header = [cell.strip().lower() for cell in next(rows, [])]
        if header != ["i", "j", "kind"]:
            raise InvalidInput(f"{path}, line 1: the header must be i,j,kind")
        for row in rows:
            if not row:
                continue
            where = f"{path}, line {rows.line_num}"
            if len(row) != 3:
                raise InvalidInput(f"{where}: expected three cells i,j,kind, found {len(row)}")
            kind = row[2].strip().lower()
            if kind not in pairs:
                raise InvalidInput(f"{where}: kind must be must or cannot, not {row[2]!r}")
            try:
                pairs[kind].append((int(row[0]), int(row[1])))
            except ValueError as error:
                raise InvalidInput(f"{where}: i and j must be whole numbers, not {row[0]!r}, {row[1]!r}") from error
    return n, pairs["must"], pairs["cannot"]
