r"""Whether a program has a strictly feasible point, and which constraints leave no room for one.

Without an interior (Slater's condition) multipliers need not exist, and solvers stall. Reductions restore it where they
see why it is missing. For the rest a small program is solved, :math:`\max t` subject to the equations,
:math:`g(x) \le -t` for each inequality and :math:`E(x) \succeq tI` for each matrix inequality. Where t cannot be
positive, its multipliers say which constraints are to blame.
"""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import CvxlinkError
from ..model.declared import Declaration
from ..programs.base import Program
from ..programs.declared import SpecialProgram, name_of_cone
from ..programs.linear_sdp import LinearSDP

# Larger programs are not tried: explain() should not take long.
MOST_ROWS = 2000
MOST_UNKNOWNS = 2000
# A solver's t below this counts as zero, and multipliers below the second number, of one in total, as absent.
NO_ROOM = 1e-6
BLAMELESS = 1e-3


def missing_interior(program: Program) -> str:
    """Return in words which constraints leave no strictly feasible point, or nothing if there is one or it is open."""
    if isinstance(program, SpecialProgram) or not program.convex:
        return ""
    sizes = program.sizes
    if sizes.equations + sizes.inequalities > MOST_ROWS or sizes.unknowns > MOST_UNKNOWNS:
        return ""
    if isinstance(program, LinearSDP) and program.interior_point is not None and not sizes.inequalities:
        return ""
    groups = _without_room(program.declaration)
    if not groups:
        return ""
    named = " and ".join([", ".join(map(repr, groups[:-1])), repr(groups[-1])]) if len(groups) > 1 else repr(groups[0])
    leave = "leave" if len(groups) > 1 else "leaves"
    return (
        f"no interior: {named} {leave} no point at which all inequalities hold strictly, so multipliers may not exist, "
        f"and solvers may stall"
    )


def _without_room(declaration: Declaration) -> list[str]:
    """Return the names of the constraints that keep t from being positive; none if it can be."""
    t = cp.Variable(name="t")
    relaxed = {name: [_with_room(term, t) for term in group] for name, group in declaration.constraints.items()}
    for name, variable in declaration.variables.items():
        if variable.attributes["PSD"]:
            relaxed[name_of_cone(name, declaration)] = [variable >> t * np.eye(variable.shape[0])]
        lower, upper = (np.broadcast_to(bound, variable.shape) for bound in variable.get_bounds())
        for bound, sign in ((lower, 1.0), (upper, -1.0)):
            if np.isfinite(bound).any():
                where = np.isfinite(bound)
                relaxed.setdefault(f"the bounds of {name}", []).append(
                    cp.multiply(where, sign * (variable - np.where(where, bound, 0.0)) - t) >= 0
                )
    problem = cp.Problem(cp.Maximize(t), [term for group in relaxed.values() for term in group] + [t <= 1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver="CLARABEL")
    except (cp.SolverError, CvxlinkError, ValueError, ArithmeticError):
        return []
    if problem.status not in ("optimal", "optimal_inaccurate") or t.value is None or float(t.value) > NO_ROOM:
        return []
    weights = {name: sum(map(_size, group)) for name, group in relaxed.items()}
    total = sum(weights.values())
    return [name for name, weight in weights.items() if weight > BLAMELESS * total]


def _with_room(term: Any, t: cp.Variable) -> Any:
    """Return a constraint that leaves room t, where it is an inequality."""
    if isinstance(term, cp.constraints.PSD) and len(term.shape) == 2:
        return term.args[0] - t * np.eye(term.shape[0]) >> 0
    if isinstance(term, cp.constraints.Inequality):
        return term.args[0] - term.args[1] + t <= 0
    return term


def _size(term: Any) -> float:
    """Return the size of the multipliers of a constraint."""
    dual = term.dual_value
    parts = dual if isinstance(dual, list | tuple) else [dual]
    return sum(float(np.abs(part).sum()) for part in parts if part is not None)
