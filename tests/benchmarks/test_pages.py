"""Pages of results are made of the cells of studies, and nothing that was written by hand is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import pages
from cvxlink.studies.cells import cells_of
from cvxlink.studies.description import Study
from cvxlink.studies.store import Store
from pages import FINDING, KEPT, Finished, bold_best, bold_least, require_cells, table, write_report

STUDY = """
title = "Squares"
kind = "functions"

[[instances]]
[instances.over]
number = [2, 3]

[[configurations]]
name = "squared"
run = "squaring:squared"
options = { power = 2 }
"""


@pytest.fixture
def squares(tmp_path, monkeypatch):
    """A study in a folder, with a result for each of its cells, of which one is a failure."""
    (tmp_path / "squares.toml").write_text(STUDY)
    (tmp_path / "squaring.py").write_text("def squared(number, power):\n    return {'value': number**power}\n")
    monkeypatch.setattr(pages, "STUDIES", tmp_path)
    with Store(tmp_path / "squares-results").writer() as writer:
        for cell in cells_of(Study.read(tmp_path / "squares.toml")):
            number = cell.instance.options["number"]
            found = {"numbers": {"value": number**2}, "texts": {"sign": "+"}} if number == 2 else {"reason": "too far"}
            names = {
                "key": cell.key,
                "instance": cell.instance.name,
                "configuration": cell.configuration.name,
                "accuracy": 1e-4,
            }
            writer.add(names | found | {"seconds": 0.5})
    return tmp_path


def test_cells_have_what_they_are_beside_what_was_measured(squares):
    cells = Finished.in_studies(["squares"], ("number", "power"), squares)
    assert list(cells.done) == [(2, 2)] and cells.of(2) == list(cells.done.values()) and cells.of(3) == []
    whole = {"configuration": "squared", "number": 2, "power": 2, "value": 4, "sign": "+", "seconds": 0.5}
    assert whole.items() <= cells.done[2, 2].items()
    (lost,) = cells.lost
    assert lost["number"] == 3 and lost["reason"] == "too far"


def test_results_of_other_code_make_no_page(squares):
    """What a function computes is part of a cell: after a change, its results are those of another one."""
    (squares / "squaring.py").write_text("def squared(number, power):\n    return {'value': number + power}\n")
    cells = Finished.in_studies(["squares"], ("number",), squares)
    assert not cells.done and not cells.lost


def test_where_nothing_was_computed_the_command_that_does_is_named(squares):
    with pytest.raises(SystemExit, match="cvxlink study run studies/squares.toml"):
        require_cells(Finished.in_studies(["squares"], ("number",), squares / "elsewhere"), "squares")
    lost = Finished({}, ({"reason": "no such data"},))
    with pytest.raises(SystemExit, match="no such data"):
        require_cells(lost, "squares")


def test_a_report_keeps_what_was_written_by_hand(tmp_path):
    path = tmp_path / "report.md"
    write_report(path, "# first\n")
    path.write_text(path.read_text(encoding="utf-8") + "\nby hand\n", encoding="utf-8")
    write_report(path, "# second\n")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# second") and "# first" not in text and text.endswith(f"{KEPT}\n\nby hand\n")


def test_a_report_keeps_the_sentence_below_its_title(tmp_path):
    path = tmp_path / "report.md"
    write_report(path, "# Title\n\nfirst run\n")
    page = path.read_text(encoding="utf-8")
    assert page.startswith(f"# Title\n\n{FINDING}\n\n(What came out, in one sentence.)\n\nfirst run\n")
    path.write_text(page.replace("(What came out, in one sentence.)", "It is\nfast."), encoding="utf-8")
    write_report(path, "# Title\n\nsecond run\n")
    page = path.read_text(encoding="utf-8")
    assert page.startswith(f"# Title\n\n{FINDING}\n\nIt is\nfast.\n\nsecond run\n") and page.count("fast") == 1


def test_the_best_cells_of_a_row_are_bold():
    cells = ["0.941±0.00, 3%", "0.94±0.01, 2%", "0.94±0.03, 9%", "time limit", "-0.94±0.00"]
    values = [0.9409, 0.944, 0.936, float("nan"), -0.94]
    assert bold_best(cells, values) == [cells[0], "**0.94**±0.01, 2%", "**0.94**±0.03, 9%", *cells[3:]]
    assert bold_best(["0.00±0.01", "0.00±0.00"], [0.001, 0.0]) == ["0.00±0.01", "0.00±0.00"]
    assert bold_best(["not run"], [float("nan")]) == ["not run"]


def test_the_least_number_of_a_column_is_bold():
    rows = [["a", "0.31", "x"], ["b", "0.050", ""], ["c", "> 0.01", ""], ["d", "", "stopped"]]
    assert bold_least(rows, 1) == [rows[0], ["b", "**0.050**", ""], *rows[2:]]


def test_tables_are_markdown():
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
