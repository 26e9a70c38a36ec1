"""What the long benchmarks share: finished cells kept on disk, progress, and reports with a part written by hand."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

RESULTS = Path(__file__).parent.parent / "docs" / "results"
KEPT = "<!-- What follows is written by hand and kept. -->"


class Cells:
    """The finished cells, one line of JSON each; the first line holds the settings they were made with.

    ``fields`` are the entries of a cell that name it.
    """

    def __init__(self, path: Path, settings: dict, fields: tuple[str, ...]) -> None:
        self.path, self.fields = path, fields
        self.done: dict[tuple, dict] = {}
        content = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = content[: content.rfind("\n") + 1]  # without a line that an interruption cut short
        if len(whole) < len(content):
            os.truncate(path, len(whole.encode()))
        lines = [json.loads(line) for line in whole.splitlines() if line.strip()]
        if not lines:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"settings": settings}) + "\n", encoding="utf-8")
        elif lines[0].get("settings") != settings:
            sys.exit(f"{path} was made with other settings; move it away, or use --cells for another file")
        for cell in lines[1:]:
            self.done[self.key(cell)] = cell

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
    """Write a report, keeping what was written by hand below its mark."""
    by_hand = path.read_text(encoding="utf-8").partition(KEPT)[2] if path.exists() else "\n"
    path.write_text(f"{text}\n{KEPT}{by_hand}", encoding="utf-8")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))
