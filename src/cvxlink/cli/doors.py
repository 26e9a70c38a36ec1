"""The way in and out of the command line: whatever happens, one sentence and an exit code, never a traceback."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from ..errors import AboutArgument
from . import streams
from .signals import say_interrupted
from .terminal import ExitCode, errors_in_one_sentence, say
from .wording import sentence

# With it, an error in cvxlink itself is shown with its traceback.
TRACEBACK = "CVXLINK_TRACEBACK"
# Typer has its own copy of Click or imports it, depending on its version; its root of errors of usage is this.
UsageError: Any = typer.BadParameter.__mro__[2]


class Doors(TyperGroup):
    """The group of all commands; it ends every one of them with an exit code."""

    def main(self, args: Any = None, prog_name: str | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run a command, and exit."""
        is_alone = extra.pop("standalone_mode", True)

        def run() -> Any:
            return super(Doors, self).main(args, prog_name or "cvxlink", standalone_mode=False, **extra)

        if not is_alone:
            return run()
        sys.exit(_ended(run))


def _ended(run: Callable[[], Any]) -> int:
    """Run a command and return its exit code."""
    streams.prepare()
    try:
        if sys.stdout is None:
            say("cvxlink: standard output is closed; send it to a file, or to /dev/null", style="red")
            return ExitCode.BAD_INPUT
        with warnings.catch_warnings():
            warnings.showwarning = _warned
            return _code(run)
    except OSError:  # standard error cannot be written either, so the exit code has to tell
        return ExitCode.BAD_INPUT


def _code(run: Callable[[], Any]) -> int:
    try:
        with errors_in_one_sentence():
            code = run()
            sys.stdout.flush()
        if code == ExitCode.INTERRUPTED:  # Typer's word for Ctrl-C
            say_interrupted()
        return code if isinstance(code, int) else ExitCode.OK
    except typer.Exit as ended:
        return ended.exit_code
    except SystemExit:  # so Typer and rich end where the reader of the output has seen enough
        streams.abandon_output()
        return ExitCode.OK
    except (KeyboardInterrupt, typer.Abort):
        say_interrupted()
        return ExitCode.INTERRUPTED
    except UsageError as error:
        return _usage(error)
    except OSError:
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        say(f"cvxlink: an error in cvxlink itself: {what}; {TRACEBACK}=1 shows where; please report it", style="red")
        return ExitCode.INTERNAL


def _warned(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Show our own warnings as sentences; those of libraries are about their numbers or versions, and are left out."""
    if issubclass(category, AboutArgument):
        say(f"cvxlink: {sentence(message)}", style="yellow")


def _usage(error: Any) -> int:
    """Say what is wrong with the options, and where they are explained; without any, the help was printed instead."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ != "NoArgsIsHelpError":
        words = error.format_message().strip().rstrip(".")
        help_of = "cvxlink" if context is None else context.command_path
        say(f"cvxlink: {words}; see `{help_of} --help`", style="red")
    return int(error.exit_code)
