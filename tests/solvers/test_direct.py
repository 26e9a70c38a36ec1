"""Small programs go to Clarabel directly, with the same answers and multipliers as through CVXPY."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.solvers.direct import run_directly
from cvxlink.solvers.isolation import Limits
from helpers.programs import PROGRAMS, Program

CONES = Program(
    lambda: {"x": cp.Variable(3), "t": cp.Variable()},
    lambda x, t: t + x[2],
    lambda x, t: {
        "exponential": cp.ExpCone(x[0], cp.Constant(1.0), x[2]),
        "power": cp.PowCone3D(x[1], x[2], t + 2, 0.4),
        "ball": cp.SOC(cp.Constant(3.0), x),
        "least": cp.NonNeg(x[0] + 1),
        "level": cp.Zero(x[1] - 1),
    },
)
ATTRIBUTES = Program(
    lambda: {
        "D": cp.Variable((2, 2), diag=True),
        "N": cp.Variable((2, 2), NSD=True),
        "s": cp.Variable(2, bounds=[-1, 2]),
    },
    lambda D, N, s: cp.trace(D) - cp.trace(N) + cp.sum(s),
    lambda D, N, s: {"lmi": D - N - np.ones((2, 2)) >> 0, "corner": N[0, 1] == -0.5},
)
ALL = {**{name: program for name, (program, _) in PROGRAMS.items()}, "cones": CONES, "attributes": ATTRIBUTES}


@pytest.mark.parametrize("name", ALL)
def test_the_answer_and_the_multipliers_are_those_of_cvxpy(name):
    program = ALL[name]
    directly = run_directly(program.declaration, {}, Limits(), verbose=False)
    known = program.solve(solver="CLARABEL", form="declared", presolve=False, accuracy=1e-7, strict=False)
    assert directly.status is cl.Status.OPTIMAL and directly.conic is not None
    certificate = cl.certify(program, directly.values, directly.duals)
    assert certificate.value == pytest.approx(known.value, abs=1e-5) and certificate.holds(1e-4)
    if name == "nuclear":  # two terms hold the same eigenvalues at zero, and share their multipliers in any way
        return
    for group, dual in known.duals.items():
        given, wanted = np.ravel(directly.duals[group]), np.ravel(dual)
        assert given.shape == wanted.shape
        np.testing.assert_allclose(given, wanted, atol=2e-3 * (1 + abs(wanted).max()), err_msg=group)


def test_a_maximisation_has_multipliers_of_the_other_sign():
    class Most(Program):
        def objective(self, **variables):
            return cp.Maximize(self.written[1](**variables))

    program = Most(lambda: {"x": cp.Variable()}, lambda x: 3 * x, lambda x: {"most": x <= 2})
    solution = program.solve()
    assert solution.value == pytest.approx(6) and solution.duals["most"] == pytest.approx(3)


@pytest.mark.parametrize(("sign", "status"), [(1.0, cl.Status.INFEASIBLE), (-1.0, cl.Status.UNBOUNDED)])
def test_what_has_no_answer_is_said_and_proven(sign, status):
    """x + y ≥ 3 has no point in the ball of radius 2 around the origin, and no end without it."""
    constraints = {
        cl.Status.INFEASIBLE: lambda x: {"far": cp.sum(x) >= 3, "ball": cp.norm(x) <= 2},
        cl.Status.UNBOUNDED: lambda x: {"far": cp.sum(x) >= 3},
    }[status]
    solution = Program(lambda: {"x": cp.Variable(2)}, lambda x: sign * cp.sum(x), constraints).solve(strict=False)
    assert solution.status is status and "proven" in solution.reason


def test_a_named_solver_and_options_go_through_cvxpy(monkeypatch):
    def never(*given):
        raise AssertionError("called directly")

    monkeypatch.setattr("cvxlink.engine.solve.run_directly", never)
    program, _ = PROGRAMS["sphere"]
    assert program.solve(solver="CLARABEL").status is cl.Status.OPTIMAL
    with pytest.raises(AssertionError, match="called directly"):
        program.solve()
