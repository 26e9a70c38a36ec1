"""k-means with links: never above any clustering, the same on every route, and exact where it is tight."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.methods.partitions.bounds import proven_bound
from cvxlink.methods.partitions.cuts import Cuts, rows_of, separated
from cvxlink.methods.partitions.fantope_projection import FantopeProjection, shares
from helpers.clusterings import drawn, keep, partitions, squared_distances_to_means


def best_value(problem: cl.KMeans) -> float:
    """The best clustering by enumeration."""
    least, most = problem.size_min or 1, problem.size_max or problem.links.n
    return min(
        squared_distances_to_means(problem.X, labels)
        for labels in partitions(problem.links.n, problem.n_clusters)
        if keep(problem.links, labels) and least <= np.bincount(labels).min() and np.bincount(labels).max() <= most
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_never_above_the_best_clustering(seed):
    X, links = drawn(seed)
    problem = cl.KMeans(X, links, 3)
    certificate = problem.solve(accuracy=1e-6).certificate
    best = best_value(problem)
    assert certificate.lower_bound <= best * (1 + 1e-12)
    assert certificate.relative_gap < 1e-5
    stronger = problem.strengthened(rounds=5)
    assert certificate.lower_bound - 1e-4 <= stronger.bound <= best * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_any_multipliers_give_a_bound(seed):
    X, links = drawn(seed)
    problem, rng = cl.KMeans(X, links, 3), np.random.default_rng(seed)
    best, c = best_value(problem), problem.partition.order
    clusterings = [labels for labels in partitions(len(X), 3) if keep(links, labels)]
    cuts = separated(problem.partition, rng.random((c, c)), 5, 1e-9)
    for size in (0.1, 1.0, 10.0):
        entries = size * rng.standard_normal((c, c))
        bound, _ = proven_bound(problem.partition, cuts, entries, size * rng.standard_normal(len(cuts)))
        assert bound.lower <= best
    # The optimal ones of a program solved elsewhere, in plain CVXPY's words, give nearly its optimum.
    by_clarabel = problem.solve("CLARABEL", accuracy=1e-6)
    assert by_clarabel.certificate.relative_gap < 1e-5
    assert len(clusterings) > 0


WAYS = (
    {},
    {"solver": "CLARABEL"},
    {"solver": "CLARABEL", "form": "paper"},
    {"solver": "CLARABEL", "form": "paper", "presolve": False},
    {"solver": "SCS"},
)


@pytest.mark.parametrize("options", [{}, {"size_min": 2}, {"size_max": 3}, {"size_min": 2, "size_max": 4}])
def test_solvers_and_the_route_agree(options):
    X, links = drawn(3, n_links=3)
    problem = cl.KMeans(X, links, 3, **options)
    values = [problem.solve(**way, accuracy=1e-5).value for way in WAYS]
    assert np.ptp(values) < 2e-4 * (1 + abs(values[0]))
    assert min(values) <= best_value(problem) * (1 + 1e-4)


@pytest.mark.parametrize("must", [[], [(0, 1)], [(0, 1), (1, 2)]])
@pytest.mark.parametrize("sizes", [{"size_min": 4}, {"size_max": 5}, {"size_min": 3, "size_max": 5}])
def test_sizes_are_proven_on_blocks_as_on_points(must, sizes):
    X = np.random.default_rng(0).standard_normal((8, 2)) + np.repeat([[0.0], [4.0]], [6, 2], axis=0)
    problem = cl.KMeans(X, cl.Links(8, must=must), 2, **sizes)
    solution = problem.solve(accuracy=1e-5)
    assert solution.certificate.relative_gap < 1e-4
    assert solution.certificate.lower_bound <= best_value(problem) * (1 + 1e-9)


def test_sizes_raise_the_bound_up_to_the_best_clustering_of_these_sizes():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [0.4], [9.0]])
    free, equal = (cl.KMeans(X, cl.Links(6), 2, **sizes) for sizes in ({}, {"size_min": 3, "size_max": 3}))
    assert free.solve(accuracy=1e-6).certificate.lower_bound <= 0.1 + 1e-9
    # Three and three: 0, 0.1, 0.2 and 0.3, 0.4, 9.
    assert equal.solve(accuracy=1e-6).certificate.lower_bound > 10
    assert best_value(equal) == pytest.approx(squared_distances_to_means(X, np.array([0, 0, 0, 1, 1, 1])))


def test_two_pairs_far_apart_are_solved_exactly():
    X = np.array([[0.0, 0], [0, 1], [10, 0], [10, 1]])
    solution = cl.KMeans(X, cl.Links(4, cannot=[(0, 2)]), 2).solve(accuracy=1e-6)
    assert solution.value == pytest.approx(1.0, abs=1e-5)
    assert solution.cluster(random_state=0).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_a_must_link_across_is_paid_for_by_the_formula():
    # All in one cluster except one: the block {0, 2} has its mean at 5, and each end is 5 away.
    X = np.array([[0.0], [0.0], [10.0], [10.0]])
    value = cl.KMeans(X, cl.Links(4, must=[(0, 2)]), 3).solve(accuracy=1e-6).value
    assert value == pytest.approx(50.0, abs=1e-3)


def test_as_many_clusters_as_blocks_leave_one_matrix():
    X, _ = drawn(0)
    links = cl.Links(8, must=[(0, 1), (2, 3), (4, 5), (6, 7)])
    solution = cl.KMeans(X, links, 4).solve()
    assert solution.value == pytest.approx(squared_distances_to_means(X, np.arange(8) // 2), rel=1e-8)


def test_moving_and_scaling_the_points_and_numbering_them_anew_changes_nothing():
    X, links = drawn(5)
    order = np.random.default_rng(0).permutation(len(X))
    value = cl.KMeans(X, links, 3).solve(accuracy=1e-6).value
    moved = cl.KMeans(1000 + 3 * X[order], links.permuted(order), 3).solve(accuracy=1e-6).value
    assert moved / 9 == pytest.approx(value, rel=1e-4)


def test_a_clustering_is_a_point_with_its_value():
    X, links = drawn(1)
    problem = cl.KMeans(X, links, 3)
    labels = next(labels for labels in partitions(8, 3) if keep(links, labels))
    certificate = problem.certify(problem.point_of_clustering(labels))
    assert certificate.value == pytest.approx(squared_distances_to_means(X, labels), rel=1e-9)
    assert certificate.largest_violation < 1e-9


def test_cuts_hold_for_all_clusterings_and_their_rows_say_so():
    X, _ = drawn(2)
    problem = cl.KMeans(X, cl.Links(8), 3)
    rng = np.random.default_rng(0)
    cuts = Cuts(
        [rng.choice(8, 2, replace=False) for _ in range(20)],
        [rng.choice(8, 3, replace=False) for _ in range(40)],
        [rng.choice(8, 4, replace=False) for _ in range(20)],
    )
    rows, b = rows_of(cuts, np.ones(8), np.arange(8), problem.partition.largest_weight)
    tight = np.full(len(cuts), np.inf)
    for labels in partitions(8, 3):
        H = problem.partition.columns(labels)
        slack = b - rows @ (H @ H.T).ravel()
        assert slack.min() > -1e-12
        tight = np.minimum(tight, slack)
    assert tight.max() < 1e-9  # none of them could be stronger


def test_separation_finds_what_is_violated():
    X, links = drawn(4, n_links=0)
    partition = cl.KMeans(X, links, 3).partition
    z = np.full((8, 8), 0.1)
    z[0, 1] = z[1, 0] = z[0, 2] = z[2, 0] = 0.3
    z[1, 2] = z[2, 1] = 0.0
    np.fill_diagonal(z, 0.35)
    found = separated(partition, z, 10)
    assert [0, 1, 2] in found.triangles.tolist()
    assert all(z[i, j] + z[i, k] > z[i, i] + z[j, k] for i, j, k in found.triangles)


def test_the_program_with_cuts_is_declared_and_solved_alike_by_a_solver():
    X, links = drawn(2, n=7)
    strengthened = cl.KMeans(X, links, 3).strengthened(rounds=3)
    problem = strengthened.problem
    assert len(problem.cuts)
    assert "triangles" in problem.declaration.constraints or "pairs" in problem.declaration.constraints
    by_solver = problem.solve("CLARABEL", accuracy=1e-5)
    assert by_solver.value >= strengthened.bound - 1e-4
    assert by_solver.value == pytest.approx(problem.solve(accuracy=1e-5).value, rel=2e-4)


def test_the_projection_on_the_fantope_is_the_nearest_point_of_it():
    rng = np.random.default_rng(0)
    w = rng.random(6)
    w /= np.linalg.norm(w)
    G = rng.standard_normal((6, 6))
    G = G + G.T
    P = FantopeProjection(w, 3)(G)
    assert np.allclose(P @ w, w)
    assert np.trace(P) == pytest.approx(3)
    assert np.linalg.eigvalsh(P)[[0, -1]] == pytest.approx([0, 1], abs=1e-9)
    # A projection on a convex set: ⟨G − P, Q − P⟩ ≤ 0 for all Q in it.
    for _ in range(50):
        V = np.linalg.qr(np.column_stack([w, rng.standard_normal((6, 2))]))[0]
        assert np.vdot(G - P, V @ V.T - P) <= 1e-9


def test_projections_that_follow_eigenvectors_stay_in_the_set_and_near_the_true_ones(monkeypatch):
    rng = np.random.default_rng(0)
    w = rng.uniform(0.5, 1.5, 90)
    w /= np.linalg.norm(w)
    G = rng.standard_normal((90, 90))
    G, change = G + G.T + 40 * np.diag(np.arange(90) > 83), rng.standard_normal((90, 90))
    following, whole, calls = FantopeProjection(w, 4), [], []
    monkeypatch.setattr(following, "_by_all", lambda G, by_all=following._by_all: calls.append(1) or by_all(G))
    for step in range(30):
        moved = G + 0.003 * step * (change + change.T)
        P = following(moved)
        whole.append(np.abs(P - FantopeProjection(w, 4)(moved)).max())
        assert np.allclose(P @ w, w) and np.trace(P) == pytest.approx(4)
        assert np.linalg.eigvalsh(P)[[0, -1]] == pytest.approx([0, 1], abs=1e-9)
    assert max(whole) < 1e-4
    assert len(calls) < 10  # most of them were followed


@pytest.mark.parametrize("total", [0.5, 1.0, 2.7, 4.0])
def test_shares_have_their_sum_and_are_shifted_alike(total):
    numbers = np.array([3.0, 0.4, 0.2, -1.0, -5.0])
    x = shares(numbers, total)
    assert x.sum() == pytest.approx(total)
    inside = (x > 0) & (x < 1)
    assert np.ptp((numbers - x)[inside]) < 1e-12 if inside.any() else True


def test_points_of_any_size_leave_the_answer_feasible():
    far = cl.KMeans(np.array([[0.0, 0.0], [1e6, 1e6]]), None, 2).solve(strict=False)
    np.testing.assert_allclose(far.values["Z"], np.eye(2), atol=1e-6)  # each point is a cluster
    X = np.random.default_rng(0).standard_normal((80, 2))
    ordinary, tiny = (cl.KMeans(scale * X, None, 4).solve(accuracy=1e-3, strict=False) for scale in (1.0, 1e-9))
    assert tiny.status is ordinary.status is cl.Status.OPTIMAL
    assert tiny.certificate.lower_bound * 1e18 == pytest.approx(ordinary.certificate.lower_bound, rel=1e-3)


def test_bad_input_is_named():
    X, links = drawn(0)
    for arguments, words in (
        ((X[:5], links, 3), "X has 5 points"),
        ((X, cl.Links(8, must=[(0, 1)], cannot=[(0, 1)]), 2), "must-link"),
        ((X, cl.Links(8, must=[(i, i + 1) for i in range(6)]), 3), "leave only 2 blocks"),
        ((X, links, 3, 4), "need more than 8 points"),
        ((X, links, 3, None, 2), "hold fewer than 8 points"),
    ):
        with pytest.raises(cl.CvxlinkError, match=words):
            cl.KMeans(*arguments)


@pytest.mark.parametrize("seed", range(3))
def test_the_clustering_of_an_answer_keeps_the_links_and_is_near_its_bound(seed):
    X, links = drawn(seed, n=9, n_links=6)
    problem = cl.KMeans(X, links, 3)
    solution = problem.solve()
    labels = solution.cluster(random_state=0)
    assert keep(links, labels)
    assert squared_distances_to_means(X, labels) == pytest.approx(best_value(problem), rel=1e-9)
    assert solution.relaxation_gap(labels).gap >= -1e-9
    graph = cl.Graph.knn(X, 4)
    cut = cl.LinkedCut(graph, links, 3).solve()
    assert keep(links, cut.cluster(method="partition", random_state=0))
