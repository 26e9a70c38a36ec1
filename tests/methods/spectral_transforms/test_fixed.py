"""Diffusion and cluster kernels, against the matrix exponential and the projection they are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import cvxlink as cl
from helpers.clusters import blobs


@pytest.mark.parametrize("normalized", [True, False])
def test_the_diffusion_kernel_is_the_matrix_exponential(normalized):
    graph, _, _ = blobs(20)
    B = cl.diffusion_kernel(graph, 0.9, normalized=normalized)
    expected = scipy.linalg.expm(-(0.9**2) / 2 * graph.laplacian(normalized).toarray())
    np.testing.assert_allclose(B @ B.T, expected, atol=1e-9)


def test_a_wide_diffusion_leaves_one_direction():
    graph, _, _ = blobs(20)
    for width in (1e4, 1e200):
        B = cl.diffusion_kernel(graph, width)
        np.testing.assert_allclose(B @ B.T, np.outer(graph.trivial_cut, graph.trivial_cut), atol=1e-9)


def test_the_cluster_kernel_is_the_projection_on_the_smoothest_eigenvectors():
    graph, _, _ = blobs(24)
    B = cl.cluster_kernel(graph, 3)
    V = np.linalg.eigh(graph.laplacian().toarray())[1][:, :3]
    np.testing.assert_allclose(B @ B.T, V @ V.T, atol=1e-9)


@pytest.mark.parametrize("kernel", [lambda g: cl.diffusion_kernel(g, 8.0), lambda g: cl.cluster_kernel(g, 3)])
def test_they_find_clusters_without_links(kernel):
    X, y = cl.datasets.load("blobs", n=90, spread=0.5, random_state=0)
    found = cl.clustering.kernel_kmeans(factor=kernel(cl.Graph.knn(X)), n_clusters=3, random_state=0)
    assert cl.metrics.nmi(y, found) > 0.9


def test_what_is_wrong_is_said():
    graph, _, _ = blobs(20)
    with pytest.raises(cl.InvalidInput, match="width must be"):
        cl.diffusion_kernel(graph, 0)
    with pytest.raises(cl.InvalidInput, match="n_clusters must be"):
        cl.cluster_kernel(graph, 21)
    with pytest.raises(cl.InvalidInput, match="graph"):
        cl.diffusion_kernel(np.eye(3))
