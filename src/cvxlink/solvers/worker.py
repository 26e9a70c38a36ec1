"""The other side of :mod:`cvxlink.solvers.isolation`: a warm worker, the guardian of each task, and the task itself.

The *worker* is one process per user's process. It has imported everything, does nothing, and forks. For every task it
forks a *guardian*, which forks the process that does the task. So a task costs milliseconds to start, begins in a fresh
process, and can end it in any way. The guardian waits for the task, watches its memory, and at the end kills whatever
still descends from it (it adopts orphans, so that daemons are found as well), removes its temporary files, and reports.
It also does so when the user's process is gone or gives up, which it sees by the connection being closed: cleaning up
does not depend on anything that the user's process does.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import select
import shutil
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, NoReturn

from cvxpy.lin_ops import lin_utils

from ..numerics.interruption import compute_directly
from ..numerics.threads import on_threads
from .processes import (
    adopt_orphans,
    end_descendants,
    end_with_parent,
    flush_c_streams,
    memory_of,
    memory_of_descendants,
    send_signal,
)

try:
    import resource
except ImportError:  # it is not on every system
    resource = None  # type: ignore[assignment]

# The kinds of messages from a task: it begins, its stage, something for the caller, its answer.
READY, STAGE, NOTE, ANSWER = b"R", b"S", b"N", b"A"
HEAD = struct.Struct("<cQ")
LENGTH = struct.Struct("<Q")
PREFIX = "cvxlink-"
# How often the memory of the task is looked at, and that of all processes it started.
WATCH_SECONDS, WATCH_ALL_SECONDS = 0.002, 0.05
# How often a process looks whether its parent still lives, should nothing wake it.
LOOK_UP_SECONDS = 1.0
# The stack and the buffers that each thread of dense algebra reserves but hardly uses.
RESERVED_PER_THREAD = 48e6
# What libraries look at when they decide how many threads to start.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True)
class Surroundings:
    """What a task finds as it is in the user's process: environment, folder, module path; and what it may use."""

    environment: dict[str, str]
    folder: str | None
    path: list[str]
    threads: int
    memory: float | None


@dataclass(frozen=True)
class Report:
    """How a task ended: its exit code (None if it was stopped), bytes in use when it was stopped for that, its peak."""

    code: int | None
    stopped_at: float | None = None
    megabytes: float | None = None


@dataclass(frozen=True)
class Stage:
    """What a task does now, in words for messages, and the seconds it may take beyond the limit to come to an end."""

    who: str
    grace: float = 0.0


@dataclass
class _Task:
    """The connection of the process that does a task; None in every other process."""

    channel: socket.socket | None = None


_task = _Task()


def is_task() -> bool:
    """Whether this process does a task, so that nothing in it needs another process for protection."""
    return _task.channel is not None


def tell(message: Any) -> None:
    """Tell the user's process something: a :class:`Stage`, or a note that its caller understands."""
    _send(STAGE if isinstance(message, Stage) else NOTE, pickle.dumps(message))


def _send(kind: bytes, content: bytes) -> None:
    assert _task.channel is not None
    _task.channel.sendall(HEAD.pack(kind, len(content)))
    _task.channel.sendall(content)


# ---------------------------------------------------------------------- the worker


def serve(number: int) -> None:
    """Run the worker: import what the user's process has imported, then fork a guardian for every request."""
    control, parent = socket.socket(fileno=number), os.getppid()
    adopt_orphans()
    modules, path = pickle.loads(_block(control))
    sys.path += [folder for folder in path if folder not in sys.path]
    for module in modules:
        with suppress(Exception):  # the task will say what is wrong with it, if it needs it
            importlib.import_module(module)
    with on_threads(1):
        pass  # finds the libraries, once for all tasks
    gc.collect()
    gc.freeze()  # so that pages stay shared with the processes that are forked
    control.sendall(READY)
    _replace_streams(os.open(os.devnull, os.O_RDWR))
    awake, guardians = _woken_by_children(), dict[int, str | None]()
    while os.getppid() == parent:
        ready, _, _ = select.select([control.fileno(), awake], [], [], LOOK_UP_SECONDS)
        if control.fileno() in ready and not _forked_guardian(control, guardians):
            break
        _reap(awake, guardians)
    _leave(awake, guardians)


def _forked_guardian(control: socket.socket, guardians: dict[int, str | None]) -> bool:
    """Answer one request; return False if there will be no more."""
    try:
        request, numbers, _, _ = socket.recv_fds(control, 1, 4)
        if not request:
            return False
        where = os.fsdecode(bytes(_block(control)))
    except OSError:
        return False
    folder = _made(where)
    try:
        guardian = os.fork()
    except OSError:  # no more processes: closing the connection tells the user's process
        guardian = -1
        _remove(folder)
    if guardian == 0:
        control.close()
        _guard(numbers, folder)
    for given in numbers:
        os.close(given)
    if guardian > 0:
        guardians[guardian] = folder
    return True


def _made(folder: str) -> str | None:
    """Return a new temporary folder; None if there can be none, which is up to those that need it."""
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        return None
    return folder


def _remove(folder: str | None) -> None:
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _reap(awake: int, guardians: dict[int, str | None]) -> None:
    """Wait for guardians that have ended, and clean up after one that was killed."""
    with suppress(BlockingIOError):
        os.read(awake, 512)
    with suppress(ChildProcessError):
        while True:
            number, status = os.waitpid(-1, os.WNOHANG)
            if not number:
                return
            folder = guardians.pop(number, None)
            if status:  # its orphans are ours now
                end_descendants(spare=guardians)
            _remove(folder)


def _leave(awake: int, guardians: dict[int, str | None]) -> None:
    """End when the user's process is gone, after the guardians."""
    send_signal(guardians, signal.SIGTERM)
    until = monotonic() + LOOK_UP_SECONDS * 5
    while guardians and monotonic() < until:
        select.select([awake], [], [], LOOK_UP_SECONDS / 5)
        _reap(awake, guardians)
    end_descendants()
    for folder in guardians.values():
        _remove(folder)
    os._exit(0)


# ---------------------------------------------------------------------- the guardian


def _guard(numbers: list[int], folder: str | None) -> NoReturn:
    """Run a task in a child, watch it, clean up after it, and report."""
    try:
        adopt_orphans()
        awake = _woken_by_children()
        channel, report, out, err = numbers
        for number in numbers:
            os.set_inheritable(number, False)
        connection, asking = socket.socket(fileno=channel), socket.socket(fileno=report)
        given: Surroundings = pickle.loads(_block(connection))
        task = os.fork()
        if task == 0:
            asking.close()
            _do(connection, out, err, given, folder)
        connection.close()
        for number in (out, err):
            os.close(number)
        ended = _watched(task, asking, awake, given.memory)
        end_descendants()
        _remove(folder)
        with suppress(OSError):  # nobody may be there any more
            asking.sendall(pickle.dumps(ended))
            asking.shutdown(socket.SHUT_WR)  # nobody has to wait until this process is taken down
    except BaseException:  # there is nobody to tell; a closed connection says that it failed
        end_descendants()
        _remove(folder)
        os._exit(1)
    os._exit(0)


def _watched(task: int, asking: socket.socket, awake: int, memory: float | None) -> Report:
    """Wait until a task has ended, takes too much memory, or nobody wants its answer any more."""
    pause = LOOK_UP_SECONDS if memory is None else WATCH_SECONDS
    poll, peak, looked = select.poll(), 0.0, 0.0
    poll.register(asking, select.POLLIN)
    poll.register(awake, select.POLLIN)
    while True:
        number, status, used = os.wait4(task, os.WNOHANG)
        if number:
            megabytes = used.ru_maxrss / (1e3 if sys.platform == "linux" else 1e6)
            return Report(os.waitstatus_to_exitcode(status), megabytes=max(megabytes, peak / 1e6))
        if memory is not None:
            if monotonic() - looked > WATCH_ALL_SECONDS:
                now, looked = memory_of_descendants(os.getpid()), monotonic()
            else:
                now = memory_of(task)
            peak = max(peak, now)
            if now > memory:
                return Report(None, now, peak / 1e6)
        for number, _ in poll.poll(pause * 1000):
            if number == asking.fileno() or _is_asked_to_leave(awake):
                return Report(None, megabytes=peak / 1e6 or None)


def _is_asked_to_leave(awake: int) -> bool:
    return bytes([signal.SIGTERM]) in os.read(awake, 512)


def _woken_by_children() -> int:
    """Return a file that can be read when a child has ended, or when this process is asked to leave."""
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for which in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(which, lambda *_: None)
    return reading


# ---------------------------------------------------------------------- the task


def _do(connection: socket.socket, out: int, err: int, given: Surroundings, folder: str | None) -> NoReturn:
    """Do a task as if in a process that was just started, and send the answer."""
    code = 1
    try:
        os.setsid()
        end_with_parent()
        signal.set_wakeup_fd(-1)
        for which in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(which, signal.SIG_DFL)
        _task.channel = connection
        compute_directly()
        _replace_streams(os.open(os.devnull, os.O_RDONLY), out, err)
        _settle(given, folder)
        # CVXPY tells expressions apart by running numbers, which must not start again at those of the declaration.
        content = _block(connection)
        lin_utils.ID_COUNTER.count, work, arguments = pickle.loads(content)
        del content
        _send(READY, b"")
        answer = _answered(work, arguments, given)
        _send(ANSWER, answer)
        code = 0
    except BaseException:  # whatever it is, the last line of it is the reason that is shown
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    flush_c_streams()
    os._exit(code)


def _answered(work: Callable[..., Any], arguments: tuple, given: Surroundings) -> bytes:
    """Return the answer and None, or None and how memory ran out; and the running number that CVXPY has reached."""
    try:
        if given.memory is not None:
            _limit_memory(given.memory, given.threads)
        with on_threads(given.threads):
            outcome = (work(*arguments), None, lin_utils.ID_COUNTER.count)
        return pickle.dumps(outcome, protocol=5)
    except MemoryError as error:
        words = f"there was not enough memory{f' ({error})' if str(error) else ''}"
        return pickle.dumps((None, words, lin_utils.ID_COUNTER.count))


def _settle(given: Surroundings, folder: str | None) -> None:
    """Take over what is in the user's process."""
    os.environ.clear()
    os.environ.update(given.environment)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(given.threads)))
    if folder is not None:
        os.environ["TMPDIR"] = folder
    if given.folder is not None:
        with suppress(OSError):  # it is gone
            os.chdir(given.folder)
    # Modules beside a script are found as they are there, but after all others: none of them can hide another.
    sys.path += [where for where in given.path if where not in sys.path]


def _limit_memory(most: float, threads: int) -> None:
    """Let allocations fail that would go beyond a limit, in case they are quicker than the guardian looks."""
    if resource is None or sys.platform != "linux":
        return
    with open("/proc/self/status") as file:
        reserved = next((int(line.split()[1]) * 1024.0 for line in file if line.startswith("VmData")), 0.0)
    allowed = reserved + max(most - memory_of(os.getpid()), 0.0) + RESERVED_PER_THREAD * threads
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = int(allowed) if hard == resource.RLIM_INFINITY else min(int(allowed), hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _replace_streams(given: int, out: int | None = None, err: int | None = None) -> None:
    """Connect standard input, output and errors to other files; without any, output goes where the input is from."""
    others = given, given if out is None else out, given if err is None else err
    for number, other in enumerate(others):
        os.dup2(other, number)
    for other in set(others) - {0, 1, 2}:
        os.close(other)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]


def _block(connection: socket.socket) -> bytearray:
    """Return a block of bytes that its length precedes."""
    return _received(connection, LENGTH.unpack(_received(connection, LENGTH.size))[0])


def _received(connection: socket.socket, length: int) -> bytearray:
    """Return so many bytes; raise EOFError if the other side closes the connection before."""
    content = bytearray()
    while len(content) < length:
        part = connection.recv(min(length - len(content), 1 << 20))
        if not part:
            raise EOFError("the connection was closed")
        content += part
    return content
