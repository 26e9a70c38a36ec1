"""Rows that are nearly parallel, and large numbers elsewhere: rounding there proves nothing."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.certificates.search import Budget, search
from cvxlink.reductions import cones

PROVEN = (cl.Status.OPTIMAL, cl.Status.INFEASIBLE, cl.Status.UNBOUNDED)


def wrapped(objective, a, e, fixed, more=lambda x: []):
    """Return a program in which a·x = 1 and its neighbour fix x₀, by a difference of e in one coefficient."""
    a = np.array(a, dtype=float)
    x = cp.Variable(len(a), name="x")
    rows = [a @ x == 1, a @ x + e * x[0] == 1 + fixed * e]  # exact: all numbers are short binary fractions
    return cl.wrap(cp.Problem(objective(x), [*rows, *more(x)]))


@pytest.mark.parametrize("power", [28, 30, 31, 32, 36])
@pytest.mark.parametrize("objective", [lambda x: cp.Minimize(x[0]), lambda x: cp.Maximize(x[0])])
def test_what_their_difference_fixes_is_not_free(power, objective):
    for a, more in (([1, -4, 3, 0], lambda x: [cp.norm(x, "inf") <= 5000]), ([1, 3, 1, 1, -2, 4, 4], lambda x: [])):
        solution = wrapped(objective, a, 2.0**-power, 5.0, more).solve(strict=False)
        if solution.status in PROVEN:
            assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(5, abs=1e-2)


@pytest.mark.parametrize(("size", "gap"), [(1e8, 1e-5), (1e6, 1e-7), (1e4, 1e-9)])
def test_a_large_variable_elsewhere_makes_nothing_feasible(size, gap):
    x, z = cp.Variable(2, name="x"), cp.Variable(name="z")
    rows = [z >= size, cp.sum(x) <= 1, cp.sum(x) >= 1 + gap]
    solution = cl.wrap(cp.Problem(cp.Minimize(z / 1e8 + cp.sum_squares(x) + x[0]), rows)).solve(strict=False)
    assert solution.status is not cl.Status.OPTIMAL
    assert solution.certificate is None or solution.certificate.attained is None


@pytest.mark.parametrize("size", [1.0, 1e4, 1e10, 1e100])
def test_a_large_point_makes_nothing_feasible(size):
    x = cp.Variable(2, name="x")
    x.save_value(np.array([size, 0.0]))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + x[0]), [cp.sum(x) <= 1, cp.sum(x) >= 1 + 1e-3])
    assert cl.certify(problem).upper_bound is None


def test_a_solver_that_panics_has_no_answer(monkeypatch):
    class PanicException(BaseException):
        """What Rust raises; it is no Exception."""

    class Panics:
        def __init__(self, *_):
            raise PanicException("Eigval error")

    K = cp.Variable((3, 3), symmetric=True, name="K")
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(K)), [cp.diag(K) == 1, K >> 0]))
    monkeypatch.setattr(cones.clarabel, "DefaultSolver", Panics)
    block = [cones.Block("nonnegative", slice(0, 1))]
    assert search(np.ones(1), sp.csr_array(np.ones((1, 1))), np.zeros(1), block, Budget()) is None
    solution = problem.solve(strict=False)
    assert solution.status in (cl.Status.OPTIMAL, cl.Status.INACCURATE, cl.Status.ERROR, cl.Status.UNPROVEN)
