"""Clarabel, called on the matrices of a small program: CVXPY's way to it and back would take longer than it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import clarabel
import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.matrices import joined_multipliers
from ..numerics.threads import on_threads
from ..programs.declared import name_of_cone, semidefinite_variable
from ..programs.status import Status
from ..reductions.cones import clarabel_cones, solved_by_clarabel, unpacked
from ..reductions.standard_form import StandardForm
from .isolation import Ended, Limits
from .route import Attempt, resources_of

# Programs with more unknowns or rows go through CVXPY, which knows more ways to write them.
LARGEST = 2000
SOLVER = "CLARABEL"
STATUSES = {
    clarabel.SolverStatus.Solved: Status.OPTIMAL,
    clarabel.SolverStatus.AlmostSolved: Status.INACCURATE,
    clarabel.SolverStatus.PrimalInfeasible: Status.INFEASIBLE,
    clarabel.SolverStatus.AlmostPrimalInfeasible: Status.INFEASIBLE,
    clarabel.SolverStatus.DualInfeasible: Status.UNBOUNDED,
    clarabel.SolverStatus.AlmostDualInfeasible: Status.UNBOUNDED,
    clarabel.SolverStatus.MaxIterations: Status.LIMIT,
    clarabel.SolverStatus.MaxTime: Status.LIMIT,
}
# How CVXPY calls these outcomes.
WORDS = {
    Status.OPTIMAL: cp.OPTIMAL,
    Status.INACCURATE: cp.OPTIMAL_INACCURATE,
    Status.INFEASIBLE: cp.INFEASIBLE,
    Status.UNBOUNDED: cp.UNBOUNDED,
    Status.LIMIT: cp.USER_LIMIT,
}


def run_directly(declaration: Declaration, options: Mapping[str, Any], limits: Limits, verbose: bool) -> Attempt | None:
    """Solve a small program, or return None if it is not one, or if Clarabel gives up."""
    began = perf_counter()
    try:
        form = StandardForm.of(declaration, LARGEST)
    except ReductionRefused:
        return None
    if any(P is not None and P.shape[1] < P.shape[0] for P in form.faces.values()):
        return None  # multipliers on a face are not those that were declared
    compiled = perf_counter() - began
    settings = clarabel.DefaultSettings()
    settings.verbose = verbose
    for name, value in options.items():
        setattr(settings, name, value)
    zero = sp.csc_matrix((len(form.cost), len(form.cost)))
    cones = clarabel_cones(form.blocks)
    with on_threads(limits.threads):
        solution = solved_by_clarabel(zero, form.cost, sp.csc_matrix(-form.M), form.a, cones, settings)
    if solution is None:
        return None
    status = STATUSES.get(solution.status)
    if status is None:
        return None
    z, w = np.asarray(solution.x), np.asarray(solution.z)
    has_point = status.has_answer and bool(np.isfinite(z).all() and np.isfinite(w).all())
    if status.has_answer and not has_point:
        return None
    resources = resources_of(Ended(None), limits, False)
    spent = perf_counter() - began - compiled
    reason = f"{SOLVER} reported {WORDS[status]!r}"
    if not has_point:
        attempt = Attempt(status, reason, {}, {}, compiled, spent, solution.iterations, resources=resources)
        if status is Status.INFEASIBLE:
            return replace(attempt, conic=w)
        return replace(attempt, direction=z) if status is Status.UNBOUNDED else attempt
    values, duals = form.point(z), _multipliers(declaration, form, w)
    return Attempt(status, reason, values, duals, compiled, spent, solution.iterations, resources=resources, conic=w)


def _multipliers(declaration: Declaration, form: StandardForm, w: np.ndarray) -> dict[str, Any]:
    """Return the multipliers of the declared constraints, in our convention."""
    sign = -1.0 if isinstance(declaration.objective, cp.Maximize) else 1.0
    duals: dict[str, Any] = {}
    for name, group in declaration.constraints.items():
        duals[name] = joined_multipliers([_multiplier(term, declaration, form, w, sign) for term in group])
    for name, block in form.matrices.items():
        if declaration.variables[name].attributes["PSD"]:
            duals[name_of_cone(name, declaration)] = unpacked(w[block.rows], block.order)
    return duals


def _multiplier(term: Any, declaration: Declaration, form: StandardForm, w: np.ndarray, sign: float) -> Any:
    constraints = cp.constraints
    owner = semidefinite_variable(term, declaration.variables)
    if owner is not None:
        block = form.matrices[owner]
        return unpacked(w[block.rows], block.order)
    flat = form.owners[term.id].transposed_times(w)
    if isinstance(term, constraints.PSD):
        return flat.reshape(term.shape, order="F")
    if isinstance(term, constraints.Equality | constraints.Zero | constraints.Inequality):
        part = -flat if isinstance(term, constraints.Inequality) else flat
        return sign * part.reshape(term.shape or (1,), order="F")
    if isinstance(term, constraints.SOC | constraints.ExpCone | constraints.PowCone3D):
        sizes = [arg.size for arg in term.args[: 2 if isinstance(term, constraints.SOC) else 3]]
        return np.split(flat, np.cumsum(sizes)[:-1])
    return flat.reshape(term.shape or (1,), order="F")
