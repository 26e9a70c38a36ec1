"""Links in files: JSON, or text with the columns ``i,j,kind`` or, for one kind of links, ``i,j``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidInput
from .atomic import write_whole
from .contents import bytes_of, require_readable, text_in_utf8
from .delimited import Delimited, from_spreadsheet
from .names import PointNames

Pairs = list[tuple[int, int]]

KINDS = {
    **dict.fromkeys(("must", "must-link", "mustlink", "ml", "1", "+1"), "must"),
    **dict.fromkeys(("cannot", "cannot-link", "cannotlink", "cl", "-1"), "cannot"),
}
COLUMNS = ("i", "j", "kind")
# A file can claim any number of points, and some of what links are asked takes memory for each.
MOST_POINTS = 10**7


def write(path: Path, n: int, must: np.ndarray, cannot: np.ndarray) -> Path:
    """Write links in the format that the file's ending names."""
    pairs = {"must": must.tolist(), "cannot": cannot.tolist()}
    if _format(path) == "json":
        text = json.dumps({"n": n, **pairs}) + "\n"
    else:
        rows = [f"{i},{j},{kind}" for kind, both in pairs.items() for i, j in both]
        text = "\n".join(["i,j,kind", *rows, ""])
    try:
        write_whole(path, text)
    except InvalidInput as error:
        raise InvalidInput(str(error), "path") from error
    return path


def read(path: Path, n: int | None) -> tuple[int, Pairs, Pairs]:
    """Return the number of points, the must-links and the cannot-links of a file; their range is not checked here."""
    if _format(path) == "json":
        return _read_json(path, n)
    require_readable(path, error=InvalidInput)
    if n is None:
        raise InvalidInput(f"a CSV does not store the number of points; use Links.load({path.name!r}, n=…)", "n")
    return n, *_read_text(path, PointNames(None))


def read_links(path: Path, points: PointNames) -> tuple[Pairs, Pairs]:
    """Return the must-links and cannot-links of a file in which points have names, or are counted from 0 or 1."""
    if path.suffix.lower() != ".json":
        return _read_text(path, points)
    if points.one_based:
        raise InvalidInput(f"{path}: points in JSON are counted from 0; leave out --one-based")
    return _read_json(path, points.n)[1:]


def read_pairs(path: Path, points: PointNames) -> Pairs:
    """Return the pairs of a file with two columns."""
    return [(i, j) for i, j, _ in _read_rows(path, COLUMNS[:2], points)]


def _format(path: Path) -> str:
    ending = path.suffix.lower().lstrip(".")
    if ending not in ("json", "csv"):
        raise InvalidInput(f"links are stored in .json or .csv files, not {path.name!r}", "path")
    return ending


def _read_json(path: Path, n: int | None) -> tuple[int, Pairs, Pairs]:
    text = text_in_utf8(bytes_of(path, error=InvalidInput), str(path), InvalidInput)
    try:
        content = json.loads(text, object_pairs_hook=_without_repetition)
        stored, must, cannot = content["n"], content["must"], content["cannot"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = f" ({error})" if isinstance(error, json.JSONDecodeError | InvalidInput) else ""
        raise InvalidInput(
            f"{path} is not a file of links: it needs an object with n, must and cannot{why}", "path"
        ) from error
    if not isinstance(stored, int) or isinstance(stored, bool):
        raise InvalidInput(f"{path}: n must be a whole number, not {str(stored)[:30]!r}", "path")
    if stored > MOST_POINTS:
        raise InvalidInput(f"{path} claims more than {MOST_POINTS} points, which is the most that is read", "path")
    if n is not None and n != stored:
        raise InvalidInput(f"{path} holds links on {stored} points, not {n}", "n")
    if not isinstance(must, list) or not isinstance(cannot, list):
        raise InvalidInput(f"{path}: must and cannot must be lists of pairs", "path")
    return stored, must, cannot


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise InvalidInput(f"{key!r} is given twice")
        found[key] = value
    return found


def _read_text(path: Path, points: PointNames) -> tuple[Pairs, Pairs]:
    pairs: dict[str, Pairs] = {"must": [], "cannot": []}
    for i, j, kind in _read_rows(path, COLUMNS, points):
        pairs[kind].append((i, j))
    return pairs["must"], pairs["cannot"]


def _read_rows(path: Path, columns: tuple[str, ...], points: PointNames) -> Iterator[tuple[int, int, str]]:
    """Yield the two points and the kind of each link; the kind is empty where the columns have none."""
    table = Delimited.read(path)
    order = tuple(range(len(columns)))  # where in a line i, j and kind stand
    wanted = f"{('two', 'three')[len(columns) - 2]} cells {','.join(columns)}"
    for place, (line, cells) in enumerate(table.rows()):
        cells = [from_spreadsheet(cell.strip()) for cell in cells]
        if len(cells) != len(columns):
            header = "a header or " if place == 0 else ""
            raise table.wrong(f"expected {header}{wanted}, found {_counted(cells)}", line)
        names = [cell.lower() for cell in cells]
        if place == 0 and sorted(names) == sorted(columns) and not _is_link(cells, points):
            order = tuple(names.index(column) for column in columns)
            continue
        cells = [cells[k] for k in order]
        kind = _kind(cells)
        if place == 0 and not (kind or any(map(points.may_be_point, cells[:2]))):
            continue  # a header in other words
        if kind is None:
            what = f"kind must be must or cannot (ml or cl, +1 or -1), not {cells[2]!r} as in column {order[2] + 1}"
            raise table.wrong(what, line)
        ends = []
        for k, cell in enumerate(cells[:2]):
            try:
                ends.append(points.row(cell))
            except InvalidInput as error:
                raise table.wrong(str(error), line, f"column {order[k] + 1} ({columns[k]})") from error
        i, j = ends
        if i == j:
            where = f"columns {order[0] + 1} and {order[1] + 1} (i, j)"
            raise table.wrong(f"the link joins point {cells[0]} to itself; remove it", line, where)
        yield i, j, kind


def _is_link(cells: list[str], points: PointNames) -> bool:
    """Whether the two cells i, j are a link after all, between points with these names."""
    return len(cells) == 2 and all(map(points.may_be_point, cells))


def _kind(cells: list[str]) -> str | None:
    """Return the kind of a link, empty where there is no cell for it, or None if the cell names no kind."""
    return KINDS.get(cells[2].lower().replace("_", "-").replace(" ", "-")) if len(cells) > 2 else ""


def _counted(cells: list[str]) -> str:
    return f"{len(cells)} cell{'s' if len(cells) != 1 else ''}"
