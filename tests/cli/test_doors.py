"""The command line in odd worlds: closed or full streams, strange encodings, no memory, Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import cvxlink as cl
from cvxlink.cli import app, doors, terminal
from cvxlink.cli.terminal import ExitCode, exit_code_of, print_json
from cvxlink.errors import visible
from cvxlink.programs.status import Status

ENTRY = "from cvxlink.cli import app; app()"
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with eight points in two groups and a link."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((8, 2))
    X[4:] += 5
    np.savetxt("points.csv", X, delimiter=",")
    (tmp_path / "links.csv").write_text("i,j,kind\n0,4,cannot\n")
    return tmp_path


CLUSTER = ("cluster", "points.csv", "--links", "links.csv", "--clusters", "2", "--neighbors", "3")


def run(*words: str):
    return CliRunner().invoke(app, list(words))


def process(*words, environment=None, **streams) -> subprocess.CompletedProcess:
    """Run a command in a process of its own; what is not given of its streams is captured."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(
        [sys.executable, "-c", ENTRY, *words], env={**os.environ, **(environment or {})}, timeout=300, **given
    )


def one_sentence(said: str) -> str:
    assert said.startswith("cvxlink: ") and said.count("\n") == 1 and "Traceback" not in said, said
    return said


@pytest.mark.parametrize(
    ("option", "value"), [("--plot", "/"), ("--plot", ""), ("--out", "loop"), ("--plot", "loop.png")]
)
def test_names_that_no_file_can_have_are_refused_before_solving(folder, option, value):
    (folder / "loop").symlink_to("loop")
    (folder / "loop.png").symlink_to("loop.png")
    done = run(*CLUSTER, option, value)
    assert done.exit_code == ExitCode.BAD_INPUT and option in one_sentence(done.stderr)
    assert not done.stdout


@pytest.mark.parametrize("option", ["--clusters", "--neighbors", "--seed", "--accuracy", "--time-limit", "--sigma"])
@pytest.mark.parametrize("value", ["9" * 400, "nan", "1e400", "\x1b[31m1"])
def test_absurd_numbers_are_refused_in_a_sentence_that_names_the_option(folder, option, value):
    done = run(*CLUSTER, option, value)
    assert done.exit_code in (ExitCode.BAD_INPUT, ExitCode.USAGE)
    assert option in one_sentence(done.stderr) and "\x1b" not in done.stderr


def test_inputs_that_lead_round_in_a_circle_are_refused(folder):
    (folder / "loop").symlink_to("loop")
    for words in (("cluster", "loop", "--out", "new.csv"), (*CLUSTER, "--must", "loop", "--out", "new.csv")):
        done = run(*words)
        assert done.exit_code == ExitCode.BAD_INPUT and "loop cannot be read" in one_sentence(done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("cluster", "/dev/zero"),
        ("explain", "/dev/full"),
        (*CLUSTER, "--must", "/dev/zero"),
        ("bring-back", "a.dat-s", "/dev/zero"),
    ],
)
def test_devices_without_an_end_are_not_read(folder, words):
    done = run(*words)
    assert done.exit_code == ExitCode.BAD_INPUT and "is a device" in one_sentence(done.stderr)


@pytest.mark.parametrize("option", ["mu", "normalized"])
def test_absurd_options_of_methods_are_refused(folder, option):
    done = run(*CLUSTER, "--method", "srcp", "--option", f"{option}={'9' * 400}")
    assert done.exit_code == ExitCode.BAD_INPUT and option in one_sentence(done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("\x1b[31mred",),
        ("cluster", "no\x1b]0;title\x07file"),
        (*CLUSTER, "--method", "\u202ekp"),
        (*CLUSTER, "--\x1bx"),
    ],
)
def test_control_characters_never_reach_the_terminal(folder, words):
    done = run(*words)
    assert done.exit_code in (1, 2) and one_sentence(done.stderr)
    assert not set(done.stderr) & set("\x1b\x07\u202e") and "\\" in done.stderr


def test_visible_text_stays_as_it_is():
    assert visible("⟨ L̄, K ⟩ = 1\n\tnaïve") == "⟨ L̄, K ⟩ = 1\n\tnaïve"
    assert visible("a\x1b[0m\x00\udcff\u202e") == "a\\x1b[0m\\x00\\udcff\\u202e"


def test_json_is_json_whatever_the_numbers_are(capsysbinary):
    print_json({"a": np.float32("nan"), "b": [np.inf, np.int64(3)], "c": np.array([1.0, np.nan]), "d": "\udcff"})
    found = json.loads(capsysbinary.readouterr().out.decode("utf-8"), parse_constant=pytest.fail)
    assert found == {"a": None, "b": [None, 3], "c": [1.0, None], "d": "\udcff"}


def test_out_of_memory_is_a_sentence_and_code_3(folder, monkeypatch):
    def exhausted(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(cl.Graph, "knn", exhausted)
    done = run(*CLUSTER)
    assert done.exit_code == ExitCode.NO_ANSWER and "out of memory" in one_sentence(done.stderr)


def test_an_error_of_our_own_is_owned_up_to(folder, monkeypatch):
    def broken(*arguments, **options):
        raise KeyError("something")

    monkeypatch.setattr(cl.Graph, "knn", broken)
    done = run(*CLUSTER)
    assert done.exit_code == ExitCode.INTERNAL and "KeyError" in one_sentence(done.stderr)
    monkeypatch.setenv(doors.TRACEBACK, "1")
    assert isinstance(run(*CLUSTER).exception, KeyError)


def test_ctrl_c_is_one_word_and_code_130(folder, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cl.Graph, "knn", interrupted)
    done = run(*CLUSTER, "--out", "labels.csv")
    assert done.exit_code == 130 and done.stderr == "interrupted\n"
    assert not (folder / "labels.csv").exists() and not list(folder.glob(".*"))


@pytest.mark.parametrize("status", list(Status))
def test_the_exit_code_tells_what_kind_of_answer_there_is(status):
    class Solution:
        certificate = object()

    Solution.status = status
    expected = {Status.OPTIMAL: 0, Status.INACCURATE: 4, Status.UNPROVEN: 4}.get(status, 3)
    assert exit_code_of(Solution) == expected
    Solution.certificate = None
    assert exit_code_of(Solution) == 3


def test_an_answer_that_nothing_proves_is_code_4_with_its_labels_and_a_warning(folder, monkeypatch):
    from cvxlink.estimator.constrained_clustering import ConstrainedClustering

    fit = ConstrainedClustering.fit

    def unproven(self, *arguments, **options):
        fit(self, *arguments, **options)
        object.__setattr__(self.solution_, "status", Status.UNPROVEN)
        return self

    monkeypatch.setattr(ConstrainedClustering, "fit", unproven)
    done = run(*CLUSTER)
    assert done.exit_code == ExitCode.INACCURATE and done.stdout.count("\n") == 9
    assert f"warning     {Status.UNPROVEN.sentence}" in done.stderr


def test_all_exit_codes_are_in_the_help():
    assert {int(code) for code in ExitCode} <= set(map(int, re.findall(r"\d+", terminal.EXIT_CODES)))


@pytest.mark.slow
class TestProcesses:
    def test_closed_streams(self, folder):
        shell = f"exec {sys.executable} -c '{ENTRY}' "
        done = process_of(shell + "cluster - <&-")
        assert done.returncode == 1 and "standard input is closed" in one_sentence(done.stderr.decode())
        done = process_of(shell + " ".join(CLUSTER) + " >&-")
        assert done.returncode == 1 and "standard output is closed" in one_sentence(done.stderr.decode())
        done = process_of(shell + " ".join(CLUSTER) + " 2>&-")
        assert done.returncode == 0 and done.stdout.count(b"\n") == 9

    def test_a_full_device_is_told(self, folder):
        with open("/dev/full", "wb") as full:
            done = process(*CLUSTER, stdout=full)
            both = process("methods", stdout=full, stderr=full)
        assert done.returncode == 1 and "standard output: No space left" in one_sentence(done.stderr.decode())
        assert both.returncode == 1

    def test_a_reader_that_leaves_is_no_error(self, folder):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as stdout:
            done = process("methods", stdout=stdout)
        assert done.returncode == 0 and not done.stderr

    def test_an_encoding_without_our_symbols(self, folder):
        (folder / "names.csv").write_text("name,x\n" + "".join(f"é{k},{k % 4}\n" for k in range(8)))
        done = process("explain", *CLUSTER[1:], environment={**ASCII, "COLUMNS": "1"})
        assert done.returncode == 0 and b"\\u27e8" in done.stdout
        done = process("cluster", "names.csv", "--id-column", "name", environment=ASCII)
        assert done.returncode == 0 and "é0," in done.stdout.decode("utf-8")

    def test_arguments_that_are_not_text(self, folder):
        done = process(b"cluster", b"no\xff\xfefile")
        assert done.returncode == 1 and "no\\udcff\\udcfefile" in one_sentence(done.stderr.decode())

    def test_without_a_home(self, folder):
        environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
        words = [sys.executable, "-c", ENTRY, *CLUSTER, "--plot", "picture.png"]
        done = subprocess.run(words, env=environment, capture_output=True, timeout=300)
        assert done.returncode == 0 and (folder / "picture.png").stat().st_size > 1000

    def test_ctrl_c_while_it_works(self, folder):
        """The signal arrives while instances are being proven, which takes minutes."""
        words = [sys.executable, "-u", "-c", ENTRY, "problems", "verify"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as running:
            assert running.stdout is not None and running.stdout.readline()
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=120)
        assert running.returncode == 130 and said == b"interrupted\n"


def process_of(shell: str) -> subprocess.CompletedProcess:
    return subprocess.run(["sh", "-c", shell], capture_output=True, timeout=300)


def test_the_package_can_be_run_as_a_module():
    done = subprocess.run([sys.executable, "-m", "cvxlink", "--help"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Usage: cvxlink [OPTIONS] COMMAND" in done.stdout
