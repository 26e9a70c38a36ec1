"""The dual of programs that are not linear: the same optimum, the same answer, and multipliers as they are declared."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms
from helpers.programs import LINKS, PROGRAMS, L, Program, kernel

SIGN = Program(
    lambda: {"K": cp.Variable((5, 5), symmetric=True), "p": cp.Variable(2, nonneg=True), "q": cp.Variable(nonpos=True)},
    # K = 1 − p₀ on the cannot-links and p₁ − q = 2: how p₁ and q share two is settled by squares, 4p₁ = 2·(2 − p₁)·1
    lambda K, p, q: terms.smoothness(K, L) + 3 * p[0] + 2 * cp.square(p[1]) + cp.square(q) + 0 * cp.sum(p),
    lambda K, p, q: {
        "unit": cp.diag(K) == 1,
        "cannot": K[0, 2] <= 0.5 + p[0],
        "share": p[1] - q == 2,
        "psd": K >> 0,
    },
)
HARD = Program(
    kernel,
    lambda K: terms.smoothness(K, L) + 9 * terms.soft_cannot_links(K, LINKS),
    lambda K: {"unit": terms.unit_diagonal(K), "must": terms.must_links(K, LINKS), "psd": K >> 0},
)
DUALISED = {
    **{name: PROGRAMS[name][0] for name in ("hinge", "squares", "nuclear")},
    "signed variables": SIGN,
    "hard must-links": HARD,
    # a bound on the largest singular value, of which CVXPY makes a semidefinite block of its own
    "norm": Program(
        kernel,
        lambda K: terms.smoothness(K, L) + terms.squared_links(K, LINKS),
        lambda K: {"unit": cp.diag(K) == 1, "norm": cp.norm(K) <= 2, "psd": K >> 0},
    ),
    "entropy": Program(
        kernel,
        lambda K: terms.smoothness(K, L) + terms.entropy_penalty(K),
        lambda K: {"unit": cp.diag(K) == 1, "psd": K >> 0},
    ),
    "balance": Program(
        kernel,
        lambda K: terms.smoothness(K, L) + terms.squared_links(K, LINKS),
        lambda K: {"unit": terms.unit_diagonal(K), "sizes": terms.balance(K, 2, slack=0.2), "psd": K >> 0},
    ),
}


@pytest.mark.parametrize("name", DUALISED)
def test_the_dual_has_the_same_answer(name):
    program = DUALISED[name]
    assert program.forms == ("declared", "dual")
    dual = program.solve(solver="CLARABEL", form="dual", accuracy=1e-6)
    assert dual.status is cl.Status.OPTIMAL and dual.certificate.relative_gap <= 1e-6
    # Hard must-links leave the declared form without an interior: there it is less accurate.
    close = 1e-3 if name == "hard must-links" else 2e-5
    declared = program.solve(solver="CLARABEL", form="declared", strict=False)
    assert dual.value == pytest.approx(declared.value, abs=close)
    for variable, value in declared.values.items():
        np.testing.assert_allclose(dual.values[variable], value, atol=100 * close)


def test_shares_of_two_unknowns_with_signs():
    solution = SIGN.solve(form="dual", solver="CLARABEL", accuracy=1e-7)
    assert solution.values["p"][1] == pytest.approx(2 / 3, abs=1e-4)
    assert solution.values["q"] == pytest.approx(-4 / 3, abs=1e-4)
    # One more to share costs 4·p₁ more.
    assert solution.duals["share"] == pytest.approx([8 / 3], abs=1e-3)


def test_multipliers_are_derivatives_of_the_optimum():
    def shifted(u):
        return Program(
            kernel,
            lambda K: terms.smoothness(K, L) + terms.squared_links(K, LINKS),
            lambda K: {"unit": cp.diag(K) == 1 + u, "far": K[3, 4] <= 0.2 - u, "psd": K >> 0},
        ).solve(solver="CLARABEL", form="dual", accuracy=1e-8)

    step = 1e-3
    slope = (shifted(step).value - shifted(-step).value) / (2 * step)
    duals = shifted(0.0).duals
    assert slope == pytest.approx(duals["unit"].sum() - duals["far"].sum(), rel=1e-3)
    assert duals["far"][0] < -0.1


def test_points_that_are_forced_together_are_merged():
    plan = HARD.explain(form="dual")
    assert plan.program.sizes.psd == (4,)
    assert "force together are merged" in str(plan) and "contraction: left out" not in str(plan)
    solution = HARD.solve(form="dual", solver="CLARABEL")
    K = solution.values["K"]
    np.testing.assert_allclose(K[0], K[1], atol=1e-12)
    assert solution.certificate.largest_violation < 1e-7
    # The same from a linear program: the hinge by hand, t ≥ K_ij and t ≥ 0, is not one in K alone, but without links
    # that pull it is.
    free = Program(kernel, lambda K: terms.smoothness(K, L), lambda K: {"unit": cp.diag(K) == 1, "psd": K >> 0}).solve()
    assert solution.value > free.value + 0.1


@pytest.mark.parametrize("solver", ["SCS", "SDPA", "CVXOPT"])
def test_every_solver_takes_it(solver):
    for name in ("hinge", "squares", "hard must-links"):
        solution, other = (DUALISED[name].solve(solver=which, form="dual") for which in (solver, "CLARABEL"))
        assert solution.status is cl.Status.OPTIMAL
        assert solution.value == pytest.approx(other.value, abs=1e-3)


def test_it_is_chosen_where_it_is_smaller():
    X, y = cl.datasets.load("two_moons", n=40, random_state=0)
    graph, links = cl.Graph.knn(X, 6), cl.Links.sample(y, n_links=20, random_state=0)
    program = Program(
        lambda: {"K": cp.Variable((40, 40), symmetric=True)},
        lambda K: terms.smoothness(K, graph.laplacian()) + terms.soft_cannot_links(K, links),
        lambda K: {"unit": terms.unit_diagonal(K), "psd": K >> 0},
    )
    assert program.explain().form == "dual" and program.explain(solver="SCS").form == "dual"
    assert program.solve().certificate.relative_gap < 1e-5
    assert DUALISED["nuclear"].explain().form == "declared"


def test_programs_without_an_answer():
    infeasible = Program(
        kernel, lambda K: terms.squared_links(K, LINKS), lambda K: {"less": cp.diag(K) <= -1, "psd": K >> 0}
    )
    assert infeasible.solve(form="dual", solver="CLARABEL", strict=False).status is cl.Status.INFEASIBLE
    contradicting = Program(
        kernel, lambda K: terms.squared_links(K, LINKS), lambda K: {"a": K[0, 1] == 1, "b": K[0, 1] == 2, "psd": K >> 0}
    )
    assert contradicting.solve(strict=False).status is cl.Status.INFEASIBLE
    unbounded = Program(
        kernel, lambda K: terms.squared_links(K, LINKS) - cp.trace(K), lambda K: {"low": K[3, 3] <= 1, "psd": K >> 0}
    )
    assert not unbounded.solve(form="dual", solver="CLARABEL", strict=False).status.has_answer


def test_what_has_no_dual_form_says_so():
    for name in ("lasso", "ball"):
        with pytest.raises(cl.FormUnavailable, match="no semidefinite variable"):
            PROGRAMS[name][0].solve(form="dual")
    whole = Program(
        lambda: {"K": cp.Variable((3, 3), symmetric=True), "x": cp.Variable(2, bounds=[0, 1])},
        lambda K, x: cp.sum_squares(K) + cp.sum(x),
        lambda K, x: {"psd": K >> 0},
    )
    assert whole.forms == ("declared",)
    assert whole.solve().value == pytest.approx(0, abs=1e-6)


def test_a_matrix_with_entries_of_one_sign_is_not_taken_for_one_without():
    # ⟨C, K⟩ over doubly non-negative correlation matrices: with C = 1 outside the diagonal the identity, value 0; over
    # all correlation matrices −n, as the sum of all entries is at least zero.
    C = np.ones((4, 4)) - np.eye(4)
    for attributes in ({"symmetric": True, "nonneg": True}, {"PSD": True, "nonneg": True}):
        program = Program(
            lambda attributes=attributes: {"K": cp.Variable((4, 4), **attributes)},
            lambda K: cp.sum(cp.multiply(C, K)) + 0.1 * cp.sum_squares(K[0, 1:]),
            lambda K, a=attributes: {"unit": cp.diag(K) == 1, **({} if "PSD" in a else {"psd": K >> 0})},
        )
        assert program.forms == ("declared",)
        solution = program.solve(solver="CLARABEL")
        assert solution.value == pytest.approx(0, abs=1e-5) and solution.certificate.relative_gap < 1e-4
        wrong = np.eye(4) - 0.2 * C
        assert cl.certify(program, {"K": wrong}).largest_violation == pytest.approx(0.2)


def test_a_variable_that_is_itself_declared_semidefinite():
    declared = Program(
        lambda: {"K": cp.Variable((5, 5), PSD=True)},
        lambda K: terms.smoothness(K, L) + 9 * terms.soft_cannot_links(K, LINKS),
        lambda K: {"unit": terms.unit_diagonal(K), "must": terms.must_links(K, LINKS)},
    )
    known = HARD.solve(form="dual", solver="CLARABEL", accuracy=1e-6)
    solution = declared.solve(form="dual", solver="CLARABEL", accuracy=1e-6)
    assert solution.value == pytest.approx(known.value, abs=1e-5) and solution.certificate.relative_gap < 1e-6
    np.testing.assert_allclose(solution.duals["psd"], known.duals["psd"], atol=1e-3)


def test_multipliers_of_second_order_cones_are_one_vector_part_after_part():
    # min aᵀx over ‖x‖ ≤ t, t ≤ 2: −2‖a‖ at x = −2a/‖a‖, and the multiplier of the cone is (‖a‖, a).
    a = np.array([3.0, 4.0])
    for group in (False, True):
        cone = lambda K, x, t: cp.SOC(t, x)  # noqa: E731
        program = Program(
            lambda: {"K": cp.Variable((2, 2), symmetric=True), "x": cp.Variable(2), "t": cp.Variable()},
            lambda K, x, t: a @ x + cp.sum_squares(K - np.eye(2)),
            lambda K, x, t, group=group, cone=cone: {
                "cone": [cone(K, x, t), t <= 2] if group else cone(K, x, t),
                "more": x <= 5 if group else t <= 2,
                "psd": K >> 0,
            },
        )
        for form in ("declared", "dual"):
            solution = program.solve(solver="CLARABEL", form=form, accuracy=1e-7)
            assert solution.value == pytest.approx(-10, abs=1e-5) and solution.certificate.relative_gap < 1e-6
            np.testing.assert_allclose(solution.duals["cone"][:3], [5, 3, 4], atol=1e-3)


def test_parameters_and_programs_without_cones():
    q = cp.Parameter(nonneg=True, value=2.0)
    program = Program(
        kernel,
        lambda K: q * q * terms.smoothness(K, L) + terms.squared_links(K, LINKS),
        lambda K: {"unit": cp.diag(K) == q * q / 4, "psd": K >> 0},
    )
    plain = Program(
        kernel,
        lambda K: 4 * terms.smoothness(K, L) + terms.squared_links(K, LINKS),
        lambda K: {"unit": cp.diag(K) == 1, "psd": K >> 0},
    )
    for form in ("declared", "dual"):
        assert program.solve(solver="CLARABEL", form=form).value == pytest.approx(
            plain.solve(solver="CLARABEL").value, abs=1e-4
        )
    nothing = Program(
        lambda: {"K": cp.Variable((3, 3), PSD=True), "x": cp.Variable(2, nonneg=True)},
        lambda K, x: cp.trace(K) + cp.sum(x),
    )
    assert nothing.forms == ("declared",) and nothing.solve().value == pytest.approx(0, abs=1e-6)


def test_contradictory_links_have_no_answer_in_any_form():
    program = Program(
        kernel,
        lambda K: terms.squared_links(K, LINKS),
        lambda K: {"unit": cp.diag(K) == 1, "must": K[0, 1] == 1, "cannot": K[0, 1] == 0, "psd": K >> 0},
    )
    for form in (None, "dual", "declared"):
        assert program.solve(form=form, strict=False).status is cl.Status.INFEASIBLE


def test_a_matrix_with_entries_of_one_sign_and_merged_points():
    program = Program(
        lambda: {"K": cp.Variable((5, 5), symmetric=True, nonneg=True)},
        lambda K: terms.smoothness(K, L) + terms.squared_links(K, LINKS),
        lambda K: {"unit": terms.unit_diagonal(K), "must": terms.must_links(K, LINKS), "psd": K >> 0},
    )
    solution = program.solve(solver="CLARABEL", strict=False)
    # A bound without the multipliers of signs is blunt, never above the value.
    assert solution.certificate.lower_bound <= solution.value + 1e-4
    assert solution.values["K"].min() > -1e-6
