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

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np

from ..errors import InfeasibleProblem, ReductionRefused
from ..model.declared import Declaration
from ..numerics.rounding import UNIT
from ..programs.linear_sdp import LinearSDP
from ..programs.status import Status
from ..reductions import Contraction
from .alternatives import alternative
from .blame import blamed_row, shares, weights_of_items
from .conic_system import INACTIVE, ConicSystem, solved
from .diagnosis import largest
from .ownership import OwnedSystem
from .row_words import entry_of

# Larger programs are not searched: it would take longer than solving them.
LARGEST = 5000
# How exactly a point and a direction must satisfy the constraints, relative to each row.
EXACTLY = 1e-11
# Along a direction that is repeated without end, linear rows must hold up to rounding: small coefficients are meant.
ROUNDING = 1e-14
# A message lists this many rows, and entries of variables, at most.
MOST_NAMED = 4


def proven_verdict(declaration: Declaration, claimed: Status) -> tuple[Status, str] | None:
    """Return a proven verdict on a program without an answer and its proof in words, or None.

    The claimed verdict is tried first, then the other one.
    """
    try:
        owned = OwnedSystem.of(declaration, LARGEST)
    except ReductionRefused:
        return None
    proofs = {Status.INFEASIBLE: _contradiction, Status.UNBOUNDED: _unlimited}
    for verdict in sorted(proofs, key=lambda verdict: verdict is not claimed):
        words = proofs[verdict](owned)
        if words is not None:
            return verdict, words
    return None


def _contradiction(owned: OwnedSystem) -> str | None:
    """Return a checked contradiction in words, or None."""
    found = alternative(owned.system)
    if not found.is_contradiction:
        return None
    assert found.multipliers is not None
    weights = weights_of_items(owned, found.multipliers)
    who = ", ".join(f"{name!r} {share:.0%}" for name, share in largest(shares(owned, found.multipliers)))
    matter = np.flatnonzero(weights > 1e-4 * weights.max())
    rows = "; ".join(blamed_row(owned, owned.items[k]).words for k in matter) if len(matter) <= MOST_NAMED else ""
    named = f" ({rows})" if rows else ""
    return f"{contradiction_in_words(found.excluded)}: {who}{named}"


def contradiction_in_words(excluded: float) -> str:
    """Return that multipliers exclude all points up to a size."""
    proviso = "" if np.isinf(excluded) else f" for all points up to the size {excluded:.0e}"
    return f"proven: a combination of the constraints contradicts itself{proviso}"


@dataclass(frozen=True, eq=False)
class Ray:
    """A direction in which a feasible point can move without limit while the objective improves."""

    direction: np.ndarray
    slope: float
    rounding: float


def ray(system: ConicSystem) -> Ray | None:
    """Return a checked direction in which the objective falls without limit, or None."""
    found = falling_direction(system)
    point = None if found is None else _violation_of_a_point(system)
    if found is None or point is None or not point <= EXACTLY:
        return None
    return Ray(found.direction, found.slope, max(found.rounding, point))


def falling_direction(system: ConicSystem) -> Ray | None:
    """Return a direction that keeps to the constraints for ever and in which the objective falls, or None."""
    size, level = float(np.linalg.norm(system.cost)), np.zeros_like(system.a)
    if not size:
        return None
    d = cp.Variable(len(system.cost))
    if not solved(cp.Problem(cp.Minimize(cp.norm(d)), [system.cost @ d == -size, *system.holds(d, 0.0)])):
        return None
    direction = system.exact(np.asarray(d.value), level)
    if float(system.cost @ direction) > -1e-3 * size * max(float(np.linalg.norm(direction)), 1e-300):
        return None
    off = max(system.violation(direction, level), UNIT)
    if not off <= EXACTLY or not system.violation(direction, level, of_rows_only=True) <= ROUNDING:
        return None
    return Ray(direction, float(system.cost @ direction), off)


def _violation_of_a_point(system: ConicSystem) -> float | None:
    """Return the violation of the point nearest to the origin, or None if there is none."""
    z = cp.Variable(len(system.cost))
    if not solved(cp.Problem(cp.Minimize(cp.norm(z)), system.holds(z, 1.0))):
        return None
    points = (system.exact(np.asarray(z.value), system.a), np.zeros(len(system.cost)))
    return min(system.violation(point, system.a) for point in points)


def proven_unbounded(sdp: LinearSDP) -> str | None:
    """Return in words that a linear semidefinite program is unbounded, or None.

    Directions D ⪰ 0 have right-hand sides of zero, which can force points together that the program itself keeps apart.
    So both the program and its directions are put on their own faces first.
    """
    level = replace(sdp, offset=0.0, rows=tuple(replace(g, b=np.zeros(len(g))) for g in sdp.rows))
    try:
        own, ways = (ConicSystem.of(_on_its_face(each).declaration, LARGEST) for each in (sdp, level))
    except (ReductionRefused, InfeasibleProblem):
        return None
    found, point = falling_direction(ways), _violation_of_a_point(own)
    if found is None or point is None or not point <= EXACTLY:
        return None
    off = max(found.rounding, point)
    return f"proven up to rounding of {off:.0e}: the objective improves without limit along a feasible ray"


def _on_its_face(sdp: LinearSDP) -> LinearSDP:
    try:
        return Contraction().reduce(sdp).program.linear_sdp()
    except ReductionRefused:
        return sdp


def _unlimited(owned: OwnedSystem) -> str | None:
    found = ray(owned.system)
    return None if found is None else ray_in_words(owned, found)


def ray_in_words(owned: OwnedSystem, found: Ray) -> str:
    """Return that the objective improves without limit, which variables move, and what would stop them."""
    words = f"proven up to rounding of {found.rounding:.0e}: the objective improves without limit along a feasible ray"
    moves = sorted(_moves(owned, found.direction), key=lambda move: -abs(move[0]))
    if not moves:
        return words
    shown = ", ".join(f"{entry} {'grows' if pace > 0 else 'falls'}" for pace, entry in moves[:MOST_NAMED])
    left = len(moves) - MOST_NAMED
    more = f" and {left} more {'entries move' if left > 1 else 'entry moves'}" if left > 0 else ""
    pace, entry = moves[0]
    stop = f"{entry} {'<=' if pace > 0 else '>='} a number"
    return f"{words}, on which {shown}{more}; a bound such as {stop} would stop it"


def _moves(owned: OwnedSystem, direction: np.ndarray) -> list[tuple[float, str]]:
    """Return the entries of the declared variables that move, each with its pace."""
    values = owned.values(direction)
    fastest = max((float(abs(value).max(initial=0.0)) for value in values.values()), default=0.0)
    moves = []
    for name, value in values.items():
        symmetric = value.ndim == 2 and owned.declaration.variables[name].is_symmetric()
        for place in np.argwhere(abs(np.triu(value) if symmetric else value) > INACTIVE * max(fastest, 1e-300)):
            moves.append((float(value[tuple(place)]), entry_of(name, place)))
    return moves
