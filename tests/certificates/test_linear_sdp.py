"""The certificate must hold for any solver's output; spoiled answers must be caught."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.certificates.face import Face
from cvxlink.programs.linear_sdp import LinearSDP, Rows
from helpers import SOLVERS
from helpers.formulations import MaxCut, RewrittenPCP
from helpers.graphs import path_graph
from helpers.kernels import random_instance
from helpers.links import consistent_links


@pytest.fixture(scope="module")
def solved(small_pcp):
    return small_pcp.solve(solver="CLARABEL")


@settings(max_examples=60, deadline=None)
@given(consistent_links(), st.integers(0, 1000), st.floats(0.01, 100))
def test_the_bound_holds_for_any_multipliers(links, seed, size):
    problem, K, rng = random_instance(links, seed)
    duals = {g.name: size * rng.standard_normal(len(g)) for g in problem.program.linear_sdp().rows}
    certificate = cl.certify(problem, {"K": K}, duals)
    assert certificate.lower_bound <= certificate.value + 1e-9
    assert certificate.largest_violation < 1e-9


@settings(max_examples=60, deadline=None)
@given(consistent_links(), st.integers(0, 1000), st.floats(0, 0.3))
def test_the_upper_bound_is_the_value_of_a_feasible_point(links, seed, noise):
    problem, K, rng = random_instance(links, seed)
    spoiled = K + noise * rng.standard_normal(K.shape)
    contracted = cl.Contraction().apply(problem).program if len(links.must) else problem.program.linear_sdp()
    optimum = contracted.declaration.to_cvxpy().solve(solver="CLARABEL")  # CVXPY alone, on a strictly feasible program
    certificate = cl.certify(problem, {"K": (spoiled + spoiled.T) / 2})
    assert certificate.upper_bound >= optimum - 1e-7
    if noise == 0:
        assert certificate.upper_bound == pytest.approx(certificate.value, abs=1e-8)


def test_the_upper_bound_does_not_profit_from_indefiniteness(solved):
    L = solved.problem.L.toarray()
    below = solved.kernel - 0.05 * L  # downhill, out of the cone
    certificate = cl.certify(solved.problem, {"K": below}, solved.duals)
    assert certificate.value < solved.value - 0.1
    assert certificate.upper_bound > solved.value


def test_multipliers_of_the_wrong_sign_on_inequalities_prove_nothing():
    def entries(*pairs):
        return LinearSDP.with_fixed_entries(sp.csr_array(10 * np.eye(2)), {"rows": (np.array(pairs), 1.0)}).rows[0].A

    # min 10 tr K over unit diagonal, K₀₁ ≤ 100: the optimum is 20, and the inequality never binds.
    unit = Rows("unit", entries((0, 0), (1, 1)), np.ones(2))
    far = Rows("far", entries((0, 1)), np.array([100.0]), "<=")
    problem = LinearSDP(sp.csr_array(10 * np.eye(2)), (unit, far))
    # With y = (9, 9, +2) the slack is semidefinite and bᵀy = 218, but +2 is no multiplier of an inequality.
    certificate = cl.certify(problem, {"K": np.eye(2)}, {"unit": np.full(2, 9.0), "far": np.array([2.0])})
    assert certificate.lower_bound == pytest.approx(18)


@pytest.mark.parametrize("solver", SOLVERS)
def test_inequalities_that_the_identity_touches(solver):
    # min over unit diagonal and K₀₁ ≤ 0: best is v₀ ⊥ v₁ and v₂ between them, 3 − 2√2.
    class Touching(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "cannot": X[0, 1] <= 0}

    solution = Touching(2 * np.eye(3) - np.ones((3, 3))).solve(solver=solver)
    assert solution.value == pytest.approx(3 - 2 * np.sqrt(2), abs=1e-5)
    assert solution.certificate.upper_bound == pytest.approx(3 - 2 * np.sqrt(2), abs=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_equation_as_two_inequalities_leaves_no_room_and_has_an_upper_bound_still(solver):
    class Pinched(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "above": X[0, 1] >= 0, "below": X[0, 1] <= 0}

    solution = Pinched(2 * np.eye(3) - np.ones((3, 3))).solve(solver=solver, strict=False)
    assert solution.value == pytest.approx(3 - 2 * np.sqrt(2), abs=1e-4)
    assert solution.certificate.upper_bound >= 3 - 2 * np.sqrt(2) - 1e-12
    assert solution.status is cl.Status.OPTIMAL


@pytest.mark.parametrize("size", [1.0, 1e6])
@pytest.mark.parametrize("presolve", [True, False])
def test_repeated_equations_neither_fool_nor_blind_the_certificate(size, presolve):
    class Repeated(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "again": X[1, 1] == 1}

    M = np.random.default_rng(0).standard_normal((8, 8))
    reference = MaxCut(M + M.T).solve(solver="CLARABEL")
    solution = Repeated(size * (M + M.T)).solve(solver="SDPA", form="dual", presolve=presolve, strict=False)
    assert solution.status is not cl.Status.INFEASIBLE
    if presolve:
        assert solution.value == pytest.approx(size * reference.value, rel=1e-5)
        assert solution.certificate.upper_bound == pytest.approx(size * reference.value, rel=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_diagonals_may_be_tiny_or_huge(small_pcp, solver, size):
    def sized(K, must, cannot):
        return {"unit": cp.diag(K) == size, "must": K[must[0], must[1]] == size, "cannot": K[cannot[0], cannot[1]] == 0}

    reference = small_pcp.solve(solver="CLARABEL")
    solution = RewrittenPCP(small_pcp, sized).solve(solver=solver)
    assert solution.value == pytest.approx(size * reference.value, rel=1e-4)
    np.testing.assert_allclose(solution.kernel / size, reference.kernel, atol=1e-2)
    np.testing.assert_allclose(solution.duals["cannot"], reference.duals["cannot"], atol=1e-2)


def test_a_good_answer_passes(solved):
    assert solved.certificate.holds(1e-6)
    assert max(map(abs, solved.certificate.dimacs)) < 1e-6
    assert solved.certificate.min_eigenvalue > -1e-9


def spoil_unit(K):
    K[3, 3] += 1e-3


def spoil_must(K):
    K[:, :] = 0.999 * K + 0.001 * np.eye(len(K))  # still unit, still semidefinite


def spoil_eigenvalue(K):
    _, vectors = np.linalg.eigh(K)
    K -= 1e-3 * np.outer(vectors[:, 0], vectors[:, 0])


def spoil_symmetry(K):
    K[0, 5] += 1e-3


def spoil_with_nan(K):
    K[2, 2] = np.nan


@pytest.mark.parametrize(
    ("spoil", "group"),
    [(spoil_unit, "unit"), (spoil_must, "must"), (spoil_eigenvalue, "psd"), (spoil_symmetry, "K domain"),
     (spoil_with_nan, "unit")],
)  # fmt: skip
def test_a_spoiled_point_is_caught_and_the_group_named(solved, spoil, group):
    K = solved.kernel.copy()
    spoil(K)
    certificate = cl.certify(solved.problem, {"K": K}, solved.duals)
    assert not certificate.holds(1e-4)
    assert certificate.violations[group] > 1e-4


def test_a_broken_cannot_link_is_caught(solved):
    K = solved.kernel.copy()
    i, j = solved.problem.links.cannot[0]
    K[i, j] = K[j, i] = 0.01
    certificate = cl.certify(solved.problem, {"K": K}, solved.duals)
    assert certificate.violations["cannot"] == pytest.approx(0.01)
    assert not certificate.holds(1e-4)


def test_a_feasible_but_worse_point_is_caught_by_the_gap(solved):
    blocks, problem = solved.problem.links.blocks, solved.problem
    worse = (blocks[:, None] == blocks[None, :]).astype(float)  # every block a cluster of its own
    certificate = cl.certify(problem, {"K": worse}, solved.duals)
    assert certificate.largest_violation < 1e-12
    assert certificate.gap == pytest.approx(certificate.value - solved.value, rel=1e-4)
    assert not certificate.holds(1e-4)


@pytest.mark.parametrize("group", ["unit", "cannot"])
def test_spoiled_multipliers_cost_the_bound_never_the_truth(solved, group):
    duals = {**solved.duals, group: solved.duals[group] + 0.1}
    certificate = cl.certify(solved.problem, {"K": solved.kernel}, duals)
    assert certificate.lower_bound < solved.certificate.lower_bound
    assert not certificate.holds(1e-4)


def test_multipliers_with_the_wrong_sign_are_caught(solved):
    duals = {name: -dual for name, dual in solved.duals.items()}
    assert not cl.certify(solved.problem, {"K": solved.kernel}, duals).holds(1e-2)


def test_a_wrong_slack_shows_in_the_dimacs_errors(solved):
    duals = {**solved.duals, "psd": solved.duals["psd"] + 0.01 * np.eye(30)}
    errors = cl.certify(solved.problem, {"K": solved.kernel}, duals).dimacs
    assert errors[2] > 1e-3


def test_tiny_violations_do_not_hide_a_wrong_value():
    # Without strict feasibility a violation of ε buys √ε: the 2×2 block [[1, 1−ε], [1−ε, 1]] of must-linked
    # points is positive definite and lets them differ by √(2ε).
    problem = cl.PCP(path_graph(3), cl.Links(3, must=[(0, 1)], cannot=[(0, 2)]), normalized=False)
    # Points 0 and 1 are one, at right angles to 2: the optimum is ⟨L, K⟩ = 0 + 2·1·(1 − 0) = 2.
    epsilon = 1e-6
    angle = np.arccos(1 - epsilon)
    V = np.array([[1, 0], [np.cos(angle), np.sin(angle)], [0, 1.0]])
    certificate = cl.certify(problem, {"K": V @ V.T})
    assert certificate.largest_violation < 2e-6
    assert certificate.value < 2 - 2e-3
    assert certificate.upper_bound >= 2 - 1e-12
    assert not certificate.holds(1e-4)


def test_a_solver_that_lies_is_not_believed(small_pcp, monkeypatch):
    from cvxlink.solvers import through_cvxpy as backend

    honest = backend.call_cvxpy

    def lying(*arguments):
        raw = honest(*arguments)
        raw.values["y"] = raw.values["y"] + 0.01
        return raw

    monkeypatch.setattr(backend, "call_cvxpy", lying)
    solution = small_pcp.solve(solver="CLARABEL", strict=False)
    assert "reported 'optimal'; certified" in solution.reason
    assert solution.status is cl.Status.INACCURATE
    with pytest.warns(cl.InaccurateWarning, match="relative gap"):
        small_pcp.solve(solver="CLARABEL")


# CVXOPT is not among the unreduced ones: it fails on them, as tests/test_backends.py shows.
@pytest.mark.parametrize(
    ("solver", "presolve"), [*((s, True) for s in SOLVERS), ("CLARABEL", False), ("SCS", False), ("SDPA", False)]
)
def test_duals_satisfy_what_they_are_said_to(small_pcp, solver, presolve):
    solution = small_pcp.solve(solver=solver, presolve=presolve, strict=False)
    sdp = small_pcp.program.linear_sdp()
    y = sdp.joined(solution.duals)
    S = solution.duals["psd"]
    # S = L − Diag(y) − Σ m E − Σ z E, built here entry by entry.
    expected = small_pcp.L.toarray() - np.diag(solution.duals["unit"])
    for name in ("must", "cannot"):
        for (i, j), dual in zip(getattr(small_pcp.links, name), solution.duals[name], strict=True):
            expected[i, j] -= dual / 2
            expected[j, i] -= dual / 2
    np.testing.assert_allclose(S, expected, atol=1e-6)
    assert np.linalg.eigvalsh(S)[0] > -1e-3
    assert sdp.b @ y == pytest.approx(solution.value, abs=1e-2)


def test_without_multipliers_there_is_no_lower_bound(solved):
    certificate = cl.certify(solved.problem, {"K": solved.kernel})
    assert certificate.lower_bound is None and certificate.relative_gap is None
    assert "no multipliers" in str(certificate)


@pytest.mark.parametrize(("values", "says"), [({}, "no value for the variable K"), ({"K": np.eye(2)}, "shape")])
def test_a_point_of_another_problem_is_refused(solved, values, says):
    with pytest.raises(cl.InvalidInput, match=says):
        cl.certify(solved.problem, values)


def test_multipliers_of_another_problem_are_refused(solved):
    with pytest.raises(cl.InvalidInput, match="'cannot' has 6 rows, but 2 multipliers"):
        cl.certify(solved.problem, {"K": solved.kernel}, {**solved.duals, "cannot": np.zeros(2)})


@pytest.mark.parametrize("size", [1e4, 1e8, 1e12, 1e15])
def test_huge_cancelling_multipliers_do_not_break_the_bound(size):
    # K₀₁ = 0.3 is said twice; y = (1 + 3q, −q) is as good as (1, 0), but for rounding.
    def row(name, weight):
        entry = LinearSDP.with_fixed_entries(sp.csr_array(np.eye(2)), {name: (np.array([[0, 1]]), 0.3)}).rows[0]
        return Rows(name, weight * entry.A, weight * entry.b)

    unit = LinearSDP.with_fixed_entries(sp.csr_array(np.eye(2)), {"unit": (np.array([[0, 0], [1, 1]]), 1.0)}).rows[0]
    C = sp.csr_array(np.array([[0, 0.5], [0.5, 0]]))
    problem = LinearSDP(C, (unit, row("once", 1.0), row("again", 3.0)))
    K = np.array([[1, 0.3], [0.3, 1]])
    duals = {"unit": np.zeros(2), "once": np.array([1 + 3 * size]), "again": np.array([-size])}
    assert cl.certify(problem, {"K": K}, duals).lower_bound <= 0.3


@pytest.mark.parametrize("scale", [1e-6, 1e-12])
def test_tiny_weights_do_not_make_everything_optimal(small_pcp, scale):
    problem = cl.PCP(cl.Graph.from_affinity(scale * small_pcp.graph.W), cl.Links(30), normalized=False)
    nothing = {"unit": np.zeros(30)}
    assert not cl.certify(problem, {"K": np.eye(30)}, nothing).holds(1e-4)
    assert cl.certify(problem, {"K": np.ones((30, 30))}, nothing).holds(1e-4)


@pytest.mark.parametrize(
    ("attributes", "value"),
    [({"nonneg": True}, -3.0), ({"bounds": [0, 1]}, 2.0)],
)
def test_the_domain_of_a_variable_is_part_of_the_certificate(attributes, value):
    class Scalar(cl.Problem):
        def variables(self):
            return {"x": cp.Variable(**attributes)}

        def objective(self, x):
            return cp.Minimize(x)

        def constraints(self, x):
            return {}

    assert cl.certify(Scalar(), {"x": value}).violations["x domain"] > 0.4
    assert cl.certify(Scalar(), {"x": 1.0}).violations == {}


def test_printed_form_says_what_the_numbers_mean(solved):
    text = str(solved.certificate)
    for words in ("lower bound", "upper bound", "relative", "gap / (1 + |value|)", "violation", "max-norms", "unit"):
        assert words in text


def _without_lapack(monkeypatch):
    """Make small matrices pass for large and sparse ones."""
    from cvxlink.numerics import eigenpairs as spectrum
    from cvxlink.numerics import least_eigenvalue as eigenvalues

    monkeypatch.setattr(eigenvalues, "DENSE_EIGENVALUES", 10)
    monkeypatch.setattr(eigenvalues, "SPARSE", 1.0)
    monkeypatch.setattr(spectrum, "DENSE", 10)
    monkeypatch.setattr(spectrum, "LARGEST_DENSE", 10)
    return eigenvalues


def test_large_matrices_use_lanczos_with_its_residual(monkeypatch):
    module = _without_lapack(monkeypatch)
    rng = np.random.default_rng(0)
    D = sp.diags_array(rng.uniform(0, 5, 40))
    half = sp.eye_array(40) / 2
    path = path_graph(60).laplacian(normalized=False)
    matrices = {
        "spread": sp.diags_array(np.linspace(-0.5, 3, 60)),
        "least eigenvector antisymmetric": sp.csr_array(sp.block_array([[D, half], [half, D]])),
        "the constant vector in the kernel": path,
        "clustered": sp.csr_array(path @ path @ path @ path),
    }
    for name, S in matrices.items():
        exact = np.linalg.eigvalsh(S.toarray())[0]
        theta, margin, _ = module.least_eigenvalue(S)
        assert theta - margin <= exact + 1e-12, name
        assert theta - margin >= exact - 1e-3, name


def test_without_convergence_lanczos_costs_sharpness_not_truth(monkeypatch):
    module = _without_lapack(monkeypatch)

    def fails(*_, **__):
        raise sp.linalg.ArpackNoConvergence("no convergence", np.zeros(0), np.zeros((60, 0)))

    monkeypatch.setattr(module.sp.linalg, "eigsh", fails)
    S = sp.diags_array(np.linspace(-0.5, 3, 60))
    theta, margin, _ = module.least_eigenvalue(S)
    assert -3 - 1e-9 <= theta - margin <= -0.5


def test_the_face_of_a_problem_without_forced_points_is_the_problem(small_pcp):
    free = cl.PCP(small_pcp.graph, cl.Links(30, cannot=[(0, 29)]))
    assert Face.of(free.program.linear_sdp()).lift is None
    assert Face.of(small_pcp.program.linear_sdp()).sdp.n == small_pcp.links.n_blocks


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("formulation", [cl.PCP, cl.KP])
def test_a_cut_that_costs_almost_nothing_is_certified_as_well_as_any_other(formulation, seed):
    # Two tight clusters joined by weak edges: on blocks the costs are a millionth of what they are on points, and the
    # multipliers that stand in for must-links would round the bound away.
    rng = np.random.default_rng(seed)
    W = 1e-6 * rng.uniform(0.1, 1, (8, 8))
    W[:4, :4], W[4:, 4:] = rng.uniform(1, 3, (4, 4)), rng.uniform(1, 3, (4, 4))
    W = np.triu(W, 1) + np.triu(W, 1).T
    links = cl.Links(8, must=[(0, 1), (1, 2), (1, 3), (4, 5), (5, 6), (4, 7)], cannot=[(0, 5)])
    solution = formulation(cl.Graph.from_affinity(W), links, normalized=False).solve()
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(2 * W[:4, 4:].sum(), rel=1e-6)
    assert solution.certificate.gap < 1e-11


@pytest.mark.parametrize("formulation", [cl.PCP, cl.KP])
def test_the_fourth_dimacs_error_shows_an_indefinite_slack(small_pcp, formulation):
    problem = formulation(small_pcp.graph, small_pcp.links)
    solution = problem.solve()
    rows = {name: dual for name, dual in solution.duals.items() if name != "psd"}
    spoiled = {**rows, "unit": rows["unit"] + 0.3}
    error = cl.certify(problem, solution.values, spoiled).dimacs[3]
    sdp = problem.program.linear_sdp()
    deficit = -np.linalg.eigvalsh(sdp.slack(sdp.joined(spoiled)).toarray())[0] / (1 + abs(sdp.C).max())
    # After elimination it is computed on the constrained points, where it is at least as large.
    assert error >= deficit - 1e-9 and deficit > 0.01
    assert formulation is cl.KP or error == pytest.approx(deficit, abs=1e-6)


class OneEntryFixed(cl.Problem):
    """min 2K₀₀ + 2K₀₁ + K₁₁ with K₀₀ = 1: by the Schur complement the optimum is 2 − 1 = 1, at K₁₁ = −K₀₁ = 1."""

    def variables(self):
        return {"K": cp.Variable((2, 2), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(2 * K[0, 0] + 2 * K[0, 1] + K[1, 1])

    def constraints(self, K):
        return {"one": K[0, 0] == 1, "psd": K >> 0}


@pytest.mark.parametrize("y", [1.0, 1 - 1e-7, 1 + 1e-7, 1.1, -3.0, 50.0, 1e6])
def test_without_a_bound_on_the_trace_any_multipliers_give_a_bound(y):
    K = np.array([[1.0, -1.0], [-1.0, 1.0]])
    certificate = cl.certify(OneEntryFixed(), {"K": K}, {"one": [y]})
    assert certificate.lower_bound <= 1
    if abs(y - 1) <= 1e-7:
        assert certificate.lower_bound >= 1 - 1e-6 and certificate.holds(1e-5)


def test_a_bound_is_for_points_of_limited_size_where_no_slack_is_positive_definite():
    class Flat(OneEntryFixed):
        def variables(self):
            return {"K": cp.Variable((3, 3), symmetric=True)}

        def objective(self, K):  # the same multiple of K₁₁, K₁₂ and K₂₂ is optimal, so every slack is singular
            return cp.Minimize(K[0, 0] + K[1, 1] + K[2, 2] - 2 * K[1, 2])

    certificate = cl.certify(Flat(), {"K": np.eye(3)}, {"one": [1 + 1e-9]})
    assert certificate.reach is not None and 1 - 1e-6 <= certificate.lower_bound <= 1 + 1e-12


def test_points_that_nothing_mentions_need_no_bound_on_their_trace():
    class Flat(OneEntryFixed):
        def objective(self, K):  # any K₁₁ is optimal, and no constraint limits it
            return cp.Minimize(K[0, 0])

    certificate = cl.certify(Flat(), {"K": np.diag([1.0, 7.0])}, {"one": [1 + 1e-9]})
    assert 1 - 1e-8 < certificate.lower_bound <= 1
