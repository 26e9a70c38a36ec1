"""KP beside LinkedCut: two programs that nothing joins, and the mixture of their kernels."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.methods.shared.side_by_side import SideBySide


@pytest.fixture(scope="module")
def iris():
    X, y = cl.datasets.load("iris")
    graph, links = cl.Graph.knn(X[::3]), cl.Links.sample(y[::3], n_links=15, random_state=0)
    return graph, links, cl.KPCut(graph, links, 3).solve(accuracy=1e-6)


def test_values_and_bounds_are_sums(iris):
    graph, links, solution = iris
    parts = [cl.KP(graph, links).solve(accuracy=1e-6), cl.LinkedCut(graph, links, 3).solve(accuracy=1e-6)]
    assert solution.status is cl.Status.OPTIMAL
    for name in ("value", "lower_bound", "upper_bound"):
        of_parts = sum(getattr(part.certificate, name) for part in parts)
        assert getattr(solution.certificate, name) == pytest.approx(of_parts, abs=1e-9)
    np.testing.assert_allclose(solution.values["K"], parts[0].values["K"], atol=1e-12)
    np.testing.assert_allclose(solution.values["Z"], parts[1].values["Z"], atol=1e-12)


def test_a_bound_holds_for_any_point_and_without_multipliers(iris):
    graph, _, solution = iris
    problem = solution.problem
    far = {"K": np.eye(graph.n), "Z": np.eye(graph.n) * 3 / graph.n}
    certificate = problem.certify(far)
    assert certificate.lower_bound is None or certificate.lower_bound <= solution.value + 1e-9
    assert certificate.violations["K must"] == pytest.approx(1) and certificate.violations["Z cannot"] == 0
    again = problem.certify(solution.values, solution.duals)
    assert again.lower_bound == pytest.approx(solution.certificate.lower_bound, abs=1e-9)


def test_a_clustering_that_keeps_the_links_is_a_point_of_both(iris):
    graph, links, solution = iris
    _, y = cl.datasets.load("iris")
    gap = solution.relaxation_gap(y[::3])
    assert gap.feasible and gap.gap >= 0
    cut = cl.LinkedCut(graph, links, 3).solve().relaxation_gap(y[::3]).value
    kernel = cl.KP(graph, links).solve().relaxation_gap(y[::3]).value
    assert gap.value == pytest.approx(cut + kernel, rel=1e-9)


def test_the_mixture_has_the_declared_kernel(iris):
    graph, links, solution = iris
    unlinked = set(range(graph.n)) - set(np.vstack([links.must, links.cannot]).ravel().tolist())
    theta = len(unlinked) / graph.n * 3 / (3 + 15)
    assert solution.problem.theta == pytest.approx(theta) and 0 < theta < 0.15
    K, Y = solution.values["K"], solution.values["Z"] / np.sqrt(np.outer(graph.degrees, graph.degrees))
    k, y = np.diag(K), np.diag(Y)
    Z = Y / np.outer(y, y) ** 0.25
    expected = (1 - theta) * K / np.sqrt(np.outer(k, k)) + theta * Z / np.diag(Z).mean()
    np.testing.assert_allclose(solution.kernel, expected, atol=1e-6)
    np.testing.assert_allclose(solution.embedding @ solution.embedding.T, solution.kernel, atol=1e-12)


def test_with_one_must_link_it_clusters_by_the_cut():
    X, y = cl.datasets.blobs(40, 2, spread=0.4, random_state=0)
    a, b = np.flatnonzero(y == 0)[:2]
    solution = cl.KPCut(cl.Graph.knn(X, 5), cl.Links(40, must=[(a, b)]), 2).solve()
    assert cl.metrics.error(y, solution.cluster(2, random_state=0)) == 0  # KP alone puts all points in one place


def test_with_links_on_all_points_the_cut_has_no_say():
    graph = cl.Graph.from_affinity(np.ones((4, 4)))
    assert cl.KPCut(graph, cl.Links(4, must=[(0, 1)], cannot=[(2, 3)]), 2).theta == 0
    assert cl.KPCut(graph, cl.Links(4, cannot=[(2, 3)]), 2, share=0.3).theta == 0.3


def test_clusters_keep_links_that_kmeans_breaks():
    X, y = cl.datasets.blobs(60, 3, spread=4.0, random_state=0)
    links = cl.Links.sample(y, n_links=40, random_state=0)
    solution = cl.KPCut(cl.Graph.knn(X, 5), links, 3).solve()
    assert links.violated(solution.cluster(method="kmeans", random_state=0)) > 0
    assert links.violated(solution.cluster(random_state=0)) == 0


def test_progress_is_that_of_both(iris):
    graph, links, _ = iris
    steps = []
    cl.KPCut(graph, links, 3).solve(progress=steps.append)
    assert [one.step for one in steps] == list(range(len(steps)))
    assert steps[-1].gap < steps[0].gap


def test_what_either_refuses_is_refused():
    graph = cl.Graph.from_affinity(np.ones((4, 4)))
    with pytest.raises(cl.InconsistentLinks):
        cl.KPCut(graph, cl.Links(4, must=[(0, 1)], cannot=[(0, 1)]), 2)
    with pytest.raises(cl.InvalidInput, match="at least one"):
        cl.KPCut(graph, cl.Links(4), 2)
    with pytest.raises(cl.InfeasibleProblem, match="at least 3 clusters"):
        cl.KPCut(graph, cl.Links(4, cannot=[(0, 1), (1, 2), (0, 2)]), 2)
    with pytest.raises(cl.InvalidInput, match="share must be a number between 0 and 1"):
        cl.KPCut(graph, cl.Links(4, cannot=[(0, 1)]), 2, share=1.5)


def test_names_tell_the_programs_apart(iris):
    _, _, solution = iris
    data = solution.problem.program.data
    assert isinstance(data, SideBySide) and set(data.duals_of("Z", solution.duals.stored)) >= {"cannot"}
    assert {name.split()[0] for name in solution.certificate.violations} == {"K", "Z"}
