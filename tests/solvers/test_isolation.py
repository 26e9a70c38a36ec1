"""Work in a process of its own: whatever happens there, this process goes on, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.engine.options import in_bytes
from cvxlink.solvers.isolation import Limits, run_isolated
from cvxlink.solvers.processes import memory_of
from helpers.processes import descendants_of_this, until

pytestmark = pytest.mark.slow


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files, in which none may be left, nor a process; those there were before."""
    run_isolated(int, (), Limits(), "a first task, which starts the worker")
    before = descendants_of_this()  # joblib keeps some, and the worker stays
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield before
    assert list(tmp_path.iterdir()) == []
    assert until(lambda: descendants_of_this() <= before)


def test_an_answer_comes_back(temporary):
    ended = run_isolated(sum, ([1, 2, 3],), Limits(), "work")
    assert ended.answer == 6 and ended.limit is None and ended.failure is None
    assert 50 < ended.megabytes < 2000


def test_what_never_returns_is_stopped(temporary):
    ended = run_isolated(time.sleep, (1000,), Limits(seconds=0.5), "work")
    assert ended.limit == "work was stopped after 0.5 s" and ended.seconds == 0.5


@pytest.mark.parametrize(
    ("work", "arguments", "says"),
    [
        (os.abort, (), "SIGABRT"),
        (os._exit, (3,), "exit code 3"),
        (os.kill, (0, signal.SIGKILL), "SIGKILL .*memory ran out"),
        (int, ("x",), "exit code 1: ValueError: invalid literal"),
    ],
)
def test_a_crash_is_a_failure_in_one_sentence(temporary, work, arguments, says):
    ended = run_isolated(work, arguments, Limits(), "work")
    assert ended.answer is None
    assert re.search(f"the process of work .*{says}", ended.failure)


def grow() -> None:
    """Take memory a megabyte at a time, as fast as possible."""
    taken = []
    while True:
        taken.append(np.ones(125_000))


def test_memory_is_limited(temporary):
    ended = run_isolated(np.ones, (400_000_000,), Limits(memory=6e8), "work")
    assert "not enough memory" in ended.limit and ended.megabytes < 660
    ended = run_isolated(grow, (), Limits(memory=6e8), "work")
    assert "work was stopped at 0.6" in ended.limit or "not enough memory" in ended.limit
    assert 400 < ended.megabytes < 660
    ended = run_isolated(np.ones, (10**15,), Limits(), "work")
    assert "not enough memory" in ended.limit


def test_programs_that_the_child_started_end_with_it_and_their_memory_counts(temporary):
    marker = f"1234.{os.getpid()}"
    run_isolated(subprocess.run, (["sleep", marker],), Limits(seconds=1.5), "work")
    assert marker not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    hungry = ["python3", "-c", "x = bytearray(500_000_000); import time; time.sleep(100)"]
    ended = run_isolated(subprocess.run, (hungry,), Limits(memory=5e8), "work")
    assert "GB" in ended.limit


def test_files_of_the_child_are_removed_even_if_it_is_killed(temporary):
    work, arguments = subprocess.run, (["sh", "-c", "echo x > $TMPDIR/left; sleep 100"],)
    run_isolated(work, arguments, Limits(seconds=1.5), "work")


def test_threads_are_pinned_and_recorded(small_pcp):
    assert run_isolated(os.getenv, ("OMP_NUM_THREADS",), Limits(threads=1), "work").answer == "1"
    solution = small_pcp.solve(solver="SCS", isolate=True, threads=1)
    assert (solution.resources.threads, solution.resources.isolated) == (1, True)
    assert "its own process, 1 thread, peak memory" in str(solution)
    assert small_pcp.solve(threads=1).resources.threads == 1
    assert small_pcp.solve(solver="CLARABEL", threads=1).options["max_threads"] == 1


def test_routes_can_be_isolated_too(small_pcp, temporary):
    here, there = small_pcp.solve(), small_pcp.solve(isolate=True)
    assert there.resources.isolated and not here.resources.isolated
    assert there.value == pytest.approx(here.value, abs=1e-9)


@pytest.mark.parametrize("how", [{"isolate": True}, {"time_limit": 60}, {"memory_limit": "2GB"}])
def test_progress_is_reported_in_the_thread_that_asked_for_it(small_pcp, how):
    seen = []
    small_pcp.solve(**how, progress=lambda progress: seen.append((progress.step, threading.current_thread())))
    assert [step for step, _ in seen] == list(range(len(seen))) and len(seen) > 2
    assert {thread for _, thread in seen} == {threading.current_thread()}

    class Enough(Exception):
        pass

    def stop(progress):
        raise Enough

    with pytest.raises(Enough):
        small_pcp.solve(**how, progress=stop)


def test_a_solver_that_takes_too_much_memory_is_stopped(temporary):
    X, y = cl.datasets.load("iris")
    problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0))
    options = {"solver": "CLARABEL", "form": "paper", "presolve": False, "memory_limit": "400MB"}
    solution = problem.solve(**options, strict=False)
    assert solution.status is cl.Status.LIMIT
    assert "stopped at 0.4" in solution.reason or "not enough memory" in solution.reason
    assert solution.resources.megabytes < 440
    with pytest.raises(cl.SolveFailed, match="stopped at a limit of time, memory or iterations"):
        problem.solve(**options)


def test_a_child_that_is_killed_from_outside_is_an_error_and_the_next_solve_runs(small_pcp, temporary):
    X, y = cl.datasets.load("iris")
    slow = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0))

    def kill():
        assert until(lambda: len(descendants_of_this() - temporary) == 2)
        time.sleep(1)
        for process in descendants_of_this() - temporary:
            os.kill(process, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    solution = slow.solve(solver="CLARABEL", form="paper", presolve=False, isolate=True, strict=False)
    thread.join()
    assert solution.status is cl.Status.ERROR and re.search("SIGKILL|from outside", solution.reason)
    assert small_pcp.solve(solver="CLARABEL", isolate=True).status is cl.Status.OPTIMAL


def test_a_worker_that_is_killed_is_replaced(small_pcp):
    before = small_pcp.solve(solver="CLARABEL", isolate=True)
    for process in descendants_of_this():
        os.kill(process, signal.SIGKILL)
    assert small_pcp.solve(solver="CLARABEL", isolate=True).value == before.value


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4e9), ("4 GiB", 4 * 2**30), ("500MB", 5e8), (5e8, 5e8), ("1.5GB", 1.5e9), (None, None)]
)
def test_sizes_of_memory(text, size):
    assert in_bytes(text) == size


@pytest.mark.parametrize("limit", ["four", "4", "4G B B", "1MB", 0, -1, True, float("nan"), float("inf"), "4..5GB"])
def test_a_senseless_memory_limit_is_refused(small_pcp, limit):
    with pytest.raises(cl.InvalidInput, match="memory_limit"):
        small_pcp.solve(memory_limit=limit)


@pytest.mark.parametrize(
    ("arguments", "says"), [({"threads": 0}, "threads"), ({"threads": 10**6}, "threads"), ({"isolate": "x"}, "isolate")]
)
def test_senseless_arguments_are_refused(small_pcp, arguments, says):
    with pytest.raises(cl.InvalidInput, match=says):
        small_pcp.solve(**arguments)


def test_the_memory_of_this_process_is_seen():
    assert memory_of(os.getpid()) > 5e7
    assert memory_of(2**22 + 7) == 0


def test_a_route_in_a_module_beside_a_script_can_be_isolated(tmp_path):
    (tmp_path / "mine.py").write_text(
        """
import cvxlink as cl

class Zero(cl.Route):
    name, why = "zero", "it is zero"
    def run(self, data, settings):
        return cl.Attempt(cl.Status.OPTIMAL, "known", {"x": 0 * data})
"""
    )
    (tmp_path / "script.py").write_text(
        """
from functools import cached_property
import cvxpy as cp, numpy as np, cvxlink as cl
from mine import Zero

class Square(cl.Problem):
    def variables(self):
        return {"x": cp.Variable(2)}
    def objective(self, x):
        return cp.Minimize(cp.sum_squares(x))
    def constraints(self, x):
        return {}
    @cached_property
    def program(self):
        return cl.SpecialProgram(self, np.ones(2), (Zero(),))

print(Square().solve(isolate=True).value)
"""
    )
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "0.0", done.stderr


def test_a_formulation_from_a_script_can_be_isolated(tmp_path):
    (tmp_path / "script.py").write_text(
        """
from dataclasses import dataclass
import cvxpy as cp, numpy as np, cvxlink as cl

@dataclass(frozen=True, eq=False)
class Mine(cl.Problem):
    n: int
    def variables(self):
        return {"K": cp.Variable((self.n, self.n), symmetric=True)}
    def objective(self, K):
        return cp.Minimize(cp.sum(K))
    def constraints(self, K):
        return {"unit": cp.diag(K) == 1, "psd": K >> 0}

for options in ({}, {"solver": "CLARABEL"}):
    assert abs(Mine(4).solve(isolate=True, **options).value) < 1e-4
print("done")
"""
    )
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "done", done.stderr
