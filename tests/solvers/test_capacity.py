"""Cones hidden in functions are seen, and so is how much memory they take, before anything is compiled."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.model.hidden_cones import exponential_atoms, semidefinite_orders
from cvxlink.solvers import capacity
from cvxlink.solvers.licences import finds_mosek_licence
from helpers.written import Written

X, Y, x = cp.Variable((4, 4), symmetric=True), cp.Variable((3, 5)), cp.Variable(4)
FUNCTIONS = {
    "largest eigenvalue": cp.lambda_max(X),
    "largest eigenvalues": cp.lambda_sum_largest(X, 2),
    "nuclear norm": cp.normNuc(Y),
    "spectral norm": cp.sigma_max(Y),
    "fraction": cp.matrix_frac(x, X),
    "fraction of matrices": cp.matrix_frac(Y[:, :4].T, X),
    "trace of the inverse": cp.tr_inv(X),
    "log det": -cp.log_det(X),
    "entropy of a matrix": -cp.von_neumann_entr(X),
    "relative entropy of matrices": cp.quantum_rel_entr(X, np.eye(4) / 4),
    "entropy": -cp.sum(cp.entr(x)),
    "softmax": cp.log_sum_exp(x),
    "norm": cp.norm(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_the_cones_are_those_that_cvxpy_compiles(name):
    function = FUNCTIONS[name]
    dims = cp.Problem(cp.Minimize(function)).get_problem_data("SCS")[0]["dims"]
    assert max(semidefinite_orders(function), default=0) == max(dims.psd, default=0)
    assert bool(list(exponential_atoms(function))) == (dims.exp > 0)


def largest_eigenvalue(n: int) -> Written:
    return Written(
        lambda: {"d": cp.Variable(n)},
        lambda d: cp.Minimize(cp.lambda_max(np.ones((n, n)) + cp.diag(d))),
        dict_of_balance,
    )


def dict_of_balance(d):
    return {"balance": cp.sum(d) == 0}


def log_det(n: int) -> Written:
    return Written(
        lambda: {"K": cp.Variable((n, n), symmetric=True)}, lambda K: cp.Minimize(cp.trace(K) - cp.log_det(K))
    )


def test_a_large_block_hidden_in_a_function_is_not_for_an_interior_point_code():
    assert largest_eigenvalue(20).explain().solver == "CLARABEL"
    assert largest_eigenvalue(80).explain().solver == "SCS"
    nuclear = Written(lambda: {"A": cp.Variable((30, 50))}, lambda A: cp.Minimize(cp.normNuc(A - 1)))
    assert nuclear.explain().solver == "SCS"
    assert log_det(20).explain().solver == "CLARABEL" and log_det(40).explain().solver == "SCS"


@pytest.mark.parametrize(
    ("problem", "solver", "says"),
    [
        (largest_eigenvalue(5), "OSQP", "semidefinite block of order 5"),
        (log_det(4), "CSDP", r"logarithms or exponentials \(log_det\)"),
        (log_det(4), "CVXOPT", "installed solvers that can: CLARABEL, SCS"),
        (largest_eigenvalue(5), "HIGHS", "semidefinite block of order 5"),
    ],
)
def test_a_solver_that_does_not_take_the_cones_is_refused_before_anything_is_compiled(problem, solver, says):
    if solver not in {row.name for row in cl.solvers(check=False) if row.installed}:
        pytest.skip(f"{solver} is not installed")
    with pytest.raises(cl.SolverUnavailable, match=says):
        problem.explain(solver=solver)


def correlation(n: int) -> Written:
    return Written(
        lambda: {"K": cp.Variable((n, n), symmetric=True)},
        lambda K: cp.Minimize(cp.sum_squares(K - 0.5)),
        lambda K: {"unit": cp.diag(K) == 1, "psd": K >> 0},
    )


def test_what_would_not_fit_is_refused_with_another_way(monkeypatch):
    monkeypatch.setattr(capacity, "memory_there_is", lambda: 16 * capacity.GIGABYTE)
    with pytest.raises(cl.InvalidInput, match=r"CLARABEL would need .* block of order 400; use .*solver='SCS'"):
        correlation(400).explain(solver="CLARABEL", form="declared")
    assert "about 2.6 GB for a dense semidefinite block of order 120" in str(
        correlation(120).explain(solver="CLARABEL", form="declared")
    ).replace("\n   ", " ")
    assert correlation(400).explain(solver="SCS", form="declared").solver == "SCS"


def test_small_programs_fit_everywhere_and_unknown_solvers_are_not_judged():
    program = correlation(10).program
    assert all(capacity.fits(solver, program) for solver in ("CLARABEL", "SDPA", "CVXOPT", "SCS"))
    assert capacity.memory_needed("SCS", program) is None
    assert capacity.memory_there_is() > 0


def nonnegative(n: int) -> Written:
    """A dense block with as many inequalities as entries, so that its dual is no smaller."""
    return Written(
        lambda: {"K": cp.Variable((n, n), symmetric=True)},
        lambda K: cp.Minimize(cp.sum(cp.multiply(np.eye(n) - 0.5, K))),
        lambda K: {"unit": cp.diag(K) == 1, "free": K >= 0, "psd": K >> 0},
    )


INTERIOR_POINT = ["CLARABEL", "MOREAU", "SDPA", "CVXOPT", "CSDP", "SDPA-CLI", "DSDP", "COPT", "MOSEK"]


@pytest.mark.parametrize("solver", INTERIOR_POINT)
def test_every_interior_point_code_needs_at_least_a_dense_matrix_of_the_unknowns(solver):
    program = nonnegative(40).program
    free = program.sizes.unknowns - program.sizes.equations
    assert capacity.memory_needed(solver, program) >= 8 * free**2
    assert "GB for a dense semidefinite block of order 40" in capacity.memory_in_words(solver, program)


@pytest.mark.parametrize("solver", INTERIOR_POINT)
def test_a_refusal_offers_only_what_is_not_refused(solver, monkeypatch):
    if solver not in {row.name for row in cl.solvers(check=False) if row.installed}:
        pytest.skip(f"{solver} is not installed")
    if solver == "MOSEK" and not finds_mosek_licence():
        pytest.skip("MOSEK has no licence here, and is refused for that first")
    monkeypatch.setattr(capacity, "memory_there_is", lambda: 8.0 * 700**2)
    for problem, works in ((nonnegative(40), False), (correlation(45), False), (largest_gram(45), True)):
        with pytest.raises(cl.InvalidInput, match=f"{solver} would need more memory") as told:
            problem.explain(solver=solver, form="declared", presolve=False)
        assert ("form='dual'" in str(told.value)) == works
        if works:
            assert problem.explain(solver=solver, form="dual", presolve=False).form == "dual"


def largest_gram(n: int) -> Written:
    """Few rows, so that the dual is much smaller: its slack is a matrix with a free diagonal, and no entry of K."""
    path = np.eye(n) * 2 - np.eye(n, k=1) - np.eye(n, k=-1)
    return Written(
        lambda: {"K": cp.Variable((n, n), symmetric=True)},
        lambda K: cp.Minimize(cp.sum(cp.multiply(path, K))),
        lambda K: {"unit": cp.diag(K) == 1, "psd": K >> 0},
    )
