"""Exactly feasible points near an answer."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.certificates import faces_by_search
from helpers.programs import PROGRAMS, Program


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_its_value_is_never_below_the_optimum(name, seed, size):
    """Whatever is wrong with an answer, a value that the program attains is not below its optimum."""
    program, optimum = PROGRAMS[name]
    solution = program.solve("CLARABEL", accuracy=1e-7)
    optimum = solution.value if optimum is None else optimum
    rng = np.random.default_rng(seed)
    moved = {key: value + size * rng.standard_normal(np.shape(value)) for key, value in solution.values.items()}
    moved = {k: (v + v.T) / 2 if np.ndim(v) == 2 else v for k, v in moved.items()}
    certificate = cl.certify(program, moved)
    if certificate.upper_bound is not None:
        assert certificate.upper_bound >= optimum - 2e-7
        assert certificate.upper_bound <= optimum + 1e4 * size + 1e-6


def test_inequalities_that_are_tight_everywhere_count_as_equations():
    """Min y with 1 ≤ x + y ≤ 1 and x in [0, 1]: 0."""
    program = Program(
        lambda: {"x": cp.Variable(bounds=[0, 1]), "y": cp.Variable()},
        lambda x, y: y,
        lambda x, y: {"least": x + y >= 1, "most": x + y <= 1},
    )
    certificate = cl.certify(program, {"x": 1 - 1e-7, "y": 3e-7})
    assert certificate.upper_bound == pytest.approx(0, abs=1e-6) and certificate.upper_bound >= 0


def on_a_ray():
    """A cone that must be left along a ray, which no equation shows: min x_0 + x_1 with |x_1| ≤ x_0 − 1 ≤ −x_1, 1."""
    return Program(
        lambda: {"x": cp.Variable(2)},
        lambda x: x[0] + x[1],
        lambda x: {"cone": cp.SOC(x[0] - 1, cp.reshape(x[1], (1,), order="F")), "most": x[0] + x[1] <= 1},
    )


def test_without_room_the_faces_of_the_cones_are_searched():
    solution = on_a_ray().solve("CLARABEL")
    assert solution.status is cl.Status.OPTIMAL
    assert solution.certificate.lower_bound - 1e-6 <= 1 <= solution.certificate.upper_bound <= 1 + 1e-6


def test_without_room_the_certificate_of_a_larger_program_says_what_leaves_none(monkeypatch):
    monkeypatch.setattr(faces_by_search, "MOST_UNKNOWNS", 0)
    solution = on_a_ray().solve("CLARABEL", strict=False)
    assert solution.certificate.upper_bound is None
    assert "'cone'" in solution.certificate.missing and "'most'" in solution.certificate.missing
    assert solution.status is cl.Status.INACCURATE


def test_a_point_that_satisfies_everything_is_taken_as_it_is():
    program = Program(lambda: {"x": cp.Variable(2, nonneg=True)}, lambda x: cp.sum_squares(x - 1))
    certificate = cl.certify(program, {"x": np.array([1.0, 0.5])})
    assert certificate.upper_bound == certificate.value == pytest.approx(0.25)


def test_the_answer_to_a_maximisation_is_moved_inside():
    program = cl_maximisation()
    certificate = cl.certify(program, {"x": np.full(3, 1 / 3 + 1e-6)})
    assert certificate.lower_bound <= np.log(1 / 3) * 3 <= certificate.upper_bound
    assert certificate.gap < 1e-5


def cl_maximisation():
    class Product(Program):
        def objective(self, **variables):
            return cp.Maximize(self.written[1](**variables))

    return Product(lambda: {"x": cp.Variable(3)}, lambda x: cp.sum(cp.log(x)), lambda x: {"sum": cp.sum(x) <= 1})
