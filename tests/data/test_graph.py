from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.metrics import pairwise_distances

import cvxlink as cl


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((40, 3))


def brute_force_knn(X, k, sigma):
    d = pairwise_distances(X)
    np.fill_diagonal(d, np.inf)
    W = np.zeros_like(d)
    for i, row in enumerate(d):
        near = np.argsort(row)[:k]
        W[i, near] = np.exp(-(row[near] ** 2) / (2 * sigma**2))
    return W


@pytest.mark.parametrize("symmetrize", ["union", "mean", "mutual"])
def test_knn_weights_by_definition(X, symmetrize):
    directed = brute_force_knn(X, 4, 0.7)
    combine = {"union": np.maximum, "mutual": np.minimum, "mean": lambda a, b: (a + b) / 2}[symmetrize]
    graph = cl.Graph.knn(X, 4, sigma=0.7, symmetrize=symmetrize, connect=False)
    np.testing.assert_allclose(graph.W.toarray(), combine(directed, directed.T), atol=1e-14)


def test_sigma_mean_is_the_average_distance_to_the_neighbours(X):
    d = np.sort(pairwise_distances(X), axis=1)[:, 1:6]
    by_mean = cl.Graph.knn(X, 5, sigma="mean").W
    by_number = cl.Graph.knn(X, 5, sigma=float(d.mean())).W
    np.testing.assert_allclose(by_mean.toarray(), by_number.toarray())


def test_rbf_weights_by_definition(X):
    W = np.exp(-(pairwise_distances(X) ** 2) / 2 / 1.5**2)
    np.fill_diagonal(W, 0)
    np.testing.assert_allclose(cl.Graph.rbf(X, 1.5).W.toarray(), W)


@pytest.mark.parametrize("normalized", [True, False])
def test_laplacian_is_the_smoothness_of_a_kernel(X, normalized):
    graph = cl.Graph.knn(X, 5)
    B = np.random.default_rng(1).standard_normal((40, 4))
    scaled = B / np.sqrt(graph.degrees)[:, None] if normalized else B
    W = graph.W.toarray()
    smoothness = sum(W[i, j] * np.sum((scaled[i] - scaled[j]) ** 2) / 2 for i in range(40) for j in range(40))
    L = graph.laplacian(normalized)
    assert sp.issparse(L)
    assert np.sum(L.toarray() * (B @ B.T)) == pytest.approx(smoothness)


@pytest.mark.parametrize("normalized", [True, False])
def test_nullity_of_the_laplacian_counts_components(normalized):
    W = sp.block_diag([np.ones((3, 3)), np.ones((2, 2)), np.zeros((1, 1))])  # the last point is isolated
    graph = cl.Graph.from_affinity(W)
    eigenvalues = np.linalg.eigvalsh(graph.laplacian(normalized).toarray())
    assert graph.n_components == 3
    assert (abs(eigenvalues) < 1e-12).sum() == 3
    assert eigenvalues.min() > -1e-12


def test_connecting_adds_exactly_minimum_spanning_tree_edges():
    rng = np.random.default_rng(3)
    centres = np.array([[0, 0], [30, 0], [0, 40], [100, 100], [33, 4]])
    X = np.vstack([c + rng.standard_normal((12, 2)) for c in centres])
    loose = cl.Graph.knn(X, 3, connect=False)
    joined = cl.Graph.knn(X, 3, connect=True)
    assert loose.n_components > 1
    assert joined.n_components == 1
    added = set(zip(*(joined.W - loose.W).nonzero(), strict=True))
    tree = minimum_spanning_tree(pairwise_distances(X))
    edges = set(zip(*(tree + tree.T).nonzero(), strict=True))
    assert added <= edges
    assert len(added) == 2 * (loose.n_components - 1)


def test_far_components_are_joined_although_their_weight_underflows():
    X = np.array([[0.0], [1.0], [1e6], [1e6 + 1]])
    graph = cl.Graph.knn(X, 1, sigma=1.0)
    assert graph.n_components == 1
    assert graph.W[1, 2] == 1e-6


def test_large_components_are_joined_by_their_nearest_points():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(0, 1, (100, 2)), rng.uniform(0, 1, (90, 2)) + [5, 0]])
    graph = cl.Graph.knn(X, 8)
    i, j = np.unravel_index(pairwise_distances(X[:100], X[100:]).argmin(), (100, 90))
    assert graph.W[i, 100 + j] > 0


def test_coinciding_points_are_neighbours():
    X = np.array([[0.0], [0.0], [5.0], [5.0]])
    graph = cl.Graph.knn(X, 1, sigma=1.0, connect=False)
    assert graph.W[0, 1] == 1 and graph.W[2, 3] == 1 and graph.n_components == 2


def test_affinity_may_be_sparse_or_dense_and_loses_its_diagonal():
    W = np.array([[5.0, 1, 0], [1, 5, 2], [0, 2, 5]])
    dense, sparse = cl.Graph.from_affinity(W), cl.Graph.from_affinity(sp.coo_matrix(W))
    np.testing.assert_array_equal(dense.W.toarray(), W - 5 * np.eye(3))
    np.testing.assert_array_equal(sparse.W.toarray(), dense.W.toarray())
    np.testing.assert_array_equal(dense.degrees, [1, 3, 2])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_renumbering_points_renumbers_the_graph(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 2))
    order = rng.permutation(25)
    direct, renumbered = cl.Graph.knn(X[order], 3), cl.Graph.knn(X, 3).permuted(order)
    np.testing.assert_allclose(direct.W.toarray(), renumbered.W.toarray(), atol=1e-14)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cl.Graph.knn([[0.0], [np.nan], [1.0]], 1), "row 1, column 0"),
        (lambda: cl.Graph.knn([["a"], ["b"]], 1), "numbers only"),
        (lambda: cl.Graph.knn(np.zeros(5), 1), "two-dimensional"),
        (lambda: cl.Graph.knn(np.zeros((0, 3)), 1), "not empty"),
        (lambda: cl.Graph.knn(np.eye(4), 4), "between 1 and 3"),
        (lambda: cl.Graph.knn(np.eye(4), 2.5), "whole number"),
        (lambda: cl.Graph.knn(np.zeros((4, 2)), 2), "coincide"),
        (lambda: cl.Graph.knn(np.eye(4), 2, sigma=-1), "positive"),
        (lambda: cl.Graph.knn(np.eye(4), 2, sigma="median"), "'mean'"),
        (lambda: cl.Graph.knn(np.eye(4), 2, symmetrize="or"), "'union'"),
        (lambda: cl.Graph.knn([[1.0, 2.0]], 1), "two points"),
        (lambda: cl.Graph.from_affinity([[0, 1], [2, 0]]), "not symmetric"),
        (lambda: cl.Graph.from_affinity([[0, -1], [-1, 0]]), "negative"),
        (lambda: cl.Graph.from_affinity([[0, np.inf], [np.inf, 0]]), "NaN or infinite"),
        (lambda: cl.Graph.from_affinity(np.ones((2, 3))), "square"),
        (lambda: cl.Graph.from_affinity(np.ones(3)), "matrix"),
        (lambda: cl.Graph.from_affinity("x"), "numbers only"),
        (lambda: cl.Graph.from_affinity(1j * np.ones((2, 2))), "complex"),
        (lambda: cl.Graph(np.ones((2, 2))), "Graph.from_affinity"),
        (lambda: cl.Graph(sp.csr_array([[0, 1.0], [0, 0]])), "not symmetric"),
        (lambda: cl.Graph.knn(1e200 * np.eye(4), 2), "overflow"),
        (lambda: cl.Graph.knn(sp.eye_array(4), 2), "toarray"),
        (lambda: cl.Graph.knn(np.ma.masked_equal(np.eye(4), 1), 2), "NaN"),
        (lambda: cl.Graph.knn(1j * np.eye(4), 2), "complex"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(cl.InvalidInput, match=says):
        call()


@pytest.mark.parametrize("normalized", [True, False])
def test_incidence_squares_to_the_laplacian(normalized):
    W = np.array([[0, 2.0, 0, 0], [2.0, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]])  # the last point is isolated
    graph = cl.Graph.from_affinity(W)
    R = graph.incidence(normalized)
    assert R.shape == (2, 4)
    np.testing.assert_allclose((R.T @ R).toarray(), graph.laplacian(normalized).toarray(), atol=1e-14)


def test_the_kernel_of_a_graph_has_a_unit_diagonal():
    X = np.random.default_rng(0).standard_normal((7, 2))
    expected = np.exp(-((X[:, None] - X[None, :]) ** 2).sum(axis=2) / 2)
    np.testing.assert_allclose(cl.Graph.rbf(X, 1.0).kernel(), expected, atol=1e-12)


def test_eigenvectors_by_products_and_by_inversion_agree():
    from cvxlink.numerics.eigenpairs import by_inversion, by_products

    L = cl.Graph.knn(np.random.default_rng(0).standard_normal((1500, 20))).laplacian()
    (one, V), (other, U) = by_products(L, 12), by_inversion(L, 12)
    np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(abs((V * U).sum(axis=0)), 1, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_eigenvalues_of_many_components_alike(seed):
    # Lanczos's method sees one direction of each eigenspace from where it starts; a check from there is as blind.
    block = cl.Graph.knn(np.random.default_rng(seed).standard_normal((150, 20)), n_neighbors=5).W
    graph = cl.Graph.from_affinity(sp.block_diag([block] * 8))
    exact = np.linalg.eigvalsh(graph.laplacian().toarray())[:15]
    np.testing.assert_allclose(graph.smoothest(15)[0], exact, atol=1e-8)


def test_products_notice_an_eigenvalue_that_they_missed(monkeypatch):
    from cvxlink.numerics import eigenpairs as module

    L = cl.Graph.knn(np.random.default_rng(0).standard_normal((1500, 20))).laplacian()
    eigsh = module.sp.linalg.eigsh

    def forgetful(A, k, **options):
        if k == 1:
            return eigsh(A, k, **options)
        values, vectors = eigsh(A, k + 1, **options)
        return np.delete(values, k // 2), np.delete(vectors, k // 2, axis=1)

    monkeypatch.setattr(module.sp.linalg, "eigsh", forgetful)
    assert module.by_products(L, 12) is None
