r"""Either a program has a feasible point, or its constraints contradict one another: one search for both.

For the constraints :math:`Mz + a \in \mathcal{K}` and any :math:`\delta > 0`, consider

.. math:: v = \min_w \|M^\top w\| \quad\text{s.t.}\quad a^\top w = -\delta,\ w \in \mathcal{K}^*.

If v = 0, then w is a contradiction by Farkas: a feasible z would give :math:`0 \le w^\top(Mz + a) = -\delta`. If v > 0,
then the optimality conditions say that :math:`z = \delta M^\top w / v^2` is feasible, and it is the feasible point
nearest to the origin. A solver finds w up to its tolerances; here either outcome is checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..reductions.cones import Block, outside
from .conic_system import ConicSystem
from .dual_faces import balanced
from .exact_slopes import excluded_exactly
from .intervals import intervals_of
from .recession import exact
from .search import Budget, dual_cones, search

# A contradiction must exclude all points up to this many times the distance of the constraints from the origin.
ASTRONOMICAL = 1e10
# How exactly a feasible point must satisfy the constraints, and how far away it may be, relative to their distance.
FEASIBLE = 1e-6
EXACTLY = 1e-12
FARTHEST = 1e7
# Unknowns of larger programs are not limited: it would take longer than the rest.
LARGEST_LIMITED = 1000
# An objective that limits nothing.
ANY_VALUE = 1e300


@dataclass(frozen=True, eq=False)
class Alternative:
    """What was found: multipliers that exclude all points up to a size, or a point that satisfies the constraints.

    A contradiction that is exact needs no multipliers; one that is facial takes several steps, and has the sums of
    their multipliers.
    """

    multipliers: np.ndarray | None = None
    excluded: float = 0.0
    point: np.ndarray | None = None
    distance: float = 0.0
    is_exact: bool = False
    is_facial: bool = False

    @property
    def is_contradiction(self) -> bool:
        """Whether no point satisfies the constraints."""
        if self.is_exact or self.is_facial:
            return True
        return self.multipliers is not None and self.excluded >= ASTRONOMICAL * self.distance

    @property
    def is_feasible(self) -> bool:
        """Whether a point satisfies the constraints."""
        return self.point is not None


def alternative(system: ConicSystem) -> Alternative:
    """Return a checked contradiction, a checked point, or what is known if the search finds neither."""
    origin = np.zeros(system.M.shape[1])
    if not len(system.a) or violation(system, origin) == 0:
        return Alternative(point=origin, distance=system.distance)
    w = _least_slope(system)
    found = Alternative(distance=system.distance) if w is None else contradiction_at(system, w)
    if w is not None and not found.is_contradiction:
        found = _or_a_point(system, found, w)
    return found if found.is_contradiction or found.is_feasible else _by_least_violation(system, found)


def decided(system: ConicSystem) -> Alternative:
    """Return the same, and look twice for a contradiction where the point satisfies the constraints only nearly."""
    found = alternative(system)
    if found.point is None or violation(system, found.point) <= EXACTLY * system.distance:
        return found
    other = _by_least_violation(system, found)
    return other if other.is_contradiction else found


def contradiction_at(system: ConicSystem, w: np.ndarray) -> Alternative:
    """Return what multipliers exclude, whoever found them, or others near them that exclude more."""
    best, far = np.zeros(len(w)), 0.0
    for near in _near(system, w):
        excludes = excluded(system, near)
        if excludes < ASTRONOMICAL * system.distance:
            excludes = max(excludes, excluded_exactly(system, near))
        if excludes > far:
            best, far = near, excludes
        if far >= ASTRONOMICAL * system.distance:
            break
    return Alternative(best, far, distance=system.distance)


def _near(system: ConicSystem, w: np.ndarray) -> Iterator[np.ndarray]:
    """Yield multipliers in the dual cone near given ones, with less and less slope."""
    yield balanced(system, w, is_sparse=True)
    yield balanced(system, w)
    yield system.into_dual(w)


def _least_slope(system: ConicSystem) -> np.ndarray | None:
    """Return multipliers w in the dual cone with aᵀw = −distance and the least ‖Mᵀw‖, up to a solver's tolerances."""
    m, n = system.M.shape
    into, cones = dual_cones(system.blocks, np.arange(m), m, 1 + 1 + n)
    # Unknowns: the multipliers, and the length of the slope that is left.
    side = sp.csr_array(np.append(system.a, 0.0)[None, :])
    length = sp.csr_array(([1.0], ([0], [m])), shape=(1, m + 1))
    slope = sp.hstack([system.M.T, sp.csr_array((n, 1))])
    rows = sp.vstack([side, length, slope, sp.hstack([into, sp.csr_array((into.shape[0], 1))])], format="csr")
    offsets = np.zeros(rows.shape[0])
    offsets[0] = system.distance
    blocks = [Block("zero", slice(0, 1)), Block("second-order", slice(1, 2 + n)), *cones]
    found = search(np.append(np.zeros(m), 1.0), sp.csr_array(rows), offsets, blocks, Budget())
    return None if found is None else found.z[:m]


def _or_a_point(system: ConicSystem, found: Alternative, w: np.ndarray) -> Alternative:
    """Return the feasible point that belongs to multipliers, if it is one."""
    slope = system.M.T @ w
    size = float(np.linalg.norm(slope))
    if not size or system.distance / size > FARTHEST * system.distance:
        return found
    return _feasible_at(system, found, system.distance * slope / size**2)


def _by_least_violation(system: ConicSystem, known: Alternative) -> Alternative:
    """Return what a second search finds: the least t with Mz + a + te in the cones, for e inside them.

    It does not ask for a point near the origin, and finds some that the first search misses. Its multipliers have
    eᵀw = 1, so they are better than the others where a contradiction is small.
    """
    m, n = system.M.shape
    inside = sp.csr_array(system.interior[:, None])
    rows = sp.block_array([[system.M, inside], [None, sp.csr_array([[1.0]])]], format="csr")
    blocks = [*system.blocks, Block("nonnegative", slice(m, m + 1))]
    least = max(system.distance, 1e-300)
    found = search(np.append(np.zeros(n), 1.0), sp.csr_array(rows), np.append(system.a, least), blocks, Budget())
    if found is None:
        return known
    if found.z[-1] > 0:
        other = contradiction_at(system, found.w[:m])
        return other if other.excluded > known.excluded else known
    return _feasible_at(system, known, found.z[:n])


def _feasible_at(system: ConicSystem, found: Alternative, near: np.ndarray) -> Alternative:
    """Return that a point is feasible, if it is: after correcting it, or as it is."""
    if float(np.linalg.norm(near)) > FARTHEST * system.distance:
        return found
    for point in (exact(system, near, system.a), near):
        if violation(system, point) <= FEASIBLE * system.distance:
            return Alternative(found.multipliers, found.excluded, point, found.distance)
    return found


def violation(system: ConicSystem, z: np.ndarray) -> float:
    """Return the largest violation at a point, for rows of unit length."""
    reached = system.M @ z + system.a
    return max([0.0, *(outside(block, reached[block.rows]) for block in system.blocks)])


def excluded(system: ConicSystem, w: np.ndarray) -> float:
    """Return up to which size of the unknowns multipliers in the dual cone exclude feasible points.

    Where the constraints limit unknowns, their slopes cost a part of the gain instead.
    """
    gain, slopes = system.gain(w), system.slopes(w)
    if gain <= 0:
        return 0.0
    free = float(np.linalg.norm(slopes))
    far = gain / free if free else np.inf
    if system.form is None or len(slopes) > LARGEST_LIMITED:
        return far
    sizes = intervals_of(system.form, ANY_VALUE).sizes / system.units
    limited = np.isfinite(sizes)
    gain -= float(slopes[limited] @ sizes[limited])
    if gain <= 0:
        return far
    free = float(np.linalg.norm(slopes[~limited]))
    return max(far, gain / free if free else np.inf)
