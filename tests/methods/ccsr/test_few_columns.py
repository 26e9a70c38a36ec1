"""Representations with fewer columns than eigenvectors: equation (16) of Li, Liu & Tang (2009)."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.methods.ccsr.few_columns import few_columns, leading_columns
from helpers.clusters import blobs


@pytest.fixture(scope="module")
def instance() -> tuple[cl.Graph, np.ndarray, cl.Links]:
    return blobs(30)


def misfit(problem: cl.CCSR, E: np.ndarray) -> float:
    """Equation (11), written out."""
    cost = sum((row @ row - 1) ** 2 for row in E)
    cost += sum((E[i] @ E[j] - 1) ** 2 for i, j in problem.links.must)
    return float(cost + sum((E[i] @ E[j]) ** 2 for i, j in problem.links.cannot))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_representation_has_that_many_columns_and_is_a_local_minimum(instance, d):
    graph, _, links = instance
    problem = cl.CCSR(graph, links, order=5, dimension=d)
    solution = problem.solve()
    E = solution.embedding
    assert E.shape == (30, d) and solution.rank == d
    np.testing.assert_allclose(solution.kernel, E @ E.T, atol=1e-12)
    cost = misfit(problem, E)
    assert solution.measures["cost"] == pytest.approx(cost)
    # The relaxation is below, and the nearest matrix of that rank is above.
    assert solution.value - 1e-9 <= cost
    assert solution.measures["above_optimum"] == pytest.approx(cost - solution.certificate.lower_bound)
    first = problem.spectrum[1] @ leading_columns(solution.values["M"], d)
    assert cost <= misfit(problem, first) + 1e-12
    rng = np.random.default_rng(d)
    A = problem.spectrum[1].T @ E
    for size in (1e-3, 1e-2):
        for _ in range(20):
            nearby = A + size * rng.standard_normal(A.shape)
            assert misfit(problem, problem.spectrum[1] @ nearby) >= cost - 1e-9


def test_all_columns_are_the_relaxation(instance):
    graph, _, links = instance
    plain = cl.CCSR(graph, links, order=4).solve()
    for d in (4, 9):
        full = cl.CCSR(graph, links, order=4, dimension=d).solve()
        np.testing.assert_allclose(full.embedding, plain.embedding, atol=1e-9)
        assert "cost" not in full.measures
    products = plain.problem.products
    A = few_columns(products, plain.values["M"], 4)
    assert products.misfit(A @ A.T) == pytest.approx(plain.value, rel=1e-5)


def test_one_column_of_two_is_the_best_there_is(instance):
    # A = r (cos t, sin t): a grid over all of them.
    graph, _, links = instance
    problem = cl.CCSR(graph, links, order=2, dimension=1)
    solution, products = problem.solve(), problem.products
    angles = np.linspace(0, np.pi, 721)
    best = np.inf
    for t in angles:
        direction = np.array([[np.cos(t)], [np.sin(t)]])
        M = direction @ direction.T
        fitted = products.residual(M) + products.targets
        s = max(0.0, float(products.weights @ (fitted * products.targets) / (products.weights @ fitted**2)))
        best = min(best, products.misfit(s * M))
    assert solution.measures["cost"] == pytest.approx(best, rel=1e-4) and solution.measures["cost"] <= best + 1e-9


def test_a_dimension_is_a_number_of_columns(instance):
    graph, _, links = instance
    for wrong in (0, -1, 1.5, "x"):
        with pytest.raises(cl.InvalidInput, match="dimension must be"):
            cl.CCSR(graph, links, dimension=wrong)
