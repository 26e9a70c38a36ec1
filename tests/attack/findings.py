"""What an attack reports. A fuzzer is a module of this package with one function, ``attack``.

``attack(rng, folder)`` plays one case, which depends on nothing but the random numbers it draws from ``rng``, in an
empty ``folder``. It returns what it found: an empty list if every promise held.

A fuzzer may count what was claimed with :func:`tally`, so that one that tests nothing can be seen, and say what it is
doing with :func:`note`, which is shown when a case is played again. ``LIMIT`` in its module is the number of seconds
after which a case counts as hanging, if :data:`attack.runner.LIMIT` does not suit it.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

FALSE_CLAIM = "false claim"  # a status, bound or proof that an independent computation refutes
RAW_ERROR = "raw error"  # a traceback, or an error that is not one of cvxlink's
UNCLEAR = "unclear message"  # an error of cvxlink's that does not name the argument or file it is about
HANG = "hang"
ORPHAN = "orphan"  # a process or a temporary file that is left behind
LOST = "lost"  # a file that was destroyed or is only partly written
LEAK = "leak"  # code that ran from a file, or memory beyond the limit


@dataclass(frozen=True)
class Finding:
    """A promise that was broken: which kind, and what reproduces it, in one line."""

    kind: str
    what: str


def told(error: BaseException) -> str:
    """Return what an error is, where it was raised, and what it says, in one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"


TALLY: Counter[str] = Counter()


def tally(outcome: str, count: int = 1) -> None:
    """Count what was claimed in the case that is being played: "OPTIMAL", "refused", …"""
    TALLY[outcome] += count


def note(text: object) -> None:
    """Say what is being done; shown by ``--replay``."""
    logging.getLogger("attack").debug("%s", text)
