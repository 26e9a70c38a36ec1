"""How a run ended, as its result file tells: by a phase in SDPA's files, by the numbers alone in the others."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from cvxpy import settings

from .cone_program import ConeProgram
from .sdpa import Result

# The phases of SDPA's manual; p is the program in the file, d its dual.
PHASES = {
    "pdOPT": settings.OPTIMAL,
    "pFEAS": settings.OPTIMAL_INACCURATE,
    "dFEAS": settings.OPTIMAL_INACCURATE,
    "pdFEAS": settings.OPTIMAL_INACCURATE,
    "pdINF": settings.INFEASIBLE,
    "pFEAS_dINF": settings.UNBOUNDED,
    "pINF_dFEAS": settings.INFEASIBLE,
    "pUNBD": settings.UNBOUNDED,
    "dUNBD": settings.INFEASIBLE,
}
# In these both points are claimed to satisfy their equations.
BOTH_FEASIBLE = ("pdOPT", "pdFEAS")
# A point that violates the program by more than this is no answer to it.
FITS = 1e-2
# How nearly a point must be a direction that proves there is no answer; the proof itself is made elsewhere.
DIRECTION = 1e-5


@dataclass(frozen=True)
class Outcome:
    """How a run ended: CVXPY's status, the solver's own message, and its iterations, with their limit."""

    status: str
    words: str
    iterations: int | None = None
    most_iterations: float = float("inf")


def outcome_in(text: str) -> Outcome | None:
    """Return the outcome that a result of SDPA states; None where there is none."""
    phase = re.search(r"^phase\.value\s*=\s*(\S+)", text, flags=re.MULTILINE)
    if phase is None:
        return None
    steps, most = (
        re.search(rf"^\s*{name}\s*=\s*(\d{{1,9}})\s*$", text, flags=re.MULTILINE)
        for name in ("Iteration", "maxIteration")
    )
    return Outcome(
        PHASES.get(phase[1], settings.SOLVER_ERROR),
        phase[1],
        int(steps[1]) if steps else None,
        int(most[1]) if most else float("inf"),
    )


def outcome_of(result: Result, program: ConeProgram) -> Outcome | None:
    """Return how the run ended that a result is from; None if its numbers are nothing to this program.

    Files of CSDP and DSDP hold nothing but numbers. These are an answer to be judged if they nearly satisfy the program
    and its dual, and otherwise perhaps a direction that shows that there is no answer.
    """
    stated = outcome_in(result.head)
    if stated is not None:
        return None if stated.words in BOTH_FEASIBLE and off_by(result, program) > FITS else stated
    if off_by(result, program) <= FITS:
        return Outcome(settings.OPTIMAL_INACCURATE, "")
    decrease, increase = -float(program.c @ result.x), -float(program.b @ result.Z)
    if increase > 0:
        kept = max(_largest(program.A.T @ result.Z), _outside(result.Z, program))
        if kept <= DIRECTION * increase:
            return Outcome(settings.INFEASIBLE, "")
    if decrease > 0 and _outside(program.A @ result.x, program) <= DIRECTION * decrease:
        return Outcome(settings.UNBOUNDED, "")
    return None


def off_by(result: Result, program: ConeProgram) -> float:
    """Return by how much a result violates the dual equations or the cones, relative to their coefficients."""
    off = _largest(program.A.T @ result.Z - program.c) / (1 + _largest(program.c))
    slack = program.A @ result.x + program.b
    return max(off, max(_outside(values, program) for values in (slack, result.Z)) / (1 + _largest(program.b)))


def _outside(values: np.ndarray, program: ConeProgram) -> float:
    """Return how far below zero the inequalities and the eigenvalues of the matrices are."""
    least = float(values[: program.linear].min(initial=0.0))
    for start, order in zip(program.starts, program.orders, strict=False):
        block = values[start : start + order**2].reshape(order, order)
        least = min(least, float(np.linalg.eigvalsh(block)[0]))
    return -least


def _largest(values: np.ndarray) -> float:
    return float(abs(values).max(initial=0.0))
