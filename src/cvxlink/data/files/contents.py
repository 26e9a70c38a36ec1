"""What files hold, read with limits: no pipe that never ends, no device, no more than fits into memory."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import BinaryIO

from ...errors import CvxlinkError, InvalidFile, InvalidInput

STANDARD_INPUT = "-"
# Read as text, a file takes several times its size in memory.
MOST_BYTES = 2**30
# A pipe here was opened by whoever started this program, as by the shell for <(command), and ends when they do.
OPENED_BEFORE = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def bytes_of(source: str | Path, most: int = MOST_BYTES, error: type[CvxlinkError] = InvalidFile) -> bytes:
    """Return the content of a file, or of standard input if the name is ``-``; raise ``error`` if there is none.

    Only regular files are read, and pipes that were open when the program started. A file with more than ``most``
    bytes is refused before it is read.
    """
    if str(source) == STANDARD_INPUT:
        return _standard_input(most, error)
    path = Path(source)
    require_readable(path, most, error)
    try:
        with path.open("rb") as file:
            return _at_most(file, most, str(path), error)
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror}") from problem


def require_readable(path: Path, most: int = MOST_BYTES, error: type[CvxlinkError] = InvalidFile) -> None:
    """Raise if there is no file, if it is not a regular one, or if it has more than ``most`` bytes."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise _about_path(error, f"there is no file {on_one_line(path)}") from None
    except OSError as problem:
        raise _about_path(error, f"{path} cannot be read: {problem.strerror}") from problem
    except ValueError:
        raise _about_path(error, f"{str(path)!r} is not the name of a file") from None
    if not stat.S_ISREG(found.st_mode) and not str(path).startswith(OPENED_BEFORE):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device, not a file"
        raise _about_path(error, f"{path} cannot be read: it is {kind}")
    if found.st_size > most:
        raise _too_large(error, str(path), most)


def on_one_line(path: Path) -> str:
    """Return a path for a message, also one with ends of lines in its name."""
    return str(path).replace("\n", "\\n").replace("\t", "\\t")


def text_in_utf8(content: bytes, where: str, error: type[CvxlinkError] = InvalidFile) -> str:
    """Return text, with lines that end as in Unix, or raise with the line that is not text in UTF-8."""
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise error(f"{where} is not text in UTF-8 (line {line}); save it in that encoding") from problem
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise error(f"{where} is not text in UTF-8 (line {line} has a zero byte); save it in that encoding")
    return text


def _standard_input(most: int, error: type[CvxlinkError]) -> bytes:
    try:
        return _at_most(sys.stdin.buffer, most, "standard input", error)
    except (AttributeError, ValueError, OSError) as problem:
        if isinstance(problem, CvxlinkError):
            raise
        raise error("standard input cannot be read: it is closed; name a file instead") from problem


def _at_most(file: BinaryIO, most: int, where: str, error: type[CvxlinkError]) -> bytes:
    content = bytearray()
    while part := file.read(2**20):
        content += part
        if len(content) > most:
            raise _too_large(error, where, most)
    return bytes(content)


def _too_large(error: type[CvxlinkError], where: str, most: int) -> CvxlinkError:
    limit = f"{most >> 20} MiB" if most >= 2**20 else f"{most} bytes"
    return error(f"{where} has more than {limit}, which is the most that is read; split it, or leave parts out")


def _about_path(error: type[CvxlinkError], message: str) -> CvxlinkError:
    return InvalidInput(message, "path") if issubclass(error, InvalidInput) else error(message)
