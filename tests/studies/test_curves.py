from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import cvxlink as cl
from cvxlink.methods.table import Method
from cvxlink.studies import link_curve


@pytest.fixture(scope="module")
def blobs():
    centres = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    y = np.repeat([0, 1, 2], 8)
    return centres[y] + np.random.default_rng(0).standard_normal((24, 2)), y


def test_classes_far_apart_are_found_by_every_method_and_broken_links_are_none(blobs):
    X, y = blobs
    curve = link_curve(X, y, methods=("kp", cl.PCP, "NCuts"), n_links=(30, 60), repeats=2)
    assert list(curve) == ["KP", "PCP", "NCuts"] and len(curve) == 3 and curve.score == "nmi"
    for pairs in curve.values():
        assert [number for number, _ in pairs] == [30, 60]
        np.testing.assert_allclose([scores for _, scores in pairs], np.ones((2, 2)))
    broken = link_curve(X, y, methods="KP", n_links=[30], score="violated")
    assert broken["KP"][0][1].tolist() == [0, 0, 0]
    assert "30: 0.000" in str(broken)


def test_all_methods_get_the_same_links_and_every_repeat_others(small_iris, monkeypatch):
    X, y = small_iris
    made = []
    make = Method.make
    monkeypatch.setattr(Method, "make", lambda self, *given: made.append((self.name, given[1])) or make(self, *given))
    curve = link_curve(X, y, methods=["KP", "PCP"], n_links=[4, 9], repeats=2, score="ari")
    links = {name: [drawn for by, drawn in made if by == name and drawn.n == len(y)] for name in curve}
    assert links["KP"] == links["PCP"] and [len(drawn) for drawn in links["KP"]] == [4, 4, 9, 9]
    assert links["KP"][0] != links["KP"][1] and links["KP"][2] != links["KP"][3]
    assert all(drawn.violated(y) == 0 for drawn in links["KP"])
    by_hand = [cl.KP(cl.Graph.knn(X), drawn).solve().cluster(3, random_state=0) for drawn in links["KP"]]
    scores = np.concatenate([repeats for _, repeats in curve["KP"]])
    assert len(set(scores)) > 1
    np.testing.assert_allclose(scores, [adjusted_rand_score(y, labels) for labels in by_hand])


def test_scores_do_not_depend_on_what_else_is_asked_for(small_iris):
    X, y = small_iris
    alone = link_curve(X, y, methods=["KP"], n_links=[4], repeats=2)
    among = link_curve(cl.Graph.knn(X), y, methods=["NCuts", "KP"], n_links=[2, 4], repeats=3)
    np.testing.assert_array_equal(alone["KP"][0][1], among["KP"][1][1][:2])
    again = link_curve(X, y, methods=["KP"], n_links=[4], repeats=2)
    np.testing.assert_array_equal(alone["KP"][0][1], again["KP"][0][1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "speed"}, "no score 'speed'; there are nmi"),
        ({"methods": ["GFHF"]}, "GFHF takes labels, not links"),
        ({"methods": ["KQ"]}, "no method 'KQ'"),
        ({"methods": []}, "name at least one method and one number"),
        ({"n_links": []}, "name at least one method and one number"),
        ({"n_links": [10_000]}, "each of n_links must be between 0 and 435"),
        ({"repeats": 0}, "repeats must be between 1"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(options, message, small_iris):
    with pytest.raises(cl.InvalidInput, match=message):
        link_curve(*small_iris, **options)


def test_every_class_has_to_be_known(small_iris):
    X, y = small_iris
    with pytest.raises(cl.InvalidInput, match="class of every point"):
        link_curve(X, np.where(np.arange(len(y)) == 3, -1, y))
