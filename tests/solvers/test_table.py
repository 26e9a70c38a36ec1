"""The table of solvers: what it says is so."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

import cvxlink as cl
from cvxlink.solvers import table as solver_table
from cvxlink.solvers.catalogue import SOLVERS, installed_solvers, kinds_of, known_solvers, solver_options, suggested
from cvxlink.solvers.through_cvxpy import call_cvxpy, interpreted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table():
    return cl.solvers()


def test_every_solver_that_is_installed_works_or_says_why_not(table):
    for solver in table:
        if solver.installed:
            assert set(solver.works) == set(solver.takes) and solver.takes
            for kind, verdict in solver.works.items():
                licence = verdict == "no licence" and solver.licence == "commercial"
                known = (solver.name, kind) == ("COPT", "logarithms")
                assert verdict == "yes" or licence or known, (solver.name, kind, verdict)
        else:
            assert solver.works == {} and solver.get


def test_copts_wrong_answer_to_logarithms_is_noticed(table):
    if not table["COPT"].installed:
        pytest.skip("coptpy is not installed; pip install 'cvxlink[copt]'")
    assert table["COPT"].works["logarithms"].startswith("wrong")
    assert table["COPT"].usable == ("semidefinite", "quadratic", "linear")
    problem = cl.MinKL(np.eye(10), cl.Links(10, must=[(0, 1)]), must_bound=0.5)
    solution = problem.solve(solver="COPT", strict=False)
    assert solution.status is cl.Status.ERROR and "multiple of the prior satisfies all bounds" in solution.reason
    with pytest.raises(cl.SolverUnavailable, match="installed solvers that can: CLARABEL, SCS") as told:
        problem.solve(solver="CVXOPT")
    assert "COPT" not in str(told.value)


def test_a_solver_that_is_wrong_is_noticed(monkeypatch):
    declaration, optimum = solver_table.SMOKE["semidefinite"]()
    monkeypatch.setitem(solver_table.SMOKE, "semidefinite", lambda: (declaration, optimum + 2e-4))
    assert solver_table._verdicts("CLARABEL")["semidefinite"].startswith("wrong: 0.27346 instead of 0.27366")
    assert solver_table._verdicts("CLARABEL")["quadratic"] == "yes"


def test_a_solver_that_crashes_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "csdp").write_text("#!/bin/sh\nkill -SEGV $$\n")
    (tmp_path / "csdp").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert "SIGSEGV" in solver_table.try_out("CSDP")["semidefinite"]


def test_what_is_known_of_solvers(table):
    names = table.names()
    assert {"CLARABEL", "SCS", "CVXOPT", "SDPA", "CSDP", "SDPA-CLI", "DSDP", "MOSEK", "COPT"} <= set(names)
    assert {*cp.installed_solvers(), *SOLVER_MAP_CONIC, *SOLVER_MAP_QP} <= set(names)
    assert all(table[name].installed and table[name].usable for name in cp.installed_solvers() if name != "MOSEK")
    assert table["SCIPY"].takes == table["GLOP"].takes == ("linear",) and "ortools" in table["GLOP"].get
    clarabel = table["CLARABEL"]
    assert clarabel.installed and clarabel.version and clarabel.cones == ("second-order", "exponential", "semidefinite")
    assert table["OSQP"].takes == ("quadratic", "linear") and table["OSQP"].warm_start
    assert table["CSDP"].cones == ("semidefinite",)
    with pytest.raises(cl.InvalidInput, match="no solver 'CSPD'; there are CLARABEL"):
        table["CSPD"]
    assert "CLARABEL" in str(table) and "interior" in str(table)


def test_the_table_without_trying_anything(monkeypatch):
    monkeypatch.setattr(solver_table, "try_out", lambda name: pytest.fail("a solver was tried"))
    assert all(solver.works == {} for solver in cl.solvers(check=False))


@pytest.mark.parametrize("name", [name for name in installed_solvers() if name != "MOSEK"])
def test_what_is_said_of_reports_is_so(name):
    kind = kinds_of(name)[0]
    attempt = interpreted(call_cvxpy(solver_table.SMOKE[kind]()[0], name, {}, verbose=False), name)
    assert (attempt.iterations is not None) == ("iterations" in SOLVERS[name].reports)


def test_something_is_known_of_every_solver_that_cvxpy_can_reach(table):
    assert set(known_solvers()) == set(SOLVERS)
    assert all(solver.kind and solver.licence and solver.get for solver in table)
    assert table["MOREAU"].takes == table["CLARABEL"].takes == ("semidefinite", "logarithms", "quadratic", "linear")
    assert {name for name in SOLVERS if "semidefinite" in kinds_of(name)} >= {"MOREAU", "COSMO", "KNITRO", "DIFFCP"}


def test_a_solver_that_is_new_to_cvxpy_is_listed_without_notes(monkeypatch):
    monkeypatch.delitem(SOLVERS, "MOREAU")
    assert known_solvers()[-1] == "MOREAU" and "MOREAU" in cl.solvers(check=False).names()


@pytest.mark.skipif(
    "MOREAU" not in installed_solvers(), reason="moreau is not installed; pip install 'cvxlink[solvers]'"
)
def test_moreau_solves_logarithms_and_quadratics_as_clarabel_does():
    X, y = cl.datasets.load("iris")
    graph, links = cl.Graph.knn(X[::15], 5), cl.Links.sample(y[::15], n_links=4, random_state=0)
    for problem in (
        cl.MinKL(graph.kernel() + np.eye(10), links, must_bound=0.5, cannot_bound=1.0),
        cl.SRCP(graph, links),
    ):
        values = [problem.solve(solver=name, accuracy=1e-6).value for name in ("MOREAU", "CLARABEL")]
        assert values[0] == pytest.approx(values[1], rel=1e-5)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-6])
@pytest.mark.parametrize("name", [name for name in cl.installed_sdp_solvers() if name != "MOSEK"])
def test_one_accuracy_means_the_same_to_all(name, accuracy):
    X, y = cl.datasets.load("iris")
    problem = cl.PCP(cl.Graph.knn(X[::5]), cl.Links.sample(y[::5], per_class=3, random_state=0))
    solution = problem.solve(solver=name, accuracy=accuracy)
    assert solution.status is cl.Status.OPTIMAL and solution.certificate.holds(accuracy)
    assert solution.options  # it was told


def test_options_of_one_name_are_joined():
    options = solver_options("MOSEK", 1e-6, 2, {"mosek_params": {"MSK_IPAR_LOG": 1}, "other": 3})
    assert options["other"] == 3
    assert options["mosek_params"]["MSK_IPAR_NUM_THREADS"] == 2 and options["mosek_params"]["MSK_IPAR_LOG"] == 1
    assert options["mosek_params"]["MSK_DPAR_INTPNT_CO_TOL_REL_GAP"] <= 1e-6
    assert solver_options("SCS", 1e-6, None, {"eps_abs": 1})["eps_abs"] == 1
    assert solver_options("NOSUCH", 1e-6, 2, {}) == {}


def test_a_solver_without_a_licence_is_not_suggested(monkeypatch, tmp_path):
    monkeypatch.delenv("MOSEKLM_LICENSE_FILE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert suggested(["CLARABEL", "MOSEK", "SCS"]) == ["CLARABEL", "SCS"]
    monkeypatch.setenv("MOSEKLM_LICENSE_FILE", "27007@server")
    assert suggested(["CLARABEL", "MOSEK", "SCS"]) == ["CLARABEL", "MOSEK", "SCS"]
    monkeypatch.delenv("MOSEKLM_LICENSE_FILE")
    x = cp.Variable(2, name="x", pos=True)
    logarithms = cl.wrap(cp.Problem(cp.Minimize(cp.sum(x) - cp.sum(cp.log(x)))))
    for asked in ("SDPA", "NOSUCH"):
        with pytest.raises(cl.SolverUnavailable) as told:
            logarithms.solve(solver=asked)
        assert "CLARABEL" in str(told.value) and "MOSEK" not in str(told.value)


@pytest.mark.parametrize("name", [name for name in installed_solvers() if kinds_of(name) == ("linear",)])
def test_solvers_for_linear_programs_are_refused_others_in_a_sentence(name):
    x = cp.Variable(3, name="x")
    linear = cl.wrap(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1]))
    assert linear.solve(solver=name).value == pytest.approx(3)
    with pytest.raises(cl.SolverUnavailable, match=f"{name} cannot take this program"):
        cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1])).solve(solver=name)
