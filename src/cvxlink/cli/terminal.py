"""What all commands share: exit codes, errors as one sentence, JSON, and the progress that a terminal shows."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import typer

from ..errors import CvxlinkError, InfeasibleProblem, SolveFailed, visible
from .streams import abandon_output
from .wording import sentence

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status as Spinner

    from ..engine.solution import Solution
    from ..exact.search import SearchProgress
    from ..solvers.route import Progress


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    BAD_INPUT = 1
    USAGE = 2
    NO_ANSWER = 3
    INACCURATE = 4
    INTERNAL = 70
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 success; 1 something is wrong with the input or a file; 2 wrong usage; 3 no answer (the solver "
    "failed, nothing is feasible, or a limit was reached); 4 an answer, but less accurate than asked for, or not "
    "proven; 70 an error in cvxlink itself; 130, 143 or 129 ended by Ctrl-C, SIGTERM or SIGHUP."
)


@contextmanager
def errors_in_one_sentence() -> Iterator[Console]:
    """Yield a console; print an error as one sentence, and end the command with its exit code."""
    try:
        yield console()
    except BrokenPipeError as error:  # whoever read the output has seen enough
        abandon_output()
        raise typer.Exit(ExitCode.OK) from error
    except MemoryError as error:
        say("cvxlink: out of memory; use fewer points, or a method for large data", style="red")
        raise typer.Exit(ExitCode.NO_ANSWER) from error
    except (CvxlinkError, OSError) as error:
        if isinstance(error, OSError):
            abandon_output()
        say(f"cvxlink: {sentence(error)}", style="red")
        has_no_answer = isinstance(error, SolveFailed | InfeasibleProblem)
        raise typer.Exit(ExitCode.NO_ANSWER if has_no_answer else ExitCode.BAD_INPUT) from error


def exit_code_of(solution: Solution) -> ExitCode:
    """Return the exit code for a solution: whether there is an answer, and whether it is proven as asked for."""
    if not solution.status.has_answer or solution.certificate is None:
        return ExitCode.NO_ANSWER
    return ExitCode.INACCURATE if solution.status.name != "OPTIMAL" else ExitCode.OK


def console(to_errors: bool = False) -> Console:
    """Return a console on standard output, or on standard error."""
    from .visible_console import VisibleConsole

    return VisibleConsole(stderr=to_errors)


def say(text: str, to_errors: bool = True, style: str | None = None) -> None:
    """Print text as it is: without markup, without breaking lines, and with control characters made visible."""
    # Where standard error cannot be written nobody can be told, and what the command is for must not fail for that.
    with suppress(OSError, SystemExit) if to_errors else nullcontext():
        console(to_errors).print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def print_json(content: Any) -> None:
    """Print JSON alone on standard output, in UTF-8; a number that is not finite is null."""
    text = json.dumps(_plain(content), indent=2, ensure_ascii=False, allow_nan=False)
    print_exactly(visible(text, "\\u{:04x}") + "\n")


def print_exactly(text: str) -> None:
    """Print text for other programs on standard output: in UTF-8, whatever the terminal's encoding is.

    Half a surrogate pair, which stands for a byte of a file name that is not UTF-8, is written as JSON writes it. Only
    where a person reads it, on a terminal, are control characters made visible.
    """
    text = visible(text) if sys.stdout.isatty() else text
    typer.echo(text.encode("utf-8", errors="backslashreplace"), nl=False)


def _plain(content: Any) -> Any:
    """Return content in the types that JSON has; numpy's numbers and arrays know how."""
    if isinstance(content, dict):
        return {str(name): _plain(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_plain(value) for value in content]
    if hasattr(content, "tolist"):
        return _plain(content.tolist())
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

    def search(self, progress: SearchProgress) -> None:
        """Show how far a search has come."""
        nodes = f"{progress.nodes} nodes, {progress.open} open"
        proven = f"bound {progress.bound:.8g}, value {progress.value:.8g}, gap {progress.gap:.1e}"
        self.begin(f"{progress.seconds:.0f} s: {proven}, {nodes}")
