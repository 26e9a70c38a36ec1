"""The bound from the conjugate of log det: known optima, any multipliers, and no search."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.certificates import general
from cvxlink.certificates.log_det import log_det_bound
from cvxlink.errors import ReductionRefused
from helpers.programs import Program

N = 5
RNG = np.random.default_rng(3)
B = RNG.standard_normal((N, N))
C = B @ B.T / N + np.eye(N)


def kernel():
    return {"K": cp.Variable((N, N), symmetric=True)}


def nearest(weight=1.0, constraints=lambda K: {}):
    """Return min ⟨C, K⟩ − w log det K."""
    return Program(kernel, lambda K: cp.trace(C @ K) - weight * cp.log_det(K) + 2, constraints)


@pytest.mark.parametrize("weight", [1.0, 0.25, 3.0])
def test_without_constraints_the_bound_is_the_optimum(weight):
    """K = wC⁻¹ is optimal, with the value w(n + log det(C/w)) + 2."""
    optimum = weight * (N + np.linalg.slogdet(C / weight)[1]) + 2
    bound, rounding = log_det_bound(nearest(weight).declaration, {}, 1.0)
    assert bound == pytest.approx(optimum, rel=1e-12) and rounding < 1e-10
    solution = nearest(weight).solve()
    assert solution.status is cl.Status.OPTIMAL and "conjugate of log det" in solution.certificate.basis
    assert solution.certificate.lower_bound <= optimum <= solution.certificate.upper_bound + 1e-12


def near(K):
    return {"near": [K[0, 0] + K[1, 1] - 2 * K[0, 1] <= 0.1, K[2, 3] == 0.05], "psd": K >> 0}


def test_it_holds_for_any_multipliers():
    problem = nearest(constraints=near)
    optimum = problem.solve(accuracy=1e-8).value
    for scale in (0.0, 0.1, 1.0, 10.0, 100.0):
        duals = {"near": -scale * RNG.random(2), "psd": np.zeros((N, N))}
        try:
            bound, rounding = log_det_bound(problem.declaration, duals, 1.0)
        except ReductionRefused:
            continue
        assert bound - rounding <= optimum + 1e-6


def test_a_maximisation_has_an_upper_bound():
    class Largest(Program):
        def objective(self, K):
            return cp.Maximize(cp.log_det(K) - cp.trace(C @ K))

    solution = Largest(kernel, None, near).solve()
    assert solution.status is cl.Status.OPTIMAL
    assert solution.certificate.upper_bound == pytest.approx(2 - nearest(constraints=near).solve().value, abs=1e-4)
    assert solution.certificate.lower_bound <= solution.certificate.upper_bound


def test_nothing_is_searched_for(monkeypatch):
    solution = nearest(constraints=near).solve()
    for name in ("search", "strictly_inside"):
        monkeypatch.setattr(general, name, lambda *_, **__: pytest.fail("a search was started"))
    again = cl.certify(nearest(constraints=near), solution.values, solution.duals)
    assert again.lower_bound == pytest.approx(solution.certificate.lower_bound, rel=1e-9)


@pytest.mark.parametrize(
    ("objective", "constraints"),
    [
        (lambda K: cp.trace(C @ K), near),
        (lambda K: cp.sum_squares(K) - cp.log_det(K), near),
        (lambda K: cp.trace(K) - cp.log_det(K + np.eye(N)), near),
        (lambda K: cp.trace(K) - cp.log_det(K), lambda K: {"ball": cp.norm(K, "fro") <= 9}),
    ],
)
def test_other_programs_are_refused(objective, constraints):
    declaration = Program(kernel, objective, constraints).declaration
    with pytest.raises(ReductionRefused):
        log_det_bound(declaration, {"near": np.zeros(2), "ball": np.zeros(1), "psd": np.zeros((N, N))}, 1.0)
