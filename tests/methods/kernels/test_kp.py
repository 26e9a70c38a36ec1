from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.numerics import star_mesh
from cvxlink.numerics.matrices import Arrays, Congruence
from cvxlink.programs.declared import read_linear_sdp
from helpers import SOLVERS
from helpers.formulations import RewrittenPCP
from helpers.graphs import path_graph, random_graph, random_points, star_graph
from helpers.links import consistent_links


@pytest.fixture(scope="module")
def small_kp(small_iris) -> cl.KP:
    X, y = small_iris
    return cl.KP(cl.Graph.knn(X, n_neighbors=5), cl.Links.sample(y, per_class=1, random_state=1))


@pytest.mark.parametrize("solver", [*SOLVERS, None])
class TestKnownOptima:
    def test_ends_of_a_path_apart(self, solver):
        # Springs in series: q edges make one of stiffness 1/q between two orthogonal unit vectors, value 2/q.
        problem = cl.KP(path_graph(5), cl.Links(5, cannot=[(0, 4)]), normalized=False, unit_length=False)
        solution = problem.solve(solver=solver)
        assert solution.value == pytest.approx(2 / 4, abs=1e-6)
        steps = np.linspace(0, 1, 5)
        np.testing.assert_allclose(solution.kernel, np.outer(1 - steps, 1 - steps) + np.outer(steps, steps), atol=1e-5)

    def test_leaves_of_a_star_apart(self, solver):
        # The free centre goes to the mean of q orthonormal leaves: q − 1.
        leaves = [(i, j) for i in range(1, 6) for j in range(i + 1, 6)]
        solution = cl.KP(star_graph(5), cl.Links(6, cannot=leaves), normalized=False).solve(solver=solver)
        assert solution.value == pytest.approx(4, abs=1e-5)
        assert solution.rank == 5

    def test_one_must_link_and_plain_laplacian_is_the_constant_kernel(self, solver):
        solution = cl.KP(path_graph(4), cl.Links(4, must=[(1, 2)]), normalized=False).solve(solver=solver)
        assert solution.value == pytest.approx(0, abs=1e-6)
        np.testing.assert_allclose(solution.kernel, np.ones((4, 4)), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_with_every_point_linked_it_is_pcp(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(9, rng)
    labels = rng.integers(3, size=9)
    links = cl.Links.from_labels(labels)
    sparse = cl.Links(9, links.must[::2], links.cannot)  # still every point
    assert len(sparse.linked) == 9
    kp, pcp = cl.KP(graph, sparse), cl.PCP(graph, sparse)
    assert not any(step.name == "elimination" for step in kp.explain().steps)
    ours, theirs = kp.solve(), pcp.solve(solver="CLARABEL")
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    # The optimal kernel need not be unique, but each must be optimal for the other.
    for problem, solution in ((kp, theirs), (pcp, ours)):
        certificate = cl.certify(problem, {"K": solution.values["K"]}, ours.duals)
        assert certificate.largest_violation < 1e-6 and certificate.relative_gap < 1e-6


@pytest.mark.parametrize("solver", ["CLARABEL", "SDPA"])
def test_elimination_finds_what_the_whole_program_has(solver):
    # No must-links, so the whole program (3) is strictly feasible and plain CVXPY can be trusted with it.
    graph = cl.Graph.knn(cl.datasets.load("iris")[0][::10], n_neighbors=4)
    problem = cl.KP(graph, cl.Links(15, cannot=[(0, 7), (7, 14), (2, 9)]), unit_length=False)
    whole = problem.to_cvxpy()
    whole.solve(solver=solver)
    solution = problem.solve()
    assert any(step.name == "elimination" for step in solution.plan.steps)
    assert solution.value == pytest.approx(whole.value, abs=1e-5)
    (K,) = whole.variables()
    np.testing.assert_allclose(solution.kernel, K.value, atol=2e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", ["paper", "dual"])
def test_every_solver_and_form_agrees(small_kp, solver, form):
    reference = small_kp.solve()
    solution = small_kp.solve(solver=solver, form=form)
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(reference.value, abs=1e-4 * (1 + reference.value))
    assert max(solution.certificate.lower_bound, reference.certificate.lower_bound) <= 1e-12 + min(
        solution.certificate.upper_bound, reference.certificate.upper_bound
    )


def test_the_whole_program_gets_the_same_certificate(small_kp):
    solution = small_kp.solve(solver="CLARABEL", presolve=False, strict=False)
    assert not any(step.lift for step in solution.plan.steps if step.name == "elimination")
    assert "of the 11 constrained points" in solution.certificate.basis
    assert solution.certificate.lower_bound <= small_kp.solve().certificate.upper_bound + 1e-12


def test_the_program_as_data_is_the_declared_one(small_kp):
    data, read = small_kp.program.linear_sdp(), read_linear_sdp(small_kp.declaration)
    assert [g.name for g in data.rows] == [g.name for g in read.rows]
    assert abs(data.A - read.A).max() == 0 and abs(data.C - read.C).max() < 1e-15
    np.testing.assert_array_equal(data.b, read.b)
    assert small_kp.program.linear_sdp().sizes == small_kp.declaration.sizes


@settings(max_examples=40)
@given(consistent_links(), st.integers(0, 1000))
def test_rank_is_at_most_the_number_of_blocks_of_linked_points(links, seed):
    graph = random_graph(links.n, np.random.default_rng(seed))
    if not len(links) or len(np.setdiff1d(graph.components, graph.components[links.linked])):
        return
    solution = cl.KP(graph, links).solve()
    assert np.linalg.matrix_rank(solution.kernel) <= len(np.unique(links.blocks[links.linked]))
    assert solution.factor.shape[1] <= len(np.unique(links.blocks[links.linked]))
    np.testing.assert_allclose(solution.factor @ solution.factor.T, solution.kernel, atol=1e-7)


def test_values_hold_the_program_and_the_kernel_its_normalisation(small_kp):
    solution = small_kp.solve()
    K = solution.values["K"]
    scale = 1 / np.sqrt(np.diag(K))
    np.testing.assert_allclose(solution.kernel, scale[:, None] * K * scale, atol=1e-12)
    np.testing.assert_allclose(np.diag(solution.kernel), 1, atol=1e-12)
    assert np.diag(K).min() < 0.99  # otherwise nothing was tested
    off = cl.KP(small_kp.graph, small_kp.links, unit_length=False).solve()
    np.testing.assert_allclose(off.kernel, K, atol=1e-6)


def test_the_kernel_follows_the_points(small_kp):
    order = np.random.default_rng(0).permutation(small_kp.graph.n)
    moved = cl.KP(small_kp.graph.permuted(order), small_kp.links.permuted(order)).solve()
    original = small_kp.solve()
    assert moved.value == pytest.approx(original.value, abs=1e-7)
    np.testing.assert_allclose(moved.kernel, original.kernel[np.ix_(order, order)], atol=1e-4)
    labels = original.cluster(3, random_state=0)
    assert cl.metrics.nmi(labels[order], moved.cluster(3, random_state=1)) == pytest.approx(1)


def test_labels_propagate_as_kernels_do(small_kp):
    # A seed kernel y yᵀ extends to f fᵀ with f the label propagation (Gaussian field) of y.
    sdp = small_kp.program.linear_sdp()
    y = np.sign(np.random.default_rng(2).standard_normal(len(small_kp.links.linked)))
    reduced = cl.Elimination().apply(sdp)
    lifted = Arrays(reduced.lift.point({"K": np.outer(y, y)}, {})[0])
    L, u = small_kp.L.toarray(), np.setdiff1d(np.arange(30), small_kp.links.linked)
    f = np.empty(30)
    f[small_kp.links.linked] = y
    f[u] = -np.linalg.solve(L[np.ix_(u, u)], L[np.ix_(u, small_kp.links.linked)] @ y)
    np.testing.assert_allclose(lifted["K"], np.outer(f, f), atol=1e-10)


def test_the_n_by_n_kernel_is_not_built_unless_asked_for(small_kp, monkeypatch):
    def refuse(self):
        if self.shape[0] == small_kp.graph.n:
            raise AssertionError("the whole kernel was built")
        return original(self)

    original = Congruence.toarray
    monkeypatch.setattr(Congruence, "toarray", refuse)
    solution = small_kp.solve()
    solution.cluster(3, random_state=0)
    solution.extend(small_kp.graph.points[:2])
    solution.relaxation_gap(np.arange(30) % 3)
    assert solution.factor.shape[0] == 30 and solution.rank <= 11
    with pytest.raises(AssertionError, match="whole kernel"):
        _ = solution.kernel


def test_the_multipliers_are_those_of_the_whole_program(small_kp):
    solution = small_kp.solve()
    S = small_kp.L.toarray().copy()
    for name, pairs in (
        ("unit", np.column_stack([small_kp.links.linked] * 2)),
        ("must", small_kp.links.must),
        ("cannot", small_kp.links.cannot),
    ):
        for (i, j), y in zip(pairs, solution.duals[name], strict=True):
            S[i, j] -= y / 2
            S[j, i] -= y / 2
    np.testing.assert_allclose(solution.duals["psd"], S, atol=1e-9 * abs(S).max())
    # Positive semidefinite on all 30 points, as the Schur complement says.
    assert np.linalg.eigvalsh(S)[0] >= -1e-7 * abs(S).max()


def test_a_strangers_program_is_eliminated_too(small_kp):
    problem = RewrittenPCP(
        small_kp, lambda K, must, cannot: {"pairs": K[cannot[0], cannot[1]] == 0.25, "two": K[0, 0] == 1}
    )
    steps = {step.name: step for step in problem.explain().steps}
    expected = len(np.union1d(np.unique(small_kp.links.cannot), [0]))
    assert steps["elimination"].after.sizes.psd == (expected,)


def test_elimination_refuses_what_it_may_not_touch(small_pcp):
    with pytest.raises(cl.ReductionRefused, match="every point is in some constraint"):
        cl.Elimination().apply(small_pcp)
    W = sp.block_diag([path_graph(2).W, path_graph(2).W])
    pcp = cl.PCP(cl.Graph.from_affinity(W), cl.Links(4))
    loose = RewrittenPCP(pcp, lambda K, must, cannot: {"one": K[0, 0] == 1})
    with pytest.raises(cl.ReductionRefused, match="not positive definite on the points it would drop"):
        cl.Elimination().apply(loose)


@pytest.mark.parametrize("formulation", [cl.KP, cl.PCP])
@pytest.mark.parametrize("normalized", [True, False])
def test_an_optimum_of_zero_is_certified_like_any_other(formulation, normalized):
    # Costs that cancel to rounding on blocks must not be judged against their own rounding.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 10))
        ring = np.zeros((n, n))
        ring[np.arange(n), (np.arange(n) + 1) % n] = rng.uniform(0.1, 1, n)
        links = cl.Links(n, must=[(0, i) for i in rng.integers(1, n, 2)])
        solution = formulation(cl.Graph.from_affinity(ring + ring.T), links, normalized).solve()
        assert solution.status is cl.Status.OPTIMAL
        if not normalized:
            assert solution.certificate.lower_bound <= 0 <= solution.certificate.upper_bound
            assert abs(solution.value) < 1e-8


@pytest.mark.parametrize("normalized", [True, False])
def test_an_affinity_with_weights_of_all_sizes_is_solved_on_the_linked_points(normalized):
    # Distances of up to 13 widths: weights down to 1e-30, which L = D − W has lost beside 1.
    X = random_points(90, dimension=12, seed=1)
    graph = cl.Graph.rbf(X, sigma=0.5)
    assert (graph.W != graph.W.T).nnz == 0 and graph.W.min() < 1e-100 and graph.degrees.min() < 1e-9
    links = cl.Links(90, must=[(0, 1), (2, 3)], cannot=[(0, 2), (1, 4)])
    problem = cl.KP(graph, links, normalized)
    assert problem.explain().steps[0].after.sizes.psd == (5,)
    assert problem.solve().status is cl.Status.OPTIMAL


def test_a_linked_point_without_neighbours_is_no_obstacle():
    W = np.zeros((5, 5))
    W[0, 1], W[1, 2], W[2, 3] = 1, 1e-30, 1
    problem = cl.KP(cl.Graph.from_affinity(W + W.T), cl.Links(5, cannot=[(0, 3), (0, 4)]))
    assert problem.explain().steps[0].after.sizes.psd == (3,)
    assert problem.solve().status is cl.Status.OPTIMAL


def test_weights_beyond_double_precision_are_refused_with_the_remedy(monkeypatch):
    far = np.zeros((4, 4))
    far[0, 1], far[1, 2], far[2, 3] = 1e-20, 1, 1e-20
    graph = cl.Graph.from_affinity(far + far.T)
    problem = cl.KP(graph, cl.Links(4, cannot=[(0, 3)]))
    with pytest.raises(cl.InvalidInput, match=r"at some points are 5e\+09 times .*; build the graph with Graph.knn"):
        problem.solve()
    assert problem.changed(normalized=False).explain().steps[0].after.sizes.psd == (2,)  # means stay between values
    monkeypatch.setattr(star_mesh, "LARGEST", 3)
    with pytest.raises(cl.InvalidInput, match="too small for double precision; build the graph with") as refused:
        problem.changed(normalized=False).solve()
    assert refused.value.argument == "graph"


@pytest.mark.parametrize("formulation", [cl.PCP, cl.KP])
@pytest.mark.parametrize("normalized", [True, False])
def test_without_cannot_links_ones_are_optimal_and_that_is_said_before_solving(formulation, normalized):
    rng = np.random.default_rng(0)
    graph = cl.Graph.knn(rng.standard_normal((30, 2)), 5)
    links = cl.Links(30, must=[(0, 1), (5, 9), (3, 20)])
    problem = formulation(graph, links, normalized)
    says = f"there are no cannot-links, so {formulation.__name__} maps all points to one place"
    assert says in " ".join(str(problem.explain()).split())
    with pytest.warns(cl.LinkWarning, match=f"{says}, .*; add cannot-links, or use LinkedCut or SRCP"):
        solution = problem.solve()
    np.testing.assert_allclose(solution.kernel, 1, atol=1e-4)
    parts = sp.block_diag([path_graph(4).W, path_graph(4).W])
    two = formulation(cl.Graph.from_affinity(parts), cl.Links(8, must=[(0, 1), (4, 5)]), normalized)
    assert "all points of each of the 2 components" in two.cautions()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apart = formulation(graph, cl.Links(30, cannot=[(0, 1)]), normalized)
        assert apart.solve().status is cl.Status.OPTIMAL and not apart.cautions()


def test_a_formulation_of_ones_own_is_not_warned_of(small_kp):
    rewritten = RewrittenPCP(small_kp, lambda K, must, cannot: {"one": K[0, 0] == 1})
    assert rewritten.cautions() == ()
    assert small_kp.changed(links=cl.Links(30, must=[(0, 1)])).without("must").cautions() == ()


def test_a_group_far_from_the_rest_is_joined_strongly_enough_to_eliminate():
    # Three points 12 widths away are each other's neighbours, and have neighbours among the others by weights of 1e-60.
    X = random_points(60, dimension=2)
    X[-3:] += 12
    graph = cl.Graph.knn(X, 5, sigma=1.0)
    problem = cl.KP(graph, cl.Links(60, must=[(0, 1)], cannot=[(0, 2)]), normalized=False, unit_length=False)
    assert problem.explain().steps[0].after.sizes.psd == (3,)
    solution = problem.solve()
    K = solution.kernel
    np.testing.assert_allclose(K[-3:], K[[-1] * 3], atol=1e-4)  # the group stays together …
    outside = [j for j in graph.W[[57, 58, 59]].tocoo().col if j < 57 and graph.W[[57, 58, 59]][:, [j]].max() >= 1e-6]
    np.testing.assert_allclose(K[-1], K[outside[0]], atol=1e-4)  # … where the one edge that holds it leads


def test_a_plan_says_why_nothing_was_eliminated():
    W = np.array([[0, 1e-200, 0], [1e-200, 0, 1], [0, 1, 0]])
    problem = cl.KP(cl.Graph.from_affinity(W), cl.Links(3, cannot=[(0, 1)]), normalized=False)
    assert "elimination:" in str(problem.explain())
    weak = cl.KP(cl.Graph.from_affinity(W[:, [1, 0, 2]][[1, 0, 2]]), cl.Links(3, cannot=[(0, 1)]), normalized=False)
    assert weak.explain().steps[0].name == "elimination"
    far = np.array([[0, 1, 0, 0], [1, 0, 1e-200, 0], [0, 1e-200, 0, 1], [0, 0, 1, 0]])
    reached = cl.KP(cl.Graph.from_affinity(far), cl.Links(4, cannot=[(0, 1)]), normalized=False)
    assert reached.explain().steps[0].name == "elimination"
    assert reached.solve().value == pytest.approx(2, abs=1e-6)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("large", [1e8, 1e12])
def test_points_tied_tightly_to_one_another_and_hardly_to_the_links(normalized, large):
    # Points 2 and 3 follow point 0 at no cost, so only the weight 1 between 0 and 1 counts: it costs 1 + 1.
    W = np.zeros((4, 4))
    W[0, 1], W[2, 3], W[3, 0] = 1, large, 1e-10
    problem = cl.KP(cl.Graph.from_affinity(W + W.T), cl.Links(4, cannot=[(0, 1)]), normalized=normalized)
    solution = problem.solve()
    assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(2, abs=1e-3)
    certificate = solution.certificate
    assert 2 - 1e-3 < certificate.lower_bound <= 2 + 1e-9
    # What a solver once made of it: feasible, and 7.1 instead of 2.
    wrong = np.diag([1.0, 1.0, 1.0, 1.0])
    assert not cl.certify(problem, {"K": wrong}, dict(solution.duals)).holds(1e-2)
    np.testing.assert_allclose(solution.kernel[2:, 2:], 1, atol=1e-6)


@pytest.mark.parametrize("v", [(5, 3), (1, 11), (7, 10), (3, 3)])
def test_a_cost_that_is_singular_but_for_rounding_is_not_eliminated(v):
    # x = (1, −v₂t, v₁t) costs 1 − 2v₂t: unbounded. Rounding can make the last pivot of vvᵀ positive.
    C = np.zeros((3, 3))
    C[1:, 1:] = np.outer(v, v)
    C[0, 0] = C[0, 1] = C[1, 0] = 1
    pcp = cl.PCP(path_graph(3), cl.Links(3))
    problem = RewrittenPCP(pcp, lambda K, must, cannot: {"one": K[0, 0] == 1})
    pcp.__dict__["L"] = C
    with pytest.raises(cl.ReductionRefused, match="not positive definite"):
        cl.Elimination().apply(problem)


def test_a_component_without_links_is_named():
    W = sp.block_diag([path_graph(3).W, path_graph(2).W])
    with pytest.raises(cl.InvalidInput, match=r"the 2 points 3, 4 has no known or linked point"):
        cl.KP(cl.Graph.from_affinity(W), cl.Links(5, must=[(0, 1)]))


def test_bad_input_is_refused_before_anything_is_solved():
    with pytest.raises(cl.InvalidInput, match="there are no links"):
        cl.KP(path_graph(3), cl.Links(3))
    with pytest.raises(cl.InvalidInput, match="KP takes a Graph and Links"):
        cl.KP(np.eye(3), cl.Links(3))
    with pytest.raises(cl.InconsistentLinks):
        cl.KP(path_graph(3), cl.Links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)]))


def test_a_solution_can_be_saved_and_copied(small_kp):
    solution = small_kp.solve()
    extended = solution.extend(small_kp.graph.points[:2])
    for thing in (solution, extended):
        again = pickle.loads(pickle.dumps(thing))
        np.testing.assert_array_equal(again.factor, thing.factor)
    assert copy.deepcopy(small_kp).solve().value == solution.value
    used = cl.HarmonicExtension(small_kp.L, [0])
    expected = used([1.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(used))([1.0]), expected)


def test_it_prints_as_in_the_paper(small_kp):
    text = str(small_kp)
    assert "Kᵢᵢ = 1    for linked i" in text and "kernel propagation" in text.lower()
    plan = str(small_kp.explain())
    assert "elimination: points that no constraint mentions" in plan and "route 'interior-point'" in plan
