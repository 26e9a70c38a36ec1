"""The long benchmarks can be interrupted, and nothing that was finished or written by hand is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from resumable import KEPT, Cells, table, write_report

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


def test_a_report_keeps_what_was_written_by_hand(tmp_path):
    path = tmp_path / "report.md"
    write_report(path, "# first\n")
    path.write_text(path.read_text(encoding="utf-8") + "\nby hand\n", encoding="utf-8")
    write_report(path, "# second\n")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# second") and "# first" not in text and text.endswith(f"{KEPT}\n\nby hand\n")


def test_tables_are_markdown():
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
