"""Wrong calls: a valid call of a public callable with one or two arguments replaced by values from a catalogue.

A call may return, because some wrong values are right for some arguments, or raise one of cvxlink's errors, in one
sentence that names an argument it was given wrong. Everything else is a finding.
"""

from __future__ import annotations

import re
import resource
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from types import FrameType
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import cvxlink as cl
from attack.doors import Door, doors, visiting
from attack.findings import HANG, LEAK, RAW_ERROR, UNCLEAR, Finding
from attack.wrong_values import CATALOGUE

# A call that takes longer than this should have been refused. A call may wait for other processes on a busy machine, so
# it has to compute for some time as well.
LONGEST, LEAST_WORK = 10.0, 5.0
# It is interrupted after this.
PATIENCE = 30
# More than this, on eight points, should have been refused before it was asked for.
MOST_MEMORY = 3 << 30
LONGEST_MESSAGE = 1000

# Errors that are about the outcome, not about an argument: the arguments may be right one by one.
OUTCOMES = (
    cl.InconsistentLinks,
    cl.InfeasibleProblem,
    cl.InvalidProblem,
    cl.ReductionRefused,
    cl.SolveFailed,
    cl.InvalidFile,
    cl.DataUnavailable,
    cl.MissingDependency,
)
# Errors of others that are part of a documented protocol: scikit-learn's tests demand its own words for its own checks.
DOCUMENTED: dict[str, tuple[type[Exception], ...]] = {
    "ConstrainedClustering": (ValueError, TypeError, NotFittedError),
}
# A formulation hands its variables on to terms, which call them by names of their own; a Laplacian is a graph; values
# that fit one problem do not fit another.
ALSO_CALLED = {
    "A": ("F", "K"),
    "L": ("graph",),
    "M": ("K",),
    "X": ("K", "points"),
    "Z": ("K", "X"),
    "s": ("slack",),
    "f": ("F",),
    "problem": ("values",),
    "values": ("mu",),
}
# Functions that are called with results; an error that they raise ends the call, as documented.
CALLBACKS = ("progress", "only", "tell")
# Not wrong at all, and documented to take a second or two for every installed solver.
RIGHT_AND_SLOW = {("solvers", "check", "True"), ("solvers", "check", "np.True_")}
# Between the key and the name of a value in a mapping.
INSIDE = " → "


class _TooLong(BaseException):
    """A call was interrupted."""


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    """Play one wrong call."""
    everything = doors()
    door = everything[rng.integers(len(everything))]
    count = 2 if len(door.parameters) > 1 and rng.random() < 0.1 else 1
    names = [str(name) for name in rng.choice(list(door.parameters), count, replace=False)]
    wrong = [list(CATALOGUE)[rng.integers(len(CATALOGUE))] for _ in names]
    if any((door.name, name, value) in RIGHT_AND_SLOW for name, value in zip(names, wrong, strict=True)):
        return []
    for k, name in enumerate(names):  # one value in a mapping, half of the time
        inside = door.valid.get(name)
        if isinstance(inside, Mapping) and inside and rng.random() < 0.5:
            wrong[k] = f"{list(inside)[rng.integers(len(inside))]}{INSIDE}{wrong[k]}"
    return played(door, dict(zip(names, wrong, strict=True)), folder)


def played(door: Door, wrong: dict[str, str], folder: Path) -> list[Finding]:
    """Call a door with wrong values, which are named as in the catalogue, with a key before those in a mapping."""
    said = f"{door.name}({', '.join(f'{name}={value}' for name, value in wrong.items())})"
    arguments = {**door.valid, **{name: _made(door.valid.get(name), value) for name, value in wrong.items()}}
    began, worked, found = perf_counter(), process_time(), []
    with visiting(folder), _limited():
        try:
            outcome = _read_through(door.call(**arguments))
        except _TooLong:
            outcome, worked = None, -LEAST_WORK
        except Exception as error:
            outcome = error
    seconds = perf_counter() - began
    if seconds > LONGEST and process_time() - worked > LEAST_WORK:
        found.append(Finding(HANG, f"{said}: {seconds:.0f} s"))
    called_back = any(name in CALLBACKS and callable(arguments[name]) for name in wrong)
    if isinstance(outcome, Exception) and not called_back:
        found += [Finding(kind, f"{said}: {what}") for kind, what in _faults(outcome, door, list(wrong))]
    return found


def _made(valid: Any, value: str) -> Any:
    key, inside, named = value.rpartition(INSIDE)
    return {**valid, key: CATALOGUE[named]()} if inside else CATALOGUE[named]()


def _read_through(result: Any) -> None:
    """Run what a call returned as an iterator, because a generator checks nothing before it is asked."""
    if isinstance(result, Iterator):
        for _ in result:
            pass


def _faults(error: Exception, door: Door, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with an error."""
    shown = f"{type(error).__name__}: {_shown(error)}"
    if isinstance(error, MemoryError):
        yield LEAK, shown
    elif not isinstance(error, cl.CvxlinkError):
        if isinstance(error, DOCUMENTED.get(door.name.split(".")[0], ())) and not isinstance(error, UnicodeError):
            return
        yield RAW_ERROR, f"{shown} [{_place(error)}]"
    else:
        message = str(error)
        if len(message) > LONGEST_MESSAGE:
            yield UNCLEAR, f"a message of {len(message)} characters: {message[:100]}"
        elif not message.isprintable():
            yield UNCLEAR, f"a message with characters that cannot be printed: {message!r:.200}"
        elif not isinstance(error, OUTCOMES) and not any(_is_named(name, error) for name in names):
            yield UNCLEAR, f"about {error.argument}: {shown}"


def _is_named(name: str, error: cl.CvxlinkError) -> bool:
    known = (name, *ALSO_CALLED.get(name, ()))
    return error.argument in known or any(re.search(rf"\b{re.escape(word)}\b", str(error)) for word in known)


def _shown(error: Exception) -> str:
    try:
        return f"{str(error)[:200]!a}"
    except Exception:  # some errors show an object that cannot be shown
        return "an error that cannot be shown"


def _place(error: Exception) -> str:
    """Return the last line of the package that an error passed through."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if f"{cl.__name__}/" in file:
            place = f"{file.split(f'{cl.__name__}/')[-1]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


@contextmanager
def _limited() -> Iterator[None]:
    """Interrupt what takes too long, and fail what takes too much memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + MOST_MEMORY if hard == resource.RLIM_INFINITY else min(used + MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, _interrupt) if in_main else None
    if in_main:
        signal.alarm(PATIENCE)
    try:
        yield
    finally:
        if in_main:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise _TooLong
