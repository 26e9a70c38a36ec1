r"""A lower bound for any convex program, from the multipliers of its declared constraints.

With multipliers y the Lagrangian :math:`\Lambda(x) = f(x) - \sum_r y_r (g_r(x) - b_r)` is convex, and at most f(x) at
every feasible x. CVXPY writes it with cones and variables t of its own,

.. math:: \Lambda(x) = \min_t\ c^\top x + e^\top t + d \quad\text{s.t.}\quad Ax + Bt + a \in \mathcal{K},

so every :math:`w \in \mathcal{K}^*` with :math:`B^\top w = e` gives an affine function below it,

.. math:: f(x) \ \ge\ \Lambda(x) \ \ge\ g^\top x + d - a^\top w, \qquad g = c - A^\top w.

For a variable K ⪰ 0 of trace at most τ, :math:`\langle G, K\rangle \ge \tau\min(0, \lambda_{\min}(G))`; for others
:math:`g^\top x \ge -\rho\|g\|` where :math:`\|x\| \le \rho`. At the optimum g vanishes, or is the slack of K ⪰ 0. A w
that makes it so is looked for by a small program of its own; whatever comes of that, the bound holds.

Where the constraints do not tell how large x can be, the bound is for all feasible points up to ten times as large as
the answer, and says so. Beyond, convexity takes over: a feasible point s times as large as that is better than a
feasible answer by at most (10s − 1)/9 times the gap, as the value falls at least in proportion on the way to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..conic_form import ConicForm, long_enough, nearest_semidefinite
from ..declaration import Declaration
from ..eigenvalues import least_eigenvalue
from ..errors import ReductionRefused
from ..linear_sdp import LinearSDP
from ..reading import linear_rows, semidefinite_variable
from ..reductions.contraction import blocks_of

# How much larger than the answer other points may be where nothing bounds them.
REACH = 10.0
# Programs of more entries than this are left without a bound: finding one would take longer than solving them.
LARGEST_SEARCH = 200_000
# What is asked of the search; what it comes back with is checked.
TOLERANCES = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


class Bound(NamedTuple):
    """A lower bound on the optimum, in words for which points, and what the violations of the answer are worth."""

    value: float
    basis: str
    sensitivity: float


def lower_bound(
    declaration: Declaration, point: Mapping[str, np.ndarray], duals: Mapping[str, Any], violations: Mapping[str, float]
) -> Bound:
    """Return a bound from the multipliers of a program of no special kind, or refuse and say why there is none."""
    if isinstance(declaration.objective, cp.Maximize):
        raise ReductionRefused("it maximises; declare the minimisation of the negative instead")
    if sum(variable.size for variable in declaration.variables.values()) > LARGEST_SEARCH:
        raise ReductionRefused("it has too many unknowns for a bound from its multipliers")
    lagrangian, slacks, worth = _lagrangian(declaration, duals, violations)
    form, point, traces = ConicForm.of(lagrangian, declaration.variables), dict(point), {}
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
    slacks = {name: nearest_semidefinite(slack) for name, slack in slacks.items()}
    gradient, total = _minorant(form, declaration, point, slacks)
    limits = []
    for name, variable in declaration.variables.items():
        G = gradient[name].reshape(point[name].shape, order="F")
        if name in traces:
            least, limit = _least_over_semidefinite(G, name, point[name], traces[name])
        else:
            least, limit = _least_over_ball(G, name, point[name], variable)
        total += least
        limits += [limit] if limit else []
    basis = "Lagrange's, from the multipliers and the conic form of what is not linear"
    return Bound(float(total), f"{basis}; for all points with {' and '.join(limits)}" if limits else basis, worth)


# ---------------------------------------------------------------------- the Lagrangian


def _lagrangian(
    declaration: Declaration, duals: Mapping[str, Any], violations: Mapping[str, float]
) -> tuple[Any, dict[str, np.ndarray], float]:
    """Return Λ, the multipliers of constraints that a variable is semidefinite, and what violations are worth.

    Those constraints are left out of Λ, and kept by the variables they are about.
    """
    total = declaration.objective.args[0]
    slacks: dict[str, Any] = {}
    worth = 0.0
    for variable in declaration.variables.values():
        variable.save_value(np.zeros(variable.shape))
    for name, group in declaration.constraints.items():
        if name not in duals:
            raise ReductionRefused(f"there are no multipliers of {name!r}")
        for term, dual in zip(group, _split(name, group, duals[name]), strict=True):
            owner, is_matrix = semidefinite_variable(term, declaration.variables), isinstance(term, cp.constraints.PSD)
            if owner is not None:
                slacks[owner] = slacks.get(owner, 0.0) + dual[0]
            else:
                total = total - _worth_of_slack(term, [nearest_semidefinite(dual[0])] if is_matrix else dual)
            worth += violations[name] * float(np.trace(dual[0]) if is_matrix else sum(abs(part).sum() for part in dual))
    return total, slacks, worth


def _split(name: str, group: list[Any], given: Any) -> Iterator[list[np.ndarray]]:
    """Yield the multipliers of each constraint of a group, of the shapes of its arguments and within the dual cone."""
    constraints = cp.constraints
    if len(group) == 1 and isinstance(group[0], constraints.SOC):
        length, vectors = (
            np.asarray(part, dtype=float).reshape(arg.shape, order="F")
            for part, arg in zip(given, group[0].args, strict=True)
        )
        yield [long_enough(length, vectors, group[0].axis), vectors]
        return
    for term in group:
        if not isinstance(term, constraints.PSD | constraints.Inequality | constraints.Equality | constraints.Zero):
            raise ReductionRefused(f"its constraint {name!r} is of the kind {type(term).__name__}")
    flat = np.asarray(given, dtype=float).ravel(order="F")
    if len(flat) != sum(term.size for term in group) or not np.isfinite(flat).all():
        raise ReductionRefused(f"the multipliers of {name!r} do not fit it")
    for term, part in zip(group, np.split(flat, np.cumsum([term.size for term in group])[:-1]), strict=True):
        if isinstance(term, constraints.PSD):
            yield [part.reshape(term.shape, order="F")]
        else:
            yield [np.minimum(part, 0) if isinstance(term, constraints.Inequality) else part]


def _worth_of_slack(term: Any, dual: list[np.ndarray]) -> Any:
    """Return f − Λ for one constraint: not negative where it holds, and concave."""
    if isinstance(term, cp.constraints.PSD | cp.constraints.SOC):
        return sum(cp.sum(cp.multiply(part, arg)) for part, arg in zip(dual, term.args, strict=True))
    body = term.args[0] if isinstance(term, cp.constraints.Zero) else term.expr
    return -((-dual[0]) @ cp.vec(body, order="F"))  # CVXPY sees that it is concave by the sign of the numbers


# ---------------------------------------------------------------------- an affine function below it


def _minorant(
    form: ConicForm, declaration: Declaration, point: Mapping[str, np.ndarray], slacks: Mapping[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], float]:
    """Return the slope and offset of an affine function below Λ, as flat as the multipliers allow."""
    if form.size > LARGEST_SEARCH:
        raise ReductionRefused("what is not linear in it is too large for a bound from its multipliers")
    if not form.cones:
        gradient, _, constant = form.minorant([])
        return gradient, constant
    w = [cone.multipliers() for cone in form.cones]
    gradient, left, constant = form.minorant(w)
    gain = constant
    for name, variable in declaration.variables.items():
        # What is left of the slope costs what it can take off the bound.
        multiplier, worth = _domain_multiplier(variable, slacks.get(name))
        slope = gradient[name] - multiplier
        reach = REACH * max(float(np.linalg.norm(point[name])), 1.0)
        gain += worth + slope @ np.ravel(point[name], order="F") - reach * cp.norm(slope)
    rests = [block - _domain_multiplier(variable, None)[0] for block, variable in zip(left, form.added, strict=True)]
    balance = [rest == 0 for rest in rests]
    in_cones = [c for cone, multipliers in zip(form.cones, w, strict=True) for c in cone.holds_dual(multipliers)]
    search = cp.Problem(cp.Maximize(gain), balance + in_cones)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it need not be accurate: what it finds is checked
            search.solve(solver=cp.CLARABEL, **TOLERANCES)
    except cp.SolverError as error:
        raise ReductionRefused("no bound could be made of its multipliers") from error
    if search.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise ReductionRefused("no bound could be made of its multipliers")
    found = [cone.into_dual([np.asarray(u.value) for u in us]) for cone, us in zip(form.cones, w, strict=True)]
    for variables, numbers in zip(w, found, strict=True):
        for variable, number in zip(variables, numbers, strict=True):
            variable.save_value(number)
    gradient, _, constant = form.minorant(found)
    # What should cancel leaves rounding errors; the multipliers of the balance are the values of CVXPY's variables.
    for rest, equation in zip(rests, balance, strict=True):
        constant -= float(abs(rest.value) @ (1 + 2 * abs(np.ravel(equation.dual_value, order="F"))))
    return gradient, constant


def _domain_multiplier(variable: cp.Variable, slack: np.ndarray | None) -> tuple[Any, Any]:
    """Return the multiplier of what a variable is, a given one or one to be found, and what it adds to the bound."""
    if slack is not None:
        return np.ravel(slack, order="F"), 0.0
    if variable.attributes["PSD"]:
        return cp.vec(cp.Variable(variable.shape, PSD=True), order="F"), 0.0
    multiplier, worth = 0.0, 0.0
    for bound, sign in zip(variable.get_bounds(), (1.0, -1.0), strict=True):
        limits = np.broadcast_to(bound, variable.shape).ravel(order="F")
        finite = np.isfinite(limits)
        if finite.any():
            push = sign * cp.multiply(finite, cp.Variable(variable.size, nonneg=True))
            multiplier, worth = multiplier + push, worth + np.where(finite, limits, 0.0) @ push
    return multiplier, worth


def _least_over_semidefinite(G: np.ndarray, name: str, K: np.ndarray, trace: float | None) -> tuple[float, str]:
    """Return a lower bound on ⟨G, K⟩ over K ⪰ 0 of limited trace, and the limit in words if it is not a proven one."""
    found = least_eigenvalue(G)
    limit = REACH * max(float(np.trace(K)), 1.0) if trace is None else trace
    return limit * min(found.value - found.margin, 0.0), f"tr {name} ≤ {limit:.3g}" if trace is None else ""


def _least_over_ball(g: np.ndarray, name: str, x: np.ndarray, variable: cp.Variable) -> tuple[float, str]:
    """Return a lower bound on ⟨g, x⟩ over x within its bounds, of limited norm where it has none, and the limit."""
    lower, upper = (np.broadcast_to(bound, variable.shape) for bound in variable.get_bounds())
    where = np.where(g > 0, lower, upper)
    bounded = np.isfinite(where) | (g == 0)
    least = float(np.sum(g[bounded] * np.where(np.isfinite(where), where, 0.0)[bounded]))
    length, limit = float(np.linalg.norm(g[~bounded])), REACH * max(float(np.linalg.norm(x)), 1.0)
    return least - limit * length, f"‖{name}‖ ≤ {limit:.3g}" if length else ""
