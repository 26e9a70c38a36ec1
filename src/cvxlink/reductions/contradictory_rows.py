"""Which rows contradict one another once points are merged: a set of which none can be left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ..errors import InfeasibleProblem
from ..programs.linear_sdp import Rows
from .faces import face_of

# Larger systems are merged too slowly to be merged many times.
MOST_ROWS = 3000
LARGEST_ORDER = 300


def contradictory_rows(rows: Sequence[Rows], n: int) -> list[tuple[int, int]] | None:
    """Return groups and places of rows that contradict one another, none of which can be left out; None if unknown."""
    every = [(k, place) for k, group in enumerate(rows) for place in range(len(group))]
    if len(every) > MOST_ROWS or n > LARGEST_ORDER or not _contradict(rows, n, every):
        return None
    kept, waiting, at_once = every, list(every), max(1, len(every) // 2)
    while waiting:
        tried = set(waiting[:at_once])
        without = [row for row in kept if row not in tried]
        if _contradict(rows, n, without):
            kept, waiting = without, waiting[at_once:]
        elif at_once > 1:
            at_once //= 2
            continue
        else:
            waiting = waiting[1:]
        at_once = max(1, min(2 * at_once, len(waiting) // 2))
    return kept


def _contradict(rows: Sequence[Rows], n: int, kept: list[tuple[int, int]]) -> bool:
    chosen = []
    for k, group in enumerate(rows):
        own = np.array([place for number, place in kept if number == k], dtype=int)
        if len(own):
            chosen.append(Rows(group.name, sp.csr_array(group.A[own]), group.b[own], group.sense))
    try:
        face_of(chosen, n)
    except InfeasibleProblem:
        return True
    return False
