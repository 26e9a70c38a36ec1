"""What the teaching pages say is true: closed forms, counts and inequalities, checked apart from the pages."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers import SOLVERS
from helpers.graphs import path_graph, random_points

PAGES = Path(__file__).parents[2] / "examples" / "teaching"


def functions_of(page: str) -> SimpleNamespace:
    """Return the functions of a page, without running the rest of it."""
    tree = ast.parse((PAGES / f"{page}.py").read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    names: dict = {}
    exec(compile(tree, page, "exec"), names)
    return SimpleNamespace(**names)


@pytest.fixture(scope="module")
def textbook() -> SimpleNamespace:
    return functions_of("textbook_sdp")


@pytest.fixture(scope="module")
def tightness() -> SimpleNamespace:
    return functions_of("relaxation_tightness")


def three_points(*edges: tuple[int, int]) -> cl.PCP:
    W = np.zeros((3, 3))
    for i, j in edges:
        W[i, j] = W[j, i] = 1
    return cl.PCP(cl.Graph.from_affinity(W), cl.Links(3, must=[(0, 1)], cannot=[(1, 2)]))


def ring(n: int) -> cl.PCP:
    """PCP on a ring in which all pairs but neighbours are cannot-linked."""
    W = np.roll(np.eye(n), 1, axis=1)
    apart = [(i, j) for i in range(n) for j in range(i + 2, n) if j - i < n - 1]
    return cl.PCP(cl.Graph.from_affinity(W + W.T), cl.Links(n, cannot=apart), normalized=False)


def random_instance(seed: int, n_links: int) -> cl.PCP:
    y = np.arange(8) % 3
    X = random_points(8, 2, seed) + 2 * np.eye(3)[y, :2]
    return cl.PCP(cl.Graph.knn(X, n_neighbors=3), cl.Links.sample(y, n_links=n_links, random_state=seed))


# ------------------------------------------------------------------ why the textbook SDP is slow


def test_a_loosened_must_link_is_feasible_and_a_tightened_one_is_not(textbook):
    two = cl.PCP(path_graph(2), cl.Links(2, must=[(0, 1)]))
    loose, tight = textbook.textbook(two, 1e-2)[0], textbook.textbook(two, -1e-2)[0]
    assert loose.solve(solver="CLARABEL") == pytest.approx(2e-2, abs=1e-6)
    tight.solve(solver="CLARABEL")
    assert tight.status == cp.INFEASIBLE


@pytest.mark.parametrize("m", [1.0, 10.0, 100.0])
def test_the_dual_of_three_points_is_never_attained(textbook, m):
    C, E = three_points((0, 2)).L.toarray(), np.zeros((2, 3, 3))
    E[0, [0, 1], [1, 0]] = E[1, [1, 2], [2, 1]] = 0.5
    y, z = cp.Variable(3), cp.Variable()
    best = cp.Problem(cp.Maximize(cp.sum(y) + m), [C - cp.diag(y) - m * E[0] - z * E[1] >> 0])
    assert best.solve(solver="CLARABEL") == pytest.approx(2 + m - np.hypot(m, 2), abs=1e-5)
    by_hand = textbook.multipliers_at(np.arctan(2 / m))
    assert by_hand["must"][0] == pytest.approx(m)
    S = C - np.diag(by_hand["unit"]) - m * E[0] - by_hand["cannot"][0] * E[1]
    assert np.linalg.eigvalsh(S)[0] > -1e-12
    assert abs(S @ textbook.kernel_at(np.arctan(2 / m))).max() < 1e-10
    assert sum(by_hand["unit"]) + m == pytest.approx(best.value, abs=1e-5)
    assert best.value < 2 - 1.9 / (m + 1)


@pytest.mark.parametrize(
    ("edges", "power"), [([(0, 2)], 0.5), ([(0, 2), (1, 2)], 0.5), ([(0, 1)], 1.0)], ids=["pulled", "both", "apart"]
)
def test_how_the_optimum_of_three_points_moves(textbook, edges, power):
    slips = np.array([1e-4, 1e-3])
    drop = abs(textbook.drops(three_points(*edges), slips))
    assert textbook.exponent(slips, drop) == pytest.approx(power, abs=0.01)
    if edges == [(0, 2)]:
        assert drop == pytest.approx(2 * np.sqrt(2 * slips - slips**2), abs=1e-5)


def test_the_optimum_of_iris_moves_like_a_square_root(textbook, small_pcp):
    slips = np.array([1e-6, 1e-5])
    assert textbook.exponent(slips, textbook.drops(small_pcp, slips)) == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("theta", [0.1, 1e-3])
def test_what_solvers_look_at_is_small_and_the_value_wrong(textbook, theta):
    multipliers = textbook.multipliers_at(2 * np.arctan(np.sin(theta)))
    c = cl.certify(three_points((0, 2)), {"K": textbook.kernel_at(theta)}, multipliers)
    assert c.largest_violation == pytest.approx(1 - np.cos(theta), rel=1e-6)
    assert np.abs(c.dimacs[:5]).max() <= c.largest_violation
    assert c.value == pytest.approx(2 - 2 * np.sin(theta))
    assert c.lower_bound == pytest.approx(c.value) and c.upper_bound == pytest.approx(2)
    assert c.dimacs[5] > np.sqrt(c.largest_violation) / 20


def test_the_unknowns_at_the_four_stages(textbook):
    links = cl.Links.sample(np.arange(40) % 3, n_links=8, random_state=0)
    problem = cl.PCP(path_graph(40), links)
    plans = [
        problem.explain(solver="SCS", form=form, presolve=presolve)
        for form in ("paper", "dual")
        for presolve in (False, True)
    ]
    assert textbook.unknowns(40) == tuple(plan.program.sizes.unknowns for plan in plans)


# ------------------------------------------------------------------ how tight is the relaxation


@pytest.mark.parametrize(("n", "k", "count"), [(4, 2, 7), (7, 3, 301), (8, 4, 1701), (10, 3, 9330), (5, 5, 1)])
def test_partitions_are_all_different_and_as_many_as_stirling_says(tightness, n, k, count):
    rows = tightness.partitions(n, k)
    together = {(row[:, None] == row).tobytes() for row in rows}
    assert len(rows) == len(together) == tightness.stirling(n, k) == count
    assert all(len(set(row)) == k for row in rows)


def test_clusterings_are_those_that_respect_the_links(tightness):
    links = cl.Links(6, must=[(0, 3)], cannot=[(0, 1), (1, 4), (2, 5)])
    wanted = set()
    for labels in product(range(3), repeat=6):
        row = np.array(labels)
        together = row[links.must[:, 0]] == row[links.must[:, 1]]
        apart = row[links.cannot[:, 0]] != row[links.cannot[:, 1]]
        if len(set(labels)) == 3 and together.all() and apart.all():
            wanted.add((row[:, None] == row).tobytes())
    found = tightness.clusterings(links, 3)
    assert {(row[:, None] == row).tobytes() for row in found} == wanted and len(found) == len(wanted)


def test_counting_with_links(tightness):
    S = tightness.stirling
    assert len(tightness.clusterings(cl.Links(8, must=[(0, 1)], cannot=[(1, 5)]), 3)) == S(7, 3) - S(6, 3)
    triangle = cl.Links(7, cannot=[(0, 1), (1, 2), (0, 2)])
    assert len(tightness.clusterings(triangle, 4)) == S(7, 4) - 3 * S(6, 4) + 2 * S(5, 4)


@pytest.mark.parametrize("n_links", [0, 4, 10, 20])
def test_bound_exact_and_rounded_are_in_order(tightness, n_links):
    for seed in range(3):
        problem = random_instance(seed, n_links)
        solution = problem.solve(accuracy=1e-7)
        rounded = solution.relaxation_gap(cl.clustering.kernel_kmeans(solution.kernel, 3, random_state=0))
        listed = tightness.clusterings(problem.links, 3)
        values = [float(np.sum(problem.L.toarray() * (row[:, None] == row))) for row in listed]
        any_number, three = tightness.cheapest(problem), tightness.cheapest(problem, 3)
        assert three == pytest.approx(min(values))
        assert rounded.bound <= any_number + 1e-9 and any_number <= three + 1e-9
        assert not rounded.feasible or three <= rounded.value + 1e-9
        if n_links == 0:  # a single cluster keeps all edges, and nothing speaks against it
            assert rounded.bound == pytest.approx(problem.L.sum(), abs=1e-5)


def test_components_that_links_keep_apart_are_tight(tightness):
    graph = cl.Graph.from_affinity(np.kron(np.eye(3), np.ones((3, 3)) - np.eye(3)))
    problem = cl.PCP(graph, cl.Links(9, cannot=[(0, 3), (3, 6), (0, 6)]))
    solution = problem.solve(accuracy=1e-7)
    assert solution.certificate.lower_bound == pytest.approx(0, abs=1e-6)
    assert tightness.cheapest(problem, 3) == pytest.approx(0, abs=1e-12)
    assert solution.relaxation_gap(solution.cluster(3, random_state=0)).value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n", [5, 7])
def test_odd_rings_are_not_tight(tightness, n):
    solution = ring(n).solve(accuracy=1e-8)
    assert solution.value == pytest.approx(2 * n * (1 - 1 / (2 * np.cos(np.pi / n))), abs=1e-6)
    assert tightness.cheapest(ring(n)) == 2 * n - (n - 1)
    assert solution.kernel.min() > -1e-6  # so that K ≥ 0 would not help
    if n == 5:
        assert solution.value == pytest.approx(15 - 5 * np.sqrt(5), abs=1e-6) and solution.rank == 3


@pytest.mark.parametrize("m", [1, 3, 6])
def test_a_path_turns_in_equal_steps(tightness, m):
    problem = tightness.path(m)
    assert problem.solve(accuracy=1e-7).value == pytest.approx(2 * m * (1 - np.cos(np.pi / 2 / m)), abs=1e-6)
    assert tightness.cheapest(problem) == 2


def test_the_relaxation_of_a_constrained_cut_is_exact():
    graph = cl.Graph.from_affinity([[0, 3, 1, 0], [3, 0, 1, 1], [1, 1, 0, 2], [0, 1, 2, 0]])
    cut = cl.CSC(graph, cl.Links(4, must=[(0, 3)], cannot=[(0, 1)]), fraction=0.6)
    relaxation = cut.equivalents["sdp"].solve(solver="CLARABEL", accuracy=1e-7)
    assert relaxation.rank == 1
    assert relaxation.value == pytest.approx(cut.solve(accuracy=1e-8).value, abs=1e-6)
    # All cuts, as good as: a grid on the sphere, which also comes near the optimum from above.
    complement = np.linalg.svd(graph.trivial_cut[None])[2][1:]
    u, v = np.meshgrid(np.linspace(0, np.pi, 400), np.linspace(0, np.pi, 400))
    sphere = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1).reshape(-1, 3)
    f = sphere @ complement
    cost, satisfaction = (((f @ A.toarray()) * f).sum(axis=1) for A in (graph.laplacian(), cut.Q))
    best = cost[satisfaction >= cut.threshold].min()
    assert relaxation.value - 1e-7 <= best <= relaxation.value + 0.02


def test_normalised_cuts_and_the_fantope(tightness):
    for seed in range(3):
        graph = cl.Graph.knn(random_points(8, 2, seed), n_neighbors=3)
        solution = cl.NCuts(graph, n_clusters=3).solve()
        rows = tightness.partitions(8, 3)
        cuts = tightness.normalised_cuts(graph, rows)
        eigenvalues = np.linalg.eigvalsh(graph.laplacian().toarray())
        assert solution.certificate.lower_bound == pytest.approx(eigenvalues[:3].sum(), abs=1e-9)
        assert eigenvalues[:3].sum() <= cuts.min() + 1e-12
        for row, cut in zip(rows[::200], cuts[::200], strict=True):
            assert solution.relaxation_gap(row).value == pytest.approx(cut)


# ------------------------------------------------------------------ one answer, five solvers


@pytest.fixture(scope="module")
def optimum(small_pcp) -> float:
    return small_pcp.solve(accuracy=1e-8).value


def test_all_intervals_meet_at_the_optimum(small_pcp, optimum):
    interval = functions_of("one_answer_five_solvers").interval
    answers = [small_pcp.solve(solver=solver, accuracy=a, strict=False) for solver in SOLVERS for a in (1e-2, 1e-6)]
    lower, upper = interval([s.certificate for s in answers])
    assert lower <= upper and lower - 1e-9 <= optimum <= upper + 1e-9
    assert upper - lower <= min(s.certificate.gap for s in answers)
    giver = min(answers, key=lambda s: s.certificate.upper_bound)
    prover = max(answers, key=lambda s: s.certificate.lower_bound)
    mixed = cl.certify(small_pcp, giver.values, prover.duals)
    assert (mixed.lower_bound, mixed.upper_bound) == pytest.approx((lower, upper), abs=1e-12)


@pytest.mark.parametrize("solver", ["CLARABEL", "SDPA"])
def test_without_reductions_bounds_are_wide_and_true(small_pcp, optimum, solver):
    c = small_pcp.solve(solver=solver, form="paper", presolve=False, accuracy=1e-6, strict=False).certificate
    assert c.lower_bound <= optimum + 1e-9 and optimum - 1e-9 <= c.upper_bound
    assert c.value < optimum and c.largest_violation < 1e-6
    assert c.relative_gap > 1e-6


def test_spoilt_answers_are_refuted_and_their_bounds_true(small_pcp, optimum):
    good = small_pcp.solve(solver="CLARABEL", accuracy=1e-6)
    K, y = good.values["K"], {name: np.array(good.duals[name]) for name in ("unit", "must", "cannot")}
    forgotten = K.copy()
    i, j = small_pcp.links.cannot[0]
    forgotten[i, j] = forgotten[j, i] = 0.05
    spoilt = [
        (1.001 * K, y),
        (0.999 * K, y),
        (K.round(3), y),
        (forgotten, y),
        (K, {name: -dual for name, dual in y.items()}),
        (K, {**y, "unit": y["unit"][::-1]}),
        (K, {**y, "unit": y["unit"] + 0.01 * (np.arange(len(K)) == 0)}),
    ]
    assert cl.certify(small_pcp, {"K": K}, y).holds(1e-4)
    for kernel, multipliers in spoilt:
        c = cl.certify(small_pcp, {"K": kernel}, multipliers)
        assert not c.holds(1e-4)
        assert c.lower_bound <= optimum + 1e-9 and optimum - 1e-9 <= c.upper_bound
