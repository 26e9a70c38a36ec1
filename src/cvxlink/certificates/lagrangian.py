r"""A bound for any convex program, from the multipliers of its declared constraints.

With multipliers y the Lagrangian :math:`\Lambda(x) = f(x) - \sum_r y_r (g_r(x) - b_r)` is convex, and at most f(x) at
every feasible x. CVXPY writes it with cones and additional variables t,

.. math:: \Lambda(x) = \min_t\ c^\top x + e^\top t + d \quad\text{s.t.}\quad Ax + Bt + a \in \mathcal{K},

so every :math:`w \in \mathcal{K}^*` with :math:`B^\top w = e` gives an affine function below it,

.. math:: f(x) \ \ge\ \Lambda(x) \ \ge\ g^\top x + d - a^\top w, \qquad g = c - A^\top w.

For a variable K ⪰ 0 of trace at most τ, :math:`\langle G, K\rangle \ge \tau\min(0, \lambda_{\min}(G))`; for others
:math:`g^\top x \ge -\rho\|g\|` where :math:`\|x\| \le \rho`. At the optimum g vanishes, or is the slack of K ⪰ 0. A
suitable w is found by solving a small auxiliary program; the bound holds whatever that returns.

If the constraints do not limit the size of x, the bound is for all feasible points up to ten times as large as the
answer, and says so; if the program is small, its dual is then solved anew for a bound that reaches further
(:mod:`cvxlink.certificates.dual_program`). Beyond that, convexity helps: a feasible point s times as large as that
limit is better than a feasible answer by at most (10s − 1)/9 times the gap, because on the way to it the value falls at
least in proportion.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.least_eigenvalue import least_eigenvalue
from ..numerics.matrices import as_dense
from ..numerics.rounding import gamma
from ..programs.conic_form import ConicForm, affine_maps, has_bounds, long_enough, nearest_semidefinite
from ..programs.declared import body_of, linear_rows, name_of_cone, semidefinite_variable
from ..programs.linear_sdp import LinearSDP
from ..reductions.contraction import blocks_of
from .conic_system import TOLERANCES
from .dual_program import bound_of_dual

# How much larger than the answer other points may be if nothing bounds them.
REACH = 10.0
# Programs with more entries get no bound: finding one would take longer than solving them.
LARGEST_SEARCH = 200_000


class Bound(NamedTuple):
    """A bound on the optimum, lower for a minimisation and upper for a maximisation.

    With it the points it holds for in words, the worth of violations, and the largest cost. ``rounding`` estimates what
    rounding errors may change; ``reach`` says how many times as large as the answer other points may be.
    """

    value: float
    basis: str
    sensitivity: float
    cost_scale: float
    rounding: float
    reach: float | None = None


class Lagrangian(NamedTuple):
    """Λ without the constraints that a variable is semidefinite; ``slacks`` has their multipliers by variable.

    ``worth`` is what the violations of the answer are worth according to the multipliers; ``rough`` bounds rounding
    errors: of the offset under the name "", of slopes by variable.
    """

    function: Any
    slacks: dict[str, np.ndarray]
    worth: float
    rough: dict[str, float]


def lagrange_bound(
    declaration: Declaration, point: Mapping[str, np.ndarray], duals: Mapping[str, Any], violations: Mapping[str, float]
) -> Bound:
    """Return a bound from the multipliers of a general program, or refuse with the reason."""
    if not isinstance(declaration.objective, cp.Maximize):
        return _lower_bound(declaration, point, duals, violations, 1.0)
    negated = replace(declaration, objective=cp.Minimize(-declaration.objective.args[0]))
    bound = _lower_bound(negated, point, duals, violations, -1.0)
    return bound._replace(value=-bound.value)


def _lower_bound(
    declaration: Declaration,
    point: Mapping[str, np.ndarray],
    duals: Mapping[str, Any],
    violations: Mapping[str, float],
    sign: float,
) -> Bound:
    """Return a lower bound for a minimisation, with ``sign`` times the multipliers of rows."""
    if sum(variable.size for variable in declaration.variables.values()) > LARGEST_SEARCH:
        raise ReductionRefused(f"it has too many unknowns for a bound from its multipliers (at most {LARGEST_SEARCH})")
    costs = ConicForm.of(declaration.objective.args[0], declaration.variables)
    lagrangian = _lagrangian(declaration, duals, violations, sign)
    form = ConicForm.of(lagrangian.function, declaration.variables)
    point, slacks, traces = dict(point), lagrangian.slacks, {}
    for name, variable in declaration.variables.items():
        if name in slacks or variable.attributes["PSD"]:
            rows = linear_rows(declaration, variable)[0]
            blocks = blocks_of(rows)
            linear = LinearSDP(sp.csr_array(variable.shape), tuple(rows)) if blocks is None else blocks.rows
            traces[name] = linear.trace_bound()
            if blocks is not None:  # feasible matrices are PK'Pᵀ: the proof is on blocks, as the solution is
                P, sizes = blocks.P, blocks.P.sum(axis=0)
                form = form.on_blocks(name, P)
                point[name] = (P.T @ point[name] @ P) / np.outer(sizes, sizes)
                if name in slacks:
                    slacks[name] = P.T @ slacks[name] @ P
    gradient, total = _minorant(form, declaration, point, {n: nearest_semidefinite(S) for n, S in slacks.items()})
    total -= lagrangian.rough[""]
    limits = []
    for name, variable in declaration.variables.items():
        G = gradient[name].reshape(point[name].shape, order="F")
        if name in traces:
            least, limit = _least_over_semidefinite(G, name, point[name], traces[name], lagrangian.rough[name])
        else:
            least, limit = _least_over_ball(G, name, point[name], variable, lagrangian.rough[name])
        total += least
        limits += [limit] if limit else []
    basis = "Lagrange bound, from the multipliers and the conic form of nonlinear terms"
    basis = f"{basis}; for all points with {' and '.join(limits)}" if limits else basis
    reach = {name: REACH * max(float(np.linalg.norm(x)), 1.0) for name, x in point.items()}
    rounding = lagrangian.rough[""] + sum(reach[name] * lagrangian.rough[name] for name in reach)
    rounding += gamma(form.size + 8) * abs(total)
    total -= gamma(form.size + 8) * abs(total)
    found = Bound(float(total), basis, lagrangian.worth, min(1.0, costs.largest_cost or 1.0), float(rounding))
    return _reaching_further(declaration, point, found) if limits else found


def _reaching_further(declaration: Declaration, point: Mapping[str, np.ndarray], near: Bound) -> Bound:
    """Replace a bound for points near the answer by one that reaches further, if there is one."""
    size = max(float(np.linalg.norm(x)) for x in point.values())
    try:
        far = bound_of_dual(declaration, size, near.value)
    except ReductionRefused:  # it is too large to be solved again
        return near._replace(reach=REACH)
    if far is None:
        return near._replace(basis=f"{near.basis}, as its dual program has no solution", reach=0.0)
    if far.reach is not None and far.reach < REACH:
        return near._replace(reach=REACH)
    where = "" if far.reach is None else f"; for all points with a size up to {far.reach:.0e} times that of the answer"
    basis = f"dual program of the conic form, solved anew{where}"
    return near._replace(value=far.value, basis=basis, reach=far.reach)


# ---------------------------------------------------------------------- the Lagrangian


def _lagrangian(
    declaration: Declaration, duals: Mapping[str, Any], violations: Mapping[str, float], sign: float
) -> Lagrangian:
    """Assemble the Lagrangian."""
    total = declaration.objective.args[0]
    slacks: dict[str, Any] = {}
    worth, linear = 0.0, list[tuple[Any, np.ndarray]]()
    for name, group in declaration.constraints.items():
        if name not in duals:
            raise ReductionRefused(f"there are no multipliers for {name!r}")
        for term, dual in zip(group, _split(name, group, duals[name], sign), strict=True):
            owner, is_matrix = semidefinite_variable(term, declaration.variables), isinstance(term, cp.constraints.PSD)
            if owner is not None:
                slacks[owner] = slacks.get(owner, 0.0) + dual[0]
            else:
                dual = [nearest_semidefinite(dual[0])] if is_matrix else dual
                total = total - _worth_of_slack(term, dual)
                parts = term.args if len(dual) > 1 or is_matrix else [body_of(term)]
                linear += [(part, np.ravel(d, "F")) for part, d in zip(parts, dual, strict=True) if part.is_affine()]
            worth += violations[name] * float(np.trace(dual[0]) if is_matrix else sum(abs(part).sum() for part in dual))
    for name, variable in declaration.variables.items():
        cone = name_of_cone(name, declaration) if variable.attributes["PSD"] else ""
        if cone in duals:  # declared by the variable itself, not by a constraint
            slacks[name] = slacks.get(name, 0.0) + _numbers(cone, duals[cone], variable.size).reshape(variable.shape)
    return Lagrangian(total, slacks, worth, _rounding(linear, declaration))


def _rounding(linear: list[tuple[Any, np.ndarray]], declaration: Declaration) -> dict[str, float]:
    """Return how much rounding can change sums of rows times multipliers: offsets, and norms of slopes."""
    rough = dict.fromkeys(["", *declaration.variables], 0.0)
    maps = affine_maps([cp.Constant(0.0), *(part for part, _ in linear)], declaration.variables, [])[1:]
    for part, (_, dual) in zip(maps, linear, strict=True):
        share = gamma(len(dual) + 16)
        rough[""] += share * float(abs(dual) @ abs(part.a))
        for name in declaration.variables:
            rough[name] += share * float(np.linalg.norm(abs(part.A[name]).T @ abs(dual)))
    return rough


def _split(name: str, group: list[Any], given: Any, sign: float) -> Iterator[list[np.ndarray]]:
    """Yield the multipliers of each constraint of a group, shaped like its arguments and inside the dual cone."""
    constraints = cp.constraints
    flat = _numbers(name, given, sum(_multiplier_count(term) for term in group))
    for term, part in zip(group, np.split(flat, np.cumsum([_multiplier_count(t) for t in group])[:-1]), strict=True):
        if isinstance(term, constraints.PSD):
            yield [part.reshape(term.shape, order="F")]
        elif isinstance(term, constraints.SOC):
            length, vectors = np.split(part, [term.args[0].size])
            vectors = vectors.reshape(term.args[1].shape, order="F")
            yield [long_enough(length.reshape(term.args[0].shape, order="F"), vectors, term.axis), vectors]
        elif isinstance(term, constraints.Inequality | constraints.Equality | constraints.Zero):
            part = sign * part
            yield [np.minimum(part, 0) if isinstance(term, constraints.Inequality) else part]
        else:
            raise ReductionRefused(f"its constraint {name!r} is of type {type(term).__name__}")


def _multiplier_count(term: Any) -> int:
    return sum(arg.size for arg in term.args[:2]) if isinstance(term, cp.constraints.SOC) else term.size


def _numbers(name: str, given: Any, count: int) -> np.ndarray:
    """Return multipliers as a vector of ``count`` finite numbers."""
    try:
        flat = np.asarray(as_dense(given), dtype=float).ravel(order="F")
    except (TypeError, ValueError):
        flat = np.full(1, np.nan)
    if len(flat) != count or not np.isfinite(flat).all():
        raise ReductionRefused(f"the multipliers of {name!r} must be {count} finite numbers")
    return flat


def _worth_of_slack(term: Any, dual: list[np.ndarray]) -> Any:
    """Return f − Λ for one constraint: concave, and non-negative where the constraint holds."""
    if isinstance(term, cp.constraints.PSD | cp.constraints.SOC):
        return sum(cp.sum(cp.multiply(part, arg)) for part, arg in zip(dual, term.args, strict=True))
    return -((-dual[0]) @ cp.vec(body_of(term), order="F"))  # CVXPY recognises it as concave by the sign of the numbers


# ---------------------------------------------------------------------- an affine function below it


def _minorant(
    form: ConicForm, declaration: Declaration, point: Mapping[str, np.ndarray], slacks: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], float]:
    """Return the slope and offset of an affine function below Λ, as flat as the multipliers allow.

    Bounds on the entries of a semidefinite matrix have no multipliers of their own; those found here are included in
    slope and offset.
    """
    if form.size > LARGEST_SEARCH:
        raise ReductionRefused("its nonlinear terms are too large for a bound from its multipliers")
    pushed = {name: v for name, v in declaration.variables.items() if _is_matrix(name, v, slacks) and has_bounds(v)}
    if not form.cones and not pushed:
        gradient, _, constant = form.minorant([])
        return gradient, constant
    w = [cone.multipliers() for cone in form.cones]
    gradient, left, constant = form.minorant(w)
    gain, pushes = constant, {}
    for name, variable in declaration.variables.items():
        # A remaining slope costs as much as it can lower the bound.
        multiplier, worth = _bound_multipliers(variable, point[name].shape)
        if name in pushed and point[name].shape == variable.shape:
            pushes[name] = multiplier, worth
        slope = gradient[name] - multiplier - _cone_multiplier(variable, slacks.get(name), point[name].shape)
        reach = REACH * max(float(np.linalg.norm(point[name])), 1.0)
        gain += worth + slope @ np.ravel(point[name], order="F") - reach * cp.norm(slope)
    rests = [
        block - _bound_multipliers(variable, variable.shape)[0] - _cone_multiplier(variable, None, variable.shape)
        for block, variable in zip(left, form.added, strict=True)
    ]
    balance = [rest == 0 for rest in rests]
    in_cones = [c for cone, multipliers in zip(form.cones, w, strict=True) for c in cone.holds_dual(multipliers)]
    _search(cp.Problem(cp.Maximize(gain), balance + in_cones))
    found = [cone.into_dual([np.asarray(u.value) for u in us]) for cone, us in zip(form.cones, w, strict=True)]
    for variables, numbers in zip(w, found, strict=True):
        for variable, number in zip(variables, numbers, strict=True):
            variable.save_value(number)
    gradient, _, constant = form.minorant(found)
    for name, (multiplier, worth) in pushes.items():
        gradient[name] = gradient[name] - multiplier.value
        constant += float(np.sum(worth.value))
    # What should cancel leaves rounding errors; the multipliers of the balance are the values of CVXPY's variables.
    for rest, equation in zip(rests, balance, strict=True):
        constant -= float(abs(rest.value) @ (1 + 2 * abs(np.ravel(equation.dual_value, order="F"))))
    return gradient, constant


def _search(program: cp.Problem) -> None:
    """Solve as accurately as possible; the result is checked afterwards."""
    for options in (TOLERANCES, {}):
        # CVXPY raises a ValueError for numbers that overflowed.
        with warnings.catch_warnings(), suppress(cp.SolverError, ValueError):
            warnings.simplefilter("ignore")
            program.solve(solver=cp.CLARABEL, accept_unknown=True, **options)
            if program.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                return
    raise ReductionRefused("no bound could be computed from its multipliers")


def _is_matrix(name: str, variable: cp.Variable, slacks: Mapping[str, np.ndarray]) -> bool:
    return name in slacks or bool(variable.attributes["PSD"])


def _cone_multiplier(variable: cp.Variable, slack: np.ndarray | None, shape: tuple[int, ...]) -> Any:
    """Return the multiplier of a semidefinite matrix: the given one, or an unknown if the variable declares it."""
    if slack is None and variable.attributes["PSD"]:
        return cp.vec(cp.Variable(shape, PSD=True), order="F")
    return 0.0 if slack is None else np.ravel(slack, order="F")


def _bound_multipliers(variable: cp.Variable, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return unknown multipliers for the bounds that a variable declares, and what they add to the lower bound."""
    multiplier, worth = 0.0, 0.0
    if shape != variable.shape:  # merged points: ignoring bounds on single entries keeps every lower bound valid
        return multiplier, worth
    for bound, sign in zip(variable.get_bounds(), (1.0, -1.0), strict=True):
        limits = np.broadcast_to(bound, variable.shape).ravel(order="F")
        finite = np.isfinite(limits)
        if finite.any():
            push = sign * cp.multiply(finite, cp.Variable(variable.size, nonneg=True))
            multiplier, worth = multiplier + push, worth + np.where(finite, limits, 0.0) @ push
    return multiplier, worth


def _least_over_semidefinite(
    G: np.ndarray, name: str, K: np.ndarray, trace: float | None, rough: float
) -> tuple[float, str]:
    """Return a lower bound on ⟨G, K⟩ over K ⪰ 0 of limited trace, and the limit in words unless it is proven."""
    found = least_eigenvalue((G + G.T) / 2)
    limit = REACH * max(float(np.trace(K)), 1.0) if trace is None else trace
    least = min(found.value - found.margin - rough, 0.0)
    return limit * least, f"tr {name} ≤ {limit:.3g}" if trace is None else ""


def _least_over_ball(g: np.ndarray, name: str, x: np.ndarray, variable: cp.Variable, rough: float) -> tuple[float, str]:
    """Return a lower bound on ⟨g, x⟩ over x within its bounds, or of limited norm without bounds, and that limit."""
    lower, upper = (np.broadcast_to(bound, variable.shape) for bound in variable.get_bounds())
    where = np.where(g > 0, lower, upper)
    bounded = np.isfinite(where) | (g == 0)
    least = float(np.sum(g[bounded] * np.where(np.isfinite(where), where, 0.0)[bounded]))
    length, limit = float(np.linalg.norm(g[~bounded])) + rough, REACH * max(float(np.linalg.norm(x)), 1.0)
    return least - limit * length, f"‖{name}‖ ≤ {limit:.3g}" if length else ""
