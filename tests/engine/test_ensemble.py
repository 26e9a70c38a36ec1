from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl


@pytest.fixture(scope="module")
def problem():
    X, y = cl.datasets.load("iris")
    return cl.KP(cl.Graph.knn(X[::3], n_neighbors=5), cl.Links.sample(y[::3], n_links=200, random_state=0))


@pytest.fixture(scope="module")
def ensemble(problem):
    return problem.solve_resampled(n_subsets=4, n_links=20, random_state=5)


def test_it_is_the_average_of_kernels_learnt_from_the_subsets(problem, ensemble):
    kernels = [cl.KP(problem.graph, member.links).solve(solver="CLARABEL").kernel for member in ensemble.members]
    np.testing.assert_allclose(ensemble.kernel, np.mean(kernels, axis=0), atol=1e-3)
    np.testing.assert_allclose(ensemble.factor @ ensemble.factor.T, ensemble.kernel, atol=1e-8)


def test_members_are_certified_and_their_links_are_some_of_the_given_ones(problem, ensemble):
    given = {tuple(pair) for pair in problem.links.must}, {tuple(pair) for pair in problem.links.cannot}
    for member in ensemble.members:
        assert member.certificate.relative_gap < 1e-6 and member.status is cl.Status.OPTIMAL
        assert {tuple(pair) for pair in member.links.must} <= given[0]
        assert {tuple(pair) for pair in member.links.cannot} <= given[1]
        assert 10 < len(member.links) <= 20
    assert len({len(np.unique(m.links.linked)) for m in ensemble.members}) > 1


def test_it_follows_from_the_random_state_alone(problem, ensemble):
    parallel = problem.solve_resampled(n_subsets=4, n_links=20, random_state=5, n_jobs=2)
    np.testing.assert_array_equal(parallel.kernel, ensemble.kernel)
    other = problem.solve_resampled(n_subsets=4, n_links=20, random_state=6)
    assert abs(other.kernel - ensemble.kernel).max() > 1e-3


def test_it_clusters_and_extends(problem, ensemble):
    y = cl.datasets.load("iris")[1][::3]
    labels = ensemble.cluster(3, random_state=0)
    assert cl.metrics.nmi(y, labels) > 0.8
    extended = ensemble.extend(problem.graph.points[:4] + 1e-6)
    assert (extended.predict(labels) == labels[:4]).all()
    assert "Ensemble of 4 KP kernels" in str(ensemble)


def test_options_reach_the_solver(problem):
    with pytest.raises(cl.SolverUnavailable):
        problem.solve_resampled(2, 20, 0, solver="nosuch")
    assert problem.solve_resampled(1, 20, 0, solver="SDPA").members[0].status is cl.Status.OPTIMAL


def test_subsets_that_leave_a_component_out_are_drawn_again():
    W = np.kron(np.eye(2), np.ones((6, 6)))
    problem = cl.KP(cl.Graph.from_affinity(W), cl.Links(12, must=[(0, 2), (7, 8)]))
    for member in problem.solve_resampled(5, 2, 0).members:
        assert len(member.links) == 2
    with pytest.raises(cl.InvalidInput, match="subsets of 1 links are too small; raise n_links: the component"):
        problem.solve_resampled(5, 1, 0)


def test_members_that_are_inaccurate_are_not_passed_over_in_silence(problem):
    with pytest.warns(cl.InaccurateWarning, match="2 of 2 kernels"):
        problem.solve_resampled(2, 20, 0, accuracy=1e-15, strict=False)


def test_bad_arguments_are_refused(problem):
    for arguments, says in (
        ({"n_subsets": 0}, "n_subsets"),
        ({"n_links": 0}, "n_links"),
        ({"random_state": "x"}, "random_state"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": "all"}, "n_jobs"),
        ({"n_links": "x"}, "n_links"),
    ):
        with pytest.raises(cl.InvalidInput, match=says):
            problem.solve_resampled(**arguments)
    with pytest.raises(cl.InvalidInput, match="no links to draw from"):
        cl.Links(3).bootstrap(2)


def test_a_bootstrap_draws_each_link_as_often_as_any_other():
    links = cl.Links(6, must=[(0, 1), (1, 2)], cannot=[(0, 3), (0, 4), (0, 5)])
    rng = np.random.default_rng(0)
    counts = {}
    for _ in range(4000):
        drawn = links.bootstrap(1, rng)
        assert len(drawn) == 1
        pair = tuple(np.vstack([drawn.must, drawn.cannot])[0]), len(drawn.must)
        counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 5 and max(counts.values()) - min(counts.values()) < 150
