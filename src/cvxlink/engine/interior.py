r"""Whether a program has a strictly feasible point, and which constraints leave no room for one.

Without an interior (Slater's condition) multipliers need not exist, and solvers stall. Reductions restore it where they
see why it is missing. For the rest a small program is solved, :math:`\max t` subject to the equations,
:math:`g(x) \le -t` for each inequality and :math:`E(x) \succeq tI` for each matrix inequality. Where t cannot be
positive, its multipliers say which constraints are to blame. A solver cannot tell no room from hardly any; there is
none if multipliers w in the dual cone have :math:`M^\top w = 0` and :math:`a^\top w = 0` without any rounding.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import cvxpy as cp
import numpy as np

from ..certificates.conic_system import ConicSystem
from ..certificates.facial_contradiction import has_no_interior
from ..certificates.verdicts import LARGEST
from ..errors import CvxlinkError, ReductionRefused
from ..model.declared import Declaration
from ..programs.base import Program
from ..programs.declared import SpecialProgram, name_of_cone
from ..programs.linear_sdp import LinearSDP
from ..reductions.standard_form import StandardForm

# Larger programs are not tried: explain() should not take long.
MOST_ROWS = 2000
MOST_UNKNOWNS = 2000
# A solver's t below this counts as zero, and multipliers below the second number, of one in total, as absent.
NO_ROOM = 1e-6
BLAMELESS = 1e-3
# How accurately t is computed, and from where on it is more than the solver's rounding.
ACCURACY = 1e-11
SEEN = 1e-10


def missing_interior(program: Program) -> str:
    """Return in words which constraints leave no strictly feasible point, or nothing if there is one or it is open."""
    if isinstance(program, SpecialProgram) or not program.convex:
        return ""
    sizes = program.sizes
    if sizes.equations + sizes.inequalities > MOST_ROWS or sizes.unknowns > MOST_UNKNOWNS:
        return ""
    if isinstance(program, LinearSDP) and program.interior_point is not None and not sizes.inequalities:
        return ""
    room, groups = _without_room(program.declaration)
    if not groups:
        return ""
    named = " and ".join([", ".join(map(repr, groups[:-1])), repr(groups[-1])]) if len(groups) > 1 else repr(groups[0])
    leave = "leave" if len(groups) > 1 else "leaves"
    if _is_proven(program.declaration):
        return (
            f"no interior: {named} {leave} no point at which all inequalities hold strictly, so multipliers may not "
            f"exist, and solvers may stall"
        )
    about = f"about {room:.0e}" if room > SEEN else f"less than {SEEN:.0e}, perhaps none"
    return (
        f"almost no interior: {named} {leave} almost no room ({about}) for all inequalities to hold strictly, so "
        f"multipliers may be huge, and solvers may stall"
    )


def _is_proven(declaration: Declaration) -> bool:
    """Whether it is certain that no point satisfies all inequalities strictly."""
    with suppress(ReductionRefused):
        form = StandardForm.as_declared(declaration, LARGEST)
        return has_no_interior(ConicSystem.of(form))
    return False


def _without_room(declaration: Declaration) -> tuple[float, list[str]]:
    """Return the largest t, and the names of the constraints that keep it from being positive; none if it can be."""
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
            problem.solve(solver="CLARABEL", tol_gap_abs=ACCURACY, tol_gap_rel=ACCURACY, tol_feas=ACCURACY)
    except (cp.SolverError, CvxlinkError, ValueError, ArithmeticError):
        return 0.0, []
    if problem.status not in ("optimal", "optimal_inaccurate") or t.value is None or float(t.value) > NO_ROOM:
        return 0.0, []
    weights = {name: sum(map(_size, group)) for name, group in relaxed.items()}
    total = sum(weights.values())
    return float(t.value), [name for name, weight in weights.items() if weight > BLAMELESS * total]


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
