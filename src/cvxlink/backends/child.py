"""A solver in a process of its own, so that a time limit can really stop it."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryFile
from threading import Event, Thread
from typing import IO, Any

from cvxpy.lin_ops import lin_utils

from ..declaration import Declaration
from ..errors import InvalidProblem
from .cvxpy import RawResult, call_cvxpy

READY = b"R"
# Starting Python and importing CVXPY is not the solver's time, but must end too.
START_UP_SECONDS = 120.0


def run_in_child(
    declaration: Declaration, solver: str, options: Mapping[str, Any], verbose: bool, time_limit: float
) -> RawResult:
    """Solve in a child process and kill it when the time is up. Compiling counts, starting Python does not."""
    try:
        task = pickle.dumps((lin_utils.ID_COUNTER.count, (declaration, solver, dict(options), verbose)))
    except Exception as error:  # pickling runs the code of whatever objects the declaration holds
        raise InvalidProblem(f"with a time limit the program must be picklable, and it is not: {error}") from error
    # -P: nothing may depend on what lies in the folder it is started in.
    command = [sys.executable, "-P", "-c", "from cvxlink.backends.child import main; main()"]
    with TemporaryFile() as messages:
        printing = None if verbose else messages
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=printing)
        try:
            raw = _supervised(child, task, solver, time_limit)
        finally:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                assert stream is not None
                stream.close()
        if raw.crashed:
            messages.seek(0)
            *_, last = ["", *messages.read().decode(errors="replace").strip().splitlines()]
            raw.failure = f"{raw.failure}: {last}" if last else raw.failure
    return raw


def _supervised(child: subprocess.Popen, task: bytes, solver: str, time_limit: float) -> RawResult:
    assert child.stdin is not None and child.stdout is not None
    ready, answer = Event(), bytearray()

    def listen(stream: IO[bytes]) -> None:
        if stream.read(1) == READY:
            ready.set()
            answer.extend(stream.read())
        ready.set()  # also where the child died before it was ready: nobody should wait for it

    listener = Thread(target=listen, args=(child.stdout,), daemon=True)
    listener.start()
    try:
        child.stdin.write(task)
        child.stdin.flush()
    except BrokenPipeError:
        pass  # it died at once; the return code below says how
    if not ready.wait(START_UP_SECONDS):
        return RawResult(failure=f"the child process did not start within {START_UP_SECONDS:g} s")
    listener.join(time_limit)
    if listener.is_alive():
        return RawResult(limit=f"{solver} was stopped after {time_limit:g} s", solve_seconds=time_limit)
    if not answer:
        code = child.wait()
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return RawResult(failure=f"the process of the solver ended {how}", crashed=True)
    return pickle.loads(bytes(answer))


def main() -> None:
    """Be the child: read a task from standard input, solve it, write the answer to standard output."""
    _end_with_parent()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the solver prints must not get into the answer
    # CVXPY tells expressions apart by running numbers, which must not start again at those of the declaration.
    lin_utils.ID_COUNTER.count, task = pickle.load(sys.stdin.buffer)
    channel.write(READY)
    channel.flush()
    channel.write(pickle.dumps(call_cvxpy(*task)))
    channel.close()


def _end_with_parent() -> None:
    """Ask Linux to kill this process when its parent is gone, so that none is left behind."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
