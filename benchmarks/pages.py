"""What the pages of results share: cells of studies, tables, pictures, and parts that are written by hand."""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cvxlink.data.files.atomic import put_in_place, write_whole
from cvxlink.studies.cells import Cell, cells_of
from cvxlink.studies.description import Study
from cvxlink.studies.store import Store

ROOT = Path(__file__).resolve().parent.parent
STUDIES = ROOT / "studies"
RESULTS = ROOT / "docs" / "results"
FINDING = "<!-- The sentence below is written by hand and kept: check it against the new numbers. -->"
KEPT = "<!-- What follows is written by hand and kept. -->"


@dataclass(frozen=True)
class Finished:
    """The finished cells of a study, each a flat dictionary, by the values of the entries that name it.

    Attributes
    ----------
    done : dict
        The cells by name.
    lost : list of dict
        Cells that came to nothing, with their ``reason``.
    """

    done: dict[tuple, dict]
    lost: tuple[dict, ...] = ()

    @classmethod
    def in_studies(cls, names: Iterable[str], fields: tuple[str, ...], folder: Path) -> Finished:
        """Read the results of some studies; one that was never run has none."""
        cells = [
            cell for name in names for cell in flat(Study.read(STUDIES / f"{name}.toml"), folder / f"{name}-results")
        ]
        whole = [cell for cell in cells if "reason" not in cell]
        return cls(
            {tuple(cell[name] for name in fields): cell for cell in whole}, tuple(c for c in cells if "reason" in c)
        )

    def of(self, *start: object) -> list[dict]:
        """The cells whose names start so."""
        return [cell for key, cell in self.done.items() if key[: len(start)] == start]


def flat(study: Study, folder: Path) -> list[dict]:
    """Return the finished cells of a study, with what they are and what was measured side by side."""
    known = {record["key"]: record for record in Store(folder).records()}
    return [beside(cell, known[cell.key]) for cell in cells_of(study) if cell.key in known]


def beside(cell: Cell, record: dict) -> dict:
    """Return what a cell is beside what was measured, or beside the reason why nothing was."""
    instance, configuration = cell.instance, cell.configuration
    what = {"data": instance.data, "links": instance.links, "wrong": instance.wrong, "draw": instance.draw}
    what = {key: value for key, value in what.items() if instance.data is not None}
    what |= {"configuration": configuration.name, **instance.options, **configuration.options}
    measured = {**(record.get("numbers") or {}), **(record.get("texts") or {}), **(record.get("scores") or {})}
    if not measured:
        return what | {
            "reason": str(record.get("reason")),
            "refused": record.get("refused"),
            "stopped_by": record.get("stopped_by"),
        }
    return what | measured | {"seconds": record["seconds"], "megabytes": record.get("megabytes")}


def arguments_of(doc: str | None, page: Path, *more: Callable[[argparse.ArgumentParser], object]) -> argparse.Namespace:
    """Read the command line of a script that makes a page of studies."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=STUDIES, help="where the folders with results of studies are")
    parser.add_argument("--save", type=Path, default=page, help="the page; pictures are written beside it")
    for add in more:
        add(parser)
    return parser.parse_args()


def require_cells(cells: Finished, *names: str) -> None:
    """End the script if nothing was computed yet."""
    if not cells.done:
        runs = " or ".join(f"`cvxlink study run studies/{name}.toml`" for name in names)
        reasons = sorted({cell["reason"] for cell in cells.lost})
        sys.exit(
            f"there are no results to make a page of; {runs} computes them" + "".join(f"\n{one}" for one in reasons)
        )


def made_by(script: str, *names: str, packages: Iterable[str] = ()) -> str:
    """Say which commands make a page, where, and with what."""
    runs = " and ".join(f"`CVXLINK_DATA=… cvxlink study run studies/{name}.toml`" for name in names)
    versions = ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)])
    made = f"made\ninto a page by `python benchmarks/{script}.py`, on {os.cpu_count()} cores"
    return f"Computed by {runs}, {made}, {versions}."


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
