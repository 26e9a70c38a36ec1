"""Bounds that reach beyond the neighbourhood of an answer."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers.programs import Program

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((20, 5)), RNG.standard_normal(20)
# Least squares have a closed form, and so has the distance to a line.
RESIDUAL = float(np.sum((A @ np.linalg.lstsq(A, B)[0] - B) ** 2))

FAR_AWAY = Program(
    lambda: {"x": cp.Variable(2)}, lambda x: -1e-9 * x[0], lambda x: {"most": x[0] + x[1] <= 1e9, "least": x[1] >= 0}
)
SQUARES = Program(lambda: {"x": cp.Variable(5)}, lambda x: cp.sum_squares(A @ x - B), lambda x: {})
LENGTH = Program(lambda: {"x": cp.Variable(2)}, lambda x: cp.norm(x), lambda x: {"line": x[0] + x[1] == 2})
ENTROPY = Program(lambda: {"x": cp.Variable(5)}, lambda x: -cp.sum(cp.entr(x)), lambda x: {"sum": cp.sum(x) == 1})


LARGEST = Program(  # CVXPY adds a semidefinite matrix for it
    lambda: {"X": cp.Variable((3, 3), symmetric=True)},
    lambda X: cp.lambda_sum_largest(X, 2),
    lambda X: {"given": np.diag([3.0, 2.0, 1.0]) == X},
)
CASES = [(LARGEST, 5.0), (FAR_AWAY, -1.0), (SQUARES, RESIDUAL), (LENGTH, np.sqrt(2)), (ENTROPY, -np.log(5))]


@pytest.mark.parametrize(("program", "optimum"), CASES)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_costs_of_any_size(program, optimum, size):
    scaled = Program(program.variables, lambda **x: size * program.objective(**x).args[0], program.constraints)
    solution, exact = scaled.solve("CLARABEL", strict=False), size * optimum
    certificate = solution.certificate
    assert exact - 1e-5 * (size + abs(exact)) - 1e-8 <= certificate.lower_bound <= exact + 1e-12 * (1 + abs(exact))
    assert certificate.upper_bound >= exact - 1e-12 * (1 + abs(exact))


def test_an_answer_far_from_the_optimum_is_not_certified_because_everything_near_it_is_alike():
    """At x = 0 no point up to ten times as large is better by more than 1e-8, and one a billion times as large by 1."""
    certificate = cl.certify(FAR_AWAY, {"x": [0.0, 0.0]}, {"most": [0.0], "least": [0.0]})
    assert certificate.lower_bound <= -1 and not certificate.holds(1e-2)
    solution = FAR_AWAY.solve()
    assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(-1)


def test_an_unbounded_set_of_solutions_leaves_a_reach():
    """Min x over x ≥ 1 with a second variable that nothing limits from above, and that costs nothing."""
    program = Program(
        lambda: {"x": cp.Variable(2)}, lambda x: x[0], lambda x: {"least": x[0] >= 1, "sign": x[1] >= x[0] - 5}
    )
    solution = program.solve("CLARABEL")
    assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(1)
    assert solution.certificate.reach is None or solution.certificate.reach >= 1000


def test_a_reach_is_stretched_by_a_small_gap():
    certificate = cl.Certificate(1.0, {}, lower_bound=1 - 1e-6, reach=10.0)
    assert certificate.reaches(1e-4) and not certificate.reaches(1e-5)
    assert cl.Certificate(1.0, {}, lower_bound=0.0).reaches(1e-9)


def test_nothing_is_proven_where_the_dual_has_no_solution():
    """The objective falls without limit, but by 1e-9 only for every step: no solver sees it."""
    program = Program(
        lambda: {"x": cp.Variable(2)}, lambda x: x[1] - 1e-9 * x[0], lambda x: {"up": x[1] >= 0, "right": x[0] >= -1}
    )
    solution = program.solve("CLARABEL", strict=False)
    assert solution.status is cl.Status.UNPROVEN and "may be unbounded" in solution.reason


def test_a_quadratic_form_that_cvxpy_rounds_gets_no_bound():
    """At (1, 1e6) the value is −99; CVXPY takes the eigenvalue −1e-10 for zero and finds 1."""
    program = Program(
        lambda: {"x": cp.Variable(2, bounds=[-1e6, 1e6])},
        lambda x: cp.quad_form(x, np.diag([1, -1e-10])),
        lambda x: {"right": x[0] >= 1},
    )
    solution = program.solve("CLARABEL", strict=False)
    assert solution.status is cl.Status.UNPROVEN and solution.certificate.lower_bound is None
