"""How far a study has come, while it runs: a bar on a terminal, and a line now and then anywhere else."""

from __future__ import annotations

import shlex
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..errors import visible
from .signals import when_interrupted
from .terminal import console, say

if TYPE_CHECKING:
    from ..studies.running import Standing

# Between two lines, where there is no terminal.
SECONDS = 10.0


class StudyProgress:
    """Shows on standard error how far a study has come; after Ctrl-C, what is kept and how to go on."""

    def __init__(self, again: list[str], seconds: float = SECONDS) -> None:
        self._again, self._seconds = again, seconds
        self._now: Standing | None = None
        self._end: datetime | None = None
        self._bar: Progress | None = None
        self._is_over = Event()

    def __enter__(self) -> StudyProgress:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def begin(self, before: Standing) -> None:
        """Say how far it has come, and show from now on how it goes on."""
        say(str(before) if before.remaining else f"{before}; nothing is missing")
        self._now = before
        when_interrupted(self._kept)
        errors = console(to_errors=True)
        if not errors.is_terminal:
            Thread(target=self._say_now_and_then, daemon=True).start()
            return
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=errors, transient=True)
        self._bar.add_task(self._so_far(), completed=before.finished, total=before.total)
        self._bar.start()

    def tell(self, now: Standing, record: dict[str, Any]) -> None:
        """Take in that a cell is finished."""
        left = now.seconds_left
        self._now, self._end = now, None if left is None else datetime.now() + timedelta(seconds=left)
        if self._bar is not None:
            words = f"{self._so_far()}; {visible(record['instance'])}, {visible(record['configuration'])}"
            self._bar.update(self._bar.task_ids[0], completed=now.finished, description=words)

    def _so_far(self) -> str:
        """Return failures, what remains, and when it is expected to end."""
        assert self._now is not None
        words = f"{self._now.failed} failed, {self._now.remaining} remaining"
        if self._end is None or not self._now.remaining:
            return words
        day = f" on {self._end:%d %B}" if self._end.date() != datetime.now().date() else ""
        return f"{words}, ends about {self._end:%H:%M}{day}"

    def _say_now_and_then(self) -> None:
        while not self._is_over.wait(self._seconds):
            assert self._now is not None
            if self._now.remaining:
                say(f"{self._now.finished} of {self._now.total} cells finished, {self._so_far()}")

    def _kept(self) -> str:
        self._stop()
        assert self._now is not None
        return f"{self._now.finished} of {self._now.total} cells are kept; `{shlex.join(self._again)}` goes on"

    def _stop(self) -> None:
        self._is_over.set()
        if self._bar is not None:
            self._bar.stop()


def to_resume(file: Path, folder: Path | None, **options: Any) -> list[str]:
    """Return the command that goes on with a study, with the options it was begun with."""
    words = ["cvxlink", "study", "resume", str(file)]
    for name, value in {"folder": folder, **options}.items():
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            words += [f"--{name}", str(one)]
    return words
