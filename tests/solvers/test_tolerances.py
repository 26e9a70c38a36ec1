"""One accuracy moves the tolerances of every solver as far as it can go; what was asked for is in the solution."""

from __future__ import annotations

import itertools

import pytest
import scs

import cvxlink as cl
from cvxlink.solvers import table
from cvxlink.solvers.catalogue import SOLVERS, installed_solvers, solver_options, takes_semidefinite, words_on_floor
from cvxlink.solvers.licences import known_refusal, remember_refusal
from cvxlink.solvers.tolerances import CEILING, Tolerances

ACCURACIES = (1e-2, 1e-4, 1e-6)
# Well-conditioned programs: one for solvers of semidefinite programs, one for the others.
SEMIDEFINITE, QUADRATIC = "kp_iris", "gfhf_iris"
CANDIDATES = [
    name for name in installed_solvers() if SOLVERS[name].tolerances is not None and name not in ("MOSEK", "HIGHS")
]
# Interior-point codes gain digits in a few steps; first-order methods need many.
MOST_GROWTH = {"first order": 40.0}


@pytest.mark.slow
@pytest.mark.parametrize("name", CANDIDATES)
def test_the_certified_gap_falls_with_the_accuracy(name):
    problem = cl.instances.load(SEMIDEFINITE if takes_semidefinite(name) else QUADRATIC).problem
    found = [problem.solve(solver=name, accuracy=accuracy, strict=False) for accuracy in ACCURACIES]
    asked = [max(solution.tolerances.values()) for solution in found]
    assert all(later < earlier for earlier, later in itertools.pairwise(asked))
    for accuracy, solution in zip(ACCURACIES, found, strict=True):
        assert solution.status is cl.Status.OPTIMAL and solution.certificate.relative_gap <= accuracy
    gaps = [max(solution.certificate.relative_gap, 1e-14) for solution in found]
    assert gaps[-1] <= gaps[0] and all(later <= 2 * earlier for earlier, later in itertools.pairwise(gaps)), gaps
    if takes_semidefinite(name):
        assert gaps[-1] < 0.5 * gaps[0]
    counts = [solution.iterations for solution in found]
    if None not in counts:
        assert counts[-1] <= MOST_GROWTH.get(SOLVERS[name].kind, 3.0) * counts[0], counts


@pytest.mark.parametrize("name", [name for name, notes in SOLVERS.items() if notes.tolerances is not None])
def test_tolerances_stay_between_floor_and_ceiling(name):
    notes = SOLVERS[name].tolerances
    sizes = [notes.at(accuracy) for accuracy in (0.5, 1e-2, 1e-4, 1e-6, 1e-8, 1e-14)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == CEILING and sizes[-1] == notes.floor
    assert sizes[2] < sizes[1] < 1e-2  # between everyday accuracies they move
    assert notes.at(notes.finest) == pytest.approx(notes.floor) and notes.at(10 * notes.finest) > notes.floor
    told = solver_options(name, 1e-4, None, {})
    assert notes.asked(told) == dict.fromkeys(notes.names, notes.at(1e-4))


def test_copt_is_told_by_the_options_that_its_interior_point_method_reads():
    coptpy = pytest.importorskip("coptpy", reason="coptpy is not installed; pip install 'cvxlink[copt]'")
    model = coptpy.Envr().createModel()
    for name in SOLVERS["COPT"].tolerances.names:
        assert model.getParamInfo(name)[-2] == 0.0  # the least that it takes
    assert not set(SOLVERS["COPT"].tolerances.names) & {"FeasTol", "DualTol", "RelGap"}  # of simplex and branching


def test_asking_beyond_the_floor_is_said():
    problem = cl.instances.load("kp_path").problem
    assert "tolerances" not in str(problem.explain(solver="CLARABEL", accuracy=1e-4))
    told = " ".join(str(problem.explain(solver="CLARABEL", accuracy=1e-8)).split())
    assert "an accuracy of 1e-08 is asked for, but its tolerances stay at 1e-10, as for an accuracy of 1e-06" in told
    assert "CLARABEL gives up or gets no nearer" in told
    solution = problem.solve(solver="CLARABEL", accuracy=1e-13, strict=False)
    assert solution.status is cl.Status.INACCURATE and "tolerances stay at 1e-10" in solution.reason
    own = problem.explain(solver="CLARABEL", accuracy=None)
    assert "stay at" not in str(own)
    assert "keeps its own" in words_on_floor("GLPK", 1e-4) and words_on_floor("NOSUCH", 1e-4) == ""


def test_a_solution_has_the_tolerances_versions_and_memory():
    problem = cl.instances.load("kp_path").problem
    solution = problem.solve(solver="SCS", accuracy=1e-3)
    assert solution.tolerances == {"eps_abs": 1e-6, "eps_rel": 1e-6}
    assert "asked for      eps_abs 1e-06, eps_rel 1e-06" in str(solution)
    given = problem.solve(solver="SCS", solver_options={"eps_abs": 1e-9}, accuracy=1e-3)
    assert given.tolerances == {"eps_abs": 1e-9, "eps_rel": 1e-6}
    assert problem.solve(solver="SCS", accuracy=None, strict=False).tolerances == {}
    assert problem.solve(accuracy=1e-5).tolerances == {"accuracy": 1e-5}
    assert solution.versions["SCS"] == scs.__version__ and solution.versions["cvxpy"]
    assert {"python", "cvxlink", "numpy", "scipy"} <= solution.versions.keys()
    assert not solution.resources.isolated and solution.resources.megabytes > 50  # Python and CVXPY alone take more
    apart = problem.solve(solver="SCS", isolate=True)
    assert apart.resources.isolated and apart.resources.megabytes > 50


def test_tolerances_within_a_table_are_found():
    notes = Tolerances(("a", "b"), 1e-4, 1e-10, "inner", {"device": "cpu"})
    assert notes.options(1e-4) == {"inner": {"a": 1e-8, "b": 1e-8}, "device": "cpu"}
    assert notes.asked({"inner": {"a": 1e-3, "c": 1.0}}) == {"a": 1e-3}
    assert notes.asked({"inner": "none"}) == {} and notes.asked({}) == {}


# ---------------------------------------------------------------------- licences


@pytest.fixture
def without_licence(monkeypatch, tmp_path):
    """Circumstances of this test's own, so that what is remembered does not outlive it."""
    for name in ("MOSEKLM_LICENSE_FILE", "MOSEK_LICENSE_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CVXLINK_TEST_LICENCE", str(tmp_path))
    return tmp_path


def test_a_missing_licence_is_remembered_until_something_changes(monkeypatch, without_licence):
    remember_refusal("SCS", "SCS has no licence")
    problem = cl.instances.load("kp_path").problem
    for limits in ({}, {"time_limit": 60}):
        with pytest.raises(cl.SolverUnavailable, match="SCS has no licence") as told:
            problem.solve(solver="scs", **limits)
        assert told.value.needs_licence
    monkeypatch.setenv("MOSEKLM_LICENSE_FILE", "27007@server")
    assert known_refusal("SCS") is None
    assert problem.solve(solver="SCS").status is cl.Status.OPTIMAL


@pytest.mark.slow
@pytest.mark.skipif("MOSEK" not in installed_solvers(), reason="MOSEK is not installed; pip install 'cvxlink[mosek]'")
def test_mosek_is_asked_for_its_licence_once(monkeypatch, without_licence):
    asked = []
    monkeypatch.setattr(table, "_ASKED", set())
    run = table.run_isolated

    def counted(work, arguments, *rest):
        asked.append(arguments)
        return run(work, arguments, *rest)

    monkeypatch.setattr(table, "run_isolated", counted)
    for _ in range(3):
        assert "no valid licence" in table.licence_refusal("MOSEK")
    assert asked == [("MOSEK",)]
    assert table.licence_refusal("SCS") is None and table.licence_refusal("COPT") is None  # small ones need none
    assert table.licence_refusal("NOSUCH") is None
    problem = cl.instances.load("kp_path").problem
    with pytest.raises(cl.SolverUnavailable, match="no valid licence"):
        problem.solve(solver="MOSEK")


@pytest.mark.slow
@pytest.mark.skipif("MOSEK" not in installed_solvers(), reason="MOSEK is not installed; pip install 'cvxlink[mosek]'")
def test_a_licence_that_a_child_misses_is_known_to_its_parent(without_licence):
    problem = cl.instances.load("kp_path").problem
    with pytest.raises(cl.SolverUnavailable, match="no valid licence"):
        problem.solve(solver="MOSEK", time_limit=60)
    assert "no valid licence" in known_refusal("MOSEK")
