r"""Proofs that a program has no feasible point, or no finite optimum.

CVXPY writes a convex program as :math:`\min c^\top z,\ Mz + a \in \mathcal{K}` (see
:mod:`cvxlink.programs.conic_form`; z are all its unknowns). A solver's word for "infeasible" or "unbounded" is not a
proof. These are:

*No feasible point.* By Farkas, any :math:`w \in \mathcal{K}^*` with :math:`M^\top w = 0` and :math:`a^\top w < 0`:
a feasible z would give :math:`0 \le w^\top(Mz + a) = a^\top w < 0`. Rounding leaves a small slope
:math:`s = M^\top w`, and then no feasible z satisfies :math:`s^\top z < -a^\top w`. Where the constraints bound z,
that is a proof without any proviso; elsewhere it excludes all points up to the size :math:`-a^\top w / \|s\|`, which
must be astronomical to count.

*No finite optimum.* A feasible point, and a direction d with :math:`Md \in \mathcal{K}` and :math:`c^\top d < 0`:
along it every point is feasible, and the objective falls without limit. Both hold up to rounding, row by row and
relative to the size of the row.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.rounding import UNIT
from ..programs.status import Status
from .conic_system import ConicSystem, solved

# Larger programs are not searched: it would take longer than solving them.
LARGEST = 5000
# A contradiction must exclude all points up to this many times the distance of the constraints from the origin.
ASTRONOMICAL = 1e10
# How exactly a point and a direction must satisfy the constraints, relative to each row.
EXACTLY = 1e-11


def proven_verdict(declaration: Declaration, claimed: Status) -> tuple[Status, str] | None:
    """Return a proven verdict on a program without an answer and its proof in words, or None.

    The claimed verdict is tried first, then the other one.
    """
    try:
        system = ConicSystem.of(declaration, LARGEST)
    except ReductionRefused:
        return None
    proofs = {Status.INFEASIBLE: _contradiction, Status.UNBOUNDED: _ray}
    for verdict in sorted(proofs, key=lambda verdict: verdict is not claimed):
        words = proofs[verdict](system)
        if words is not None:
            return verdict, words
    return None


def _contradiction(system: ConicSystem) -> str | None:
    """Return a checked contradiction in words, or None."""
    distance = float(abs(system.a).max(initial=0.0))
    if not distance:
        return None
    w, inside = system.multipliers()
    if not solved(cp.Problem(cp.Minimize(cp.norm(system.M.T @ w)), [system.a @ w == -distance, *inside])):
        return None
    level = np.zeros(system.M.shape[1])
    far = max(_excluded(system, found, level) for found in system.candidates(np.asarray(w.value), level))
    if far < ASTRONOMICAL * distance:
        return None
    proviso = "" if np.isinf(far) else f" for all points up to the size {far:.0e}"
    return f"proven: a combination of the constraints contradicts itself{proviso}"


def _excluded(system: ConicSystem, w: np.ndarray, level: np.ndarray) -> float:
    """Return up to which size of the unknowns multipliers in the dual cone exclude feasible points."""
    gain, free = system.gain(w), 0.0
    for reach, length in zip(system.reach, system.lengths(w, level), strict=True):
        if np.isfinite(reach):
            gain -= reach * length
        else:
            free += length
    if gain <= 0:
        return 0.0
    return gain / free if free else np.inf


def _ray(system: ConicSystem) -> str | None:
    """Return in words that the objective falls without limit along a checked ray, or None."""
    size, level = float(np.linalg.norm(system.cost)), np.zeros_like(system.a)
    if not size:
        return None
    d, z = cp.Variable(len(system.cost)), cp.Variable(len(system.cost))
    falling = cp.Problem(cp.Minimize(cp.norm(d)), [system.cost @ d == -size, *system.holds(d, 0.0)])
    anywhere = cp.Problem(cp.Minimize(cp.norm(z)), system.holds(z, 1.0))
    if not (solved(falling) and solved(anywhere)):
        return None
    direction = system.exact(np.asarray(d.value), level)
    if float(system.cost @ direction) > -1e-3 * size * max(float(np.linalg.norm(direction)), 1e-300):
        return None
    points = (system.exact(np.asarray(z.value), system.a), np.zeros(len(system.cost)))
    feasible = min(system.violation(point, system.a) for point in points)
    off = max(system.violation(direction, level), feasible, UNIT)
    if not off <= EXACTLY:
        return None
    return f"proven up to rounding of {off:.0e}: the objective improves without limit along a feasible ray"
