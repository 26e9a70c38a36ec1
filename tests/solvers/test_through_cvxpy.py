from __future__ import annotations

import os
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.solvers import through_cvxpy as backend
from cvxlink.solvers import through_cvxpy as running
from cvxlink.solvers.isolation import Limits, run_isolated
from helpers import SOLVERS
from helpers.processes import alive, descendants_of_this, until, with_helpers

pytestmark = pytest.mark.slow


def test_the_solvers_the_tests_need_are_installed():
    assert set(SOLVERS) <= set(cl.installed_sdp_solvers())


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nosuch", "no solver named 'nosuch'; installed for these problems: .*CLARABEL"),
        ("GUROBI", "GUROBI is not installed; get it with: pip install gurobipy"),
        ("ECOS", "ECOS is not installed"),
        ("OSQP", "OSQP cannot take this program"),
    ],
)
def test_unavailable_solvers_say_what_to_do(small_pcp, name, says):
    with pytest.raises(cl.SolverUnavailable, match=says):
        small_pcp.solve(solver=name)
    with pytest.raises(cl.SolverUnavailable, match=says):
        small_pcp.explain(solver=name)


def test_solver_names_may_be_in_small_letters(small_pcp):
    assert small_pcp.solve(solver="clarabel").plan.solver == "CLARABEL"


def test_mosek_without_a_licence_is_unavailable_not_a_crash(small_pcp, monkeypatch, tmp_path):
    monkeypatch.setenv("MOSEKLM_LICENSE_FILE", str(tmp_path / "none.lic"))
    with pytest.raises(cl.SolverUnavailable, match="no valid licence.*licence file"):
        small_pcp.solve(solver="MOSEK")


@pytest.mark.parametrize(
    ("reported", "status"),
    [
        ("optimal", cl.Status.OPTIMAL),
        ("optimal_inaccurate", cl.Status.INACCURATE),
        ("infeasible", cl.Status.INFEASIBLE),
        ("infeasible_inaccurate", cl.Status.INFEASIBLE),
        ("unbounded", cl.Status.UNBOUNDED),
        ("unbounded_inaccurate", cl.Status.UNBOUNDED),
        ("infeasible_or_unbounded", cl.Status.ERROR),
        ("user_limit", cl.Status.LIMIT),
        ("solver_error", cl.Status.ERROR),
        ("something new", cl.Status.ERROR),
    ],
)
def test_every_status_of_cvxpy_has_one_of_ours(reported, status):
    raw = backend.RawResult(status=reported, values={"x": np.zeros(2)})
    assert backend.interpreted(raw, "X").status is status


def test_cvxpy_knows_no_status_we_do_not():
    lists = (cp.settings.SOLUTION_PRESENT, cp.settings.ERROR, cp.settings.INF_OR_UNB)
    assert {status for statuses in lists for status in statuses} <= set(backend.STATUSES)


def test_an_answer_without_values_is_an_error():
    raw = backend.RawResult(status="optimal", values={"x": None})
    assert backend.interpreted(raw, "X").status is cl.Status.ERROR


@pytest.mark.parametrize(
    ("solver", "options"),
    [("SCS", {"max_iters": 3}), ("CLARABEL", {"max_iter": 2}), ("CVXOPT", {"max_iters": 2})],
)
def test_options_are_passed_through_and_an_iteration_limit_is_no_optimum(small_pcp, solver, options):
    solution = small_pcp.solve(solver=solver, solver_options=options, strict=False)
    # CVXPY passes on that SCS and Clarabel were cut short; of CVXOPT it only says that it failed.
    assert solution.status is (cl.Status.ERROR if solver == "CVXOPT" else cl.Status.LIMIT)
    assert solution.options.items() >= options.items()
    if solution.status is cl.Status.LIMIT:  # what was reached is there to look at
        assert solution.certificate.relative_gap > 1e-4 and solution.kernel.shape == (30, 30)
        with pytest.raises(cl.SolveFailed, match="stopped at a limit"):
            small_pcp.solve(solver=solver, solver_options=options)


def test_options_win_over_accuracy(small_pcp):
    loose = small_pcp.solve(solver="SCS", solver_options={"eps_abs": 1e-2, "eps_rel": 1e-2}, strict=False)
    tight = small_pcp.solve(solver="SCS", accuracy=1e-5)
    assert loose.iterations < tight.iterations
    assert loose.certificate.relative_gap > tight.certificate.relative_gap


def test_accuracy_none_leaves_the_tolerances_to_the_solver(small_pcp):
    assert small_pcp.solve(solver="SCS", accuracy=None, strict=False).options == {}


def test_an_unknown_option_is_reported_in_the_solvers_words(small_pcp):
    with pytest.raises(cl.SolveFailed, match="no_such_option"):
        small_pcp.solve(solver="SCS", solver_options={"no_such_option": 1})


def test_sdpa_keeps_quiet_unless_asked():
    # In a process of its own: where other threads may be printing, standard output is left alone.
    script = """
import cvxlink as cl
X, y = cl.datasets.load("iris")
problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=1))
problem.solve(solver="SDPA", accuracy=1e-6, verbose={})
"""
    quiet, asked = (
        subprocess.run([sys.executable, "-c", script.format(verbose)], capture_output=True, text=True, check=True)
        for verbose in (False, True)
    )
    assert quiet.stdout == "" and "primal < dual" in asked.stdout


def test_a_failing_solver_keeps_its_reason(small_pcp):
    solution = small_pcp.solve(solver="CVXOPT", form="paper", presolve=False, strict=False)
    assert solution.status is cl.Status.ERROR and "CVXOPT" in solution.reason
    with pytest.raises(cl.SolveFailed, match="the solver failed.*presolve=True"):
        small_pcp.solve(solver="CVXOPT", form="paper", presolve=False)


def test_a_child_gives_the_same_answer_as_no_child(small_pcp):
    here = small_pcp.solve(solver="CLARABEL")
    there = small_pcp.solve(solver="CLARABEL", time_limit=600)
    assert there.value == here.value
    np.testing.assert_array_equal(there.kernel, here.kernel)
    assert there.timings.solve > 0


@pytest.fixture(scope="module")
def slow() -> cl.PCP:
    """Unreduced, this takes every solver a minute or more."""
    X, y = cl.datasets.load("iris")
    return cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_time_limit_really_stops_every_solver(slow, solver):
    run_isolated(int, (), Limits(), "a first task, which starts the worker")
    before = descendants_of_this()  # joblib keeps some, and the worker stays
    solution = slow.solve(solver=solver, form="paper", presolve=False, time_limit=1, strict=False)
    assert solution.status is cl.Status.LIMIT
    assert "stopped after 1 s" in solution.reason
    assert until(lambda: descendants_of_this() <= before)


class Aborts:
    """It ends the process that reads it."""

    def __reduce__(self):
        return os.abort, ()


@pytest.mark.parametrize("how", [{"isolate": True}, {"time_limit": 600}])
def test_a_crash_in_the_child_is_an_error_with_its_signal(small_pcp, how):
    solution = small_pcp.solve(solver="CLARABEL", solver_options={"max_iter": Aborts()}, strict=False, **how)
    assert solution.status is cl.Status.ERROR
    assert "SIGABRT" in solution.reason


def test_files_in_the_working_folder_do_not_reach_the_child(small_pcp, monkeypatch, tmp_path):
    (tmp_path / "cvxpy.py").write_text("raise ImportError('the wrong cvxpy')")
    monkeypatch.chdir(tmp_path)
    assert small_pcp.solve(solver="CLARABEL", time_limit=600).status is cl.Status.OPTIMAL


def test_no_child_outlives_its_parent():
    script = """
import cvxlink as cl, os, signal, threading, time
from helpers.processes import descendants_of_this, until
X, y = cl.datasets.load("iris")
problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0))

def die_once_the_child_runs():
    assert until(lambda: len(descendants_of_this()) == 3)
    time.sleep(1)
    print(*descendants_of_this(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=die_once_the_child_runs, daemon=True).start()
problem.solve(solver="CLARABEL", form="paper", presolve=False, time_limit=500)
"""
    parent = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=with_helpers())
    assert parent.returncode == -9, parent.stderr
    left = {int(word) for word in parent.stdout.split()}
    assert len(left) == 3 and until(lambda: not left & alive(), 60)


def test_a_verdict_that_can_be_refuted_is_not_passed_on(monkeypatch, small_pcp):
    honest = backend.call_cvxpy
    for reported in ("infeasible", "unbounded"):

        def lying(*arguments, reported=reported):
            raw = honest(*arguments)
            raw.status = reported
            return raw

        monkeypatch.setattr(running, "call_cvxpy", lying)
        solution = small_pcp.solve(solver="CLARABEL", form="paper", strict=False)
        assert solution.status is cl.Status.ERROR
        assert "feasible point" in solution.reason or "bound the trace" in solution.reason


def test_an_answer_beyond_hope_is_an_error(small_pcp):
    solution = small_pcp.solve(solver="SDPA", solver_options={"maxIteration": 1}, strict=False)
    assert solution.status is cl.Status.ERROR and "relative gap" in solution.reason


def test_solving_in_threads_leaves_standard_output_alone(capfd, small_pcp):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        values = [s.value for s in pool.map(lambda _: small_pcp.solve(solver="SDPA"), range(8))]
    print("still here", flush=True)
    assert "still here" in capfd.readouterr().out
    np.testing.assert_allclose(values, values[0], atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"accuracy": "x"}, "accuracy"),
        ({"presolve": "no"}, "presolve"),
        ({"solver_options": "x"}, "dictionary"),
        ({"solver_options": {"verbose": True}}, r"solve\(verbose=…\)"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(small_pcp, arguments, says):
    with pytest.raises(cl.InvalidInput, match=says):
        small_pcp.solve(**arguments)


def test_solutions_can_be_pickled(small_pcp):
    import pickle

    solution = small_pcp.solve()
    again = pickle.loads(pickle.dumps(solution))
    assert again.value == solution.value and str(again.plan) == str(solution.plan)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "60"])
def test_a_senseless_time_limit_is_refused(small_pcp, limit):
    with pytest.raises(cl.InvalidInput, match="time_limit"):
        small_pcp.solve(time_limit=limit)


@pytest.mark.parametrize("accuracy", [0, -1, 1, 5, float("nan")])
def test_a_senseless_accuracy_is_refused(small_pcp, accuracy):
    with pytest.raises(cl.InvalidInput, match="accuracy"):
        small_pcp.solve(accuracy=accuracy)


def test_the_default_solver_depends_on_what_is_installed_and_on_density(monkeypatch):
    from cvxlink.solvers import catalogue

    X, y = cl.datasets.load("iris")
    links = cl.Links.sample(y, per_class=3, random_state=0)
    sparse, dense = cl.PCP(cl.Graph.knn(X), links), cl.PCP(cl.Graph.rbf(X), links)
    assert sparse.explain(form="dual").solver == "SDPA"
    monkeypatch.setattr(catalogue.cp, "installed_solvers", lambda: ["CLARABEL", "SCS"])
    plan = sparse.explain(form="dual")
    assert plan.solver == "CLARABEL" and "sparse" in plan.why
    plan = dense.explain(form="dual")
    assert plan.solver == "SCS" and "dense" in plan.why


def test_every_status_says_what_it_means():
    for status in cl.Status:
        assert status.sentence
        assert status.remedy or status is cl.Status.OPTIMAL


@pytest.mark.parametrize("burnt", [0, 1, 4, 9])
def test_a_child_does_not_mistake_its_own_expressions_for_those_it_was_given(burnt):
    # CVXPY numbers expressions from 1 in each process; in the child they would meet those of the declaration.
    script = f"""
import cvxpy as cp, cvxlink as cl
X, y = cl.datasets.load("iris")
graph, links = cl.Graph.knn(X[::5], n_neighbors=5), cl.Links.sample(y[::5], per_class=2, random_state=1)
for _ in range({burnt}): cp.Variable()
for problem in (cl.CCSR(graph, links, order=4), cl.SRCP(graph, links)):
    solution = problem.solve(solver="CLARABEL", time_limit=600)
    assert abs(solution.value - problem.solve().value) < 1e-5, solution
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_solver_that_stalls_gets_a_second_try_and_the_reason_says_so(small_pcp, monkeypatch):
    from cvxlink.engine import solve as module
    from cvxlink.solvers.route import Attempt

    tried = []

    def stalling(program, solver, options, limits, isolated, verbose):
        tried.append(options)
        if len(tried) == 1:
            return Attempt(cl.Status.ERROR, f"{solver}: stalled", solve_seconds=1.0, gave_up=gave_up)
        return run_solver(program, solver, options, limits, isolated, verbose)

    run_solver, gave_up = module.run_solver, True
    monkeypatch.setattr(module, "run_solver", stalling)
    solution = small_pcp.solve(solver="CLARABEL")
    assert solution.status is cl.Status.OPTIMAL and "with looser tolerances after it had stalled" in solution.reason
    assert tried[1]["tol_feas"] == solution.options["tol_feas"] > tried[0]["tol_feas"]
    for asked in ({"solver": "SCS"}, {"solver": "CLARABEL", "solver_options": {"tol_feas": 1e-9}}):
        tried.clear()  # others do not stall, and options that were asked for are not changed
        assert small_pcp.solve(**asked, strict=False).status is cl.Status.ERROR and len(tried) == 1
    gave_up = False  # a crash is no reason to try again
    tried.clear()
    assert small_pcp.solve(solver="CLARABEL", strict=False).status is cl.Status.ERROR and len(tried) == 1
