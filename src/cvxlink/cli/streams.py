"""Standard input, output and error as they may be: closed, full, or in an encoding without our symbols."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def prepare() -> None:
    """Make the streams fit for whatever is written to them.

    A closed stream leaves its number to the next file that is opened, and what is printed would go there. A character
    that the encoding lacks is written as its number.
    """
    while True:
        handle = os.open(os.devnull, os.O_RDWR)
        if handle > 2:
            os.close(handle)
            break
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 — for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def abandon_output() -> None:
    """Let what is still to be written to standard output go nowhere, so that Python ends without complaint."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
