"""A better answer where that of the solver is not good enough: small programs are solved anew on faces of their cones.

Without a strictly feasible point, a solver stalls, or its answer is off by more than its violations say. The search for
a certificate finds the faces that contain all feasible points; on these there is room, and the answer is accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..certificates import Certificate, best_answer, certify_program
from ..programs.base import Program

# Finding a better answer may take this many seconds, if there is no proof for the one that was found.
LEAST_SECONDS = 4.0
WORDS = "its answer was replaced by a more accurate one, which was computed for the certificate"


class Repaired(NamedTuple):
    """An answer with its certificate."""

    values: dict[str, np.ndarray]
    certificate: Certificate


def repaired(
    program: Program,
    values: Mapping[str, Any],
    duals: Mapping[str, Any],
    known: Certificate | None,
    is_proven: Callable[[Certificate], bool],
    seconds: float | None = None,
    accuracy: float | None = None,
    conic: np.ndarray | None = None,
) -> Repaired | None:
    """Return an answer that is proven, or None if the one that is known is as good, or if nothing better is found.

    ``known`` is the certificate of the answer of a solver, if it had any.
    """
    better = None if known is None else known.better
    if better is None and known is not None and is_proven(known):
        return None
    if better is None:
        better = best_answer(program, values, None if seconds is None else max(seconds, LEAST_SECONDS))
    if better is None or better.point is None:
        return None
    certificate = certify_program(program, better.point, duals, seconds, accuracy, conic, better)
    return Repaired(better.point, certificate) if is_proven(certificate) else None
