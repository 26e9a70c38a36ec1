"""Semi-supervised kernel k-means: its shift, its relaxation, its weights."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers.clusters import blobs, membership
from helpers.graphs import random_points


@pytest.mark.parametrize("penalty", [None, "paper", 0.0, 3.0])
def test_the_shift_is_the_smallest_that_makes_a_kernel(penalty):
    graph, _, links = blobs()
    problem = cl.SSKK(graph, links, n_clusters=3, penalty=penalty)
    p = 24 / (3 * len(links)) if penalty == "paper" else penalty
    if penalty is None:
        changed = graph.S.toarray() + links.matrix.toarray() / (2 * np.linalg.norm(links.matrix.toarray(), 2))
    else:
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


def test_links_alone_make_no_leading_eigenvector():
    """An eigenvector x of S + τY for λ has xᵀSx ≥ λ − ½; with the paper's penalty a link has one of its own."""
    X, y = cl.datasets.load("iris")
    graph, links = cl.Graph.knn(X), cl.Links.sample(y, n_links=5, random_state=0)
    shares = {}
    for penalty in (None, "paper"):
        problem = cl.SSKK(graph, links, 3, penalty=penalty)
        eigenvalues, V = np.linalg.eigh(problem.K)
        agrees = np.einsum("ij,ij->j", V, graph.S @ V)
        shares[penalty] = agrees - (eigenvalues - problem.shift)
    assert shares[None].min() >= -0.5 - 1e-9 and shares["paper"].min() < -0.5


def test_the_default_does_not_depend_on_the_unit_of_the_weights():
    graph, _, links = blobs()
    once = cl.SSKK(graph, links, 3)
    for unit in (1e-6, 1e6):
        scaled = cl.SSKK(cl.Graph.from_affinity(unit * graph.W), links, 3)
        np.testing.assert_allclose(scaled.K, once.K, atol=1e-12)
        np.testing.assert_array_equal(scaled.solve().cluster(random_state=0), once.solve().cluster(random_state=0))
    other = cl.SSKK(cl.Graph.from_affinity(1e-6 * graph.W), links, 3, penalty="paper")
    assert np.linalg.norm(other.K - cl.SSKK(graph, links, 3, penalty="paper").K) > 1


def test_links_that_cancel_out_count_as_none():
    graph, _, _ = blobs()
    links = cl.Links(24, must=[(0, 1)], cannot=[(0, 1)])
    np.testing.assert_allclose(cl.SSKK(graph, links, 3).K, cl.SSKK(graph, cl.Links(24), 3).K, atol=1e-12)


def test_the_penalty_is_visible():
    graph, _, links = blobs()
    told = {penalty: str(cl.SSKK(graph, links, 3, penalty=penalty).explain()) for penalty in (None, "paper", 0.25)}
    assert "√(d_i d_j) on a link of points i and j" in told[None]
    assert f"penalty {24 / (3 * len(links)):.4g} per link" in told["paper"] and "penalty 0.25 per link" in told[0.25]


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


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda g, links: cl.SSKK(g, links, penalty=-1), "penalty must be zero or more"),
        (lambda g, links: cl.SSKK(g, links, penalty="papers"), "penalty must be 'paper', not 'papers'"),
        (lambda g, links: cl.SSKK(g, links, n_clusters=0), "n_clusters must be between 1 and 24"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, says):
    graph, _, links = blobs()
    with pytest.raises(cl.InvalidInput, match=says):
        call(graph, links)
