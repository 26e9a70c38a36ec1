"""Ctrl-C ends a computation at once, although Python cannot interrupt a library in the middle of a call."""

from __future__ import annotations

import contextvars
import ctypes
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_computes_directly = False
# Held during a step that must not be halved; for so many seconds at most an interruption waits for its end.
WHOLE_STEP = threading.RLock()
LONGEST_STEP = 10.0


def compute_directly() -> None:
    """Let this process compute in its first thread: another process waits for it, and sees Ctrl-C."""
    global _computes_directly
    _computes_directly = True


class Interruptible:
    """A computation in a thread of its own, for which the main thread waits.

    Only the main thread of Python sees Ctrl-C, and only between two steps of Python. If it computed, a factorisation of
    a large matrix would keep it busy for minutes; while it waits, it is interrupted at once. The other thread ends
    after the call of a library that it is in.
    """

    def __init__(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        self._is_needed = is_main and not _computes_directly
        self._thread: threading.Thread | None = None
        self._messages: SimpleQueue[tuple[Callable[..., Any] | None, Any, SimpleQueue | None]] = SimpleQueue()

    def here(self, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Return a function that calls the given one in the thread that waits, as callers of a callback expect."""
        if function is None or not self._is_needed:
            return function

        def called_there(*arguments: Any) -> Any:
            if not self._is_needed:
                return function(*arguments)
            reply: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
            self._messages.put((function, arguments, reply))
            value, error = reply.get()
            if error is not None:
                raise error
            return value

        return called_there

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function returns, or raise what it raises."""
        if not self._is_needed:
            return work(*arguments)
        outcome: list[tuple[Any, BaseException | None]] = []
        context = contextvars.copy_context()

        def compute() -> None:
            try:
                outcome.append((context.run(work, *arguments), None))
            except BaseException as error:  # it is raised in the thread that waits
                outcome.append((None, error))
            self._messages.put((None, None, None))

        self._thread = threading.Thread(target=compute, name="cvxlink", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the system allows no more threads
            self._thread, self._is_needed = None, False
            return work(*arguments)
        try:
            self._answer_calls()
        except BaseException:
            self._interrupt()
            raise
        value, error = outcome[0]
        if error is not None:
            try:
                raise error
            finally:
                del error, outcome  # or the error would hold itself through this frame
        return value

    def _interrupt(self) -> None:
        """Raise KeyboardInterrupt in the computation, before or after a step, where it has such steps.

        A thread that waits for the lock meanwhile is interrupted when it has it, before the first line of its step.
        """
        assert self._thread is not None
        held = WHOLE_STEP.acquire(timeout=LONGEST_STEP)
        try:
            number = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(number, ctypes.py_object(KeyboardInterrupt))
        finally:
            if held:
                WHOLE_STEP.release()

    def clean_up(self, seconds: float) -> bool:
        """After an interruption, wait so many seconds at most for the computation to end as well; return if it has."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _answer_calls(self) -> None:
        """Wait for the end, and make the calls that are asked for until then."""
        while True:
            function, arguments, reply = self._messages.get()
            if function is None or reply is None:
                return
            try:
                reply.put((function(*arguments), None))
            except Exception as error:
                reply.put((None, error))
            except BaseException as error:
                reply.put((None, error))
                raise
