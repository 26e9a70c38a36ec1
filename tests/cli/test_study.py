"""The command line of studies: what it says before, during and after a run, and when it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cvxlink.cli.progress import StudyProgress, to_resume
from cvxlink.errors import InvalidInput
from cvxlink.studies.description import Study
from cvxlink.studies.running import Standing
from cvxlink.studies.store import Store
from helpers.processes import until, with_helpers

SLEEPS = """
import time

def sleep(seconds):
    time.sleep(seconds)
    return {"slept": seconds}
"""
STUDY = """title = "Sleep"
kind = "functions"
time_limit = 2000

[[instances]]
over = { seconds = [0, 1000] }

[[configurations]]
run = "sleeps:sleep"
"""


def command(folder, *words):
    line = [sys.executable, "-m", "cvxlink", "study", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, cwd=folder, env=with_helpers(), check=False)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


def test_nothing_is_said_to_be_finished_before_all_is_checked(home):
    (home / "sleeps.py").write_text("import json\n1 / 0\n")
    done = command(home, "run", "study.toml")
    assert done.returncode == 1 and done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("cvxlink: run = 'sleeps:sleep' cannot be used: ")
    assert sentence.endswith("ZeroDivisionError: division by zero (sleeps.py, line 2)")


@pytest.mark.slow
@pytest.mark.parametrize(("which", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_interrupted_says_what_is_kept_and_how_to_go_on(which, code, home):
    line = [sys.executable, "-m", "cvxlink", "study", "run", "study.toml", "--folder", "my results"]
    words = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": with_helpers()}
    with subprocess.Popen(line, cwd=home, **words) as process:
        assert until(lambda: Store(home / "my results").records(), 120)
        process.send_signal(which)
        _, said = process.communicate(timeout=120)
    assert process.returncode == code
    first, *_, last = said.splitlines()
    assert first == "0 of 2 cells finished"
    assert last == "interrupted: 1 of 2 cells are kept; `cvxlink study resume study.toml --folder 'my results'` goes on"
    assert said.count("interrupted") == 1


def test_without_a_terminal_there_is_a_line_now_and_then(capfd):
    printed = []

    def lines():
        printed.extend(capfd.readouterr().err.splitlines())
        return printed

    with StudyProgress(["again"], seconds=0.01) as shown:
        shown.begin(Standing(3, 0, 0))
        assert until(lambda: lines().count("0 of 3 cells finished, 0 failed, 3 remaining") > 1, 60)
        shown.tell(Standing(3, 1, 1, seconds_left=3600.0), {"instance": "i", "configuration": "c"})
        expected = "1 of 3 cells finished, 1 failed, 2 remaining, ends about "
        assert until(lambda: any(line.startswith(expected) for line in lines()), 60)
    lines()
    printed.clear()
    assert not until(lambda: lines(), 0.2)  # it is over, and says nothing more


def test_the_command_that_goes_on_has_the_options_it_was_begun_with():
    words = to_resume(Path("a.toml"), Path("b"), jobs=None, only=["SCS", "x y"], scheduler=None)
    assert words[3:] == ["a.toml", "--folder", "b", "--only", "SCS", "--only", "x y"]


def test_help_says_how_run_and_resume_differ_with_an_example(home):
    for words in ([], ["run"], ["resume"]):
        said = " ".join(command(home, *words, "--help").stdout.split())
        assert "cvxlink study run study.toml --jobs 2" in said and "resume begins nothing new" in said
        assert not words or ("--only TEXT" in said and "--folder FOLDER" in said and "--jobs N" in said)


def test_rows_of_other_tools_go_beside_results_only_and_other_names_are_said(home):
    (home / "other.csv").write_text("problem,solver,time\nseconds=0,OTHER,1\nelsewhere,OTHER,1\n")
    refused = command(home, "import", "other.csv", "--into", "nofolder")
    assert refused.returncode == 1 and "there are no results of a study in nofolder" in refused.stderr
    assert not (home / "nofolder").exists()
    assert command(home, "run", "study.toml", "--only", "seconds=0,").returncode == 0
    done = command(home, "import", "other.csv", "--into", "study-results")
    assert done.returncode == 0 and "2 rows of other.csv are in study-results" in done.stdout
    assert "the results there have no instance elsewhere; name instances as" in done.stderr


def test_errors_of_syntax_have_a_hint(home):
    for text, hint in [
        ('title = "Sleep', "is a quotation mark or a bracket missing?"),
        ("title = Sleep", "is a quotation mark or a bracket missing? Texts need quotation marks"),
        ('title = "a"\ntitle = "b"', "is a key or a table given twice?"),
        ("[a]\nb = 1\n[a]\nb = 2", "is a key or a table given twice?"),
    ]:
        (home / "study.toml").write_text(text)
        with pytest.raises(InvalidInput, match="study.toml is not valid TOML: .*; ") as raised:
            Study.read(home / "study.toml")
        assert hint in str(raised.value)


def test_words_in_the_table_of_solvers_are_whole_at_80_columns():
    line = [sys.executable, "-m", "cvxlink", "solvers", "--no-check"]
    done = subprocess.run(line, capture_output=True, text=True, env=with_helpers(COLUMNS="80"), check=True)
    table = done.stdout.partition("Licences")[0]
    assert max(map(len, table.splitlines())) <= 80
    words = set(table.split())
    assert {"solver", "version", "semidefinite", "logarithms", "quadratic", "linear", "warm", "start"} <= words
    assert {"CLARABEL", "interior", "point", "takes"} <= words and "  MIT: SCS" in done.stdout
