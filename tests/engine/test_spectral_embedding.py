"""The embedding of methods that end in spectral clustering is what they are clustered in."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.clustering import kmeans
from helpers.clusters import blobs

METHODS = {
    "SRCP": lambda graph, links: cl.SRCP(graph, links),
    "E2CP": lambda graph, links: cl.E2CP(graph, links),
    "SL": lambda graph, links: cl.SL(graph, links),
    "MinKL": lambda graph, links: cl.MinKL(
        cl.Graph.rbf(graph.points, 1.0).kernel(), links, must_noise=0.3, cannot_noise=0.3
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_it_is_what_k_means_is_given(name):
    graph, _, links = blobs(45)
    solution = METHODS[name](graph, links).solve()
    rows = solution.embedding_for(3)
    assert rows.shape == (45, 3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    np.testing.assert_array_equal(kmeans(rows, 3, 0), solution.cluster(3, random_state=0))


@pytest.mark.parametrize("name", METHODS)
def test_its_columns_are_the_leading_eigenvectors_of_the_affinity(name):
    graph, _, links = blobs(45)
    solution = METHODS[name](graph, links).solve()
    rows = solution.embedding_for(2)
    A = solution.affinity_for(2)
    A = A.toarray() if hasattr(A, "toarray") else np.array(A)
    np.fill_diagonal(A, 0)
    root = 1 / np.sqrt(A.sum(axis=1))
    leading = np.linalg.eigh(root[:, None] * A * root)[1][:, -2:]
    leading /= np.linalg.norm(leading, axis=1, keepdims=True)
    np.testing.assert_allclose(rows @ rows.T, leading @ leading.T, atol=1e-7)  # up to signs and rotations


def test_the_number_of_clusters_has_to_be_known():
    graph, _, links = blobs(30)
    with pytest.raises(cl.InvalidInput, match="SRCP is clustered in the leading eigenvectors.*embedding_for"):
        _ = cl.SRCP(graph, links).solve().embedding
    kp = cl.KP(graph, links).solve()  # one embedding for every number
    np.testing.assert_array_equal(kp.embedding_for(2), kp.embedding)
    with pytest.raises(cl.InvalidInput, match="n_clusters"):
        cl.SL(graph, links).solve().embedding_for(0)
