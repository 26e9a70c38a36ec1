"""What all commands share: exit codes, errors as one sentence, JSON, and the progress that a terminal shows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import typer

from ..errors import CvxlinkError, InfeasibleProblem, SolveFailed
from .wording import sentence

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status as Spinner

    from ..solvers.route import Progress


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    BAD_INPUT = 1
    USAGE = 2
    NO_ANSWER = 3
    INACCURATE = 4


EXIT_CODES = (
    "Exit codes: 0 success; 1 something is wrong with the input or a file; 2 wrong usage; 3 no answer (the solver "
    "failed, nothing is feasible, or a limit was reached); 4 an answer, but less accurate than asked for; 130, 143 or "
    "129 ended by Ctrl-C, SIGTERM or SIGHUP."
)


@contextmanager
def errors_in_one_sentence() -> Iterator[Console]:
    """Yield a console; print an error as one sentence, and end the command with its exit code."""
    try:
        yield console()
    except BrokenPipeError:  # whoever read the output has seen enough
        raise
    except (CvxlinkError, OSError) as error:
        say(f"cvxlink: {sentence(error)}", style="red")
        has_no_answer = isinstance(error, SolveFailed | InfeasibleProblem)
        raise typer.Exit(ExitCode.NO_ANSWER if has_no_answer else ExitCode.BAD_INPUT) from error


def console(to_errors: bool = False) -> Console:
    """Return a console on standard output, or on standard error."""
    from rich.console import Console

    return Console(stderr=to_errors)


def say(text: str, to_errors: bool = True, style: str | None = None) -> None:
    """Print text as it is: without markup, and without breaking lines."""
    console(to_errors).print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """Print JSON alone on standard output; a number that is not finite is null."""
    typer.echo(json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


class Stages:
    """The current stage of the work, with a spinner on standard error if that is a terminal."""

    def __init__(self) -> None:
        errors = console(to_errors=True)
        self._spinner: Spinner | None = errors.status("") if errors.is_terminal else None

    @property
    def are_shown(self) -> bool:
        """Whether anybody sees them."""
        return self._spinner is not None

    def __enter__(self) -> Stages:
        if self._spinner is not None:
            self._spinner.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._spinner is not None:
            self._spinner.stop()

    def begin(self, stage: str) -> None:
        """Show that a stage begins."""
        if self._spinner is not None:
            self._spinner.update(f"{stage} …")

    def step(self, progress: Progress) -> None:
        """Show how far solving has come."""
        self.begin(f"solving: step {progress.step}, gap {progress.gap:.0e}")
