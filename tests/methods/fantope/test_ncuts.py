"""Normalised cuts: a sum of eigenvalues, below every cut."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import cvxlink as cl
from helpers.clusters import blobs, membership
from helpers.graphs import star_graph


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


def test_separate_components_are_found_exactly():
    W = np.kron(np.eye(3), np.ones((4, 4)))
    solution = cl.NCuts(cl.Graph.from_affinity(W), 3).solve()
    assert solution.value == pytest.approx(0, abs=1e-12)
    assert cl.metrics.nmi(np.repeat([0, 1, 2], 4), solution.cluster(random_state=0)) == pytest.approx(1)


def test_a_large_graph_is_certified_without_a_large_matrix():
    X, y = cl.datasets.load("blobs", n=4000, random_state=0)
    solution = cl.NCuts(cl.Graph.knn(X), len(np.unique(y))).solve()
    assert solution.status is cl.Status.OPTIMAL and solution.values.stored["X"].T.shape[0] == 4000
    assert not solution.values._built


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda g, links: cl.NCuts(g, 25), "n_clusters must be between 1 and 24"),
        (lambda g, links: cl.NCuts(links), "NCuts takes a Graph"),
        (lambda g, links: cl.NCuts(g, 3).solve().cluster(4), "this NCuts is for 3 clusters, not 4"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, says):
    graph, _, links = blobs()
    with pytest.raises(cl.InvalidInput, match=says):
        call(graph, links)
