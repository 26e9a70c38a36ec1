"""What came of a cell: the certificate decides, at any accuracy, never what the solver says."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ..certificates.certificate import Certificate
from ..engine.judging import is_proven
from ..engine.solution import Solution
from ..programs.status import Status

# Accuracies between which the best proven one is looked for.
FINEST, COARSEST = 1e-14, 0.5
STEPS = 60


class Outcome(StrEnum):
    """The ways in which a cell can end; all but the first are failures."""

    PROVEN = "proven"
    WRONG = "wrong"  # claimed optimal, certified not
    INACCURATE = "inaccurate"  # not claimed either
    NO_BOUND = "no bound"
    TIME = "time limit"
    MEMORY = "memory limit"
    ITERATIONS = "iteration limit"
    CRASH = "crash"
    REFUSED = "refused"
    NO_LICENCE = "no licence"
    ERROR = "error"

    @property
    def is_success(self) -> bool:
        """Whether it counts as solved."""
        return self is Outcome.PROVEN


def outcome(record: Mapping[str, Any], accuracy: float | None = None) -> Outcome:
    """Return what came of a cell of a study of solvers, judged at an accuracy; by default the one asked for."""
    wanted = record["accuracy"] if accuracy is None else accuracy
    proven_to = record.get("proven_to")
    if record.get("verdict_is_proven") or (proven_to is not None and proven_to <= wanted):
        return Outcome.PROVEN
    if record.get("refused"):
        return Outcome.NO_LICENCE if record["refused"] == "licence" else Outcome.REFUSED
    stopped = {"time": Outcome.TIME, "memory": Outcome.MEMORY, "crash": Outcome.CRASH}.get(
        record.get("stopped_by") or ""
    )
    if stopped is not None:
        return stopped
    status, claimed = record.get("status"), record.get("claimed")
    if status == Status.LIMIT.name:
        return Outcome.ITERATIONS
    if record.get("value") is None or (status == Status.ERROR.name and claimed != Status.OPTIMAL.name):
        return Outcome.ERROR
    if record.get("gap") is None:
        return Outcome.NO_BOUND
    return Outcome.WRONG if claimed == Status.OPTIMAL.name else Outcome.INACCURATE


def proven_to(solution: Solution) -> float | None:
    """Return the finest accuracy to which the certificate proves an answer, or None if to none."""
    certificate = solution.certificate
    if certificate is None or not is_proven(certificate, COARSEST):
        return None
    return _finest(certificate)


def _finest(certificate: Certificate) -> float:
    """Bisect on a logarithmic scale: what is proven to an accuracy is proven to every coarser one."""
    fine, coarse = FINEST, COARSEST
    if is_proven(certificate, fine):
        return fine
    for _ in range(STEPS):
        middle = (fine * coarse) ** 0.5
        fine, coarse = (fine, middle) if is_proven(certificate, middle) else (middle, coarse)
    return coarse
