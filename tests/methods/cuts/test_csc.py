"""Constrained spectral clustering: exact, by the paper's procedure, by its relaxation; stationary labelings."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.methods.cuts.constrained_cut import small_cut
from cvxlink.numerics.threads import threads_for
from helpers.cuts import cut_instance, paper
from helpers.graphs import path_graph


def complement(graph: cl.Graph) -> np.ndarray:
    return scipy.linalg.null_space(graph.trivial_cut[None])


# ---------------------------------------------------------------------- known optima


def test_two_points_that_must_be_apart():
    # On the complement of D^{1/2}1 = (1, 1) there is one cut, (1, −1)/√2: it costs 2, and satisfies Q̄ by 1.
    graph = path_graph(2)
    problem = cl.CSC(graph, cl.Links(2, cannot=[(0, 1)]), fraction=1.0)
    solution = problem.solve()
    assert problem.largest_beta == pytest.approx(1) and solution.value == pytest.approx(2)
    assert sorted(solution.cluster()) == [0, 1]


def test_on_a_complete_graph_every_cut_costs_the_same():
    n = 6
    graph = cl.Graph.from_affinity(np.ones((n, n)))
    for fraction in (0.1, 0.5, 0.999, 1.0):
        solution = cl.CSC(graph, cl.Links(n, must=[(0, 1)], cannot=[(0, 2)]), fraction=fraction).solve()
        assert solution.value == pytest.approx(n / (n - 1))
        assert solution.status is cl.Status.OPTIMAL


def test_a_ring_whose_eigenvalues_are_double():
    # The smoothest cuts of a ring come in pairs, which the constraint has to combine: the multiplier is then zero.
    n = 8
    W = np.roll(np.eye(n), 1, axis=0)
    graph = cl.Graph.from_affinity(W + W.T)
    links = cl.Links(n, must=[(0, 1)])
    smoothest = 1 - np.cos(2 * np.pi / n)
    # Among cuts cos(2πk/n + φ)/2, f₀f₁ is largest half way between the two points: cos²(π/8)/4.
    largest = 2 * (np.cos(np.pi / n) ** 2 / 4) / 2
    loose, tight = (cl.CSC(graph, links, beta=share * largest).solve() for share in (0.99, 1.1))
    assert loose.value == pytest.approx(smoothest, abs=1e-9)
    assert loose.measures["satisfaction"] >= 0.99 * largest - 1e-12
    assert tight.value > smoothest + 1e-4
    assert loose.duals["satisfaction"] == pytest.approx(0, abs=1e-6) and tight.duals["satisfaction"] < -1e-3


def test_a_threshold_that_holds_anyway_leaves_the_smoothest_cut():
    graph, _, links = cut_instance()
    free = cl.CSC(graph, links, beta=-10.0).solve()
    assert free.value == pytest.approx(np.linalg.eigvalsh(graph.laplacian().toarray())[1], abs=1e-10)
    assert free.iterations == 0


# ---------------------------------------------------------------------- three ways


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("fraction", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("orthogonal", [True, False])
def test_exact_is_the_relaxation_and_at_most_the_papers(k, fraction, orthogonal):
    graph, _, links = cut_instance(13, seed=k, k=k)
    problem = cl.CSC(graph, links, n_clusters=k, fraction=fraction, orthogonal=orthogonal)
    exact = problem.solve(accuracy=1e-7)
    relaxed = problem.solve(form="sdp", solver="CLARABEL")
    assert exact.value == pytest.approx(relaxed.value, abs=1e-6)
    assert exact.certificate.gap < 1e-7
    X = problem.equivalents["sdp"].solve(solver="CLARABEL", strict=False)
    assert X.value == pytest.approx(exact.value, abs=1e-5)
    eigenvalues = np.linalg.eigvalsh(X.kernel)
    np.testing.assert_allclose(eigenvalues[-(k - 1) :], 1, atol=1e-3)  # a projection of rank K − 1
    np.testing.assert_allclose(eigenvalues[: -(k - 1)], 0, atol=1e-3)
    try:
        found = paper(problem)
    except cl.FormUnavailable as error:
        assert "feasible eigenvectors" in str(error) and k > 2
        return
    assert found.certificate.largest_violation < 1e-10
    assert found.value >= exact.value - 1e-10
    assert found.measures["above_optimum"] == pytest.approx(found.value - exact.value, abs=1e-6)


def test_no_unit_vector_does_better():
    graph, _, links = cut_instance(6, seed=3)
    problem = cl.CSC(graph, links, fraction=0.7)
    exact, Z = problem.solve(), complement(graph)
    L, Q = graph.laplacian().toarray(), problem.Q.toarray()
    f = Z @ np.random.default_rng(0).standard_normal((5, 400_000))
    f /= np.linalg.norm(f, axis=0)
    costs = np.einsum("ij,ij->j", f, L @ f)[np.einsum("ij,ij->j", f, Q @ f) >= problem.threshold]
    assert len(costs) > 1000 and costs.min() >= exact.value - 1e-12
    assert costs.min() == pytest.approx(exact.value, abs=0.02)


def test_the_papers_procedure_by_its_own_words():
    graph, _, links = cut_instance(10, seed=5)
    problem = cl.CSC(graph, links, fraction=0.4)
    Z = complement(graph)
    L, Q = Z.T @ graph.laplacian() @ Z, Z.T @ problem.Q @ Z
    rates, vectors = scipy.linalg.eig(L, Q - problem.threshold * np.eye(9))  # equation (8), unsymmetric solver
    costs = []
    for g in np.real(vectors).T:
        g = g / np.linalg.norm(g)
        if g @ Q @ g >= problem.threshold:
            costs.append(g @ L @ g)
    found = paper(problem)
    assert np.isreal(rates).all() and found.value == pytest.approx(min(costs), abs=1e-9)
    assert f"the cheapest of {len(costs)} generalised eigenvectors" in found.reason


def test_without_orthogonality_the_generalised_eigenvectors_are_those_of_the_whole_space():
    graph, _, links = cut_instance(10, seed=5)
    problem = cl.CSC(graph, links, fraction=0.4, orthogonal=False)
    f = paper(problem).values["f"]
    B = problem.Q.toarray() - problem.threshold * np.eye(10)
    left, right = graph.laplacian() @ f, B @ f
    rate = np.vdot(left, right) / np.vdot(right, right)
    np.testing.assert_allclose(left, rate * right, atol=1e-9)
    assert rate > 0


def test_a_heuristic_warns_and_is_never_an_error():
    graph, _, links = cut_instance(20, seed=1)
    problem = cl.CSC(graph, links, fraction=0.5)
    with pytest.warns(cl.InaccurateWarning, match="generalised eigenvectors.*route 'exact' is optimal"):
        solution = problem.solve(route="paper")
    assert solution.status is cl.Status.INACCURATE
    assert solution.value > problem.solve().value + 0.01
    # So far off that a solver's answer would count for nothing.
    rng = np.random.default_rng(4)
    graph = cl.Graph.knn(rng.random((30, 1)), 4)
    links = cl.Links.sample(np.random.default_rng(4).integers(0, 6, 30), n_links=90, random_state=0)
    far = paper(cl.CSC(graph, links, n_clusters=6, fraction=0.05))
    assert far.status is cl.Status.INACCURATE and not far.certificate.holds(0.5)


# ---------------------------------------------------------------------- cuts that may lean to one side


def test_where_the_trivial_cut_satisfies_the_constraint_no_cut_is_the_cheapest():
    # vᵀQ̄v = Σ_{ij} q_ij/Σd for v along D^{1/2}1: two must-links on a path of four points, whose degrees add up to 6.
    graph, links = path_graph(4), cl.Links(4, must=[(0, 1), (2, 3)])
    v = graph.trivial_cut
    own = 4 / 6
    assert v @ (cl.CSC(graph, links, beta=0.1).Q @ v) == pytest.approx(own)
    for beta in (0.0, own - 1e-3, own):
        problem = cl.CSC(graph, links, beta=beta, orthogonal=False)
        for way in ({}, {"route": "exact"}):
            with pytest.raises(cl.FormUnavailable, match=r"D\^\{1/2\}1 satisfies the constraints to the degree 0.6666"):
                problem.solve(**way)
        assert problem.forms == () and problem.routes == ("paper",)
        # Cuts near it are feasible and cost next to nothing, so no cost is the least; it itself is not one of them.
        smooth = graph.smoothest(2)[1][:, 1]
        costs = [cut @ graph.laplacian() @ cut for cut in (np.cos(t) * v + np.sin(t) * smooth for t in (0.1, 0.01))]
        assert 0 < costs[1] < 1e-4 < costs[0]
        trivial = cl.certify(problem, {"f": v[:, None]})
        assert trivial.violations["not trivial"] == 1 and not trivial.holds(0.1)
        leaning = cl.certify(problem, {"f": (np.cos(0.01) * v + np.sin(0.01) * smooth)[:, None]})
        assert leaning.violations.get("not trivial", 0) == 0 and leaning.lower_bound <= 0


def test_above_the_degree_of_the_trivial_cut_there_is_a_cheapest_cut():
    graph, links = path_graph(4), cl.Links(4, must=[(0, 1)], cannot=[(1, 2)])
    v = graph.trivial_cut
    problem = cl.CSC(graph, links, fraction=0.5, orthogonal=False)
    assert v @ (problem.Q @ v) == pytest.approx(0) and problem.threshold > 0.1
    solution = problem.solve(accuracy=1e-8)
    assert solution.status is cl.Status.OPTIMAL and solution.value > 1e-3
    # No unit vector of the whole space that satisfies the constraint costs less.
    f = np.random.default_rng(0).standard_normal((4, 200_000))
    f /= np.linalg.norm(f, axis=0)
    feasible = np.einsum("ij,ij->j", f, problem.Q @ f) >= problem.threshold
    costs = np.einsum("ij,ij->j", f, graph.laplacian() @ f)[feasible]
    assert costs.min() == pytest.approx(solution.value, abs=0.01) and costs.min() >= solution.value - 1e-9
    assert solution.value < cl.CSC(graph, links, beta=problem.threshold).solve().value  # f ⊥ v asks for more


def test_the_papers_procedure_answers_where_no_cut_is_the_cheapest():
    graph, _, _ = cut_instance(16, seed=3)
    links = cl.Links(16, must=[(0, 2), (1, 3), (4, 6)])
    problem = cl.CSC(graph, links, beta=0.0, orthogonal=False)
    found = paper(problem)
    assert found.status is cl.Status.INACCURATE and found.certificate.lower_bound <= 0 < found.value
    assert sorted(set(found.cluster())) == [0, 1]
    B, f = problem.Q.toarray(), found.values["f"]
    left, right = graph.laplacian() @ f, B @ f
    np.testing.assert_allclose(left, np.vdot(left, right) / np.vdot(right, right) * right, atol=1e-9)


def test_a_cut_that_leans_to_one_side_altogether_is_told():
    graph, links = path_graph(4), cl.Links(4, must=[(0, 1), (2, 3)])
    problem = cl.CSC(graph, links, beta=0.7, orthogonal=False)
    solution = problem.solve()
    assert solution.status is cl.Status.OPTIMAL
    with pytest.warns(cl.ClusterWarning, match="one cluster, not two"):
        assert len(set(solution.cluster())) == 1
    assert sorted(set(solution.cluster(method="kmeans", random_state=0))) == [0, 1]


# ---------------------------------------------------------------------- the diagonal of Q, and claim 1


def test_labels_of_two_classes_make_a_semidefinite_matrix_with_ones_on_the_diagonal():
    graph, y, _ = cut_instance(12, seed=2)
    labels = np.where(np.arange(12) < 6, y, -1)
    links = cl.Links.from_labels(labels)
    signs = np.where(labels == -1, 0, 2 * labels - 1)
    with_ones = cl.CSC(graph, links, scaled=False, diagonal=1.0)
    np.testing.assert_array_equal(with_ones.Q.toarray(), np.outer(signs, signs))  # yyᵀ
    without = cl.CSC(graph, links, scaled=False)
    assert np.linalg.eigvalsh(without.Q.toarray())[0] == pytest.approx(-1)
    assert with_ones.solve().value != pytest.approx(without.solve().value, abs=1e-3)  # it changes the result
    with pytest.raises(cl.InvalidInput, match="diagonal is for Links"):
        cl.CSC(graph, links.matrix, diagonal=1.0)


def test_claim_1_the_procedure_takes_the_cheapest_stationary_labeling():
    graph, y, _ = cut_instance(12, seed=2)
    Q = cl.label_kernel(np.where(np.arange(12) < 6, 2.0 * y - 1, 0.0))  # non-negative and definite, with ones
    problem = cl.CSC(graph, Q, beta=0.0, orthogonal=False)
    rates, F = cl.stationary_labelings(graph.S, problem.Q)
    found = paper(problem)
    costs = np.einsum("ij,ij->j", F, graph.laplacian() @ F)
    assert found.value == pytest.approx(costs[rates > 0].min(), abs=1e-9)
    assert found.stationarity() < 1e-7


# ---------------------------------------------------------------------- certificates


def test_bounds_hold_for_any_multiplier():
    graph, _, links = cut_instance(15, seed=2, k=3)
    problem = cl.CSC(graph, links, n_clusters=3, fraction=0.8)
    best = problem.solve(accuracy=1e-8)
    tightest = -np.inf
    for multiplier in [0.0, *np.logspace(-4, 4, 60), float(-best.duals["satisfaction"])]:
        certificate = cl.certify(problem, best.values, {"satisfaction": -multiplier})
        assert certificate.lower_bound <= best.value + 1e-9
        tightest = max(tightest, certificate.lower_bound)
    assert tightest == pytest.approx(best.value, abs=1e-7)
    for nonsense in (5.0, np.nan, -np.inf):
        assert cl.certify(problem, best.values, {"satisfaction": nonsense}).lower_bound <= best.value + 1e-9


def test_a_multiplier_of_the_wrong_sign_proves_nothing():
    # With a void constraint, Q̄ − βI is positive definite, and −λ(Q̄ − βI) with λ < 0 would raise any bound.
    graph, _, links = cut_instance()
    problem = cl.CSC(graph, links, beta=-10.0)
    best = problem.solve()
    for nonsense in (0.1, 5.0, 1e6):
        assert cl.certify(problem, best.values, {"satisfaction": nonsense}).lower_bound <= best.value


def test_at_the_largest_threshold_the_cheapest_of_equals_is_taken():
    # Q̄ projects on three directions: at β = 1 all cuts in their span are feasible, and no others.
    graph, _, _ = cut_instance(10)
    U = complement(graph) @ np.linalg.qr(np.random.default_rng(0).standard_normal((9, 3)))[0]
    inside = np.linalg.eigvalsh(U.T @ graph.laplacian() @ U)
    for k in (2, 3):
        solution = cl.CSC(graph, U @ U.T, n_clusters=k, beta=1.0 - 1e-15, scaled=False).solve()
        assert solution.value == pytest.approx(inside[: k - 1].sum(), abs=1e-5)
        at_most = cl.CSC(graph, U @ U.T, n_clusters=k, fraction=1.0, scaled=False).solve()
        assert at_most.value == pytest.approx(inside[: k - 1].sum(), abs=1e-5)
    # Where rounding puts β above all there is, the cheapest of equals is taken as well.
    A = np.array([[2.0, 1, 0], [1, 2, 0], [0, 0, 0]])
    y, _ = small_cut(A, np.diag([-1e-12, -1e-12, -1.0]), 1, rounding=0.0)
    np.testing.assert_allclose(y[:, 0] / y[0, 0], [1, -1, 0], atol=1e-9)


@pytest.mark.parametrize("seed", [54, 182, 288, 323, 371, 379])
def test_the_relaxation_at_the_largest_threshold(seed):
    # Only the eigenvectors of the largest eigenvalues of Q̄ are feasible, and solvers lose half of the digits.
    rng = np.random.default_rng(seed)
    n, k = 8, 2 + seed % 2
    W = np.triu(rng.random((n, n)), 1)
    pairs = rng.permutation([(i, j) for i in range(n) for j in range(i)])[:4]
    graph, links = cl.Graph.from_affinity(W + W.T), cl.Links(n, must=pairs[:2], cannot=pairs[2:])
    problem = cl.CSC(graph, links, n_clusters=k, fraction=1.0)
    U = complement(graph)
    eigenvalues, V = np.linalg.eigh(U.T @ problem.Q @ U)
    assert eigenvalues[-k + 1] > eigenvalues[-k] + 1e-6  # no ties
    f = U @ V[:, 1 - k :]
    cost = float(np.vdot(f, graph.laplacian() @ f))
    solution = problem.solve(form="sdp", solver="CLARABEL", strict=False)
    assert solution.certificate.largest_violation < 1e-11
    assert solution.value == pytest.approx(cost, abs=1e-5)
    assert problem.solve().value == pytest.approx(cost, abs=1e-5)
    # A cut that violates the threshold a little is much cheaper, and never passes for the optimum.
    smooth = graph.smoothest(k)[1][:, 1:]
    cheaper = np.linalg.qr(f + 0.01 * smooth)[0]
    certificate = cl.certify(problem, {"f": cheaper}, dict(solution.duals))
    assert certificate.upper_bound >= cost - 1e-5
    assert not certificate.holds(1e-4) or abs(certificate.value - cost) <= 1e-4 * (1 + cost)


def test_a_cut_that_breaks_a_constraint_is_seen():
    graph, _, links = cut_instance()
    problem = cl.CSC(graph, links, fraction=0.9)
    f = problem.solve().values["f"]
    dual = {"satisfaction": -1.0}
    assert cl.certify(problem, {"f": 1.1 * f}, dual).violations["unit"] == pytest.approx(0.21)
    leaning = np.sqrt(0.99) * f + 0.1 * graph.trivial_cut[:, None]
    assert cl.certify(problem, {"f": leaning}, dual).violations["orthogonal"] == pytest.approx(0.1)
    smooth = cl.CSC(graph, links, beta=-10.0).solve().values["f"]
    certificate = cl.certify(problem, {"f": smooth}, dual)
    assert certificate.violations["satisfaction"] > 0.01
    short = problem.threshold - float((smooth * (problem.Q @ smooth)).sum())
    assert certificate.sensitivity == pytest.approx(short)  # what that is worth at the multiplier 1


def test_a_violation_is_measured_by_what_the_constraint_is_made_of():
    # A huge entry of Q where f vanishes must not make a broken constraint look small.
    Q = np.zeros((5, 5))
    Q[2, 2], Q[0, 4], Q[4, 0] = -1e6, 1, 1
    problem = cl.CSC(path_graph(5), Q, beta=0.2, scaled=False)
    smooth = path_graph(5).smoothest(2)[1][:, 1:]
    certificate = cl.certify(problem, {"f": smooth})
    assert certificate.violations["satisfaction"] > 0.5 and not certificate.holds(0.1)
    for bad in ([], "abc", {}, [1, 2], 1j):
        with pytest.raises(cl.InvalidInput, match="satisfaction"):
            cl.certify(problem, {"f": smooth}, {"satisfaction": bad})


def test_the_multiplier_is_the_derivative_in_beta():
    graph, _, links = cut_instance(14, seed=4)
    beta = 0.6 * cl.CSC(graph, links).largest_beta
    step = 1e-4 * beta
    dual = cl.CSC(graph, links, beta=beta).solve(accuracy=1e-9).duals["satisfaction"]
    values = [cl.CSC(graph, links, beta=beta + s).solve(accuracy=1e-9).value for s in (step, -step)]
    # β ≤ fᵀQ̄f + u with u = −step is a threshold higher by step.
    assert float(dual) == pytest.approx(-(values[0] - values[1]) / (2 * step), rel=1e-4)


@given(st.integers(0, 10_000), st.floats(0, 1), st.integers(2, 4), st.booleans())
def test_any_constraint_matrix(seed, fraction, k, orthogonal):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(k + 2, 12))
    graph = cl.Graph.from_affinity((lambda A: A + A.T)(rng.random((n, n)) * (rng.random((n, n)) < 0.6) + 0.01))
    Q = rng.standard_normal((n, n)) * 10.0 ** rng.integers(-6, 6)
    try:
        problem = cl.CSC(graph, Q + Q.T, k, fraction=fraction, orthogonal=orthogonal)
    except cl.InfeasibleProblem:
        return
    if problem.cut.no_minimum:
        trivial = graph.trivial_cut
        assert not orthogonal and trivial @ (problem.Q @ trivial) >= problem.threshold - 1e-9 * abs(
            problem.largest_beta
        )
        return
    solution = problem.solve()
    assert solution.status is cl.Status.OPTIMAL
    assert solution.certificate.largest_violation < 1e-9
    assert solution.measures["satisfaction"] >= problem.threshold - 1e-9 * abs(problem.largest_beta)


# ---------------------------------------------------------------------- the threshold


def test_beta_as_a_number_and_as_a_fraction():
    graph, _, links = cut_instance()
    largest = cl.CSC(graph, links).largest_beta
    Z = complement(graph)
    assert largest == pytest.approx(np.linalg.eigvalsh(Z.T @ cl.CSC(graph, links).Q.toarray() @ Z)[-1])
    number, share = cl.CSC(graph, links, beta=0.3 * largest), cl.CSC(graph, links, fraction=0.3)
    assert number.solve().value == pytest.approx(share.solve().value, abs=1e-9)
    assert cl.CSC(graph, links).threshold == pytest.approx(0.5 * largest)
    with pytest.raises(cl.InfeasibleProblem, match=f"the largest feasible beta is {largest:.6f}"[:38]):
        cl.CSC(graph, links, beta=1.001 * largest)
    assert f"{largest:.6g}" in str(number.explain())


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda g, q: cl.CSC(g, q, beta=0.1, fraction=0.1), cl.InvalidInput, "beta or fraction, not both"),
        (lambda g, q: cl.CSC(g, q, fraction=1.5), cl.InfeasibleProblem, "a fraction of it that is at most 1"),
        (lambda g, q: cl.CSC(g, q, fraction=-0.1), cl.InvalidInput, "fraction must be zero or more"),
        (lambda g, q: cl.CSC(g, q, beta="x"), cl.InvalidInput, "beta must be a finite number"),
        (lambda g, q: cl.CSC(g, q, beta=np.nan), cl.InvalidInput, "beta must be a finite number"),
        (lambda g, q: cl.CSC(g, cl.Links(12)), cl.InfeasibleProblem, "the largest feasible beta is 0"),
        (lambda g, q: cl.CSC(g, np.ones((3, 3))), cl.InvalidInput, r"must have the shape \(12, 12\)"),
        (lambda g, q: cl.CSC(g, np.triu(np.ones((12, 12)))), cl.InvalidInput, "not symmetric"),
        (lambda g, q: cl.CSC(g, np.full((12, 12), np.nan)), cl.InvalidInput, "NaN or infinite"),
        (lambda g, q: cl.CSC(g, cl.Links(3, must=[(0, 1)])), cl.InvalidInput, "12 points, but the links are on 3"),
        (lambda g, q: cl.CSC(q, g), cl.InvalidInput, "CSC takes a Graph"),
        (lambda g, q: cl.CSC(g, q, n_clusters=1), cl.InvalidInput, "n_clusters must be between 2 and 11"),
        (
            lambda g, q: cl.CSC(g, q).solve(form="paper"),
            cl.FormUnavailable,
            "it can be solved by form: sdp, or by route: exact, paper",
        ),
        (lambda g, q: cl.CSC(g, q).solve().cluster(3), cl.InvalidInput, "declare it with n_clusters=3"),
        (lambda g, q: cl.CSC(g, q).solve().kernel, cl.CvxlinkError, "yields cut and no kernel"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, error, says):
    graph, _, links = cut_instance()
    with pytest.raises(error, match=says):
        call(graph, links)


def test_a_largest_threshold_of_zero_is_said_not_solved():
    # On the complement of D^{1/2}1 these constraints have eigenvalues of zero, up to rounding of either sign.
    path = path_graph(3)
    with pytest.raises(cl.InfeasibleProblem, match="the largest feasible beta is 0, so a fraction of it means nothing"):
        cl.CSC(path, cl.Links(3, must=[(0, 1), (1, 2)]))
    pair = cl.CSC(path_graph(2), [[0, -1.0], [-1, 0]], beta=0.0, orthogonal=False).solve()
    assert pair.status is cl.Status.OPTIMAL and pair.value == pytest.approx(1)


def test_a_cut_has_no_affinity_of_its_own():
    graph, _, links = cut_instance()
    solution = cl.CSC(graph, links).solve()
    with pytest.raises(cl.InvalidInput, match="cannot be clustered by 'spectral'; it can by kmeans, cut"):
        solution.cluster(2, method="spectral")
    with pytest.raises(cl.InvalidInput, match="no affinity of its own"):
        _ = solution.affinity
    with pytest.raises(cl.InvalidInput, match="has no scores for classes"):
        _ = solution.labels
    with pytest.raises(cl.InvalidInput, match=r"Links.from_labels"):
        cl.CSC(graph, np.zeros(12))


def test_a_disconnected_graph_has_an_exact_answer_and_none_by_the_paper():
    graph = cl.Graph.from_affinity(np.kron(np.eye(2), np.ones((3, 3))))
    problem = cl.CSC(graph, cl.Links(6, must=[(0, 3)]))
    assert problem.solve().status is cl.Status.OPTIMAL
    with pytest.raises(cl.FormUnavailable, match="connected"):
        problem.solve(route="paper")


def test_links_matrix_and_sparse_matrix_are_one():
    graph, _, links = cut_instance()
    values = [cl.CSC(graph, q).solve().value for q in (links, links.matrix, links.matrix.toarray())]
    np.testing.assert_allclose(values, values[0], atol=1e-10)
    soft = cl.CSC(graph, 7 * links.matrix)  # scale means nothing where the threshold is a fraction
    assert soft.solve().value == pytest.approx(values[0], abs=1e-9)
    as_is = cl.CSC(graph, cl.CSC(graph, links).Q, scaled=False)
    assert as_is.solve().value == pytest.approx(values[0], abs=1e-9)


def test_lanczos_and_lapack_agree():
    X, y = cl.datasets.load("blobs", n=1600, random_state=1)
    graph = cl.Graph.knn(X)
    problem = cl.CSC(graph, cl.Links.sample(y, n_links=100, random_state=0), n_clusters=3, fraction=0.7)
    large = problem.solve()
    matrix = problem.program.data.space.restrict(problem.program.data.matrix(float(-large.duals["satisfaction"])))
    with threads_for(1):
        smallest = scipy.linalg.eigvalsh(matrix, subset_by_index=[0, 1])
    assert large.value == pytest.approx(smallest.sum(), abs=1e-7)
    assert large.status is cl.Status.OPTIMAL and large.certificate.relative_gap < 1e-7


@pytest.mark.parametrize(("components", "k"), [(20, 10), (5, 6)])
def test_no_free_cut_is_missed_in_a_large_disconnected_graph(components, k):
    # Lanczos's method sees one direction of a multiple eigenvalue; the search and the proof must count them all.
    X = np.vstack([np.random.default_rng(i).normal(10 * i, 0.5, (3200 // components, 2)) for i in range(components)])
    graph, y = cl.Graph.knn(X, 8, connect=False), np.repeat(np.arange(components), 3200 // components)
    solution = cl.CSC(graph, cl.Links.sample(y, n_links=60, random_state=0), n_clusters=k, beta=-1.0).solve()
    expected = graph.smoothest(k)[0].sum()
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(expected, abs=1e-6)
    assert solution.certificate.lower_bound <= expected + 1e-12


def test_eigenvalues_on_a_complement_are_found_and_counted():
    from cvxlink.numerics import eigenpairs as spectrum

    graph = cl.Graph.knn(np.random.default_rng(0).random((1300, 2)))
    L, v = graph.laplacian(), graph.trivial_cut
    with threads_for(1):
        exact, _ = spectrum.by_lapack(L, 6, v)
        for found, V in (spectrum.by_inversion(L, 6, v), spectrum.smallest_eigenpairs(L, 6, v)):
            np.testing.assert_allclose(found, exact, atol=1e-9)
            assert abs(v @ V).max() < 1e-8
        whole = np.linalg.eigvalsh(L.toarray())
        np.testing.assert_allclose(exact, whole[1:7], atol=1e-9)
        for k in range(1, 6):
            middle = (whole[k] + whole[k + 1]) / 2
            assert spectrum.number_below(L, middle) == k + 1 and spectrum.number_below(L, middle, v) == k
        shifted = L - 5 * graph.W  # v is no eigenvector of this one
        inside = np.linalg.eigvalsh(spectrum.Complement(1300, v).restrict(shifted))
        for value in (inside[3:5].mean(), inside[100:102].mean()):
            assert spectrum.number_below(shifted, value, v) in ((inside < value).sum(), None)
        assert spectrum.number_below(shifted, inside[0] - 0.1, v) == 0


def test_links_are_satisfied_where_the_graph_alone_would_not():
    # Two rows of points: the graph sees left and right, the links say above and below.
    x, upper = np.tile(np.linspace(0, 3, 8), 2), np.repeat([0, 1], 8)
    graph = cl.Graph.rbf(np.column_stack([x, upper]), 0.7)
    links = cl.Links.from_labels([0, -1, -1, 0, -1, -1, -1, 0, 1, -1, -1, -1, 1, -1, -1, 1])
    labels = cl.CSC(graph, links, fraction=0.8).solve().cluster()
    assert cl.metrics.nmi(upper, labels) == pytest.approx(1)
    assert cl.metrics.nmi(upper, cl.NCuts(graph, 2).solve().cluster(random_state=0)) < 0.1
