from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.methods.spectral_transforms.proof import upper_bound
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
    assert solution.certificate.gap < 1e-8 and solution.certificate.upper_bound >= dense


def test_a_supremum_that_no_shift_attains_is_approached_and_proven():
    # K aligns with a must-link the better the smaller ε is: (μ₁ − μ₂)/‖μ‖ → 1. With a cannot-link it is never positive,
    # (μ₂ − μ₁)/‖μ‖ → 0 as ε grows.
    must = cl.GaussianField(path_graph(2), cl.Links(2, must=[(0, 1)])).solve(accuracy=1e-6)
    assert "towards 0" in must.reason and 1 - 1e-6 < must.value < 1
    assert must.certificate.upper_bound == pytest.approx(1, abs=1e-9) and must.certificate.upper_bound >= 1
    cannot = cl.GaussianField(path_graph(2), cl.Links(2, cannot=[(0, 1)])).solve(accuracy=1e-6)
    assert "towards infinity" in cannot.reason and -1e-6 < cannot.value < 0
    assert cannot.certificate.upper_bound == pytest.approx(0, abs=1e-9) and cannot.certificate.upper_bound >= 0


def spread_graph(rng, n):
    """A graph whose weights differ by many orders of magnitude, not always connected."""
    W = np.triu(10 ** rng.uniform(-10, 2, (n, n)) * (rng.random((n, n)) < 0.7), 1)
    return cl.Graph.from_affinity(W + W.T)


def some_links(rng, n):
    pairs = rng.permutation([(i, j) for i in range(n) for j in range(i)])[:4]
    kinds = rng.random(len(pairs)) < 0.5
    return cl.Links(n, must=pairs[kinds], cannot=pairs[~kinds])


@pytest.mark.parametrize("seed", range(8))
def test_no_shift_aligns_better_in_high_precision(seed):
    rng = np.random.default_rng(seed)
    graph, links = spread_graph(rng, 9) if seed % 2 else random_graph(9, rng), some_links(rng, 9)
    problem = cl.GaussianField(graph, links, normalized=seed % 4 < 2)
    solution = problem.solve(accuracy=1e-7)
    assert solution.certificate.holds(1e-6)
    eigenvalues, a, R = problem.spectrum[0], problem.agreement, problem.norm_root
    best = max(
        alignment_in_high_precision(eigenvalues, a, R, mpmath.mpf(10) ** power)
        for power in np.linspace(np.log10(eigenvalues[eigenvalues > 0].min()) - 6, np.log10(eigenvalues.max()) + 6, 400)
    )
    assert best <= solution.certificate.upper_bound
    assert solution.value >= best - 1e-7


def alignment_in_high_precision(eigenvalues, a, R, shift):
    with mpmath.workdps(40):
        mu = [1 / (mpmath.mpf(float(x)) + shift) for x in eigenvalues]
        squared = mpmath.fsum(mpmath.fdot(zip(map(float, row), mu, strict=True)) ** 2 for row in R)
        return mpmath.fdot(zip(map(float, a), mu, strict=True)) / mpmath.sqrt(squared)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("size", [1e-8, 1e8, 1e-100])
def test_the_size_of_weights_does_not_matter(instance, size, normalized):
    graph, links = instance
    larger = cl.Graph.from_affinity(graph.W * size)
    for method in (cl.GaussianField, cl.ImprovedOrder):
        one, other = method(graph, links, normalized).solve(), method(larger, links, normalized).solve()
        assert other.value == pytest.approx(one.value, abs=1e-6)
        assert other.certificate.upper_bound == pytest.approx(one.certificate.upper_bound, abs=1e-6)
    ratio = 1 if normalized else size
    one, other = (cl.GaussianField(g, links, normalized).solve().values["epsilon"] for g in (graph, larger))
    assert other == pytest.approx(ratio * one, rel=1e-4)


def test_a_shift_that_is_not_the_best_never_holds(instance):
    problem = cl.GaussianField(*instance)
    best = problem.solve()
    right = cl.certify(problem, {"epsilon": best.values["epsilon"]}, {})
    assert right.holds(1e-6)
    for factor in (1e-3, 0.3, 3.0, 1e3):
        wrong = cl.certify(problem, {"epsilon": factor * best.values["epsilon"]}, {})
        assert wrong.gap == pytest.approx(best.value - wrong.value, abs=1e-8) and not wrong.holds(1e-4)
    for nonsense in (-1.0, 0.0, np.nan):
        assert not cl.certify(problem, {"epsilon": np.array(nonsense)}, {}).holds(0.1)


@pytest.mark.parametrize("seed", range(8))
def test_no_ordered_spectrum_exceeds_the_bound(seed):
    rng = np.random.default_rng(seed)
    graph, links = spread_graph(rng, 8), some_links(rng, 8)
    problem = cl.ImprovedOrder(graph, links, order=int(rng.integers(2, 9)))
    a, R = problem.agreement, problem.norm_root
    solution = problem.solve(solver=("CLARABEL", "SCS", "CVXOPT")[seed % 3])
    bound = solution.certificate.upper_bound
    assert solution.certificate.holds(1e-4)
    V = problem.spectrum[1][links.linked]
    for _ in range(200):
        mu = np.sort(rng.exponential(size=len(a)) ** rng.uniform(0.5, 8))[::-1]
        mu[0] = rng.exponential() * 10 ** rng.uniform(-4, 4)
        size = np.linalg.norm((V * mu) @ V.T)
        assert size == pytest.approx(np.linalg.norm(R @ mu), rel=1e-9, abs=1e-14 * mu.max())
        if size > 0:
            assert a @ mu <= size * (bound + 1e-12)


def test_the_bound_of_an_ordered_spectrum_holds_whatever_it_is_made_from(instance):
    problem = cl.ImprovedOrder(*instance)
    optimum = problem.solve(solver="CLARABEL", accuracy=1e-8).value
    rng = np.random.default_rng(0)
    for size in (0.0, 0.1, 1.0, 10.0):
        w = size * rng.standard_normal(len(problem.norm_root))
        assert upper_bound(problem.program.data, w) >= optimum - 1e-9


def test_a_spectrum_that_is_not_the_best_never_holds(instance):
    problem = cl.ImprovedOrder(*instance)
    best = problem.solve(solver="CLARABEL", accuracy=1e-8)
    mu = best.values["mu"]
    assert cl.certify(problem, {"mu": mu}, {}).holds(1e-6)  # no multipliers are needed
    for wrong in (np.zeros_like(mu), 0.9 * mu, 1.1 * mu, mu[::-1].copy(), -mu, np.eye(len(mu))[0]):
        assert not cl.certify(problem, {"mu": wrong}, dict(best.duals)).holds(1e-2)


def test_verdicts_that_cannot_be_are_refuted(instance):
    for problem in (cl.ImprovedOrder(*instance), cl.GaussianField(*instance)):
        refutes, data = problem.program.refutes, problem.program.data
        assert "feasible" in refutes(data, cl.Status.INFEASIBLE) and "norm" in refutes(data, cl.Status.UNBOUNDED)
        assert refutes(data, cl.Status.LIMIT) == ""


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
