"""A fuzzer that misbehaves in a different way in each case."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from attack.findings import FALSE_CLAIM, Finding, tally

LIMIT = 5.0
WAYS = ("well", "raise", "exit", "crash", "hang", "find")


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    way = WAYS[int(rng.integers(len(WAYS)))]
    tally(way)
    match way:
        case "raise":
            raise ZeroDivisionError("on purpose")
        case "exit":
            os._exit(0)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(600)
        case "find":
            return [Finding(FALSE_CLAIM, "on purpose")]
    return []
