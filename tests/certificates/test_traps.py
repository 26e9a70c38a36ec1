"""Small programs that certificates once judged wrongly."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl

x, y, z = (cp.Variable(name=name) for name in "xyz")


def at(**numbers):
    return {name: np.array(float(number)) for name, number in numbers.items()}


@pytest.mark.parametrize("order", [2, 3, 4, 6])
def test_a_diagonal_variable_that_is_semidefinite(order):
    v = cp.Variable((order, order), diag=True, name="v")
    solution = cl.wrap(cp.Problem(cp.Minimize(-v[1, 1]), [v >> 0, cp.trace(v) <= 1])).solve()
    assert solution.value == pytest.approx(-1, abs=1e-5)
    assert solution.certificate.lower_bound <= -1 <= solution.certificate.upper_bound + 1e-12


def test_the_point_that_is_judged_is_the_one_that_was_given():
    v = cp.Variable((2, 2), symmetric=True, name="v")
    certificate = cl.certify(cp.Problem(cp.Minimize(cp.square(v[0, 1])), [v << 0]), {"v": 700 * np.eye(2)})
    assert certificate.largest_violation == pytest.approx(700)
    solution = cl.wrap(cp.Problem(cp.Maximize(cp.trace(v)), [v << 0, v[0, 0] <= -1])).solve()
    assert solution.value == pytest.approx(-1, abs=1e-5)


def test_a_tiny_error_in_an_equation_with_a_huge_price_is_not_attained():
    """The distance of 1e-10 · (1, 1, 1)/3 from the origin costs 1/√3."""
    v = cp.Variable(3, name="v")
    constraints = [cp.sum(v) == 3 + 1e-10, v[0] == v[1], v[2] == v[1]]
    solution = cl.wrap(cp.Problem(cp.Minimize(1e10 * cp.norm(v - 1)), constraints)).solve(strict=False)
    assert solution.certificate.upper_bound >= 1 / np.sqrt(3) - 1e-4
    right = abs(solution.value - 1 / np.sqrt(3)) <= 1e-3
    assert right or solution.status is not cl.Status.OPTIMAL


@pytest.mark.parametrize(
    ("constraints", "point", "optimum"),
    [([x + y == 1e9, y == 1e9 - 0.5], at(x=0.495, y=1e9 - 0.5), 0.5), ([x == 1, y == 1e12], at(x=0, y=1e12), 1.0)],
)
def test_large_numbers_elsewhere_excuse_nothing(constraints, point, optimum):
    certificate = cl.certify(cp.Problem(cp.Minimize(x), constraints), point)
    assert certificate.upper_bound >= optimum - 1e-6 and not certificate.holds(1e-5)


def test_numbers_that_are_absorbed_are_not_feasible():
    certificate = cl.certify(cp.Problem(cp.Maximize(x), [1e16 + x <= 1e16]), at(x=0.9))
    assert certificate.lower_bound is None or certificate.lower_bound <= 0
    assert not certificate.holds(1e-5)


@pytest.mark.parametrize("size", [1e6, 1e9, 1e11])
def test_intervals_are_rounded_outwards(size):
    """Min z with y + z = x + y = N is 0, at (0, N, 0), whatever the multipliers say."""
    problem = cp.Problem(cp.Minimize(z), [y + z == size, x + y == size, y >= 0, z >= 0])
    duals = {f"constraints[{k}]": np.array([dual]) for k, dual in enumerate([1.0, -1.0, 0.0, 0.0])}
    assert cl.certify(problem, at(x=90, y=size - 90, z=90), duals, seconds=0).lower_bound <= 0


def test_the_exponential_cone_at_zero():
    """Where y = 0 the cone needs x ≤ 0."""
    problem = cp.Problem(cp.Minimize(-x), [cp.ExpCone(x, cp.Constant(0.0), y), y <= 1])
    assert cl.certify(problem, at(x=1, y=1)).largest_violation > 0.1


def test_small_coefficients_are_meant():
    """x ≥ 1 and x ≤ 1e-12 y have feasible points, and so have equations that meet at 1e10."""
    far = cp.Problem(cp.Minimize(cp.square(x)), [x >= 1, y >= 0, x - 1e-12 * y <= 0])
    steep = cp.Problem(cp.Minimize(x), [x - y == 0, x - (1 + 1e-10) * y == -1])
    for problem in (far, steep):
        assert "contradict one another:" not in cl.wrap(problem).solve(strict=False).reason
    bounded = cp.Problem(cp.Minimize(-y - x), [x - y <= 1, y - (1 - 1e-12) * x <= 1, x >= 0])
    assert cl.wrap(bounded).solve(strict=False).status is not cl.Status.UNBOUNDED


def test_a_function_whose_gradient_cvxpy_gets_wrong():
    u = cp.Variable(3, name="u")
    solution = cl.wrap(cp.Problem(cp.Minimize(cp.sum(cp.cummax(u))), [u >= -1])).solve(solver="SCS")
    assert solution.value == pytest.approx(-3, abs=1e-3)


def test_two_semidefinite_variables_of_which_one_is_merged():
    """Unit diagonals: the least sum of entries is 1² for [[1,1],[1,1]] ⊕ … and 0 for three balanced vectors."""
    A, B = (cp.Variable((3, 3), name=name, PSD=True) for name in "AB")
    constraints = [cp.diag(A) == 1, cp.diag(B) == 1, A[0, 1] == 1]
    solution = cl.wrap(cp.Problem(cp.Minimize(cp.sum(A) + cp.sum(B)), constraints)).solve()
    assert solution.value == pytest.approx(1, abs=1e-4)  # 2 + 1 vectors in opposite directions: (2 − 1)²
    assert solution.duals["A psd"].shape == solution.duals["B psd"].shape == (3, 3)
