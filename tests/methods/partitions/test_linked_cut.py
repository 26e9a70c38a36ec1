"""Normalised cuts with links: closed forms, duality against enumeration, independent routes, invariance."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.methods.partitions import dual_eigenvectors
from cvxlink.programs.status import Status
from helpers.clusters import blobs
from helpers.graphs import random_points


def small(seed: int = 0, n: int = 12, n_links: int = 6) -> tuple[cl.Graph, cl.Links, np.ndarray]:
    """Three noisy groups with links that agree with them."""
    y = np.arange(n) % 3
    X = random_points(n, seed=seed) + 2.0 * np.eye(3)[y]
    return cl.Graph.knn(X, 4), cl.Links.sample(y, n_links=n_links, random_state=seed), y


def path_of_three() -> cl.Graph:
    return cl.Graph.from_affinity(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))


def clusterings(n: int, k: int):
    """Every clustering of n points into exactly k clusters, once each."""
    for tail in product(range(k), repeat=n - 1):
        labels = np.array([0, *tail])
        firsts = [np.flatnonzero(labels == c)[0] for c in range(k) if (labels == c).any()]
        if len(firsts) == k and firsts == sorted(firsts):
            yield labels


def cut_of(graph: cl.Graph, labels: np.ndarray) -> float:
    W, d = graph.W.toarray(), graph.degrees
    clusters = [labels == c for c in np.unique(labels)]
    return sum(W[np.ix_(c, ~c)].sum() / d[c].sum() for c in clusters)


def test_without_links_it_is_ncuts():
    graph, _, y = small()
    ours, theirs = cl.LinkedCut(graph, cl.Links(12), 3).solve(), cl.NCuts(graph, 3).solve()
    assert ours.value == pytest.approx(theirs.value, abs=1e-10)
    distances = [((s.embedding[:, None] - s.embedding[None]) ** 2).sum(axis=2) for s in (ours, theirs)]
    np.testing.assert_allclose(distances[0], distances[1], atol=1e-9)
    assert cl.metrics.nmi(ours.cluster(random_state=0), theirs.cluster(random_state=0)) == pytest.approx(1)
    assert cl.metrics.nmi(y, ours.cluster(random_state=0)) > 0.3
    single = cl.LinkedCut(graph, cl.Links(12, must=[(0, 1)]), 1).solve()
    assert single.value == pytest.approx(0, abs=1e-12) and single.status is Status.OPTIMAL


def test_one_cannot_link_on_a_path_by_hand():
    # With M = [[p, q], [q, 1 − p]] in the eigenvectors of 1 and 2, the link asks for q = p/√2, so p ≤ 2/3; the value
    # 2 − p is the normalised cut of {0}, {1, 2}: 1/1 + 1/3.
    problem = cl.LinkedCut(path_of_three(), cl.Links(3, cannot=[(0, 1)]), 2)
    for way in ({"route": "dual"}, {"solver": "CLARABEL"}, {"solver": "SCS"}):
        solution = problem.solve(**way, accuracy=1e-5)
        assert solution.value == pytest.approx(4 / 3, abs=1e-5)
        assert solution.certificate.lower_bound <= 4 / 3 + 1e-12
        assert solution.certificate.upper_bound >= 4 / 3 - 1e-12
    labels = problem.solve().cluster(random_state=0)
    assert labels[0] != labels[1] == labels[2]


def test_on_a_complete_graph_all_links_cost_the_same():
    n, k = 7, 3
    graph = cl.Graph.from_affinity(np.ones((n, n)) - np.eye(n))
    solution = cl.LinkedCut(graph, cl.Links(n, must=[(0, 1)], cannot=[(1, 2), (3, 4), (2, 5)]), k).solve()
    assert solution.value == pytest.approx(n * (k - 1) / (n - 1), abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_no_clustering_that_keeps_the_links_cuts_less(seed: int):
    graph, links, _ = small(seed, n=8, n_links=5)
    problem = cl.LinkedCut(graph, links, 3)
    solution = problem.solve(accuracy=1e-6)
    kept = [labels for labels in clusterings(8, 3) if not links.violated(labels)]
    cuts = [cut_of(graph, labels) for labels in kept]
    assert kept and solution.certificate.lower_bound <= min(cuts)
    assert solution.certificate.upper_bound <= min(cuts) + 1e-6
    # Each of them is a feasible point with its cut as the value.
    point = problem.point_of_clustering(kept[0])
    assert problem.program.value(point) == pytest.approx(cuts[0])
    assert max(problem.program.violations(point).values()) < 1e-12
    assert problem.partition.value(kept[0]) == pytest.approx(cuts[0])


@pytest.mark.parametrize("seed", range(3))
def test_what_broken_soft_links_cost(seed: int):
    graph, links, _ = small(seed, n=7, n_links=8)
    problem = cl.LinkedCut(graph, links, 2, must_weight=0.7, cannot_weight=0.3)
    bound, mean = problem.solve(accuracy=1e-6).certificate.lower_bound, graph.degrees.mean()
    for labels in clusterings(7, 2):
        volume = [graph.degrees[labels == c].sum() for c in (0, 1)]
        value = cut_of(graph, labels)
        value += sum(0.7 * mean * (1 / volume[0] + 1 / volume[1]) for i, j in links.must if labels[i] != labels[j])
        value += sum(0.3 * mean * 2 / volume[labels[i]] for i, j in links.cannot if labels[i] == labels[j])
        point = problem.point_of_clustering(labels)
        assert problem.program.value(point) == pytest.approx(value)
        assert bound <= value


@pytest.mark.parametrize(
    "weights", [{}, {"must_weight": 1.0, "cannot_weight": 0.5}, {"cannot_weight": 0.05}, {"must_weight": {}}]
)
def test_our_route_and_solvers_agree(weights: dict):
    graph, links, _ = small(1, 15, 12)
    problem = cl.LinkedCut(graph, links, 3, **weights)
    ours = problem.solve(accuracy=1e-6)
    theirs = problem.solve("CLARABEL", accuracy=1e-4)
    assert ours.value == pytest.approx(theirs.value, abs=1e-5)
    for certificate in (ours.certificate, theirs.certificate):
        assert certificate.lower_bound <= ours.certificate.upper_bound
        assert certificate.upper_bound >= ours.certificate.lower_bound
        assert certificate.upper_bound - certificate.lower_bound < 1e-4


def test_with_z_nonnegative_the_bound_is_tighter():
    graph, links, _ = small(2, n=8, n_links=4)
    loose, tight = (cl.LinkedCut(graph, links, 3, nonnegative=flag).solve("CLARABEL") for flag in (False, True))
    best = min(cut_of(graph, labels) for labels in clusterings(8, 3) if not links.violated(labels))
    assert loose.value - 1e-4 <= tight.value <= best + 1e-4
    assert tight.values["Z"].min() > -1e-5


def test_any_multipliers_give_a_bound():
    graph, links, _ = small(3)
    problem = cl.LinkedCut(graph, links, 3)
    best = problem.solve(accuracy=1e-6)
    for seed in range(5):
        duals = {"cannot": np.random.default_rng(seed).normal(size=len(links.cannot))}
        certificate = problem.program.proof(problem.program.data, best.values.stored, duals)
        assert certificate.lower_bound <= best.value + 1e-9
        assert certificate.upper_bound >= best.certificate.lower_bound
    with pytest.raises(cl.InvalidInput, match="multipliers"):
        problem.program.proof(problem.program.data, best.values.stored, {"cannot": np.zeros(99)})


def test_the_same_links_said_otherwise_change_nothing():
    graph, links, _ = small(4, 15, 14)
    solution = cl.LinkedCut(graph, links, 3).solve(accuracy=1e-6)
    value = solution.value
    closure = links.closure()
    assert len(closure) > len(links)
    assert cl.LinkedCut(graph, closure, 3).solve(accuracy=1e-6).value == pytest.approx(value, abs=2e-6)
    order = np.random.default_rng(0).permutation(15)
    moved = cl.LinkedCut(graph.permuted(order), links.permuted(order), 3).solve(accuracy=1e-6)
    assert moved.value == pytest.approx(value, abs=2e-6)
    np.testing.assert_allclose(moved.values["Z"], solution.values["Z"][np.ix_(order, order)], atol=0.02)


@pytest.mark.parametrize("weights", [{}, {"must_weight": 1.0, "cannot_weight": 1.0}])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_the_weights_does_not_matter(weights: dict, factor: float):
    graph, links, _ = small(5)
    scaled = cl.Graph.from_affinity(factor * graph.W.toarray())
    one, other = (cl.LinkedCut(g, links, 3, **weights).solve(accuracy=1e-6) for g in (graph, scaled))
    assert other.status is Status.OPTIMAL and other.value == pytest.approx(one.value, abs=2e-6)


def test_hard_links_are_kept_exactly():
    graph, links, _ = small(6, 15, 14)
    solution = cl.LinkedCut(graph, links, 3).solve()
    Z, rows = solution.values["Z"], solution.embedding
    assert abs(Z[tuple(links.cannot.T)]).max() < 1e-12
    i, j = links.must.T
    np.testing.assert_allclose(rows[i], rows[j], atol=1e-7)
    assert abs(Z @ graph.trivial_cut - graph.trivial_cut).max() < 1e-12
    assert not links.violated(solution.cluster(random_state=0))


def test_soft_links_lead_from_ncuts_to_hard_links():
    graph, links, _ = small(7, 15, 12)
    values = [
        cl.LinkedCut(graph, links, 3, must_weight=w, cannot_weight=w).solve(accuracy=1e-6).value
        for w in (0.0, 0.01, 0.1, 1.0, 1e4)
    ]
    hard = cl.LinkedCut(graph, links, 3).solve(accuracy=1e-6).value
    assert values[0] == pytest.approx(cl.NCuts(graph, 3).solve().value, abs=2e-6)
    assert all(a <= b + 2e-6 for a, b in zip(values, [*values[1:], hard], strict=True))
    assert values[-1] == pytest.approx(hard, rel=1e-3)
    infinite = cl.LinkedCut(graph, links, 3, must_weight=np.inf, cannot_weight=np.inf)
    assert infinite.must_weight is None and infinite.solve(accuracy=1e-6).value == pytest.approx(hard, abs=2e-6)


def test_contradictory_links_are_refused_unless_they_are_soft():
    graph, _, _ = small()
    links = cl.Links(12, must=[(0, 1), (1, 2)], cannot=[(0, 2), (3, 4)])
    with pytest.raises(cl.InconsistentLinks):
        cl.LinkedCut(graph, links, 3)
    for weights in ({"must_weight": 1.0}, {"cannot_weight": 1.0}, {"must_weight": 1.0, "cannot_weight": 1.0}):
        problem = cl.LinkedCut(graph, links, 3, **weights)
        ours, theirs = problem.solve(accuracy=1e-6), problem.solve("CLARABEL")
        assert ours.status is Status.OPTIMAL and ours.value == pytest.approx(theirs.value, abs=1e-5)


def test_links_that_need_more_clusters_are_never_optimal():
    graph, _, _ = small()
    triangle = cl.Links(12, must=[(2, 5)], cannot=[(0, 1), (1, 2), (0, 5)])
    with pytest.raises(cl.InfeasibleProblem, match="points 0, 1, 2 pairwise apart, so at least 3"):
        cl.LinkedCut(graph, triangle, 2)
    assert cl.LinkedCut(graph, triangle, 2, cannot_weight=1.0).solve().status is Status.OPTIMAL
    with pytest.raises(cl.InfeasibleProblem):
        cl.LinkedCut(graph, cl.Links(12, cannot=[(0, 1)]), 1)
    # A ring of five needs three clusters, though no three of its points are pairwise apart.
    ring = cl.Links(5, cannot=[(i, (i + 1) % 5) for i in range(5)])
    complete = cl.Graph.from_affinity(np.ones((5, 5)) - np.eye(5))
    for way in ({}, {"solver": "CLARABEL"}):
        assert cl.LinkedCut(complete, ring, 2).solve(**way, strict=False).status is Status.INFEASIBLE
    assert cl.LinkedCut(complete, ring, 3).solve().value == pytest.approx(2.5, abs=1e-5)


def test_eigenvectors_by_products_lead_to_the_same_answer(monkeypatch: pytest.MonkeyPatch):
    X, y = cl.datasets.load("blobs", n=300, random_state=0)
    graph, links = cl.Graph.knn(X, 8), cl.Links.sample(y, n_links=25, random_state=0)
    problem = cl.LinkedCut(graph, links, len(np.unique(y)))
    dense = problem.solve()
    monkeypatch.setattr(dual_eigenvectors, "DENSE", 50)
    sparse = problem.solve()
    assert sparse.status is Status.OPTIMAL and sparse.value == pytest.approx(dense.value, abs=1e-5)


def test_new_points_follow_old_ones():
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = rng.normal(size=(45, 2)) * 0.3 + 3 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    estimator = cl.ConstrainedClustering(n_clusters=3, method="LinkedCut", random_state=0)
    estimator.fit(X[:30], links=cl.Links.sample(y[:30], n_links=10, random_state=0))
    assert cl.metrics.nmi(y[30:], estimator.predict(X[30:])) == pytest.approx(1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda g, links: cl.LinkedCut(g, links, 0), "n_clusters must be"),
        (lambda g, links: cl.LinkedCut(g, links, 99), "n_clusters must be"),
        (lambda g, links: cl.LinkedCut(g, links, 3, nonnegative=2), "nonnegative"),
        (lambda g, links: cl.LinkedCut(g, links, 3, must_weight=-1.0), "must_weight must be zero or more"),
        (lambda g, links: cl.LinkedCut(g, links, 3, cannot_weight="much"), "cannot_weight must be a number"),
        (lambda g, links: cl.LinkedCut(g, links, 3, cannot_weight={(0, 11): 1.0}), "not one of these links"),
        (lambda g, links: cl.LinkedCut(g, cl.Links(5), 3), "graph has 12 points"),
        (lambda g, links: cl.LinkedCut(isolated(), cl.Links(3), 2), "point 2 has no neighbours"),
    ],
)
def test_wrong_arguments_are_named(wrong, words: str):
    graph, _, _ = small()
    with pytest.raises(cl.InvalidInput, match=words):
        wrong(graph, cl.Links(12, must=[(0, 3)], cannot=[(0, 1)]))


def isolated() -> cl.Graph:
    return cl.Graph.from_affinity(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]]))


def test_blocks_limit_the_number_of_clusters():
    graph, _, _ = blobs(6, 2)
    with pytest.raises(cl.InvalidInput, match="must-links leave"):
        cl.LinkedCut(graph, cl.Links(graph.n, must=[(i, i + 1) for i in range(graph.n - 1)]), 2)
