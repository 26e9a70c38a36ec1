"""The command line of studies: what it says before, during and after a run, and when it is interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cvxlink.cli.progress import StudyProgress, to_resume
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
