"""Propagated links as a sum of products: the same matrix as the dense routes find, to the accuracy asked for."""

import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.numerics import separable as propagated
from cvxlink.numerics.separable import PropagatedLinks, Separable

ROUTE = "factored"


@pytest.fixture(scope="module")
def digits():
    X, y = cl.datasets.load("digits")
    return cl.Graph.knn(X[:300]), y[:300]


@pytest.mark.parametrize("mu", [1e-3, 0.2, 10.0])
@pytest.mark.parametrize("accuracy", [1e-4, 1e-7, 1e-10])
def test_the_sum_is_as_accurate_as_it_says(mu, accuracy):
    terms = Separable.of(lambda x, y: 2 * mu / (2 * mu + x + y), 2.0, 2 * mu, accuracy)
    x = np.random.default_rng(0).uniform(0, 2, 500)
    f = np.polynomial.chebyshev.chebval(x - 1, terms.coefficients.T)
    off = abs(f.T @ f - 2 * mu / (2 * mu + x[:, None] + x[None, :])).max()
    assert terms.error <= accuracy and off <= 1.01 * accuracy


def test_it_is_short():
    # The best rank of 1/(x + y) on such an interval falls geometrically: MATH has 10 terms for 1e-6.
    assert len(Separable.of(lambda x, y: 0.4 / (0.4 + x + y), 2.0, 0.4, 1e-6).coefficients) <= 7
    assert len(Separable.of(lambda x, y: 1 / ((1 + x) * (1 + y)), 2.0, 1.0, 1e-8).coefficients) == 1


@pytest.mark.parametrize("formulation", [cl.SRCP, cl.E2CP])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-7])
def test_accuracy_is_honoured(digits, formulation, normalized, accuracy):
    graph, y = digits
    problem = formulation(graph, cl.Links.sample(y, n_links=60, random_state=0), normalized=normalized)
    F = problem.solve().propagated
    found = problem.solve(route=ROUTE, accuracy=accuracy)
    off = np.linalg.norm(found.propagated - F)
    assert found.status is cl.Status.OPTIMAL
    assert off <= accuracy * np.linalg.norm(F)
    assert off <= found.certificate.distance  # and the proof holds
    assert found.certificate.lower_bound <= problem.solve().value * (1 + 1e-12) + 1e-12
    assert found.value == pytest.approx(problem.solve().value, rel=accuracy)


def test_entries_rows_and_products_are_of_one_matrix(digits, monkeypatch):
    graph, y = digits
    problem = cl.SRCP(graph, cl.Links.sample(y, n_links=60, random_state=0))
    F = problem.solve().propagated
    monkeypatch.setattr(propagated, "MEMORY", 8 * 300 * 24 * 7)  # a few columns at a time
    monkeypatch.setattr(propagated, "PAIRS", 100)
    found = problem.solve(route=ROUTE, accuracy=1e-7)
    stored = found.values.stored["F"]
    assert isinstance(stored, PropagatedLinks)
    x = np.random.default_rng(0).standard_normal((300, 3))
    assert stored @ x == pytest.approx(F @ x, abs=1e-7)
    assert stored @ x[:, 0] == pytest.approx(F @ x[:, 0], abs=1e-7)
    assert stored.rows([3, 5]) == pytest.approx(F[[3, 5]], abs=1e-8)
    assert found.propagated_at([[1, 2], [3, 4]], 7) == pytest.approx(F[[[1, 2], [3, 4]], 7], abs=1e-8)
    assert found.propagated == pytest.approx(F, abs=1e-8)
    near = stored.nearby.tocoo()
    assert near.data == pytest.approx(F[near.row, near.col], abs=1e-8)
    assert abs(stored.nearby - stored.nearby.T).max() == 0
    monkeypatch.setattr(propagated, "MEMORY", 8 * 300 * 20)  # rows of a few linked points at a time, too
    near = problem.solve(route=ROUTE, accuracy=1e-7).values.stored["F"].nearby.tocoo()
    assert near.data == pytest.approx(F[near.row, near.col], abs=1e-8)


def test_what_is_kept_are_neighbours_links_and_the_strongest_pairs(digits):
    graph, y = digits
    links = cl.Links.sample(y, n_links=60, random_state=0)
    solution = cl.SRCP(graph, links).solve(route=ROUTE)
    F, near = solution.propagated, solution.values.stored["F"].nearby
    kept = np.zeros((300, 300), dtype=bool)
    kept[near.nonzero()] = True
    kept[sp.csr_array(near).tocoo().coords] = True
    assert kept[graph.W.nonzero()].all() and kept[links.matrix.nonzero()].all() and kept.diagonal().all()
    for point in links.linked:
        others = np.where(
            graph.W[[point]].toarray().ravel() + abs(links.matrix[[point]]).toarray().ravel() > 0, 0, F[point]
        )
        others[point] = 0
        strongest = np.argsort(others)[::-1][:10]
        assert kept[point, strongest[others[strongest] > 1e-12]].all()


def test_links_that_join_too_many_points_are_refused(digits, monkeypatch):
    from cvxlink.methods.link_propagation import routes as propagation

    graph, y = digits
    problem = cl.SRCP(graph, cl.Links.sample(y, n_links=60, random_state=0))
    monkeypatch.setattr(propagation, "LARGEST_COMPONENT", 3)
    with pytest.raises(cl.FormUnavailable, match="points in one piece.*fewer links"):
        problem.solve(route=ROUTE)


def test_entries_that_are_asked_for_wrongly(digits):
    graph, y = digits
    solution = cl.SRCP(graph, cl.Links.sample(y, n_links=60, random_state=0)).solve(route=ROUTE)
    with pytest.raises(cl.InvalidInput, match="2 and 3"):
        solution.propagated_at([0, 1], [0, 1, 2])
    assert solution.propagated_at([], []).shape == (0,)
    with pytest.raises(cl.InvalidInput, match="no steps to report"):
        solution.problem.solve(route=ROUTE, progress=print)


def test_far_edges_keep_their_weights():
    # On a long path nothing arrives at the far end, and its edges must not be lost.
    W = sp.diags_array([np.full(399, 0.5)] * 2, offsets=[-1, 1])
    problem = cl.SRCP(cl.Graph.from_affinity(W), cl.Links(400, must=[(0, 5)], cannot=[(0, 9)]))
    affinity = problem.solve(route=ROUTE).affinity
    assert sp.issparse(affinity)
    assert affinity.diagonal(1)[100:] == pytest.approx(0.5, abs=1e-9)
    dense = problem.solve(route="eigen").affinity
    assert affinity.toarray()[:20, :20] == pytest.approx(np.where(affinity.toarray() > 0, dense, 0)[:20, :20], abs=1e-6)


def test_sparse_and_dense_spectral_clustering_agree():
    graph = cl.Graph.knn(cl.datasets.blobs(300, 3, dimension=3, random_state=0)[0])
    sparse = cl.clustering.spectral(graph.W, 3, random_state=0)
    dense = cl.clustering.spectral(graph.W.toarray(), 3, random_state=0)
    assert cl.metrics.scores(sparse, dense)["ari"] == pytest.approx(1)
    with pytest.raises(cl.InvalidInput, match="non-negative"):
        cl.clustering.spectral(-graph.W, 3)


def test_clustering_from_what_is_kept(digits):
    graph, y = digits
    problem = cl.SRCP(graph, cl.Links.sample(y, n_links=150, random_state=0))
    whole, kept = (problem.solve(route=route).cluster(10, random_state=0) for route in ("eigen", ROUTE))
    scores = [cl.metrics.scores(y, labels)["nmi"] for labels in (whole, kept)]
    assert abs(scores[0] - scores[1]) < 0.1


def test_large_problems_take_it_by_themselves(monkeypatch):
    from cvxlink.methods.link_propagation import routes as lyapunov

    X, y = cl.datasets.blobs(60, 3, random_state=0)
    links = cl.Links.sample(y, n_links=10, random_state=0)
    monkeypatch.setattr(lyapunov, "LARGEST_BY_CHOICE", 50)
    for formulation in (cl.SRCP, cl.E2CP):
        plan = formulation(cl.Graph.knn(X), links).explain()
        assert plan.route.name == ROUTE and "strongest pairs" in str(plan)


def test_an_array_that_does_not_fit_is_refused(digits, monkeypatch):
    graph, y = digits
    monkeypatch.setattr(propagated, "LARGEST_ARRAY", 100)
    solution = cl.SRCP(graph, cl.Links.sample(y, n_links=10, random_state=0)).solve(route=ROUTE)
    with pytest.raises(cl.InvalidInput, match="propagated_at"):
        solution.propagated  # noqa: B018
    assert np.isfinite(solution.propagated_at(3, 4))
    with pytest.raises(cl.InvalidInput, match="from 0 to 299"):
        solution.propagated_at(300, 4)


def test_no_links_and_a_tiny_mu(digits):
    graph, _ = digits
    nothing = cl.SRCP(graph, cl.Links(300)).solve(route=ROUTE)
    assert nothing.value == 0 and abs(nothing.propagated).max() == 0
    with pytest.raises(cl.FormUnavailable, match="too small against the Laplacian"):
        cl.SRCP(graph, cl.Links(300, must=[(0, 1)]), mu=1e-9).solve(route=ROUTE)


def test_other_methods_have_no_propagated_links(digits):
    graph, _ = digits
    with pytest.raises(cl.CvxlinkError, match="SRCP and E2CP do"):
        cl.NCuts(graph, 3).solve().propagated_at(0, 1)


def test_labels_reach_the_far_end(monkeypatch):
    from cvxlink.numerics import harmonic

    # 300 edges from the nearest label 0.4^300 of it arrives: conjugate gradients would leave zero, or noise.
    W = sp.diags_array([np.ones(599)] * 2, offsets=[-1, 1])
    labels = np.full(600, -1)
    labels[[0, 250]] = 0, 1
    problem = cl.LLGC(cl.Graph.from_affinity(W), labels)
    exact = problem.solve()
    monkeypatch.setattr(harmonic, "MOST_FACTORISED", 10)
    found = problem.solve()
    assert (
        found.labels.tolist() == exact.labels.tolist()
        and set(found.labels[:120]) == {0}
        and set(found.labels[130:]) == {1}
    )
    assert (found.scores.max(axis=1) > 0).all()
    assert found.scores == pytest.approx(exact.scores, rel=1e-4, abs=1e-300)
