"""The warm worker as seen from the user's process: it is started when it is first needed, and asked for processes."""

from __future__ import annotations

import atexit
import os
import pickle
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from time import monotonic

from ..errors import CvxlinkError
from .processes import CHUNK, CappedOutput, how_it_ended
from .worker import LENGTH, PREFIX, READY, THREAD_VARIABLES

# Starting Python and importing CVXPY does not count as solver time, but must end too.
START_UP_SECONDS = 120.0
# The packages of which the worker imports in advance what is imported here.
PRELOADED = ("cvxlink", "cvxpy", "scipy", "sklearn")
# A thread that is asked to end sees it after so many seconds at most.
LISTEN_SECONDS = 0.2
# What cleaning up may take, at most, before it is left to the guardian.
CLEAN_UP_SECONDS = 10.0


class NoWorker(CvxlinkError):
    """No process can be started; the message says why."""


class _Worker:
    """A process that has imported everything and forks one for every task."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.control, theirs = socket.socketpair()
        _opened.add(self.control)
        with theirs:
            # -P: files in the current folder must not be imported by accident. It is this cvxlink that has to be found,
            # whatever else is installed.
            home = str(Path(__file__).resolve().parents[2])
            command = [sys.executable or "python", "-P", "-c", f"import sys; sys.path.insert(0, {home!r}); "]
            command[-1] += f"from cvxlink.solvers.worker import serve; serve({theirs.fileno()})"
            try:
                self.process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, "1")},
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                    cwd="/" if os.path.isdir("/") else None,
                )
            except OSError as error:
                self._forget()
                raise NoWorker(error.strerror or str(error)) from error
        try:
            self._start()
        except BaseException:
            self.end()
            raise

    def _start(self) -> None:
        modules = [name for name in list(sys.modules) if name.partition(".")[0] in PRELOADED]
        content = pickle.dumps((modules, [os.path.abspath(folder) for folder in sys.path if folder]))
        with suppress(OSError):
            self.control.sendall(LENGTH.pack(len(content)) + content)
        printed, ready, errors = CappedOutput(), b"", self.process.stderr
        assert errors is not None
        until = monotonic() + START_UP_SECONDS
        with errors, selectors.DefaultSelector() as selector:
            selector.register(self.control, selectors.EVENT_READ)
            selector.register(errors, selectors.EVENT_READ)
            while not ready and len(selector.get_map()):
                if monotonic() > until:
                    raise NoWorker(f"it did not start within {START_UP_SECONDS:g} s")
                for key, _ in selector.select(LISTEN_SECONDS):
                    if key.fileobj is errors:
                        part = os.read(errors.fileno(), CHUNK)
                        printed.add(part)
                        if not part:
                            selector.unregister(errors)
                    else:
                        with suppress(ConnectionError):
                            ready = self.control.recv(1)
                        if not ready:
                            selector.unregister(self.control)
        if ready != READY:
            code = self.process.wait()
            raise NoWorker(f"it {how_it_ended(code)}: {printed.last_line}".rstrip(": "))

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def request(self, numbers: list[int], folder: str) -> None:
        """Ask for a guardian and a process; they get these open files and that temporary folder."""
        where = os.fsencode(folder)
        with self.lock:
            socket.send_fds(self.control, [b"T"], numbers)
            self.control.sendall(LENGTH.pack(len(where)) + where)

    def end(self) -> None:
        """End it and wait for it."""
        self._forget()
        try:
            self.process.wait(CLEAN_UP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _forget(self) -> None:
        _opened.discard(self.control)
        self.control.close()


_opened: set[socket.socket] = set()
_worker: _Worker | None = None
_lock = threading.Lock()


def end_worker() -> None:
    """End the warm worker, if there is one; the next task starts another."""
    global _worker
    with _lock:
        worker, _worker = _worker, None
    if worker is not None:
        worker.end()


def _forget_after_fork() -> None:
    """Leave the worker to the parent: a child of the user's process gets its own, and keeps no connection open."""
    global _worker, _lock
    _worker, _lock = None, threading.Lock()
    for connection in _opened:
        connection.close()
    _opened.clear()


atexit.register(end_worker)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def _new_name() -> str:
    """Return a name for a temporary folder that the worker will make."""
    try:
        return os.path.join(tempfile.gettempdir(), f"{PREFIX}{token_hex(8)}")
    except OSError:  # there is no folder for temporary files; most solvers need none
        return os.path.join(os.devnull, PREFIX)


def _request(numbers: list[int], folder: str) -> None:
    """Ask the worker for a process; start one if there is none or it has been killed."""
    global _worker
    for is_last in (False, True):
        with _lock:
            if _worker is None or not _worker.is_alive:
                if _worker is not None:
                    _worker.end()
                    _worker = None
                _worker = _Worker()
            worker = _worker
        try:
            return worker.request(numbers, folder)
        except ConnectionError:  # it has been killed
            if is_last:
                raise
            _discard(worker)


def _discard(worker: _Worker) -> None:
    """Forget a worker that does not answer."""
    global _worker
    with _lock:
        if _worker is worker:
            _worker = None
    worker.end()


@dataclass
class Run:
    """The connections of one run: to the task, to its guardian, what the task prints; and its temporary folder."""

    channel: socket.socket
    report: socket.socket
    printed: int | None
    folder: str

    def remove_folder(self) -> None:
        """Remove the temporary files, if everybody who would do so was killed."""
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def connected(prints: bool) -> Iterator[Run]:
    """Yield the connections to a new process; when they are closed, it ends and everything of it is removed."""
    channel, their_channel = socket.socketpair()
    report, their_report = socket.socketpair()
    _opened.update((channel, report))
    pipe, folder = None if prints else os.pipe(), _new_name()
    streams = [_own_stream(number) for number in (1, 2)] if pipe is None else [pipe[1], pipe[1]]
    try:
        try:
            _request([their_channel.fileno(), their_report.fileno(), *streams], folder)
        finally:
            their_channel.close()
            their_report.close()
            for stream in set(streams):
                os.close(stream)
        channel.setblocking(False)
        report.setblocking(False)
        yield Run(channel, report, None if pipe is None else pipe[0], folder)
    finally:
        for connection in (channel, report):
            _opened.discard(connection)
            connection.close()
        if pipe is not None:
            os.close(pipe[0])


def _own_stream(number: int) -> int:
    """Return a copy of standard output or errors, or of a file that takes everything if that is closed."""
    try:
        return os.dup(number)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY)
