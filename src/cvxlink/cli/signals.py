"""Signals: Ctrl-C, SIGTERM and SIGHUP end a command at once, and nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer

from ..data.files.atomic import remove_unfinished
from ..numerics.interruption import Interruptible
from .terminal import say

# What a command may take to end by itself; after that it is ended, whatever it is doing.
SECONDS_TO_END = 0.5
_seconds_to_end = SECONDS_TO_END
_is_signalled = False
# What the command that runs has to say after an interruption, besides that it was interrupted.
_words: Callable[[], str] | None = None
_is_said = False


class _Signalled(BaseException):
    """A signal has arrived; not an error that anything on the way should handle."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class InterruptibleApp(typer.Typer):
    """An app whose commands run in a second thread, while the first waits for signals.

    Python handles signals in its first thread only, and not while that is busy in a library.
    """

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the command that the arguments of the process name."""
        return run_until_signalled(lambda: typer.Typer.__call__(self, *arguments, **named))


def run_until_signalled(command: Callable[[], Any]) -> Any:
    """Run a command; a signal ends the process with exit code 128 plus its number, as shells have it."""
    for which in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        # ``nohup`` ignores one of them, and should be obeyed.
        if signal.getsignal(which) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(which, _raise)
    global _is_signalled, _is_said
    _is_signalled = _is_said = False
    computation = Interruptible()
    try:
        return computation.run(command)
    except _Signalled as signalled:
        _end(computation, signalled.number)


def allow_to_end(seconds: float) -> None:
    """Give the command that runs more time to end after a signal, because it has something to say."""
    global _seconds_to_end
    _seconds_to_end = seconds


def when_interrupted(words: Callable[[], str]) -> None:
    """Let a command say more after a signal than that it was interrupted."""
    global _words, _is_said
    _words, _is_said = words, False


def say_interrupted() -> None:
    """Say that the command was interrupted: once, by the thread that comes to it first."""
    global _is_said
    if not _is_said:
        _is_said = True
        say("interrupted" if _words is None else f"interrupted: {_words()}")


def _raise(number: int, _: Any) -> None:
    """Raise once: a second signal would find the first one half obeyed."""
    global _is_signalled
    if not _is_signalled:
        _is_signalled = True
        raise _Signalled(number)


def _end(computation: Interruptible, number: int) -> NoReturn:
    has_ended = computation.clean_up(_seconds_to_end)
    remove_unfinished()
    if _words is not None or (number == signal.SIGINT and not has_ended):  # it may be busy in a library
        with suppress(Exception):
            say_interrupted()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(128 + number)
