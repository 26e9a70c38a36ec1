"""What benchmarks/few_links.py makes of the cells of its study: ranks, critical differences, means, failures."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import cvxlink as cl

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))

import few_links
from cells.peers import kp_beside_ncuts
from cvxlink.studies.statistics import critical_difference, mean_ranks
from few_links import WRONG, columns, failures, mean_scores
from pages import Finished


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


def test_a_method_that_fails_scores_as_one_cluster_and_what_is_not_there_is_left_out(monkeypatch):
    def cell(method, **found):
        return {"data": "iris", "links": 3, "wrong": 0.0, "configuration": method, "draw": 0, **found}

    done = {("iris", 3, 0.0, "KP", 0): cell("KP", ari=0.5, nmi=0.6), ("iris", 150, 0.2, "KP", 0): cell("KP", wrong=0.2)}
    lost = (
        cell("KP", draw=1, reason="ValueError: no clustering", refused=None) | {"draw": 1},
        cell("COP-KMeans", reason="no such package", refused="MissingDependency"),
        cell("MMC", reason="TypeError: too old", refused=None),
    )
    monkeypatch.setattr(few_links.Finished, "in_studies", lambda *asked: Finished(done, lost))
    cells, missing = few_links.cells_in(Path())
    assert set(cells.done) == {("iris", 3, "KP", 0), ("iris", WRONG, "KP", 0), ("iris", 3, "KP", 1)}
    failed = cells.done["iris", 3, "KP", 1]
    assert (failed["ari"], failed["nmi"], failed["failed"]) == (0, 0, "ValueError")
    assert missing == ["no such package", "TypeError: too old"]
    assert failures(cells) == "KP found no clustering in 1 cells (ValueError)."
    assert columns(cells) == [3, WRONG]


def test_the_mixture_without_links_is_spectral_clustering_with_rows_of_unit_length():
    X, y = cl.datasets.load("blobs", n=40, n_classes=2, random_state=0)
    labels = kp_beside_ncuts(cl.studies.Task(X, y, cl.Links(40)))
    expected = cl.clustering.spectral(cl.Graph.knn(X).W, 2, 0)
    assert cl.metrics.error(labels, expected) == 0


def test_means_over_draws():
    cells = Finished({("iris", 3, "KP", draw): {"ari": score} for draw, score in enumerate((0.2, 0.4))})
    scores = mean_scores(cells, ["iris", "wine"], ["KP", "NCuts"], 3, "ari")
    assert np.allclose(scores, [[0.3, np.nan], [np.nan, np.nan]], equal_nan=True)
