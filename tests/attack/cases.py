"""One case: which fuzzer, which number, which seed. Nothing else determines what is played."""

from __future__ import annotations

import random
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from attack.findings import RAW_ERROR, TALLY, Finding, told

# How many cases of each fuzzer a full attack plays.
CASES = {
    "programs": 10_000,
    "bounds": 2_000,
    "certificates": 5_000,
    "files": 5_000,
    "command_line": 2_000,
    "calls": 30_000,
    "faults": 200,
}
LONGEST = 600


@dataclass(frozen=True)
class Case:
    """A case of a fuzzer."""

    fuzzer: str
    number: int
    seed: int = 0

    @property
    def key(self) -> str:
        return f"{self.fuzzer}:{self.number}"

    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(self.fuzzer.encode()), self.number])


@dataclass
class Record:
    """What came of a case, as it is stored."""

    case: str
    findings: list[dict[str, str]] = field(default_factory=list)
    tally: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def found(self, kind: str, what: str) -> Record:
        shown = " ".join(what.split())
        self.findings.append(asdict(Finding(kind, shown[:LONGEST] + "…" * (len(shown) > LONGEST))))
        return self


def module_of(fuzzer: str) -> Any:
    """Return the module of a fuzzer: one of this package, or any by its full name."""
    return import_module(fuzzer if "." in fuzzer else f"attack.{fuzzer}")


def play(case: Case, show: Callable[[str], Any] | None = None) -> Record:
    """Play a case in this process. An error that leaves ``attack`` is a finding too."""
    attack = module_of(case.fuzzer).attack
    TALLY.clear()
    random.seed(case.number)
    np.random.seed(case.number % 2**32)
    record, began = Record(case.key), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
        try:
            for finding in attack(case.rng(), Path(folder)):
                record.found(finding.kind, finding.what)
        except Exception as error:
            if show is not None:
                show(traceback.format_exc())
            record.found(RAW_ERROR, f"left the fuzzer: {told(error)}")
    record.tally, record.seconds = dict(TALLY), round(time.perf_counter() - began, 4)
    return record
