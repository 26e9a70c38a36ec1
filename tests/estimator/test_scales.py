"""Features in different units: when the estimator warns of them, and when it does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cvxlink as cl
from cvxlink.estimator.scales import warn_of_scales
from helpers.graphs import random_points

POINTS = random_points(60, 6, 0) + 3.0


def is_warned_of(X) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_scales(np.asarray(X, dtype=float))
    assert len(caught) <= 1
    return bool(caught)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (POINTS, False),
        (POINTS * [1, 1, 1, 1, 1, 1000], True),
        (POINTS * [1, 1, 1, 100, 100, 100], True),
        (POINTS * [0.001, 1, 1, 1, 1, 1], False),  # one feature of six is lost
        (POINTS[:, :2] * [1, 12], True),
        (POINTS[:, :2] * [1, 5], False),
        (POINTS[:, :1] * 1000, False),
        (POINTS * [0, 1, 1, 1, 1, 1], False),  # constant features have no scale
        (POINTS * [0, 0, 0, 0, 0, 1] + 7, False),
        (POINTS * 1e200, False),
        (POINTS * [1e-100, 1e-100, 1e-100, 1, 1, 1], True),
        (np.zeros((5, 3)), False),
    ],
)
def test_spreads_that_leave_a_few_features_are_warned_of(X, expected):
    assert is_warned_of(X) is expected


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_the_unit_of_all_features_together_does_not_matter(unit):
    assert is_warned_of(unit * POINTS * [1, 1, 1, 1, 1, 1000]) and not is_warned_of(unit * POINTS)


def test_what_has_been_prepared_is_taken_as_it_is():
    wine, digits = (cl.datasets.load(name)[0] for name in ("wine", "digits"))
    assert is_warned_of(wine) and not is_warned_of(StandardScaler().fit_transform(wine))
    assert not is_warned_of(PCA().fit_transform(wine))  # leading coordinates are larger for a reason
    assert not is_warned_of(digits) and not is_warned_of(cl.datasets.load("iris")[0])


def test_the_estimator_warns_once_with_the_remedy_and_the_remedy_works():
    X, y = cl.datasets.load("wine")
    links = cl.Links.sample(y, n_links=30, random_state=0)
    estimator = cl.ConstrainedClustering(3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, links=links)
    (warning,) = caught
    assert issubclass(warning.category, cl.ClusterWarning) and warning.filename == __file__
    assert "X has features of very different spread (by a factor of 2.5e+03)" in str(warning.message)
    assert "those in 1 of 13 features; scale them" in str(warning.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled = make_pipeline(StandardScaler(), estimator).fit(X, constrainedclustering__links=links)
        cl.ConstrainedClustering(3, affinity="precomputed").fit(cl.Graph.rbf(X, 50.0).W, links=links)
    scores = [cl.metrics.nmi(y, one.labels_) for one in (cl.ConstrainedClustering(3).fit(X, links=links), scaled[-1])]
    assert scores[0] < scores[1]
