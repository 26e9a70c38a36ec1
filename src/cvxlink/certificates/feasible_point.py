r"""An exactly feasible point near an answer, whose value is attained by the program.

An answer x violates constraints a little. It is moved onto the equations and then mixed with a point
:math:`\hat x` that satisfies the equations and everything else with room to spare:
:math:`(1-\theta)x + \theta\hat x` is feasible for some small θ, since constraints are convex, and its value is one that
the program attains. :math:`\hat x` maximises the least room over the cones of the standard form. Inequalities that are
tight at every feasible point leave no room; the multipliers of that search say which they are, and they then count as
equations. Equations are met up to rounding: a point that meets them exactly is nearer than the room that is left.

In small programs the same is done for all cones (:mod:`cvxlink.certificates.faces_by_search`): where no point is
strictly inside them, the best point on their faces is computed anew, because tiny violations may have moved the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..model.declared import Declaration
from ..numerics.least_squares import least_norm_solution
from ..numerics.matrices import as_dense
from ..programs.declared import semidefinite_variable
from ..reductions.cones import Block, triangle
from ..reductions.standard_form import StandardForm
from .evaluation import value_of
from .faces_by_search import (
    NEARNESS,
    NO_ROOM,
    Faces,
    best_point,
    connected_unknowns,
    faces_of,
    has_small_faces,
    largest_connected,
    scales_of,
)
from .search import TOLERANCE, Attained, Budget, Found, search
from .violations import domains_of, holds_exactly, violation_of

# Where there is plenty of room, a search with a rough tolerance finds some in half the time.
ROUGHLY, PLENTY = 1e-5, 2e-4
# How often inequalities that leave none are looked for.
MOST_ROUNDS = 3
# Multipliers larger than this mark inequalities that are tight at every feasible point.
TIGHT = 1e-4
# How exactly equations must hold, relative to the sizes of their terms.
EXACTLY = 1e-14
# The shares of the inner point that are tried, the smallest first; the search between them is by bisection.
SHARES = 10.0 ** np.arange(-13, 0)
# A guess of which more is needed is not worth as much as a search.
MOST_OF_A_GUESS = 1e-5
MOST_UNKNOWNS = 20_000
# A larger share of the inner point than this moves the value by more than an accurate answer should be off.
MOST_OF_INNER = 1e-5
FAR = "the answer is far from the feasible points that were found"
# What rounding may be worth on curved faces: a violation of ε can move a point by √ε.
WORTH_ON_FACES = 3e-7


def attained_value(
    declaration: Declaration,
    form: StandardForm,
    point: Mapping[str, np.ndarray],
    duals: Mapping[str, Any],
    budget: Budget,
) -> Attained:
    """Return the objective of an exactly feasible point near a given one.

    Equations hold up to rounding at the point that is computed; what that is worth according to the multipliers is
    added to its value.
    """
    if budget.reached is not None:
        return budget.reached
    form = form.with_room(declaration, len(form.a) + len(form.cost))
    checker = _Checker(declaration, form, duals)
    z, rows = form.unknowns(point), _equations(form)
    moved = _onto(form, rows, z)
    if moved is None:
        return Attained(None, "the equations cannot be met to the last digits")
    z = moved
    if checker.holds(z):
        return checker.value(z)
    if len(z) > MOST_UNKNOWNS:
        return Attained(None, "the program is too large for a search for a point inside its constraints")
    for guess in _guesses(form, z, rows):
        if checker.holds(guess):
            value = _nearest(checker, z, guess, MOST_OF_A_GUESS)
            if value is not None:
                return value
    none = np.zeros(0, dtype=int)
    roughly = _roomiest(form, z, none, budget, ROUGHLY)
    if roughly is not None and roughly.z[-1] > PLENTY:
        reached = _mixed(checker, z, rows, roughly.z[:-1], none)
        if reached.value is not None and not reached.missing:
            return reached
    if not has_small_faces(form):
        return _mixed(checker, z, rows, *_inner_point(form, z, budget))
    found, tight = _roomiest(form, z, none, budget), none
    has_room = found is None or found.z[-1] > NO_ROOM
    inner = found.z[:-1] if found is not None and has_room else None
    if found is not None and not has_room:
        tight = np.flatnonzero(abs(found.w) > TIGHT)
    reached = _mixed(checker, z, rows, inner, tight)
    if reached.value is not None and not reached.missing:
        return reached
    anew = best_on_faces(declaration, form, point, budget, None if has_room else found)
    return reached if anew is None or _is_better(declaration, reached, anew) else anew


def _is_better(declaration: Declaration, one: Attained, other: Attained) -> bool:
    """Whether one value is better than another."""
    if one.value is None or other.value is None:
        return one.value is not None
    return one.value > other.value if isinstance(declaration.objective, cp.Maximize) else one.value < other.value


def best_on_faces(
    declaration: Declaration,
    form: StandardForm,
    point: Mapping[str, np.ndarray],
    budget: Budget,
    known: Found | None = None,
) -> Attained | None:
    """Solve a small program anew, on the faces of its cones that contain all feasible points; None if that fails.

    ``known`` is the roomiest point of the form, if that has no room.
    """
    for scale in scales_of(form) if has_small_faces(form) else ():
        faces = faces_of(form, form.unknowns(point), budget, known, scale)
        found = None if faces is None else _on_faces(declaration, faces, budget)
        if found is not None:
            return found
    return None


def _mixed(checker: _Checker, z: np.ndarray, rows: np.ndarray, inner: np.ndarray | None, tight: np.ndarray) -> Attained:
    """Return the value at a mixture with an inner point; a value with something missing could be better."""
    form = checker.form
    if inner is None:
        return Attained(None, _words(checker.declaration, form, tight), has_room=not len(tight))
    rows = np.concatenate([rows, tight])
    moved, inside = _onto(form, rows, z), _onto(form, rows, inner)
    if moved is None or inside is None:
        return Attained(None, "the equations cannot be met to the last digits")
    checker.count_as_equations(tight)
    if not checker.holds(inside):
        return Attained(None, "the search found no point inside the constraints")
    value = _nearest(checker, moved, inside, MOST_OF_INNER)
    if value is not None:
        return value
    value = _nearest(checker, moved, inside, 1.0)
    assert value is not None
    return value._replace(missing="" if value.value is None else FAR)


def _on_faces(declaration: Declaration, faces: Faces, budget: Budget) -> Attained | None:
    """Return the least value on faces of the cones, and where it is."""
    inner = faces.y
    if inner is None or not faces.holds(inner):
        return None
    best = best_point(faces, budget)
    best = inner if best is None else best
    share = _least_share(lambda share: faces.holds((1 - share) * best + share * inner))
    z = faces.at((1 - share) * best + share * inner)
    z *= faces.scale
    point, sign = faces.form.point(z), -1.0 if isinstance(declaration.objective, cp.Maximize) else 1.0
    for name, entries in point.items():
        declaration.variables[name].save_value(entries)
    conic = float(faces.form.cost @ z + faces.form.constant)
    value = float(np.sum(value_of(declaration.objective.args[0])))
    if not np.isfinite(value):
        value = sign * conic
    unit = min(1.0, float(abs(faces.form.cost).max(initial=0.0))) + abs(value)
    worth = WORTH_ON_FACES * unit if faces.is_curved else 0.0
    return Attained(value + sign * worth, point=point)


def _guesses(form: StandardForm, z: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield points that are often inside: multiples of the identity, and with all entries positive."""
    for positive in (0.0, 0.1) if form.matrices else ():
        guess = z.copy()
        for name, block in form.matrices.items():
            columns, (i, j) = form.columns[name], triangle(block.order)
            size = float(np.mean(z[columns][i == j]))
            guess[columns] = size * np.where(i == j, 1.0, positive)
        moved = _onto(form, rows, guess)
        if moved is not None:
            yield moved


def _nearest(checker: _Checker, z: np.ndarray, inner: np.ndarray, most: float) -> Attained | None:
    """Return the value at the smallest share of an inner point that makes z feasible, or None if that is too much."""
    share = _least_share(lambda share: checker.holds((1 - share) * z + share * inner))
    return checker.value((1 - share) * z + share * inner) if share <= most else None


def _least_share(is_enough: Callable[[float], bool]) -> float:
    """Return the smallest share of an inner point that is enough; all of it is."""
    low, high = 0, len(SHARES)  # enough from ``high`` on
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(SHARES[middle]) else (middle + 1, high)
    return 1.0 if high == len(SHARES) else float(SHARES[high])


class _Checker:
    """Whether points satisfy the constraints: linear ones and faces row by row, others as they are declared."""

    def __init__(self, declaration: Declaration, form: StandardForm, duals: Mapping[str, Any]) -> None:
        self.declaration, self.form, self.duals = declaration, form, duals
        n_declared = max((columns.stop for columns in form.columns.values()), default=0)
        self.own = np.diff(sp.csr_array(form.M[:, n_declared:]).indptr) == 0
        self.exactly = form.is_free.copy()
        self.connected = connected_unknowns(form.M[np.flatnonzero(self.exactly)])
        self.is_row = np.zeros(len(form.a), dtype=bool)
        for block in (*form.parts("zero"), *form.parts("nonnegative")):
            self.is_row[block.rows] = True
        self.sizes = abs(form.M)
        self.others = list(self._others())
        self.is_negative = [name for name, v in declaration.variables.items() if v.attributes["NSD"]]

    def count_as_equations(self, tight: np.ndarray) -> None:
        """Let some inequalities hold up to rounding only, as equations do."""
        self.exactly[tight] = True
        self.connected = connected_unknowns(self.form.M[np.flatnonzero(self.exactly)])

    def _is_rows(self, term: Any) -> bool:
        """Whether a constraint is made of rows that are checked as such, or is checked on its face."""
        if semidefinite_variable(term, self.declaration.variables) is not None or term.id in self.form.replaced:
            return True
        return bool((self.own & self.is_row)[self.form.owners[term.id].rows].all())

    def holds(self, z: np.ndarray) -> bool:
        """Whether all constraints hold, equations up to rounding."""
        form = self.form
        reached = np.asarray(form.M @ z + form.a)
        rows = self.own & self.is_row
        allowed = _rounding(self.sizes, z, form.a, self.connected)
        if np.any(abs(reached) > allowed, where=rows & self.exactly) or np.any(reached < 0, where=rows & ~self.exactly):
            return False
        for block in (*form.matrices.values(), *form.replaced.values()):
            if form.outside_of(block, reached) > 0:
                return False
        if not self.others and not self.is_negative:
            return True
        point = self._saved(z)
        if any(np.linalg.eigvalsh(point[name])[-1] > 0 for name in self.is_negative):
            return False
        return all(map(holds_exactly, self.others))

    def _others(self) -> Iterator[Any]:
        """Yield the other constraints, and the domains of functions."""
        rest = [term for term in self.declaration.terms if not self._is_rows(term)]
        yield from rest
        domains = domains_of(self.declaration)
        for limit in (limit for part in (self.declaration.objective, *rest) for limit in domains[id(part)]):
            # Equations say that a matrix is symmetric, which rounding may hide; faces are checked as such.
            is_equation = isinstance(limit, cp.constraints.Equality | cp.constraints.Zero)
            if not is_equation and semidefinite_variable(limit, self.declaration.variables) is None:
                yield limit

    def value(self, z: np.ndarray) -> Attained:
        """Return the objective, and what rounding in equations is worth."""
        self._saved(z)
        value = float(np.sum(value_of(self.declaration.objective.args[0])))
        if not np.isfinite(value):
            return Attained(None, "the objective is not finite near the answer")
        worth = 0.0
        for name, group in self.declaration.constraints.items():
            equations = [term for term in group if isinstance(term, cp.constraints.Equality | cp.constraints.Zero)]
            if equations and name in self.duals:
                largest = float(abs(np.asarray(as_dense(self.duals[name]), dtype=float)).max(initial=0.0))
                worth += largest * sum(violation_of(term) * term.size for term in equations)
        if not np.isfinite(worth):
            return Attained(None, "the multipliers are not finite")
        sign = -1.0 if isinstance(self.declaration.objective, cp.Maximize) else 1.0
        return Attained(value + sign * worth)

    def _saved(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return the declared variables, after putting them into CVXPY's."""
        point = self.form.point(z)
        for name, value in point.items():
            self.declaration.variables[name].save_value(value)
        return point


def _equations(form: StandardForm) -> np.ndarray:
    """Return the equations between declared variables; others define variables that CVXPY adds."""
    n_declared = max((columns.stop for columns in form.columns.values()), default=0)
    rows = np.flatnonzero(form.is_free)
    outer = np.asarray(abs(form.M[rows][:, n_declared:]).sum(axis=1)).ravel() if len(rows) else np.zeros(0)
    return rows[outer == 0]


def _onto(form: StandardForm, rows: np.ndarray, z: np.ndarray) -> np.ndarray | None:
    """Return the nearest point that satisfies some rows as equations, or None if rounding prevents it."""
    if not len(rows):
        return z
    E, a = sp.csr_array(form.M[rows]), form.a[rows]
    sizes, connected = abs(E), connected_unknowns(E)
    for _ in range(4):  # each pass removes most of the rounding of the one before
        off = E @ z + a
        if bool((abs(off) <= _rounding(sizes, z, a, connected)).all()):
            return z
        z = z - least_norm_solution(E, off)
    return None


def _rounding(sizes: sp.csr_array, z: np.ndarray, a: np.ndarray, connected: np.ndarray) -> np.ndarray:
    """Return how exactly equations can hold: their terms are rounded, and so is the point that solves them.

    Unknowns that equations connect are rounded like the largest of them; what is large elsewhere does not matter.
    """
    return EXACTLY * (sizes @ (abs(z) + 0.1 * largest_connected(z, connected)) + abs(a))


def _inner_point(form: StandardForm, z: np.ndarray, budget: Budget) -> tuple[np.ndarray | None, np.ndarray]:
    """Return a point inside all cones, and the inequalities that are tight at every feasible point."""
    tight = np.zeros(0, dtype=int)
    for _ in range(MOST_ROUNDS):
        found = _roomiest(form, z, tight, budget)
        if found is None:
            return None, tight
        if found.z[-1] > NO_ROOM:
            return found.z[:-1], tight
        block = form.parts("nonnegative")
        rows = np.arange(block[0].rows.start, block[0].rows.stop) if block else np.zeros(0, dtype=int)
        more = np.setdiff1d(rows[found.w[rows] > TIGHT], tight)
        if not len(more):
            return None, np.flatnonzero(abs(found.w) > TIGHT)
        tight = np.concatenate([tight, more])
    return None, tight


def _roomiest(
    form: StandardForm, z: np.ndarray, tight: np.ndarray, budget: Budget, tolerance: float = TOLERANCE
) -> Found | None:
    """Maximise the room t ≤ 1 with Mz + a − te in the cones, near a given point; t is the last unknown."""
    m, n = form.M.shape
    sizes = np.maximum(np.sqrt(np.asarray(form.M.multiply(form.M).sum(axis=1)).ravel()), 1e-300)
    e = form.interior.copy()
    scalar = np.zeros(m, dtype=bool)
    for block in form.parts("nonnegative"):
        scalar[block.rows] = True
    e[scalar] = sizes[scalar]  # room is measured in the units of a row
    e[tight] = 0.0
    rows = sp.csr_array(sp.hstack([form.M, sp.csr_array(-e[:, None])]))
    last = sp.csr_array(([-1.0], ([0], [n])), shape=(1, n + 1))
    M = sp.csr_array(sp.vstack([last, rows], format="csr"))
    blocks = [Block("nonnegative", slice(0, 1)), *form.blocks]
    nearness = NEARNESS / (1 + float(z @ z))
    squares = np.append(np.full(n, nearness), 0.0)
    found = search(np.append(-nearness * z, -1.0), M, np.append(1.0, form.a), blocks, budget, squares, tolerance)
    return None if found is None else Found(found.z, found.w[1:])


def _words(declaration: Declaration, form: StandardForm, rows: np.ndarray) -> str:
    """Return why there is no point inside the constraints."""
    if not len(rows):
        return "no point inside the constraints was found in the time that the proof may take"
    names = [
        name
        for name, group in declaration.constraints.items()
        if any(term.id in form.owners and len(np.intersect1d(form.owners[term.id].rows, rows)) for term in group)
    ]
    for name, block in form.matrices.items():
        if ((rows >= block.rows.start) & (rows < block.rows.stop)).any():
            names.append(f"{name} ⪰ 0")
    listed = ", ".join(map(repr, names)) or "the cones of nonlinear terms"
    return f"no point is strictly inside the constraints: {listed} leave no room"
