"""Any declared program on its faces: the optimum and the answer of plain CVXPY, with multipliers as declared."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers.programs import Program

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(9, 2)) + 3 * (np.arange(9) > 4)[:, None]
DISTANCES = ((POINTS[:, None] - POINTS[None]) ** 2).sum(-1)
W = RNG.random((8, 8)) + RNG.random((8, 8)).T
W = W + W.T
PATH = 2 * np.eye(8) - np.eye(8, k=1) - np.eye(8, k=-1)
NEAR = [(i, j) for i in range(5) for j in range(i) if DISTANCES[i, j] < 4 or i - j == 1]


def symmetric(n):
    return lambda: {"K": cp.Variable((n, n), symmetric=True)}


def k_means(soft):
    def constraints(K):
        must, cannot = [(0, 1), (1, 2), (7, 8)], [(0, 7), (3, 8)]
        return {
            "rows": cp.sum(K, axis=1) == 1,
            "trace": cp.trace(K) == 2,
            "must": [K[i] == K[j] for i, j in must],
            "cannot": [K[i, j] == 0 for i, j in cannot],
            "signs": K >= 0,
            "psd": K >> 0,
        }

    return Program(
        symmetric(9), lambda K: cp.sum(cp.multiply(DISTANCES, K)) + 0.1 * soft * cp.sum_squares(K), constraints
    )


class Unfolding(cl.Problem):
    """Maximum-variance unfolding of five points, of which the first two coincide."""

    def variables(self):
        return {"K": cp.Variable((5, 5), PSD=True)}

    def objective(self, K):
        return cp.Maximize(cp.trace(K) - 0.01 * cp.sum_squares(K))

    def constraints(self, K):
        near = [K[i, i] + K[j, j] - 2 * K[i, j] <= DISTANCES[i, j] for i, j in NEAR]
        return {"centred": cp.sum(K) == 0, "near": near, "same": K[0, 0] + K[1, 1] - 2 * K[0, 1] == 0}


def lifted(X, x):
    row = cp.reshape(x, (1, 4), order="F")
    return {
        "binary": cp.diag(X) == x,
        "must": [x[0] == x[1], X[0, 1] == x[0]],
        "cannot": X[2, 3] == 0,
        "bordered": cp.bmat([[np.ones((1, 1)), row], [row.T, X]]) >> 0,
    }


# the program, and the orders of its matrices after the reductions
PROGRAMS = {
    "a point at zero": (
        Program(
            symmetric(3),
            lambda K: K[2, 2],
            lambda K: {"a": K[0, 0] == 0, "b": K[2, 2] + 2 * K[0, 1] == 1, "psd": K >> 0},
        ),
        (2,),
    ),
    "k-means": (k_means(False), (6,)),
    "soft k-means": (k_means(True), (6,)),
    "cuts": (
        Program(
            symmetric(8),
            lambda K: cp.sum(cp.multiply(W, K)) + cp.sum(cp.pos(K[4, 5:])),
            lambda K: {
                "unit": cp.diag(K) == 1,
                "apart": [K[0, 1] == -1, K[2, 3] == -1],
                "must": K[1, 2] == 1,
                "psd": K >> 0,
            },
        ),
        (5,),
    ),
    "unfolding": (Unfolding(), (3,)),
    "huber": (
        Program(
            symmetric(8),
            lambda K: cp.sum(cp.multiply(PATH, K)) + cp.sum(cp.huber(K[0, 4:] - 0.3, 0.2)),
            lambda K: {
                "unit": cp.diag(K) == 1,
                "must": [K[0, 1] == 1, K[6, 7] == 1],
                "cannot": K[0, 6] == 0,
                "psd": K >> 0,
            },
        ),
        (6,),
    ),
    "two matrices": (
        Program(
            lambda: {"K": cp.Variable((5, 5), symmetric=True), "M": cp.Variable((4, 4), PSD=True)},
            lambda K, M: cp.sum(cp.multiply(PATH[:5, :5], K)) + cp.sum_squares(M[0] - K[0, :4]) + cp.trace(M),
            lambda K, M: {
                "unit": cp.diag(K) == 1,
                "must": K[0, 2] == 1,
                "same": M[0] == M[1],
                "low": cp.diag(M) <= 2,
                "psd": K >> 0,
            },
        ),
        (3, 4),
    ),
    "bounds of the variable": (
        Program(
            lambda: {"K": cp.Variable((5, 5), symmetric=True, bounds=[0, 1])},
            lambda K: cp.sum(cp.multiply(-W[:5, :5], K)) + cp.sum_squares(K[3]),
            lambda K: {"unit": cp.diag(K) == 1, "must": K[0, 2] == 1, "psd": K >> 0},
        ),
        (4,),
    ),
    "fantope": (
        Program(
            symmetric(6),
            lambda K: cp.sum(cp.multiply(W[:6, :6] - 2 * PATH[:6, :6], K)),
            lambda K: {
                "one": K @ np.ones(6) == 1,
                "trace": cp.trace(K) == 3,
                "upper": np.eye(6) - K >> 0,
                "psd": K >> 0,
            },
        ),
        (5, 6),
    ),
    "fantope with a point inside": (
        Program(
            symmetric(5),
            lambda K: cp.sum_squares(K - W[:5, :5]),
            lambda K: {"must": K[0] == K[1], "in": K[2, 2] == 1, "upper": np.eye(5) - K >> 0, "psd": K >> 0},
        ),
        (4, 4),
    ),
    "bordered": (
        Program(
            lambda: {"X": cp.Variable((4, 4), symmetric=True), "x": cp.Variable(4)},
            lambda X, x: cp.sum(cp.multiply(W[:4, :4] - 2 * np.eye(4), X)) + x[0],
            lifted,
        ),
        (4,),
    ),
}


def reference(program):
    """Return the optimum of the declared program by CVXPY alone, at tight tolerances."""
    plain = program.to_cvxpy(presolve=False)
    plain.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return plain.value


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL", None])
@pytest.mark.parametrize("name", PROGRAMS)
def test_reduced_programs_have_the_same_optimum(name, solver):
    program, orders = PROGRAMS[name]
    # Signs and bounds that a variable has itself have no multipliers from which to prove much.
    with_bounds = name == "bounds of the variable"
    solution = program.solve(solver=solver, form="declared" if solver else None, strict=not with_bounds)
    assert solution.status is cl.Status.OPTIMAL or with_bounds
    expected = 1.0 if name == "a point at zero" else reference(program)
    assert solution.value == pytest.approx(expected, abs=2e-4 * (1 + abs(expected)))
    contraction = next(step for step in solution.plan.steps if step.name == "contraction")
    assert tuple(sorted(contraction.after.sizes.psd)) == orders
    # The bound is for the declared program, whoever solved which form of it.
    assert solution.certificate.relative_gap < 1e-5 or with_bounds


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "a point at zero"])
def test_multipliers_have_the_declared_shapes_and_signs(name):
    program, _ = PROGRAMS[name]
    on, off = (program.solve(solver="CLARABEL", form="declared", presolve=p, strict=False) for p in (True, False))
    assert set(off.duals) <= set(on.duals)
    for key, multipliers in off.duals.items():
        assert np.shape(on.duals[key]) == np.shape(multipliers)
        if any(isinstance(term, cp.constraints.PSD) for term in program.declaration.constraints.get(key, [])):
            assert np.linalg.eigvalsh(on.duals[key])[0] > -1e-5 * (1 + abs(on.duals[key]).max())
    maximises = isinstance(program.declaration.objective, cp.Maximize)
    for key in ("signs", "low", "near"):
        if key in on.duals:
            assert (on.duals[key] * (1 if maximises else -1)).min() > -1e-6


def test_multipliers_are_still_derivatives_of_the_optimum():
    def program(move):
        return Program(
            symmetric(4),
            lambda K: cp.sum(cp.multiply(PATH[:4, :4], K)) + cp.sum_squares(K[0, 2:]),
            lambda K: {"unit": cp.diag(K) == 1, "must": K[0, 1] == 1, "at": 3 * K[1, 2] == 0.6 + move, "psd": K >> 0},
        )

    rise = (program(1e-3).solve(accuracy=1e-7).value - program(-1e-3).solve(accuracy=1e-7).value) / 2e-3
    solution = program(0.0).solve(solver="CLARABEL", form="declared", accuracy=1e-7)
    assert solution.duals["at"][0] == pytest.approx(rise, abs=1e-3)


def test_the_plan_says_which_points_and_why():
    text = " ".join(str(PROGRAMS["cuts"][0].explain()).split())
    assert "1 and 2 opposite to 0 and 3 by 'unit', 'must' and 'apart'" in text
    text = " ".join(str(PROGRAMS["k-means"][0].explain()).split())
    assert (
        "(0, 1 and 2 by 'must'; 7 and 8 by 'must')" in text and "rows that are repeated or implied are dropped" in text
    )
    text = " ".join(str(PROGRAMS["unfolding"][0].explain()).split())
    assert "0 and 1 by 'same'" in text and "Kv = 0 for a vector v over 4 points by 'centred'" in text
    text = " ".join(str(PROGRAMS["fantope"][0].explain()).split())
    assert "the matrix of 'upper' is singular, so order 5 instead of 6 is enough" in text and "by 'one'" in text
    pairs = [(i, i + 1) for i in range(0, 12, 2)] + [(12, i) for i in range(13, 20)]
    many = Program(
        symmetric(20),
        lambda K: cp.sum_squares(K),
        lambda K: {"unit": cp.diag(K) == 1, "must": [K[i, j] == 1 for i, j in pairs], "psd": K >> 0},
    )
    text = " ".join(str(many.explain()).split())
    assert (
        "(0 and 1 by 'unit' and 'must'; 2 and 3 by 'unit' and 'must'; 4 and 5 by 'unit' and 'must'; and 4 more)" in text
    )


def test_without_an_upper_bound_on_y_an_equation_yd_leaves_an_interior():
    program = Program(
        symmetric(4),
        lambda K: cp.sum(cp.multiply(W[:4, :4], K)) + cp.sum_squares(K),
        lambda K: {"one": K @ np.ones(4) == 1, "psd": K >> 0},
    )
    plan = program.explain()
    assert plan.steps[0].after is None and plan.diagnosis == ""


def test_a_matrix_that_must_be_zero_is_left_to_the_solver():
    for soft in (0.0, 1.0):
        program = Program(
            symmetric(3),
            lambda K, soft=soft: cp.sum(cp.multiply(W[:3, :3], K)) + soft * cp.sum_squares(K - 1),
            lambda K: {"nothing": cp.trace(K) == 0, "psd": K >> 0},
        )
        assert "K = 0 is the only feasible matrix" in cl.Contraction().refuses(program)
        assert program.solve(solver="CLARABEL", strict=False).value == pytest.approx(9 * soft, abs=1e-2)


def test_a_matrix_without_a_name_is_named_in_words():
    v = np.arange(1.0, 5.0)
    X = cp.Variable((4, 4), symmetric=True, name="X")
    constraints = [(np.eye(4) - X >> 0).set_label("upper"), (v @ X @ v == v @ v).set_label("one"), X >> 0]
    text = " ".join(str(cl.wrap(cp.Problem(cp.Minimize(cp.trace(X)), constraints)).explain()).split())
    assert "the matrix times v = 0 for a vector v over 4 points by 'one'" in text
