"""Many cannot-links, and links that no point keeps: routes agree, points are exactly feasible, verdicts are proven."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.methods.partitions.exactly_feasible import feasible_nearby
from cvxlink.methods.partitions.fantope_projection import eigenpairs_beside
from helpers.clusterings import drawn, keep, normalised_cut, partitions
from helpers.graphs import random_points


def groups(n: int, m: int, k: int = 4, seed: int = 0) -> tuple[cl.Graph, cl.Links]:
    """Noisy groups, and cannot-links only, between different groups."""
    y = np.arange(n) % k
    X = random_points(n, seed=seed) + 1.5 * np.eye(max(k, 3))[:, :3][y % 3] + (y // 3)[:, None]
    pairs = np.column_stack(np.triu_indices(n, 1))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]]
    chosen = np.random.default_rng(seed).choice(len(pairs), m, replace=False)
    return cl.Graph.knn(X, 6), cl.Links(n, cannot=pairs[chosen])


WEIGHTS = [{}, {"cannot_weight": 0.02}, {"cannot_weight": 5.0}]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_both_routes_prove_the_same_optimum(weights: dict):
    graph, links = groups(60, 90)
    problem = cl.LinkedCut(graph, links, 4, **weights)
    proofs = [problem.solve(route=route) for route in ("dual", "splitting")]
    assert all(one.status is cl.Status.OPTIMAL for one in proofs)
    lower, upper = ([getattr(one.certificate, bound) for one in proofs] for bound in ("lower_bound", "upper_bound"))
    assert max(lower) <= min(upper)
    assert max(upper) - min(lower) < 4e-4


def test_a_contradiction_that_has_a_price_is_paid_on_every_route():
    graph, _ = groups(20, 10)
    links = cl.Links(20, must=[(0, 1), (1, 2)], cannot=[(0, 2), (3, 4), (5, 8)])
    problem = cl.LinkedCut(graph, links, 3, cannot_weight=0.5)
    values = [problem.solve(route=route, accuracy=1e-6).value for route in ("dual", "splitting")]
    assert values[0] == pytest.approx(values[1], abs=5e-6)


def test_the_route_follows_from_links_and_blocks():
    graph, few = groups(200, 20)
    assert cl.LinkedCut(graph, few, 4).explain().route.name == "dual"
    graph, many = groups(200, 800)
    plan = cl.LinkedCut(graph, many, 4).explain()
    assert plan.route.name == "splitting" and "there are many cannot-links" in str(plan)


def test_a_thousand_links_are_proven_and_kept():
    graph, links = groups(120, 1000)
    problem = cl.LinkedCut(graph, links, 4)
    solution = problem.solve()
    assert solution.status is cl.Status.OPTIMAL and solution.plan.route.name == "splitting"
    certificate = solution.certificate
    assert certificate.upper_bound is not None and certificate.relative_gap < 1e-4
    assert abs(solution.values["Z"][tuple(links.cannot.T)]).max() < 1e-12


def test_the_nearby_point_satisfies_every_constraint():
    graph, links = groups(50, 300)
    data = cl.LinkedCut(graph, links, 4).data
    rng, w = np.random.default_rng(0), data.block_w
    Z = cl.LinkedCut(graph, links, 4).solve(accuracy=1e-5).values["Z"]
    noise = rng.standard_normal(Z.shape) * 1e-7
    x, V = eigenpairs_beside(Z + noise + noise.T, w)
    Y, off = feasible_nearby(data, x, V, np.ones(300, dtype=bool))
    assert off < 1e-10 and not Y[tuple(links.cannot.T)].any()
    assert abs(Y @ w - w).max() < 1e-12 and np.trace(Y) == pytest.approx(4, abs=1e-12)
    eigenvalues = np.linalg.eigvalsh(Y)
    assert eigenvalues[0] > off and eigenvalues[-2] < 1 - off
    # Where the answer is far from all feasible points there is none nearby.
    far = rng.standard_normal(Z.shape)
    assert feasible_nearby(data, *eigenpairs_beside(far + far.T, w), np.ones(300, dtype=bool)) is None


@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(0, 12), st.booleans())
@settings(max_examples=15, deadline=None)
def test_splitting_is_never_above_the_best_clustering(seed: int, k: int, n_links: int, nonnegative: bool):
    n = 8
    X, links = drawn(seed, n, k, n_links)
    if links.n_blocks < k:
        return
    graph = cl.Graph.knn(X, 4)
    problem = cl.LinkedCut(graph, links, k, nonnegative=nonnegative)
    best = min(normalised_cut(graph.W.toarray(), one) for one in partitions(n, k) if keep(links, one))
    solution = problem.solve(route="splitting", strict=False)
    assert solution.status is not cl.Status.INFEASIBLE
    certificate = solution.certificate
    assert certificate.lower_bound <= best + 1e-9
    if certificate.upper_bound is not None:
        assert certificate.lower_bound <= certificate.upper_bound <= best + 2e-4


def test_where_links_leave_one_clustering_it_is_the_upper_bound():
    graph = cl.Graph.knn(random_points(6, seed=0), 3)
    y = np.array([0, 0, 1, 1, 2, 2])
    links = cl.Links(6, cannot=[(i, j) for i in range(6) for j in range(i) if y[i] != y[j]])
    solution = cl.LinkedCut(graph, links, 3).solve()
    best = normalised_cut(graph.W.toarray(), y)
    assert solution.status is cl.Status.OPTIMAL
    assert solution.certificate.lower_bound <= best <= solution.certificate.upper_bound + 1e-12
    assert solution.certificate.upper_bound == pytest.approx(best, abs=1e-9)


# ---------------------------------------------------------------------- without a feasible point

RING = cl.Links(7, cannot=[(i, (i + 1) % 7) for i in range(7)])  # three clusters at least
# Moser's spindle needs four clusters, and no four of its points are pairwise apart.
SPINDLE = cl.Links(7, cannot=[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (0, 4), (0, 5), (4, 5), (4, 6), (5, 6), (3, 6)])
# Grötzsch's graph needs four clusters as well, but the relaxation for three has feasible points.
GROETZSCH = cl.Links(
    11,
    cannot=[
        pair for i in range(5) for pair in ((i, (i + 1) % 5), (5 + i, (i + 1) % 5), (5 + i, (i + 4) % 5), (5 + i, 10))
    ],
)


def programs(links: cl.Links, k: int) -> list[cl.Problem]:
    X = random_points(links.n, seed=1)
    graph = cl.Graph.knn(X, 3)
    return [cl.KMeans(X, links, k), cl.LinkedCut(graph, links, k, nonnegative=True), cl.LinkedCut(graph, links, k)]


@pytest.mark.parametrize(("links", "k"), [(RING, 2), (SPINDLE, 3)])
@pytest.mark.parametrize("which", range(3))
def test_a_program_without_points_is_proven_to_have_none(links: cl.Links, k: int, which: int):
    problem = programs(links, k)[which]
    for route in ("splitting", "dual") if which == 2 else ("splitting",):
        solution = problem.solve(route=route, strict=False)
        assert solution.status is cl.Status.INFEASIBLE
        assert "proven: by the multipliers every feasible point has a value of at least" in solution.reason
    with pytest.raises(cl.SolveFailed, match="no point satisfies all constraints"):
        problem.solve()


@pytest.mark.parametrize("which", range(3))
def test_no_multipliers_disprove_a_program_with_points(which: int):
    X, links = drawn(3)
    graph = cl.Graph.knn(X, 4)
    problem = [cl.KMeans(X, links, 3), cl.LinkedCut(graph, links, 3, nonnegative=True), cl.LinkedCut(graph, links, 3)][
        which
    ]
    program = problem.program
    duals = problem.solve().duals.stored
    for seed in range(20):
        rng = np.random.default_rng(seed)
        size = 10.0 ** rng.integers(-2, 12)
        wild = {name: size * rng.standard_normal(np.shape(dual)) for name, dual in duals.items()}
        assert program.disproves(program.data, wild) == ""


@pytest.mark.parametrize("which", range(3))
def test_a_relaxation_may_have_points_where_no_clustering_keeps_the_links(which: int):
    solution = programs(GROETZSCH, 3)[which].solve()
    assert solution.status is cl.Status.OPTIMAL
    with pytest.raises(cl.InfeasibleProblem, match="no clustering keeps the links: 20 cannot-links .* point 0"):
        solution.cluster(method="partition", random_state=0)


def test_sizes_that_blocks_do_not_allow_are_said_in_one_sentence():
    X = random_points(6, seed=0)
    with pytest.raises(cl.InvalidInput, match="must-links join point 0 with 3 others, and a cluster has at most 3"):
        cl.KMeans(X, cl.Links(6, must=[(0, 1), (1, 2), (2, 3)]), 2, size_max=3)
    pairs = cl.KMeans(X, cl.Links(6, must=[(0, 1), (2, 3), (4, 5)]), 2, size_min=3, size_max=3)
    with pytest.raises(cl.InfeasibleProblem, match="3 blocks with 6 points cannot be split into 2 clusters"):
        pairs.solve().cluster(random_state=0)
    star = cl.KMeans(X, cl.Links(6, cannot=[(0, j) for j in range(1, 5)]), 2, size_min=3)
    assert star.solve(strict=False).status is cl.Status.INFEASIBLE
