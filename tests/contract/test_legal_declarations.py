"""Whatever CVXPY lets one declare is solved, or refused with a sentence; the optima are known by hand."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers.written import Written

V, least, most = cp.Variable, cp.Minimize, cp.Maximize
HALF = {"objective": lambda x, **_: least(cp.sum_squares(x - 1)), "constraints": lambda x, **_: {"x": x <= 0.5}}


def near_one(**others: Any) -> Written:
    """The nearest point to (1, 1) with x ≤ ½, beside variables that do not matter; the optimum is ½."""
    return Written(lambda: {"x": V(2), **{name: V(**kind) for name, kind in others.items()}}, **HALF)


SOLVED: dict[str, tuple[Written, float]] = {
    "no constraints": (Written(lambda: {"x": V(2)}, lambda x: least(cp.sum_squares(x - 1))), 0.0),
    "empty groups": (
        Written(
            lambda: {"x": V(2)}, lambda x: least(cp.sum_squares(x - 1)), lambda x: {"a": [], "b": (), "c": x[:0] == 0}
        ),
        0.0,
    ),
    "a variable of size 0": (near_one(nothing={"shape": 0}), 0.5),
    "a matrix of size 0": (near_one(nothing={"shape": (0, 0)}), 0.5),
    "nothing but size 0": (Written(lambda: {"x": V(0)}, lambda x: least(cp.sum(x) + 1), lambda x: {"x": x >= 0}), 1.0),
    "an unused variable": (near_one(unused={"shape": (3, 3), "symmetric": True}), 0.5),
    "an unused semidefinite variable": (near_one(unused={"shape": (3, 3), "PSD": True}), 0.5),
    "an unused variable with bounds": (near_one(unused={"shape": 2, "bounds": [3, 4]}), 0.5),
    "only unused variables": (Written(lambda: {"x": V(2, pos=True)}, lambda x: least(3)), 3.0),
    "PSD": (
        Written(lambda: {"x": V((2, 2), PSD=True)}, lambda x: least(cp.trace(x)), lambda x: {"x": x[0, 1] == 1}),
        2.0,
    ),
    "NSD": (
        Written(lambda: {"x": V((2, 2), NSD=True)}, lambda x: most(cp.trace(x)), lambda x: {"x": x[0, 1] == 1}),
        -2.0,
    ),
    "PSD and bounds": (
        Written(
            lambda: {"x": V((2, 2), PSD=True, bounds=[-0.3, 1])},
            lambda x: least(cp.sum(x)),
            lambda x: {"trace": cp.trace(x) == 1},
        ),
        0.4,
    ),
    "symmetric": (
        Written(lambda: {"x": V((3, 3), symmetric=True)}, lambda x: least(cp.norm1(x)), lambda x: {"x": x[0, 1] == 1}),
        2.0,
    ),
    "diag": (
        Written(
            lambda: {"x": V((3, 3), diag=True)},
            lambda x: least(cp.trace(x) + cp.sum_squares(x - 1)),
            lambda x: {"x": cp.diag(x) >= np.arange(3)},
        ),
        6 + (0.5 + 0.25) + 1 + (2 + 1),
    ),
    "sparsity": (
        Written(
            lambda: {"x": V((3, 3), sparsity=([0, 1, 2], [1, 2, 2]))},
            lambda x: least(cp.sum_squares(x - 1)),
            lambda x: {"x": cp.sum(x) == 2},
        ),
        6 + 1 / 3,
    ),
    "signs": (
        Written(
            lambda: {"a": V(2, nonneg=True), "b": V(2, nonpos=True), "c": V(2, pos=True), "d": V(2, neg=True)},
            lambda a, b, c, d: least(cp.sum(a - b + c - d)),
            lambda a, b, c, d: {"a": a[0] >= 1, "b": b[0] <= -1, "c": c[0] >= 1, "d": d[0] <= -1},
        ),
        4.0,
    ),
    "bounds, some infinite": (
        Written(
            lambda: {"x": V(3, bounds=[np.array([-1, -np.inf, 0]), np.array([0.5, 2, 3.0])])},
            lambda x: least(cp.sum_squares(x - 1)),
        ),
        0.25,
    ),
    "a bound on one side": (Written(lambda: {"x": V(3, bounds=[None, 2])}, lambda x: most(cp.sum(x))), 6.0),
    "no dimension": (
        Written(lambda: {"x": V(())}, lambda x: least(cp.abs(x - 3)), lambda x: {"x": x <= 1}),
        2.0,
    ),
    "three dimensions": (
        Written(
            lambda: {"x": V((2, 3, 2))}, lambda x: least(cp.sum_squares(x)), lambda x: {"x": cp.sum(x, axis=1) == 1}
        ),
        4 / 3,
    ),
    "a stack of matrices": (
        Written(
            lambda: {"x": V((2, 2, 2))},
            lambda x: least(cp.trace(x[0]) + 2 * cp.trace(x[1])),
            lambda x: {"psd": x >> 0, "corners": [x[:, 0, 1] == 1, x[:, 1, 0] == 1]},
        ),
        6.0,
    ),
    "one by one": (
        Written(lambda: {"x": V((1, 1))}, lambda x: least(x), lambda x: {"x": x >= 1}),
        1.0,
    ),
    "true comparisons of numbers": (
        Written(
            lambda: {"x": V()},
            lambda x: least(x),
            lambda x: {"t": True, "u": np.bool_(True), "v": np.ones(2) <= np.ones(2), "x": x >= 1},
        ),
        1.0,
    ),
    "a constraint on constants": (
        Written(
            lambda: {"x": V()},
            lambda x: least(x),
            lambda x: {"t": cp.Constant(0) <= 1, "psd": cp.Constant(np.eye(2)) >> 0, "x": x >= 1},
        ),
        1.0,
    ),
    "a generator of constraints": (
        Written(lambda: {"x": V(2)}, lambda x: least(cp.sum(x)), lambda x: {"x": (x[i] >= i for i in range(2))}),
        1.0,
    ),
    "an entropy at the boundary": (
        Written(
            lambda: {"p": V(4)},
            lambda p: least(-cp.sum(cp.entr(p)) + np.array([0, 0, 500, 500.0]) @ p),
            lambda p: {"simplex": cp.sum(p) == 1, "p": p >= 0},
        ),
        -np.log(2),
    ),
    "an entropy of a matrix at the boundary": (
        Written(
            lambda: {"K": V((3, 3), symmetric=True)},
            lambda K: least(-cp.von_neumann_entr(K) + 100 * K[0, 0]),
            lambda K: {"trace": cp.trace(K) == 1},
        ),
        -np.log(2 + np.exp(-100)),
    ),
    "an entropy in a constraint": (
        Written(
            lambda: {"p": V(3)},
            lambda p: least(p[0] - p[2]),
            lambda p: {"simplex": cp.sum(p) == 1, "entropy": cp.sum(cp.entr(p)) >= 0, "p": p >= 0},
        ),
        -1.0,
    ),
}


@pytest.mark.parametrize("name", SOLVED)
def test_it_is_solved(name):
    problem, optimum = SOLVED[name]
    solution = problem.solve()
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(optimum, abs=1e-5)
    assert solution.certificate.bound == pytest.approx(optimum, abs=1e-4)
    assert {variable: value.shape for variable, value in solution.values.items()} == {
        variable: declared.shape for variable, declared in problem.variables().items()
    }
    # What prints, prints.
    assert str(problem) and problem._repr_latex_() and str(problem.explain()) and str(solution)
    assert cl.certify(problem, solution.values).value == pytest.approx(optimum, abs=1e-5)


@pytest.mark.parametrize("wrong", [False, np.bool_(False), cp.Constant(1) <= 0, cp.Constant(-np.eye(2)) >> 0])
def test_a_false_comparison_of_numbers_is_infeasible(wrong):
    problem = Written(lambda: {"x": V()}, lambda x: least(x), lambda x: {"wrong": wrong, "x": x >= 1})
    assert problem.solve(strict=False).status is cl.Status.INFEASIBLE


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        (lambda: V(2, integer=True), "must be real"),
        (lambda: V(2, boolean=True), "must be real"),
        (lambda: V((2, 2), hermitian=True), "must be real"),
        (lambda: V((2, 2, 2), PSD=True), "one variable for each"),
        (lambda: V(2, bounds=[cp.Parameter(value=1.0), None]), "must be numbers"),
    ],
)
def test_a_variable_that_cannot_be_taken_is_refused_with_a_sentence(variable, says):
    with pytest.raises(cl.InvalidProblem, match=says):
        Written(lambda: {"x": variable()}, lambda x: least(cp.sum(cp.real(x)))).solve()


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        (lambda x: cp.constraints.FiniteSet(x, np.array([1.0, 2.0])), "not convex"),
        (lambda x: "x >= 1", "not a CVXPY constraint"),
        (lambda x: {"x": x >= 1}, "not a CVXPY constraint"),
    ],
)
def test_a_constraint_that_cannot_be_taken_is_refused_with_a_sentence(constraint, says):
    with pytest.raises(cl.InvalidProblem, match=says):
        Written(lambda: {"x": V(2)}, lambda x: least(cp.sum(x)), lambda x: {"x": constraint(x)}).solve()


def test_an_indicator_is_refused_with_a_sentence():
    with pytest.raises(cl.InvalidProblem, match="return these from constraints"):
        Written(lambda: {"x": V(2)}, lambda x: least(cp.sum(x) + cp.transforms.indicator([x >= 1]))).solve()
