from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.clustering import kernel_factor, kernel_kmeans, kmeans, spectral


def inertia(B, labels):
    return sum(((B[labels == c] - B[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))


def same_partition(a, b):
    return np.array_equal(a[:, None] == a[None, :], b[:, None] == b[None, :])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_kernel_and_factor_give_the_same_labels(seed, k):
    B = np.random.default_rng(seed).standard_normal((30, 4))
    by_kernel = kernel_kmeans(B @ B.T, k, random_state=seed)
    by_factor = kernel_kmeans(factor=B, n_clusters=k, random_state=seed)
    np.testing.assert_array_equal(by_kernel, by_factor)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_kernel_kmeans_finds_the_best_of_all_clusterings(seed):
    B = np.random.default_rng(seed).standard_normal((8, 2))
    best = min(inertia(B, np.array(labels)) for labels in product(range(3), repeat=8) if len(set(labels)) == 3)
    found = kernel_kmeans(B @ B.T, 3, random_state=0, n_init=60)
    assert inertia(B, found) == pytest.approx(best, rel=1e-9)


def test_kernel_kmeans_is_kmeans_on_the_factor():
    X, _ = cl.datasets.load("blobs", random_state=0, spread=0.6)
    assert same_partition(kernel_kmeans(X @ X.T, 3, random_state=0), kmeans(X, 3, random_state=0))


def test_points_that_coincide_stay_together_and_every_cluster_is_used():
    B = np.repeat(np.eye(3), [5, 3, 2], axis=0)
    labels = kernel_kmeans(B @ B.T, 3, random_state=0)
    assert same_partition(labels, np.repeat([0, 1, 2], [5, 3, 2]))
    assert len(np.unique(kernel_kmeans(np.ones((6, 6)), 4, random_state=0))) == 4


def test_two_rings_need_the_spectrum():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 120)
    y = np.repeat([0, 1], 60)
    X = np.where(y, 4, 1)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    graph = cl.Graph.knn(X, 6)
    assert cl.metrics.nmi(y, spectral(graph.W, 2, random_state=0)) == pytest.approx(1)
    assert cl.metrics.nmi(y, kmeans(X, 2, random_state=0)) < 0.5


def test_spectral_does_not_count_the_diagonal():
    rng = np.random.default_rng(0)
    W = rng.random((12, 12)) * np.kron(np.eye(2) + 0.05, np.ones((6, 6)))
    W = W + W.T
    np.fill_diagonal(W, 0)
    plain = spectral(W, 2, random_state=0)
    assert cl.metrics.nmi(plain, np.arange(12) // 6) == pytest.approx(1)
    # A point that is joined to itself far more than to others would be a cluster of its own.
    for A in (W + np.diag(np.r_[1e4, np.zeros(11)]), sp.csr_array(W + 3 * np.eye(12)), W + np.diag(rng.random(12))):
        np.testing.assert_array_equal(spectral(A, 2, random_state=0), plain)


def test_spectral_ignores_isolated_points_quietly():
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = 1
    labels = spectral(A, 2, random_state=0)
    assert labels[0] == labels[1] and labels[2] == labels[3] and labels[0] != labels[2]


def test_factor_reproduces_its_kernel():
    B = np.random.default_rng(0).standard_normal((12, 3))
    F = kernel_factor(B @ B.T)
    assert F.shape == (12, 3)
    np.testing.assert_allclose(F @ F.T, B @ B.T, atol=1e-10)


def test_the_same_seed_gives_the_same_labels(small_pcp):
    solution = small_pcp.solve()
    for method in ("kernel-kmeans", "spectral", "kmeans", "cut"):
        a, b = (solution.cluster(3, method=method, random_state=7) for _ in range(2))
        np.testing.assert_array_equal(a, b)
    with pytest.raises(cl.InvalidInput, match="PCP yields kernel, which cannot be clustered by .argmax"):
        solution.cluster(3, method="argmax")
    with pytest.raises(cl.InvalidInput, match="PCP does not know how many clusters"):
        solution.cluster()


@pytest.mark.parametrize("function", [kernel_kmeans, spectral, kmeans])
def test_bounds_on_the_number_of_clusters(function):
    K = np.eye(4)
    assert set(function(K, 1)) == {0}
    assert sorted(function(K, 4)) == [0, 1, 2, 3]
    for bad in (0, 5, 2.0, True):
        with pytest.raises(cl.InvalidInput, match="n_clusters"):
            function(K, bad)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: kernel_kmeans(np.ones((2, 3)), 1), "square"),
        (lambda: kernel_kmeans(np.full((2, 2), np.nan), 1), "finite"),
        (lambda: kernel_kmeans(n_clusters=1), "either a kernel or a factor"),
        (lambda: spectral(-np.ones((2, 2)), 1), "non-negative"),
        (lambda: kmeans(np.ones(3), 1), "two-dimensional"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(cl.InvalidInput, match=says):
        call()


def test_unknown_method_and_too_few_clusters_for_the_links(small_pcp):
    solution = small_pcp.solve()
    with pytest.raises(cl.InvalidInput, match="there are kernel-kmeans, spectral, kmeans"):
        solution.cluster(3, method="ward")
    with pytest.warns(cl.LinkWarning, match="24 blocks; with 26 clusters"):
        solution.cluster(26, method="spectral", random_state=0)
    with pytest.warns(cl.LinkWarning, match="24 distinct places, so only 24 clusters exist"):
        assert small_pcp.links.violated(solution.cluster(26, random_state=0)) == 0
    with pytest.raises(cl.InvalidInput, match="n_clusters"):
        solution.cluster("3")
    triangle = cl.PCP(small_pcp.graph, cl.Links(30, cannot=[(0, 10), (10, 20), (0, 20)])).solve()
    with pytest.warns(cl.LinkWarning, match="at least 3 clusters"):
        triangle.cluster(2, random_state=0)


def test_points_at_one_place_are_not_torn_apart():
    graph = cl.Graph.knn(cl.datasets.load("iris")[0])
    solution = cl.KP(graph, cl.Links(150, must=[(0, 1), (2, 3)])).solve()
    with pytest.warns(cl.LinkWarning, match="to 1 distinct place, so only 1 cluster exists"):
        assert not solution.cluster(3, random_state=0).any()
    two = cl.Graph.from_affinity(np.kron(np.eye(2), np.ones((5, 5))))  # without links each component is at one place
    with pytest.warns(cl.LinkWarning, match="2 distinct places"):
        labels = cl.PCP(two, cl.Links(10, cannot=[(0, 9)])).solve().cluster(4, random_state=0)
    assert labels.tolist() == [0] * 5 + [1] * 5
