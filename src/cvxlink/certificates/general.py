r"""Bounds for any convex program, from its standard form :math:`\min c^\top z + d,\ Mz + a \in \mathcal{K}`.

For every :math:`w \in \mathcal{K}^*` and every feasible z,

.. math:: c^\top z + d \ \ge\ d - a^\top w + r^\top z, \qquad r = c - M^\top w .

At the optimum r vanishes; otherwise :math:`r^\top z` is bounded by what limits z. That are the intervals that follow
from the constraints (:mod:`cvxlink.certificates.intervals`), the trace of a semidefinite variable, for which
:math:`\langle G, K\rangle \ge \min(0, \lambda_{\min}(G)) \operatorname{tr} K`, and, if these leave something open, a
bound on all points that are at least as good as the answer (:mod:`cvxlink.certificates.sublevel`). Points worse than
the answer need no bound: for any u, every feasible point costs at least the smaller of u and a bound for those that
cost at most u. Only where the set of optimal points is unbounded does the bound hold for points of limited size, and
then it says so.

The multipliers w are those of the declared constraints; the cones that CVXPY adds for what is not linear have none, so
theirs are searched for. If the result is poor, the program is solved anew, as accurately as possible, within the
budget. The bound holds for any w.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.expressions import is_linear
from ..numerics.rounding import gamma
from ..reductions.cones import Block, triangle, unpacked
from ..reductions.standard_form import StandardForm
from .intervals import Intervals, intervals_of
from .log_det import log_det_bound
from .multipliers import multipliers_of_rows, polished, split_multipliers, worth_of_violations
from .search import Budget, dual_cones, search
from .sublevel import strictly_inside

# Programs with more unknowns or rows get no bound: finding one would take longer than solving them.
LARGEST = 200_000
# If a larger share of the multipliers is unknown, the program is solved anew instead of searching for them.
FEW = 0.25
# Points that are worse than the answer by this share need no bound.
WORSE = 1e-6
# How much larger than the answer other points may be where nothing limits them, and the farthest that is of use.
REACH, FARTHEST = 10.0, 1e8
# How much of the bound, relative to 1 + |value|, its reach may cost.
WORTH = 1e-9
# Slopes larger than this share of the terms that should cancel in them have not cancelled.
BALANCED = 1e-4
# Programs with more rows are not polished.
LARGEST_POLISHED = 2000
# A gap of this share of the accuracy is good enough, and of the second one for larger programs.
GOOD_ENOUGH, ENOUGH = 0.01, 0.1
# Up to so many rows a search costs little.
SMALL = 500
# A bound that rounding changes by this share is tried again with multipliers that are less accurate, and smaller.
SPOILED, ROUGHLY = 1e-6, 1e-8
# So often intervals are narrowed where rounding makes a bound poor.
NARROWING = 3


class Bound(NamedTuple):
    """A bound on the optimum, lower for a minimisation and upper for a maximisation, and the words for its basis.

    ``sensitivity`` is what the violations are worth according to the multipliers. ``rounding`` estimates what rounding
    errors may change; ``reach`` says how many times as large as the answer other points may be.
    """

    value: float
    basis: str
    sensitivity: float | None
    cost_scale: float
    rounding: float
    reach: float | None = None


def general_bound(
    declaration: Declaration,
    form: StandardForm,
    point: Mapping[str, np.ndarray],
    value: float,
    duals: Mapping[str, Any],
    violations: Mapping[str, float],
    budget: Budget,
) -> Bound:
    """Return a bound for a convex program at a point with multipliers, or refuse with the reason."""
    sign = -1.0 if isinstance(declaration.objective, cp.Maximize) else 1.0
    if not np.isfinite(value):
        raise ReductionRefused("the objective is not finite at the answer")
    answer = sign * value
    by_conjugate = _by_conjugate(declaration, form, duals, answer, sign, violations, budget)
    if by_conjugate is not None:
        return by_conjugate
    worst = answer + WORSE * (1 + abs(answer))
    limits = intervals_of(form, worst)
    is_small = len(form.a) <= SMALL or budget.is_unlimited
    found = _Candidates(form, limits, answer, (GOOD_ENOUGH if is_small else ENOUGH) * budget.accuracy)
    given, worth, missing = None, None, ""
    try:
        given, known = multipliers_of_rows(declaration, form, duals, sign)
        worth = worth_of_violations(declaration, duals, violations)
    except ReductionRefused as refusal:
        missing = str(refusal)
    if not form.cost.any():
        found.consider(np.zeros(len(form.a)), "an objective that is constant, and no multipliers")
    elif budget.conic is not None and len(budget.conic) == len(form.a):
        found.consider(budget.conic, "the multipliers")
    elif given is not None:
        if not known.all():
            w = given
            found.try_way(lambda limits: bound_by_gradient(declaration, form, point, w, duals, limits, sign))
        if not found.is_good:
            found.consider(_completed(form, given, known, point, budget), "the multipliers")
    if not found.is_good and limits.is_closed:
        found.narrow(intervals_of(form, worst, NARROWING))
    if is_small and found.is_open:
        found.polish()  # takes less time than a search
    if not limits.is_closed and not (found.is_good and (not found.is_open or not is_small)):
        inside = strictly_inside(form, worst, budget)
        if inside is not None:
            found.limit(inside.norm)
            found.consider(inside.w, "the dual program, solved anew")
    if not found.is_good:
        anew = search(form.cost, form.M, form.a, form.blocks, budget)
        if anew is not None:
            found.consider(anew.w, "the dual program, solved anew")
    if found.is_spoiled_by_rounding:
        rough = search(form.cost, form.M, form.a, form.blocks, budget, tolerance=ROUGHLY)
        if rough is not None:
            found.consider(rough.w, "the dual program, solved anew")
    if not found.is_good:
        found.without_multipliers(GOOD_ENOUGH * budget.accuracy)
    if found.best is None:
        raise ReductionRefused(missing or "no multipliers were found in the time that the proof may take")
    if found.best.open > 0:
        found.polish()
    size = max([1.0, *(float(np.linalg.norm(x)) for x in point.values())])
    if budget.is_spent and not found.is_good:
        found.remark = "; the search for a better one was stopped after its time, certify='full' goes on"
    return _worded(form, found, sign, size, worst, worth)


def _by_conjugate(
    declaration: Declaration,
    form: StandardForm,
    duals: Mapping[str, Any],
    answer: float,
    sign: float,
    violations: Mapping[str, float],
    budget: Budget,
) -> Bound | None:
    """Return a bound from the conjugate of log det, if there is one and it is good."""
    try:
        total, rounding = log_det_bound(declaration, duals, sign)
        worth = worth_of_violations(declaration, duals, violations)
    except ReductionRefused:
        return None
    unit = min(1.0, float(abs(form.cost).max(initial=0.0)) or 1.0)
    if not abs(answer - total) + rounding <= ENOUGH * budget.accuracy * (unit + abs(answer)):
        return None
    basis = "Lagrange bound, from the multipliers and the conjugate of log det"
    return Bound(sign * (total - rounding), basis, worth, unit, rounding)


def _worded(
    form: StandardForm, found: _Candidates, sign: float, size: float, worst: float, worth: float | None
) -> Bound:
    """Return the best bound, with the points it holds for."""
    best = found.best
    assert best is not None
    reach, total = None, best.value
    basis = f"Lagrange bound, from {best.origin}"
    if best.open > 0 and not best.is_balanced:
        raise ReductionRefused(
            "the slopes that its multipliers leave do not vanish where nothing limits the variables, so it may be "
            "unbounded"
        )
    if best.open > 0:
        lost = best.open * size  # for points as large as the answer
        reach = min(FARTHEST, max(REACH, WORTH * (1 + abs(found.answer)) / lost))
        total -= reach * lost
        basis += f"; for all points with a size up to {reach:.0e} times that of the answer"
    elif found.norm is not None:
        basis += f"; points that are at least as good have a norm of at most {found.norm:.2g}"
    basis += found.remark
    rounding = best.rounding + gamma(len(form.a) + 8) * abs(total)
    total = min(total, worst) - gamma(len(form.a) + 8) * abs(total)
    largest = float(abs(form.cost).max(initial=0.0))
    return Bound(sign * total, basis, worth, min(1.0, largest or 1.0), rounding, reach)


# ---------------------------------------------------------------------- the bound at given multipliers


@dataclass(frozen=True)
class Below:
    """What multipliers prove: a bound, up to ``open`` times the size of unlimited unknowns.

    It is balanced if the slopes of these are small compared with the terms that should cancel in them.
    """

    value: float
    open: float
    rounding: float
    origin: str
    is_balanced: bool = True


class _Candidates:
    """Ways to a bound, each a function of what limits the unknowns, and the best that they give."""

    def __init__(self, form: StandardForm, limits: Intervals, answer: float, wanted: float) -> None:
        self.form, self.limits, self.answer, self.wanted = form, limits, answer, wanted
        self.ways: list[Callable[[Intervals], Below | None]] = []
        self.multipliers: list[tuple[np.ndarray, str]] = []
        self.best: Below | None = None
        self.norm: float | None = None
        self.remark = ""

    def consider(self, w: np.ndarray | None, origin: str) -> None:
        """Compute the bound at multipliers, and keep it if it is the best."""
        if w is not None and np.isfinite(w).all():
            self.multipliers.append((w, origin))
            self.try_way(lambda limits: bound_at(self.form, w, limits, origin))

    def try_way(self, way: Callable[[Intervals], Below | None]) -> None:
        """Compute a bound, and keep it if it is the best."""
        self.ways.append(way)
        below = way(self.limits)
        if below is not None and (self.best is None or self._rank(below) > self._rank(self.best)):
            self.best = below

    def limit(self, norm: float) -> None:
        """Use a bound on the norm of all points that matter."""
        low, high = np.maximum(self.limits.low, -norm), np.minimum(self.limits.high, norm)
        traces = {
            name: min(trace, float(np.sqrt(self.form.matrices[name].order)) * norm)
            for name, trace in self.limits.traces.items()
        }
        self.norm = norm
        self.narrow(Intervals(low, high, traces))

    def narrow(self, limits: Intervals) -> None:
        """Use other intervals."""
        self.limits, self.best = limits, None
        known, self.ways = self.ways, []
        for way in known:
            self.try_way(way)

    def without_multipliers(self, enough: float) -> None:
        """Use the intervals alone, if that is enough: where the optimum is a limit that no point attains, it can be."""
        below = bound_at(self.form, np.zeros(len(self.form.a)), self.limits, "what limits the variables")
        is_better = self.best is None or self.best.open > 0 or self.best.value < below.value
        if is_better and below.open == 0 and self.answer - below.value <= enough * self._unit:
            self.best = below

    @property
    def is_good(self) -> bool:
        """Whether the bound is as near to the value as is of use."""
        if self.best is None:
            return False
        if self.best.open > 0 and not self.best.is_balanced:
            return False
        return abs(self.answer - self.best.value) + REACH * self.best.open <= self.wanted * self._unit

    @property
    def is_spoiled_by_rounding(self) -> bool:
        """Whether rounding is why the bound is poor: multipliers that grow without end as they approach the optimum."""
        return not self.is_good and self.best is not None and self.best.rounding > SPOILED * self._unit

    @property
    def _unit(self) -> float:
        """The size of the objective."""
        return min(1.0, float(abs(self.form.cost).max(initial=0.0))) + abs(self.answer)

    @property
    def is_open(self) -> bool:
        """Whether the bound is for points of limited size."""
        return self.best is None or self.best.open > 0

    def polish(self) -> None:
        """Move multipliers along their faces of the dual cone until as little slope is left as rounding allows."""
        if len(self.form.a) <= LARGEST_POLISHED:
            for w, origin in self.multipliers[:]:
                self.consider(polished(self.form, self.form.into_dual(w)), origin)

    def _rank(self, below: Below) -> float:
        return below.value - REACH * below.open


def bound_at(form: StandardForm, w: np.ndarray, limits: Intervals, origin: str = "") -> Below:
    """Return the bound that multipliers give; they are moved into the dual cone first."""
    w = form.into_dual(w)
    for block in form.matrices.values():
        w[block.rows] = 0.0  # what these would add is found from the least eigenvalue of the slope
    # Rounding is in proportion to the number of terms, and to the order of the matrices that were projected.
    order = max((block.order for block in form.blocks), default=0)
    counts = np.bincount(form.M.indices, minlength=len(form.cost))
    share = np.array([gamma(2 * (int(count) + order) + 8) for count in range(int(counts.max(initial=0)) + 1)])[counts]
    slope = form.cost - form.M.T @ w
    sizes = abs(form.cost) + abs(form.M).T @ abs(w)
    total = form.constant - float(form.a @ w)
    offsets = gamma(2 * (int(np.count_nonzero(form.a)) + order) + 8)
    rounding = offsets * (abs(form.constant) + float(abs(form.a) @ abs(w)))
    return lowest(form, total, slope, sizes, limits, Below(0.0, 0.0, rounding, origin), share)


def lowest(
    form: StandardForm,
    total: float,
    slope: np.ndarray,
    sizes: np.ndarray,
    limits: Intervals,
    known: Below,
    share: float | np.ndarray,
) -> Below:
    """Return the least value of an affine function of z where z is limited.

    ``sizes`` are those of the terms that cancel in the slopes, and ``share`` the parts of them that may be rounding;
    ``known`` has the origin of the function and the rounding of its offset.
    """
    rough, rounding = share * sizes, known.rounding
    still_open, rest, is_balanced = 0.0, np.ones(len(slope), dtype=bool), True
    for name, block in form.matrices.items():
        columns = form.columns[name]
        rest[columns] = False
        i, j = triangle(block.order)
        weights = np.where(i == j, 1.0, np.sqrt(0.5))  # each entry off the diagonal is in ⟨G, K⟩ twice
        eigenvalues = np.linalg.eigvalsh(unpacked(weights * slope[columns], block.order))
        off = float(np.linalg.norm(rough[columns])) + 4 * gamma(block.order) * float(abs(eigenvalues).max())
        least = min(0.0, float(eigenvalues[0]) - off)
        if least < 0 and not np.isfinite(limits.traces[name]):
            still_open -= least
            is_balanced &= -least <= BALANCED * float(sizes[columns].max())
        elif least < 0:
            total += limits.traces[name] * least
            rounding += limits.traces[name] * off
    low, high = limits.low[rest], limits.high[rest]
    for side in (np.maximum(slope[rest] + rough[rest], 0.0), np.minimum(slope[rest] - rough[rest], 0.0)):
        # A slope that may be of either sign because of rounding counts on both sides.
        where = low if (side > 0).any() else high
        used = side != 0
        limited = used & np.isfinite(where)
        total += float(side[limited] @ where[limited])
        endless = used & ~np.isfinite(where)
        still_open += float(abs(side[endless]).sum())
        is_balanced &= bool((abs(side[endless]) <= BALANCED * sizes[rest][endless]).all())
    widths = np.where(np.isfinite(limits.sizes), limits.sizes, 0.0)
    rounding += float(rough[rest] @ widths[rest])
    return Below(total - rounding, still_open, rounding, known.origin, bool(is_balanced))


def bound_by_gradient(
    declaration: Declaration,
    form: StandardForm,
    point: Mapping[str, np.ndarray],
    w: np.ndarray,
    duals: Mapping[str, Any],
    limits: Intervals,
    sign: float,
) -> Below | None:
    r"""Return the bound from the tangent of the Lagrangian at a point, which lies below it; None without gradients.

    Where the objective and nonlinear constraints are smooth, this needs no multipliers of the cones that CVXPY adds.
    """
    n_declared = max((columns.stop for columns in form.columns.values()), default=0)
    outer = sp.csr_array(form.M[:, n_declared:])
    own = np.diff(outer.indptr) == 0
    w = np.where(own, form.into_dual(w), 0.0)
    for block in form.matrices.values():
        w[block.rows] = 0.0
    objective = sign * declaration.objective.args[0]
    tangent, total = gradient_at(objective, declaration), float(objective.value)
    for name, group in declaration.constraints.items():
        for term, dual in zip(group, split_multipliers(name, group, duals[name], sign), strict=True):
            if isinstance(term, cp.constraints.Inequality) and not is_linear(term.expr):
                price = np.maximum(dual, 0.0)
                worth = price @ cp.vec(term.expr, order="F")
                more = gradient_at(worth, declaration)
                tangent = None if tangent is None or more is None else tangent + more
                total += float(worth.value)
    if tangent is None or not np.isfinite(tangent).all():
        return None
    entries = np.concatenate([np.ravel(point[name], order="F") for name in form.columns])
    D = form.spread[: len(entries)]
    total -= float(tangent @ entries) + float(form.a @ w) - 0.0
    slope = D.T @ tangent - form.M.T @ w
    sizes = abs(D).T @ abs(tangent) + abs(form.M).T @ abs(w)
    share = gamma(2 * len(w) + 2 * len(entries) + 64)
    rounding = share * (abs(total) + float(abs(tangent) @ abs(entries)) + float(abs(form.a) @ abs(w)))
    origin = "the multipliers and gradients"
    return lowest(form, total, slope, sizes, limits, Below(0.0, 0.0, rounding, origin), share)


def gradient_at(expression: Any, declaration: Declaration) -> np.ndarray | None:
    """Return a subgradient of a convex expression at the saved point, over the entries of all variables."""
    try:
        found = expression.grad
    except (NotImplementedError, TypeError, ValueError):  # some of CVXPY's functions have none, or a wrong one
        return None
    parts = []
    for variable in declaration.variables.values():
        part = found.get(variable, np.zeros(variable.size))
        if part is None:
            return None
        parts.append(np.asarray(part.toarray() if sp.issparse(part) else part, dtype=float).ravel(order="F"))
    return np.concatenate(parts)


def _completed(
    form: StandardForm, given: np.ndarray, known: np.ndarray, point: Mapping[str, np.ndarray], budget: Budget
) -> np.ndarray | None:
    """Return multipliers with those that are unknown chosen so that as little slope as possible is left.

    These belong to the cones that CVXPY adds and to bounds that variables declare. The slopes of the variables that
    CVXPY adds must vanish; what is left of the others is weighed by the size of the answer.
    """
    rows = np.flatnonzero(~known)
    if len(rows) > FEW * len(known):
        return None
    if not len(rows):
        return given
    U, base = sp.csr_array(form.M[rows]), form.into_dual(np.where(known, given, 0.0))
    slope = form.cost - form.M.T @ base
    n_declared = max((columns.stop for columns in form.columns.values()), default=0)
    touched = np.unique(U.indices[U.data != 0])
    outer, added = touched[touched < n_declared], touched[touched >= n_declared]
    count = len(rows)
    reach = REACH * max([1.0, *(float(np.linalg.norm(x)) for x in point.values())])
    # Unknowns: the multipliers, and the length of the slope that is left.
    balance = sp.hstack([-U[:, added].T, sp.csr_array((len(added), 1))])
    length = sp.csr_array(([1.0], ([0], [count])), shape=(1, count + 1))
    left = sp.hstack([-U[:, outer].T, sp.csr_array((len(outer), 1))])
    into, blocks = dual_cones(form.blocks, rows, len(known), len(added) + 1 + len(outer))
    cones = sp.hstack([into, sp.csr_array((into.shape[0], 1))])
    M = sp.csr_array(sp.vstack([balance, length, left, cones], format="csr"))
    a = np.concatenate([slope[added], [0.0], slope[outer], np.zeros(into.shape[0])])
    start = len(added)
    first = [Block("zero", slice(0, start))] if start else []
    ball = Block("second-order", slice(start, start + 1 + len(outer)))
    found = search(np.append(form.a[rows], reach), M, a, [*first, ball, *blocks], budget)
    if found is None:
        return None
    w = base.copy()
    w[rows] = found.z[:count]
    return w
