"""Faults of solvers and of their surroundings: Python goes on, nothing is left behind, nothing false is claimed.

A case is a script in its own Python, with a fault that is played while it solves: a solver on the PATH that misbehaves,
a library that ends its process, a limit of the system, a poor environment, or a signal to one of the processes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from attack.findings import FALSE_CLAIM, HANG, LEAK, ORPHAN, RAW_ERROR, Finding
from cvxlink.solvers.processes import descendants
from helpers.fakes import CSDP, ENDLESS, FAKES, HONEST, commands, install
from helpers.processes import alive, until, with_helpers

# The optimum of the program in the script, by two solvers of different kinds; see ``problem`` there.
POINTS = 12
PATIENCE = 120.0

SCRIPT = """
import faulthandler, os, sys, time
import numpy as np, cvxpy as cp
import cvxlink as cl
from cvxlink.solvers.isolation import Limits, run_isolated

n = {points}
W = np.diag(np.ones(n - 1), 1)
problem = cl.PCP(cl.Graph.from_affinity(W + W.T), cl.Links(n, cannot=[(0, n - 1)]), normalized=False)
optimum = 2 * (n - 1) * (1 - np.cos(np.pi / 2 / (n - 1)))  # equal steps between orthogonal ends

def play(work, *arguments):
    ended = run_isolated(work, arguments, Limits({seconds}), "work")
    return ended.answer, ended.limit or ended.failure

def crash(number):
    os.kill(os.getpid(), number)
    time.sleep(100)

def recurse(depth):
    return recurse(depth + 1)

print("READY", flush=True)
{before}
for options in {options}:
    began = time.monotonic()
    try:
        solution = problem.solve(strict=False, **options)
        value = solution.value
        print("OUTCOME", solution.status.name, repr(float(value)), time.monotonic() - began, solution.reason)
        if solution.status.name == "OPTIMAL" and not abs(value - optimum) <= 1e-3:
            print("FALSE", value, optimum, options)
        if solution.status.name in ("INFEASIBLE", "UNBOUNDED"):
            print("FALSE", solution.status, options)
    except cl.CvxlinkError as error:
        print("OUTCOME ERROR nan", time.monotonic() - began, error)
    sys.stdout.flush()
{after}
print("END", flush=True)
"""

SURROUNDINGS: dict[str, dict[str, str]] = {
    "no HOME": {"HOME": ""},
    "LC_ALL=C": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "TMPDIR is missing": {"TMPDIR": "/no/such/folder"},
    "an empty PATH": {"PATH": "/no/such/folder"},
    "many threads": {"OMP_NUM_THREADS": "64", "OPENBLAS_NUM_THREADS": "64"},
}
LIMITS = {"AS": 500_000_000, "NOFILE": 14, "FSIZE": 800, "NPROC": 1, "CORE": 0, "STACK": 1 << 20}
LIBRARIES = {
    "a library exits": "print(play(os._exit, 0), play(sys.exit, 3))",
    "a library dies": "print(*[play(crash, number) for number in (4, 6, 7, 8, 11, 15)])",
    "a library recurses": "print(play(recurse, 0))",
    "a library runs out of memory": "print(play(np.ones, 10**14))",
    "a library sleeps": "print(play(time.sleep, 1000) if {seconds} else '')",
}
SIGNALS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")
SOLVERS = ("CSDP", "CSDP", "SDPA", "CLARABEL", "SCS", "SDPA-CLI", "DSDP", "CVXOPT")


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    """Play one fault."""
    kind = rng.choice(["solver", "solver", "surroundings", "system", "library", "parent", "worker"])
    folder.mkdir(parents=True, exist_ok=True)
    return {"parent": _hurt_parent, "worker": _hurt_worker}.get(kind, _hurt_solver)(rng, folder, str(kind))


def _options(rng: np.random.Generator, endless: bool, solver: str | None = None) -> list[dict[str, object]]:
    """Return the arguments of one to three solves; a solver that does not end gets a limit."""
    drawn: list[dict[str, object]] = []
    for _ in range(int(rng.integers(1, 3))):
        options: dict[str, object] = {"solver": solver or str(rng.choice(SOLVERS))}
        if endless or rng.random() < 0.3:
            options["time_limit"] = float(rng.choice([1.0, 2.0])) if endless else 60.0
        elif rng.random() < 0.2:
            options["memory_limit"] = "1GB"
        if rng.random() < 0.2:
            options["isolate"] = True
        drawn.append(options)
    return drawn


def _hurt_solver(rng: np.random.Generator, folder: Path, kind: str) -> list[Finding]:
    """Let a solver, its library or its surroundings fail, and see what Python makes of it."""
    marker, before, variables, fault = _marker(rng), "", dict[str, str](), ""
    options = _options(rng, False)
    if kind == "solver" and CSDP is not None:
        fault = str(rng.choice(list(FAKES)))
        install(folder, fault, marker)
        variables = {"PATH": f"{folder}:{os.environ['PATH']}"}
        options = _options(rng, fault in ENDLESS, "CSDP")
    elif kind == "surroundings":
        fault = str(rng.choice(list(SURROUNDINGS)))
        variables = SURROUNDINGS[fault]
    elif kind == "system":
        fault = str(rng.choice(list(LIMITS)))
        size = "int(open('/proc/self/statm').read().split()[0]) * 4096 + " if fault == "AS" else ""
        hard = f"resource.getrlimit(resource.RLIMIT_{fault})[1]"
        before = f"import resource; resource.setrlimit(resource.RLIMIT_{fault}, ({size}{LIMITS[fault]}, {hard}))"
    else:
        fault = str(rng.choice(list(LIBRARIES)))
        before = LIBRARIES[fault]
    case = f"{kind}: {fault}, {options}"
    with _script(folder, before.replace("{seconds}", "2"), options, variables) as run:
        try:
            printed, errors = run.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            run.kill()
            return [Finding(HANG, case)]
    found = [*_claims(printed, case, fault), *_left(folder, marker, set(), case)]
    if "END" not in printed or "Traceback" in errors:
        last = [line for line in errors.strip().splitlines() if line][-1:]
        found.append(Finding(RAW_ERROR, f"{case}: {run.returncode} {last}"))
    for options_, line in zip(options, _outcomes(printed), strict=False):
        limit = options_.get("time_limit")
        # One second is promised to a machine that is not busy.
        if isinstance(limit, float) and float(line.split()[3]) > limit + 15:
            found.append(Finding(HANG, f"{case}: {line}"))
    return found


def _claims(printed: str, case: str, fault: str) -> list[Finding]:
    found = [Finding(FALSE_CLAIM, f"{case}: {line}") for line in printed.splitlines() if line.startswith("FALSE")]
    if fault in HONEST:
        failed = [line for line in _outcomes(printed) if not line.startswith("OUTCOME OPTIMAL")]
        found += [Finding(RAW_ERROR, f"{case}: it could be solved, but {line}") for line in failed]
    return found


def _outcomes(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith("OUTCOME")]


def _hurt_parent(rng: np.random.Generator, folder: Path, kind: str) -> list[Finding]:
    """Kill Python while it waits for a solver, and see what is left."""
    marker, which = _marker(rng), str(rng.choice(SIGNALS))
    fault = str(rng.choice(["hangs", "leaves a daemon and hangs"]))
    options = [{"solver": "CSDP"} if rng.random() < 0.5 else {"solver": "CSDP", "time_limit": 500.0}]
    case = f"{which} to Python while a solver {fault}, {options}"
    if CSDP is None:
        return []
    install(folder, fault, marker)
    with _script(folder, "", options, {"PATH": f"{folder}:{os.environ['PATH']}"}) as run:
        if not until(lambda: marker in commands() or run.poll() is not None, PATIENCE):
            run.kill()
            return [Finding(HANG, f"{case}: it did not start")]
        time.sleep(float(rng.random()) / 2)
        family = {run.pid, *descendants(run.pid)}
        run.send_signal(getattr(signal, which))
        try:
            run.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            run.kill()
            return [Finding(HANG, case)]
    return _left(folder, marker, family, case)


def _hurt_worker(rng: np.random.Generator, folder: Path, kind: str) -> list[Finding]:
    """Kill processes that work for Python, between solves or during one; Python goes on and solves again."""
    which = str(rng.choice(["SIGKILL", "SIGTERM", "SIGSEGV"]))
    share, pause = float(rng.random()), float(rng.random())
    during = bool(rng.random() < 0.5)
    case = f"{which} to {'some' if share < 0.7 else 'all'} processes {'during' if during else 'between'} solves"
    hurt = f"""
import random, signal, threading
from helpers.processes import descendants_of_this
random.seed({int(rng.integers(1 << 30))})
problem.solve(solver="SDPA")

def hurt():
    time.sleep({pause if during else 0})
    for process in descendants_of_this():
        if {share} >= 0.7 or random.random() < 0.6:
            try:
                os.kill(process, signal.{which})
            except ProcessLookupError:
                pass

thread = threading.Thread(target=hurt)
thread.start()
""" + (
        """
print(play(time.sleep, 1.2))
thread.join()
"""
        if during
        else "thread.join()\n"
    )
    options = [{"solver": "SDPA"}, {"solver": "SCS", "isolate": True}]
    with _script(folder, hurt.replace("{seconds}", "2"), options, {}) as run:
        try:
            printed, errors = run.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            run.kill()
            return [Finding(HANG, case)]
    found = [*_claims(printed, case, ""), *_left(folder, "no marker", set(), case)]
    if "END" not in printed or "Traceback" in errors:
        found.append(Finding(RAW_ERROR, f"{case}: {run.returncode} {errors.strip().splitlines()[-1:]}"))
    elif not _outcomes(printed)[-1].startswith("OUTCOME OPTIMAL"):
        found.append(Finding(LEAK, f"{case}: it did not recover, {_outcomes(printed)[-1]}"))
    return found


def _script(
    folder: Path, before: str, options: list[dict[str, object]], variables: dict[str, str]
) -> subprocess.Popen[str]:
    """Start a script in its own Python, with its own folder for temporary files."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    text = SCRIPT.format(points=POINTS, seconds=5, before=before, after="", options=options)
    environment = with_helpers(**{"TMPDIR": str(temporary), "PYTHONFAULTHANDLER": "", **variables})
    return subprocess.Popen(
        [sys.executable, "-c", text],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _marker(rng: np.random.Generator) -> str:
    return f"{int(rng.integers(10**5, 10**6))}.{int(rng.integers(10**8, 10**9))}"


def _left(folder: Path, marker: str, family: set[int], case: str) -> list[Finding]:
    """Return the processes and temporary files that are left after a while."""
    found = []
    if not until(lambda: marker not in commands() and not family & alive(), 20):
        found.append(Finding(ORPHAN, f"{case}: a process is left"))
    if not until(lambda: not list((folder / "temporary").iterdir()), 20):
        found.append(Finding(ORPHAN, f"{case}: {[path.name for path in (folder / 'temporary').iterdir()]}"))
    return found
