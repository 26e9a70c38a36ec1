"""A fuzzer that misbehaves in a different way in each case."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from attack.findings import FALSE_CLAIM, Finding, tally

LIMIT = 3.0


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    way = (folder / "way").write_text("") or os.environ.get("WAY") or int(rng.integers(6))
    tally(f"way {way}")
    match way:
        case 1:
            raise ZeroDivisionError("on purpose")
        case 2:
            os._exit(0)
        case 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 4:
            time.sleep(60)
        case 5:
            return [Finding(FALSE_CLAIM, "on purpose")]
    return []
