from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from helpers.graphs import path_graph, random_graph


@pytest.fixture(scope="module")
def instance(small_iris):
    X, y = small_iris
    return cl.Graph.knn(X, n_neighbors=5), cl.Links.sample(y, per_class=2, random_state=1)


def alignment(K, links):
    """By its definition, on the linked points."""
    linked = links.linked
    T = links.matrix.toarray()[np.ix_(linked, linked)]
    block = K[np.ix_(linked, linked)]
    return float((block * T).sum() / np.linalg.norm(block))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(("n", "count"), [(40, 7), (1200, 12)])
def test_the_smoothest_eigenvectors(n, count, normalized):
    graph = (
        random_graph(40, np.random.default_rng(0)) if n == 40 else cl.Graph.knn(cl.datasets.blobs(n, random_state=0)[0])
    )
    eigenvalues, V = graph.smoothest(count, normalized)
    L = graph.laplacian(normalized)
    np.testing.assert_allclose(L @ V, V * eigenvalues, atol=1e-7)
    np.testing.assert_allclose(V.T @ V, np.eye(count), atol=1e-8)
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(L.toarray())[:count], atol=1e-8)
    fewer = graph.smoothest(3, normalized)[1]
    np.testing.assert_array_equal(fewer, V[:, :3])


def test_no_multiple_eigenvalue_is_missed():
    rng = np.random.default_rng(0)
    block = random_graph(30, rng).W
    graph = cl.Graph.from_affinity(sp.block_diag([block] * 40 + [sp.csr_array((60, 60))]))
    eigenvalues, V = graph.smoothest(120)
    assert (eigenvalues < 1e-10).sum() == graph.n_components == 100
    np.testing.assert_allclose(eigenvalues, np.linalg.eigvalsh(graph.laplacian().toarray())[:120], atol=1e-8)
    np.testing.assert_allclose(V.T @ V, np.eye(120), atol=1e-8)


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "CVXOPT", None])
def test_improved_order_on_every_solver(instance, solver):
    problem = cl.ImprovedOrder(*instance)
    solution = problem.solve(solver=solver)
    mu = solution.values["mu"]
    assert solution.value == pytest.approx(problem.solve(solver="CLARABEL", accuracy=1e-6).value, abs=1e-4)
    assert mu.min() > -1e-4 and np.diff(mu[1:]).max() < 1e-4
    assert alignment(solution.kernel, instance[1]) == pytest.approx(solution.value, abs=1e-3)


def test_no_other_ordered_spectrum_agrees_better(instance):
    graph, links = instance
    problem = cl.ImprovedOrder(graph, links)
    best = problem.solve().value
    eigenvalues, V = graph.smoothest(graph.n)
    rng = np.random.default_rng(0)
    tried = [1 / (eigenvalues + eps) for eps in np.logspace(-4, 3, 50)]  # Gaussian fields are ordered
    tried += [np.sort(rng.exponential(size=graph.n) ** 3)[::-1] for _ in range(300)]
    for mu in tried:
        mu = mu.copy()
        mu[0] *= rng.uniform(0, 1)
        assert alignment((V * mu) @ V.T, links) <= best + 1e-6


def test_two_points_have_a_closed_form():
    # Eigenvectors (1,1)/√2 and (1,−1)/√2: K = [[a, b], [b, a]] with a = (μ₁+μ₂)/2, b = (μ₁−μ₂)/2, ‖K‖² = μ₁² + μ₂².
    # Must-link: max 2b = μ₁ − μ₂ at μ = (1, 0), value 1. Cannot-link: max −2b at μ = (0, 1), value 1.
    graph = path_graph(2)
    must = cl.ImprovedOrder(graph, cl.Links(2, must=[(0, 1)])).solve()
    cannot = cl.ImprovedOrder(graph, cl.Links(2, cannot=[(0, 1)])).solve()
    assert must.value == pytest.approx(1, abs=1e-5) and cannot.value == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(must.values["mu"], [1, 0], atol=1e-3)
    np.testing.assert_allclose(cannot.values["mu"], [0, 1], atol=1e-3)
    np.testing.assert_allclose(cannot.kernel, [[0.5, -0.5], [-0.5, 0.5]], atol=1e-3)


def test_gaussian_field_is_the_shifted_inverse_with_the_best_shift(instance):
    graph, links = instance
    solution = cl.GaussianField(graph, links).solve()
    L = graph.laplacian().toarray()

    def kernel(epsilon):
        return np.linalg.inv(L + epsilon * np.eye(graph.n))

    np.testing.assert_allclose(solution.kernel, kernel(float(solution.values["epsilon"])), rtol=1e-6)
    assert solution.value == pytest.approx(alignment(solution.kernel, links), rel=1e-9)
    dense = max(alignment(kernel(eps), links) for eps in np.logspace(-6, 4, 3000))
    assert solution.value >= dense - 1e-9
    assert solution.status is cl.Status.OPTIMAL and "not convex" in solution.certificate.basis


def test_a_search_that_ends_at_the_end_of_its_interval_says_so():
    solution = cl.GaussianField(path_graph(2), cl.Links(2, must=[(0, 1)])).solve()
    # K aligns with a must-link the better the smaller ε is: (μ₁ − μ₂)/‖μ‖ → 1.
    assert (
        solution.values["epsilon"] == pytest.approx(1e-6, rel=1e-3) and "is at an end of that range" in solution.reason
    )


def test_gaussian_field_has_no_form_but_a_route(instance):
    problem = cl.GaussianField(*instance)
    assert problem.forms == () and problem.routes == ("search",)
    for asked in ({"solver": "CLARABEL"}, {"form": "dual"}):
        with pytest.raises(cl.FormUnavailable, match="not convex, so no CVXPY solver takes it.*by route: search"):
            problem.solve(**asked)
    with pytest.raises(cl.FormUnavailable, match="does not take this problem"):
        problem.solve(route="interior-point")
    with pytest.raises(cl.FormUnavailable, match="there is no route 'search'"):
        cl.PCP(*instance).solve(route="search")


@pytest.mark.parametrize("method", [cl.ImprovedOrder, cl.GaussianField])
def test_they_cluster_extend_and_follow_the_points(instance, method):
    graph, links = instance
    solution = method(graph, links).solve()
    order = np.random.default_rng(0).permutation(graph.n)
    moved = method(graph.permuted(order), links.permuted(order)).solve()
    assert moved.value == pytest.approx(solution.value, abs=1e-5)
    labels = solution.cluster(3, random_state=0)
    assert cl.metrics.nmi(labels[order], moved.cluster(3, random_state=0)) > 0.95
    assert len(solution.extend(graph.points[:2]).predict(labels)) == 2


@pytest.mark.parametrize("method", [cl.ImprovedOrder, cl.GaussianField])
def test_fewer_eigenvectors_and_bad_input(instance, method):
    graph, links = instance
    assert method(graph, links, order=6).solve().factor.shape == (30, 6)
    with pytest.raises(cl.InvalidInput, match="order"):
        method(graph, links, order=0)
    with pytest.raises(cl.InvalidInput, match="there are none"):
        method(graph, cl.Links(30))
    # Links that contradict one another are fitted, not enforced.
    assert method(path_graph(4), cl.Links(4, must=[(0, 1), (1, 2)], cannot=[(0, 2)])).solve().value > 0


def test_a_kernel_that_cannot_agree_says_so():
    # With the constant eigenvector alone, a cannot-link can only be disagreed with: the best kernel is zero.
    solution = cl.ImprovedOrder(path_graph(2), cl.Links(2, cannot=[(0, 1)]), order=1).solve()
    assert solution.value == pytest.approx(0, abs=1e-6)
    with pytest.raises(cl.CvxlinkError, match="no kernel of this kind agrees with the links"):
        solution.cluster(2)


def test_they_print_themselves(instance):
    text = str(cl.ImprovedOrder(*instance))
    assert "maximise    ⟨ Kₗₗ, T ⟩" in text and "μᵢ ≥ μᵢ₊₁" in text and "spectral transforms" in " ".join(text.split())
    text = str(cl.GaussianField(*instance))
    assert "Σᵢ (λᵢ + ε)⁻¹ vᵢ vᵢᵀ" in text and "ε ≥ 0" in text
    assert "solver CLARABEL" in str(cl.ImprovedOrder(*instance).explain())
