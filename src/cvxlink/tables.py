"""Tables that print themselves, and give a row by its number or its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from .errors import InvalidInput


class Row(Protocol):
    """What a row offers."""

    @property
    def name(self) -> str:
        """Its name."""

    def cells(self) -> tuple[str, ...]:
        """Return what stands in the columns."""


RowType = TypeVar("RowType", bound=Row)


def same_name(which: str, names: Iterable[str]) -> str | None:
    """Return the name that is meant: that very one, or else the one that differs in capitals only."""
    names = list(names)
    return which if which in names else next((name for name in names if name.casefold() == which.casefold()), None)


class Table(tuple[RowType, ...], Generic[RowType]):
    """Rows, with the names of their columns; print it to read it."""

    columns: ClassVar[tuple[str, ...]]
    noun: ClassVar[str]

    def __str__(self) -> str:
        rows = [self.columns, *(row.cells() for row in self)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(self.columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(lines)

    __repr__ = __str__

    def __getitem__(self, which: Any) -> Any:
        """Return a row by its number or by its name, in capitals or not."""
        if not isinstance(which, str):
            return super().__getitem__(which)
        name = same_name(which, self.names())
        if name is not None:
            return super().__getitem__(self.names().index(name))
        raise InvalidInput(f"there is no {self.noun} {which!r}; there are {', '.join(self.names())}")

    def names(self) -> list[str]:
        """Return the names."""
        return [row.name for row in self]
