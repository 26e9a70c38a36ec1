"""Bounds for programs of no special kind."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink import terms
from cvxlink.reductions.cones import Block, into_dual, packed
from helpers.programs import LINKS, PROGRAMS, L, Program, kernel, on_sphere


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bound_meets_the_optimum(name):
    program, optimum = PROGRAMS[name]
    solution = program.solve(solver="CLARABEL", accuracy=1e-7)
    certificate = solution.certificate
    optimum = solution.value if optimum is None else optimum
    assert solution.value == pytest.approx(optimum, abs=2e-6)
    assert certificate.lower_bound <= optimum + 1e-9
    assert certificate.lower_bound == pytest.approx(optimum, abs=2e-6)
    assert certificate.reaches(1e-7)


@pytest.mark.parametrize("name", ["hinge", "squares", "sphere", "two variables", "divergence", "matrix inequality"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-3, 0.1, 1.0, 10.0]))
def test_it_holds_for_any_multipliers(name, seed, size):
    program, optimum = PROGRAMS[name]
    solution = _solved(name)
    optimum = solution.value if optimum is None else optimum
    rng = np.random.default_rng(seed)
    duals = {key: dual + size * rng.standard_normal(np.shape(dual)) for key, dual in solution.duals.items()}
    for seconds in (None, 0.0):  # with and without better multipliers
        certificate = cl.certify(program, dict(solution.values), duals, seconds=seconds)
        assert certificate.lower_bound is None or certificate.lower_bound <= optimum + 1e-6


def test_wrong_multipliers_are_seen():
    """Max x + y with x + y ≤ 3 has the multiplier 1; the multipliers alone prove nothing if they are wrong."""
    program = Maximisation(
        lambda: {"x": cp.Variable(2, bounds=[-9, 9])}, lambda x: cp.sum(x), lambda x: {"most": cp.sum(x) <= 3}
    )
    right, wrong, best = {"most": [1.0]}, {"most": [-1.0]}, {"x": np.array([1.0, 2.0])}
    assert cl.certify(program, best, right, seconds=0).holds(1e-9)
    assert cl.certify(program, best, wrong, seconds=0).upper_bound == pytest.approx(18)
    assert cl.certify(program, best, wrong).holds(1e-6)  # better ones are found
    # A point that is not optimal is as far from the bound as its value is.
    other = cl.certify(program, {"x": np.zeros(2)}, right)
    assert other.gap == pytest.approx(3) and other.largest_violation == 0 and not other.holds(0.1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_bounds_and_no_proviso(name):
    """Every one of these programs has a bounded set of solutions and a feasible point inside its constraints."""
    optimum, certificate = PROGRAMS[name][1], _solved(name).certificate
    optimum = certificate.value if optimum is None else optimum
    assert certificate.reach is None
    assert certificate.lower_bound - 1e-9 <= optimum <= certificate.upper_bound + 1e-9
    assert certificate.upper_bound - certificate.lower_bound <= 1e-5 * (1 + abs(optimum))


def test_without_multipliers_the_bound_is_searched_for_or_missing():
    program, _ = PROGRAMS["hinge"]
    values = dict(_solved("hinge").values)
    assert cl.certify(program, values).relative_gap < 1e-6
    alone = cl.certify(program, values, seconds=0)
    assert alone.lower_bound is None and "no multipliers for 'unit'" in alone.basis
    misfit = cl.certify(program, values, {"unit": np.zeros(3), "psd": np.eye(5)}, seconds=0)
    assert misfit.lower_bound is None and "must be" in misfit.basis and "finite numbers" in misfit.basis


def test_a_power_that_cvxpy_approximates_has_no_bound_and_one_that_it_does_not_has():
    # min x^p + 1/x: x = p^(−1/(p+1))
    p = np.sqrt(2)
    optimum = (p ** (-1 / (p + 1))) ** p + p ** (1 / (p + 1))
    for approx in (True, False):
        program = Program(
            lambda: {"x": cp.Variable(pos=True)},
            lambda x, approx=approx: cp.power(x, p, approx=approx) + cp.inv_pos(x),
        )
        certificate = program.solve(solver="CLARABEL", strict=False).certificate
        if approx:
            assert certificate.lower_bound is None and "approx=False" in certificate.basis
        else:
            assert optimum - 1e-6 < certificate.lower_bound <= optimum + 1e-9


def test_huge_multipliers_that_cancel_do_not_lift_the_bound_above_the_optimum():
    program = Program(
        kernel,
        lambda K: terms.smoothness(K, L) + terms.squared_links(K, LINKS),
        lambda K: {"unit": cp.diag(K) == 1, "again": cp.diag(K) == 1, "psd": K >> 0},
    )
    solution = program.solve(solver="CLARABEL", form="declared", accuracy=1e-7)
    rng = np.random.default_rng(0)
    for size in (1e8, 1e12, 1e15):
        large = size * rng.standard_normal(5)
        duals = {**solution.duals, "unit": solution.duals["unit"] + large, "again": solution.duals["again"] - large}
        assert cl.certify(program, dict(solution.values), duals).lower_bound <= solution.value + 1e-7


def test_tiny_costs_do_not_make_everything_pass():
    for weight, within in ((1.0, True), (1e-8, False)):
        program = Program(
            kernel,
            lambda K, weight=weight: weight * (terms.smoothness(K, L) + terms.squared_links(K, LINKS)),
            on_sphere,
        )
        known = _solved("squares")
        certificate = cl.certify(program, {"K": np.eye(5)}, {n: weight * d for n, d in known.duals.items()})
        assert certificate.gap == pytest.approx(weight * (np.trace(L) + 1 - known.value), rel=1e-3)
        assert not certificate.holds(1e-2), within


@pytest.mark.parametrize("solver", ["SCS", "CVXOPT", "SDPA"])
def test_every_solver_has_its_multipliers_certified(solver):
    for name in ("hinge", "squares", "matrix inequality", "two variables"):
        program, _ = PROGRAMS[name]
        solution = program.solve(solver=solver, accuracy=1e-4)
        assert solution.status is cl.Status.OPTIMAL
        assert solution.certificate.relative_gap <= 1e-4
        assert solution.value == pytest.approx(_solved(name).value, abs=1e-3)


KEPT: dict = {}


def _solved(name):
    if name not in KEPT:
        KEPT[name] = PROGRAMS[name][0].solve(solver="CLARABEL", accuracy=1e-7)
    return KEPT[name]


@pytest.mark.parametrize("kind", ["nonnegative", "second-order", "semidefinite", "exponential", "power"])
def test_multipliers_are_moved_into_the_dual_cone(kind):
    rng = np.random.default_rng(0)

    def member():
        """A point of the cone itself."""
        if kind == "nonnegative":
            return rng.random(4)
        if kind == "second-order":
            x = rng.standard_normal(3)
            return np.append(np.linalg.norm(x) + rng.random(), x)
        if kind == "semidefinite":
            B = rng.standard_normal((3, 2))
            return packed(B @ B.T)
        y, x = rng.random() + 0.1, rng.standard_normal()
        if kind == "exponential":
            return np.array([x, y, y * np.exp(x / y) + rng.random()])
        z = rng.random() + 0.1
        return np.array([y, z, (2 * rng.random() - 1) * y**0.3 * z**0.7])

    members = np.array([member() for _ in range(200)])
    count = members.shape[1]
    block = Block(kind, slice(0, count), order=3 if kind == "semidefinite" else 0, alpha=0.3)
    for size in (1e-9, 1.0, 1e3):
        for _ in range(20):
            w = into_dual([block], size * rng.standard_normal(count))
            assert (members @ w).min() >= -1e-9 * max(1e-12, abs(w).max()) * abs(members).max()


# ---------------------------------------------------------------------- maximisations


class Maximisation(Program):
    """Whatever is asked for, maximised."""

    def objective(self, **variables):
        return cp.Maximize(self.written[1](**variables))


def negated(program: Program) -> Program:
    """Return the same program as a maximisation of the negative objective."""
    variables, objective, constraints = program.written
    return Maximisation(variables, lambda **v: -objective(**v), constraints)


@pytest.mark.parametrize("name", ["hinge", "squares", "sphere", "two variables", "matrix inequality"])
def test_a_maximisation_has_the_bounds_of_its_negative(name):
    program, _ = PROGRAMS[name]
    solution = negated(program).solve(solver="CLARABEL", accuracy=1e-7, strict=False)
    certificate, mirrored = solution.certificate, _solved(name).certificate
    assert certificate.holds(1e-5)
    assert solution.value == pytest.approx(-mirrored.value, abs=1e-5)
    assert certificate.lower_bound == pytest.approx(-mirrored.upper_bound, abs=1e-5)
    assert certificate.upper_bound == pytest.approx(-mirrored.lower_bound, abs=1e-5)
    assert certificate.upper_bound >= solution.value - 1e-7


def largest_product_on_a_disc() -> Program:
    """Max log x + log y with x² + y² ≤ 2: at (1, 1), where it is 0, with the multiplier 1/2 of the squared norm."""
    return Maximisation(
        lambda: {"x": cp.Variable(2)}, lambda x: cp.sum(cp.log(x)), lambda x: {"disc": cp.sum_squares(x) <= 2}
    )


def test_the_optimum_of_a_maximisation_by_hand():
    program = largest_product_on_a_disc()
    exact = cl.certify(program, {"x": np.ones(2)}, {"disc": np.array([0.5])}, seconds=0)
    assert exact.upper_bound == pytest.approx(0, abs=1e-6) and exact.upper_bound >= -1e-9 and exact.holds(1e-5)
    # The multiplier of a row is the change of the optimum, so one of the wrong sign proves nothing near it.
    assert not cl.certify(program, {"x": np.ones(2)}, {"disc": np.array([-0.5])}, seconds=0).holds(0.1)
    worse = cl.certify(program, {"x": np.array([1.3, 0.5])}, {"disc": np.array([0.5])})
    assert worse.gap == pytest.approx(-np.log(1.3 * 0.5), abs=1e-5) and not worse.holds(1e-2)


@settings(max_examples=20)
@given(multiplier=st.floats(-3, 3), x=st.floats(0.1, 1.2), y=st.floats(0.1, 0.7))
def test_an_upper_bound_holds_for_any_point_and_multiplier(multiplier, x, y):
    certificate = cl.certify(largest_product_on_a_disc(), {"x": np.array([x, y])}, {"disc": np.array([multiplier])})
    if certificate.upper_bound is not None:
        assert certificate.upper_bound >= -1e-9


def test_directions_that_change_nothing_need_no_proviso():
    """|x − y| + |x − y − 1| is at least 1, wherever the two are together."""
    program = Program(
        lambda: {"x": cp.Variable(), "y": cp.Variable()},
        lambda x, y: cp.abs(x - y) + cp.abs(x - y - 1),
    )
    certificate = program.solve().certificate
    assert certificate.reach is None and 1 - 1e-6 <= certificate.lower_bound <= 1 + 1e-12


def test_a_limit_that_no_point_attains_is_a_bound():
    """Σ log(1 + exp(−i x)) tends to zero."""
    program = Program(lambda: {"x": cp.Variable()}, lambda x: cp.sum(cp.logistic(-np.arange(1.0, 4) * x)))
    certificate = program.solve().certificate
    assert -1e-6 <= certificate.lower_bound <= 0 <= certificate.upper_bound <= 1e-6


def test_intervals_are_narrowed_where_rounding_spoils_a_bound():
    """Costs of a million for an unknown of up to a million: what matters is that it must be small to be optimal."""
    program = Program(
        lambda: {"x": cp.Variable(2, bounds=[0, np.array([2.0, 1e6])])},
        lambda x: np.array([1.0, 1e6]) @ x,
        lambda x: {"least": cp.sum(x) >= 1},
    )
    certificate = program.solve().certificate
    assert 1 - 1e-7 <= certificate.lower_bound <= 1 <= certificate.upper_bound <= 1 + 1e-6


def test_a_matrix_that_is_symmetric_up_to_rounding_adds_no_equations():
    """λ_min(QᵀWQ) for a weighted cycle and a basis Q of the complement of 1: all weights are equal."""
    n = 6
    Q = np.linalg.svd(np.ones((1, n)))[2][1:].T
    B = np.eye(n) - np.roll(np.eye(n), 1, axis=1)
    program = Program(
        lambda: {"w": cp.Variable(n, nonneg=True)},
        lambda w: -cp.lambda_min(Q.T @ B.T @ cp.diag(w) @ B @ Q),
        lambda w: {"total": cp.sum(w) == 1},
    )
    optimum = -(2 - 2 * np.cos(2 * np.pi / n)) / n
    certificate = program.solve().certificate
    assert certificate.lower_bound - 1e-9 <= optimum <= certificate.upper_bound + 1e-9
    assert certificate.upper_bound - certificate.lower_bound <= 1e-6
