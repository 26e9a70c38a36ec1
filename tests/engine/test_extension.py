from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import cvxlink as cl
from cvxlink.data.growing_graph import GrowingGraph
from cvxlink.engine import extension
from helpers.graphs import path_graph, random_points

RULES = [{"symmetrize": s, "n_neighbors": 4} for s in ("union", "mean", "mutual")]


@pytest.fixture(scope="module", params=[cl.KP, cl.PCP], ids=["KP", "PCP"])
def solution(request):
    X, y = cl.datasets.load("iris")
    graph = cl.Graph.knn(X[::4], n_neighbors=5, symmetrize="mutual")
    return request.param(graph, cl.Links.sample(y[::4], per_class=2, random_state=0)).solve()


@pytest.fixture(scope="module")
def new():
    return cl.datasets.load("iris")[0][1::10]


def test_batch_is_equation_9(solution, new):
    extended = solution.extend(new)
    n = solution.problem.graph.n
    L = extended.graph.laplacian().toarray()
    Q = np.vstack([np.eye(n), -np.linalg.solve(L[n:, n:], L[n:, :n])])
    np.testing.assert_allclose(extended.kernel, Q @ solution.kernel @ Q.T, atol=1e-7)
    np.testing.assert_array_equal(extended.embedding[:n], solution.embedding)  # the old points stay where they were


def test_online_is_table_ii(solution, new):
    extended = solution.extend(new, online=True)
    K = solution.kernel
    for i in range(len(K), len(K) + len(new)):
        # The graph as it was when point i came: later points have joined since, earlier edges are still there.
        L = solution.extend(new[: i + 1 - solution.problem.graph.n], online=True).graph.laplacian().toarray()
        Q = np.vstack([np.eye(i), -L[i, :i] / L[i, i]])
        K = Q @ K @ Q.T
    np.testing.assert_allclose(extended.kernel, K, atol=1e-7)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("rule", [*RULES, "rbf"], ids=str)
def test_batch_and_online_agree_for_one_point(rule, normalized):
    X = random_points(30)
    graph = cl.Graph.rbf(X) if rule == "rbf" else cl.Graph.knn(X, **rule)
    solution = cl.KP(graph, cl.Links(30, must=[(0, 1)], cannot=[(0, 2), (3, 4)]), normalized=normalized).solve()
    for point in random_points(5, seed=1):
        batch, online = (solution.extend([point], online=online) for online in (False, True))
        np.testing.assert_allclose(batch.embedding, online.embedding, atol=1e-12)
        assert abs(batch.graph.W - online.graph.W).max() < 1e-14


@threadpool_limits.wrap(limits=1)  # fifty points are too few to share
@pytest.mark.parametrize("dimension", [2, 20])  # searched by a tree, and by brute force
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("rule", [*RULES, "rbf"], ids=str)
def test_points_alone_are_as_if_each_were_the_only_one(rule, normalized, dimension, monkeypatch):
    X = random_points(50, dimension)
    graph = cl.Graph.rbf(X, "mean") if rule == "rbf" else cl.Graph.knn(X, **rule)
    solution = cl.KP(graph, cl.Links(50, must=[(0, 1)], cannot=[(0, 2), (3, 4)]), normalized=normalized).solve()
    # Among old points, outside of them, far away, and on top of old ones, where distances are tied.
    new = np.vstack([1.5 * random_points(12, dimension, seed=1), np.full((1, dimension), 3.0), X[:8], X[:2]])
    if rule != "rbf":
        new = np.vstack([new, np.full((1, dimension), 40.0)])
    one_by_one = [solution.extend(new[i : i + 1]) for i in range(len(new))]
    monkeypatch.setattr(extension, "DISTANCES_AT_ONCE", 350)  # seven points a portion
    together = extension.extend(solution, new, alone=True)
    np.testing.assert_allclose(together.embedding[50:], [e.embedding[-1] for e in one_by_one], atol=1e-12)
    np.testing.assert_array_equal(together.embedding[:50], solution.embedding)
    weights = [e.graph.W[[-1]].toarray()[0, :50] for e in one_by_one]
    np.testing.assert_allclose(together.graph.W[50:, :50].toarray(), weights, atol=1e-14)
    assert together.graph.W[50:, 50:].nnz == 0 and together.alone and not together.online
    labels = np.arange(50) % 3
    predicted = extension.predict_alone(solution, new, labels)
    assert predicted.tolist() == [e.predict(labels)[0] for e in one_by_one]
    np.testing.assert_array_equal(extension.predict_alone(solution, new[::-1], labels)[::-1], predicted)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_new_points_join_as_if_they_had_always_been_there(rule):
    X = random_points(60)
    graph = cl.Graph.knn(X[:40], connect=False, **rule)
    grown = GrowingGraph(graph, 20)
    grown.add(X[40:])
    whole = cl.Graph.knn(X, sigma=graph.rule.width, connect=False, **rule)
    np.testing.assert_allclose(grown.graph.W.toarray()[40:], whole.W.toarray()[40:], atol=1e-12)
    np.testing.assert_allclose(grown.graph.W.toarray()[:40, :40], graph.W.toarray(), atol=0)
    np.testing.assert_allclose(grown.degrees, grown.graph.degrees, atol=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_one_by_one_each_joins_as_if_the_earlier_ones_were_old(rule):
    X = random_points(45)
    grown = GrowingGraph(cl.Graph.knn(X[:40], connect=False, sigma=1.0, **rule), 5)
    for i in range(40, 45):
        w = grown.add(X[i : i + 1])
        whole = cl.Graph.knn(X[: i + 1], sigma=1.0, connect=False, **rule)
        np.testing.assert_allclose(w.toarray()[0], whole.W.toarray()[i], atol=1e-12)


def test_an_rbf_graph_grows_into_the_whole_one():
    X = random_points(20)
    grown = GrowingGraph(cl.Graph.rbf(X[:12], sigma=0.8), 8)
    grown.add(X[12:15])
    grown.add(X[15:])
    np.testing.assert_allclose(grown.graph.W.toarray(), cl.Graph.rbf(X, sigma=0.8).W.toarray(), atol=1e-14)


@pytest.mark.parametrize("online", [False, True])
def test_a_point_on_top_of_an_old_one_among_its_copies(online):
    # Ten copies of a point are each other's nearest neighbours; an eleventh must not count itself.
    X = np.vstack([np.repeat([[0.0, 0]], 10, axis=0), np.repeat([[5.0, 5]], 10, axis=0)])
    graph = cl.Graph.knn(X, n_neighbors=3, sigma=1.0)
    solution = cl.KP(graph, cl.Links(20, cannot=[(0, 19)], must=[(0, 1), (18, 19)]), normalized=False).solve()
    extended = solution.extend([[0.0, 0], [5.0, 5]], online=online)
    assert (extended.predict(np.repeat([7, 8], 10)) == [7, 8]).all()
    assert (extended.graph.W.diagonal() == 0).all()


@pytest.mark.parametrize("online", [False, True])
def test_a_far_away_point_is_joined_by_the_shortest_edge(solution, online):
    extended = solution.extend([[100.0, 100, 100, 100]], online=online)
    assert extended.graph.n_components == 1
    distances = np.linalg.norm(solution.problem.graph.points - 100, axis=1)
    assert extended.graph.W[[-1]].indices.tolist() == [distances.argmin()]


@pytest.mark.parametrize("distance", [5, 20, 27.37, 38, 40, 1000])
@pytest.mark.parametrize("online", [False, True])
def test_a_chain_of_points_leading_away_stays_finite(distance, online):
    # Weights and degrees underflow one after the other; what holds a point must still be a number.
    X = random_points(20, dimension=2)
    solution = cl.KP(cl.Graph.knn(X, 5), cl.Links(20, must=[(0, 1)], cannot=[(0, 2)]), normalized=False).solve()
    away = distance * solution.problem.graph.rule.width
    new = [[X[:, 0].max() + step * away, 0] for step in (1, 2)]
    extended = solution.extend(new, online=online)
    near = np.linalg.norm(X - new[0], axis=1).argmin()
    if distance > 20:  # one edge to the nearest point, and so its place
        np.testing.assert_allclose(extended.embedding[-2], extended.embedding[near], atol=1e-6)
    assert np.isfinite(extended.predict(np.arange(20) % 2)).all()
    assert np.isfinite(solution.extend(new, online=online, unit_length=True).embedding).all()


@pytest.mark.parametrize("online", [False, True])
def test_without_connecting_a_point_nobody_reaches_is_an_error(online):
    X = random_points(20)
    graph = cl.Graph.knn(X, n_neighbors=3, symmetrize="mutual", connect=False)
    links = cl.Links(20, must=[(int(np.flatnonzero(graph.components == c)[0]), i) for c, i in ()], cannot=[(0, 1)])
    solution = cl.PCP(graph, links).solve()
    with pytest.raises(cl.InvalidInput, match="the point 20 has no known"):
        solution.extend([[50.0, 50, 50]], online=online)
    with pytest.raises(cl.InvalidInput, match="new point 1 is so far from the old points that no edge joins them"):
        extension.extend(solution, [X[0], [50.0, 50, 50]], alone=True)


@pytest.mark.parametrize("online", [False, True])
def test_clustering_old_and_new_points(online):
    X, y = cl.datasets.blobs(120, 3, spread=0.5, random_state=0)
    graph = cl.Graph.knn(X[:80], n_neighbors=6)
    solution = cl.KP(graph, cl.Links.sample(y[:80], per_class=3, random_state=0)).solve()
    labels = solution.cluster(3, random_state=0)
    extended = solution.extend(X[80:], online=online)
    assert cl.metrics.nmi(y, extended.cluster(3, random_state=0)) == pytest.approx(1)
    assert cl.metrics.nmi(y[80:], extended.predict(labels)) == pytest.approx(1)
    assert cl.metrics.nmi(y, np.concatenate([labels, extended.predict(labels)])) == pytest.approx(1)
    further = extended.extend(X[:3] + 0.01)  # an extension extends
    assert (further.predict(extended.cluster(3, random_state=0)) == extended.cluster(3, random_state=0)[:3]).all()


def test_prediction_is_the_nearest_mean(solution, new):
    labels = np.array(["a", "b"])[np.arange(solution.problem.graph.n) % 2]
    extended = solution.extend(new)
    rows = extended.embedding
    old = rows[: len(labels)]
    distances = [np.linalg.norm(rows[len(labels) :] - old[labels == c].mean(axis=0), axis=1) for c in "ab"]
    assert (extended.predict(labels) == np.array(["a", "b"])[np.argmin(distances, axis=0)]).all()


def test_unknown_labels_say_nothing_about_new_points(solution, new):
    labels = np.arange(solution.problem.graph.n) % 3 - 1
    extended = solution.extend(new)
    assert set(extended.predict(labels)) <= {0, 1}
    with pytest.raises(cl.InvalidInput, match="no label is known"):
        extended.predict(np.full(len(labels), -1))


@pytest.mark.parametrize("away", [1, 3, 5, 8, 10, 12, 100, 1e6])
def test_a_group_of_new_points_at_any_distance(solution, away):
    n = solution.problem.graph.n
    for online in (False, True):
        extended = solution.extend(solution.problem.graph.points[:3] + away, online=online)
        assert np.isfinite(extended.embedding).all() and extended.graph.n_components == 1
        assert len(extended.predict(np.arange(n) % 2)) == 3


def test_unit_length_scales_the_new_points_only(solution, new):
    plain, scaled = solution.extend(new), solution.extend(new, unit_length=True)
    n = solution.problem.graph.n
    np.testing.assert_array_equal(scaled.embedding[:n], plain.embedding[:n])
    np.testing.assert_allclose(np.linalg.norm(scaled.embedding[n:], axis=1), 1)
    cosines = (scaled.embedding[n:] * plain.embedding[n:]).sum(axis=1) / np.linalg.norm(plain.embedding[n:], axis=1)
    np.testing.assert_allclose(cosines, 1)


def test_what_cannot_be_extended_says_so(solution):
    with pytest.raises(cl.InvalidInput, match="X_new has 3 columns, but the graph was built from 4"):
        solution.extend([[1.0, 2, 3]])
    with pytest.raises(cl.InvalidInput, match="NaN"):
        solution.extend([[1.0, 2, 3, np.nan]])
    for shapeless in ([1.0, 2, 3, 4], np.empty((0, 4))):
        with pytest.raises(cl.InvalidInput, match="X_new must be two-dimensional"):
            solution.extend(shapeless)
    with pytest.raises(cl.InvalidInput, match="X_new must hold numbers only, in rows of equal length"):
        solution.extend([[1.0, 2, 3, 4], [1.0]])
    given = cl.KP(path_graph(3), cl.Links(3, cannot=[(0, 2)])).solve()
    with pytest.raises(cl.InvalidInput, match=r"built from points; build it with Graph\.knn or Graph\.rbf"):
        given.extend([[1.0]])
    with pytest.raises(cl.InvalidInput, match="online must be True or False, not 'yes'"):
        solution.extend([[1.0, 2, 3, 4]], online="yes")
    with pytest.raises(cl.InvalidInput, match="give online or alone"):
        extension.extend(solution, [[1.0, 2, 3, 4]], online=True, alone=True)
    with pytest.raises(cl.InvalidInput, match="labels for"):
        solution.extend(solution.problem.graph.points[:1]).predict([0, 1])
