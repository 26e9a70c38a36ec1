"""INFEASIBLE and UNBOUNDED are said only with a proof, and never of a program that has an optimum."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.certificates.verdicts import proven_verdict
from cvxlink.model.declared import Declaration

INFEASIBLE, UNBOUNDED = cl.Status.INFEASIBLE, cl.Status.UNBOUNDED


def declared(variable, minimise, **constraints):
    objective = minimise if isinstance(minimise, cp.Maximize) else cp.Minimize(minimise)
    return Declaration({"x": variable}, objective, {name: [term] for name, term in constraints.items()})


def vector(**attributes):
    return cp.Variable(2, **attributes)


def matrix(**attributes):
    return cp.Variable((3, 3), **(attributes or {"symmetric": True}))


def infeasible_programs():
    x = vector()
    yield "parallel lines", declared(x, x[0], above=x[0] + x[1] >= 1, below=x[0] + x[1] <= 0.5)
    x = vector()
    # 0.3 x₀ + 0.9 x₁ is three times the first row, but not in floating point
    yield "rounded rows", declared(x, x[0], above=0.1 * x[0] + 0.3 * x[1] >= 1, below=0.3 * x[0] + 0.9 * x[1] <= 2)
    x = vector(nonneg=True)
    yield "a sign", declared(x, cp.sum(x), negative=cp.sum(x) <= -1)
    x = vector()
    yield "a disc", declared(x, x[0], disc=cp.norm(x) <= 1, line=x[0] + x[1] >= 2)
    x = vector()
    yield "a square", declared(x, x[0], disc=cp.sum_squares(x) <= 1, line=x[0] + x[1] >= 2)
    x = vector()
    yield "an exponential", declared(x, x[0], small=cp.exp(x[0]) <= 0.5, positive=x[0] >= 0)
    K = matrix()
    yield "a kernel", declared(K, cp.trace(K), unit=cp.diag(K) == 1, sum=K[0, 1] + K[0, 2] >= 3, psd=K >> 0)
    K = matrix(PSD=True)
    yield "a negative diagonal", declared(K, -cp.trace(K), negative=K[0, 0] == -1)
    K = matrix()
    # the completion has determinant 1 − 1 − 1 < 0
    yield (
        "contradictory links",
        declared(
            K, 0 * K[0, 0], unit=cp.diag(K) == 1, must=K[0, 1] == 1, also=K[1, 2] == 1, cannot=K[0, 2] == 0, psd=K >> 0
        ),
    )


def unbounded_programs():
    x = vector()
    yield "a wedge", declared(x, -x[0], above=x[1] >= 0.3 * x[0], below=x[1] <= 0.7 * x[0])
    x = vector()
    yield "absolute values", declared(x, cp.norm1(x) - 2 * x[0], below=x[1] <= 1)
    x = vector(nonneg=True)
    yield "maximising", declared(x, cp.Maximize(cp.sum(x)), first=x[0] <= 1)
    K = matrix(PSD=True)
    yield "a diagonal", declared(K, -K[0, 0], other=K[1, 1] <= 1)
    K = matrix()
    yield "a trace", declared(K, -cp.trace(K), one=K[0, 0] == 1, psd=K >> 0)


def programs_with_an_optimum():
    x = vector()
    yield "far away", declared(x, x[0], far=1e-10 * x[0] >= 1)
    x = vector()
    yield "a far optimum", declared(x, -x[0], far=1e-12 * x[0] <= 1)
    x = vector()
    yield "a thin wedge", declared(x, -x[0], above=x[1] >= 1e-9 * x[0], below=x[1] <= 1)
    x = vector()
    yield "nearly parallel", declared(x, x[1] ** 2, above=x[1] >= 1e-9 * x[0] + 1, below=x[1] <= 0)
    x = vector()
    yield "absolute values", declared(x, cp.norm1(x), below=x[1] <= 1)
    x = cp.Variable(4)  # (1, 1e4, 1e8, 1e12) is feasible
    yield "a chain", declared(x, cp.sum(x), first=x[0] >= 1, growing=x[1:] >= 1e4 * x[:-1])
    x = cp.Variable(4)  # the optimum is −1e15
    yield "a chain with a far optimum", declared(x, -x[3], first=x[0] <= 1, growing=x[1:] <= 1e5 * x[:-1])
    K = matrix()
    yield "no interior", declared(K, cp.trace(K), unit=cp.diag(K) == 1, must=K[0, 1] == 1, psd=K >> 0)
    K = matrix()
    yield "a point", declared(K, cp.trace(K), zero=cp.trace(K) <= 0, psd=K >> 0)
    x = vector()
    yield "one point", declared(x, x[0], disc=cp.norm(x) <= 1, line=x[0] + x[1] >= np.sqrt(2) - 1e-9)


def named(programs):
    return [pytest.param(program, id=name) for name, program in programs]


@pytest.mark.parametrize("claimed", [INFEASIBLE, UNBOUNDED])
@pytest.mark.parametrize("program", named(infeasible_programs()))
def test_a_contradiction_is_found_whatever_was_claimed(program, claimed):
    verdict, words = proven_verdict(program, claimed)
    assert verdict is INFEASIBLE and words.startswith("proven")


@pytest.mark.parametrize("claimed", [INFEASIBLE, UNBOUNDED])
@pytest.mark.parametrize("program", named(unbounded_programs()))
def test_a_ray_is_found_whatever_was_claimed(program, claimed):
    verdict, words = proven_verdict(program, claimed)
    assert verdict is UNBOUNDED and words.startswith("proven")


@pytest.mark.parametrize("claimed", [INFEASIBLE, UNBOUNDED])
@pytest.mark.parametrize("program", named(programs_with_an_optimum()))
def test_nothing_is_proven_of_a_program_that_has_an_optimum(program, claimed):
    assert proven_verdict(program, claimed) is None


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_do_not_matter(scale):
    x = vector()
    infeasible = declared(x, x[0], above=scale * (x[0] + x[1]) >= 1, below=x[0] + x[1] <= 0.5 / scale)
    assert proven_verdict(infeasible, INFEASIBLE)[0] is INFEASIBLE
    unbounded = declared(x, -scale * x[0], above=scale * x[1] >= 0.3 * scale * x[0])
    assert proven_verdict(unbounded, UNBOUNDED)[0] is UNBOUNDED


class Interval(cl.Problem):
    """min x over 1 ≤ x ≤ 2."""

    def variables(self):
        return {"x": cp.Variable(name="x")}

    def objective(self, x):
        return cp.Minimize(x)

    def constraints(self, x):
        return {"least": x >= 1, "most": x <= 2}


@pytest.mark.parametrize("claimed", [cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE, cp.UNBOUNDED])
def test_a_solver_that_claims_it_wrongly_is_not_believed(claimed, monkeypatch):
    monkeypatch.setattr(cp.Problem, "solve", lambda self, **options: setattr(self, "_status", claimed))
    solution = Interval().solve("CLARABEL", strict=False)
    assert solution.status is cl.Status.UNPROVEN and "nothing proves" in solution.reason
    with pytest.raises(cl.SolveFailed, match="nothing proves"):
        Interval().solve("CLARABEL")


def nearly_tangent(room):
    """Return exp(x) ≤ y ≤ 1 + room + x: feasible exactly if room ≥ 0, because exp(x) ≥ 1 + x with equality at 0."""
    x = cp.Variable(2)
    return declared(x, x[0], above=cp.exp(x[0]) <= x[1], below=x[1] <= 1 + room + x[0])


def nearly_uniform(room, n=5):
    """Return distributions with entropy of at least log n − room: there are some exactly if room ≥ 0."""
    x = cp.Variable(n)
    return declared(x, x[0], entropy=cp.sum(cp.entr(x)) >= np.log(n) - room, sum=cp.sum(x) == 1)


@pytest.mark.parametrize("case", [nearly_tangent, nearly_uniform])
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_small_contradictions_of_exponential_cones_are_proven(case, gap):
    assert proven_verdict(case(-gap), INFEASIBLE)[0] is INFEASIBLE
    assert proven_verdict(case(gap), INFEASIBLE) is None


@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-11, 1e-9])
def test_programs_that_just_have_a_point_are_not_infeasible(gap):
    assert proven_verdict(nearly_tangent(gap), INFEASIBLE) is None
    assert proven_verdict(nearly_uniform(gap + 1e-14), INFEASIBLE) is None
