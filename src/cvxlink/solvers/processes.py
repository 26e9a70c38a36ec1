"""Processes of the system: who descends from whom, how much memory they hold, how they ended, and ending them all."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from ..errors import CvxlinkError

try:
    import resource
except ImportError:  # Windows does not count what a process has used
    resource = None  # type: ignore[assignment]

# What Linux calls these requests (linux/prctl.h).
SET_PARENT_DEATH_SIGNAL, SET_CHILD_SUBREAPER = 1, 36
# Processes that are killed are gone within microseconds; this only guards against one that the system cannot end.
MOST_SECONDS_TO_END = 5.0
# The bytes of output that are kept from its beginning, and as many from its end.
KEPT_OUTPUT = 32_768
# How often to look whether an executable has ended, and whether it prints again after it has closed its output.
LISTEN_SECONDS, PAUSE_SECONDS = 0.02, 0.005
CHUNK = 1 << 20
_LIBC = ctypes.CDLL(None) if sys.platform != "win32" else None


@dataclass(frozen=True)
class Process:
    """A process: its parent, its group, whether it has ended but was not waited for, and its bytes of memory."""

    parent: int
    group: int
    has_ended: bool
    memory: float


class CappedOutput:
    """What a program prints, of which only the beginning and the end are kept."""

    def __init__(self) -> None:
        self._head, self._tail, self._length = bytearray(), bytearray(), 0

    def add(self, printed: bytes) -> None:
        """Add what it printed next."""
        self._length += len(printed)
        room = KEPT_OUTPUT - len(self._head)
        self._head += printed[:room]
        self._tail += printed[room:]
        del self._tail[:-KEPT_OUTPUT]

    @property
    def text(self) -> str:
        """The text, with a line that says how much is left out."""
        left_out = self._length - len(self._head) - len(self._tail)
        gap = f"\n… ({left_out} bytes are left out) …\n".encode() if left_out else b""
        return (self._head + gap + self._tail).decode(errors="replace")

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        *_, last = ["", *self.text.strip().splitlines()]
        return last.strip()


def own_peak_in_megabytes() -> float | None:
    """Return the most memory that this process has used since it began; None where the system does not say."""
    if resource is None:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e3 if sys.platform == "linux" else 1e6)


def end_with_parent() -> None:
    """Ask Linux to kill this process when its parent ends, so that no process is left behind."""
    if sys.platform == "linux" and _LIBC is not None:
        _LIBC.prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def adopt_orphans() -> None:
    """Ask Linux to make this process the parent of descendants whose parent ends, so that none can slip away."""
    if sys.platform == "linux" and _LIBC is not None:
        _LIBC.prctl(SET_CHILD_SUBREAPER, 1)


def flush_c_streams() -> None:
    """Write out what libraries have printed but C's buffers still hold."""
    if _LIBC is not None:
        _LIBC.fflush(None)


def processes() -> dict[int, Process]:
    """Return all processes by number; none where the system has no /proc."""
    found, page = {}, os.sysconf("SC_PAGE_SIZE")
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if not name.isdigit():
            continue
        with suppress(OSError, IndexError):  # it has ended meanwhile
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rsplit(b")", 1)[1].split()
            state, parent, group = fields[0], int(fields[1]), int(fields[2])
            found[int(name)] = Process(parent, group, state in (b"Z", b"X"), float(int(fields[21]) * page))
    return found


def descendants(root: int, among: dict[int, Process] | None = None) -> list[int]:
    """Return the processes that a process started, those that these started, and so on."""
    among, found, new = processes() if among is None else among, list[int](), [root]
    children: dict[int, list[int]] = {}
    for number, process in among.items():
        children.setdefault(process.parent, []).append(number)
    while new:
        new = [child for parent in new for child in children.get(parent, ())]
        found += new
    return found


def end_descendants(spare: Collection[int] = ()) -> None:
    """Kill all processes that descend from this one, except some children and what descends from them.

    They cannot escape a process that adopts orphans. Unless some are spared, they are waited for as well.
    """
    until = monotonic() + MOST_SECONDS_TO_END
    while monotonic() < until:
        if (
            not spare and not _has_children()
        ):  # looking through all processes takes milliseconds, on a busy machine many
            return
        among = {number: process for number, process in processes().items() if number not in spare}
        alive = [number for number in descendants(os.getpid(), among) if not among[number].has_ended]
        send_signal(alive, signal.SIGKILL)
        if not alive:
            return
        sleep(0.001)


def _has_children() -> bool:
    """Wait for children that have ended, and return whether there are others; without any there are no descendants."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def send_signal(numbers: Iterable[int], which: int) -> None:
    """Send a signal to processes; those that have ended are passed over."""
    for number in numbers:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(number, which)


def memory_of_descendants(root: int) -> float:
    """Return the bytes of memory that the descendants of a process hold."""
    among = processes()
    return sum(among[number].memory for number in descendants(root, among))


def memory_of(process: int) -> float:
    """Return the bytes of memory that a process holds; 0 if it has ended."""
    with suppress(OSError, IndexError), open(f"/proc/{process}/statm", "rb") as file:
        return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    return 0.0


def signal_name(number: int) -> str:
    """Return the name of a signal, or its number if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def how_it_ended(code: int) -> str:
    """Return an exit code in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    killed = " (from outside: by a user, or by the system when memory ran out)" if code == -signal.SIGKILL else ""
    return f"was ended by signal {signal_name(-code)}{killed}"


def run_executable(
    command: list[str],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = float("inf"),
) -> tuple[int, str]:
    """Run an executable; return its exit code and what it printed, or raise if it cannot be run.

    Listening ends with the executable, not with the last process that holds its output: a daemon would never let go.
    """
    try:
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            preexec_fn=end_with_parent,
            start_new_session=True,
        )
    except OSError as error:
        raise CvxlinkError(f"{command[0]} cannot be run: {error.strerror}") from error
    assert child.stdout is not None
    output, printed, until = child.stdout.fileno(), CappedOutput(), monotonic() + seconds
    os.set_blocking(output, False)
    try:
        with child.stdout:
            while True:
                has_ended = child.poll() is not None or monotonic() > until
                select.select([output], [], [], 0.0 if has_ended else LISTEN_SECONDS)
                part = _available(output)
                printed.add(part)
                if has_ended:
                    return child.wait() if child.poll() is not None else -signal.SIGKILL, printed.text
                if not part:
                    sleep(PAUSE_SECONDS)  # it has closed its output, and goes on
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _available(output: int) -> bytes:
    """Return what can be read at once."""
    try:
        return os.read(output, CHUNK)
    except BlockingIOError:
        return b""
