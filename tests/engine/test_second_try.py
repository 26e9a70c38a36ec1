"""Another solver is asked where the one that was chosen automatically proves nothing, and the reason says so."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.engine import finishing, solve
from cvxlink.solvers.route import Attempt
from helpers.programs import Program, kernel


def on_sphere(more=lambda K: {}):
    """Return unit vectors with a price for being near to one another."""

    def near(K):
        return cp.sum(cp.pos(K - 0.2)) + cp.sum_squares(K[0])

    return Program(kernel, near, lambda K: {"unit": cp.diag(K) == 1, **more(K), "psd": K >> 0})


@pytest.fixture
def problem():
    return on_sphere()


@pytest.fixture
def failing(monkeypatch):
    """Return a function that lets some solvers fail, and the list of those that were asked through CVXPY."""
    asked: list[str] = []

    def let_fail(*names):
        real = solve.run_solver

        def run(program, solver, *rest):
            asked.append(solver)
            return Attempt(cl.Status.ERROR, f"{solver} failed") if solver in names else real(program, solver, *rest)

        monkeypatch.setattr(solve, "run_solver", run)
        monkeypatch.setattr(solve, "run_directly", lambda *_: None)
        monkeypatch.setattr(finishing, "repaired", lambda *_: None)
        return asked

    return let_fail


def test_the_other_solver_answers(problem, failing):
    optimum = problem.solve().value
    asked = failing("CLARABEL")
    solution = problem.solve()
    assert asked == ["CLARABEL", "SCS"] and solution.plan.solver == "SCS"
    assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(optimum, rel=1e-4)
    assert solution.reason.endswith("it was asked because CLARABEL ended ERROR")


def test_if_both_fail_the_first_outcome_is_told(problem, failing):
    asked = failing("CLARABEL", "SCS")
    solution = problem.solve(strict=False)
    assert asked == ["CLARABEL", "SCS"] and solution.status is cl.Status.ERROR
    assert solution.reason == "CLARABEL failed; SCS was asked as well and ended ERROR"


@pytest.mark.parametrize("choice", [{"solver": "CLARABEL"}, {"form": "declared"}, {"certify": False}])
def test_a_choice_of_the_user_is_kept(problem, failing, choice):
    asked = failing("CLARABEL")
    assert problem.solve(strict=False, **choice).status is cl.Status.ERROR
    assert asked == ["CLARABEL"]


def test_a_proven_verdict_is_not_asked_again(failing):
    asked = failing()
    problem = on_sphere(lambda K: {"low": K[0, 1] <= -0.8, "lower": K[1, 2] <= -0.8, "lowest": K[0, 2] <= -0.8})
    assert problem.solve(strict=False).status is cl.Status.INFEASIBLE  # three unit vectors cannot be so far apart
    assert asked in ([], ["CLARABEL"])


def test_a_first_order_method_gives_up_where_another_solver_can_be_asked(problem, failing, monkeypatch):
    told = []
    failing()
    real = solve.run_solver

    def run(program, solver, options, *rest):
        told.append(options)
        return real(program, solver, options, *rest)

    monkeypatch.setattr(solve, "run_solver", run)
    monkeypatch.setattr("cvxlink.engine.plan.choose_solver", lambda program: ("SCS", "it is asked for"))
    assert problem.solve().status is cl.Status.OPTIMAL
    problem.solve(solver="SCS")
    assert told[0]["max_iters"] < told[1]["max_iters"]
    assert np.isfinite(problem.solve().value)
