"""Text in cells, separated by commas, semicolons, tabs or spaces; the first lines show which."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ...errors import InvalidInput
from .contents import STANDARD_INPUT, bytes_of, text_in_utf8

SPACES = " "
SEPARATORS = ("\t", ";", ",", SPACES)  # of several that fit equally well, the first is meant
LINES_LOOKED_AT = 20

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED_OR_WORD = re.compile(r'"(?P<quoted>(?:[^"]|"")*)"(?=\s|$)|(?P<word>[^\s"]\S*)|(?P<stray>")')


@dataclass(frozen=True)
class Delimited:
    """A file in cells.

    Attributes
    ----------
    where : str
        What the file is called in messages.
    text : str
        Its content.
    separator : str
        One of ``SEPARATORS``; a space stands for any number of spaces and tabs.
    """

    where: str
    text: str
    separator: str

    @classmethod
    def read(cls, source: str | Path) -> Delimited:
        """Read a file, or standard input if the name is ``-``; detect the separator from its first lines."""
        where = "standard input" if str(source) == STANDARD_INPUT else str(source)
        text = text_in_utf8(bytes_of(source, error=InvalidInput), where, InvalidInput)
        return cls(where, text, _separator(text))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number, counted from 1, and the cells of each line that is not blank."""
        return _rows_in_spaces(self) if self.separator == SPACES else _rows(self)

    def wrong(self, what: str, line: int, column: str = "") -> InvalidInput:
        """Return an error about a place in the file."""
        return InvalidInput(f"{self.where}, line {line}{column and f', {column}'}: {what}")


def for_spreadsheet(cell: str) -> str:
    """Return a cell so that no spreadsheet runs it: an apostrophe before what would be a formula, as "=1+1"."""
    return f"'{cell}" if _FORMULA.match(cell) and number(cell) is None else cell


def from_spreadsheet(cell: str) -> str:
    """Return a cell as it was before :func:`for_spreadsheet`."""
    return cell[1:] if cell.startswith("'") and for_spreadsheet(cell[1:]) == cell else cell


def number(cell: str) -> float | None:
    """Return the number that a cell holds, or None; unlike Python, 1_000 does not count as a number."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _separator(text: str) -> str:
    """Return the separator by which most of the first lines have equally many cells, and the most numbers."""
    lines = list(islice((line for line in io.StringIO(text) if line.strip()), LINES_LOOKED_AT))
    best, highest = ",", (0, 0.0)
    for separator in SEPARATORS:
        rows = [_split(line, separator) for line in lines]
        counts = Counter(len(cells) for cells in rows if len(cells) > 1)
        alike = max(counts.values(), default=0)
        cells = [cell for row in rows for cell in row]
        # Decimal commas are refused later, with a sentence on them; here they must not look like separators.
        share = sum(number(cell.replace(",", ".")) is not None for cell in cells) / max(len(cells), 1)
        if (alike, share) > highest:
            best, highest = separator, (alike, share)
    return best


def _split(line: str, separator: str) -> list[str]:
    if separator == SPACES:
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:  # reported when the file is read
        return []


def _rows(table: Delimited) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(table.text), delimiter=table.separator, skipinitialspace=True, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        what = "quotes do not match; a quote within a quoted cell is written twice"
        if "limit" in str(error):
            what = f"a cell has more than {csv.field_size_limit()} characters; shorten it, or close its quotes"
        raise table.wrong(what, line) from error


def _rows_in_spaces(table: Delimited) -> Iterator[tuple[int, list[str]]]:
    for line, text in enumerate(io.StringIO(table.text), 1):
        if '"' not in text:
            cells = text.split()
        else:
            found = list(_QUOTED_OR_WORD.finditer(text))
            if any(cell["stray"] for cell in found):
                raise table.wrong("quotes do not match; a quote within a quoted cell is written twice", line)
            cells = [cell["word"] or cell["quoted"].replace('""', '"') for cell in found]
        if cells:
            yield line, cells
