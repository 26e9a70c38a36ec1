"""Text in cells, separated by commas, semicolons, tabs or spaces; the first lines show which."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ...errors import InvalidInput

STANDARD_INPUT = "-"
SPACES = " "
SEPARATORS = ("\t", ";", ",", SPACES)  # of several that fit equally well, the first is meant
LINES_LOOKED_AT = 20

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
        text = _decoded(_bytes_of(source), where)
        return cls(where, text, _separator(text))

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the number, counted from 1, and the cells of each line that is not blank."""
        return _rows_in_spaces(self) if self.separator == SPACES else _rows(self)

    def wrong(self, what: str, line: int, column: str = "") -> InvalidInput:
        """Return an error about a place in the file."""
        return InvalidInput(f"{self.where}, line {line}{column and f', {column}'}: {what}")


def number(cell: str) -> float | None:
    """Return the number that a cell holds, or None; unlike Python, 1_000 does not count as a number."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _bytes_of(source: str | Path) -> bytes:
    if str(source) == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    path = Path(source)
    if not path.exists():
        raise InvalidInput(f"there is no file {path}", "path")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", "path") from error


def _decoded(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(f"{where} is not text in UTF-8 (line {line}); save it in that encoding") from error


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
        raise table.wrong("quotes do not match; a quote within a quoted cell is written twice", line) from error


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
