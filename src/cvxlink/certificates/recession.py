r"""Directions in which a program goes on without end, and along which its objective falls without limit.

*A ray.* A direction d with :math:`Md \in \mathcal{K}` and :math:`c^\top d < 0`: from a feasible point, every point
along it is feasible.

*A curve.* For :math:`\min -\log x` there is no such ray, because the slope tends to zero. Let d have
:math:`Md \in \mathcal{K}` and :math:`c^\top d \le 0`, and let e have :math:`c^\top e < 0` and Me in the closure of
:math:`\mathcal{K} + \mathbb{R}Md`. From a point b inside the cone, for every :math:`h \ge 0`, the point
:math:`b + hMe + \tau Md` is in the cone for τ large enough, because a point inside makes up for the closure. So the
objective falls below :math:`c^\top z_0 - h|c^\top e|` for every h. The same works with several directions, one after
another, each in the cone that the ones before have left.

All conditions are checked row by row, up to rounding in the terms of each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from ..numerics.rounding import UNIT
from ..reductions.cones import Block, unpacked
from .conic_system import INACTIVE, ConicSystem
from .dual_faces import nearest
from .exposed import beyond, null_vectors, products
from .search import Budget, search

# What rounding may leave of a cone that is not linear, relative to its size.
ROUNDING = 1e-14
# The same of the rows of a ray and of a point, relative to the terms that cancel in them.
RAYS, POINTS = 1e-14, 1e-13
# Entries of a direction that may be meant as zero, relative to the largest: where one of them is the root of another,
# solvers leave half of the digits.
SMALL = (1e-6, 1e-3)
# A slope counts if it is this large, relative to its own terms, and so many times what rounding may hide.
FALLS, HIDDEN = 1e-5, 1e10
# Directions whose rows all stay below this lead nowhere.
NOWHERE = 1e-6
# What grows along a direction whose largest entry is 1 must grow this fast: the objective may rise by what rounding
# hides. When it is made exact, a share of the direction must be kept.
GROWS, KEPT = 1e-3, 0.5
# Rows are dependent up to this share; a slope must be so many times what rounding in nearly dependent rows can hide.
DEPENDENT, SAFELY = 1e-15, 100.0
# Larger systems are not decomposed.
LARGEST_DECOMPOSED = 4_000_000
# The tolerances of a second search.
ROUGHLY = 1e-7
# A curve has at most so many directions.
MOST_STEPS = 10
# How far inside the cone a point must be, for rows of unit length.
INSIDE = 1e-7
# How much a point inside is drawn towards the origin.
DRAWN = 1e-6


@dataclass(frozen=True, eq=False)
class Ray:
    """A direction in which a feasible point can move without limit while the objective improves.

    With ``steps``, its slope tends to zero, and the point follows a curve in the direction of the first of them.
    """

    direction: np.ndarray
    slope: float
    rounding: float
    steps: tuple[np.ndarray, ...] = ()


def ray(system: ConicSystem, hint: np.ndarray | None = None) -> Ray | None:
    """Return a checked direction in which the objective falls without limit from a checked point, or None.

    ``hint`` may be such a direction; it is checked first.
    """
    found = falling_direction(system, hint)
    if found is None:
        return None
    off = off_at_a_point(system, needs_room=bool(found.steps))
    return None if off is None else replace(found, rounding=max(found.rounding, off))


def falling_direction(system: ConicSystem, hint: np.ndarray | None = None) -> Ray | None:
    """Return a direction that keeps to the constraints for ever and in which the objective falls, or None."""
    if not system.cost.any():
        return None
    level = replace(system, a=np.zeros_like(system.a), form=None)
    found = None if hint is None else _checked(level, hint)
    steps: list[np.ndarray] = []
    while found is None:
        found = _falling(level)
        if found is None:
            d = _level_direction(level) if len(steps) < MOST_STEPS else None
            if d is None:
                return None
            steps.append(d)
            reduced = beyond(level.blocks, _clean(level.M, d, level.a)[0], GROWS)
            if reduced is None:
                return None
            picks, blocks = reduced
            count = picks.shape[0]
            level = _without_empty_rows(
                ConicSystem(
                    sp.csr_array(picks @ level.M), np.zeros(count), level.cost, blocks, level.units, np.ones(count)
                )
            )
    return replace(found, steps=tuple(steps)) if steps else found


def _without_empty_rows(level: ConicSystem) -> ConicSystem:
    """Return a system without the linear rows 0 ≥ 0 and 0 = 0, which leave a solver no room."""
    kept = np.bincount(sp.coo_array(level.M).row, abs(level.M.data), len(level.a)) > 0
    for block in level.blocks:
        if block.kind not in ("zero", "nonnegative"):
            kept[block.rows] = True
    return level.only(kept)


def _falling(level: ConicSystem) -> Ray | None:
    """Search for the shortest direction with a given slope."""
    size = float(np.linalg.norm(level.cost))
    rows = sp.csr_array(sp.vstack([level.cost[None, :] / size, level.M], format="csr"))
    blocks = [Block("zero", slice(0, 1)), *_moved(level.blocks, 1)]
    offsets = np.append(1.0, level.a)
    found = search(np.zeros(len(level.cost)), rows, offsets, blocks, Budget(), np.ones(len(level.cost)))
    return None if found is None else _checked(level, found.z)


def _checked(level: ConicSystem, d: np.ndarray) -> Ray | None:
    """Return a direction, made exact, as a ray if it is one."""
    size = float(abs(d).max(initial=0.0))
    if not size or not np.isfinite(size):
        return None
    for near in _exact_directions(level, d / size):
        slope = float(level.cost @ near)
        off = misses(level, near, level.a, RAYS)
        is_steep = slope < -max(FALLS, HIDDEN * (off or 0.0)) * float(abs(level.cost) @ abs(near))
        if off is not None and is_steep and not _is_hidden(level, near, slope):
            return Ray(near, slope, max(off, UNIT))
    return None


def _is_hidden(level: ConicSystem, d: np.ndarray, slope: float) -> bool:
    """Whether a direction that meets all rows exactly, and is as near as rounding allows, may have no slope.

    Rows that are nearly parallel fix an unknown by their small difference. A rounding error of ε in them moves the
    directions that meet them by ε/σ, with σ the least singular value of the rows.
    """
    active = sp.csr_array(_active_rows(level, level.M @ d) @ level.M)
    used = np.unique(active.indices[active.data != 0])
    rows = active[:, used]
    if not rows.nnz or rows.shape[0] * len(used) > LARGEST_DECOMPOSED:
        return False
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    values = np.linalg.svd(rows.toarray()[lengths > 0] / lengths[lengths > 0, None], compute_uv=False)
    least = float(values[values > DEPENDENT * values[0]].min())
    moved = UNIT * np.sqrt(len(used)) * float(np.linalg.norm(d)) / least
    return -slope <= SAFELY * moved * float(np.linalg.norm(level.cost))


def _level_direction(level: ConicSystem) -> np.ndarray | None:
    """Return a direction along which the objective does not rise, as far inside the cone as possible, or None."""
    n = len(level.cost)
    size = float(np.linalg.norm(level.cost))
    ball = sp.vstack([sp.csr_array((1, n)), sp.eye_array(n)])
    rows = sp.csr_array(sp.vstack([level.cost[None, :] / size, level.M, ball], format="csr"))
    m = level.M.shape[0]
    blocks = [Block("zero", slice(0, 1)), *_moved(level.blocks, 1), Block("second-order", slice(1 + m, 2 + m + n))]
    offsets = np.concatenate([[0.0], level.a, [1.0], np.zeros(n)])
    cost = -(level.M.T @ level.interior)
    # Most of these have no room at all, where a solver may need looser tolerances and a definite cost.
    found = search(cost, rows, offsets, blocks, Budget()) or search(
        cost, rows, offsets, blocks, Budget(), np.ones(n), tolerance=ROUGHLY
    )
    if found is None or level.interior @ (level.M @ found.z) <= NOWHERE:
        return None
    with_cost = replace(
        level,
        M=sp.csr_array(sp.vstack([level.M, -level.cost[None, :] / size], format="csr")),
        a=np.append(level.a, 0.0),
        blocks=(*level.blocks, Block("nonnegative", slice(m, m + 1))),
    )
    for near in _exact_directions(with_cost, found.z / float(abs(found.z).max())):
        if abs(near).max() >= KEPT and misses(with_cost, near, with_cost.a) is not None:
            return near
    return None


def _moved(blocks: tuple[Block, ...], by: int) -> list[Block]:
    return [replace(block, rows=slice(block.rows.start + by, block.rows.stop + by)) for block in blocks]


# ---------------------------------------------------------------------- points


def off_at_a_point(system: ConicSystem, needs_room: bool = False) -> float | None:
    """Return how far rounding leaves a feasible point outside, or None without such a point.

    If it needs room, it must be inside of all cones that are not linear.
    """
    origin = np.zeros(len(system.cost))
    if not needs_room and misses(system, origin, system.a, POINTS) is not None:
        return UNIT
    z = _point_inside(system)
    if z is None:
        return None
    for near in (exact(system, z, system.a), z):
        off = misses(system, near, system.a, POINTS)
        if off is not None and (not needs_room or _has_room(system, near)):
            return max(off, UNIT)
    return None


def _point_inside(system: ConicSystem) -> np.ndarray | None:
    """Return a point as far inside of the cones as possible, up to 1, and not far away."""
    n, e = len(system.cost), system.interior
    rows = sp.vstack(
        [
            sp.hstack([system.M, sp.csr_array(-e[:, None])]),
            sp.csr_array(([-1.0], ([0], [n])), shape=(1, n + 1)),
        ],
        format="csr",
    )
    m = len(system.a)
    blocks = [*system.blocks, Block("nonnegative", slice(m, m + 1))]
    cost, squares = np.append(np.zeros(n), -1.0), np.append(np.full(n, DRAWN), 0.0)
    found = search(cost, sp.csr_array(rows), np.append(system.a, 1.0), blocks, Budget(), squares)
    return None if found is None else found.z[:n]


def _has_room(system: ConicSystem, z: np.ndarray) -> bool:
    """Whether a point is inside of all cones that are not linear."""
    inner = system.M @ z + system.a - INSIDE * system.interior
    return all(_holds(block, inner[block.rows]) for block in system.blocks if block.kind not in ("zero", "nonnegative"))


# ---------------------------------------------------------------------- what holds up to rounding


def misses(system: ConicSystem, z: np.ndarray, a: np.ndarray, share: float = 0.0) -> float | None:
    """Return what rounding leaves of rows that should vanish, relative to their terms; None if Mz + a is outside.

    Rows vanish if no more is left of them than the rounding of their sum, or than ``share``.
    """
    s, off = _clean(system.M, z, a, share)
    return off if all(_holds(block, s[block.rows]) for block in system.blocks) else None


def _clean(M: sp.csr_array, z: np.ndarray, a: np.ndarray, share: float = 0.0) -> tuple[np.ndarray, float]:
    """Return Mz + a with zeros where all terms cancel up to rounding, and what was left there, relative to them."""
    s, sizes = M @ z + a, abs(M) @ abs(z) + abs(a)
    cancelled = abs(s) <= np.maximum(share, UNIT * (0.5 * np.diff(M.indptr) + 2)) * sizes
    off = float((abs(s) / np.where(sizes > 0, sizes, 1.0))[cancelled].max(initial=0.0))
    return np.where(cancelled, 0.0, s), off


def _holds(block: Block, s: np.ndarray) -> bool:
    """Whether numbers are in a cone, up to rounding where that depends on several of them."""
    if block.kind == "zero":
        return not s.any()
    if block.kind == "nonnegative":
        return bool((s >= 0).all())
    if block.kind == "second-order":
        return bool(s[0] >= np.linalg.norm(s[1:]) * (1 - ROUNDING))
    if block.kind == "semidefinite":
        return _is_semidefinite(unpacked(s, block.order))
    x, y, z = s
    if block.kind == "power":
        return bool(min(x, y) >= 0 and x**block.alpha * y ** (1 - block.alpha) >= abs(z) * (1 - ROUNDING))
    if y > 0:
        return bool(z > 0 and x / y <= np.log(z / y) + ROUNDING)
    return bool(y == 0 and x <= 0 and z >= 0)


def _is_semidefinite(S: np.ndarray) -> bool:
    """Whether a matrix is semidefinite up to rounding, when it is scaled to a diagonal of ones."""
    diagonal = S.diagonal()
    if (diagonal < 0).any() or S[diagonal == 0].any():
        return False
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return bool(np.linalg.eigvalsh(scale[:, None] * S * scale)[0] >= -ROUNDING)


# ---------------------------------------------------------------------- from a solver's answer to an exact one


def _exact_directions(level: ConicSystem, d: np.ndarray) -> Iterator[np.ndarray]:
    """Yield directions near d: with small entries set to zero, with all entries, and d itself."""
    for least in SMALL:
        kept = abs(d) > least
        yield exact(level, np.where(kept, d, 0.0), level.a, kept)
    yield exact(level, d, level.a)
    yield d


def exact(system: ConicSystem, z: np.ndarray, a: np.ndarray, free: np.ndarray | None = None) -> np.ndarray:
    """Return a point near z that satisfies equations and active constraints as exactly as rounding allows.

    Only the unknowns that are free are moved.
    """
    active = _active_rows(system, system.M @ z + a)
    moved = np.arange(len(z)) if free is None else np.flatnonzero(free)
    A, sides = sp.csr_array(active @ system.M), active @ a
    correction, z = nearest(sp.csr_array(A[:, moved])), z.copy()
    for _ in range(3):  # each pass removes most of the rounding of the one before
        z[moved] -= correction(A @ z + sides)
    return z


def _active_rows(system: ConicSystem, s: np.ndarray) -> sp.csr_array:
    """Return which combinations of the rows have to vanish near given values."""
    least = INACTIVE * max(1.0, float(abs(s).max(initial=0.0)))
    parts = [sp.csr_array((0, len(s)))]
    every = sp.eye_array(len(s), format="csr")
    for block in system.blocks:
        part = s[block.rows]
        if block.kind == "semidefinite":
            N = null_vectors(unpacked(part, block.order), least)
            if N.shape[1]:
                parts.append(sp.csr_array(products(N)) @ every[block.rows])
            continue
        if block.kind == "zero":
            small = np.ones(len(part), dtype=bool)
        elif block.kind == "second-order":
            small = np.full(len(part), part[0] <= least)
        else:
            small = abs(part) <= least if block.kind != "nonnegative" else part <= least
        parts.append(every[block.rows.start + np.flatnonzero(small)])
    return sp.csr_array(sp.vstack(parts, format="csr"))
