"""A lower bound for programs of no special kind, from the multipliers of their declared constraints."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink import terms
from cvxlink.conic_form import Cone

LINKS = cl.Links(5, must=[(0, 1)], cannot=[(0, 2), (1, 4)])
W = np.array([[0, 1, 2, 0, 1], [1, 0, 1, 1, 0], [2, 1, 0, 1, 1], [0, 1, 1, 0, 2], [1, 0, 1, 2, 0]], dtype=float)
L = np.diag(W.sum(axis=1)) - W


class Program(cl.Problem):
    """Whatever is asked for, of whatever variables."""

    yields_kernel = False

    def __init__(self, variables, objective, constraints=lambda **v: {}):
        self.written = variables, objective, constraints

    def variables(self):
        return self.written[0]()

    def objective(self, **variables):
        return cp.Minimize(self.written[1](**variables))

    def constraints(self, **variables):
        return self.written[2](**variables)


def kernel():
    return {"K": cp.Variable((5, 5), symmetric=True)}


def on_sphere(K):
    return {"unit": cp.diag(K) == 1, "psd": K >> 0}


A = np.array([1.0, -0.3, 2.5, 0.2])
P = np.array([0.1, 0.2, 0.3, 0.4])
# Each with its optimum, known by hand where a number stands there, otherwise from Clarabel at 1e-9.
PROGRAMS = {
    # soft thresholding: x = sign(a)(|a| − ½)₊
    "lasso": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: 0.5 * cp.sum_squares(x - A) + 0.5 * cp.norm1(x)),
        0.375 + 0.045 + 1.125 + 0.02,
    ),
    # the distribution nearest to nothing at all: uniform, −log 4; and to P: itself
    "entropy": (
        Program(
            lambda: {"x": cp.Variable(4, nonneg=True)},
            lambda x: -cp.sum(cp.entr(x)),
            lambda x: {"sum": cp.sum(x) == 1},
        ),
        -np.log(4),
    ),
    "divergence": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: cp.sum(cp.rel_entr(x, P)), lambda x: {"sum": cp.sum(x) == 1}),
        0.0,
    ),
    # the farthest point of a ball of radius 2
    "ball": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: A @ x, lambda x: {"ball": cp.SOC(cp.Constant(2.0), x)}),
        -2 * np.linalg.norm(A),
    ),
    "sphere": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: A @ x, lambda x: {"ball": cp.sum_squares(x) <= 4}),
        -2 * np.linalg.norm(A),
    ),
    # x + 1/x
    "power": (Program(lambda: {"x": cp.Variable()}, lambda x: x + cp.power(x, -1)), 2.0),
    "cube": (Program(lambda: {"x": cp.Variable(nonneg=True)}, lambda x: cp.power(x, 3) - 3 * x), -2.0),
    # two cones at once: the larger eigenvalue of [[x, 1], [1, −x]] is √(1 + x²)
    "eigenvalue": (
        Program(
            lambda: {"x": cp.Variable()},
            lambda x: cp.lambda_max(cp.bmat([[x, 1], [1, -x]])),
        ),
        1.0,
    ),
    "matrix inequality": (
        Program(lambda: {"x": cp.Variable()}, lambda x: x, lambda x: {"lmi": cp.bmat([[x, 1], [1, x]]) >> 0}),
        1.0,
    ),
    "hinge": (
        Program(kernel, lambda K: terms.smoothness(K, L) + 9 * terms.soft_cannot_links(K, LINKS), on_sphere),
        None,
    ),
    "squares": (Program(kernel, lambda K: terms.smoothness(K, L) + terms.squared_links(K, LINKS), on_sphere), None),
    "nuclear": (
        Program(
            kernel,
            lambda K: cp.sum_squares(K - np.diag([3.0, 2.0, 1.0, 0.5, -1.0])) + 2 * terms.nuclear_penalty(K),
            lambda K: {"psd": K >> 0},
        ),
        # eigenvalues d → (d − 1)₊: 1 + 4, 1 + 2, 1, ¼, 1
        (1 + 4) + (1 + 2) + 1 + 0.25 + 1,
    ),
    "two variables": (
        Program(
            lambda: {"x": cp.Variable(4), "t": cp.Variable()},
            lambda x, t: t + cp.sum_squares(x - A),
            lambda x, t: {"above": [cp.norm(x) <= t, t >= 1]},
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bound_meets_the_optimum(name):
    program, optimum = PROGRAMS[name]
    solution = program.solve(solver="CLARABEL", accuracy=1e-7)
    certificate = solution.certificate
    optimum = solution.value if optimum is None else optimum
    assert solution.value == pytest.approx(optimum, abs=2e-6)
    assert certificate.lower_bound <= optimum + 1e-9
    assert certificate.lower_bound == pytest.approx(optimum, abs=2e-6)
    assert certificate.basis.startswith("Lagrange")


@pytest.mark.parametrize("name", ["hinge", "squares", "sphere", "two variables", "divergence", "matrix inequality"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-3, 0.1, 1.0, 10.0]))
def test_it_holds_for_any_multipliers(name, seed, size):
    program, optimum = PROGRAMS[name]
    solution = _solved(name)
    optimum = solution.value if optimum is None else optimum
    rng = np.random.default_rng(seed)
    duals = {key: dual + size * rng.standard_normal(np.shape(dual)) for key, dual in solution.duals.items()}
    certificate = cl.certify(program, dict(solution.values), duals)
    if certificate.lower_bound is not None:  # the search may fail for absurd multipliers
        assert certificate.lower_bound <= optimum + 1e-6


def test_wrong_multipliers_are_seen():
    program, _ = PROGRAMS["hinge"]
    solution = _solved("hinge")
    right = cl.certify(program, dict(solution.values), dict(solution.duals))
    swapped = cl.certify(program, dict(solution.values), {**solution.duals, "unit": -solution.duals["unit"]})
    assert right.holds(1e-6) and not swapped.holds(0.1)
    # A point that is not optimal is as far above the bound as its value is.
    other = cl.certify(program, {"K": np.eye(5)}, dict(solution.duals))
    assert other.gap == pytest.approx(np.trace(L) - solution.value, abs=1e-5) and other.largest_violation == 0


def test_a_kernel_on_the_sphere_is_bounded_everywhere_and_others_as_far_as_is_said():
    assert "points with" not in _solved("hinge").certificate.basis
    assert "tr K ≤ 30" in _solved("nuclear").certificate.basis  # ten times 2 + 1
    assert "‖x‖ ≤ 20" in _solved("sphere").certificate.basis


def test_without_multipliers_there_is_no_bound_and_the_certificate_says_why():
    program, _ = PROGRAMS["hinge"]
    values = dict(_solved("hinge").values)
    assert cl.certify(program, values).lower_bound is None
    assert "no multipliers of 'unit'" in cl.certify(program, values).basis
    misfit = cl.certify(program, values, {"unit": np.zeros(3), "psd": np.eye(5)})
    assert misfit.lower_bound is None and "do not fit" in misfit.basis


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
    cone = Cone(kind, (), alpha=0.3 if kind == "power" else None)

    def member():
        """A point of the cone itself."""
        if kind == "nonnegative":
            return [rng.random(4)]
        if kind == "second-order":
            x = rng.standard_normal(3)
            return [np.linalg.norm(x) + rng.random(), x]
        if kind == "semidefinite":
            B = rng.standard_normal((3, 2))
            return [B @ B.T]
        y, x = rng.random() + 0.1, rng.standard_normal()
        if kind == "exponential":
            return [x, y, y * np.exp(x / y) + rng.random()]
        z = rng.random() + 0.1
        return [y, z, (2 * rng.random() - 1) * y**0.3 * z**0.7]

    shapes = [np.shape(part) for part in member()]
    members = [member() for _ in range(200)]
    for size in (1e-9, 1.0, 1e3):
        for _ in range(20):
            w = cone.into_dual([np.asarray(size * rng.standard_normal(shape)) for shape in shapes])
            products = [sum(np.sum(a * b) for a, b in zip(w, other, strict=True)) for other in members]
            scale = max(1e-12, max(abs(np.asarray(part)).max() for part in w)) * max(
                np.abs(np.asarray(part)).max() for other in members for part in other
            )
            assert min(products) >= -1e-9 * scale
