"""The map of the papers: every name in it exists, and every equation, algorithm, table and figure is in it."""

from __future__ import annotations

import inspect
import re
from functools import cache, reduce
from pathlib import Path

import pytest

import cvxlink as cl
from cvxlink.methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "papers.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| item", "| ---"))]
SPAN = re.compile(r"`([^`]+)`")


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split(" | ")]


def sections() -> dict[str, str]:
    """The rows of each paper, by the first word of its heading."""
    parts = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    return {part.split(":")[0]: part for part in parts}


def named(name: str) -> object:
    """What a name beginning with cl. stands for."""
    first, *rest = name.removeprefix("cl.").split(".")
    if first == "Solution" and rest:
        assert hasattr(cl.Solution, rest[0]), name
        return getattr(cl.Solution, rest[0])
    return reduce(getattr, rest, getattr(cl, first))


@cache
def table():
    return cl.methods()


def ways(method: str) -> tuple[str, ...]:
    row = table()[method]
    return (*row.routes, *row.forms)


@pytest.mark.parametrize("row", ROWS)
def test_every_name_exists(row):
    item, where, remarks = (*cells(row), "", "")[:3]
    assert item
    method = ""
    for span in SPAN.findall(where):
        way = re.fullmatch(r'(route|form)="([^"]+)"', span)
        if way:
            row_of = table()[method]
            assert way[2] in (row_of.routes if way[1] == "route" else row_of.forms), span
            continue
        assert span.startswith("cl."), span
        named(span)
        method = span.removeprefix("cl.") if span.removeprefix("cl.") in METHODS else method
    for span in SPAN.findall(remarks):
        option = re.fullmatch(r"([a-z_]+)(=.*)?", span)
        if span.startswith("cl."):
            named(span)
        elif span.startswith("route="):
            assert span.split('"')[1] in ways(method), span
        else:
            assert option, span
            assert is_option(option[1], where), f"{span} is an option of nothing in {where}"
    assert where or remarks, f"{item} is nowhere"


def is_option(name: str, where: str) -> bool:
    """Whether something named in a cell takes an argument of this name."""
    found = [named(span) for span in SPAN.findall(where) if span.startswith("cl.")]
    return any(callable(one) and name in inspect.signature(one).parameters for one in found)


@pytest.mark.parametrize(("text", "target"), re.findall(r"\[([^\]]+)\]\(([^)#]+)\)", PAGE))
def test_every_page_exists(text, target):
    assert text and (DOCS / target).is_file()


# How many of each the papers print.
COUNTS = {
    "SRCP": {"equations": 9, "Algorithm": 1, "Table": 2, "Figure": 4},
    "AP and min-KL": {"equations": 1},
    "PCP and KP": {"equations": 10, "Figure": 5},
    "CCSR": {"equations": 21, "Algorithm": 1, "Table": 2, "Figure": 6},
    "Labels and cuts": {"equations": 15, "Algorithm": 4, "Figure": 5},
}


def numbers(items: str, kind: str) -> set[int]:
    """The numbers that the first cells name, ranges included."""
    if kind == "equations":
        spans = re.findall(r"\((\d+)\)(?: to \((\d+)\))?", items)
    else:
        spans = [
            (n, "") for listed in re.findall(rf"{kind}s? ((?:\d+(?:, )?)+)", items) for n in re.findall(r"\d+", listed)
        ]
    return {n for low, high in spans for n in range(int(low), int(high or low) + 1)}


@pytest.mark.parametrize("paper", COUNTS)
def test_nothing_that_the_papers_number_is_left_out(paper):
    items = "\n".join(cells(row)[0] for row in sections()[paper].splitlines() if row.startswith("| "))
    for kind, count in COUNTS[paper].items():
        assert numbers(items, kind) >= set(range(1, count + 1)), kind


def test_roman_tables_and_named_parts_are_there():
    items = "\n".join(cells(row)[0] for row in sections()["PCP and KP"].splitlines() if row.startswith("| "))
    listed = ", ".join(re.findall(r"Tables? ([IVX, ]+)", items))
    assert set(listed.replace(" ", "").strip(",").split(",")) == {"I", "II", "III", "IV", "V", "VI", "VII"}
    claims = "\n".join(cells(row)[0] for row in sections()["Labels and cuts"].splitlines() if row.startswith("| "))
    assert all(f"Claim {n}" in claims for n in (1, 2, 3)) and "Definition 1" in claims


def test_what_is_not_done_is_said_plainly():
    for row in ROWS:
        where = cells(row)[1] if len(cells(row)) > 1 else ""
        if "not done" in where:
            assert where in ("not done", "not done yet", "not done: needs data"), row
