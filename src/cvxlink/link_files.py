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
    pairs = {"must": must.tolist(), "cannot": cannot.tolist()}
    if _kind(path) == "json":
        text = json.dumps({"n": n, **pairs}) + "\n"
    else:
        rows = [f"{i},{j},{kind}" for kind, both in pairs.items() for i, j in both]
        text = "\n".join(["i,j,kind", *rows, ""])
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"the links cannot be written to {path}: {error.strerror}") from error
    return path


def read(path: Path, n: int | None) -> tuple[int, Pairs, Pairs]:
    """Return the number of points, the must-links and the cannot-links of a file."""
    kind = _kind(path)
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}")
    try:
        return _read_json(path, n) if kind == "json" else _read_csv(path, n)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not text in UTF-8; save it in that encoding") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error


def _kind(path: Path) -> str:
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("json", "csv"):
        raise InvalidInput(f"links are kept in .json or .csv files, not {path.name!r}")
    return kind


def _read_json(path: Path, n: int | None) -> tuple[int, Pairs, Pairs]:
    text = path.read_text(encoding="utf-8-sig")
    try:
        content = json.loads(text)
        stored, must, cannot = content["n"], content["must"], content["cannot"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{path} is not a file of links: it needs an object with n, must and cannot") from error
    if not isinstance(stored, int):
        raise InvalidInput(f"{path}: n must be a whole number, not {stored!r}")
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
            if not "".join(row).strip():
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
