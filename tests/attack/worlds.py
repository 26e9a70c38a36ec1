"""Places to run a command in: this process, or one of its own with closed streams, strange settings or limits."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from typer.testing import CliRunner

from cvxlink.cli import app

SECONDS = 120.0
ENTRY = "from cvxlink.cli import app; app()"


@dataclass
class Line:
    """A command line, the file it writes, and the one thing in it that is wrong on purpose, if there is one."""

    words: list[str]
    out: Path | None = None
    wrong: tuple[str, ...] = ()
    stdin: bytes | None = None


@dataclass(frozen=True)
class Ended:
    code: int
    stdout: bytes
    stderr: str
    trouble: str = ""
    is_odd: bool = False
    output_is_seen: bool = True


def here(line: Line, folder: Path) -> Ended:
    with contextlib.chdir(folder):
        done = CliRunner().invoke(app, line.words, input=line.stdin or b"", prog_name="cvxlink")
    error = done.exception
    trouble = "" if error is None or isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    return Ended(done.exit_code, done.stdout_bytes, done.stderr, trouble)


@dataclass(frozen=True)
class World:
    """An odd place to run in: what is closed, what the environment says, what is limited."""

    closed: tuple[int, ...] = ()
    environment: dict[str, str | None] = field(default_factory=dict)
    stdout: str = ""
    limits: dict[int, int] = field(default_factory=dict)
    reader_leaves: bool = False


ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
WORLDS = {
    "a plain process": World(),
    "closed standard input": World(closed=(0,)),
    "closed standard output": World(closed=(1,)),
    "closed standard error": World(closed=(2,)),
    "everything closed": World(closed=(0, 1, 2)),
    "LC_ALL=C": World(environment=ASCII),
    "LC_ALL=C and a dumb terminal one column wide": World(environment={**ASCII, "TERM": "dumb", "COLUMNS": "1"}),
    "no HOME": World(environment={"HOME": None, "XDG_CACHE_HOME": None}),
    "a home that is not there": World(environment={"HOME": "/nonexistent", "MPLCONFIGDIR": None}),
    "a full device": World(stdout="/dev/full"),
    "a closed pipe": World(reader_leaves=True),
    "files of no size": World(limits={resource.RLIMIT_FSIZE: 0}),
    "few open files": World(limits={resource.RLIMIT_NOFILE: 40}),
}


def in_process(world: World, line: Line, folder: Path) -> Ended:
    environment = {**os.environ, **{k: v for k, v in world.environment.items() if v is not None}}
    environment = {k: v for k, v in environment.items() if world.environment.get(k, "") is not None}

    def prepare() -> None:
        for limit, most in world.limits.items():
            resource.setrlimit(limit, (most, most))
        for stream in world.closed:
            os.close(stream)

    reading, writing = os.pipe()
    if world.reader_leaves:
        os.close(reading)
    words = [word.encode("utf-8", "surrogateescape") for word in line.words]
    with open(world.stdout, "wb") if world.stdout else os.fdopen(writing, "wb") as stdout:
        process = subprocess.Popen(
            [sys.executable, "-c", ENTRY, *words],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            preexec_fn=prepare,
            start_new_session=True,
        )
    if world.stdout:
        os.close(writing)
    said = b""
    try:
        # What is printed fits into the pipe, or nobody reads it.
        said = process.communicate(line.stdin or b"", timeout=SECONDS)[1]
        printed = b"" if world.reader_leaves else _all_of(reading)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Ended(-1, b"", "", f"no end after {SECONDS:g} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 0)
            os.killpg(process.pid, signal.SIGKILL)
            said += b"\nleft a process behind"
    return Ended(
        process.returncode,
        printed,
        said.decode(errors="replace"),
        is_odd=True,
        output_is_seen=not (world.stdout or world.reader_leaves or set(world.closed) & {1, 2}),
    )


def _all_of(reading: int) -> bytes:
    os.set_blocking(reading, False)
    with os.fdopen(reading, "rb") as file:
        return file.read() or b""
