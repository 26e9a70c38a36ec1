"""The table of faults in docs/faults.md: whatever a solver does, Python goes on, and nothing false is claimed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.solvers.isolation import Limits, run_isolated
from cvxlink.solvers.processes import KEPT_OUTPUT, CappedOutput
from helpers.fakes import CSDP, ENDLESS, FAKES, HONEST, commands, install
from helpers.processes import alive, descendants_of_this, until, with_helpers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CSDP is None, reason="csdp is not on the PATH; make solvers"),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are watched through /proc"),
]
# Far beyond what the machine needs when it is busy; only a hang takes as long.
PATIENCE = 120


@pytest.fixture
def marker() -> str:
    """A number of seconds to sleep that nobody else uses, to recognise processes by."""
    return f"{time.time_ns() % 10**6 + 10**5}.{os.getpid()}"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files, in which nothing may be left, nor any process."""
    run_isolated(int, (), Limits(), "a first task, which starts the worker")
    before = descendants_of_this()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert until(lambda: descendants_of_this() <= before)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("fault", FAKES)
def test_a_solver_with_a_fault(small_pcp, temporary, tmp_path, monkeypatch, marker, fault):
    install(tmp_path, fault, marker)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    limits = {"time_limit": 3.0} if fault in ENDLESS else {}
    solution = small_pcp.solve(solver="CSDP", strict=False, **limits)
    if fault in HONEST:
        assert solution.status is cl.Status.OPTIMAL, solution.reason
    else:
        assert solution.status is not cl.Status.OPTIMAL
        assert solution.status is not cl.Status.INFEASIBLE and solution.status is not cl.Status.UNBOUNDED
        assert solution.reason and "Traceback" not in solution.reason and "\n" not in solution.reason
    if fault in ENDLESS:
        assert solution.status is cl.Status.LIMIT
    if fault.startswith("dies of"):
        assert fault.rpartition(" ")[2] in solution.reason
    assert until(lambda: marker not in commands()), "it left a process"


def test_a_liar_is_not_believed_where_the_optimum_is_hard_to_bound(tmp_path, monkeypatch):
    instance = cl.instances.load(next(name for name in cl.instances.names() if "improved" in name.lower()))
    honest = instance.problem.solve(strict=False)
    install(tmp_path, "claims zero", "1")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    solution = instance.problem.solve(solver="CSDP", strict=False)
    assert solution.status is not cl.Status.OPTIMAL or solution.value == pytest.approx(honest.value, rel=1e-3)


# Numbers that overflow in SDPA's library, which then calls exit(0).
HUGE = """2
1
3
1e160 1
0 1 1 1 1
0 1 2 2 1e160
1 1 1 1 1
1 1 3 3 1e160
2 1 2 2 1e160
2 1 1 2 1
"""


@pytest.mark.parametrize("how", [{"solver": "SDPA"}, {"solver": "SDPA", "time_limit": 60}])
def test_sdpas_library_ends_its_process_and_not_python(tmp_path, how, monkeypatch):
    monkeypatch.setattr("cvxlink.solvers.files.sdpa.LARGEST_COEFFICIENT", 1e200)  # files with such numbers are refused
    (tmp_path / "huge.dat-s").write_text(HUGE)
    solution = cl.read_program(tmp_path / "huge.dat-s").solve(strict=False, **how)
    assert solution.plan.solver == "SDPA" and solution.resources.isolated
    assert solution.status is cl.Status.ERROR and "the process of SDPA ended with exit code 0" in solution.reason
    assert cl.instances.load("path_ends_apart").problem.solve(solver="SDPA").status is cl.Status.OPTIMAL


def test_solvers_that_need_a_process_have_one_unless_told_otherwise(small_pcp):
    assert small_pcp.solve(solver="SDPA").resources.isolated
    assert small_pcp.solve(solver="CSDP", isolate=False).resources.isolated
    assert not small_pcp.solve(solver="SDPA", isolate=False).resources.isolated
    assert not small_pcp.solve(solver="CLARABEL").resources.isolated


# ---------------------------------------------------------------------- libraries


def write_to_every_file() -> None:
    """Print into whatever is open, as a library with a wild file number may."""
    for number in (1, 2):
        os.write(number, b"A" * 100_000 + b"\n")


def print_without_end() -> None:
    while True:
        os.write(1, b"all work and no play makes a solver print\n" * 1000)


def fork_a_daemon(marker: str) -> int:
    """Fork twice and start a session, so that the daemon has no parent and no group in common with the task."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", marker])
        os._exit(0)
    os.wait()
    return 7


def fork_and_go_on(marker: str) -> int:
    """Fork a process that holds all open files, then return."""
    if os.fork() == 0:
        time.sleep(float(marker))
    return 8


def test_what_a_library_prints_does_not_get_into_the_answer(temporary):
    assert run_isolated(write_to_every_file, (), Limits(), "work").failure is None
    ended = run_isolated(print_without_end, (), Limits(seconds=1.5), "work")
    assert ended.limit == "work was stopped after 1.5 s"


def test_daemons_of_a_library_end_with_its_task(temporary, marker):
    assert run_isolated(fork_a_daemon, (marker,), Limits(), "work").answer == 7
    assert run_isolated(fork_and_go_on, (marker,), Limits(), "work").answer == 8
    assert marker not in commands()


def test_output_is_capped_to_its_beginning_and_its_end():
    output = CappedOutput()
    for line in range(200_000):
        output.add(b"line %d\n" % line)
    text = output.text
    assert text.startswith("line 0\n") and text.endswith("line 199999\n")
    assert len(text) < 2.1 * KEPT_OUTPUT and "bytes are left out" in text
    whole = CappedOutput()
    whole.add(b"short\n")
    assert whole.text == "short\n" and whole.last_line == "short"


# ---------------------------------------------------------------------- threads and forks


def test_threads_share_the_worker(small_pcp, temporary):
    values, threads = [], []
    for _ in range(4):
        threads.append(threading.Thread(target=lambda: values.append(small_pcp.solve(solver="SDPA").value)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(values) == 4
    np.testing.assert_allclose(values, values[0], atol=1e-9)


def test_a_fork_of_the_user_has_its_own_worker(small_pcp):
    value = small_pcp.solve(solver="SDPA").value
    process = os.fork()
    if process == 0:  # pragma: no cover
        ok = abs(small_pcp.solve(solver="SDPA").value - value) < 1e-9
        os._exit(0 if ok else 1)
    assert os.waitpid(process, 0)[1] == 0
    assert small_pcp.solve(solver="SDPA").value == pytest.approx(value, abs=1e-9)


# ---------------------------------------------------------------------- surroundings

SCRIPT = """
import sys
import cvxlink as cl
X, y = cl.datasets.load("iris")
problem = cl.PCP(cl.Graph.knn(X[::5], n_neighbors=5), cl.Links.sample(y[::5], per_class=2, random_state=1))
{before}
for solver in {solvers}:
    try:
        print("STATUS", problem.solve(solver=solver, strict=False).status)
    except cl.CvxlinkError as error:
        print("ERROR", error)
print("END")
"""


def run_script(tmp_path, before="", solvers=("SDPA", "CSDP"), prefix=(), **variables):
    """Run a script with two solves in its own Python; return what it printed, and check that it left nothing."""
    folder = tmp_path / "its-temporary"
    folder.mkdir(exist_ok=True)
    environment = {**with_helpers(), "TMPDIR": str(folder), **variables}
    environment = {name: value for name, value in environment.items() if value is not None}
    script = SCRIPT.format(before=before, solvers=list(solvers))
    command = [*prefix, sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert done.stdout.endswith("END\n") and "Traceback" not in done.stderr, done.stderr
    assert list(folder.iterdir()) == []
    return done.stdout


@pytest.mark.parametrize(
    "variables",
    [
        {"HOME": None, "USER": None, "LOGNAME": None},
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"TMPDIR": "/no/such/folder"},
    ],
    ids=["no HOME", "LC_ALL=C", "no TMPDIR"],
)
def test_poor_surroundings_do_no_harm(tmp_path, variables):
    assert run_script(tmp_path, **variables).count("STATUS OPTIMAL") == 2


@pytest.mark.parametrize("limit", ["AS", "NOFILE", "FSIZE", "CORE", "NPROC"])
def test_limits_of_the_system_are_answered_with_a_sentence(tmp_path, limit):
    before = f"""
import resource
pages = int(open("/proc/self/statm").read().split()[0])
size = {{"AS": pages * 4096 + 400_000_000, "NOFILE": 12, "FSIZE": 1000, "CORE": 0, "NPROC": 1}}["{limit}"]
resource.setrlimit(resource.RLIMIT_{limit}, (size, resource.getrlimit(resource.RLIMIT_{limit})[1]))
"""
    printed = run_script(tmp_path, before)
    assert len(printed.splitlines()) == 3  # each solve has an outcome


def test_a_full_disk_is_answered_with_a_sentence(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = f'mount -t tmpfs -o size=8k none {small} && exec "$@"'
    prefix = ("unshare", "-rm", "sh", "-c", mounted, "sh")
    if subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    printed = run_script(tmp_path, solvers=("CSDP", "SDPA"), prefix=prefix, TMPDIR=str(small))
    first, second, _ = printed.splitlines()
    assert first == "STATUS ERROR" and second == "STATUS OPTIMAL"


KILLED = """
import cvxlink as cl
X, y = cl.datasets.load("iris")
problem = cl.PCP(cl.Graph.knn(X[::5], n_neighbors=5), cl.Links.sample(y[::5], per_class=2, random_state=1))
print("go", flush=True)
problem.solve(solver="CSDP", {options})
"""


@pytest.mark.parametrize("which", ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("options", ["", "time_limit=1000"])
def test_nothing_is_left_when_python_is_killed(tmp_path, marker, which, options):
    install(tmp_path, "leaves a daemon and hangs", marker)
    folder = tmp_path / "its-temporary"
    folder.mkdir()
    environment = with_helpers(PATH=f"{tmp_path}:{os.environ['PATH']}", TMPDIR=str(folder))
    script = [sys.executable, "-c", KILLED.format(options=options)]
    with subprocess.Popen(script, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        try:
            assert until(lambda: commands().count(marker) >= 2, PATIENCE)
            left = _family(parent.pid)
            parent.send_signal(getattr(signal, which))
            began = time.monotonic()
            parent.wait(PATIENCE)
            assert time.monotonic() - began < 20  # at once, on a busy machine
        finally:
            parent.kill()
    assert until(lambda: marker not in commands(), 30)
    assert until(lambda: not left & alive(), 30)
    assert until(lambda: not list(Path(folder).iterdir()), 30)


def _family(root: int) -> set[int]:
    from cvxlink.solvers.processes import descendants

    return set(descendants(root))
