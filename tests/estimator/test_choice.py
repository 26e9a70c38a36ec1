"""The method that is taken where none is named, why links are doubted, and what the estimator says about it."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from cvxlink import ConstrainedClustering
from cvxlink.estimator.choice import MANY, SOFT, choose
from cvxlink.estimator.doubts import FEWEST, kept_share, predicted_share, why_doubtful


@pytest.fixture(scope="module")
def lines():
    """Four lines, of which every other one belongs together: the graph alone breaks half of the links."""
    X, y = cl.datasets.four_lines(120, noise=0.02, random_state=0)
    return X, y, cl.Graph.knn(X, 6)


@pytest.fixture(scope="module")
def blobs():
    X, y = cl.datasets.blobs(90, 3, spread=0.5, random_state=1)
    return X, y, cl.Graph.knn(X, 6)


def turned(links, count):
    """The same pairs, of which the first so many of each kind say the opposite."""
    must = np.vstack([links.must[count:], links.cannot[:count]])
    return cl.Links(links.n, must, np.vstack([links.cannot[count:], links.must[:count]]))


def test_the_table(blobs):
    _, y, graph = blobs
    right = cl.Links.sample(y, n_links=12, random_state=0)
    assert choose(cl.Links(90), 3, graph).method == "NCuts"
    assert choose(right, 3, graph) == choose(right, 3, graph)
    assert (choose(right, 3, graph).method, choose(right, 3, graph).options) == ("KPCut", {})
    contradictory = cl.Links(90, must=[(0, 1), (1, 2)], cannot=[(0, 2)])
    crowded = cl.Links(90, cannot=[(0, 1), (0, 2), (1, 2)])
    few_blocks = cl.Links(90, must=[(0, i) for i in range(1, 89)])
    for links, why in (
        (contradictory, "contradict"),
        (crowded, "need 3 clusters, more than 2"),
        (few_blocks, "blocks"),
    ):
        chosen = choose(links, 2 if links is crowded else 3, graph)
        assert (chosen.method, chosen.options) == ("LinkedCut", SOFT) and why in chosen.reason
    assert choose(crowded, 3, graph).method == "LinkedCut" and not choose(crowded, 3, graph).options  # three links


def test_many_links_decide_alone():
    X, y = cl.datasets.blobs(300, 3, spread=0.5, random_state=1)
    graph = cl.Graph.knn(X, 6)
    for count, expected in ((MANY, "KPCut"), (MANY + 1, "KP")):
        assert choose(cl.Links.sample(y, n_links=count, random_state=0), 3, graph).method == expected


def test_graphs_that_kp_or_cuts_do_not_cover():
    pairs = cl.Graph.from_affinity(np.kron(np.eye(3), [[0, 1], [1, 0]]))
    assert choose(cl.Links(6, cannot=[(0, 2)]), 2, pairs).method == "LinkedCut"  # no link in the third component
    apart = [(0, 2), (1, 2), (0, 3), (1, 3), (0, 4)]
    assert choose(cl.Links(6, cannot=apart[:4]), 2, pairs).method == "LinkedCut"
    assert choose(cl.Links(6, cannot=apart), 2, pairs).method == "KPCut"
    alone = np.zeros((3, 3))
    alone[0, 1] = alone[1, 0] = 1
    lonely = cl.Graph.from_affinity(alone)
    assert choose(cl.Links(3, cannot=[(0, 2)]), 2, lonely).method == "KP"


def test_right_links_are_trusted_where_the_graph_disagrees_with_them(lines):
    _, y, graph = lines
    links = cl.Links.sample(y, n_links=FEWEST, random_state=0)
    alone = cl.NCuts(graph, 2).solve().cluster(2, random_state=0)
    assert links.violated(alone) > 0.3 and kept_share(links, alone) < predicted_share(graph, links, 2)
    assert why_doubtful(graph, links, 2) == ""
    assert choose(links, 2, graph).method == "KPCut"


def test_wrong_links_are_doubted_and_taken_softly():
    X, y = cl.datasets.blobs(400, 3, spread=0.5, random_state=1)
    graph, right = cl.Graph.knn(X), cl.Links.sample(y, n_links=FEWEST, random_state=0)
    assert kept_share(right, y) == 1 and predicted_share(graph, right, 3) == 1 and not why_doubtful(graph, right, 3)
    wrong = turned(right, 12)
    assert wrong.contradiction() is None and wrong.violated(y) == 24 / FEWEST
    reason = why_doubtful(graph, wrong, 3)
    assert reason.startswith("the graph alone breaks 24% of the links")
    fitted = ConstrainedClustering(3, random_state=0).fit(X, links=wrong)
    assert (fitted.chosen_.options, fitted.chosen_.reason) == (SOFT, reason)
    assert cl.metrics.error(y, fitted.labels_) < 0.05
    fewer = cl.Links(400, wrong.must, wrong.cannot[:-1])
    assert why_doubtful(graph, fewer, 3) == ""  # too few to tell


def test_both_kinds_of_links_count_alike():
    links = cl.Links(6, must=[(0, 1), (2, 3), (3, 4)], cannot=[(0, 5)])
    labels = np.array([0, 0, 0, 0, 1, 0])
    assert kept_share(links, labels) == (2 / 3 + 0) / 2
    assert kept_share(cl.Links(6, cannot=[(0, 5), (0, 4)]), labels) == 1 / 2


def test_the_estimator_says_what_it_chose_and_why(blobs, recwarn):
    X, y, _ = blobs
    estimator = ConstrainedClustering(3, random_state=0).fit(X)
    assert isinstance(estimator.problem_, cl.NCuts) and "no links" in str(estimator.chosen_) and not recwarn.list
    alone = ConstrainedClustering(3, method="ncuts", random_state=0).fit(X)
    np.testing.assert_array_equal(estimator.labels_, alone.labels_)
    assert (alone.chosen_.method, alone.chosen_.reason) == ("NCuts", "asked for")
    some = cl.sample_labels(y, per_class=2, random_state=0)
    estimator.fit(X, some)
    assert isinstance(estimator.problem_, cl.KPCut) and len(estimator.links_) == 3 + 3
    assert (estimator.classes_[estimator.labels_] == y).all()
    assert (estimator.predict(X + 0.01) == estimator.labels_).all()
    contradictory = ConstrainedClustering(3, random_state=0).fit(X, must_link=[(0, 1)], cannot_link=[(0, 1)])
    assert dict(contradictory.chosen_.options) == SOFT and cl.metrics.error(y, contradictory.labels_) < 0.05


def test_links_that_no_clustering_keeps_are_taken_softly():
    # A wheel of cannot-links with five spokes needs four clusters, though no four points are pairwise apart.
    rim = [(i, (i + 1) % 5) for i in range(5)]
    wheel = cl.Links(6, cannot=[*rim, *((i, 5) for i in range(5))])
    X = np.random.default_rng(0).standard_normal((6, 2))
    options = {"n_neighbors": 5, "random_state": 0}
    chosen = choose(wheel, 3, cl.Graph.knn(X, 5))
    assert wheel.least_clusters() == 3 and dict(chosen.options) == SOFT
    assert "no clustering into 3 clusters keeps all cannot-links" in chosen.reason
    with pytest.raises(cl.SolveFailed, match="no point satisfies all constraints"):
        ConstrainedClustering(3, method="linkedcut", **options).fit(X, links=wheel)
    estimator = ConstrainedClustering(3, **options).fit(X, links=wheel)
    assert isinstance(estimator.problem_, cl.LinkedCut) and set(estimator.labels_) == {0, 1, 2}


def test_options_need_a_method():
    with pytest.raises(cl.InvalidInput, match="method_options must come with a method"):
        ConstrainedClustering().set_params(method_options__share=0.3)
    assert ConstrainedClustering(method="KPCut").set_params(method_options__share=0.3).method_options == {"share": 0.3}
    assert not any("__" in name for name in ConstrainedClustering().get_params())
