from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.numerics.matrices import Arrays
from cvxlink.programs.declared import read_linear_sdp
from cvxlink.programs.linear_sdp import LinearSDP
from helpers.formulations import Boxed, MaxCut, RewrittenPCP, SoftCorrelation
from helpers.graphs import path_graph, random_graph
from helpers.kernels import random_instance
from helpers.links import consistent_links


@settings(max_examples=40, deadline=None)
@given(consistent_links(), st.integers(0, 1000))
def test_data_of_pcp_is_what_its_declaration_says(links, seed):
    problem = cl.PCP(random_graph(links.n, np.random.default_rng(seed)), links)
    own, read = problem.program.linear_sdp(), read_linear_sdp(problem.declaration)
    np.testing.assert_allclose(own.C.toarray(), read.C.toarray(), atol=1e-14)
    assert [(g.name, g.sense) for g in own.rows] == [(g.name, g.sense) for g in read.rows]
    np.testing.assert_allclose(own.A.toarray(), read.A.toarray(), atol=1e-14)
    np.testing.assert_allclose(own.b, read.b, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(consistent_links(), st.integers(0, 1000))
def test_contraction_keeps_value_and_feasibility_of_every_feasible_kernel(links, seed):
    problem, K, _ = random_instance(links, seed)
    original = problem.program.linear_sdp()
    np.testing.assert_allclose(original.A @ K.ravel(), original.b, atol=1e-12)
    if not len(links.must):
        with pytest.raises(cl.ReductionRefused, match="no two points are visibly forced together"):
            cl.Contraction().apply(problem)
        return
    reduced = cl.Contraction().apply(problem)
    contracted, lift = reduced.program, reduced.lift
    assert contracted.n == links.n_blocks
    assert len(contracted.b) == links.n_blocks + len(links.block_cannot)
    np.testing.assert_array_equal(lift.P.toarray(), np.eye(contracted.n)[links.blocks])
    first = [int(np.flatnonzero(links.blocks == b)[0]) for b in range(contracted.n)]
    small = K[np.ix_(first, first)]
    np.testing.assert_allclose(contracted.A @ small.ravel(), contracted.b, atol=1e-12)
    assert np.sum(contracted.C.toarray() * small) == pytest.approx(np.sum(original.C.toarray() * K), abs=1e-10)
    lifted = Arrays(lift.point({"K": small}, {})[0])
    np.testing.assert_allclose(lifted["K"], K, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(consistent_links(), st.integers(0, 1000))
def test_lifted_multipliers_restrict_to_what_they_were(links, seed):
    rng = np.random.default_rng(seed)
    if not len(links.must):
        return
    problem = cl.PCP(random_graph(links.n, rng), links)
    reduced = cl.Contraction().apply(problem)
    y = rng.standard_normal(len(reduced.program.b))
    _, duals = reduced.lift.point({"K": np.eye(reduced.program.n)}, reduced.program.split(y))
    full = problem.program.linear_sdp().joined(duals)
    np.testing.assert_allclose(reduced.lift.restrict(full), y, atol=1e-6)
    assert problem.program.linear_sdp().b @ full == pytest.approx(reduced.program.b @ y, abs=1e-6)
    # PᵀSP of the lifted slack is the contracted slack.
    P = np.eye(reduced.program.n)[links.blocks]
    S = problem.program.linear_sdp().slack(full).toarray()
    np.testing.assert_allclose(P.T @ S @ P, reduced.program.slack(y).toarray(), atol=1e-6)


def test_contraction_reads_the_constraints_not_the_name():
    # Boxed has "must-links" as lower bounds, SoftCorrelation as penalties: neither forces points together.
    L = cl.Graph.rbf(np.arange(4.0)[:, None]).laplacian().toarray()
    boxed = Boxed(L, np.array([[0, 1]]), np.array([[2, 3]]))
    assert "no two points are visibly forced together" in cl.Contraction().refuses(boxed)
    soft = SoftCorrelation(np.eye(3), cl.Links(3, cannot=[(0, 1)]))
    assert "no two points are visibly forced together" in cl.Contraction().refuses(soft)
    assert cl.Contraction().refuses(MaxCut(np.eye(3))) is not None

    class Forced(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "together": 2 * X[0, 2] == 2}

    assert cl.Contraction().refuses(Forced(np.eye(3))) is None
    assert cl.Contraction().apply(Forced(np.eye(3))).program.n == 2


def test_points_forced_together_at_any_length_but_not_at_different_ones():
    def sdp(*entries):
        pairs = {f"e{k}": (np.array([pair]), value) for k, (pair, value) in enumerate(entries)}
        return LinearSDP.with_fixed_entries(sp.csr_array(np.eye(2)), pairs)

    assert cl.Contraction().apply(sdp(((0, 0), 2), ((1, 1), 2), ((0, 1), 2))).program.n == 1
    assert cl.Contraction().refuses(sdp(((0, 0), 4), ((1, 1), 1), ((0, 1), 1))) is not None
    with pytest.raises(cl.InfeasibleProblem, match="allow at most 2"):
        cl.Contraction().apply(sdp(((0, 0), 4), ((1, 1), 1), ((0, 1), 3)))
    with pytest.raises(cl.InfeasibleProblem, match="both 2 and 3"):
        cl.Contraction().apply(sdp(((0, 0), 2), ((0, 0), 3)))


def test_nearly_forced_is_not_forced():
    # K₀₁ = 1 − ε lets the vectors differ by √(2ε): merging them would claim an optimum of 0.
    class Nearly(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "near": X[0, 1] == 1 - 5e-13}

    W = 100 * np.array([[0, 0, -0.5], [0, 0, 0.5], [-0.5, 0.5, 0]])
    assert cl.Contraction().refuses(Nearly(W)) is not None
    solution = Nearly(W).solve(strict=False)
    assert solution.certificate.lower_bound <= -100 * np.sqrt(2 * 5e-13)


def test_must_links_as_zero_distances_are_seen_too(small_pcp):
    def distances(K, must, cannot):
        (i, j), d = must, cp.diag(K)
        return {"unit": d == 1, "must": 3 * (d[i] + d[j] - 2 * K[i, j]) == 0, "cannot": K[cannot[0], cannot[1]] == 0}

    problem = RewrittenPCP(small_pcp, distances)
    reference, own = small_pcp.solve(solver="CLARABEL"), problem.solve(solver="CLARABEL")
    assert own.plan.program.primal.n == small_pcp.links.n_blocks
    assert own.value == pytest.approx(reference.value, abs=1e-6)
    assert own.certificate.upper_bound - own.certificate.lower_bound < 1e-5
    # Its lifted multipliers make the slack semidefinite, as far as any can.
    assert np.linalg.eigvalsh(own.duals["psd"])[0] > -1e-5
    hidden = problem.solve(solver="SDPA", presolve=False, strict=False)
    assert hidden.certificate.lower_bound <= reference.certificate.upper_bound


def test_without_an_upper_bound_violations_are_weighed_by_their_multipliers(small_pcp):
    def hidden(K, must, cannot):  # zero distances plus a multiple of other equations, which contraction does not see
        (i, j), d = must, cp.diag(K)
        apart = d[i] + d[j] - 2 * K[i, j] + 0.1 * d[cannot[0][0]] == 0.1
        return {"unit": d == 1, "must": apart, "cannot": K[cannot[0], cannot[1]] == 0}

    problem = RewrittenPCP(small_pcp, hidden)
    optimum = small_pcp.solve(solver="CLARABEL").value
    assert "visibly forced together" in cl.Contraction().refuses(problem)
    for solver in ("CLARABEL", "SDPA"):
        solution = problem.solve(solver=solver, form="declared", strict=False)
        wrong = abs(solution.value - optimum) / (1 + optimum) > 1e-4
        assert not (wrong and solution.status is cl.Status.OPTIMAL)


def test_contraction_with_binding_inequalities_is_still_optimal():
    # The identity violates "near", so there is no upper bound; the huge lifted multipliers must not count.
    class Mixed(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "must": X[0, 1] == 1, "near": X[2, 3] >= 0.9, "far": X[0, 4] <= -0.5}

    L = path_graph(5).laplacian(normalized=False).toarray()
    for solver in ("CLARABEL", "SDPA", "CVXOPT"):
        solution = Mixed(L).solve(solver=solver)
        assert solution.status is cl.Status.OPTIMAL
        assert solution.certificate.upper_bound >= solution.certificate.lower_bound
        assert solution.plan.steps[0].after.sizes.psd == (4,)


def test_rows_that_differ_by_a_factor_are_one_row():
    class Doubled(MaxCut):
        def constraints(self, X):
            return {
                **super().constraints(X),
                "must": 2 * X[0, 1] == 2,
                "cannot": -3 * X[0, 2] == 0,
                "again": 0.5 * X[1, 2] == 0,
                "loose": [2 * X[2, 3] <= 1, X[2, 3] <= 0.5, -X[2, 3] <= 0.5],
            }

    L = path_graph(4).laplacian(normalized=False).toarray()
    reduced = cl.Contraction().apply(Doubled(L))
    assert [len(g) for g in reduced.program.rows] == [3, 1, 2]
    on, off = (Doubled(L).solve(solver="CLARABEL", presolve=p, strict=False) for p in (True, False))
    assert on.value == pytest.approx(off.value, abs=1e-4)
    assert on.certificate.upper_bound - on.certificate.lower_bound < 1e-6
    assert on.certificate.lower_bound <= on.certificate.upper_bound
    y = np.arange(1.0, 7)
    np.testing.assert_allclose(reduced.lift.restrict(reduced.lift.spread(y)), y, atol=1e-6)


def test_contradictions_after_merging_are_found_without_a_solver():
    class Contradictory(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "same": X[0, 1] == 1, "left": X[0, 2] == 0.5, "right": X[1, 2] == 0}

    with pytest.raises(cl.InfeasibleProblem, match=r"0 and 0.5 \('right' and 'left'\)"):
        Contradictory(np.eye(3)).solve()

    class Empty(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "same": X[0, 1] == 1, "differ": X[0, 2] - X[1, 2] == 1}

    with pytest.raises(cl.InfeasibleProblem, match="0 == 1"):
        Empty(np.eye(3)).solve()
    solution = Empty(np.eye(3)).solve(strict=False)
    assert solution.status is cl.Status.INFEASIBLE and "0 == 1" in solution.reason


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"variables": lambda self: {"X": cp.Variable((2, 2), symmetric=True), "t": cp.Variable(bounds=[0, 1])},
          "objective": lambda self, X, t: cp.Minimize(t), "constraints": lambda self, X, t: {"c": X >> 0}},
         "2 variables, not one symmetric matrix, and its variable t is declared as bounds"),
        ({"variables": lambda self: {"X": cp.Variable(2)}, "objective": lambda self, X: cp.Minimize(cp.sum(X)),
          "constraints": lambda self, X: {"c": X >= 0}}, "not a plain symmetric matrix"),
        ({"objective": lambda self, X: cp.Maximize(-cp.trace(X))}, "maximises"),
        ({"constraints": lambda self, X: {"shifted": X >> np.eye(2)}}, "an expression other than X"),
        ({"constraints": lambda self, X: {"diagonal": cp.diag(X) == 1}}, "does not require X"),
        ({"constraints": lambda self, X: {"cone": X >> 0}}, "no constraint except semidefiniteness"),
    ],
)  # fmt: skip
def test_dualisation_refuses_and_says_why(change, why):
    assert why in cl.Dualisation().refuses(type("Changed", (MaxCut,), change)(np.eye(2)))


@settings(max_examples=25, deadline=None)
@given(consistent_links(), st.integers(0, 1000), st.integers(0, 1000))
def test_weak_duality_at_random_feasible_pairs(links, seed, other):
    problem, K, _ = random_instance(links, seed)
    dual = cl.Dualisation().apply(problem).program
    y = np.random.default_rng(other).standard_normal(len(dual.primal.b))
    # Any multipliers become feasible for the dual by lowering those of the diagonal.
    shift = min(0.0, np.linalg.eigvalsh(dual.primal.slack(y).toarray())[0])
    y[: links.n] += shift
    declaration = dual.declaration
    declaration.variables["y"].value = y
    assert float(np.max(declaration.constraints["slack"][0].violation())) < 1e-8
    assert declaration.objective.value <= np.sum(dual.primal.C.toarray() * K) + 1e-8


def test_many_points_do_not_overflow_the_numbers_of_entries():
    n = 50_000  # n² is more than 32 bits hold
    i = np.arange(n - 1)
    W = sp.csr_array((np.ones(n - 1), (i, i + 1)), shape=(n, n))
    problem = cl.PCP(cl.Graph.from_affinity(W + W.T), cl.Links(n, must=[(0, 1)], cannot=[(0, n - 1)]))
    sdp = problem.explain().program.linear_sdp()
    assert sdp.n == n - 1
    points = np.sort(np.stack([sdp.A.indices // sdp.n, sdp.A.indices % sdp.n]), axis=0).T
    expected = np.stack([np.arange(n - 1)] * 2, axis=1)
    np.testing.assert_array_equal(np.unique(points, axis=0), np.unique([*expected, [0, n - 2]], axis=0))
