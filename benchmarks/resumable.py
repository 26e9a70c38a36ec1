"""What the benchmarks share: finished cells kept on disk, progress, tables, and pages with parts written by hand."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cvxlink.data.files.atomic import put_in_place, write_whole
from cvxlink.data.files.contents import bytes_of
from cvxlink.errors import CvxlinkError

RESULTS = Path(__file__).parent.parent / "docs" / "results"
FINDING = "<!-- The sentence below is written by hand and kept: check it against the new numbers. -->"
FIRST = b'{"settings"'  # so a file of cells begins
KEPT = "<!-- What follows is written by hand and kept. -->"


class Cells:
    """The finished cells, one line of JSON each; the first line holds the settings they were made with.

    ``fields`` are the entries of a cell that name it.
    """

    def __init__(self, path: Path, settings: dict, fields: tuple[str, ...]) -> None:
        self.path, self.fields = path, fields
        self.done: dict[tuple, dict] = {}
        content = self._content()
        whole = content[: content.rfind(b"\n") + 1]  # without a line that an interruption cut short
        lines = [(k, self._line(k, line)) for k, line in enumerate(whole.splitlines(), 1) if line.strip()]
        if lines and "settings" not in lines[0][1]:
            sys.exit(f"{path}, line {lines[0][0]}: there are no settings, so these are no cells; use another file")
        if lines and lines[0][1]["settings"] != settings:
            sys.exit(f"{path} was made with other settings; move it away, or use --cells for another file")
        for k, cell in lines[1:]:
            missing = [name for name in fields if name not in cell]
            if missing or not all(isinstance(part, Hashable) for part in self.key(cell)):
                sys.exit(f"{path}, line {k}: {missing or fields} must name the cell; correct or remove the line")
            self.done[self.key(cell)] = cell
        # Only now is it certain that this is a file of cells, of which the last line may go.
        if not lines:
            if not (content.startswith(FIRST) or FIRST.startswith(content.strip())):
                sys.exit(f"{path} holds something else than cells; use --cells for another file")
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps({"settings": settings}) + "\n")
        elif len(whole) < len(content):
            os.truncate(path, len(whole))

    def _content(self) -> bytes:
        try:
            return bytes_of(self.path) if self.path.exists() else b""
        except CvxlinkError as error:
            sys.exit(str(error))

    def _line(self, number: int, line: bytes) -> dict:
        try:
            cell = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            sys.exit(f"{self.path}, line {number}: {error}; correct or remove the line")
        if not isinstance(cell, dict):
            sys.exit(f"{self.path}, line {number}: a cell must be an object; correct or remove the line")
        return cell

    def key(self, cell: dict) -> tuple:
        return tuple(cell[name] for name in self.fields)

    def add(self, cell: dict) -> None:
        self.done[self.key(cell)] = cell
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cell) + "\n")

    def of(self, *start: object) -> list[dict]:
        """The cells whose names start so."""
        return [cell for key, cell in self.done.items() if key[: len(start)] == start]


def work_through(todo: list[tuple], describe: Callable[..., str], compute: Callable[..., None]) -> None:
    """Call ``compute`` on each, with a bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn()) as progress:
        bar = progress.add_task("", total=len(todo))
        for key in todo:
            progress.update(bar, description=describe(*key))
            compute(*key)
            progress.advance(bar)


def write_report(path: Path, text: str) -> None:
    """Write a page, and keep what was written by hand: the sentence below the title, and what is below the mark."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    sentence = before.partition(FINDING)[2].strip().partition("\n\n")[0] or "(What came out, in one sentence.)"
    title, _, rest = text.partition("\n")
    by_hand = before.partition(KEPT)[2] or "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, f"{title}\n\n{FINDING}\n\n{sentence}\n{rest}\n{KEPT}{by_hand}")


def save_figure(figure: Any, path: Path, dpi: int) -> None:
    """Save a picture that appears whole or not at all."""
    with put_in_place(path) as new:
        figure.savefig(new, dpi=dpi, format=path.suffix.lstrip("."))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def bold_least(rows: list[list[str]], column: int) -> list[list[str]]:
    """Mark the cell with the least number of a column; cells that hold none, as "> 60" or "stopped", do not count."""
    cells = [row[column] for row in rows]
    values = [-float(cell) if re.fullmatch(r"[\d.]+", cell) else math.nan for cell in cells]
    return [[*row[:column], cell, *row[column + 1 :]] for row, cell in zip(rows, bold_best(cells, values), strict=True)]


def bold_best(cells: list[str], values: Iterable[float]) -> list[str]:
    """Mark the cells with the largest value, as far as printed digits tell: "0.94±0.01" ties with "0.94±0.03".

    Nothing is marked where all of them tie.
    """
    values = list(values)
    finite = [k for k, value in enumerate(values) if math.isfinite(value)]
    if not finite:
        return cells

    def printed(k: int) -> str:
        return re.match(r"-?[\d.]*", cells[k])[0]

    best = printed(max(finite, key=lambda k: values[k]))
    winners = [k for k in finite if printed(k) == best]
    if 1 < len(winners) == len(cells):
        return cells
    return [f"**{best}**{cell[len(best) :]}" if k in winners else cell for k, cell in enumerate(cells)]
