from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cvxlink as cl

labellings = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=12)


@given(labellings)
def test_error_is_the_best_matching_by_enumeration(pairs):
    y, labels = np.array(pairs).T
    best = max((np.array(p)[labels] == y).mean() for p in permutations(range(3)))
    assert cl.metrics.error(y, labels) == pytest.approx(1 - best)


@given(labellings)
def test_pairwise_accuracy_by_enumeration(pairs):
    y, labels = np.array(pairs).T
    links = cl.Links(len(y), must=[(0, 1)])
    chosen = [(i, j) for i, j in combinations(range(len(y)), 2) if (i, j) != (0, 1)]
    right = [(y[i] == y[j]) == (labels[i] == labels[j]) for i, j in chosen]
    assert cl.metrics.pairwise_accuracy(y, labels, links) == pytest.approx(
        np.mean(right) if right else np.nan, nan_ok=True
    )


def test_nmi_has_the_geometric_mean():
    y, labels = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    # I = log 2, H(y) = log 2, H(labels) = 2 log 2: I / √(H H') = 1/√2.
    assert cl.metrics.nmi(y, labels) == pytest.approx(np.sqrt(0.5))


def test_scores_of_a_perfect_and_a_renamed_clustering():
    y = np.array([0, 0, 1, 1, 2])
    links = cl.Links(5, must=[(0, 1)], cannot=[(0, 2)])
    expected = {"nmi": 1, "ari": 1, "error": 0, "pairwise": 1, "violated": 0}
    assert cl.metrics.scores(y, [7, 7, 3, 3, 5], links) == pytest.approx(expected)
    assert "violated" not in cl.metrics.scores(y, y)


def test_what_cannot_be_scored_is_refused():
    y = np.array([0, 0, 1, 1])
    for score in (cl.metrics.nmi, cl.metrics.error, cl.metrics.pairwise_accuracy, cl.metrics.scores):
        for labels in (y[:2], [0, 0, 1, np.nan], np.eye(2)):
            with pytest.raises(cl.InvalidInput):
                score(y, labels)
        with pytest.raises(cl.InvalidInput, match="no points"):
            score([], [])
    for links in ([(0, 1)], cl.Links(9, must=[(7, 8)])):
        with pytest.raises(cl.InvalidInput, match="Links object on the same 4 points"):
            cl.metrics.scores(y, y, links)


def test_lengths_must_agree():
    with pytest.raises(cl.InvalidInput, match="2 labels for 3 points"):
        cl.metrics.scores([0, 1, 1], [0, 1])
