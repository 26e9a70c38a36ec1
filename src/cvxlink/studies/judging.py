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
# By how much a value may miss the optimum because of rounding, relative to 1 + |optimum|.
ROUNDING = 1e-8
# A solver that stops itself at its limit of time stops a little before it.
NEARLY = 0.9
OPTIMAL = Status.OPTIMAL.name
VERDICTS = (Status.INFEASIBLE.name, Status.UNBOUNDED.name)


class Outcome(StrEnum):
    """The ways in which a cell can end; all but the first are failures."""

    PROVEN = "proven"
    REFUTED = "refuted"  # certified, and at odds with the proven optimum: a mistake in this package or in the library
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


STOPPED = {"time": Outcome.TIME, "memory": Outcome.MEMORY, "crash": Outcome.CRASH}


def outcome(record: Mapping[str, Any], accuracy: float | None = None) -> Outcome:
    """Return what came of a cell of a study of solvers, judged at an accuracy; by default the one asked for.

    A solver is wrong only where it missed the accuracy that it was asked for. At a finer one it has claimed nothing.
    """
    wanted = record["accuracy"] if accuracy is None else accuracy
    if contradiction(record):
        return Outcome.REFUTED
    if record.get("verdict_is_proven") or _is_within(record, wanted):
        return Outcome.PROVEN
    if record.get("refused"):
        return Outcome.NO_LICENCE if record["refused"] == "licence" else Outcome.REFUSED
    stopped = _stopped(record)
    if stopped is not None:
        return stopped
    status, claimed = record.get("status"), record.get("claimed")
    if record.get("value") is None and (claimed in VERDICTS or (record.get("outside") and claimed)):
        return Outcome.NO_BOUND
    if record.get("value") is None or (status == Status.ERROR.name and claimed != OPTIMAL):
        return Outcome.ERROR
    if record.get("gap") is None or status == Status.UNPROVEN.name:
        return Outcome.NO_BOUND
    missed = claimed == OPTIMAL and not _is_within(record, record["accuracy"])
    return Outcome.WRONG if missed else Outcome.INACCURATE


def contradiction(record: Mapping[str, Any]) -> str:
    """Return how what is certified disagrees with the proven optimum of the library, or an empty string.

    An answer that is proven to some accuracy may be so far from the optimum, and as far as the optimum is uncertain.
    A program with an optimum is neither infeasible nor unbounded.
    """
    reference = record.get("reference")
    if not reference:
        return ""
    optimum = reference["value"]
    if record.get("verdict_is_proven"):
        return f"certified as {str(record['status']).lower()}, but its optimum is {optimum:.10g}"
    proven, value = record.get("proven_to"), record.get("value")
    if proven is None or value is None:
        return ""
    off = abs(value - optimum) / (1 + max(abs(value), abs(optimum)))
    if off <= proven + reference["tolerance"] + ROUNDING:
        return ""
    return f"{value:.10g} is certified to {proven:.1g}, but the optimum is {optimum:.10g}, which is {off:.1g} away"


def _is_within(record: Mapping[str, Any], accuracy: float) -> bool:
    proven = record.get("proven_to")
    return proven is not None and proven <= accuracy


def _stopped(record: Mapping[str, Any]) -> Outcome | None:
    """Return which limit ended a cell: from outside, or in the solver, which has the same limit of time."""
    stopped_by = record.get("stopped_by") or ""
    if stopped_by in STOPPED:
        return STOPPED[stopped_by]
    if record.get("status") != Status.LIMIT.name:
        return None
    limit = record.get("time_limit")
    is_late = limit is not None and (record.get("seconds") or 0.0) >= NEARLY * limit
    return Outcome.TIME if is_late else Outcome.ITERATIONS


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
