"""Paths: certified optima for many values of one number."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms

X, y = cl.datasets.load("iris")
GRAPH, LINKS = cl.Graph.knn(X[::8]), cl.Links.sample(y[::8], n_links=9, random_state=0)


@dataclass(frozen=True, eq=False)
class Weighted(cl.Problem):
    """A soft kernel whose weight enters the objective linearly."""

    weight: float = 1.0

    graph, links = GRAPH, LINKS
    adjustable = ("weight",)

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        broken = terms.soft_must_links(K, self.links) + terms.soft_cannot_links(K, self.links)
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()) + self.parameter("weight") * broken)

    def constraints(self, K):
        return {"unit": terms.unit_diagonal(K), "psd": terms.semidefinite(K)}


class Linear(Weighted):
    """The same with linear terms only: a linear semidefinite program."""

    adjustable = ("weight",)

    def objective(self, K):
        broken = terms.must_distances(K, self.links) + terms.cannot_sums(K, self.links)
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()) + self.parameter("weight") * broken)


@dataclass(frozen=True, eq=False)
class Capped(cl.Problem):
    """The nearest point to (2, 2, 2) in a simplex: (c/3, c/3, c/3) for 0 ≤ c ≤ 6."""

    cap: float = 1.0

    def variables(self):
        return {"x": cp.Variable(3)}

    def objective(self, x):
        return cp.Minimize(cp.sum_squares(x - 2))

    def constraints(self, x):
        return {"cap": cp.sum(x) <= self.cap, "floor": x >= 0}


@pytest.mark.parametrize(("kind", "solver"), [(Weighted, "SCS"), (Linear, "SCS"), (Linear, None)])
def test_along_a_weight_the_optimum_is_concave_and_bounded(kind, solver):
    weights = np.array([0.05, 0.1, 0.3, 0.5, 1.0])
    path = kind().path("weight", weights, solver=solver)
    assert path.statuses == (cl.Status.OPTIMAL,) * len(weights) and len(path) == len(weights)
    np.testing.assert_array_equal(path.values, weights)
    # A minimum of functions that are linear in the weight is concave, and it grows as all terms are non-negative.
    slopes = np.diff(path.optima) / np.diff(weights)
    assert (np.diff(slopes) < 1e-3).all() and (slopes > -1e-4).all()
    assert (path.lower_bounds <= path.optima + 1e-6).all()
    for weight, solution in zip(weights, path, strict=True):
        assert solution.problem.weight == weight
        alone = kind(weight=weight).solve(solver="CLARABEL", form="declared", presolve=False)
        assert solution.value == pytest.approx(alone.value, rel=1e-4, abs=1e-5)
    labels = path.cluster(3, random_state=0)
    np.testing.assert_array_equal(labels[2], path[2].cluster(3, random_state=0))
    assert labels.shape == (len(weights), GRAPH.n)


def test_scs_starts_from_its_last_answer():
    weights = [0.3, 0.301, 0.302]
    path = Weighted().path("weight", weights, solver="SCS")
    first, *others = (solution.iterations for solution in path)
    assert "compiled once in the form 'dual' for SCS" in str(path)
    assert max(others) < first


def test_the_low_rank_route_starts_from_the_answer_before():
    problem = Linear()
    path = problem.path("weight", [0.05, 0.051], route="low-rank", accuracy=1e-6)
    assert path.statuses == (cl.Status.OPTIMAL,) * 2 and "from the answer before it" in path.how
    cold = replace(problem, weight=0.051).solve(route="low-rank", accuracy=1e-6)
    assert path[1].value == pytest.approx(cold.value, rel=1e-4)
    assert path[1].iterations < cold.iterations


def test_values_without_an_answer_are_rows():
    caps = [-1.0, 0.5, 3.0, 6.0, 9.0]
    path = Capped().path("cap", caps)
    assert path.statuses == (cl.Status.INFEASIBLE, *[cl.Status.OPTIMAL] * 4)
    np.testing.assert_allclose(path.optima[1:], [3 * (2 - min(c, 6) / 3) ** 2 for c in caps[1:]], atol=1e-5)
    assert np.isnan(path.optima[0]) and np.isnan(path.lower_bounds[0])
    text = str(path)
    assert text.startswith("Capped for 5 values of cap, each solved by itself")
    assert "INFEASIBLE" in text and text.count("OPTIMAL") == 4
    with pytest.raises(cl.InvalidInput, match="no value of the path has an answer"):
        Capped().path("cap", [-1]).cluster(2)


def test_parameters_of_a_cvxpy_problem():
    x, lam = cp.Variable(3, name="x"), cp.Parameter(nonneg=True, name="lam", value=1.0)
    b = np.array([3.0, -2.0, 0.5])
    wrapped = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x - b) / 2 + lam * cp.norm1(x))))
    path = wrapped.path("lam", [0.0, 1.0, 4.0])
    for weight, solution in zip(path.values, path, strict=True):  # soft thresholding
        expected = np.sign(b) * np.maximum(abs(b) - weight, 0)
        np.testing.assert_allclose(solution.values["x"], expected, atol=1e-3)
    assert "compiled once" in path.how and x.value is None


def test_limits_and_forms_are_those_of_solve():
    path = Linear().path("weight", [0.5, 1.0], form="declared", time_limit=60)
    assert path.how == "each solved by itself" and all(s.plan.form == "declared" for s in path)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Capped().path("cop", [1]), "Capped has no field 'cop'"),
        (lambda: Capped().path("cap", []), "values must be at least one number"),
        (lambda: Capped().path("cap", ["x"]), "values must be a finite number"),
        (lambda: Capped().path("cap", 3), "values must be a list of numbers"),
        (lambda: Capped().path(3, [1]), "name must be a text"),
        (lambda: Capped().path("cap", [1], strict=True), "no argument 'strict'"),
        (lambda: Capped().path("cap", [1], nothing=True), "no argument 'nothing'"),
        (lambda: cl.SRCP(GRAPH, LINKS).path("mu", [1, -1]), "values must fit mu: mu must be a positive number"),
    ],
)
def test_mistakes(made, words):
    with pytest.raises(cl.InvalidInput, match=words):
        made()


def test_a_value_that_makes_the_program_not_convex_is_a_row():
    path = Weighted().path("weight", [0.5, -1.0, 0.5])
    assert path.statuses == (cl.Status.OPTIMAL, cl.Status.ERROR, cl.Status.OPTIMAL)
    assert "does not recognise the objective as convex" in path[1].reason and "not convex" not in path[0].reason
    assert np.isnan(path.optima[1]) and path.optima[0] == pytest.approx(path.optima[2], rel=1e-6)
    assert "ERROR" in str(path) and "makes no program to solve" in str(path[1].plan)
    first = Weighted().path("weight", [-1.0, 0.5])
    assert first.statuses == path.statuses[1:] and "compiled once" in first.how
    with pytest.raises(cl.InvalidProblem, match="does not recognise the objective"):
        Weighted().path("weight", [-1.0, -2.0])


def _shifted():
    x, a = cp.Variable(2, name="x"), cp.Parameter(2, name="a", value=[0.0, 0.0])
    return cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x - a) / 2 + cp.norm1(x))))


@pytest.mark.parametrize("rows", [np.array([[3.0, 0.5], [-2.0, 4.0]]), [[3.0, 0.5], [-2.0, 4.0]]])
def test_a_vector_parameter_takes_one_row_per_solve(rows):
    path = _shifted().path("a", rows)
    assert path.values.shape == (2, 2) and "compiled once" in path.how
    for a, solution in zip(path.values, path, strict=True):
        expected = np.sign(a) * np.maximum(abs(a) - 1, 0)
        np.testing.assert_allclose(solution.values["x"], expected, atol=1e-3)
    assert "[3, 0.5]" in str(path) and "[-2, 4]" in str(path)


def test_a_matrix_parameter_takes_matrices():
    y, M = cp.Variable(2, name="y"), cp.Parameter((2, 2), PSD=True, name="M", value=np.eye(2))
    wrapped = cl.wrap(cp.Problem(cp.Minimize(cp.quad_form(y, M) + cp.sum(y))))
    matrices = [np.diag([1.0, 2.0]), np.diag([4.0, 1.0])]
    path = wrapped.path("M", matrices)
    np.testing.assert_allclose(path.optima, [-sum(1 / np.diag(matrix)) / 4 for matrix in matrices], atol=1e-4)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], r"values must fit a: a must be finite numbers of the shape \(2,\)"),
        ([np.ones(3)], "values must be a vector of 2, because a has that shape"),
        ([np.ones(2), 1.0], "values must be all numbers, or all arrays"),
        ([[np.nan, 1.0]], "values has NaN"),
    ],
)
def test_values_that_are_no_rows(values, words):
    with pytest.raises(cl.InvalidInput, match=words):
        _shifted().path("a", values)


def test_a_field_that_is_one_number_takes_no_arrays():
    with pytest.raises(cl.InvalidInput, match="values must be a finite number"):
        Capped().path("cap", [np.ones(2)])
