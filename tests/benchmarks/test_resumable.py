"""The long benchmarks can be interrupted, and nothing that was finished or written by hand is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from resumable import FINDING, KEPT, Cells, bold_best, bold_least, table, write_report

SETTINGS, FIELDS = {"graph": {"k": 20}}, ("data", "trial")


def test_finished_cells_survive_an_interruption_in_the_middle_of_a_line(tmp_path):
    path = tmp_path / "cells.jsonl"
    cells = Cells(path, SETTINGS, FIELDS)
    for trial in range(3):
        cells.add({"data": "iris", "trial": trial, "ari": 0.5})
    path.write_bytes(path.read_bytes()[:-7])  # the last line is cut short
    again = Cells(path, SETTINGS, FIELDS)
    assert set(again.done) == {("iris", 0), ("iris", 1)}
    again.add({"data": "iris", "trial": 2, "ari": 0.7})
    assert [cell["ari"] for cell in Cells(path, SETTINGS, FIELDS).of("iris")] == [0.5, 0.5, 0.7]


def test_cells_made_with_other_settings_are_not_mixed(tmp_path):
    Cells(tmp_path / "cells.jsonl", SETTINGS, FIELDS)
    with pytest.raises(SystemExit, match="other settings; move it away"):
        Cells(tmp_path / "cells.jsonl", {"graph": {"k": 10}}, FIELDS)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("notes that are worth keeping", "holds something else than cells"),
        ("notes\nthat are worth keeping", "line 1: "),
        ('{"a": 1}\n{"b": 2}', "line 1: there are no settings"),
        ('[1]\n{"b": 2}', "line 1: a cell must be an object"),
        ('{"settings": {"graph": {"k": 20}}}\n{"data": "iris"}\n{"cut', "line 2: .*trial"),
        ('{"settings": {"graph": {"k": 20}}}\n{"data": [1], "trial": 2}\n{"cut', "line 2"),
        ('{"settings": {"graph": {"k": 20}}}\n\n{"data": nonsense}\n{"cut', "line 3"),
        ('{"settings": {"graph": {"k": 20}}}\n' + "[" * 100_000 + "\n{", "line 2"),
    ],
)
def test_what_is_not_a_file_of_cells_is_left_as_it_is(tmp_path, content, says):
    path = tmp_path / "cells.jsonl"
    path.write_text(content)
    with pytest.raises(SystemExit, match=f"cells.jsonl.*{says}"):
        Cells(path, SETTINGS, FIELDS)
    assert path.read_text() == content


def test_an_interruption_in_the_middle_of_the_first_line(tmp_path):
    path = tmp_path / "cells.jsonl"
    Cells(path, SETTINGS, FIELDS)
    whole = path.read_bytes()
    for kept in range(len(whole)):
        path.write_bytes(whole[:kept])
        Cells(path, SETTINGS, FIELDS)
        assert path.read_bytes() == whole


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
