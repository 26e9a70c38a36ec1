"""CCSR, SRCP and MinKL on the data sets of their papers, those that are at hand."""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import cvxlink as cl

DATA = ("iris", "wdbc", "wine", "sonar", "protein", "zoo", "ionosphere")


@pytest.fixture(scope="module", params=DATA)
def case(request):
    if request.param not in ("iris", "wdbc", "wine") and not os.environ.get("CVXLINK_DATA"):
        pytest.skip(f"{request.param} is not bundled; CVXLINK_DATA names no folder that has it")
    try:
        X, y = cl.datasets.load(request.param)
    except cl.DataUnavailable as error:
        pytest.skip(str(error))
    graph = cl.Graph.knn(StandardScaler().fit_transform(X), n_neighbors=20, symmetrize="mean")
    return graph, y, cl.Links.sample(y, n_links=400, random_state=0)


def test_ccsr_is_certified_the_same_by_a_solver_and_better_than_no_links(case):
    graph, y, links = case
    k = len(np.unique(y))
    ours, theirs = (cl.CCSR(graph, links).solve(solver=solver) for solver in (None, "CLARABEL"))
    assert ours.certificate.relative_gap < 1e-7 and theirs.certificate.relative_gap < 1e-6
    assert ours.value == pytest.approx(theirs.value, rel=1e-6)
    free = cl.metrics.scores(y, cl.clustering.spectral(graph.W, k, random_state=0))["ari"]
    assert cl.metrics.scores(y, ours.cluster(k, random_state=0))["ari"] > free


def test_srcp_by_eigenvectors_is_srcp_by_spreading(case):
    graph, _, links = case
    solution = cl.SRCP(graph, links).solve()
    assert solution.certificate.distance < 1e-10
    np.testing.assert_allclose(
        cl.SRCP(graph, links).solve(route="spreading").propagated, solution.propagated, atol=1e-6
    )


def test_minkl_meets_its_bounds_and_is_certified(case):
    graph, _, links = case
    solution = cl.MinKL(graph.kernel(), links, must_bound=0.1, cannot_bound=0.1, jitter="smallest").solve()
    assert solution.status is cl.Status.OPTIMAL and solution.certificate.relative_gap < 1e-6
    for kind, sign in (("must", -1), ("cannot", 1)):
        i, j = getattr(links, kind).T
        K = solution.kernel
        assert (K[i, i] + K[j, j] + sign * 2 * K[i, j]).max() <= 0.1 + 1e-7
    assert all((solution.duals[kind] <= 0).all() for kind in ("must", "cannot"))
