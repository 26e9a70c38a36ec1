"""Tables that print themselves, with rows by number or by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ..errors import InvalidInput

# What fits a page.
WIDTH = 88


class Row(Protocol):
    """What a row must offer."""

    @property
    def name(self) -> str:
        """Its name."""

    def cells(self) -> tuple[str, ...]:
        """Return the text of each column."""


RowType = TypeVar("RowType", bound=Row)


def same_name(which: str, names: Iterable[str]) -> str | None:
    """Return the name that matches exactly, or otherwise the one that matches except for capitals."""
    names = list(names)
    return which if which in names else next((name for name in names if name.casefold() == which.casefold()), None)


def _fitting(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of columns, narrowing the widest until all fit on a line or no cell can be wrapped further."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [max(len(word) for cell in column for word in cell.split() or [""]) for column in columns]
    room = WIDTH - 2 * (len(widths) - 1)
    while sum(widths) > room and widths != least:
        widest = max((width, k) for k, width in enumerate(widths) if width > least[k])[1]
        widths[widest] -= 1
    return widths


def _wrapped(row: Sequence[str], widths: list[int]) -> list[str]:
    """Return the lines of one row; a cell may take several."""
    cells = [
        wrap(cell, width, break_long_words=False, break_on_hyphens=False) or [""]
        for cell, width in zip(row, widths, strict=True)
    ]
    lines = zip_longest(*cells, fillvalue="")
    return ["  ".join(part.ljust(width) for part, width in zip(line, widths, strict=True)).rstrip() for line in lines]


class Table(tuple[RowType, ...], Generic[RowType]):
    """Rows with named columns; print the table to read it."""

    columns: ClassVar[tuple[str, ...]]
    noun: ClassVar[str]

    def __str__(self) -> str:
        rows = [self.columns, *(row.cells() for row in self)]
        widths = _fitting(rows)
        lines = [line for row in rows for line in _wrapped(row, widths)]
        header = len(_wrapped(self.columns, widths))
        return "\n".join([*lines[:header], "  ".join("-" * width for width in widths), *lines[header:]])

    __repr__ = __str__

    def __getitem__(self, which: Any) -> Any:
        """Return a row by its number or by its name; capitals do not matter."""
        if not isinstance(which, str):
            return super().__getitem__(which)
        name = same_name(which, self.names())
        if name is not None:
            return super().__getitem__(self.names().index(name))
        raise InvalidInput(f"there is no {self.noun} {which!r}; there are {', '.join(self.names())}")

    def names(self) -> list[str]:
        """Return the names."""
        return [row.name for row in self]
