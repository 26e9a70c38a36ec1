"""Searches for what a proof needs: Clarabel on the matrices of a program. What they find is checked by the proof."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

import clarabel
import numpy as np
import scipy.sparse as sp

from ..programs.status import DEFAULT_ACCURACY
from ..reductions.cones import Block, clarabel_cones

TOLERANCE = 1e-11
# A search that is not worth starting.
LEAST_SECONDS = 1e-3
ANSWERS = (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved, clarabel.SolverStatus.InsufficientProgress)


class Attained(NamedTuple):
    """The value of an exactly feasible point, or None and what is missing; ``has_room`` is False for a certain kind.

    Where no point is strictly inside the constraints, the least violation can be worth anything. ``point`` is then the
    best one on the faces of the cones, if that was computed.
    """

    value: float | None
    missing: str = ""
    has_room: bool = True
    point: dict[str, np.ndarray] | None = None


class Budget:
    """The seconds that searches for a proof may take, and the accuracy that it is for.

    Without a number they may take as long as they need. ``conic`` are multipliers that a search would look for, and
    ``reached`` a feasible point, if they are known already.
    """

    def __init__(
        self,
        seconds: float | None = None,
        accuracy: float = DEFAULT_ACCURACY,
        conic: np.ndarray | None = None,
        reached: Attained | None = None,
    ) -> None:
        self.ends = np.inf if seconds is None else perf_counter() + seconds
        self.accuracy, self.conic, self.reached = accuracy, conic, reached

    @property
    def is_unlimited(self) -> bool:
        """Whether searches may take as long as they need."""
        return np.isinf(self.ends)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.ends - perf_counter()

    @property
    def is_spent(self) -> bool:
        """Whether nothing more should be started."""
        return self.left < LEAST_SECONDS


class Found(NamedTuple):
    """Unknowns and multipliers of a search."""

    z: np.ndarray
    w: np.ndarray


def search(
    cost: np.ndarray,
    M: sp.csr_array,
    a: np.ndarray,
    blocks: Sequence[Block],
    budget: Budget,
    squares: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
) -> Found | None:
    """Minimise cᵀz + ½ Σ squares·z² over Mz + a in cones, as accurately as possible; None without an answer in time."""
    if budget.is_spent or not len(a):
        return None
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    if np.isfinite(budget.left):
        settings.time_limit = budget.left
    P = sp.csc_matrix((len(cost), len(cost))) if squares is None else sp.csc_matrix(sp.diags_array(squares))
    # Scaled costs: the tolerances are absolute.
    unit = max(float(abs(cost).max(initial=0.0)), 1e-300)
    cones = clarabel_cones(blocks)
    solution = clarabel.DefaultSolver(P / unit, cost / unit, sp.csc_matrix(-M), a, cones, settings).solve()
    z, w = np.asarray(solution.x), unit * np.asarray(solution.z)
    if solution.status not in ANSWERS or not (np.isfinite(z).all() and np.isfinite(w).all()):
        return None
    return Found(z, w)
