"""Names from files in messages, tables and output: terminals do not obey them, and spreadsheets do not run them."""

from __future__ import annotations

import csv
import io
import json
import re
import sys

import pytest
from rich.table import Table
from typer.testing import CliRunner

import cvxlink as cl
from cvxlink.cli import app, terminal
from cvxlink.data.files.delimited import for_spreadsheet, from_spreadsheet
from cvxlink.data.files.points import Roles, read_points
from cvxlink.errors import visible

# Each would steer a terminal: a colour, the title of the window, backspaces, C1 controls, reversed text.
HOSTILE = ("\x1b[31mred", "\x1b]0;title\x07", "a\b\b\bb", "\x9b5n", "\u202eexe.txt", "x\x7f")
FORMULAS = ("=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "'=1", "''=1", "'quoted'", "plain", "-5", "+7.5", "'-5")
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def run(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def data(folder, names, classes=None):
    """Two groups of points with these names."""
    path = folder / "data.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "x", "y", *(["class"] if classes else [])])
        for k, name in enumerate(names):
            writer.writerow([name, k % 2 * 10 + 0.1 * k, 0.2 * k, *([classes[k]] if classes else [])])
    return path


# ---------------------------------------------------------------------- terminals


@pytest.mark.parametrize("text", HOSTILE)
def test_what_steers_a_terminal_is_written_out(text):
    shown = visible(text)
    assert not STEERING.search(shown) and "\\" in shown
    assert visible(shown) == shown
    assert visible("ordinary text, ü, 漢字\nand\ttabs") == "ordinary text, ü, 漢字\nand\ttabs"
    assert visible("\udcff") == "\\udcff", "a file name that is no text"


@pytest.mark.parametrize("name", HOSTILE)
def test_errors_and_warnings_do_not_steer_a_terminal(name):
    for error in (
        cl.InvalidInput(f"{name} is wrong"),
        cl.InvalidFile(f"{name} is damaged"),
        cl.InvalidInput.about(name, "must be positive"),
        cl.InaccurateWarning(name),
        cl.InconsistentLinks((name, "b"), (name, "c", "b")),
    ):
        assert not STEERING.search(str(error)) and not STEERING.search(error.worded({}))


@pytest.mark.parametrize("name", HOSTILE)
def test_what_the_command_line_prints_does_not_steer_a_terminal(tmp_path, name):
    path = data(tmp_path, [name, "b", "c", "d", "e", "f"], [name, "v", name, "v", name, "v"])
    links = tmp_path / "links.csv"
    links.write_text(f'i,j,kind\n"{name}",b,must\n"{name}",b,cannot\n', encoding="utf-8")
    roles = ("--id-column", "name", "--truth-column", "class", "--clusters", 2, "--neighbors", 2)
    for ran in (
        run("cluster", path, *roles, "--links", links, "--method", "kp"),
        run("cluster", path, *roles, "--links", links, "--out", tmp_path / "soft.csv"),
        run("cluster", path, *roles, "--out", tmp_path / "out.csv"),
        run("explain", path, *roles),
        run("cluster", path, "--id-column", name),
        run("cluster", tmp_path / name, "--clusters", 2),
        run("problems", "show", name),
        run("bring-back", tmp_path / f"{name}.dat-s", "x"),
        run("cluster", path, *roles, "--json"),
    ):
        assert not STEERING.search(ran.output), ran.output
        assert "Traceback" not in ran.output


def test_json_holds_the_names_as_they_are(tmp_path):
    names = [*HOSTILE, "g", "h"]
    ran = run("cluster", data(tmp_path, names), "--id-column", "name", "--clusters", 2, "--neighbors", 3, "--json")
    assert json.loads(ran.stdout)["points"] == names


def test_tables_do_not_steer_a_terminal():
    console = terminal.console()
    table = Table("name")
    table.add_row(HOSTILE[0])
    with console.capture() as captured:
        console.print(table)
        console.print(HOSTILE[0], markup=False)
    assert "\x1b[31mred" not in captured.get() and captured.get().count("\\x1b[31mred") == 2


def test_data_are_exact_for_programs_and_shown_to_people(monkeypatch, capsys):
    terminal.print_exactly("\x1b[31m,1\n")
    assert capsys.readouterr().out == "\x1b[31m,1\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    terminal.print_exactly("\x1b[31m,1\n")
    assert capsys.readouterr().out == "\\x1b[31m,1\n"


# ---------------------------------------------------------------------- spreadsheets


def is_run(cell: str) -> bool:
    """Whether a spreadsheet would run a cell as a formula; plain numbers are not formulas."""
    try:
        float(cell)
        return False
    except ValueError:
        return cell[:1] in "=+-@\t\r" and bool(cell)


def test_formulas_are_marked_and_read_back_exactly():
    for name in FORMULAS:
        assert not is_run(for_spreadsheet(name))
        assert from_spreadsheet(for_spreadsheet(name)) == name
    assert for_spreadsheet("plain") == "plain" and for_spreadsheet("-5") == "-5"


def test_no_name_in_the_output_is_a_formula_and_all_come_back(tmp_path):
    path = data(tmp_path, FORMULAS, [FORMULAS[k % 2] for k in range(len(FORMULAS))])
    written = tmp_path / "out.csv"
    known = read_points(str(path), Roles(names="name", labels="class"))
    ran = run("cluster", path, "--id-column", "name", "--label-column", "class", "--out", written, "--neighbors", 3)
    assert ran.exit_code == 0, ran.output
    cells = list(csv.reader(io.StringIO(written.read_text(encoding="utf-8"))))
    assert len(cells) == len(FORMULAS) + 1
    assert not any(is_run(cell) for row in cells for cell in row)
    again = read_points(str(written), Roles(names="point", labels="label"))
    assert again.names == known.names and set(again.labels) == set(known.labels)


def test_links_name_points_as_the_output_does(tmp_path):
    path = data(tmp_path, FORMULAS)
    names = read_points(str(path), Roles(names="name")).names
    text = io.StringIO()
    csv.writer(text).writerow([for_spreadsheet(names[0]), for_spreadsheet(names[1]), "must"])
    (tmp_path / "links.csv").write_text(text.getvalue())
    roles = ("--id-column", "name", "--clusters", 2, "--neighbors", 3, "--json")
    ran = run("cluster", path, "--links", tmp_path / "links.csv", *roles)
    assert ran.exit_code == 0, ran.output
    found = json.loads(ran.stdout)
    assert found["labels"][0] == found["labels"][1]
