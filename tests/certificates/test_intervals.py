"""Intervals that contain every feasible point that is good enough."""

import copy

import cvxpy as cp
import numpy as np
import pytest

from cvxlink.certificates.intervals import intervals_of
from cvxlink.certificates.search import Budget
from cvxlink.certificates.sublevel import strictly_inside
from cvxlink.reductions.standard_form import StandardForm
from helpers.programs import PROGRAMS, Program

C = np.array([[2.0, 1.0], [1.0, 3.0]])
VECTOR, MATRIX = lambda: {"x": cp.Variable(3)}, lambda: {"K": cp.Variable((2, 2), symmetric=True)}
# Programs, the worst value that counts, and the largest absolute value of every unknown where it is known by hand.
LIMITED = {
    "box": (Program(lambda: {"x": cp.Variable(3, bounds=[-1, 2])}, lambda x: cp.sum(x)), 9.0, [2, 2, 2]),
    "simplex": (Program(VECTOR, lambda x: x[0], lambda x: {"sign": x >= 0, "sum": cp.sum(x) == 1}), 9.0, [1, 1, 1]),
    "ball": (Program(VECTOR, lambda x: x[0], lambda x: {"ball": cp.norm(x) <= 2}), 9.0, [2, 2, 2]),
    "trace": (
        Program(MATRIX, lambda K: K[0, 1], lambda K: {"trace": cp.trace(K) == 3, "psd": K >> 0}),
        9.0,
        [3, 3, 3],
    ),
    "definite costs": (
        Program(MATRIX, lambda K: cp.trace(C @ K), lambda K: {"psd": K >> 0}),
        9.0,
        [9 / np.linalg.eigvalsh(C)[0]] * 3,
    ),
    "entropy": (
        Program(VECTOR, lambda x: -cp.sum(cp.entr(x)), lambda x: {"sum": cp.sum(x) == 1}),
        9.0,
        [1, 1, 1],
    ),
    "absolute values": (Program(VECTOR, lambda x: cp.norm1(x)), 4.0, [4, 4, 4]),
    "power": (
        Program(
            lambda: {"x": cp.Variable(3)},
            lambda x: x[2],
            lambda x: {"cone": cp.PowCone3D(x[0], x[1], x[2], 0.5), "box": x[:2] <= 4},
        ),
        9.0,
        [4, 4, 4],
    ),
}


@pytest.mark.parametrize("name", LIMITED)
def test_what_limits_the_unknowns_is_found(name):
    program, worst, known = LIMITED[name]
    form = StandardForm.of(program.declaration, 10_000)
    limits = intervals_of(form, worst)
    own = np.concatenate([limits.sizes[columns] for columns in form.columns.values()])
    np.testing.assert_allclose(own, known, rtol=1e-6)
    assert limits.is_closed


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_good_point_is_inside(name):
    """Points between the solution and any feasible point near it are no worse than the worse of the two."""
    program, _ = PROGRAMS[name]
    solution = program.solve("CLARABEL", accuracy=1e-7)
    form = StandardForm.of(program.declaration, 10_000)
    worst = solution.value + 0.5 * (1 + abs(solution.value))
    limits = intervals_of(form, worst)
    inside = strictly_inside(form, worst, Budget())
    assert inside is not None
    declared = copy.copy(program).declaration
    unknowns = np.concatenate([np.arange(len(form.cost))[columns] for columns in form.columns.values()])
    entries = cp.hstack([cp.vec(variable, order="F") for variable in declared.variables.values()])
    for seed in range(3):  # the farthest points in random directions
        way = np.random.default_rng(seed).standard_normal(entries.size)
        good = declared.objective.args[0] <= worst
        cp.Problem(cp.Maximize(way @ entries), [*declared.terms, good]).solve(solver="CLARABEL")
        found = form.unknowns({key: np.asarray(v.value) for key, v in declared.variables.items()})[unknowns]
        assert (found <= limits.high[unknowns] + 1e-5).all() and (found >= limits.low[unknowns] - 1e-5).all()
        assert np.linalg.norm(found) <= inside.norm


def test_nothing_bounds_an_unbounded_set_of_solutions():
    program = Program(lambda: {"x": cp.Variable(2)}, lambda x: x[0], lambda x: {"least": x[0] >= 1, "up": x[1] >= 0})
    form = StandardForm.of(program.declaration, 100)
    assert strictly_inside(form, 2.0, Budget()) is None
    assert np.isinf(intervals_of(form, 2.0).high[1])
