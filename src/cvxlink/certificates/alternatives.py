r"""Either a program has a feasible point, or its constraints contradict one another: one search for both.

For the constraints :math:`Mz + a \in \mathcal{K}` and any :math:`\delta > 0`, consider

.. math:: v = \min_w \|M^\top w\| \quad\text{s.t.}\quad a^\top w = -\delta,\ w \in \mathcal{K}^*.

If v = 0, then w is a contradiction by Farkas: a feasible z would give :math:`0 \le w^\top(Mz + a) = -\delta`. If v > 0,
then the optimality conditions say that :math:`z = \delta M^\top w / v^2` is feasible, and it is the feasible point
nearest to the origin. A solver finds w up to its tolerances; here either outcome is checked.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from .conic_system import ConicSystem, solved

# A contradiction must exclude all points up to this many times the distance of the constraints from the origin.
ASTRONOMICAL = 1e10
# How exactly a feasible point must satisfy the constraints, and how far away it may be, relative to their distance.
FEASIBLE = 1e-6
FARTHEST = 1e7


@dataclass(frozen=True, eq=False)
class Alternative:
    """What was found: multipliers that exclude all points up to a size, or a point that satisfies the constraints."""

    multipliers: np.ndarray | None = None
    excluded: float = 0.0
    point: np.ndarray | None = None
    distance: float = 0.0

    @property
    def is_contradiction(self) -> bool:
        """Whether no point satisfies the constraints."""
        return self.multipliers is not None and self.excluded >= ASTRONOMICAL * self.distance

    @property
    def is_feasible(self) -> bool:
        """Whether a point satisfies the constraints."""
        return self.point is not None


def alternative(system: ConicSystem) -> Alternative:
    """Return a checked contradiction, a checked point, or what is known if the search finds neither."""
    distance = float(abs(system.a).max(initial=0.0))
    origin = np.zeros(system.M.shape[1])
    if system.violation(origin, system.a) == 0:
        return Alternative(point=origin, distance=distance)
    w, inside = system.multipliers()
    slope = system.M.T @ w
    if not solved(cp.Problem(cp.Minimize(cp.norm(slope)), [system.a @ w == -distance, *inside])):
        return Alternative(distance=distance)
    return _checked(system, np.asarray(w.value), distance)


def _checked(system: ConicSystem, w: np.ndarray, distance: float) -> Alternative:
    level = np.zeros(system.M.shape[1])
    best = max(system.candidates(w, level), key=lambda found: excluded(system, found))
    far = excluded(system, best)
    found = Alternative(best, far, distance=distance)
    slope = system.M.T @ w
    size = float(np.linalg.norm(slope))
    if found.is_contradiction or not size:
        return found
    near = distance * slope / size**2
    if np.linalg.norm(near) > FARTHEST * distance:
        return found
    for point in (system.exact(near, system.a), near):
        if absolute_violation(system, point) <= FEASIBLE * distance:
            return Alternative(best, far, point, distance)
    return found


def absolute_violation(system: ConicSystem, z: np.ndarray) -> float:
    """Return the largest violation at a point, for rows of unit length."""
    size = max(float(np.linalg.norm(z)), float(abs(system.a).max(initial=0.0)), 1e-300)
    return system.violation(z, system.a) * size


def excluded(system: ConicSystem, w: np.ndarray) -> float:
    """Return up to which size of the unknowns multipliers in the dual cone exclude feasible points."""
    gain, free = system.gain(w), 0.0
    for reach, length in zip(system.reach, system.lengths(w, np.zeros(system.M.shape[1])), strict=True):
        if np.isfinite(reach):
            gain -= reach * length
        else:
            free += length
    if gain <= 0:
        return 0.0
    return gain / free if free else np.inf
