"""Programs that are compiled once: each solve is that of the problem with the new numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cvxlink as cl

X, y = cl.datasets.load("iris")
GRAPH, LINKS = cl.Graph.knn(X[::10]), cl.Links.sample(y[::10], n_links=8, random_state=0)
LABELS = cl.sample_labels(y[::10], per_class=2, random_state=0)
KERNEL = GRAPH.kernel() + np.eye(15)
CASES = {
    "SRCP": (cl.SRCP(GRAPH, LINKS), "OSQP", [{"mu": 0.05}, {"mu": 2.0}, {}]),
    "LLGC": (cl.LLGC(GRAPH, LABELS), "SCS", [{"alpha": 0.9}, {"alpha": 0.1}, {}]),
    "E2CP": (cl.E2CP(GRAPH, LINKS), "CLARABEL", [{"alpha": 0.9}, {"alpha": 0.1}, {}]),
    "MinKL, bounds": (
        cl.MinKL(KERNEL, LINKS, must_bound=0.5, cannot_bound=1.0),
        "CLARABEL",
        [{"must_bound": 0.1}, {"must_bound": 0.3, "cannot_bound": 0.4}, {}],
    ),
    "MinKL, noise": (
        cl.MinKL(KERNEL, LINKS, must_noise=0.5, cannot_noise=1.0),
        "CLARABEL",
        [{"must_noise": 0.2}, {"cannot_noise": 3.0}, {}],
    ),
    "CCSR": (cl.CCSR(GRAPH, LINKS, order=5), "CLARABEL", [{"must_weight": 10.0}, {"cannot_weight": 0.0}, {}]),
}


@pytest.mark.parametrize("name", CASES)
def test_each_solve_is_that_of_the_problem_with_the_new_numbers(name):
    problem, solver, changes = CASES[name]
    prepared = problem.prepare(solver=solver)
    values = []
    for change in changes:
        solution, best = prepared.solve(**change), replace(problem, **change).solve(accuracy=1e-7)
        assert solution.status is cl.Status.OPTIMAL and solution.plan.solver == solver
        assert solution.value == pytest.approx(best.value, abs=2e-5 * (1 + abs(best.value)))
        assert solution.certificate.lower_bound <= best.value + 1e-6 * (1 + abs(best.value))
        for field, number in change.items():
            assert np.all(getattr(solution.problem, field) == number)
        assert "compiled once" in str(solution.plan)
        values.append(solution.value)
    assert len({round(value, 6) for value in values}) == len(values)  # the numbers make a difference


def test_it_compiles_once():
    problem, solver, _ = CASES["SRCP"]
    prepared = problem.prepare(solver=solver)
    prepared.solve(mu=0.1)
    program = prepared._compiled._cache.param_prog
    prepared.solve(mu=0.3)
    assert program is not None and prepared._compiled._cache.param_prog is program


def test_what_cannot_change_says_so():
    with pytest.raises(cl.FormUnavailable, match="KP has no numbers that can change"):
        cl.KP(GRAPH, LINKS).prepare()
    prepared = cl.SRCP(GRAPH, LINKS).prepare(solver="OSQP")
    with pytest.raises(cl.InvalidInput, match="'links' cannot change in a compiled program; mu can"):
        prepared.solve(links=LINKS)
    with pytest.raises(cl.InvalidInput, match="mu must be a positive number"):
        prepared.solve(mu=-1)
    with pytest.raises(cl.InvalidInput, match="accuracy"):
        cl.SRCP(GRAPH, LINKS).prepare(accuracy="x")
    with pytest.raises(cl.SolverUnavailable, match="no solver named"):
        cl.SRCP(GRAPH, LINKS).prepare(solver="nosuch")
    bounds = cl.MinKL(KERNEL, LINKS, must_bound=0.5, cannot_bound=1.0).prepare(solver="CLARABEL")
    with pytest.raises(cl.InvalidInput, match="bounds.*or noise"):
        bounds.solve(must_noise=0.1)


def test_a_formulation_of_ones_own_does_not_inherit_what_may_change():
    class Other(cl.SRCP):
        def objective(self, F):
            return super().objective(F)

    assert Other.adjustable == ()
