"""How points are called in files and on the screen: by their names, or by the numbers of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...errors import InconsistentLinks, InvalidInput


@dataclass(frozen=True, eq=False)
class PointNames:
    """The names of n points.

    Attributes
    ----------
    n : int or None
        None if unknown; any whole number may then be the number of a row.
    names : tuple of str or None
        One name per point, all different; without names, points are called by the numbers of their rows.
    one_based : bool
        Whether rows are counted from 1 instead of 0.
    """

    n: int | None
    names: tuple[str, ...] | None = None
    one_based: bool = False

    def __post_init__(self) -> None:
        if self.one_based and self._names_are_numbers:
            raise InvalidInput("points have names that are numbers, by which links call them; leave out --one-based")

    def __getitem__(self, row: int) -> str | int:
        """Return what a point is called."""
        return int(row) + self.one_based if self.names is None else self.names[row]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.names or ())}

    @cached_property
    def _names_are_numbers(self) -> bool:
        """Whether some name is a whole number: then a number in a file of links is a name, and never a row."""
        return any(_whole(name) is not None for name in self.names or ())

    def may_be_point(self, cell: str) -> bool:
        """Whether a cell names a point, or looks like the number of a row, even of one that does not exist."""
        return cell in self._rows or _whole(cell) is not None

    def row(self, cell: str) -> int:
        """Return the row of the point that a cell names, or raise."""
        if cell in self._rows:
            return self._rows[cell]
        whole = _whole(cell)
        if whole is None or self._names_are_numbers:
            how = "not a whole number" if self.names is None else "not the name of a point"
            remedy = "; the names are in the column given by --id-column"
            if self.names is None:  # without n the reader is not the command line, which has this option
                remedy = "" if self.n is None else "; points have names only with --id-column"
            raise InvalidInput(f"{cell!r} is {how}{remedy}")
        first = int(self.one_based)
        if self.n is not None and not first <= whole < first + self.n:
            last = first + self.n - 1
            zero = "counted from 1, as --one-based says" if self.one_based else "counted from 0 (--one-based: from 1)"
            raise InvalidInput(f"{cell} is outside the points {first} … {last}; they are {zero}")
        return whole - first

    def reworded(self, error: InconsistentLinks) -> InconsistentLinks:
        """Return a contradiction with the names of the points instead of their numbers."""
        pair: Any = tuple(self[point] for point in error.pair)
        path: Any = tuple(self[point] for point in error.path)
        labels: Any = {self[point]: label for point, label in error.labels.items()}
        return InconsistentLinks(pair, path, labels)


def _whole(cell: str) -> int | None:
    try:
        return None if "_" in cell else int(cell)
    except ValueError:
        return None
