"""Programs without a strictly feasible point: the faces that they leave, and answers on them."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.certificates.faces_by_search import faces_of
from cvxlink.certificates.search import Budget
from cvxlink.reductions.standard_form import StandardForm

x, y, K = cp.Variable(2, name="x"), cp.Variable(name="y"), cp.Variable((3, 3), symmetric=True, name="K")
rng = np.random.default_rng(0)
B = rng.normal(size=(3, 2))
u = rng.normal(size=3)
C = rng.normal(size=(3, 3)) + 5 * np.ones((3, 3))
d = {(i, j): K[i, i] + K[j, j] - 2 * K[i, j] for i in range(3) for j in range(3)}
# Each with its optimum, by hand, and with the number of unknowns that are free to move.
PROGRAMS = {
    "two balls that touch": (x[1], [cp.norm(x) <= 1, cp.norm(x - [2, 0]) <= 1], 0.0, 0),
    "a ball and its tangent": (x[1], [cp.sum_squares(x) <= 1, x[0] >= 1], 0.0, 0),
    "a ball of radius zero": (x[0] + 2 * x[1], [cp.norm(x - [1, 2]) <= 0], 5.0, 0),
    "a cone that is a ray": (x[1] - x[0], [cp.SOC(y, x), y == x[0], y <= 2], -2.0, 1),
    "an exponential and its tangent": (x[0] + x[1], [cp.exp(x[0]) <= x[1], x[1] <= 1 + x[0]], 1.0, 0),
    "an entropy at its largest": (x[1], [cp.sum(cp.entr(x)) >= np.log(2), cp.sum(x) == 1], 0.5, None),
    "a mean at its largest": (x[0] + 2 * x[1], [cp.geo_mean(x) >= 1, cp.sum(x) <= 2], 3.0, 0),
    "powers at their least": (x[1], [cp.sum(cp.power(x, 4)) <= 2, cp.sum(x) >= 2], 1.0, 0),
    "a matrix and its tangent": (y, [cp.bmat([[1, x[0]], [x[0], y]]) >> 0, y <= 2 * x[0] - 1, x[1] == 0], 1.0, 0),
    "a matrix that must be zero": (cp.sum(K) + 1, [cp.trace(K) == 0, K >> 0], 1.0, 0),
    "matrices of both signs": (K[0, 1] + 2, [K >> 0, K << 0], 2.0, 0),
    "largest eigenvalues and a trace": (K[0, 1] + K[2, 2], [cp.lambda_max(K) <= 1, cp.trace(K) >= 3], 1.0, 0),
    "points on a line": (cp.trace(K), [K >> 0, d[0, 1] <= 1, d[1, 2] <= 1, d[0, 2] >= 4], 2.0, 2),
    "a triangle": (cp.sum(K), [K >> 0, cp.diag(K) == 1, K[0, 1] <= -0.5, K[0, 2] <= -0.5, K[1, 2] <= -0.5], 0.0, 0),
    "a mean that forces one place": (cp.sum(K), [K >> 0, cp.diag(K) <= 1, cp.sum(K) >= 9], 9.0, 0),
    "a Gram matrix": (cp.trace(C @ K), [K >> 0, K == B @ B.T], float(np.trace(C @ B @ B.T)), 0),
    "a distance of zero": (cp.sum_squares(K - np.eye(3)), [K >> 0, u @ K @ u <= 0], 1.0, None),
    "a congruence": (K[2, 2], [np.eye(4, 3) @ K @ np.eye(3, 4) >> 0, cp.trace(K) == 1, K[0, 1] >= 0.5], 0.0, 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_without_room_are_solved_and_proven(name):
    cost, constraints, optimum, _ = PROGRAMS[name]
    solution = cl.wrap(cp.Problem(cp.Minimize(cost), constraints)).solve()
    certificate = solution.certificate
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(optimum, abs=2e-6)
    assert certificate.lower_bound - 1e-6 <= optimum <= certificate.upper_bound + 1e-6
    assert certificate.upper_bound - certificate.lower_bound <= 1e-4 * (1 + abs(optimum))
    assert certificate.reach is None


@pytest.mark.parametrize("name", [name for name, case in PROGRAMS.items() if case[3] is not None])
def test_the_faces_have_the_dimension_of_the_feasible_set(name):
    """The cost is not looked at: a new unknown for it would add one."""
    cost, constraints, _, dimension = PROGRAMS[name]
    wrapped = cl.wrap(cp.Problem(cp.Minimize(0 * sum(map(cp.sum, cost.variables()))), constraints))
    form = StandardForm.of(wrapped.program.declaration, 10_000)
    faces = faces_of(form, np.zeros(len(form.cost)), Budget())
    assert faces is not None and faces.holds(faces.y)
    spread = form.spread[: max(columns.stop for columns in form.columns.values())] @ faces.ways
    assert np.linalg.matrix_rank(spread, tol=1e-9) == dimension


def test_a_solver_that_was_chosen_keeps_its_answer():
    cost, constraints, _, _ = PROGRAMS["a ball and its tangent"]
    problem = cp.Problem(cp.Minimize(cost), constraints)
    by_default, chosen = cl.wrap(problem).solve(), cl.wrap(problem).solve("CLARABEL", strict=False)
    assert by_default.value == pytest.approx(0, abs=1e-9) and "replaced" in by_default.reason
    assert abs(chosen.value) > 1e-9 and "replaced" not in chosen.reason


def test_nearly_touching_balls_are_not_taken_for_touching_ones():
    """‖x‖ ≤ 1 and x_0 ≥ 1 − ε leave x_1 ≥ −√(2ε − ε²)."""
    for room in (1e-3, 1e-6, 1e-8):
        lowest = -np.sqrt(2 * room - room**2)
        certificate = cl.wrap(cp.Problem(cp.Minimize(x[1]), [cp.norm(x) <= 1, x[0] >= 1 - room])).solve().certificate
        assert certificate.lower_bound - 1e-7 <= lowest <= certificate.upper_bound + 1e-7


@pytest.mark.parametrize("missed", [1e-7, 1e-9, 1e-10])
def test_what_is_infeasible_by_a_little_has_no_feasible_point(missed):
    unit, corners = [K >> 0, cp.diag(K) == 1], [K[0, 2] <= -0.5, K[1, 2] <= -0.5]
    for cost, constraints in (
        (x[1], [cp.norm(x) <= 1, x[0] >= 1 + missed]),
        (x[1], [x >= 1, cp.sum(x) <= 2 - missed]),
        (x[0], [cp.exp(x[0]) <= x[1], x[1] <= 1 - missed + x[0]]),
        (K[0, 1], [*unit, *corners, K[0, 1] <= -0.5 - missed]),
        (K[0, 1], [*unit, cp.sum(K) >= 9 + missed]),
    ):
        solution = cl.wrap(cp.Problem(cp.Minimize(cost), constraints)).solve(strict=False)
        assert solution.status is not cl.Status.OPTIMAL
        assert solution.certificate is None or solution.certificate.upper_bound is None


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e6])
def test_distances_in_any_unit(unit):
    """All distances of six points in the plane are known: G is their centred Gram matrix, of rank two."""
    random = np.random.default_rng(3)
    P = 2 * random.normal(size=(3, 2))[np.arange(6) % 3] + random.normal(size=(6, 2)) / 2
    P -= P.mean(axis=0)
    i, j = np.triu_indices(6, 1)
    G = cp.Variable((6, 6), symmetric=True)
    told = cp.diag(G)[i] + cp.diag(G)[j] - 2 * G[i, j] == unit * np.sum((P[i] - P[j]) ** 2, axis=1)
    solution = cl.wrap(cp.Problem(cp.Minimize(cp.trace(G)), [G >> 0, cp.sum(G, axis=0) == 0, told])).solve()
    optimum, certificate = unit * float(np.sum(P**2)), solution.certificate
    assert solution.value == pytest.approx(optimum, rel=1e-6)
    assert certificate.lower_bound <= optimum * (1 + 1e-6) and certificate.upper_bound >= optimum * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_shares_that_must_be_zero(seed):
    """Min cᵀx + Σ x log(x/p) − x + p over shares of which some add up to zero: −log of the sum of p exp(−c)."""
    random = np.random.default_rng(seed)
    p, c, is_zero = random.random(5), random.normal(size=5), random.random(5) < 0.4
    p, shares = p / p.sum(), cp.Variable(5)
    told = [cp.sum(shares) == 1, shares >= 0, cp.sum(shares[np.flatnonzero(is_zero)]) <= 0]
    solution = cl.wrap(cp.Problem(cp.Minimize(c @ shares + cp.sum(cp.kl_div(shares, p))), told)).solve()
    optimum = -np.log(np.sum((p * np.exp(-c))[~is_zero]))
    assert solution.value == pytest.approx(optimum, abs=1e-6)
    assert solution.certificate.lower_bound - 1e-6 <= optimum <= solution.certificate.upper_bound + 1e-6
