"""Branch and bound finds what enumeration finds, and proves it; it can be stopped, resumed and run on processes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.exact.tree import Node, Tree
from helpers.clusterings import drawn, keep, normalised_cut, partitions, squared_distances_to_means


def best_of(value, links, n, k, sizes=(1, 99)):
    """The least value over all clusterings into exactly k clusters that keep the links."""
    kept = (
        labels
        for labels in partitions(n, k)
        if keep(links, labels) and sizes[0] <= np.bincount(labels).min() and np.bincount(labels).max() <= sizes[1]
    )
    return min((value(labels) for labels in kept), default=None)


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(0, 7), st.sampled_from([(1, 99), (2, 99), (1, 4), (2, 3)]))
@settings(max_examples=15, deadline=None)
def test_it_is_what_enumeration_finds(seed, k, n_links, sizes):
    n = 8
    X, links = drawn(seed, n, k, n_links)
    if links.n_blocks < k or sizes[0] * k > n or sizes[1] * k < n:
        return
    problem = cl.KMeans(X, links, k, sizes[0] if sizes[0] > 1 else None, sizes[1] if sizes[1] < n else None)
    best = best_of(lambda labels: squared_distances_to_means(X, labels), links, n, k, sizes)
    if best is None:
        with pytest.raises(cl.InfeasibleProblem):
            cl.optimal_clustering(problem)
        return
    found = cl.optimal_clustering(problem)
    assert found.status is cl.Status.OPTIMAL
    assert found.bound <= best * (1 + 1e-9)
    assert found.value == pytest.approx(best, rel=1e-4)
    assert found.value == pytest.approx(squared_distances_to_means(X, found.labels), rel=1e-9)
    assert keep(links, found.labels)


def hard_problem() -> cl.KMeans:
    """Points without clusters, which take a tree of some nodes."""
    rng = np.random.default_rng(1)
    X = rng.random((24, 3))
    return cl.KMeans(X, cl.Links.sample(rng.integers(5, size=24), n_links=8, random_state=0), 5)


@pytest.fixture(scope="module")
def whole():
    return cl.optimal_clustering(hard_problem())


def test_every_leaf_of_the_tree_is_closed_by_its_bound(whole):
    found, tree = whole, whole.tree
    assert len(tree) >= 3
    assert found.bound == min(found.value, *(leaf.bound for leaf in tree.leaves if leaf.fate == "closed"))
    for node in tree:
        children = [child for child in tree if child.parent == node.number]
        assert len(children) == (2 if node.fate == "branched" else 0)
        assert all(child.bound >= node.bound for child in children)
    assert {kind for kind, *_ in tree.links_of(len(tree) - 1)} <= {"must", "cannot"}
    assert "root: bound" in str(tree)


def test_a_search_that_was_stopped_goes_on_from_its_file(tmp_path, whole):
    problem, file = hard_problem(), tmp_path / "search.json"

    def stop(progress):
        if progress.nodes == 2:
            raise KeyboardInterrupt

    first = cl.optimal_clustering(problem, progress=stop, file=file)
    assert first.status is cl.Status.LIMIT and first.reason == "interrupted"
    assert first.bound <= whole.value * (1 + 1e-9)
    second = cl.optimal_clustering(problem, file=file)
    assert second.status is cl.Status.OPTIMAL
    assert second.value == pytest.approx(whole.value, rel=1e-4)
    assert second.tree[0] == first.tree[0]
    # A finished search is not done again; a smaller gap opens it again.
    again = cl.optimal_clustering(problem, file=file)
    assert len(again.tree) == len(second.tree)
    finer = cl.optimal_clustering(problem, gap=1e-6, file=file)
    assert finer.gap <= 1e-6


def test_what_was_found_before_the_root_is_done_is_not_lost(whole):
    def stop(progress):
        raise KeyboardInterrupt

    found = cl.optimal_clustering(hard_problem(), progress=stop)
    assert found.reason == "interrupted" and found.bound == -np.inf
    assert found.value >= whole.bound and keep(hard_problem().links, found.labels)


def test_what_it_says_is_true_of_soft_links_and_of_no_links():
    X, _ = drawn(0)
    assert "keeps the links" not in str(cl.optimal_clustering(cl.KMeans(X, n_clusters=2)))
    assert "that keeps the links" in str(cl.optimal_clustering(cl.KMeans(X, cl.Links(8, must=[(0, 1)]), 2)))
    links = cl.Links(8, must=[(0, 1)], cannot=[(0, 1)])
    soft = cl.LinkedCut(cl.Graph.knn(X, 3), links, 2, must_weight=1.0, cannot_weight=1.0)
    assert "keeps the links" not in str(cl.optimal_clustering(soft))


def test_a_point_far_away_does_not_swamp_the_values():
    X, links = drawn(2)
    X[0] = [1e8, 0.0]
    alone = cl.Links(8, must=links.must[(links.must != 0).all(axis=1)], cannot=[(1, 2)])
    found = cl.optimal_clustering(cl.KMeans(X, alone, 3), time_limit=5)
    assert found.value == pytest.approx(squared_distances_to_means(X, found.labels), rel=1e-6)
    best = best_of(lambda labels: squared_distances_to_means(X, labels), alone, 8, 3)
    assert found.bound <= best * (1 + 1e-9)


def test_processes_find_the_same(whole):
    found = cl.optimal_clustering(hard_problem(), n_jobs=2)
    assert found.status is cl.Status.OPTIMAL
    assert found.value == pytest.approx(whole.value, rel=1e-4)


def test_a_time_limit_returns_what_is_known():
    found = cl.optimal_clustering(hard_problem(), time_limit=0.01)
    assert found.bound <= found.value
    assert keep(hard_problem().links, found.labels)


def test_links_that_no_clustering_keeps_are_proven_to_be_so():
    X, _ = drawn(0)
    triangle = cl.Links(8, cannot=[(0, 1), (1, 2), (0, 2)])
    with pytest.raises(cl.InfeasibleProblem, match="points 0, 1, 2 pairwise apart"):
        cl.optimal_clustering(cl.KMeans(X, triangle, 2))
    # An odd ring has no clique of three, and still needs three clusters.
    ring = cl.Links(8, cannot=[(i, (i + 1) % 5) for i in range(5)])
    with pytest.raises(cl.InfeasibleProblem, match="5 cannot-links"):
        cl.optimal_clustering(cl.KMeans(X, ring, 2))


def test_the_file_of_another_problem_and_broken_files_are_refused(tmp_path):
    X, links = drawn(0)
    file = tmp_path / "search.json"
    cl.optimal_clustering(cl.KMeans(X, links, 3), file=file)
    with pytest.raises(cl.InvalidInput, match="another problem"):
        cl.optimal_clustering(cl.KMeans(X + 1e-3 * X**2, links, 3), file=file)
    content = json.loads(file.read_text())
    content["nodes"][0]["fate"] = "branched"  # without its branches the proof would have a hole
    file.write_text(json.dumps(content))
    with pytest.raises(cl.InvalidFile, match="branches"):
        cl.optimal_clustering(cl.KMeans(X, links, 3), file=file)
    file.write_text("{")
    with pytest.raises(cl.InvalidFile):
        cl.optimal_clustering(cl.KMeans(X, links, 3), file=file)


def test_a_value_in_a_file_is_computed_anew(tmp_path):
    X, links = drawn(7)
    problem, file = cl.KMeans(X, links, 3), tmp_path / "search.json"
    right = cl.optimal_clustering(problem, file=file)
    content = json.loads(file.read_text())
    content["labels"] = [0] * 8  # breaks cannot-links
    file.write_text(json.dumps(content))
    assert cl.optimal_clustering(problem, file=file).value == pytest.approx(right.value, rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_kernel_programs_on_few_points(seed):
    n, rng = 7, np.random.default_rng(seed)
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
    graph = cl.Graph.from_affinity(np.triu(W, 1) + np.triu(W, 1).T + 0.05 * (1 - np.eye(n)))
    links = cl.Links(n, must=[(0, 1)], cannot=[(0, 2), (3, 4), (2, 5)])
    problem = cl.PCP(graph, links)
    L = graph.laplacian().toarray()

    def value(labels):
        return float((L * (labels[:, None] == labels)).sum())

    found = cl.optimal_clustering(problem, n_clusters=3, gap=1e-5)
    best = min(b for b in (best_of(value, links, n, k) for k in (1, 2, 3)) if b is not None)
    assert found.value == pytest.approx(best, rel=1e-5)
    assert found.bound <= best + 1e-9
    assert len(np.unique(found.labels)) <= 3


def test_problems_that_cannot_be_searched_say_why():
    graph = cl.Graph.from_affinity(np.ones((4, 4)) - np.eye(4))
    links = cl.Links(4, must=[(0, 1)])
    with pytest.raises(cl.InvalidInput, match="does not enforce links"):
        cl.optimal_clustering(cl.SSKK(graph, links, 2))
    with pytest.raises(cl.InvalidInput, match="gap"):
        cl.optimal_clustering(cl.KMeans(np.arange(4.0)[:, None], links, 2), gap=-1)
    with pytest.raises(cl.InvalidInput, match="for 2 clusters"):
        cl.optimal_clustering(cl.KMeans(np.arange(4.0)[:, None], links, 2), n_clusters=3)


def test_nodes_print():
    assert "cannot-link (1, 2)" in str(Tree((Node(0, fate="branched"), Node(1, 0, ("cannot", 1, 2), 1))))


@pytest.mark.parametrize("seed", range(5))
def test_normalised_cuts_with_hard_and_soft_links(seed):
    n, rng = 8, np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5) + 0.05, 1)
    graph = cl.Graph.from_affinity(W + W.T)
    W, links = graph.W.toarray(), cl.Links(n, must=[(0, 1), (5, 6)], cannot=[(0, 2), (3, 4)])
    found = cl.optimal_clustering(cl.LinkedCut(graph, links, 3))
    assert found.value == pytest.approx(best_of(lambda labels: normalised_cut(W, labels), links, n, 3), rel=1e-4)
    assert found.bound <= found.value
    # Soft links may contradict one another; their price is part of the value.
    soft = cl.LinkedCut(
        graph, cl.Links(n, must=[(0, 1), (1, 2)], cannot=[(0, 2)]), 2, must_weight=0.3, cannot_weight=0.4
    )

    def price(labels):
        d, mean = graph.degrees, graph.degrees.mean()
        volume = np.array([d[labels == labels[i]].sum() for i in range(n)])
        broken = [(i, j) for i, j in ((0, 1), (1, 2)) if labels[i] != labels[j]]
        cost = sum(0.3 * mean * (1 / volume[i] + 1 / volume[j]) for i, j in broken)
        return normalised_cut(W, labels) + cost + (2 * 0.4 * mean / volume[0] if labels[0] == labels[2] else 0.0)

    found = cl.optimal_clustering(soft)
    assert found.value == pytest.approx(best_of(price, cl.Links(n), n, 2), rel=1e-4)


def test_non_negative_entries_raise_the_bound_of_a_cut_and_solvers_agree():
    X, _ = drawn(3, n=10, k=3)
    graph, links = cl.Graph.knn(X, 4), cl.Links(10, must=[(0, 3)], cannot=[(1, 2), (4, 8)])
    free, tight = (cl.LinkedCut(graph, links, 3, nonnegative=flag).solve(accuracy=1e-5) for flag in (False, True))
    assert tight.certificate.lower_bound >= free.certificate.lower_bound - 1e-6
    by_solver = cl.LinkedCut(graph, links, 3, nonnegative=True).solve("CLARABEL", accuracy=1e-5)
    assert by_solver.value == pytest.approx(tight.value, abs=1e-4)
    best = best_of(lambda labels: normalised_cut(graph.W.toarray(), labels), links, 10, 3)
    assert tight.certificate.lower_bound <= best + 1e-9


def test_what_a_far_point_leaves_unproven_is_not_called_optimal():
    X, _ = drawn(0)
    X = np.vstack([X, [[1e9, 0.0]]])
    found = cl.optimal_clustering(cl.KMeans(X, cl.Links(9, cannot=[(0, 1), (2, 3)]), 4), time_limit=2)
    assert found.status is cl.Status.LIMIT or found.value - found.bound <= 1e-4 * found.value


def test_more_than_ten_clusters_of_a_kernel_program():
    graph = cl.Graph.knn(np.random.default_rng(0).standard_normal((11, 2)), 3)
    pairs = [(i, j) for i in range(11) for j in range(i)]
    found = cl.optimal_clustering(cl.PCP(graph, cl.Links(11, cannot=pairs)))
    assert found.value == pytest.approx(11.0) and len(set(found.labels)) == 11


def test_options_of_a_problem_belong_to_its_file(tmp_path):
    graph = cl.Graph.knn(np.random.default_rng(2).standard_normal((7, 2)), 3)
    links, file = cl.Links(7, cannot=[(0, 2), (1, 3)]), tmp_path / "search.json"
    cl.optimal_clustering(cl.PCP(graph, links, normalized=False), file=file)
    with pytest.raises(cl.InvalidInput, match="another problem"):
        cl.optimal_clustering(cl.PCP(graph, links), file=file)
    with pytest.raises(cl.InvalidInput, match="need not have"):
        cl.optimal_clustering(cl.KPCut(graph, links, 3))


@pytest.mark.parametrize("labels", [list(range(8)), [0, 0, 0, 0, 0, 0, 1, 2]])
def test_labels_in_a_file_need_the_right_number_and_sizes(tmp_path, labels):
    X, _ = drawn(4)
    problem, file = cl.KMeans(X, n_clusters=3, size_max=4), tmp_path / "search.json"
    right = cl.optimal_clustering(problem, file=file)
    content = json.loads(file.read_text())
    content["labels"] = labels
    content["nodes"][0]["fate"] = "open" if len(content["nodes"]) == 1 else content["nodes"][0]["fate"]
    file.write_text(json.dumps(content))
    again = cl.optimal_clustering(problem, file=file)
    assert again.value == pytest.approx(right.value, rel=1e-4) and np.bincount(again.labels).max() <= 4


def test_equal_points_and_one_block():
    assert cl.optimal_clustering(cl.KMeans(np.ones((6, 2)), n_clusters=2)).value == 0
    one = cl.KMeans([[0.0], [1.0]], cl.Links(2, must=[(0, 1)]), 1)
    assert one.solve().value == pytest.approx(0.5) and cl.optimal_clustering(one).value == pytest.approx(0.5)
    assert cl.KMeans(np.ones((5, 2)), n_clusters=2).solve().value == 0
    with pytest.raises(cl.InvalidInput, match="divide X"):
        cl.KMeans([[0.0], [1e100]], n_clusters=2)


def test_no_upper_bound_for_sizes_that_blocks_cannot_have():
    X, _ = drawn(1, n=4)
    with pytest.raises(cl.InvalidInput, match="join point 0 with 2 others, and a cluster has at most 2"):
        cl.KMeans(X, cl.Links(4, must=[(0, 1), (0, 2)]), 2, size_max=2)
    problem = cl.KMeans(X, cl.Links(4, must=[(0, 1), (2, 3)]), 2, size_min=1, size_max=3)
    assert problem.certify(problem.point_of_clustering([0, 0, 0, 0])).upper_bound is None
