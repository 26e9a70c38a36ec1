"""Run work in a child process, so that limits of time and memory can stop it, and a crash is only a failure.

The processes, and why there are three of them, are described in :mod:`cvxlink.solvers.worker`.
"""

from __future__ import annotations

import copyreg
import os
import pickle
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import Any

from cvxpy.lin_ops import lin_utils
from joblib import wrap_non_picklable_objects

from ..errors import InvalidProblem
from ..numerics.threads import on_threads, threads_in_use
from .connection import CLEAN_UP_SECONDS, LISTEN_SECONDS, START_UP_SECONDS, NoWorker, Run, connected
from .processes import CHUNK, CappedOutput, how_it_ended
from .worker import ANSWER, HEAD, LENGTH, READY, STAGE, Report, Stage, Surroundings, is_task


@dataclass(frozen=True)
class Limits:
    """What a process may use: seconds, bytes of memory, threads. None means no limit, and as many threads as here."""

    seconds: float | None = None
    memory: float | None = None
    threads: int | None = None


@dataclass
class Ended:
    """How the work ended: with an answer, at a limit, or in failure; and the peak memory in megabytes.

    ``limit`` and ``failure`` are words; ``stopped_by`` is "time", "memory", "crash", "caller", or None if it ended by
    itself. ``was_killed`` says that somebody else killed the process or its guardian, and ``printed`` is what it
    printed, unless that went to the terminal.
    """

    answer: Any = None
    limit: str | None = None
    failure: str | None = None
    seconds: float = 0.0
    megabytes: float | None = None
    stopped_by: str | None = None
    was_killed: bool = False
    printed: str = ""


class NotSendable(InvalidProblem):
    """The work holds something that cannot be sent to another process."""


def available_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_isolated(
    work: Callable[..., Any],
    arguments: tuple,
    limits: Limits,
    who: str,
    prints: bool = False,
    hear: Callable[[Any], None] | None = None,
    is_unwanted: Callable[[], bool] = lambda: False,
) -> Ended:
    """Call a function in a child process. Compiling counts towards the time limit, starting Python does not.

    Whatever happens in the child, this process goes on, and nothing of the child remains, not even processes it started
    or their files. Within such a child, the function is called directly. ``hear`` is called with what the function
    tells by :func:`~cvxlink.solvers.worker.tell`. ``is_unwanted`` is asked several times per second; once it says so,
    the work is stopped.
    """
    if is_task():
        with on_threads(limits.threads):
            return Ended(work(*arguments))
    task = _pickled((lin_utils.ID_COUNTER.count, work, arguments))
    surroundings = pickle.dumps(
        Surroundings(
            dict(os.environ),
            _current_folder(),
            [folder for folder in sys.path if folder],
            limits.threads or threads_in_use(),
            limits.memory,
        )
    )
    sent = LENGTH.pack(len(surroundings)) + surroundings + LENGTH.pack(len(task)) + task
    try:
        for is_last in (False, True):
            with connected(prints) as run:
                conversation = _Conversation(run, sent, limits, who, hear)
                ended = conversation.held(is_unwanted)
                ended.printed = conversation.printed.text
            if is_last or not conversation.was_cut_off:
                return ended
    except NoWorker as error:
        return Ended(failure=f"no process can be started for {who}: {error}")
    except OSError as error:  # for example, too many open files
        return Ended(failure=f"no process can be started for {who}: {error.strerror or error}")
    raise AssertionError


def _pickled(task: tuple) -> bytes:
    """Return a task in bytes; what is defined in a script or notebook is sent along."""
    with suppress(Exception):  # pickling runs the code of whatever objects the program holds
        plain = pickle.dumps(task, protocol=5)
        if b"__main__" not in plain:
            return plain
    try:
        return pickle.dumps(wrap_non_picklable_objects(task, keep_wrapper=False), protocol=5)
    except Exception as error:
        raise NotSendable(f"to run in its own process the program must be picklable, but it is not: {error}") from error


def _rebuilt(function: Callable[..., Any], name: str | None) -> Any:
    made = cached_property(function)
    if name is not None:
        made.__set_name__(object, name)
    return made


# Classes of a script are sent with all they have; before Python 3.12 these properties hold a lock, which cannot be.
copyreg.pickle(cached_property, lambda made: (_rebuilt, (made.func, made.attrname)))


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return None


# ---------------------------------------------------------------------- one run


class _Conversation:
    """Sends a task, listens until its guardian reports, and stops it at the limit of time."""

    def __init__(self, run: Run, task: bytes, limits: Limits, who: str, hear: Callable[[Any], None] | None) -> None:
        self.run, self.unsent, self.limits, self.who, self.hear = run, memoryview(task), limits, who, hear
        self.received, self.printed, self.reported = bytearray(), CappedOutput(), bytearray()
        self.answer: bytes | None = None
        self.stage = Stage(who)
        self.asked = monotonic()
        self.has_begun = self.is_over = False

    def held(self, is_unwanted: Callable[[], bool]) -> Ended:
        """Hold the conversation, and return how the work ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.run.channel, selectors.EVENT_READ | selectors.EVENT_WRITE)
            selector.register(self.run.report, selectors.EVENT_READ)
            if self.run.printed is not None:
                os.set_blocking(self.run.printed, False)
                selector.register(self.run.printed, selectors.EVENT_READ)
            while not self.is_over:
                left = self._left()
                if is_unwanted():
                    self._stop(selector)
                    words = f"{self.who} was stopped because its answer is not wanted any more"
                    return Ended(failure=words, seconds=monotonic() - self.asked, stopped_by="caller")
                if left <= 0:
                    self._stop(selector)
                    return self._stopped()
                self._listen(selector, min(left, LISTEN_SECONDS))
            self._read_channel(selector)
            self._read_printed(selector)
        return self._ended(monotonic() - self.asked)

    @property
    def was_cut_off(self) -> bool:
        """Whether the worker was killed before the task began, so that another can take it."""
        return self.is_over and not self.has_begun and not self.reported

    def _left(self) -> float:
        seconds = float("inf") if self.limits.seconds is None else self.limits.seconds + self.stage.grace
        if not self.has_begun:
            seconds = min(seconds, START_UP_SECONDS)
        return self.asked + seconds - monotonic()

    def _listen(self, selector: selectors.BaseSelector, seconds: float) -> None:
        for key, events in selector.select(seconds):
            if key.fileobj is self.run.report:
                self._read_report()
            elif key.fileobj is self.run.channel:
                if events & selectors.EVENT_WRITE:
                    self._write(selector)
                if events & selectors.EVENT_READ:
                    self._read_channel(selector)
            else:
                self._read_printed(selector)

    def _write(self, selector: selectors.BaseSelector) -> None:
        try:
            self.unsent = self.unsent[self.run.channel.send(self.unsent[:CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # it died before it had read its task; the report tells how
            self.unsent = self.unsent[:0]
        if not self.unsent:
            selector.modify(self.run.channel, selectors.EVENT_READ)

    def _read_channel(self, selector: selectors.BaseSelector) -> None:
        while True:
            try:
                part = self.run.channel.recv(CHUNK)
            except BlockingIOError:
                break
            except OSError:
                part = b""
            if not part:
                with suppress(KeyError, ValueError):
                    selector.unregister(self.run.channel)
                break
            self.received += part
        self._take_messages()

    def _take_messages(self) -> None:
        while len(self.received) >= HEAD.size:
            kind, length = HEAD.unpack_from(self.received)
            if len(self.received) < HEAD.size + length:
                return
            content = bytes(memoryview(self.received)[HEAD.size : HEAD.size + length])
            del self.received[: HEAD.size + length]
            if kind == READY:
                self.has_begun = True
            elif kind == ANSWER:
                self.answer = content
            elif kind == STAGE:
                self.stage = pickle.loads(content)
            elif self.hear is not None:
                self.hear(pickle.loads(content))

    def _read_printed(self, selector: selectors.BaseSelector) -> None:
        if self.run.printed is None:
            return
        with suppress(BlockingIOError):
            part = os.read(self.run.printed, CHUNK)
            self.printed.add(part)
            if not part:
                with suppress(KeyError, ValueError):
                    selector.unregister(self.run.printed)

    def _read_report(self) -> None:
        try:
            part = self.run.report.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self.reported += part
        self.is_over = not part

    def _stop(self, selector: selectors.BaseSelector) -> None:
        """Ask the guardian to end everything, and wait until it has."""
        self.run.report.shutdown(socket.SHUT_WR)
        until = monotonic() + CLEAN_UP_SECONDS
        while not self.is_over and monotonic() < until:
            self._listen(selector, LISTEN_SECONDS)

    def _report(self) -> Report | None:
        with suppress(Exception):  # cut short when the guardian was killed
            return pickle.loads(bytes(self.reported))
        return None

    def _stopped(self) -> Ended:
        report = self._report()
        megabytes = None if report is None else report.megabytes
        if self.limits.seconds is None:
            words = f"the process of {self.who} did not start within {START_UP_SECONDS:g} s"
            return Ended(failure=words, stopped_by="crash")
        words, seconds = f"{self.stage.who} was stopped after {self.limits.seconds:g} s", self.limits.seconds
        return Ended(limit=words, seconds=seconds, megabytes=megabytes, stopped_by="time")

    def _ended(self, seconds: float) -> Ended:
        report, who = self._report(), self.stage.who
        if report is None:
            self.run.remove_folder()
            words = "was ended from outside, together with the process that watched it"
            failure = f"the process of {who} {words}"
            return Ended(failure=failure, seconds=seconds, stopped_by="crash", was_killed=True)
        if report.stopped_at is not None:
            words = f"{who} was stopped at {report.stopped_at / 1e9:.2f} GB"
            return Ended(limit=words, seconds=seconds, megabytes=report.megabytes, stopped_by="memory")
        if self.answer is not None:
            return self._answered(seconds, report)
        last = self.printed.last_line
        words = "was stopped" if report.code is None else how_it_ended(report.code)
        failure = f"the process of {who} {words}{f': {last}' if last else ''}"
        if self.limits.memory is not None and "memory" in self.printed.text.lower():
            words = f"there was not enough memory: {failure}"
            return Ended(limit=words, seconds=seconds, megabytes=report.megabytes, stopped_by="memory")
        return Ended(
            failure=failure,
            seconds=seconds,
            megabytes=report.megabytes,
            stopped_by="crash",
            was_killed=report.code is None or report.code == -signal.SIGKILL,
        )

    def _answered(self, seconds: float, report: Report) -> Ended:
        assert self.answer is not None
        try:
            answer, out_of_memory, count = pickle.loads(self.answer)
        except Exception as error:
            words = f"the answer of {self.who} cannot be read: {error}"
            return Ended(failure=words, seconds=seconds, stopped_by="crash")
        # Expressions in the answer keep their numbers, so those that are made here from now on need others.
        lin_utils.ID_COUNTER.count = max(lin_utils.ID_COUNTER.count, count)
        stopped_by = "memory" if out_of_memory else None
        return Ended(answer, out_of_memory, seconds=seconds, megabytes=report.megabytes, stopped_by=stopped_by)
