r"""Proofs that a program has no feasible point, or no finite optimum.

A convex program is :math:`\min c^\top z,\ Mz + a \in \mathcal{K}` (see :mod:`cvxlink.reductions.standard_form`; z are
all its unknowns). A solver's word for "infeasible" or "unbounded" is not a proof. These are:

*No feasible point.* By Farkas, any :math:`w \in \mathcal{K}^*` with :math:`M^\top w = 0` and :math:`a^\top w < 0`:
a feasible z would give :math:`0 \le w^\top(Mz + a) = a^\top w < 0`. Rounding leaves a small slope
:math:`s = M^\top w`, and then no feasible z satisfies :math:`s^\top z < -a^\top w`. Where the constraints bound z,
that is a proof without any proviso; elsewhere it excludes all points up to the size :math:`-a^\top w / \|s\|`, which
must be astronomical to count. Where points violate the constraints as little as one likes there is no such w, and
several steps are needed (see :mod:`cvxlink.certificates.facial_contradiction`).

*No finite optimum.* A feasible point, and a direction d with :math:`Md \in \mathcal{K}` and :math:`c^\top d < 0`:
along it every point is feasible, and the objective falls without limit. Where it falls ever more slowly, a curve takes
the place of the ray (see :mod:`cvxlink.certificates.recession`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InfeasibleProblem, ReductionRefused
from ..model.declared import Declaration
from ..programs.linear_sdp import LinearSDP
from ..programs.status import Status
from ..reductions import Contraction
from ..reductions.standard_form import StandardForm
from .alternatives import alternative, contradiction_at
from .blame import blamed_row, shares, weights_of_items
from .components import systems_of
from .conic_system import INACTIVE, ConicSystem
from .diagnosis import largest
from .facial_contradiction import facial_contradiction
from .ownership import OwnedSystem
from .recession import Ray, falling_direction, off_at_a_point, ray
from .row_words import entry_of

# Larger programs are not searched: it would take longer than solving them.
LARGEST = 5000
# A message lists this many rows, and entries of variables, at most.
MOST_NAMED = 4
IN_STEPS = "proven: the constraints leave no room, and what they leave contradicts itself"


class Hint(NamedTuple):
    """What a solver returned for the standard form of a program without an answer: multipliers, and a direction.

    ``duals`` are the multipliers that a route returned, by the names of the constraints.
    """

    multipliers: np.ndarray | None = None
    direction: np.ndarray | None = None
    duals: Mapping[str, Any] | None = None


def proven_verdict(declaration: Declaration, claimed: Status, hint: Hint | None = None) -> tuple[Status, str] | None:
    """Return a proven verdict on a program without an answer and its proof in words, or None.

    The claimed verdict is tried first, then the other one. What the solver returned is checked before a search begins.
    """
    hint = hint or Hint()
    try:
        proofs = {
            Status.INFEASIBLE: lambda: _first_contradiction(declaration, hint.multipliers),
            Status.UNBOUNDED: lambda: _unlimited(declaration, hint.direction),
        }
        return _first_proven(proofs, claimed)
    except ReductionRefused:
        return None


def _first_proven(proofs: dict[Status, Callable[[], str | None]], claimed: Status) -> tuple[Status, str] | None:
    for verdict in sorted(proofs, key=lambda verdict: verdict is not claimed):
        words = proofs[verdict]()
        if words is not None:
            return verdict, words
    return None


def _first_contradiction(declaration: Declaration, hint: np.ndarray | None) -> str | None:
    """Return a checked contradiction of a declaration, or of a part of it, in words, or None."""
    parts = systems_of(declaration, LARGEST)
    found = (_contradiction(part, hint if len(parts) == 1 else None) for part in parts)
    return next((words for words in found if words is not None), None)


def _contradiction(owned: OwnedSystem, hint: np.ndarray | None) -> str | None:
    """Return a checked contradiction in words, or None."""
    found = None
    if hint is not None and len(hint) == len(owned.system.a):
        found = contradiction_at(owned.system, hint * owned.system.scales)
    if found is None or not found.is_contradiction:
        found = alternative(owned.system)
    words = contradiction_in_words(found.excluded)
    if not found.is_contradiction:
        in_steps = facial_contradiction(owned.system, found.point)
        if in_steps is None:
            return None
        found, words = in_steps, IN_STEPS
    assert found.multipliers is not None
    weights = weights_of_items(owned, found.multipliers)
    who = ", ".join(f"{name!r} {share:.0%}" for name, share in largest(shares(owned, found.multipliers)))
    matter = np.flatnonzero(weights > 1e-4 * weights.max())
    rows = "; ".join(blamed_row(owned, owned.items[k]).words for k in matter) if len(matter) <= MOST_NAMED else ""
    named = f" ({rows})" if rows else ""
    return f"{words}: {who}{named}"


def contradiction_in_words(excluded: float) -> str:
    """Return that multipliers exclude all points up to a size."""
    proviso = "" if np.isinf(excluded) else f" for all points up to the size {excluded:.0e}"
    return f"proven: a combination of the constraints contradicts itself{proviso}"


def proven_unbounded(sdp: LinearSDP) -> str | None:
    """Return in words that a linear semidefinite program is unbounded, or None.

    Directions D ⪰ 0 have right-hand sides of zero, which can force points together that the program itself keeps apart.
    So both the program and its directions are put on their own faces first.
    """
    level = replace(sdp, offset=0.0, rows=tuple(replace(g, b=np.zeros(len(g))) for g in sdp.rows))
    try:
        own, ways = (ConicSystem.read(_on_its_face(each).declaration, LARGEST) for each in (sdp, level))
    except (ReductionRefused, InfeasibleProblem):
        return None
    found = falling_direction(ways)
    off = None if found is None or found.steps else off_at_a_point(own)
    if found is None or off is None:
        return None
    off = max(found.rounding, off)
    return f"proven up to rounding of {off:.0e}: the objective improves without limit along a feasible ray"


def _on_its_face(sdp: LinearSDP) -> LinearSDP:
    try:
        return Contraction().reduce(sdp).program.linear_sdp()
    except ReductionRefused:
        return sdp


def _unlimited(declaration: Declaration, hint: np.ndarray | None) -> str | None:
    found = declared_ray(declaration, hint)
    return None if found is None else ray_in_words(declaration, *found)


def declared_ray(declaration: Declaration, hint: np.ndarray | None = None) -> tuple[Ray, dict[str, np.ndarray]] | None:
    """Return a checked ray of a declared program, and by variable where it leads, or None.

    Points that are forced together are merged, because otherwise no point is inside the cone.
    """
    try:
        form = StandardForm.of(declaration, LARGEST)
    except InfeasibleProblem:
        return None
    system = ConicSystem.of(form)
    if hint is not None:
        hint = hint / system.units if len(hint) == len(system.units) else None
    found = ray(system, hint)
    if found is None:
        return None
    direction = found.steps[0] if found.steps else found.direction
    return found, form.point(direction * system.units)


def ray_in_words(declaration: Declaration, found: Ray, direction: dict[str, np.ndarray]) -> str:
    """Return that the objective improves without limit, which variables move, and what would stop them."""
    way = "curve, ever more slowly" if found.steps else "ray"
    proven = f"proven up to rounding of {found.rounding:.0e}"
    words = f"{proven}: the objective improves without limit along a feasible {way}"
    moves = sorted(_moves(declaration, direction), key=lambda move: -abs(move[0]))
    if not moves:
        return words
    shown = ", ".join(f"{entry} {'grows' if pace > 0 else 'falls'}" for pace, entry in moves[:MOST_NAMED])
    left = len(moves) - MOST_NAMED
    more = f" and {left} more {'entries move' if left > 1 else 'entry moves'}" if left > 0 else ""
    pace, entry = moves[0]
    stop = f"{entry} {'<=' if pace > 0 else '>='} a number"
    return f"{words}, on which {shown}{more}; a bound such as {stop} would stop it"


def _moves(declaration: Declaration, values: dict[str, np.ndarray]) -> list[tuple[float, str]]:
    """Return the entries of the declared variables that move, each with its pace."""
    fastest = max((float(abs(value).max(initial=0.0)) for value in values.values()), default=0.0)
    moves = []
    for name, value in values.items():
        symmetric = value.ndim == 2 and declaration.variables[name].is_symmetric()
        for place in np.argwhere(abs(np.triu(value) if symmetric else value) > INACTIVE * max(fastest, 1e-300)):
            moves.append((float(value[tuple(place)]), entry_of(name, place)))
    return moves
