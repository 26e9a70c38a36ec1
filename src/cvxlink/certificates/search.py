"""Searches for what a proof needs: Clarabel on the matrices of a program. What they find is checked by the proof."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import clarabel
import numpy as np
import scipy.sparse as sp
import scs

from ..programs.status import DEFAULT_ACCURACY
from ..reductions.cones import KINDS, Block, clarabel_cones, solved_by_clarabel

TOLERANCE = 1e-11
# With such a tolerance, and semidefinite blocks of a larger order, a first-order method takes less time. Its own
# tolerance is larger: what it finds is far from exact in any case.
ROUGH, LARGEST_BLOCK = 1e-6, 25
OF_FIRST_ORDER, MOST_STEPS = 1e-4, 5000
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
    if tolerance >= ROUGH and max(block.order for block in blocks) > LARGEST_BLOCK:
        return _by_first_order(cost, M, a, blocks, budget, squares)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    if np.isfinite(budget.left):
        settings.time_limit = budget.left
    P = sp.csc_matrix((len(cost), len(cost))) if squares is None else sp.csc_matrix(sp.diags_array(squares))
    # Scaled costs: the tolerances are absolute.
    unit = float(abs(cost).max(initial=0.0)) or 1.0
    cones = clarabel_cones(blocks)
    solution = solved_by_clarabel(P / unit, cost / unit, sp.csc_matrix(-M), a, cones, settings)
    if solution is None:
        return None
    z, w = np.asarray(solution.x), unit * np.asarray(solution.z)
    if solution.status not in ANSWERS or not (np.isfinite(z).all() and np.isfinite(w).all()):
        return None
    return Found(z, w)


def _by_first_order(
    cost: np.ndarray,
    M: sp.csr_array,
    a: np.ndarray,
    blocks: Sequence[Block],
    budget: Budget,
    squares: np.ndarray | None,
) -> Found | None:
    """Do the same with SCS, which needs no factorisation of dense blocks."""
    starts = np.cumsum([0, *(block.rows.stop - block.rows.start for block in blocks)])
    sorted_blocks = sorted(zip(blocks, starts, strict=False), key=lambda pair: KINDS.index(pair[0].kind))
    rows = np.concatenate([start + _order_of_scs(block) for block, start in sorted_blocks])
    unit = float(abs(cost).max(initial=0.0)) or 1.0
    data = {"A": sp.csc_matrix(-M[rows]), "b": a[rows], "c": cost / unit}
    if squares is not None:
        data["P"] = sp.csc_matrix(sp.diags_array(squares / unit))
    limit = {"time_limit_secs": budget.left} if np.isfinite(budget.left) else {}
    settings = {
        "eps_abs": OF_FIRST_ORDER,
        "eps_rel": OF_FIRST_ORDER,
        "max_iters": MOST_STEPS,
        "verbose": False,
        **limit,
    }
    answer = scs.SCS(data, _cones_of_scs([block for block, _ in sorted_blocks]), **settings).solve()
    w = np.zeros(len(a))
    w[rows] = unit * answer["y"]
    if answer["info"]["status_val"] not in (1, 2) or not (np.isfinite(answer["x"]).all() and np.isfinite(w).all()):
        return None
    return Found(answer["x"], w)


def _cones_of_scs(blocks: Sequence[Block]) -> dict[str, Any]:
    def counts(kind: str) -> list[int]:
        return [block.rows.stop - block.rows.start for block in blocks if block.kind == kind]

    return {
        "z": sum(counts("zero")),
        "l": sum(counts("nonnegative")),
        "q": counts("second-order"),
        "s": [block.order for block in blocks if block.kind == "semidefinite"],
        "ep": len(counts("exponential")),
        "p": [block.alpha for block in blocks if block.kind == "power"],
    }


def _order_of_scs(block: Block) -> np.ndarray:
    """Return the rows of a cone in the order in which SCS takes them: the lower triangle of a matrix by columns."""
    if block.kind != "semidefinite":
        return np.arange(block.rows.stop - block.rows.start)
    column, row = np.triu_indices(block.order)
    return row * (row + 1) // 2 + column


def dual_cones(blocks: Sequence[Block], rows: np.ndarray, count: int, start: int) -> tuple[sp.csr_array, list[Block]]:
    """Return the matrix and the cones that put multipliers of some of ``count`` rows into the dual cones.

    Of a cone that is not linear, all rows or none are among them. The cones begin at the row ``start``.
    """
    place = np.full(count, -1)
    place[rows] = np.arange(len(rows))
    every = sp.eye_array(len(rows), format="csr")
    matrices, duals = [], []
    for block in blocks:
        own = place[block.rows]
        own = own[own >= 0]
        if block.kind == "zero" or not len(own):
            continue
        part = sp.csr_array(every[own])
        if block.kind == "exponential":  # (u, v, w) is in the dual if (u − v, −u, w) is in the cone
            part = sp.csr_array([[1.0, -1, 0], [-1, 0, 0], [0, 0, 1]]) @ part
        elif block.kind == "power":
            part = sp.diags_array([1 / block.alpha, 1 / (1 - block.alpha), 1.0]) @ part
        matrices.append(part)
        duals.append(Block(block.kind, slice(start, start + len(own)), block.order, block.alpha))
        start += len(own)
    into = sp.csr_array(sp.vstack(matrices, format="csr")) if matrices else sp.csr_array((0, len(rows)))
    return into, duals
