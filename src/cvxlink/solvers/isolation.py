"""Run work in a child process, so that limits of time and memory can stop it, and a crash is only a failure."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event, Thread
from time import monotonic
from typing import IO, Any

from cvxpy.lin_ops import lin_utils

from ..errors import InvalidProblem
from ..numerics.threads import on_threads

try:
    import resource
except ImportError:  # it is not on every system
    resource = None  # type: ignore[assignment]

READY = b"R"
# Starting Python and importing CVXPY does not count as solver time, but must end too.
START_UP_SECONDS = 120.0
# How often memory is looked at; in that time a process can take some tens of megabytes.
WATCH_SECONDS = 0.02
# What libraries look at when they decide how many threads to start.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Limits:
    """What a process may use: seconds, bytes of memory and threads. None means no limit, and one thread per core."""

    seconds: float | None = None
    memory: float | None = None
    threads: int | None = None


@dataclass
class Ended:
    """How the work ended: with an answer, at a limit, or in failure; and the peak memory in megabytes."""

    answer: Any = None
    limit: str | None = None
    failure: str | None = None
    seconds: float = 0.0
    megabytes: float | None = None


def available_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_isolated(work: Callable[..., Any], arguments: tuple, limits: Limits, who: str, prints: bool = False) -> Ended:
    """Call a function in a child process. Compiling counts towards the time limit, starting Python does not.

    Whatever happens in the child, this process goes on, and nothing of the child remains, not even processes it started
    or their files.
    """
    try:
        task = pickle.dumps((lin_utils.ID_COUNTER.count, limits.threads, work, arguments))
    except Exception as error:  # pickling runs the code of whatever objects the program holds
        raise InvalidProblem(
            f"to run in its own process the program must be picklable, but it is not: {error}"
        ) from error
    if b"__main__" in task:
        raise InvalidProblem(
            "a class defined in a script or notebook cannot be sent to another process; move it to a module, or name a "
            "solver, which only needs the declaration"
        )
    # Modules beside a script are found as they are here, but after all others: none of them can hide another.
    task = pickle.dumps([folder for folder in sys.path if folder]) + task
    threads = limits.threads or available_threads()
    # -P: files in the current folder must not be imported by accident.
    command = [sys.executable, "-P", "-c", "from cvxlink.solvers.isolation import main; main()"]
    with TemporaryDirectory(prefix="cvxlink-", ignore_cleanup_errors=True) as folder, TemporaryFile() as messages:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if prints else messages,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "TMPDIR": folder},
            start_new_session=True,
        )
        try:
            ended = _supervised(child, task, limits, who)
        finally:
            kill_group(child)
        if ended.failure is not None and ended.answer is None:
            messages.seek(0)
            *_, last = ["", *messages.read().decode(errors="replace").strip().splitlines()]
            ended.failure = f"{ended.failure}: {last}" if last else ended.failure
    return ended


def kill_group(child: subprocess.Popen) -> None:
    """End a child that has its own session, and every process it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        with suppress(BrokenPipeError):  # it died before it had read its task
            if stream is not None:
                stream.close()


def _supervised(child: subprocess.Popen, task: bytes, limits: Limits, who: str) -> Ended:
    assert child.stdin is not None and child.stdout is not None
    ready, answer = Event(), bytearray()

    def listen(stream: IO[bytes]) -> None:
        if stream.read(1) == READY:
            ready.set()
            answer.extend(stream.read())
        ready.set()  # also if the child died before it was ready, so that nobody waits for it

    listener = Thread(target=listen, args=(child.stdout,), daemon=True)
    listener.start()
    with suppress(BrokenPipeError):  # it died at once; the return code below tells how
        child.stdin.write(task)
        child.stdin.flush()
    if not ready.wait(START_UP_SECONDS):
        return Ended(failure=f"the process of {who} did not start within {START_UP_SECONDS:g} s")
    began, peak = monotonic(), 0.0
    while listener.is_alive():
        left = None if limits.seconds is None else limits.seconds - (monotonic() - began)
        if left is not None and left <= 0:
            return Ended(limit=f"{who} was stopped after {limits.seconds:g} s", seconds=float(limits.seconds or 0))
        if limits.memory is None:
            listener.join(left)
            continue
        used = memory_of_group(child.pid)
        peak = max(peak, used)
        if used > limits.memory:
            seconds = monotonic() - began
            return Ended(limit=f"{who} was stopped at {used / 1e9:.2f} GB", seconds=seconds, megabytes=peak / 1e6)
        listener.join(WATCH_SECONDS if left is None else min(WATCH_SECONDS, left))
    if not answer:
        return Ended(failure=f"the process of {who} {_how(child.wait())}", seconds=monotonic() - began)
    try:
        return pickle.loads(bytes(answer))
    except Exception as error:  # cut short while it was written
        return Ended(failure=f"the process of {who} ended while it was writing its answer ({error})")


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal_name(-code)
    killed = " (from outside: by a user, or by the system when memory ran out)" if code == -signal.SIGKILL else ""
    return f"was ended by signal {name}{killed}"


def signal_name(number: int) -> str:
    """Return the name of a signal, or its number if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def memory_of_group(group: int) -> float:
    """Return the bytes of memory that the processes of a group hold."""
    total, page = 0, os.sysconf("SC_PAGE_SIZE")
    for process in os.listdir("/proc"):
        if not process.isdigit():
            continue
        try:
            with open(f"/proc/{process}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[2]) == group:
            total += int(fields[21]) * page
    return float(total)


def main() -> None:
    """Run in the child: read a task from standard input, do it, write the answer to standard output."""
    end_with_parent()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints must not get into the answer
    # CVXPY tells expressions apart by running numbers, which must not start again at those of the declaration.
    sys.path += [folder for folder in pickle.load(sys.stdin.buffer) if folder not in sys.path]
    lin_utils.ID_COUNTER.count, threads, work, arguments = pickle.load(sys.stdin.buffer)
    channel.write(READY)
    channel.flush()
    try:
        with on_threads(threads):
            ended = Ended(work(*arguments))
    except MemoryError as error:
        ended = Ended(limit=f"there was not enough memory{f' ({error})' if str(error) else ''}")
    if resource is not None:
        used = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        ended.megabytes = max(used) / (1e3 if sys.platform == "linux" else 1e6)
    channel.write(pickle.dumps(ended))
    channel.close()


def end_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, so that no process is left behind."""
    if _LIBC is not None:
        set_parent_death_signal = 1
        _LIBC.prctl(set_parent_death_signal, signal.SIGKILL)
