from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from helpers import SOLVERS
from helpers.graphs import path_graph, star_graph


@pytest.mark.parametrize("solver", SOLVERS)
class TestKnownOptima:
    def test_path_of_three_with_its_ends_apart(self, solver):
        # ⟨L,K⟩ = 4 − 2(K₀₁ + K₁₂) with v₀ ⊥ v₂: best is v₁ = (v₀ + v₂)/√2, value 4 − 2√2.
        solution = cl.PCP(path_graph(3), cl.Links(3, cannot=[(0, 2)]), normalized=False).solve(solver=solver)
        assert solution.value == pytest.approx(4 - 2 * np.sqrt(2), abs=1e-5)
        r = np.sqrt(0.5)
        np.testing.assert_allclose(solution.kernel, [[1, r, 0], [r, 1, r], [0, r, 1]], atol=1e-3)
        assert solution.rank == 2

    def test_star_with_its_leaves_apart(self, solver):
        # The centre is closest to q orthonormal leaves at their normalised sum: 2q − 2√q.
        leaves = np.array([(i, j) for i in range(1, 6) for j in range(i + 1, 6)])
        solution = cl.PCP(star_graph(5), cl.Links(6, cannot=leaves), normalized=False).solve(solver=solver)
        assert solution.value == pytest.approx(10 - 2 * np.sqrt(5), abs=1e-4)

    def test_two_points_apart_and_together(self, solver):
        graph = path_graph(2)
        apart = cl.PCP(graph, cl.Links(2, cannot=[(0, 1)])).solve(solver=solver)
        together = cl.PCP(graph, cl.Links(2, must=[(0, 1)])).solve(solver=solver)
        assert apart.value == pytest.approx(2, abs=1e-5)
        assert together.value == pytest.approx(0, abs=1e-5)
        np.testing.assert_allclose(together.kernel, np.ones((2, 2)), atol=1e-5)

    def test_no_links_and_plain_laplacian_is_the_constant_kernel(self, solver):
        solution = cl.PCP(path_graph(4), cl.Links(4), normalized=False).solve(solver=solver)
        assert solution.value == pytest.approx(0, abs=1e-4)
        np.testing.assert_allclose(solution.kernel, np.ones((4, 4)), atol=1e-2)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_agrees_with_every_other(small_pcp, solver):
    reference = small_pcp.solve(solver="CLARABEL", accuracy=1e-5)
    solution = small_pcp.solve(solver=solver, accuracy=1e-5)
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(reference.value, abs=1e-5)
    np.testing.assert_allclose(solution.kernel, reference.kernel, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("random_state", [0, 1])
def test_iris_with_18_links_is_certified_to_1e_6(random_state):
    X, y = cl.datasets.load("iris")
    problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=random_state))
    values = []
    for solver in SOLVERS:
        solution = problem.solve(solver=solver, strict=False)
        values.append(solution.value)
        assert solver == "SCS" or solution.certificate.relative_gap <= 1e-6
    assert max(values) - min(values) < 1e-4


@pytest.mark.parametrize("form", ["paper", "dual"])
@pytest.mark.parametrize("presolve", [True, False])
def test_the_four_combinations_agree(small_pcp, form, presolve):
    reference = small_pcp.solve(solver="SDPA")
    solution = small_pcp.solve(solver="CLARABEL", form=form, presolve=presolve, strict=False)
    assert solution.plan.form == form
    # Without presolve the problem is not strictly feasible, and solvers reach only so much.
    tolerance = 1e-5 if presolve else 2e-4
    assert solution.value == pytest.approx(reference.value, abs=tolerance)
    np.testing.assert_allclose(solution.kernel, reference.kernel, atol=1e-3 if presolve else 3e-2)
    assert solution.certificate.lower_bound <= reference.certificate.upper_bound
    if presolve:
        assert solution.certificate.relative_gap < 1e-6


def test_presolve_off_is_the_paper_as_printed(small_pcp):
    declared = small_pcp.to_cvxpy()
    assert declared.variables()[0].shape == (30, 30)
    assert "left out, presolve is off" in str(small_pcp.explain(form="paper", presolve=False))


@pytest.mark.parametrize("normalized", [True, False])
def test_renumbering_the_points_renumbers_the_kernel(small_pcp, normalized):
    order = np.random.default_rng(0).permutation(30)
    one = cl.PCP(small_pcp.graph, small_pcp.links, normalized).solve(solver="CLARABEL", accuracy=1e-5)
    other = cl.PCP(small_pcp.graph.permuted(order), small_pcp.links.permuted(order), normalized).solve(
        solver="CLARABEL", accuracy=1e-5
    )
    assert other.value == pytest.approx(one.value, abs=1e-7)
    np.testing.assert_allclose(other.kernel, one.kernel[np.ix_(order, order)], atol=1e-3)


def test_entailed_links_change_nothing(small_pcp):
    one = small_pcp.solve(solver="CLARABEL")
    other = cl.PCP(small_pcp.graph, small_pcp.links.closure()).solve(solver="CLARABEL")
    assert len(other.problem.links) >= len(small_pcp.links)
    assert other.value == pytest.approx(one.value, abs=1e-8)


def test_a_redundant_must_link_changes_nothing_even_unreduced():
    graph = path_graph(5)
    links = cl.Links(5, must=[(0, 1), (1, 2)], cannot=[(0, 4)])
    more = cl.Links(5, must=[(0, 1), (1, 2), (0, 2)], cannot=[(0, 4)])
    values = [
        cl.PCP(graph, given).solve(solver="CLARABEL", presolve=presolve, strict=False).value
        for given in (links, more)
        for presolve in (True, False)
    ]
    np.testing.assert_allclose(values, values[0], atol=1e-4)


def test_a_further_link_never_lowers_the_optimum(small_pcp, small_iris):
    fewer = small_pcp.solve(solver="CLARABEL")
    links = small_pcp.links
    more = cl.Links(30, np.vstack([links.must, [[0, 9]]]), np.vstack([links.cannot, [[0, 29]]]))
    assert cl.PCP(small_pcp.graph, more).solve(solver="CLARABEL").value >= fewer.value - 1e-7


def test_contradictory_links_never_reach_a_solver(monkeypatch):
    from cvxlink.solvers import through_cvxpy as backend

    monkeypatch.setattr(backend, "call_cvxpy", lambda *_: pytest.fail("a solver was called"))
    with pytest.raises(cl.InconsistentLinks) as caught:
        cl.PCP(path_graph(3), cl.Links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)])).solve()
    assert caught.value.path == (0, 1, 2)


def test_arguments_of_the_wrong_kind_are_named():
    for arguments in ((np.eye(3), cl.Links(3)), (path_graph(3), [(0, 1)]), (cl.Links(3), path_graph(3))):
        with pytest.raises(cl.InvalidInput, match="PCP takes a Graph and Links"):
            cl.PCP(*arguments)


def test_links_and_graph_must_be_on_the_same_points():
    with pytest.raises(cl.InvalidInput, match="graph has 3 points, but the links are on 4"):
        cl.PCP(path_graph(3), cl.Links(4))


def test_awkward_graphs_work():
    disconnected = np.zeros((6, 6))
    disconnected[0, 1] = disconnected[1, 0] = disconnected[2, 3] = disconnected[3, 2] = 1  # 4 and 5 are isolated
    graph = cl.Graph.from_affinity(disconnected)
    solution = cl.PCP(graph, cl.Links(6, must=[(0, 4)], cannot=[(0, 2), (4, 5)])).solve()
    # Both edges can be kept short, isolated points cost nothing: the optimum is 0.
    assert solution.value == pytest.approx(0, abs=1e-5)
    labels = solution.cluster(2, random_state=0)
    assert labels[0] == labels[4] and labels[0] != labels[2]


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_may_be_tiny_or_huge(small_pcp, scale, solver):
    graph, links = small_pcp.graph, small_pcp.links
    reference = cl.PCP(graph, links, normalized=False).solve(solver="CLARABEL")
    problem = cl.PCP(cl.Graph.from_affinity(scale * graph.W), links, normalized=False)
    scaled = problem.solve(solver=solver, accuracy=1e-6, strict=False)  # SCS may miss this accuracy by a little
    assert scaled.value == pytest.approx(scale * reference.value, rel=1e-4)
    assert scaled.certificate.lower_bound == pytest.approx(scale * reference.value, rel=1e-3)
    np.testing.assert_allclose(scaled.kernel, reference.kernel, atol=1e-2)
    assert "scaling" in str(scaled.plan) and "scaling" not in str(reference.plan)


def test_one_point_and_one_block():
    single = cl.PCP(cl.Graph.from_affinity([[0.0]]), cl.Links(1)).solve()
    assert single.kernel.tolist() == [[pytest.approx(1)]] and single.cluster(1).tolist() == [0]
    merged = cl.PCP(path_graph(4), cl.Links(4, must=[(0, 1), (1, 2), (2, 3)]), normalized=False).solve()
    assert merged.value == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(merged.kernel, 1, atol=1e-5)


def test_everything_linked_leaves_one_block_per_class():
    y = np.array([0, 0, 1, 1, 2, 2])
    rng = np.random.default_rng(0)
    graph = cl.Graph.rbf(rng.standard_normal((6, 2)))
    solution = cl.PCP(graph, cl.Links.from_labels(y)).solve()
    np.testing.assert_allclose(solution.kernel, y[:, None] == y[None, :], atol=1e-6)
    gap = solution.relaxation_gap(y)
    assert gap.feasible and gap.gap == pytest.approx(0, abs=1e-6)


def test_relaxation_gap_is_the_distance_of_a_clustering_from_the_bound(small_pcp, small_iris):
    _, y = small_iris
    solution = small_pcp.solve(solver="CLARABEL")
    gap = solution.relaxation_gap(y)
    L = small_pcp.L.toarray()
    assert gap.feasible
    assert gap.value == pytest.approx(L[y[:, None] == y[None, :]].sum())
    assert gap.gap > 0
    broken = solution.relaxation_gap(np.zeros(30, dtype=int))  # puts cannot-linked points together
    assert not broken.feasible and "breaks" in str(broken)


def test_the_plan_shows_sizes_before_and_after():
    X, y = cl.datasets.load("iris")
    problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0))
    plan = problem.explain(form="dual")
    first, second = plan.steps
    assert (first.name, first.before.sizes.psd, first.after.sizes.psd) == (
        "contraction",
        (150,),
        (problem.links.n_blocks,),
    )
    assert second.name == "dualisation"
    assert second.after.sizes.unknowns == problem.links.n_blocks + len(problem.links.block_cannot)
    text = str(plan)
    assert "11325 unknowns" in text and "solver" in text


def test_printing_shows_the_mathematics(small_pcp):
    text = str(small_pcp)
    for line in ("minimise    ⟨ L̄, K ⟩", "Kᵢᵢ = 1", "(i,j) ∈ 𝓜", "K ⪰ 0", "ICML 2008", "eq. (1)", "465 unknowns"):
        assert line in text
    assert r"K_{ij} = 0 \quad (i,j) \in \mathcal{C}" in small_pcp._repr_latex_()
    assert "⟨ L, K ⟩" in str(cl.PCP(small_pcp.graph, small_pcp.links, normalized=False))
    assert "must" not in str(cl.PCP(small_pcp.graph, cl.Links(30))).split("size")[0]


def test_clustering_finds_the_classes_of_iris_with_links(small_pcp, small_iris):
    _, y = small_iris
    solution = small_pcp.solve()
    for method in ("kernel-kmeans", "spectral", "kmeans"):
        labels = solution.cluster(3, method=method, random_state=0)
        scores = cl.metrics.scores(y, labels, small_pcp.links)
        assert scores["violated"] == 0 and scores["nmi"] > 0.8, method
