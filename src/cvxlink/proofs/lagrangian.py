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

from ..declaration import Declaration
from ..eigenvalues import least_eigenvalue
from ..errors import ReductionRefused
from ..reading import evident_trace_bound, is_the_variable
from .cones import ConicForm, long_enough, nearest_semidefinite

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
    gradient, total = _minorant(ConicForm.of(lagrangian, declaration.variables), declaration, point, slacks)
    limits = []
    for name, variable in declaration.variables.items():
        G = gradient[name].reshape(variable.shape, order="F")
        if name in slacks or variable.attributes["PSD"]:
            least, limit = _least_over_semidefinite(G, name, point[name], evident_trace_bound(declaration, variable))
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
            owner = _semidefinite_variable(term, declaration)
            if owner is not None:
                slacks[owner] = slacks.get(owner, 0.0) + dual[0]
            else:
                total = total - _worth_of_slack(term, dual)
            is_matrix = isinstance(term, cp.constraints.PSD)
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
            yield [nearest_semidefinite(part.reshape(term.shape, order="F"))]
        else:
            yield [np.minimum(part, 0) if isinstance(term, constraints.Inequality) else part]


def _semidefinite_variable(term: Any, declaration: Declaration) -> str | None:
    """Return the variable that a constraint says is semidefinite, if that is what it says."""
    if isinstance(term, cp.constraints.PSD):
        for name, variable in declaration.variables.items():
            if variable in term.variables() and variable.is_symmetric() and is_the_variable(term.args[0], variable):
                return name
    return None


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
    w = [[cp.Variable(part.shape) for part in cone.parts] for cone in form.cones]
    gradient, left, constant = form.minorant(w)
    gain = constant
    for name, variable in declaration.variables.items():
        # What is left of the slope costs what it can take off the bound.
        slope = gradient[name] - _domain_multiplier(variable, slacks.get(name))
        reach = REACH * max(float(np.linalg.norm(point[name])), 1.0)
        gain += slope @ np.ravel(point[name], order="F") - reach * cp.norm(slope)
    rests = [block - _domain_multiplier(variable, None) for block, variable in zip(left, form.added, strict=True)]
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


def _domain_multiplier(variable: cp.Variable, slack: np.ndarray | None) -> Any:
    """Return the multiplier of what a variable is: that of a constraint, or one to be found for what it declares."""
    if slack is not None:
        return np.ravel(slack, order="F")
    if variable.attributes["PSD"]:
        return cp.vec(cp.Variable(variable.shape, PSD=True), order="F")
    if variable.is_nonneg() or variable.is_nonpos():
        return cp.Variable(variable.size, nonneg=True) * (1 if variable.is_nonneg() else -1)
    return 0.0


def _least_over_semidefinite(G: np.ndarray, name: str, K: np.ndarray, trace: float | None) -> tuple[float, str]:
    """Return a lower bound on ⟨G, K⟩ over K ⪰ 0 of limited trace, and the limit in words if it is not a proven one."""
    found = least_eigenvalue(G)
    limit = REACH * max(float(np.trace(K)), 1.0) if trace is None else trace
    return limit * min(found.value - found.margin, 0.0), f"tr {name} ≤ {limit:.3g}" if trace is None else ""


def _least_over_ball(g: np.ndarray, name: str, x: np.ndarray, variable: cp.Variable) -> tuple[float, str]:
    """Return a lower bound on ⟨g, x⟩ over x of limited norm, and the limit in words."""
    if variable.is_nonneg():
        g = np.minimum(g, 0)
    elif variable.is_nonpos():
        g = np.maximum(g, 0)
    length, limit = float(np.linalg.norm(g)), REACH * max(float(np.linalg.norm(x)), 1.0)
    return -limit * length, f"‖{name}‖ ≤ {limit:.3g}" if length else ""
