"""The low-rank route on objectives with hinges, absolute values, squares and Huber's functions, and on long rows."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers.separable import ADDED, CONSTRAINTS, Separable, by_plain_cvxpy, separable

ROUTE = "low-rank"


def check(problem):
    found, optimum = problem.solve(route=ROUTE, accuracy=1e-6), by_plain_cvxpy(problem)
    assert found.status is cl.Status.OPTIMAL and found.certificate.relative_gap <= 1e-6
    assert found.value == pytest.approx(optimum, rel=2e-6, abs=2e-6)
    assert found.certificate.lower_bound <= optimum + 1e-6
    assert found.certificate.upper_bound >= optimum - 1e-6
    assert found.certificate.largest_violation <= 1e-9


@pytest.mark.parametrize("added", ADDED)
def test_it_finds_what_plain_cvxpy_finds(added):
    check(separable(added))


@pytest.mark.parametrize("constrained", [name for name in CONSTRAINTS if name != "none"])
def test_constraints_beside_the_terms(constrained):
    check(separable("hinge", constrained))


def test_multipliers_of_the_terms_are_subgradients():
    problem = separable("square")
    found = problem.solve(route=ROUTE, accuracy=1e-6)
    links, K = problem.links, found.kernel
    pairs = np.vstack([links.must, links.cannot])
    wanted = np.repeat([1.0, 0.0], [len(links.must), len(links.cannot)])
    derivative = 2 * np.sqrt(0.5) * (K[pairs[:, 0], pairs[:, 1]] - wanted)  # the terms are squares of √w (K_ij − t)
    assert found.duals["objective"] == pytest.approx(derivative, abs=1e-4)


def test_a_balanced_kernel_is_balanced():
    problem = separable("hinge", "about balanced")
    found = problem.solve(route=ROUTE, accuracy=1e-6)
    sums, n = found.kernel.sum(axis=1), problem.graph.n
    assert abs(sums - n / 3).max() <= 0.25 * n / 3 + 1e-9
    assert set(found.certificate.violations) == {"unit", "balance", "psd"}
    assert found.duals["balance"].shape == (n,)


def test_it_starts_from_an_earlier_answer():
    problem = separable("hinge", "must-links")
    first = problem.solve(route=ROUTE, accuracy=1e-6)
    again = problem.solve(route=ROUTE, accuracy=1e-6, start=first)
    assert again.value == pytest.approx(first.value, abs=1e-5)
    assert again.iterations <= first.iterations


def test_large_programs_come_this_way_by_themselves():
    X, y = cl.datasets.load("digits")
    graph = cl.Graph.knn(X[:260], n_neighbors=6)
    links = cl.Links.sample(y[:260], n_links=30, random_state=0)
    small = separable("hinge", "must-links")
    problem = Separable(graph, links, "hinge", "must-links")
    assert ROUTE in str(problem.explain())
    assert ROUTE not in str(small.explain())  # below order 250 interior-point codes are as fast


@pytest.mark.slow
def test_400_points():
    X, y = cl.datasets.load("digits")
    graph = cl.Graph.knn(X[:400], n_neighbors=8)
    links = cl.Links.sample(y[:400], n_links=100, random_state=0)
    found = Separable(graph, links, "hinge", "must-links").solve()
    assert found.plan.route.name == ROUTE
    assert found.status is cl.Status.OPTIMAL and found.certificate.relative_gap <= 1e-5
    assert found.certificate.rounding_is_proven and found.certificate.upper_bound is not None


def test_what_cannot_be_read_is_refused_with_the_reason():
    class Far(Separable):
        def objective(self, K):
            return cp.Minimize(cp.norm(K[0]) + cp.sum(K))

    problem = separable()
    with pytest.raises(cl.errors.FormUnavailable, match="pnorm"):
        Far(problem.graph, problem.links).solve(route=ROUTE)
