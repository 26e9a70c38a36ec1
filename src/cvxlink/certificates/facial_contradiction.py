r"""Contradictions that take several steps: facial reduction of constraints :math:`Mz + a \in \mathcal{K}`.

Of :math:`\begin{pmatrix} 0 & 1 \\ 1 & z \end{pmatrix} \succeq 0` there are points that violate it as little as one
likes, so that no single combination of its rows contradicts itself. Two in turn do. Let :math:`w \in \mathcal{K}^*`
have :math:`M^\top w = 0` and :math:`a^\top w = 0`. Every feasible z then has :math:`w^\top(Mz + a) = 0`, so Mz + a is
in :math:`\mathcal{K} \cap w^\perp`. With this smaller cone in the place of :math:`\mathcal{K}` there may be a
contradiction.

Such programs are at the edge: a tiny change of their numbers makes them feasible, with points that are far away. So w
must satisfy its equations without any rounding, which simple numbers can, and the contradiction must be a large one.

References
----------
Borwein & Wolkowicz (1981), Regularizing the abstract convex program, J. Math. Anal. Appl. 83.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..numerics.rounding import dot
from ..reductions.cones import Block
from .alternatives import Alternative, alternative
from .conic_system import ConicSystem
from .dual_faces import balanced
from .exposed import within
from .recession import POINTS, misses
from .search import Budget, dual_cones, search

# At most so many combinations are used, one after another.
MOST_STEPS = 4
# Multipliers that are all smaller lead nowhere.
NOWHERE = 1e-6
# Multipliers are rounded to multiples of 1/GRID of the largest: those of simple programs are.
GRID = 12 * 2**10
# How far multipliers may be moved into the dual cone, which rounding does; on its boundary more is asked for.
INSIDE = 1e-12
# How large a contradiction must be, relative to the sizes of what is added up.
PLAIN = 1e-6


def facial_contradiction(system: ConicSystem, point: np.ndarray | None = None) -> Alternative | None:
    """Return a checked contradiction in several steps, with the sum of all multipliers used, or None.

    ``point`` may satisfy the constraints; only if it does so up to rounding, there is nothing to search for.
    """
    if point is not None and misses(system, point, system.a, POINTS) is not None:
        return None
    total, back = np.zeros(len(system.a)), sp.eye_array(len(system.a), format="csr")
    for _ in range(MOST_STEPS):
        w = _exposing(system)
        if w is None:
            return None
        total = total + abs(back.T @ w)
        reduced = within(system.blocks, w)
        if reduced is None:
            return None
        picks, blocks = reduced
        back = sp.csr_array(picks @ back)
        count = picks.shape[0]
        system = ConicSystem(
            sp.csr_array(picks @ system.M), picks @ system.a, system.cost, blocks, system.units, np.ones(count)
        )
        found = alternative(system)
        if found.is_contradiction and _is_plain(system, found):
            assert found.multipliers is not None
            last = abs(back.T @ found.multipliers)
            return replace(found, multipliers=total + last / last.max(), is_facial=True)
        if found.point is not None and misses(system, found.point, system.a, POINTS) is not None:
            return None
    return None


def has_no_interior(system: ConicSystem) -> bool:
    """Whether it is proven, without any rounding, that no point is strictly inside the cones."""
    w = _exposing(system)
    return w is not None and bool(system.interior @ w > 0)


def _is_plain(system: ConicSystem, found: Alternative) -> bool:
    """Whether a contradiction is large compared with what its multipliers add up."""
    w = found.multipliers
    return w is not None and system.gain(w) >= PLAIN * system.distance * float(abs(w).sum())


def _exposing(system: ConicSystem) -> np.ndarray | None:
    """Return multipliers in the dual cone with Mᵀw = 0 and aᵀw = 0, as far inside as possible; the largest is 1."""
    m, n = system.M.shape
    both = sp.csr_array(sp.hstack([system.M, system.a[:, None]], format="csr"))
    into, cones = dual_cones(system.blocks, np.arange(m), m, n + 2 + m)
    ball = sp.vstack([sp.csr_array((1, m)), sp.eye_array(m)])
    rows = sp.csr_array(sp.vstack([both.T, ball, into], format="csr"))
    offsets = np.zeros(rows.shape[0])
    offsets[n + 1] = 1.0
    blocks = [Block("zero", slice(0, n + 1)), Block("second-order", slice(n + 1, n + 2 + m)), *cones]
    found = search(-system.interior, rows, offsets, blocks, Budget())
    if found is None or system.interior @ found.z <= NOWHERE:
        return None
    w = balanced(replace(system, M=both, form=None), found.z / abs(found.z).max(), is_sparse=True)
    w = np.round(GRID * w / abs(w).max(initial=1e-300)) / GRID
    is_inside = float(abs(system.into_dual(w) - w).max(initial=0.0)) <= INSIDE
    return w if w.any() and is_inside and _vanishes(both, w) else None


def _vanishes(A: sp.csr_array, w: np.ndarray) -> bool:
    """Whether Aᵀw is zero, without any rounding."""
    columns = sp.csc_array(A)
    for start, end in pairwise(columns.indptr):
        found = dot(columns.data[start:end], w[columns.indices[start:end]])
        if found.middle or found.radius:
            return False
    return True
