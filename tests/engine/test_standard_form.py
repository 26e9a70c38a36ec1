"""The form "standard": the printed semidefinite program as SDPA's format holds it, with nothing reduced."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.solvers.catalogue import installed_solvers
from cvxlink.solvers.files.sdpa import read_sdpa

SOLVERS = [name for name in ("CSDP", "SDPA", "SDPA-CLI", "DSDP", "CLARABEL", "SCS") if name in installed_solvers()]


def program(n=30, must=0, cannot=12):
    """PCP on flowers with links drawn from the classes; equation (1) has n + |M| + |C| rows."""
    X, y = cl.datasets.load("iris")
    X, y = X[:: 150 // n][:n], y[:: 150 // n][:n]
    rng = np.random.default_rng(0)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    rng.shuffle(pairs)
    together = [(i, j) for i, j in pairs if y[i] == y[j]][:must]
    apart = [(i, j) for i, j in pairs if y[i] != y[j]][:cannot]
    return cl.PCP(cl.Graph.knn(X), cl.Links(n, must=together, cannot=apart))


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n", [25, 37])
def test_every_solver_finds_the_proven_optimum(n, solver):
    problem = program(n)
    proven = problem.solve(accuracy=1e-7)
    solution = problem.solve(solver=solver, form="standard", accuracy=1e-4)
    certificate = solution.certificate
    assert solution.status is cl.Status.OPTIMAL and solution.plan.form == "standard"
    # The certificate is of the declared program, whoever solved it, and both prove the same number.
    assert certificate.lower_bound <= proven.certificate.upper_bound + 1e-9
    assert certificate.upper_bound >= proven.certificate.lower_bound - 1e-9
    assert abs(solution.value - proven.value) <= 1e-4 * (1 + abs(proven.value))
    again = cl.certify(problem, solution.values, solution.duals)
    assert again.lower_bound == pytest.approx(certificate.lower_bound, abs=1e-9)


def test_the_file_holds_the_printed_equations_and_no_others(tmp_path):
    problem = program(30, must=4, cannot=5)
    path = tmp_path / "printed.dat-s"
    problem.export(path, form="standard", presolve=False)
    listed = read_sdpa(path)
    # One variable of the format per row, one block of the order of K, nothing per entry of K.
    assert len(listed.c) == 30 + 4 + 5 and listed.sizes == (30,)
    assert (problem.explain(form="standard", solver="CSDP").program.sizes.unknowns) == 39
    reduced = problem.explain(form="dual", solver="CSDP").program.sizes
    assert reduced.unknowns < 39 and reduced.psd[0] < 30


def test_presolve_changes_nothing_and_the_plan_says_what_is_handed_over():
    problem = program(15, must=3, cannot=3)
    for presolve in (True, False):
        plan = problem.explain(solver="CLARABEL", form="standard", presolve=presolve)
        assert plan.program.sizes.unknowns == 15 + 6 and plan.program.sizes.psd == (15,)
        assert "the printed program without reductions, 21 rows" in " ".join(str(plan).split())


def test_inequalities_keep_their_signs():
    K = cp.Variable((6, 6), symmetric=True, name="K")
    C = np.cos(np.arange(36).reshape(6, 6))
    rows = [cp.diag(K) == 1, K[0, 1] <= -0.2, K[2, 3] >= 0.3, K >> 0]
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.trace((C + C.T) @ K)), rows))
    assert "standard" in problem.forms
    values = [problem.solve(solver=name, form=form).value for name, form in (("CLARABEL", "standard"), ("SCS", None))]
    assert values[0] == pytest.approx(values[1], abs=1e-3)
    maximised = cl.wrap(cp.Problem(cp.Maximize(-cp.trace((C + C.T) @ K)), rows))
    assert maximised.solve(solver="CLARABEL", form="standard").value == pytest.approx(-values[0], abs=1e-3)


@pytest.mark.parametrize("name", ["minkl_one_bound", "llgc_two_points", "improved_order_iris"])
def test_programs_that_are_no_linear_semidefinite_ones_refuse_it(name):
    problem = cl.instances.load(name).problem
    assert "standard" not in problem.forms
    with pytest.raises(cl.FormUnavailable, match="has no form 'standard'"):
        problem.solve(solver="SCS", form="standard")
