"""The estimator says what the parts say by hand, and behaves as scikit-learn's do."""

from __future__ import annotations

import pickle
import re
import warnings
from dataclasses import dataclass

import cvxpy as cp
import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator
from threadpoolctl import threadpool_limits

import cvxlink as cl
from cvxlink.estimator.constrained_clustering import ConstrainedClustering, expected_failed_checks
from cvxlink.methods.table import own_methods

METHODS = [formulation.__name__ for formulation in own_methods()]
LABEL_METHODS = ("GFHF", "LLGC", "CSCGFHF")
NOT_EXTENDING = ("SRCP", "E2CP", "SL", "MinKL")


@pytest.fixture(scope="module")
def blobs():
    X, y = cl.datasets.blobs(60, 3, spread=0.5, random_state=0)
    return X, y, cl.Links.from_labels(cl.sample_labels(y, per_class=3, random_state=0))


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):  # sixty points are too few to share
        yield


def same_partition(first, second):
    return cl.metrics.nmi(first, second) == pytest.approx(1)


# ---------------------------------------------------------------------- against the parts


@pytest.mark.parametrize("affinity", ["knn", "rbf", "precomputed"])
def test_it_is_the_pipeline_by_hand(blobs, affinity):
    X, _, links = blobs
    graph = cl.Graph.knn(X, 7, symmetrize="mean") if affinity != "rbf" else cl.Graph.rbf(X, "mean")
    solution = cl.KP(graph, links, normalized=False).solve(route="interior-point")
    estimator = ConstrainedClustering(
        3,
        method="kp",
        affinity=affinity,
        n_neighbors=7,
        symmetrize="mean",
        method_options={"normalized": False},
        route="interior-point",
        random_state=4,
    )
    given = graph.W if affinity == "precomputed" else X
    labels = estimator.fit_predict(given, must_link=links.must.tolist(), cannot_link=links.cannot)
    np.testing.assert_array_equal(labels, solution.cluster(3, random_state=4))
    np.testing.assert_allclose(estimator.embedding_, solution.embedding, atol=1e-10)
    assert estimator.links_ == links and estimator.n_clusters_ == 3
    assert estimator.solution_.value == pytest.approx(solution.value, abs=1e-12)
    assert "gap" in str(estimator.solution_.certificate)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_separates_blobs_and_survives_a_pickle(blobs, method, tmp_path):
    X, y, _ = blobs
    some = cl.sample_labels(y, per_class=3, random_state=1)
    estimator = ConstrainedClustering(3, method=method.lower(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if method == "NCuts" else "error", cl.LinkWarning)
        estimator.fit(X, some)
    assert type(estimator.problem_) is getattr(cl, method)
    assert (estimator.classes_[estimator.labels_] == y).mean() > 0.9  # the same names, not only the same groups
    joblib.dump(estimator, tmp_path / "fitted.joblib")
    for again in (pickle.loads(pickle.dumps(estimator)), joblib.load(tmp_path / "fitted.joblib")):
        np.testing.assert_array_equal(again.labels_, estimator.labels_)
        assert str(again.solution_.certificate) == str(estimator.solution_.certificate)
        assert hasattr(again, "predict") == (method not in NOT_EXTENDING)
        if method not in NOT_EXTENDING:
            np.testing.assert_array_equal(again.predict(X[:9]), estimator.predict(X[:9]))
    assert len(repr(estimator)) < 200


@pytest.mark.parametrize("method", ["pcp", "kp"])
def test_enforced_links_are_kept(method):
    # Two blobs each cut in half by links: the links win over the distances.
    X, _ = cl.datasets.blobs(40, 2, spread=0.5, random_state=1)
    X = np.column_stack([X, np.zeros(40)])
    links = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 3), (3, 4)]}
    estimator = ConstrainedClustering(2, method=method, n_neighbors=5, random_state=0).fit(X, **links)
    a, b, c, d, e = estimator.labels_[:5]
    assert a == b == c != d != e
    assert estimator.links_.violated(estimator.labels_) == 0


@pytest.mark.parametrize("method", ["kp", "srcp", "gfhf"])
def test_links_mean_the_same_in_every_dress(blobs, method):
    X, _, links = blobs
    estimator = ConstrainedClustering(3, method=method, random_state=0)
    expected = estimator.fit(X, links=links).labels_
    half = sp.triu(links.matrix)
    for given in (
        {"must_link": links.must, "cannot_link": links.cannot.tolist()},
        {"must_link": pd.DataFrame(links.must[::-1]), "cannot_link": map(tuple, links.cannot[:, ::-1])},
        {"links": links.matrix.toarray() * 0.3},
        {"links": links.matrix},
        {"links": half},
        {"links": cl.Links(60, must=links.must), "cannot_link": links.cannot, "must_link": links.must[:2]},
    ):
        again = estimator.fit(X, **given)
        assert again.links_ == links
        np.testing.assert_array_equal(again.labels_, expected)


@pytest.mark.parametrize("method", ["kp", "ccsr", "srcp", "llgc", "csc"])
def test_labels_and_the_links_that_follow_from_them_agree(blobs, method):
    X, y, _ = blobs
    some = cl.sample_labels(y, per_class=2, random_state=0)
    by_labels = ConstrainedClustering(3, method=method, random_state=0).fit(X, some)
    by_links = ConstrainedClustering(3, method=method, random_state=0).fit(X, links=cl.Links.from_labels(some))
    assert same_partition(by_labels.labels_, by_links.labels_)
    assert by_labels.links_.closure() == cl.Links.from_labels(some)
    assert by_labels.solution_.value == pytest.approx(by_links.solution_.value, rel=1e-3)


def test_hard_links_get_few_and_soft_ones_all(blobs):
    X, y, _ = blobs
    some = cl.sample_labels(y, per_class=4, random_state=0)
    hard, soft = (ConstrainedClustering(method=m, random_state=0).declare(X, some).links for m in ("kp", "ccsr"))
    assert len(hard) == 3 * 3 + 3 and soft == cl.Links.from_labels(some) == hard.closure()
    minkl = ConstrainedClustering(method="minkl").declare(X, some)  # whose bounds do not follow from one another
    assert minkl.links == soft


def test_links_complete_labels(blobs):
    X, _, _ = blobs
    some = np.full(60, -1)
    some[[0, 1]] = 5, 7
    problem = ConstrainedClustering(method="gfhf").declare(X, some, must_link=[(0, 2)], cannot_link=[(1, 3), (2, 4)])
    np.testing.assert_array_equal(problem.labels[:6], [5, 7, 5, 5, 7, -1])  # of two classes the other one
    problem = ConstrainedClustering(method="gfhf").declare(X, cannot_link=[(8, 9)], must_link=[(9, 10)])
    assert problem.labels[8] != problem.labels[9] == problem.labels[10] and (problem.labels != -1).sum() == 3


def test_renumbering_the_points_renumbers_the_labels(blobs):
    X, y, links = blobs
    order = np.random.default_rng(3).permutation(60)
    some = cl.sample_labels(y, per_class=2, random_state=0)
    estimator = ConstrainedClustering(random_state=0)
    labels = estimator.fit(X, some, links=links).labels_
    renumbered = estimator.fit(X[order], some[order], links=links.permuted(order)).labels_
    np.testing.assert_array_equal(renumbered, labels[order])


@dataclass(frozen=True, eq=False)
class ApartPCP(cl.Problem):
    """PCP in which cannot-linked points may be opposite."""

    graph: cl.Graph
    links: cl.Links
    most: float = 0.0

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(cp.sum(cp.multiply(self.graph.laplacian(), K)))

    def constraints(self, K):
        must, cannot = tuple(self.links.must.T), tuple(self.links.cannot.T)
        return {"unit": cp.diag(K) == 1, "must": K[must] == 1, "cannot": K[cannot] <= self.most, "psd": K >> 0}


@pytest.mark.parametrize("which", [ApartPCP, "apartpcp"])
def test_a_formulation_of_ones_own(which):
    X, y = cl.datasets.blobs(24, 2, spread=0.5, random_state=0)
    links = cl.Links.sample(y, per_class=2, random_state=0)
    estimator = ConstrainedClustering(
        method=which, method_options={"most": -0.5}, n_neighbors=4, solver="CLARABEL", random_state=0
    )
    assert same_partition(y, clone(estimator).fit_predict(X, links=links))
    estimator.fit(X, links=links)
    i, j = links.cannot.T
    assert isinstance(estimator.problem_, ApartPCP) and (estimator.solution_.kernel[i, j] <= -0.5 + 1e-4).all()
    assert (estimator.predict(X + 0.01) == estimator.labels_).all()


# ---------------------------------------------------------------------- how many clusters, and which


def test_the_number_of_clusters_follows_from_what_is_known(blobs):
    X, y, links = blobs
    some = np.where(cl.sample_labels(y, per_class=2, random_state=0) < 0, None, np.array(["a", "b", "c"])[y])
    estimator = ConstrainedClustering(random_state=0).fit(X, some)
    assert estimator.n_clusters_ == 3 and estimator.classes_.tolist() == ["a", "b", "c"]
    assert (estimator.classes_[estimator.labels_] == np.array(["a", "b", "c"])[y]).all()
    estimator.fit(X, links=links)
    assert estimator.n_clusters_ == 3 and not hasattr(estimator, "classes_")
    assert estimator.fit(X, must_link=[(0, 1)], cannot_link=[(0, 2)]).n_clusters_ == 2
    assert estimator.fit(X, must_link=[(0, 1)]).n_clusters_ == 2
    assert estimator.fit(X).n_clusters_ == 2
    # Labels name two classes, and a cannot-link to both of them shows a third.
    two = np.full(60, -1)
    two[[0, 1]] = 0, 1
    assert estimator.fit(X, two, cannot_link=[(0, 2), (1, 2)]).n_clusters_ == 3


def test_clusters_are_numbered_as_the_classes_they_agree_with():
    X, y = cl.datasets.blobs(40, 4, spread=0.3, random_state=0)
    some = np.where(np.arange(40) < 12, y * 10, -1)
    for names in (some, np.where(some < 0, -1, 30 - some)):  # the order of names turned around
        estimator = ConstrainedClustering(n_neighbors=5, random_state=0).fit(X, names)
        known = names >= 0
        assert (estimator.classes_[estimator.labels_][known] == names[known]).all()
    # With more clusters than classes, those without a class come after; with fewer, numbers are still 0 … k − 1.
    two = np.where(y < 2, y, -1)
    labels = ConstrainedClustering(4, n_neighbors=5, random_state=0).fit(X, two).labels_
    assert (labels[y < 2] == y[y < 2]).all() and set(labels[y >= 2]) == {2, 3}
    with pytest.warns(cl.LinkWarning, match="at least 4 clusters"):
        assert set(ConstrainedClustering(3, n_neighbors=5, random_state=0).fit(X, y).labels_) == {0, 1, 2}


def test_without_links_and_labels_the_graph_decides(blobs):
    X, y, links = blobs
    for y_given in (None, np.full(60, -1)):
        with pytest.warns(cl.LinkWarning, match="no links and no labels for SRCP.* give links or y"):
            estimator = ConstrainedClustering(3, method="srcp", route="spreading", random_state=0).fit(X, y_given)
        assert isinstance(estimator.problem_, cl.NCuts) and not len(estimator.links_)
        assert same_partition(y, estimator.labels_)
        np.testing.assert_array_equal(estimator.affinity_matrix_.toarray(), cl.Graph.knn(X).W.toarray())
        assert same_partition(estimator.predict(X), y)  # as NCuts does, though SRCP does not
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = ConstrainedClustering(3, method="ncuts", random_state=0).fit(X)
    np.testing.assert_array_equal(asked.labels_, estimator.labels_)
    with pytest.warns(cl.LinkWarning, match="NCuts clusters by the graph alone: it ignores links"):
        assert asked.fit(X, links=links).links_ == links
    np.testing.assert_array_equal(asked.labels_, estimator.labels_)


# ---------------------------------------------------------------------- new points


@pytest.mark.parametrize("affinity", ["knn", "rbf"])
@pytest.mark.parametrize("method", ["KP", "PCP", "CCSR", "SSKK", "CSC", "GFHF", "LLGC", "CSCGFHF"])
def test_new_points_follow_their_neighbours_whoever_comes_with_them(blobs, method, affinity):
    X, y, _ = blobs
    some = cl.sample_labels(y, per_class=3, random_state=0)
    estimator = ConstrainedClustering(method=method, affinity=affinity, sigma=3.0, random_state=0).fit(X, some)
    deep = [np.linalg.norm(X - X[y == c].mean(axis=0), axis=1).argmin() for c in range(3)]
    np.testing.assert_array_equal(estimator.predict(X[deep]), estimator.labels_[deep])
    rng = np.random.default_rng(0)
    new = X[rng.integers(60, size=25)] + rng.normal(scale=0.8, size=(25, X.shape[1]))
    together = estimator.predict(new)
    assert len(set(together)) == 3
    np.testing.assert_array_equal(together, np.concatenate([estimator.predict(new[i : i + 1]) for i in range(25)]))
    np.testing.assert_array_equal(together[::-1], estimator.predict(new[::-1]))
    np.testing.assert_array_equal(together, estimator.predict(np.vstack([new, new + 0.1]))[:25])


def test_predictions_of_scores_are_the_largest_score():
    # Along a path scores are linear between the two labels and constant beyond: the means of the clusters lie at 1/4
    # and nearly 1, so that the nearer mean would say otherwise on the way from 1/2 to 0.6.
    X = 0.25 * np.arange(41)[:, None]
    y = np.full(41, -1)
    y[[0, 16]] = 0, 1
    estimator = ConstrainedClustering(method="gfhf", n_neighbors=2, sigma=1.0, random_state=0).fit(X, y)
    new = np.linspace(0.1, 9.9, 99)[:, None]
    shares = np.array([estimator.solution_.extend([point]).scores[-1] for point in new])
    np.testing.assert_array_equal(estimator.predict(new), shares.argmax(axis=1))
    assert 0 < estimator.predict(new).mean() < 1


def test_whether_it_predicts_can_be_asked(blobs):
    X, _, links = blobs
    for method in METHODS:
        assert hasattr(ConstrainedClustering(method=method), "predict") == (method not in NOT_EXTENDING)
    for estimator, reason in (
        (ConstrainedClustering(affinity="precomputed"), "no place in a precomputed affinity"),
        (
            ConstrainedClustering(3, method="sl").fit(X, links=links),
            "SL does not extend to new points: it yields affin",
        ),
        (ConstrainedClustering(method="nonsense"), "there is no method 'nonsense'"),
    ):
        with pytest.raises(AttributeError) as caught:
            estimator.predict(X)
        assert reason in str(caught.value.__cause__)
    with pytest.raises(NotFittedError):
        ConstrainedClustering().predict(X)


def test_embedding_and_affinity_are_there_where_the_method_has_them(blobs):
    X, _, links = blobs
    for name in ("embedding_", "affinity_matrix_"):
        assert not hasattr(ConstrainedClustering(), name)
    kp = ConstrainedClustering(3, random_state=0).fit(X, links=links)
    assert kp.embedding_.shape[0] == 60 and not hasattr(kp, "affinity_matrix_")
    srcp = ConstrainedClustering(3, method="srcp", random_state=0).fit(X, links=links)
    assert not hasattr(srcp, "embedding_")
    clustered = cl.clustering.spectral(srcp.affinity_matrix_, 3, random_state=0)
    np.testing.assert_array_equal(clustered, srcp.labels_)
    minkl = ConstrainedClustering(3, method="minkl", random_state=0).fit(X, links=links)
    clustered = cl.clustering.spectral(minkl.affinity_matrix_, 3, random_state=0)
    np.testing.assert_array_equal(clustered, minkl.labels_)
    assert abs(minkl.affinity_matrix_ - minkl.solution_.affinity).max() > 0.01  # it is that for three clusters
    spectrally = ConstrainedClustering(3, cluster_method="spectral", random_state=0).fit(X, links=links)
    assert spectrally.affinity_matrix_.shape == (60, 60) and (spectrally.affinity_matrix_ >= 0).all()


def test_showing_it_in_a_notebook_computes_nothing(blobs, monkeypatch):
    X, _, links = blobs
    for method in ("pcp", "srcp"):
        estimator = ConstrainedClustering(3, method=method, random_state=0).fit(X, links=links)
        for name in ("stored_kernel", "own_embedding", "affinity"):
            monkeypatch.setattr(cl.Solution, name, property(lambda _: pytest.fail("this was not asked for")))
        estimator.solution_.__dict__.pop("factor", None)
        assert "labels_" in estimator._repr_html_() and "links_" in dir(estimator)


# ---------------------------------------------------------------------- scikit-learn's ways


CHECKED = [{"method": method} for method in METHODS] + [{}, {"affinity": "rbf"}, {"affinity": "precomputed"}]


@pytest.mark.slow
@pytest.mark.parametrize("options", CHECKED, ids=str)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks(options):
    estimator = ConstrainedClustering(n_init=1, **options)
    failed = set()
    for one, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if options.get("method") == "MinKL" and name == "check_positive_only_tag_during_fit":
            continue  # its hundred classes of one point are 4950 links, which take a minute
        try:
            check(one)
        except sklearn.utils.estimator_checks.SkipTest:
            pass
        except Exception as error:
            failed.add(name)
            assert name in expected_failed_checks(estimator), repr(error)
    assert failed == set(expected_failed_checks(estimator))  # and no more are expected than do fail


def test_it_is_cloned_and_set_like_any_other():
    estimator = ConstrainedClustering(2, method=cl.SRCP, method_options={"mu": 0.3}, sigma=2.0)
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.set_params(method="kp", n_init=3).n_init == 3
    assert get_tags(ConstrainedClustering(affinity="precomputed")).input_tags.pairwise
    assert not get_tags(estimator).input_tags.pairwise and get_tags(estimator).estimator_type == "clusterer"


def test_options_of_the_method_are_parameters():
    given = {"mu": 0.3}
    estimator = ConstrainedClustering(2, method="srcp", method_options=given)
    nested = {name: value for name, value in estimator.get_params().items() if "__" in name}
    assert nested == {
        "method_options__mu": 0.3,
        "method_options__normalized": True,
        "method_options__scale": "links",
    }
    assert not any("__" in name for name in estimator.get_params(deep=False))
    copy = clone(estimator).set_params(method_options__normalized=False, method_options__scale=1.0)
    assert copy.method_options == {"mu": 0.3, "normalized": False, "scale": 1.0} and given == {"mu": 0.3}
    assert estimator.method_options is given and clone(copy).get_params() == copy.get_params()
    assert estimator.set_params(**copy.get_params()).get_params() == copy.get_params()
    both = ConstrainedClustering(2).set_params(method_options__mu=0.7, method="srcp")  # in any order
    assert both.method_options == {"mu": 0.7}
    with pytest.raises(cl.InvalidInput, match="SRCP has no option 'weight'; it has normalized, mu") as caught:
        both.set_params(method_options__weight=1.0, n_init=3)
    assert caught.value.argument == "method_options" and (both.n_init, both.method_options) == (20, {"mu": 0.7})
    assert "method_options__mu" not in ConstrainedClustering(method="no such").get_params()
    with pytest.raises(ValueError, match="Invalid parameter"):
        both.set_params(method_option__mu=1.0)


def test_a_search_varies_an_option_of_ones_own_formulation():
    X, y = cl.datasets.blobs(24, 2, spread=0.5, random_state=0)
    estimator = ConstrainedClustering(2, method=ApartPCP, n_neighbors=4, random_state=0)
    values = [-0.5, 0.0]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), estimator),
        {"constrainedclustering__method_options__most": values},
        cv=2,
        scoring="adjusted_rand_score",
        error_score="raise",
    ).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], 1)
    best = search.best_estimator_[-1]
    assert best.problem_.most == best.method_options["most"] == values[0] and estimator.method_options is None


def test_pipelines_take_labels_and_links(blobs):
    X, y, links = blobs
    scaled = StandardScaler().fit_transform(X * [1, 100])
    some = cl.sample_labels(y, per_class=3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), ConstrainedClustering(3, random_state=0))
    expected = ConstrainedClustering(3, random_state=0).fit(scaled, some)
    np.testing.assert_array_equal(pipeline.fit(X * [1, 100], some)[-1].labels_, expected.labels_)
    np.testing.assert_array_equal(
        pipeline.predict(X * [1, 100] + 0.1), expected.predict(scaled + 0.1 / np.std(X * [1, 100], axis=0))
    )
    expected.fit(scaled, links=links)
    labels = pipeline.fit_predict(X * [1, 100], constrainedclustering__links=links)
    np.testing.assert_array_equal(labels, expected.labels_)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = ConstrainedClustering(3, random_state=0).set_fit_request(must_link=True, cannot_link=True)
        routed = make_pipeline(StandardScaler(), asking)
        routed.fit(X * [1, 100], must_link=links.must, cannot_link=links.cannot)
    assert routed[-1].links_ == links
    np.testing.assert_array_equal(routed[-1].labels_, expected.labels_)


def test_frames_lists_and_single_precision(blobs):
    X, _, links = blobs
    expected = ConstrainedClustering(3, random_state=0).fit(X, links=links)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(60)[::-1] + 7)  # links are positions, not this
    estimator = ConstrainedClustering(3, random_state=0).fit(frame, links=links)
    np.testing.assert_array_equal(estimator.labels_, expected.labels_)
    assert estimator.feature_names_in_.tolist() == ["a", "b"] and estimator.n_features_in_ == 2
    np.testing.assert_array_equal(estimator.predict(frame), expected.predict(X))
    with pytest.raises(cl.InvalidInput, match="feature names"):
        estimator.predict(frame[["b", "a"]])
    with pytest.raises(cl.InvalidInput, match="3 features, but ConstrainedClustering is expecting 2"):
        expected.predict(np.ones((2, 3)))
    frozen = X.copy()
    frozen.setflags(write=False)
    for given in (X.tolist(), X.astype(np.float32), frozen, np.asfortranarray(X)):
        labels = ConstrainedClustering(3, random_state=0).fit_predict(given, links=links)
        np.testing.assert_array_equal(labels, expected.labels_)


def test_a_precomputed_affinity_may_be_sparse(blobs):
    X, _, links = blobs
    W = cl.Graph.knn(X).W
    fitted = [
        ConstrainedClustering(3, affinity="precomputed", random_state=0).fit(given, links=links)
        for given in (W, W.toarray(), sp.coo_array(W), pd.DataFrame(W.toarray()))
    ]
    expected = ConstrainedClustering(3, random_state=0).fit(X, links=links)
    for estimator in fitted:
        np.testing.assert_array_equal(estimator.labels_, expected.labels_)


def test_the_same_seed_gives_the_same_labels():
    rough = np.random.default_rng(0).standard_normal((60, 5))  # no clusters to be found: where one starts matters
    links = cl.Links(60, must=[(0, 1)], cannot=[(0, 2), (3, 4)])

    def labels(random_state):
        return ConstrainedClustering(6, n_init=1, random_state=random_state).fit(rough, links=links).labels_.tolist()

    assert len({tuple(labels(seed)) for seed in range(5)}) > 1
    for make in (lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)):
        assert labels(make()) == labels(make())
    state = np.random.RandomState(3)
    assert len({tuple(labels(state)) for _ in range(5)}) > 1


def test_declaring_fits_nothing(blobs):
    X, _, links = blobs
    estimator = ConstrainedClustering(3, random_state=0)
    problem = estimator.declare(X, links=links)
    assert vars(estimator) == vars(ConstrainedClustering(3, random_state=0)) and isinstance(problem, cl.KPCut)
    assert problem.solve().value == pytest.approx(estimator.fit(X, links=links).solution_.value, abs=1e-10)


def test_progress_is_reported(blobs):
    X, _, links = blobs
    seen = []
    ConstrainedClustering(3, random_state=0).fit(X, links=links, progress=seen.append)
    assert seen and all(isinstance(step, cl.Progress) for step in seen)


# ---------------------------------------------------------------------- what cannot be done


def test_contradictions_come_with_their_witness(blobs):
    X, _, _ = blobs
    some = np.full(60, -1)
    some[[0, 1]] = 0, 1
    for method in ("kp", "srcp", "gfhf"):
        with pytest.raises(cl.InconsistentLinks) as caught:
            ConstrainedClustering(method=method).fit(X, some, must_link=[(0, 5), (5, 1)])
        assert caught.value.pair == (0, 1) and caught.value.path == (0, 5, 1) and caught.value.labels == {0: 0, 1: 1}
    both = {"must_link": [(0, 1), (1, 2)], "cannot_link": [(0, 2)]}
    for method in ("kp", "gfhf"):
        with pytest.raises(cl.InconsistentLinks) as caught:
            ConstrainedClustering(method=method).fit(X, **both)
        assert caught.value.path == (0, 1, 2)
    assert len(ConstrainedClustering(3, method="srcp").fit(X, **both).links_) == 3  # soft links may disagree
    with pytest.raises(cl.InvalidInput, match="contradict one another, so they do not tell how many.*give n_clusters"):
        ConstrainedClustering(method="srcp").fit(X, **both)


@pytest.mark.parametrize("method", LABEL_METHODS)
def test_methods_of_labels_find_the_classes_that_are_named(blobs, method):
    X, y, _ = blobs
    with pytest.raises(
        cl.InvalidInput, match=f"{method} finds the 3 classes that labels name, not 4 clusters; ask for 3"
    ):
        ConstrainedClustering(4, method=method).fit(X, y)
    with pytest.raises(
        cl.InvalidInput, match=f"{method} starts from labels, and these links keep only 2 of 3 clusters"
    ):
        ConstrainedClustering(3, method=method).fit(X, cannot_link=[(0, 1)])
    with pytest.raises(cl.InvalidInput, match="keep only 1 of 2 clusters apart; add cannot-links .*, or give y"):
        ConstrainedClustering(method=method).fit(X, must_link=[(0, 1)])
    with pytest.raises(cl.InvalidInput, match="the labels name 0, but two classes are needed"):
        ConstrainedClustering(method=method).fit(X, np.where(np.arange(60) < 3, 0, -1))


@pytest.mark.parametrize(
    ("options", "given", "words"),
    [
        ({}, {"links": cl.Links(5, must=[(0, 1)])}, "there are 60 points, but the links are on 5"),
        ({}, {"links": [(0, 1), (2, 3)]}, "signed 60 × 60 matrix.*pairs go to must_link"),
        ({}, {"must_link": [(0, 60)]}, "outside 0 … 59"),
        ({}, {"must_link": [(0, 1, 2)]}, "must-links must be pairs"),
        ({}, {"cannot_link": [(4, 4)]}, "joins a point to itself"),
        ({}, {"y": cl.Links(60, must=[(0, 1)])}, "y takes labels.*fit\\(X, links=…\\)"),
        ({}, {"y": [0, 1, 1]}, "there are 3 labels for 60 points"),
        ({"method": "nonsense"}, {}, "there is no method 'nonsense'; there are PCP"),
        ({"method": "kp", "method_options": {"nu": 1}}, {}, "KP has no option 'nu'"),
        (
            {"method_options": {"mu": 1}},
            {},
            "method_options must come with a method that has them",
        ),
        ({"method_options": "mu"}, {}, "method_options must be a dict"),
        ({"affinity": "cosine"}, {}, "affinity must be 'knn', 'rbf' or 'precomputed', not 'cosine'"),
        ({"affinity": "precomputed"}, {"X": np.ones((60, 2))}, "the affinity must be square"),
        ({"n_clusters": 61}, {}, "n_clusters must be between 1 and 60"),
        ({"n_clusters": 2.5}, {}, "n_clusters must be a whole number"),
        ({"n_neighbors": 0}, {}, "n_neighbors must be at least 1"),
        ({"cluster_method": "dbscan"}, {}, "no clustering method 'dbscan'"),
        ({"random_state": "seed"}, {}, "random_state must be"),
        ({}, {"X": sp.eye_array(60)}, "X is sparse; give X.toarray"),
        ({}, {"X": np.full((60, 2), np.nan)}, "contains NaN"),
        ({}, {"X": np.ma.masked_equal(np.arange(120.0).reshape(60, 2), 3)}, "contains NaN"),
        ({}, {"X": [["a", "b"]] * 60}, "could not convert string"),
        ({}, {"X": np.ones(60)}, "Expected 2D array"),
        ({}, {"X": np.ones((1, 2))}, "minimum of 2 is required"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_in_a_sentence(blobs, options, given, words):
    X, _, _ = blobs
    X, y = given.get("X", X), given.get("y")
    links = {name: value for name, value in given.items() if name not in ("X", "y")} or {"cannot_link": [(0, 1)]}
    with pytest.raises(cl.InvalidInput, match=words):
        ConstrainedClustering(**options).fit(X, y, **links)


@pytest.mark.parametrize(
    ("options", "given", "argument"),
    [
        ({"n_clusters": 61}, {}, "n_clusters"),
        ({"n_neighbors": 0}, {}, "n_neighbors"),
        ({"sigma": -1.0}, {}, "sigma"),
        ({"symmetrize": "no"}, {}, "symmetrize"),
        ({"affinity": "cosine"}, {}, "affinity"),
        ({"method_options": "mu"}, {}, "method_options"),
        ({"method": "srcp", "method_options": {"mu": -1}}, {}, "method_options"),
        ({"solver": "nosuch"}, {}, "solver"),
        ({"random_state": "seed"}, {}, "random_state"),
        ({}, {"X": np.full((60, 2), np.nan)}, "X"),
        ({}, {"y": [0, 1, 1]}, "y"),
        ({}, {"links": [(0, 1), (2, 3)]}, "links"),
        ({}, {"links": np.full((60, 60), np.nan)}, "links"),
        ({}, {"must_link": [(0, 60)]}, "must_link"),
        ({}, {"cannot_link": [(4, 4)]}, "cannot_link"),
        ({"method": "kp"}, {"must_link": [(0, 1)], "cannot_link": [(0, 1)]}, "links"),
        ({}, {"must_link": [(0, 1)], "cannot_link": [(0, 1)]}, "n_clusters"),
        ({"method": "gfhf"}, {"must_link": [(0, 1)]}, "y"),
    ],
    ids=str,
)
def test_an_error_knows_its_argument_and_can_be_worded_for_other_names(blobs, options, given, argument):
    X = given.get("X", blobs[0])
    links = {name: value for name, value in given.items() if name not in ("X", "y")} or {"cannot_link": [(0, 1)]}
    with pytest.raises(cl.CvxlinkError) as caught:
        ConstrainedClustering(**options).fit(X, given.get("y"), **links)
    error = caught.value
    assert error.argument == argument
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.argument == argument
    assert again.worded({}) == str(error)
    if str(error).startswith(f"{argument} must"):
        assert again.worded({argument: "--it"}) == str(error).replace(argument, "--it", 1)


def test_few_points_have_few_neighbours():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    with pytest.warns(cl.ClippedWarning, match="n_neighbors is 10, but each point has only 3 others"):
        labels = ConstrainedClustering(sigma=1.0, random_state=0).fit_predict(X, cannot_link=[(0, 3)])
    assert labels[0] == labels[1] != labels[2] == labels[3]


def test_a_fit_that_fails_leaves_an_earlier_one_as_it_was():
    X, y = cl.datasets.load("iris")
    links = cl.Links.sample(y, per_class=3, random_state=0)
    model = ConstrainedClustering(3, method="kp", random_state=0).fit(X, links=links)
    labels, predicted = model.labels_, model.predict(X[:5] + 0.01)
    with pytest.raises(cl.InconsistentLinks):
        model.fit(X[:100, :2], must_link=[(0, 1)], cannot_link=[(0, 1)])
    assert model.n_features_in_ == 4 and model.labels_ is labels
    np.testing.assert_array_equal(model.predict(X[:5] + 0.01), predicted)


def test_pairs_may_be_sets():
    assert cl.Links(5, must=[frozenset((3, 1)), {0, 2}]) == cl.Links(5, must=[(1, 3), (0, 2)])
    with pytest.raises(cl.InvalidInput, match="pairs"):
        cl.Links(5, must=[frozenset((3,))])


@pytest.mark.parametrize("name", ["graph", "links", "n_clusters", "self", 3])
@pytest.mark.parametrize("which", ["pcp", "srcp"])
def test_what_comes_from_the_data_is_not_an_option(name, which):
    estimator = ConstrainedClustering(2, method=which, method_options={name: 1}, n_neighbors=2)
    words = f"{which.upper()} has no option {name!r}"
    with pytest.raises(cl.InvalidInput, match=re.escape(words)) as caught:
        estimator.fit(np.eye(4), cannot_link=[(0, 1)])
    assert caught.value.argument == "method_options"
    assert ("which comes from the data" in str(caught.value)) == (name in ("graph", "links", "n_clusters"))


def test_a_search_can_vary_the_methods_that_predict():
    without = {f.__name__ for f in own_methods() if not hasattr(ConstrainedClustering(2, method=f), "predict")}
    assert without == {*NOT_EXTENDING}  # as the documentation says
    X, y = cl.datasets.load("iris")
    some = np.random.default_rng(0).permutation(150)[:40]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, options in (("llgc", {"alpha": [0.5, 0.9]}), ("ccsr", {"order": [3, 5]})):
            grid = {f"method_options__{name}": values for name, values in options.items()}
            search = GridSearchCV(
                ConstrainedClustering(3, method=method, random_state=0),
                grid,
                scoring="adjusted_rand_score",
                cv=2,
                refit=False,
            )
            assert np.isfinite(search.fit(X[some], y[some]).cv_results_["mean_test_score"]).all()
