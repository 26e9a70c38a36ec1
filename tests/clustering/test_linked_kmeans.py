"""k-means that keeps links."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.clustering.linked_kmeans import linked_kmeans
from helpers.clusterings import keep, partitions, squared_distances_to_means
from helpers.partitions import planted_cannot_links


def test_without_broken_links_it_is_kmeans():
    X, y = cl.datasets.blobs(60, 3, spread=0.2, random_state=0)
    links = cl.Links.sample(y, n_links=20, random_state=0)
    np.testing.assert_array_equal(linked_kmeans(X, links, 3, 0), cl.clustering.kmeans(X, 3, 0))


@pytest.mark.parametrize("seed", range(8))
def test_links_are_kept_and_no_single_move_is_better(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 2))
    links = cl.Links(8, must=[(0, 1), (2, 3)], cannot=[(0, 2), (4, 5), (5, 6)])
    labels = linked_kmeans(X, links, 3, seed)
    assert keep(links, labels)
    best = min(squared_distances_to_means(X, other) for other in partitions(8, 3) if keep(links, other))
    assert best <= squared_distances_to_means(X, labels) * (1 + 1e-12) <= 4 * best


@pytest.mark.parametrize("seed", range(20))
def test_no_cluster_is_empty(seed):
    X = np.random.default_rng(seed).standard_normal((6, 2))
    links = cl.Links(6, must=[(5, 1), (5, 4)], cannot=[(2, 0), (3, 4), (0, 1), (5, 2), (2, 4)])
    labels = linked_kmeans(X, links, 4, seed)
    assert keep(links, labels) and len(set(labels.tolist())) == 4  # four blocks, so each is a cluster


def test_where_no_clustering_keeps_the_links_there_is_a_warning():
    X, _ = cl.datasets.blobs(20, 2, random_state=0)
    triangle = cl.Links(20, cannot=[(0, 1), (1, 2), (0, 2)])
    with pytest.warns(cl.LinkWarning, match="break some links"):
        labels = linked_kmeans(X, triangle, 2, 0)
    np.testing.assert_array_equal(labels, cl.clustering.kmeans(X, 2, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "k", "share"), [(60, 6, 0.3), (120, 3, 0.05), (120, 5, 0.15), (200, 4, 0.2), (200, 6, 0.1)]
)
def test_many_cannot_links_are_kept(n, k, share):
    y, apart = planted_cannot_links(n, k, share, seed=0)
    rng = np.random.default_rng(0)
    X, links = rng.standard_normal((n, 3)) + 4 * rng.standard_normal((k, 3))[y], cl.Links(n, cannot=apart)
    assert keep(links, linked_kmeans(X, links, k, 0))
    assert keep(links, linked_kmeans(rng.standard_normal((n, 3)), links, k, 0))  # points that say nothing about them
