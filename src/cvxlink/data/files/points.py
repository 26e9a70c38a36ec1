"""Points in files: one line per point, with columns for features and, optionally, names, labels and classes."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from ...errors import InvalidInput
from ...numerics.checks import LARGEST_COORDINATE, LARGEST_LABEL, as_labels
from .delimited import Delimited, from_spreadsheet, number

UNKNOWN_LABELS = ("", "?", "NA", "NaN", "-1", "-1.0")
MISSING = ("?", "na", "n/a", "nan", "null", "none", "-", ".")
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
# Groups of three digits: one group after a comma may as well be decimals.
MAYBE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
THOUSANDS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
THOUSANDS_POINT = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+|\.\d{3})")


@dataclass(frozen=True)
class Roles:
    """The role of each column; a column is given by its name in the header, or by its number counted from 1.

    Attributes
    ----------
    labels : str or None
        Partial labels, which clustering uses.
    truth : str or None
        True classes, to compare a clustering with; clustering does not see them.
    names : str or None
        The names of the points.
    features : tuple of str or None
        The columns to cluster by; None means all others.
    ignored : tuple of str
        The columns not to use.
    """

    labels: str | None = None
    truth: str | None = None
    names: str | None = None
    features: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wording:
    """How messages call the roles, where whoever reads a file gives them: by default, options of the command line.

    Attributes
    ----------
    names, labels, truth, features, ignored : str
        As in :class:`Roles`; an empty one cannot be given there.
    header : str
        What to do about a first line that may be a header or a point.
    """

    names: str = "--id-column"
    labels: str = "--label-column"
    truth: str = "--truth-column"
    features: str = "--columns"
    ignored: str = "--ignore-column"
    header: str = "give --header or --no-header"

    @property
    def texts(self) -> str:
        """The roles that text can have, in words."""
        *first, last = (one for one in (self.labels, self.truth, self.names) if one)
        return f"{', '.join(first)} or {last}"


BY_OPTIONS = Wording()


@dataclass(frozen=True, eq=False)
class PointFile:
    """The content of a file of points.

    Attributes
    ----------
    where : str
        What the file is called in messages.
    X : array, n × d
    features : tuple of str
        The names of the columns of X.
    names : tuple of str or None
    labels, truth : array of n or None
        -1, or "-1" among names, where unknown.
    notes : tuple of str
        What was decided about the file that a user may want to know.
    """

    where: str
    X: np.ndarray
    features: tuple[str, ...]
    names: tuple[str, ...] | None = None
    labels: np.ndarray | None = None
    truth: np.ndarray | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """The columns of a file, their names, and what messages call their roles."""

    where: str
    width: int
    header: tuple[str, ...] | None
    wording: Wording = BY_OPTIONS

    def called(self, k: int) -> str:
        """Return the number of a column counted from 1, and its name if it has one."""
        return f"column {k + 1} ({self.header[k]})" if self.header and self.header[k] else f"column {k + 1}"

    def name(self, k: int) -> str:
        """Return the name of a column, or its number."""
        return (self.header[k] if self.header else "") or str(k + 1)

    def find(self, which: str, option: str) -> int:
        """Return the column with this name or number."""
        which = which.strip()
        found = [k for k, name in enumerate(self.header or ()) if name == which]
        if len(found) > 1:
            numbers = " and ".join(str(k + 1) for k in found)
            raise InvalidInput(f"{self.where}: the columns {numbers} are called {which!r}; give {option} the number")
        if not found and which.isdecimal() and len(which) < 10 and 1 <= int(which) <= self.width:
            return int(which) - 1
        if not found:
            known = f"there are {', '.join(map(self.name, range(self.width)))}" if self.header else "there is no header"
            count = f"or a number from 1 to {self.width}"
            raise InvalidInput(f"{self.where} has no column {which!r}, which {option} asks for; {known}, {count}")
        return found[0]


def read_points(
    source: str, roles: Roles | None = None, has_header: bool | None = None, wording: Wording = BY_OPTIONS
) -> PointFile:
    """Read points from a file, or from standard input if the name is ``-``.

    Parameters
    ----------
    source : str
    roles : Roles, optional
        By default all columns are features.
    has_header : bool, optional
        Whether the first line names the columns; by default the cells decide.
    wording : Wording
        How messages call the roles.
    """
    roles = roles or Roles()
    table = Delimited.read(source)
    rows = table.rows()
    first = list(islice(rows, 2))
    if not first:
        raise InvalidInput(f"{table.where} is empty; it needs a line for each point")
    has_header = _has_header(table, first, wording) if has_header is None else has_header
    header = tuple(cell.strip() for cell in first[0][1]) if has_header else None
    if has_header and len(first) == 1:
        raise InvalidInput(f"{table.where} holds a header and no points; it needs a line for each point")
    columns = Columns(table.where, len(first[0][1]), header, wording)
    texts, features = _chosen(columns, roles)
    X, lines, cells = _read(table, columns, features, list(texts.values()), chain(first[int(has_header) :], rows))
    _require_finite(X, table, columns, features, lines)
    notes: list[str] = []
    if roles.features is None:
        X, features, notes = _without_counter(X, columns, features)

    def labels(role: str) -> np.ndarray | None:
        place = texts.get(role)
        return None if place is None else _labels(cells[place], f"{table.where}, {columns.called(place)}")

    return PointFile(
        table.where,
        X,
        tuple(columns.name(k) for k in features),
        _names(cells[texts["names"]], table, columns.called(texts["names"]), lines) if "names" in texts else None,
        labels("labels"),
        labels("truth"),
        tuple(notes),
    )


def _has_header(table: Delimited, first: list[tuple[int, list[str]]], wording: Wording) -> bool:
    """Whether the first line is a header: it holds no number, or a word where the second line has a number."""
    line, cells = first[0]
    are_numbers = [number(cell) is not None for cell in cells]
    if all(are_numbers):
        return False
    below = first[1][1] if len(first) > 1 else []
    words = [k for k, cell in enumerate(cells) if not are_numbers[k] and cell.strip().lower() not in ("", *MISSING)]
    if not any(are_numbers) or any(k < len(below) and number(below[k]) is not None for k in words):
        return True
    k = are_numbers.index(False)
    raise table.wrong(
        f"{cells[k].strip()!r} is not a number, but others in this line are, so it may be a header or a point; "
        f"{wording.header}",
        line,
        f"column {k + 1}",
    )


def _chosen(columns: Columns, roles: Roles) -> tuple[dict[str, int], tuple[int, ...]]:
    """Return the columns of names, labels and classes by their role, and the columns of the features."""
    wording = columns.wording
    options = {"names": wording.names, "labels": wording.labels, "truth": wording.truth}
    texts: dict[str, int] = {}
    for role, option in options.items():
        which = getattr(roles, role)
        if which is None:
            continue
        k = columns.find(which, option)
        other = next((options[r] for r, taken in texts.items() if taken == k), None)
        if other:
            raise InvalidInput(f"{columns.where}: {columns.called(k)} cannot be both {other} and {option}")
        texts[role] = k
    ignored = {columns.find(which, wording.ignored) for which in roles.ignored}
    for role, k in texts.items():
        if k in ignored:
            raise InvalidInput(
                f"{columns.where}: {columns.called(k)} cannot be both {options[role]} and {wording.ignored}"
            )
    if roles.features is None:
        features = tuple(k for k in range(columns.width) if k not in texts.values() and k not in ignored)
    else:
        features = tuple(columns.find(which, wording.features) for which in roles.features)
    for k in features:
        if k in ignored:
            both = f"{wording.features} and {wording.ignored}"
            raise InvalidInput(f"{columns.where}: {columns.called(k)} cannot be both in {both}")
        if k in texts.values():
            role = next(options[r] for r, taken in texts.items() if taken == k)
            raise InvalidInput(
                f"{columns.where}: {columns.called(k)} is {role}, so it cannot be among {wording.features}"
            )
        if features.count(k) > 1:
            raise InvalidInput(f"{columns.where}: {columns.called(k)} is named twice by {wording.features}")
    if not features:
        raise InvalidInput(
            f"{columns.where} has no column of numbers to cluster by, besides those that are named for something else"
        )
    return texts, features


def _read(
    table: Delimited,
    columns: Columns,
    features: tuple[int, ...],
    texts: list[int],
    rows: Iterator[tuple[int, list[str]]],
) -> tuple[np.ndarray, array, dict[int, list[str]]]:
    """Return the features, the line of each point, and the cells of the text columns."""
    numbers, lines = array("d"), array("l")
    kept: dict[int, list[str]] = {k: [] for k in texts}
    underscored = "_" in table.text
    for line, cells in rows:
        if len(cells) != columns.width:
            raise _uneven(table, columns, line, len(cells))
        chosen = [cells[k] for k in features]
        try:
            numbers.extend(map(float, chosen))
        except ValueError:
            raise _no_number(table, columns, features, line, cells) from None
        if underscored and any("_" in cell for cell in chosen):
            raise _no_number(table, columns, features, line, cells)
        lines.append(line)
        for k, column in kept.items():
            column.append(from_spreadsheet(cells[k].strip()))
    return np.array(numbers).reshape(len(lines), len(features)), lines, kept


def _uneven(table: Delimited, columns: Columns, line: int, count: int) -> InvalidInput:
    before = "the header" if columns.header else "the first line"
    what = f"{count} cell{'s' if count != 1 else ''} where {before} has {columns.width}"
    if count < columns.width:
        return table.wrong(f"{what}; fill in the missing cells, or drop the line", line, f"no {columns.called(count)}")
    remedy = "remove the extra cells, or put cells that hold a separator in quotes"
    return table.wrong(f"{what}; {remedy}", line, f"column {columns.width + 1}")


def _no_number(
    table: Delimited, columns: Columns, features: tuple[int, ...], line: int, cells: list[str]
) -> InvalidInput:
    """Return what is wrong with the first cell of a line that is not a number, or with its whole column."""
    k = next(k for k in features if number(cells[k]) is None)
    cell = cells[k].strip()
    rows = islice(table.rows(), int(columns.header is not None), None)
    candidates = set(features)
    is_empty = True
    for _, others in rows:
        candidates -= {c for c in candidates if c < len(others) and number(others[c]) is not None}
        is_empty = is_empty and not (k < len(others) and others[k].strip())
    place, wording = columns.called(k), columns.wording
    leave_out = f"leave it out with {wording.ignored}"
    if is_empty:
        return table.wrong(f"the column is empty in every line; remove it, or {leave_out}", line, place)
    notation = _other_notation(cell)
    if notation:
        return table.wrong(notation, line, place)
    if k in candidates:
        alike = ", ".join(columns.called(c) for c in sorted(candidates - {k}))
        also = f" (as does {alike})" if alike else ""
        return table.wrong(
            f"the column holds text{also}, {cell!r} here; say what it is with {wording.texts}, "
            f"{leave_out}, or name the features with {wording.features}",
            line,
            place,
        )
    if not cell or cell.lower() in MISSING:
        what = f"{cell!r} stands for a missing number" if cell else "the cell is empty"
        return table.wrong(
            f"{what}; fill it in, drop the line, or leave the column out with {wording.ignored}", line, place
        )
    remedy = f"correct it, drop the line, or leave the column out with {wording.ignored}"
    return table.wrong(f"{cell!r} is not a number; {remedy}", line, place)


def _other_notation(cell: str) -> str:
    """Return what is wrong with a number in another notation than with a decimal point, or ""."""
    plain, with_point = cell.replace(",", ""), cell.replace(",", ".")
    if MAYBE_THOUSANDS.fullmatch(cell):
        return f"{cell!r} has a comma: if it separates thousands, write {plain}; if decimals, {with_point}"
    if DECIMAL_COMMA.fullmatch(cell):
        return f"{cell!r} has a decimal comma; write it with a decimal point: {with_point}"
    if THOUSANDS_COMMA.fullmatch(cell):
        return f"{cell!r} has commas between thousands; write it without them: {plain}"
    if THOUSANDS_POINT.fullmatch(cell):
        written = cell.replace(".", "").replace(",", ".")
        return f"{cell!r} has points between thousands; write it without them, and with a decimal point: {written}"
    return ""


def _require_finite(X: np.ndarray, table: Delimited, columns: Columns, features: tuple[int, ...], lines: array) -> None:
    bad = ~(abs(X) <= LARGEST_COORDINATE)  # NaN is not at most anything
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    value = X[row, column]
    what = "is too large to compute distances with; rescale the column" if np.isfinite(value) else "is not finite"
    remedy = "" if np.isfinite(value) else "; fill in a number, or drop the line"
    raise table.wrong(f"{value:g} {what}{remedy}", lines[row], columns.called(features[column]))


def _without_counter(
    X: np.ndarray, columns: Columns, features: tuple[int, ...]
) -> tuple[np.ndarray, tuple[int, ...], list[str]]:
    """Leave out a column that has no name in the header and only counts the lines, as pandas writes its index."""
    k = features[0]
    counts = any(np.array_equal(X[:, 0], np.arange(len(X)) + start) for start in (0, 1))
    if columns.header is None or columns.header[k] or not counts or len(features) == 1:
        return X, features, []
    return X[:, 1:], features[1:], [f"{columns.called(k)} has no name and only counts the lines, so it is left out"]


def _names(cells: list[str], table: Delimited, column: str, lines: array) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    for cell, line in zip(cells, lines, strict=True):
        if not cell:
            raise table.wrong("the point has no name; give it one", line, column)
        if cell in seen:
            raise table.wrong(f"{cell!r} is also the name of line {seen[cell]}; names must differ", line, column)
        seen[cell] = line
    return tuple(cells)


def _labels(cells: list[str], where: str) -> np.ndarray:
    """Return labels: whole numbers if all known labels are whole numbers, names otherwise."""
    known = {cell: number(cell) for cell in set(cells) if cell not in UNKNOWN_LABELS}
    if not known:
        raise InvalidInput(f"{where} holds no labels, only signs for unknown; fill some in")
    are_whole = all(v is not None and v.is_integer() and abs(v) <= LARGEST_LABEL for v in known.values())
    label = {cell: int(value) if are_whole and value is not None else cell for cell, value in known.items()}
    return as_labels([label.get(cell) for cell in cells])
