"""What benchmarks/few_links.py computes: ranks, critical differences, wrong links, means of cells."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import cvxlink as cl

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import few_links
from cvxlink.studies.statistics import critical_difference, mean_ranks
from few_links import ALONE, WRONG, compute, consistent_part, drawn_links, mean_scores, mixture, turned
from resumable import Cells

FIELDS = ("data", "links", "method", "draw")


def test_mean_ranks_share_ties():
    scores = np.array([[0.9, 0.8, 0.8, 0.1], [0.5, 0.7, 0.6, 0.5]])
    assert mean_ranks(scores).tolist() == [(1 + 3.5) / 2, (2.5 + 1) / 2, (2.5 + 2) / 2, (4 + 3.5) / 2]


@pytest.mark.parametrize(
    ("n_methods", "level", "q"),
    [(2, 0.05, 1.960), (4, 0.05, 2.569), (5, 0.05, 2.728), (10, 0.05, 3.164), (4, 0.10, 2.291)],
)
def test_critical_differences_are_those_of_demsars_table(n_methods, level, q):
    expected = q * np.sqrt(n_methods * (n_methods + 1) / (6 * 14))
    assert critical_difference(n_methods, 14, level) == pytest.approx(expected, abs=6e-4)


def test_critical_difference_of_demsars_example():
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)  # four classifiers on 14 data sets


def test_the_asked_share_of_links_says_the_opposite():
    y = np.repeat([0, 1, 2], 30)
    right, wrong = cl.Links.sample(y, n_links=150, random_state=4), drawn_links(y, WRONG, 4)
    assert len(wrong) == len(right) == 150
    assert wrong.violated(y) == 30 / 150
    assert {tuple(pair) for pair in np.vstack([wrong.must, wrong.cannot]).tolist()} == {
        tuple(pair) for pair in np.vstack([right.must, right.cannot]).tolist()
    }


def test_the_consistent_part_cannot_be_made_larger():
    y = np.repeat([0, 1], 8)
    links = turned(cl.Links.sample(y, n_links=40, random_state=0), 8, 0)
    assert links.contradiction()
    kept = consistent_part(links, 1)
    assert not kept.contradiction()
    for is_must, all_pairs, kept_pairs in ((True, links.must, kept.must), (False, links.cannot, kept.cannot)):
        for pair in {tuple(p) for p in all_pairs.tolist()} - {tuple(p) for p in kept_pairs.tolist()}:
            must = [*kept.must.tolist(), pair] if is_must else kept.must
            cannot = kept.cannot if is_must else [*kept.cannot.tolist(), pair]
            assert cl.Links(links.n, must, cannot).contradiction()


def test_a_method_that_fails_scores_as_one_cluster_and_one_that_enforces_links_gets_a_consistent_part():
    X, y = cl.datasets.load("blobs", n=40, n_classes=2, random_state=0)
    links = turned(cl.Links.sample(y, n_links=60, random_state=0), 12, 0)

    def fails(task):
        raise ValueError("no clustering")

    def enforces(task):
        task.links.require_consistent()
        return task.y

    assert compute(fails, X, y, links, 0) | {"seconds": 0, "violated": 0} == {
        "ari": 0.0, "nmi": 0.0, "violated": 0, "seconds": 0, "failed": "ValueError",
    }  # fmt: skip
    found = compute(enforces, X, y, links, 0)
    assert found["ari"] == 1 and found["left out"]


def test_the_mixture_without_links_is_spectral_clustering_with_rows_of_unit_length():
    X, y = cl.datasets.load("blobs", n=40, n_classes=2, random_state=0)
    labels = mixture(few_links.Task(X, y, cl.Links(40), 0))
    expected = cl.clustering.spectral(cl.Graph.knn(X).W, 2, 0)
    assert cl.metrics.error(labels, expected) == 0


def test_means_over_draws_and_the_graph_alone_at_every_number_of_links(tmp_path):
    cells = Cells(tmp_path / "cells.jsonl", {}, FIELDS)
    for draw, score in enumerate((0.2, 0.4)):
        cells.add({"data": "iris", "links": 3, "method": "KP", "draw": draw, "ari": score})
    cells.add({"data": "iris", "links": 0, "method": ALONE, "draw": 0, "ari": 0.5})
    scores = mean_scores(cells, ["iris", "wine"], ["KP", ALONE], 3, "ari")
    assert np.allclose(scores, [[0.3, 0.5], [np.nan, np.nan]], equal_nan=True)
