"""Programs with one feasible point, points of any size, and bounds that rounding lifts: verdicts are right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.methods.partitions.routes import Disproof, iterated
from cvxlink.methods.partitions.splitting import Blocks
from cvxlink.solvers.route import Settings
from helpers.clusterings import drawn

SCALES = (1e-150, 1e-100, 1e-9, 1e-4, 1.0, 1e5, 1e20, 1e60)
EXPONENTS = st.sampled_from([-140, -30, -9, -4, -2, 0, 3, 30, 60])


def exact_value(X: np.ndarray, labels: np.ndarray) -> Fraction:
    """The sum of squared distances to means in rational numbers."""
    value = Fraction(0)
    for cluster in np.unique(labels):
        for column in X[labels == cluster].T:
            numbers = [Fraction(float(x)) for x in column]
            mean = sum(numbers) / len(numbers)
            value += sum((x - mean) ** 2 for x in numbers)
    return value


@st.composite
def rigid(draw) -> tuple[np.ndarray, cl.Links, np.ndarray]:
    """Points of some size, far from zero or not, with links that leave one clustering, and that clustering."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, k = draw(st.integers(2, 14)), draw(st.integers(1, 5))
    k = min(n, k)
    X = (rng.standard_normal((n, 2)) * draw(st.sampled_from([1.0, 0.01])) + draw(st.sampled_from([0.0, 10.0]))) * (
        10.0 ** draw(EXPONENTS)
    )
    labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))
    kind = draw(st.sampled_from(["all labelled", "only must-links", "points alone", "one cluster"]))
    if kind == "points alone":
        return X, cl.Links(n), np.arange(n)
    if kind == "one cluster":
        return X, cl.Links(n, must=[(0, 1)]), np.zeros(n, dtype=int)
    links = cl.Links.from_labels(labels)
    return X, links if kind == "all labelled" else cl.Links(n, must=links.must), labels


@given(rigid())
@settings(max_examples=80, deadline=None)
def test_the_only_clustering_is_found_with_its_value_at_every_scale(case):
    X, links, labels = case
    problem = cl.KMeans(X, links, len(np.unique(labels)))
    solution = problem.solve()
    assert solution.status is cl.Status.OPTIMAL
    exact, certificate = exact_value(problem.centred, labels), solution.certificate
    assert Fraction(certificate.lower_bound) <= exact <= Fraction(certificate.upper_bound)
    assert certificate.value == pytest.approx(float(exact), rel=1e-12, abs=0)
    Z = solution.values["Z"]
    together = labels[:, None] == labels
    np.testing.assert_allclose(Z, together / np.bincount(labels)[labels], atol=1e-12)


def test_the_only_clustering_of_many_points_is_found():
    X = np.random.default_rng(0).standard_normal((33, 2)) * 1e-4
    solution = cl.KMeans(X, cl.Links(33, must=[(i, i + 5) for i in range(28)]), 5).solve()
    assert solution.status is cl.Status.OPTIMAL and solution.certificate.relative_gap < 1e-20


def test_another_point_is_not_taken_for_the_only_one():
    X, labels = np.random.default_rng(0).standard_normal((6, 2)), np.array([0, 0, 1, 1, 2, 2])
    problem = cl.KMeans(X, cl.Links.from_labels(labels), 3)
    certificate = problem.certify(problem.point_of_clustering(np.array([0, 1, 1, 2, 2, 0])))
    assert (
        certificate.largest_violation > 0.1 and certificate.basis != "links and the number of clusters leave one point"
    )


def test_sizes_that_the_only_clustering_breaks_leave_no_point():
    links = cl.Links(4, must=[(1, 2), (2, 3)])
    problem = cl.KMeans(np.random.default_rng(0).standard_normal((4, 2)), links, 2, size_min=2)
    assert problem.solve(strict=False).status is cl.Status.INFEASIBLE


@pytest.mark.parametrize("seed", range(3))
def test_verdict_steps_and_bounds_do_not_depend_on_the_scale_of_points(seed):
    X, links = drawn(seed)
    base = cl.KMeans(X, links, 3).solve()
    # Powers of two change no digit.
    for power in (-498, -100, -30, -13, 17, 66, 200):
        scale = 2.0**power
        solution = cl.KMeans(scale * X, links, 3).solve()
        assert solution.status is cl.Status.OPTIMAL
        assert solution.iterations == base.iterations
        assert solution.value / scale / scale == base.value
        assert solution.certificate.lower_bound / scale / scale == base.certificate.lower_bound
    for scale in SCALES:
        solution = cl.KMeans(scale * X, links, 3).solve()
        assert solution.status is cl.Status.OPTIMAL and solution.iterations <= 2 * base.iterations
        assert solution.value / scale / scale == pytest.approx(base.value, rel=1e-4)
        assert solution.certificate.lower_bound <= solution.certificate.upper_bound


@pytest.mark.parametrize("scale", [1e-140, 1e-6, 1.0, 1e40])
@pytest.mark.parametrize("kind", ["random", "a line", "one place"])
def test_seven_points_that_need_four_clusters_are_proven_not_to_have_three(kind, scale):
    # All apart but neighbours in a ring: Lovász's number of the ring is 3.3177.
    links = cl.Links(7, cannot=[(i, (i + j) % 7) for i in range(7) for j in (2, 3)])
    X = {
        "random": np.random.default_rng(0).random((7, 2)),
        "a line": np.arange(7.0)[:, None],
        "one place": np.ones((7, 2)),
    }
    solution = cl.KMeans(scale * X[kind], links, 3).solve(strict=False)
    assert solution.status is cl.Status.INFEASIBLE and "proven" in solution.reason


def test_a_bound_that_is_too_high_without_a_proof_is_no_verdict():
    X, links = drawn(1)
    partition = cl.KMeans(X, links, 3).partition
    asked = []
    nothing = Disproof(-1.0, lambda multipliers: asked.append(multipliers) or "")
    run = iterated(Blocks(partition), Settings(), nothing)
    assert asked and run.status is cl.Status.OPTIMAL
    proof = iterated(Blocks(partition), Settings(), Disproof(-1.0, lambda multipliers: "proven"))
    assert proof.status is cl.Status.INFEASIBLE


def test_the_share_that_decides_is_printed_for_tiny_costs():
    X, links = drawn(2)
    problem = cl.KMeans(1e-9 * X, links, 3)
    words = problem.solve(accuracy=1e-3).certificate.summary
    share = float(words.split("gap ")[1].split(" of the value")[0])
    assert 1e-9 < share < 1e-3
    assert "relative gap" in cl.KMeans(X, links, 3).solve(accuracy=1e-3).certificate.summary


@given(st.integers(0, 10**6), st.integers(2, 9), st.booleans())
@settings(max_examples=30, deadline=None)
def test_one_cluster_pays_for_all_soft_cannot_links(seed, n, must_too):
    rng = np.random.default_rng(seed)
    A = rng.random((n, n))
    graph = cl.Graph.from_affinity(A + A.T - np.diag(2 * A.diagonal()))
    pairs = np.column_stack(np.triu_indices(n, 1))
    pairs = pairs[rng.random(len(pairs)) < 0.5]
    must = [(0, 1)] if must_too else []
    links = cl.Links(n, must=must, cannot=pairs[1:] if must_too and len(pairs) else pairs)
    weight = 10.0 ** rng.uniform(-2, 2)
    problem = cl.LinkedCut(graph, links, 1, cannot_weight=weight)
    paid = 2 * weight * graph.degrees.mean() * len(links.cannot) / graph.degrees.sum()
    for route in ("dual", "splitting", None):
        solution = problem.solve(route=route) if route else problem.solve()
        assert solution.status is cl.Status.OPTIMAL
        assert solution.value == pytest.approx(paid, rel=1e-9, abs=1e-9)


def test_the_dual_names_the_other_route():
    graph = cl.Graph.from_affinity(np.ones((4, 4)) - np.eye(4))
    route = cl.LinkedCut(graph, cl.Links(4, cannot=[(0, 1)]), 2).explain(route="dual").route
    assert 'route="splitting"' in route.remedy
