"""Clusters of one point among many are warned of, with a remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.engine.learnt_kernel import _warn_of_single_points
from helpers.graphs import random_points


def labels_of(*sizes: int) -> np.ndarray:
    return np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((694, 1, 1, 1, 1, 1, 1), True),
        ((350, 1), True),
        ((100, 1, 1), True),
        ((60, 40, 1), False),  # one outlier is an outlier
        ((50, 50, 50, 1, 1), True),
        ((50, 50, 50, 50, 50, 1, 1), False),
        ((200, 100), False),
        ((8, 1), False),  # few points
        ((20, 1, 1), False),
        ((300,), False),
    ],
)
def test_most_clusters_with_one_point_are_a_surprise(sizes, expected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _warn_of_single_points(labels_of(*sizes), len(sizes))
    assert bool(caught) is expected


def test_a_solution_says_which_points_and_what_to_do():
    X = random_points(80, 2)
    X[[5, 50]] += [[300, 0], [0, 500]]
    solution = cl.PCP(cl.Graph.knn(X, 5), cl.Links(80, cannot=[(0, 5), (5, 50), (0, 50)])).solve()
    says = r"2 of the 3 clusters hold a single point \(number 5, 50\).*leave such points out"
    with pytest.warns(cl.ClusterWarning, match=says) as told:
        labels = solution.cluster(3, random_state=0)
    assert told[0].filename == __file__ and sorted(np.bincount(labels)) == [1, 1, 78]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = np.delete(X, [5, 50], axis=0)
        inside = cl.PCP(cl.Graph.knn(kept, 5), cl.Links(78, cannot=[(0, 4), (4, 20), (0, 20)]))
        inside.solve().cluster(3, random_state=0)
