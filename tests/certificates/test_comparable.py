"""Errors that mean the same for every kind of program: DIMACS where it is defined, and the Lagrangian elsewhere."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.certificates.comparable import comparable_errors


def errors_at(problem, values, duals):
    return comparable_errors(problem.program, values, duals, cl.certify(problem, values, duals))


def test_for_linear_semidefinite_programs_they_are_the_dimacs_errors():
    problem = cl.instances.load("path_ends_apart").problem
    solution = problem.solve(solver="SCS", accuracy=1e-3)
    d = solution.certificate.dimacs
    assert solution.errors.basis == "DIMACS"
    assert solution.errors.primal == max(d[:2]) and solution.errors.dual == max(d[2:4])
    assert (solution.errors.gap, solution.errors.complementarity) == (abs(d[4]), abs(d[5]))


@pytest.mark.parametrize("size", [0.0, 1e-5, 1e-2])
def test_the_lagrangian_gives_the_dimacs_errors_as_well(size):
    # Multipliers and point are spoiled, so that no error is just rounding.
    pcp = cl.PCP(cl.Graph.from_affinity(np.ones((4, 4)) - np.eye(4)), cl.Links(4, cannot=[(0, 1)]), normalized=False)
    solution, rng = pcp.solve(accuracy=1e-7), np.random.default_rng(0)
    values = {"K": solution.values["K"] + size * np.diag(rng.random(4))}
    duals = {name: np.asarray(dual) + size * (rng.random(np.shape(dual))) for name, dual in solution.duals.items()}
    duals["psd"] = (duals["psd"] + duals["psd"].T) / 2
    certificate = cl.certify(pcp, values, duals)
    dimacs = comparable_errors(pcp.program, values, duals, certificate)
    lagrangian = comparable_errors(pcp.program, values, duals, replace(certificate, dimacs=None))
    assert (dimacs.basis, lagrangian.basis) == ("DIMACS", "Lagrangian")
    assert lagrangian.primal == pytest.approx(dimacs.primal, rel=1e-6, abs=1e-12)
    assert lagrangian.dual == pytest.approx(dimacs.dual, rel=1e-6, abs=1e-9)
    assert lagrangian.complementarity == pytest.approx(dimacs.complementarity, rel=0.05, abs=1e-7)


def test_without_constraints_the_dual_error_is_the_gradient():
    problem = cl.instances.load("llgc_two_points").problem
    f = problem.solve().values["f"]
    moved = f + 0.01
    found = errors_at(problem, {"f": moved}, {})
    gradient = numerical(problem, moved)
    expected = np.linalg.norm(gradient) / (1 + abs(gradient).max())
    assert found.dual == pytest.approx(expected, rel=1e-4) and found.primal == found.complementarity == 0
    assert errors_at(problem, {"f": f}, {}).dual < 1e-12


def numerical(problem, f, step=1e-4):
    """Central differences are exact for quadratics, up to rounding."""
    found = np.zeros_like(f)
    for place in np.ndindex(f.shape):
        there, here = f.copy(), f.copy()
        there[place] += step
        here[place] -= step
        values = [cl.certify(problem, {"f": x}).value for x in (there, here)]
        found[place] = (values[0] - values[1]) / (2 * step)
    return found


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL", None])
@pytest.mark.parametrize("name", ["minkl_one_bound", "ccsr_two_points", "kp_cut_path", "sl_path"])
def test_they_are_small_at_optima_of_every_kind(name, solver):
    solution = cl.instances.load(name).problem.solve(solver=solver, accuracy=1e-6, strict=False)
    errors = solution.errors
    assert errors.primal < 1e-5 and errors.gap < 1e-4
    if solver is not None:
        assert errors.basis == "Lagrangian" and errors.dual < 1e-4 and errors.complementarity < 1e-4
    assert "primal" in str(errors) and "complementarity" in str(errors)


def test_each_error_sees_what_it_is_about():
    x = cp.Variable(2, name="x")
    rows = {"sum": [cp.sum(x) == 1], "least": [x[0] >= 0.8]}
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x)), [*rows["sum"], *rows["least"]]))
    solution = problem.solve(solver="CLARABEL", accuracy=1e-6)
    names = list(solution.duals)
    assert max(solution.errors.primal, solution.errors.dual, solution.errors.complementarity) < 1e-6
    assert errors_at(problem, {"x": [0.7, 0.3]}, solution.duals).primal == pytest.approx(0.1 / 2)
    spoiled = {name: np.asarray(dual) * (2 if name == names[1] else 1) for name, dual in solution.duals.items()}
    worse = errors_at(problem, solution.values, spoiled)
    assert worse.dual > 0.1 and worse.complementarity < 1e-6
    slack = errors_at(problem, {"x": [0.9, 0.1]}, solution.duals)
    assert slack.primal < 1e-12 and slack.complementarity > 0.01  # the price of a row that is not tight


def test_what_is_not_known_is_said():
    kinks = cl.instances.load("linked_cut_contradictions").problem.solve()
    assert kinks.errors.dual is None and "kinks" in kinks.errors.basis and kinks.errors.gap is not None
    route = cl.instances.load("ncuts_star").problem.solve()
    assert route.errors.dual is None and "no multipliers for 'trace'" in route.errors.basis
    assert "dual –" in str(route.errors)
    stopped = cl.instances.load("kp_path").problem.solve(solver="SCS", strict=False, solver_options={"max_iters": 1})
    assert stopped.errors is None or stopped.errors.primal > 0
