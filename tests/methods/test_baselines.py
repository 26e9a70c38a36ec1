"""NCuts, SL, SSKK and E2CP against what they are said to be."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.numerics.matrices import Congruence
from helpers.graphs import path_graph, random_points, star_graph


def blobs(n: int = 24, k: int = 3, seed: int = 2) -> tuple[cl.Graph, np.ndarray, cl.Links]:
    y = np.arange(n) % k
    X = random_points(n, 2, seed) + 3 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    return cl.Graph.rbf(X, 1.0), y, cl.Links.sample(y, n_links=12, random_state=seed)


def membership(labels: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """The projection of a clustering, weighted by degrees."""
    H = np.sqrt(degrees)[:, None] * (labels[:, None] == np.unique(labels))
    H = H / np.linalg.norm(H, axis=0)
    return H @ H.T


# ---------------------------------------------------------------------- NCuts


def test_the_fantope_is_the_sum_of_the_smallest_eigenvalues():
    graph, _, _ = blobs()
    for k in (1, 2, 5, 24):
        solution = cl.NCuts(graph, k).solve()
        eigenvalues = np.linalg.eigvalsh(graph.laplacian().toarray())
        assert solution.value == pytest.approx(eigenvalues[:k].sum(), abs=1e-10)
        assert solution.rank == k


def test_on_a_star_the_optimum_is_known():
    # L̄ of a star has the eigenvalues 0, 1 (n − 2 times) and 2: the third smallest is multiple, so X is not unique.
    for solver in (None, "CLARABEL"):
        solution = cl.NCuts(star_graph(5), 3).solve(solver=solver)
        assert solution.value == pytest.approx(2, abs=1e-5)
        assert solution.certificate.lower_bound <= 2 + 1e-12


def test_no_clustering_cuts_less_than_the_relaxation():
    graph, _, _ = blobs(8, 2)
    bound = cl.NCuts(graph, 2).solve().value
    W, d = graph.W.toarray(), graph.degrees
    best = np.inf
    for tail in product([0, 1], repeat=7):
        labels = np.array([0, *tail])
        if labels.any():
            inside = [W[np.ix_(labels == c, labels == c)].sum() / d[labels == c].sum() for c in (0, 1)]
            cut = 2 - sum(inside)  # what leaves each cluster, divided by its degree
            projected = float((graph.laplacian().toarray() * membership(labels, d)).sum())
            assert projected == pytest.approx(cut)
            best = min(best, cut)
    assert bound <= best + 1e-12
    labels = cl.NCuts(graph, 2).solve().cluster(random_state=0)
    assert float((graph.laplacian().toarray() * membership(labels, d)).sum()) == pytest.approx(best)


@pytest.mark.parametrize("method", ["NCuts", "SSKK"])
def test_the_relaxation_gap_of_a_clustering_is_never_negative(method):
    graph, y, links = blobs()
    solution = cl.methods()[method].make(graph, links, None, 3).solve()
    rng = np.random.default_rng(0)
    for labels in [y, *rng.integers(0, 3, (30, 24))]:
        gap = solution.relaxation_gap(labels)
        assert gap.gap >= -1e-10 and gap.violated < 1e-10
    assert solution.relaxation_gap(y % 2).violated == pytest.approx(1)  # a projection of rank two is none of rank three


def test_new_points_join_the_clusters():
    graph, y, links = blobs(60)
    labels = cl.sample_labels(y, per_class=4, random_state=0)
    new = graph.points[:6] + 0.01
    for method in ("GFHF", "LLGC", "NCuts", "CSC", "CSCGFHF"):
        extended = cl.methods()[method].make(graph, links, labels, 3).solve().extend(new)
        together = extended.cluster(3, random_state=0)
        assert len(together) == 66
        np.testing.assert_array_equal(together[60:], together[:6])  # next to old points, with these


def test_separate_components_are_found_exactly():
    W = np.kron(np.eye(3), np.ones((4, 4)))
    solution = cl.NCuts(cl.Graph.from_affinity(W), 3).solve()
    assert solution.value == pytest.approx(0, abs=1e-12)
    assert cl.metrics.nmi(np.repeat([0, 1, 2], 4), solution.cluster(random_state=0)) == pytest.approx(1)


def test_bounds_of_the_fantope_hold_for_any_point():
    graph, _, _ = blobs()
    problem = cl.NCuts(graph, 3)
    best = problem.solve()
    rng = np.random.default_rng(1)
    for size in (1e-6, 1e-2, 1.0):
        noise = rng.standard_normal((24, 24))
        certificate = cl.certify(problem, {"X": best.kernel + size * (noise + noise.T)})
        assert certificate.lower_bound <= best.value <= certificate.upper_bound
        assert not certificate.holds(1e-2 * size)
    assert cl.certify(problem, {"X": best.kernel}).holds(1e-9)
    V = best.values.stored["X"].T
    low = cl.certify(problem, {"X": Congruence(V[:, :1], np.eye(1))})
    assert low.upper_bound is None and low.violations["trace"] == pytest.approx(2)
    skewed = best.kernel.copy()
    skewed[0, 1] += 0.1
    assert cl.certify(problem, {"X": skewed}).violations["X domain"] == pytest.approx(0.1)


def test_a_large_graph_is_certified_without_a_large_matrix():
    X, y = cl.datasets.load("blobs", n=4000, random_state=0)
    solution = cl.NCuts(cl.Graph.knn(X), len(np.unique(y))).solve()
    assert solution.status is cl.Status.OPTIMAL and solution.values.stored["X"].T.shape[0] == 4000
    assert not solution.values._built


# ---------------------------------------------------------------------- SL


def test_links_become_entries_and_nothing_else_moves():
    graph = path_graph(4)
    links = cl.Links(4, must=[(0, 3)], cannot=[(1, 2)])
    solution = cl.SL(graph, links).solve()
    expected = graph.W.toarray()
    expected[0, 3] = expected[3, 0] = 1
    expected[1, 2] = expected[2, 1] = 0
    np.testing.assert_array_equal(solution.affinity, expected)
    assert solution.value == 4 and solution.certificate.distance == 0


def test_one_kind_of_links_is_enough_and_so_is_none():
    graph = path_graph(4)
    assert cl.SL(graph, cl.Links(4, cannot=[(0, 1)])).solve().value == 2
    assert cl.SL(graph, cl.Links(4, must=[(0, 2)])).solve().value == 2
    assert cl.SL(graph, cl.Links(4)).solve().value == 0


def test_a_pair_that_is_both_is_refused_but_a_chain_is_not():
    graph = path_graph(4)
    with pytest.raises(cl.InconsistentLinks) as caught:
        cl.SL(graph, cl.Links(4, must=[(0, 1)], cannot=[(0, 1)]))
    assert caught.value.pair == (0, 1)
    cl.SL(graph, cl.Links(4, must=[(0, 1), (1, 2)], cannot=[(0, 2)])).solve()
    with pytest.raises(cl.InvalidInput, match="the largest is 3"):
        cl.SL(cl.Graph.from_affinity(3 * graph.W), cl.Links(4))


# ---------------------------------------------------------------------- SSKK


@pytest.mark.parametrize("penalty", [None, 0.0, 3.0])
def test_the_shift_is_the_smallest_that_makes_a_kernel(penalty):
    graph, _, links = blobs()
    problem = cl.SSKK(graph, links, n_clusters=3, penalty=penalty)
    p = 24 / (3 * len(links)) if penalty is None else penalty
    scale = 1 / np.sqrt(graph.degrees)
    changed = np.outer(scale, scale) * (graph.W + p * links.matrix).toarray()
    np.testing.assert_allclose(problem.K - problem.shift * np.eye(24), changed, atol=1e-13)
    assert np.linalg.eigvalsh(problem.K)[0] == pytest.approx(0, abs=1e-12)
    least = cp.Variable()
    cp.Problem(cp.Minimize(least), [changed + least * np.eye(24) >> 0]).solve(solver="CLARABEL")
    assert problem.shift == pytest.approx(float(least.value), abs=1e-6)


def test_the_relaxation_is_below_the_distortion_of_every_clustering():
    graph, _, links = blobs(8, 2)
    problem = cl.SSKK(graph, links)
    solution, d = problem.solve(), graph.degrees
    kernel = solution.kernel
    distortions = {}
    for tail in product([0, 1], repeat=7):
        labels = np.array([0, *tail])
        if labels.any():
            total = 0.0
            for c in (0, 1):  # Σ w ‖φ − m‖², the centre m being the weighted mean
                inside = labels == c
                w = d[inside]
                K = kernel[np.ix_(inside, inside)]
                total += w @ np.diag(K) - w @ K @ w / w.sum()
            assert total == pytest.approx(float((problem.K * (np.eye(8) - membership(labels, d))).sum()))
            distortions[tuple(labels)] = total
    assert solution.value <= min(distortions.values()) + 1e-10
    found = solution.cluster(random_state=0)
    found = found if found[0] == 0 else 1 - found
    assert distortions[tuple(found)] == pytest.approx(min(distortions.values()))


def test_without_links_it_is_the_normalised_cut():
    graph, _, _ = blobs()
    none, cuts = cl.SSKK(graph, cl.Links(24), n_clusters=3), cl.NCuts(graph, 3)
    np.testing.assert_allclose(none.solve().values["X"], cuts.solve().values["X"], atol=1e-9)
    with pytest.raises(cl.InvalidInput, match="point 2 has no neighbours"):
        cl.SSKK(cl.Graph.from_affinity([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), cl.Links(3))


def test_weights_are_repeated_points():
    X = random_points(7, 2, 3)
    K = X @ X.T
    weights = np.array([1, 3, 1, 2, 1, 1, 2])
    rows = np.repeat(np.arange(7), weights)
    once = cl.clustering.kernel_kmeans(K, 3, random_state=0, n_init=50, weights=weights)
    repeated = cl.clustering.kernel_kmeans(K[np.ix_(rows, rows)], 3, random_state=0, n_init=50)
    assert cl.metrics.nmi(once[rows], repeated) == pytest.approx(1)
    with pytest.raises(cl.InvalidInput, match="7 positive numbers"):
        cl.clustering.kernel_kmeans(K, 3, weights=[0] * 7)


# ---------------------------------------------------------------------- E2CP


def test_two_passes_are_two_label_propagations():
    graph, _, links = blobs(14)
    alpha, L = 0.7, graph.laplacian().toarray()
    mu = (1 - alpha) / alpha

    def smoothed(Y):  # the program of LLGC, in CVXPY's hands
        F = cp.Variable(Y.shape)
        root = graph.incidence()
        cp.Problem(cp.Minimize(cp.sum_squares(root @ F) + mu * cp.sum_squares(F - Y))).solve(solver="CLARABEL")
        return F.value

    columns = smoothed(links.matrix.toarray())
    expected = smoothed(columns.T).T
    solution = cl.E2CP(graph, links, alpha=alpha).solve()
    np.testing.assert_allclose(solution.propagated, expected, atol=1e-6)
    S = np.eye(14) - L
    inverse = np.linalg.inv(np.eye(14) - alpha * S)
    formula = (1 - alpha) ** 2 * inverse @ links.matrix.toarray() @ inverse
    np.testing.assert_allclose(solution.propagated, formula, atol=1e-12)


def test_e2cp_certificates_hold_for_any_point():
    graph, _, links = blobs()
    problem = cl.E2CP(graph, links)
    best = problem.solve()
    for size in (1e-8, 1e-3, 1.0):
        F = best.propagated + size * np.random.default_rng(0).standard_normal((24, 24))
        certificate = cl.certify(problem, {"F": F})
        assert certificate.lower_bound <= best.value <= certificate.value
        assert np.linalg.norm(F - best.propagated) <= certificate.distance


@given(st.floats(0.01, 0.99))
def test_it_differs_from_srcp_by_the_term_on_both_sides(alpha):
    graph, _, links = blobs(6)
    mu = (1 - alpha) / alpha
    F = np.random.default_rng(0).standard_normal((6, 6))
    L, Y = graph.laplacian().toarray(), links.matrix.toarray()
    fit = mu * ((F - Y) ** 2).sum()
    srcp = cl.certify(cl.SRCP(graph, links, mu=mu), {"F": F}).value
    e2cp = cl.certify(cl.E2CP(graph, links, alpha=alpha), {"F": F}).value
    both = np.trace(F.T @ L @ F @ L) / mu
    assert e2cp == pytest.approx(2 * (srcp - fit) + fit + both, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda g, links: cl.E2CP(g, links, alpha=0), "alpha must be a number between 0 and 1"),
        (lambda g, links: cl.NCuts(g, 25), "n_clusters must be between 1 and 24"),
        (lambda g, links: cl.NCuts(links), "NCuts takes a Graph"),
        (lambda g, links: cl.SSKK(g, links, penalty=-1), "penalty must be zero or more"),
        (lambda g, links: cl.SSKK(g, links, n_clusters=0), "n_clusters must be between 1 and 24"),
        (lambda g, links: cl.SL(g, cl.Links(3)), "24 points, but the links are on 3"),
        (lambda g, links: cl.NCuts(g, 3).solve().cluster(4), "this NCuts is for 3 clusters, not 4"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, says):
    graph, _, links = blobs()
    with pytest.raises(cl.InvalidInput, match=says):
        call(graph, links)
