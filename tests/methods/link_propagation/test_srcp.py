from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import cvxlink as cl
from cvxlink.methods.link_propagation.routes import symmetric_product
from helpers.graphs import path_graph, random_graph
from helpers.limits import stopped_at_once


def instance(n=12, seed=0, **options) -> cl.SRCP:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return cl.SRCP(random_graph(n, rng), cl.Links.sample(labels, n_links=8, random_state=seed), **options)


def objective(problem, F):
    """Equation (3), by its definition."""
    L, Y = problem.L.toarray(), problem.links.matrix.toarray()
    return problem.mu * np.sum((F - Y) ** 2) + np.trace(F.T @ L @ F + F @ L @ F.T) / 2


@pytest.mark.parametrize("mu", [0.2, 1e-3, 50.0])
@pytest.mark.parametrize("normalized", [True, False])
def test_it_is_the_lyapunov_equation_of_scipy(mu, normalized):
    problem = instance(mu=mu, normalized=normalized)
    A = mu * np.eye(12) + problem.L.toarray()
    expected = scipy.linalg.solve_continuous_lyapunov(A, 2 * mu * problem.links.matrix.toarray())
    np.testing.assert_allclose(problem.solve().propagated, expected, atol=1e-12)


def test_two_points_have_a_closed_form():
    # L̄ has the eigenvalues 0 and 2; a must-link is Y = (v₁v₁ᵀ − v₂v₂ᵀ), so F = v₁v₁ᵀ − μ/(μ+2) v₂v₂ᵀ.
    for mu in (0.2, 1.0, 7.0):
        F = cl.SRCP(path_graph(2), cl.Links(2, must=[(0, 1)]), mu=mu).solve().propagated
        far = mu / (mu + 2)
        np.testing.assert_allclose(F, [[(1 - far) / 2, (1 + far) / 2], [(1 + far) / 2, (1 - far) / 2]], atol=1e-14)


@pytest.mark.parametrize("route", ["eigen", "spreading", "kronecker"])
def test_large_mu_leaves_the_links_and_small_mu_shrinks_them(route):
    Y = instance().links.matrix.toarray()
    F = instance(mu=1e6).solve(route=route).propagated
    assert np.linalg.norm(F - Y) < 1e-5 * np.linalg.norm(Y)
    norms = [np.linalg.norm(instance(mu=mu).solve(route=route).propagated) for mu in (100, 1, 0.1, 0.01)]
    assert all(np.diff(norms) < 0)


def test_mu_to_zero_leaves_only_what_costs_nothing():
    # F → V₀V₀ᵀ Y V₀V₀ᵀ, with V₀ the constant (D^½ 1) on each component.
    problem = instance(mu=1e-9)
    d = np.sqrt(problem.graph.degrees)
    v = d / np.linalg.norm(d)
    expected = (v @ problem.links.matrix @ v) * np.outer(v, v)
    np.testing.assert_allclose(problem.solve().propagated, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_no_other_matrix_costs_less(seed):
    problem, rng = instance(seed=seed), np.random.default_rng(seed)
    solution = problem.solve()
    assert solution.value == pytest.approx(objective(problem, solution.propagated), rel=1e-12)
    for size in (1e-3, 1e-1, 1):
        step = size * rng.standard_normal((12, 12))
        better = objective(problem, solution.propagated + step)
        # Strong convexity, with modulus 2μ.
        assert better >= solution.value + problem.mu * np.sum(step**2) - 1e-10


def test_the_certificate_bounds_distance_and_gap_for_any_point():
    problem, rng = instance(), np.random.default_rng(0)
    exact = problem.solve()
    for size in (1e-8, 1e-2, 1.0):
        F = exact.propagated + size * rng.standard_normal((12, 12))  # not even symmetric
        certificate = cl.certify(problem, {"F": F})
        distance = np.linalg.norm(F - exact.propagated)
        assert distance <= certificate.distance <= 50 * distance
        assert certificate.lower_bound <= exact.value + 1e-12
        assert certificate.value == pytest.approx(objective(problem, F), rel=1e-12)
    assert not cl.certify(problem, {"F": F}).holds(1e-4)
    with pytest.raises(cl.InvalidInput, match="F has the shape"):
        cl.certify(problem, {"F": np.eye(3)})
    assert np.isnan(cl.certify(problem, {"F": np.full((12, 12), np.nan)}).value)


def test_spreading_keeps_its_history():
    problem = instance()
    exact, spread = problem.solve().propagated, problem.solve(route="spreading")
    history = np.array(spread.history)
    assert len(history) == spread.iterations > 10
    # Each step shrinks the distance by α = 1/(1+μ) at least, and the history bounds it.
    assert (history[1:] <= history[:-1] / 1.2 + 1e-15).all()
    F, Y, S = problem.links.matrix.toarray(), problem.links.matrix.toarray(), np.eye(12) - problem.L.toarray()
    alpha = 1 / (1 + problem.mu)
    for bound in history:
        F = alpha / 2 * (S @ F + F @ S) + (1 - alpha) * Y  # equation (7)
        assert np.linalg.norm(F - exact) <= bound + 1e-13
    np.testing.assert_allclose(spread.propagated, F, atol=1e-13)
    assert problem.solve().history == ()
    ax = cl.plotting.plot_convergence(spread)
    assert ax.get_yscale() == "log" and len(ax.lines[0].get_ydata()) == len(history)
    with pytest.raises(cl.InvalidInput, match="kept no history"):
        cl.plotting.plot_convergence(problem.solve())


def test_one_eigendecomposition_serves_every_mu_and_link_set(monkeypatch):
    graph = instance().graph
    calls = []
    eigh = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda A: calls.append(A.shape) or eigh(A))
    for mu in (0.1, 0.2, 1.0):
        for seed in range(3):
            links = cl.Links.sample(np.arange(12) % 2, n_links=5, random_state=seed)
            cl.SRCP(graph, links, mu=mu).solve()
    assert calls == [(12, 12)]
    np.testing.assert_allclose(graph.smoothest(3)[1], graph.smoothest(12)[1][:, :3])
    assert calls == [(12, 12)]


def test_routes_refuse_what_they_cannot_do(monkeypatch):
    from cvxlink.methods.link_propagation import routes as lyapunov

    large = cl.SRCP(path_graph(65), cl.Links(65, must=[(0, 1)]))
    assert large.routes == ("eigen", "spreading", "factored")
    with pytest.raises(cl.FormUnavailable, match="65 points are too many.*at most 64"):
        large.solve(route="kronecker")
    with pytest.raises(cl.FormUnavailable, match="need not converge without the normalised Laplacian"):
        instance(normalized=False).solve(route="spreading")
    with pytest.raises(cl.FormUnavailable, match="no route 'eigen'|there is no route"):
        cl.PCP(large.graph, large.links).solve(route="eigen")
    monkeypatch.setattr(lyapunov.Eigen, "largest", 5)
    monkeypatch.setattr(lyapunov.Spreading, "largest", 5)
    monkeypatch.setattr(lyapunov.Kronecker, "largest", 5)
    monkeypatch.setattr(lyapunov, "MOST_PRODUCTS", 5)
    with pytest.raises(cl.FormUnavailable, match="no route takes this SRCP.*name a form or a solver"):
        instance().solve()


@pytest.mark.parametrize("mu", [1e-12, 1e-8])
@pytest.mark.parametrize("normalized", [True, False])
def test_bounds_hold_where_rounding_is_all_there_is(mu, normalized):
    # For mu → 0 the solution is known: only the null space of L is left, up to O(mu).
    for seed in range(20):
        rng = np.random.default_rng(seed)
        W = np.triu(rng.random((6, 6)), 1)
        graph = cl.Graph.from_affinity(W + W.T)
        links = cl.Links(6, must=[(i, j) for i in range(6) for j in range(i) if rng.random() < 0.5])
        problem = cl.SRCP(graph, links, mu=mu, normalized=normalized)
        v = np.sqrt(graph.degrees) if normalized else np.ones(6)
        v /= np.linalg.norm(v)
        Y = links.matrix.toarray()
        limit = v @ Y @ v
        for route in problem.routes:
            if route == "spreading":  # it would take a billion steps
                continue
            certificate = problem.solve(route=route, strict=False).certificate
            F = problem.solve(route=route, strict=False).propagated
            assert np.linalg.norm(F - limit * np.outer(v, v)) <= certificate.distance + 100 * mu
            assert certificate.lower_bound <= mu * (np.sum(Y**2) - limit**2) * (1 + 100 * mu)


def test_spreading_with_hardly_any_mu_says_that_it_is_not_there_yet(monkeypatch):
    from cvxlink.methods.shared import spreading

    monkeypatch.setattr(spreading, "MOST_ITERATIONS", 200)
    problem = cl.SRCP(path_graph(3), cl.Links(3, must=[(0, 1)]), mu=1e-14)
    assert problem.solve(route="spreading", strict=False).status is not cl.Status.OPTIMAL


def test_subsets_of_links_have_no_kernels_to_average():
    with pytest.raises(cl.InvalidInput, match="SRCP yields no kernels to average"):
        instance().solve_resampled(2, 3)


def test_spreading_can_be_stopped():
    solution = stopped_at_once(instance(mu=1e-7), "spreading")
    assert solution.status is cl.Status.LIMIT and solution.certificate.distance > 0


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 50])
def test_products_known_to_be_symmetric(n):
    rng = np.random.default_rng(n)
    V, C = rng.standard_normal((n, n + 2)), rng.standard_normal((n + 2, n + 2))
    C = C + C.T
    product = symmetric_product(V @ C, V.T)
    np.testing.assert_array_equal(product, product.T)
    np.testing.assert_allclose(product, V @ C @ V.T, atol=1e-10)


def test_an_isolated_point_keeps_its_links_to_itself():
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = W[1, 2] = W[2, 1] = 1.0
    problem = cl.SRCP(cl.Graph.from_affinity(W), cl.Links(4, must=[(0, 3)]))
    solutions = [problem.solve(route=route).propagated for route in problem.routes]
    for F in solutions:
        np.testing.assert_allclose(F, solutions[0], atol=1e-7)
        assert F[0, 3] > F[1, 3] > 0  # it spreads among the others only


@pytest.mark.parametrize("scale", ["links", 1.0, 0.05])
def test_the_adjustment_is_equation_9(scale):
    problem = instance().changed(scale=scale)
    solution, W = problem.solve(), problem.graph.W.toarray()
    linked, F = problem.links, solution.propagated
    if scale == "links":
        F = F / np.median([abs(F[i, j]) for i, j in [*linked.must, *linked.cannot]])
    F = np.clip(F if scale == "links" else F / scale, -1, 1)
    for i in range(12):
        for j in range(12):
            raised = 1 - (1 - F[i, j]) * (1 - W[i, j]) if F[i, j] >= 0 else (1 + F[i, j]) * W[i, j]
            assert solution.affinity[i, j] == pytest.approx(raised, abs=1e-14)
    assert all(solution.affinity[i, j] > W[i, j] for i, j in linked.must)
    assert all(solution.affinity[i, j] <= W[i, j] for i, j in linked.cannot)
    assert solution.affinity.min() >= 0 and solution.affinity.max() <= 1


@pytest.mark.parametrize("method", [cl.SRCP, cl.E2CP])
def test_a_typical_link_counts_as_certain_however_much_it_was_spread(method):
    X, y = cl.datasets.load("iris")
    graph, links = cl.Graph.knn(X), cl.Links.sample(y, n_links=20, random_state=0)
    share = {cl.SRCP: 1 / 6, cl.E2CP: 1 / 36}[method]  # 1 − α and (1 − α)² at α = 5/6
    solution = method(graph, links).solve()
    on_links = np.array([solution.propagated[i, j] for i, j in [*links.must, *links.cannot]])
    np.testing.assert_array_equal(np.sign(on_links), np.repeat([1, -1], [len(links.must), len(links.cannot)]))
    assert share < np.median(abs(on_links)) < 2 * share
    raised = [solution.affinity[i, j] for i, j in links.must]
    assert np.mean(np.array(raised) > 0.999) >= 0.3 and min(raised) > 0.5
    assert max(method(graph, links, scale=1.0).solve().affinity[i, j] for i, j in links.must if not graph.W[i, j]) < 0.3


def test_routes_agree_on_the_adjusted_affinity():
    problem = instance()
    dense, factored = (problem.solve(route=route).affinity for route in ("eigen", "factored"))
    kept = factored.toarray() != 0
    np.testing.assert_allclose(factored.toarray()[kept], dense[kept], atol=1e-5)


def test_without_links_the_affinity_stays(recwarn):
    problem = instance().changed(links=cl.Links(12))
    np.testing.assert_array_equal(problem.solve().affinity, problem.graph.W.toarray())
    contradicting = instance().changed(links=cl.Links(12, must=[(0, 1)], cannot=[(0, 1)]))
    np.testing.assert_allclose(contradicting.solve().affinity, problem.graph.W.toarray(), atol=1e-12)
    for scale in (0, -1, "link", None):
        with pytest.raises(cl.InvalidInput, match="scale must be"):
            instance().changed(scale=scale)


def test_what_leaves_the_range_is_clipped_and_counted():
    from cvxlink.methods.link_propagation.adjusted_affinity import adjusted_affinity

    # Leaves of unlike stars, all must-linked to the hub: a hub collects more than each link is worth.
    n = 40
    W = np.zeros((n, n))
    W[0, 1:] = W[1:, 0] = 1.0
    problem = cl.SRCP(cl.Graph.from_affinity(W), cl.Links(n, must=[(0, i) for i in range(1, n)]), mu=0.01)
    solution = problem.solve()
    outside = int((abs(solution.propagated) > 1).sum())
    assert outside > 0
    with pytest.warns(cl.ClippedWarning, match=f"{outside} of 1600 propagated links lie outside"):
        affinity = solution.affinity
    assert affinity.max() == 1 and affinity.min() >= 0
    with pytest.warns(cl.ClippedWarning):
        assert adjusted_affinity(problem.graph, solution.propagated).clipped == outside


def test_weights_above_one_are_refused_where_they_matter():
    graph = cl.Graph.from_affinity([[0, 3.0], [3.0, 0]])
    solution = cl.SRCP(graph, cl.Links(2, must=[(0, 1)])).solve()
    assert solution.propagated.shape == (2, 2)
    with pytest.raises(cl.InvalidInput, match="between 0 and 1, but the largest is 3; divide"):
        solution.cluster(1)


def test_it_yields_an_affinity_and_no_kernel():
    solution = instance().solve()
    for what in ("kernel", "factor", "rank"):
        with pytest.raises(cl.CvxlinkError, match="affinity and no kernel"):
            getattr(solution, what)
    with pytest.raises(cl.CvxlinkError, match="cannot be clustered by .kernel-kmeans"):
        solution.cluster(2, method="kernel-kmeans")
    kernels = cl.PCP(instance().graph, cl.Links(12, must=[(0, 1)])).solve()
    with pytest.raises(cl.CvxlinkError, match="PCP does not propagate links to pairs"):
        _ = kernels.propagated


def test_no_links_is_spectral_clustering_and_bad_mu_is_refused():
    X, _ = cl.datasets.blobs(60, 3, spread=0.5, random_state=0)
    graph = cl.Graph.knn(X, n_neighbors=6)
    labels = cl.SRCP(graph, cl.Links(60)).solve().cluster(3, random_state=0)
    np.testing.assert_array_equal(labels, cl.clustering.spectral(graph.W, 3, random_state=0))
    for mu in (1e-200, 1e-17, 1e300):
        with pytest.raises(cl.InvalidInput, match="mu must be between 1e-15 and 1e[+]15"):
            cl.SRCP(graph, cl.Links(60), mu=mu)
    for mu in (0, -1, np.nan, np.inf, "a", True, None):
        with pytest.raises(cl.InvalidInput, match="mu must be a positive number"):
            cl.SRCP(graph, cl.Links(60), mu=mu)


def test_links_help():
    X, y = cl.datasets.load("four_lines", n=120, random_state=0)
    graph, few = cl.Graph.knn(X), cl.Links.sample(y, n_links=150, random_state=0)
    before = cl.metrics.nmi(y, cl.SRCP(graph, cl.Links(120)).solve().cluster(2, random_state=0))
    after = cl.metrics.nmi(y, cl.SRCP(graph, few).solve().cluster(2, random_state=0))
    assert before < 0.2 and after > 0.8
