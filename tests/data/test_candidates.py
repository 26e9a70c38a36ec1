"""The nine graphs of Li, Liu & Tang (2009)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import cvxlink as cl
from helpers.graphs import random_points


def test_the_widths_are_multiples_of_the_mean_distance_to_the_last_neighbour():
    X = random_points(40, 3, 0)
    r = np.sort(cdist(X, X), axis=1)[:, 20].mean()  # the first is the point itself
    expected = sorted({*np.linspace(0.1 * r, r, 5).round(12), *np.linspace(r, 10 * r, 5).round(12)})
    assert len(expected) == 9
    np.testing.assert_allclose(cl.neighbour_widths(X), expected, rtol=1e-9)


def test_the_graphs_have_the_same_edges_and_these_widths():
    X = random_points(40, 3, 0)
    graphs, widths = cl.candidate_graphs(X), cl.neighbour_widths(X)
    near = np.argsort(cdist(X, X), axis=1)[:, 1:21]
    chosen = np.zeros((40, 40), dtype=bool)
    np.put_along_axis(chosen, near, True, axis=1)
    expected = np.where(chosen | chosen.T, np.exp(-(cdist(X, X) ** 2) / (2 * widths[4] ** 2)), 0)
    np.testing.assert_allclose(graphs[4].W.toarray(), expected, rtol=1e-9, atol=1e-15)
    assert [graph.rule.width for graph in graphs] == pytest.approx(list(widths))


def test_the_best_of_them_is_the_best():
    X, y = cl.datasets.load("blobs", n=60, random_state=0)

    def score(graph: cl.Graph) -> float:
        return cl.metrics.nmi(y, cl.clustering.spectral(graph.W, 3, random_state=0))

    graphs = cl.candidate_graphs(X)
    assert score(max(graphs, key=score)) == max(map(score, graphs))


def test_what_is_wrong_is_said():
    with pytest.raises(cl.InvalidInput, match="n_neighbors must be between 1 and 4"):
        cl.neighbour_widths(random_points(5, 2, 0), 5)
    with pytest.raises(cl.InvalidInput, match="coincides"):
        cl.candidate_graphs(np.zeros((30, 2)))
    with pytest.raises(cl.InvalidInput, match="two points"):
        cl.neighbour_widths([[1.0, 2.0]])
