"""Violations are judged against the size of their own constraint."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.certificates.evaluation import value_of
from helpers.written import Written

V, least = cp.Variable, cp.Minimize


def relative(problem: cl.Problem, **values) -> dict[str, float]:
    return cl.certify(
        problem, {name: np.asarray(value, dtype=float) for name, value in values.items()}
    ).relative_violations


def test_an_equation_of_a_matrix_with_large_entries_elsewhere_is_judged_by_its_own_terms():
    problem = Written(
        lambda: {"K": V((3, 3), symmetric=True)},
        lambda K: least(K[2, 2]),
        lambda K: {"zero": K[0, 0] == 0, "one": K[2, 2] + 2 * K[0, 1] == 1, "psd": K >> 0},
    )
    far_off = cl.certify(problem, {"K": np.diag([0.0, 1e8, 0.0])})
    assert far_off.violations["one"] == pytest.approx(1) and not far_off.holds(0.5)
    # Small beside the entries that it could have: nobody minds.
    near = relative(problem, K=np.diag([1e-9, 1.0, 1.0]))
    assert max(near.values()) == pytest.approx(1e-9)


@pytest.mark.parametrize("x", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("through", [False, True])
def test_a_contradiction_beside_a_large_number_is_a_contradiction(x, together, through):
    def constraints(x, w, y):
        return {
            "least": x >= 1,
            "same": x == w if through else w == 1,
            "most": (w if through else x) <= 0,
            "y": y >= 1e8,
        }

    if together:
        problem = Written(lambda: {"v": V(3)}, lambda v: least(v[2]), lambda v: constraints(v[0], v[1], v[2]))
        point = {"v": np.array([x, x if through else 1.0, 1e8])}
    else:
        problem = Written(lambda: {name: V() for name in "xwy"}, lambda x, w, y: least(y), constraints)
        point = {"x": x, "w": x if through else 1.0, "y": 1e8}
    assert not cl.certify(problem, point).holds(0.1)


def test_what_is_fixed_at_zero_is_judged_by_what_it_is_connected_with():
    scores = Written(
        lambda: {"f": V(4)},
        lambda f: least(cp.sum_squares(cp.diff(f))),
        lambda f: {"zero": f[0] == 0, "one": f[3] == 1, "equal": f[1] == f[0]},
    )
    found = relative(scores, f=[1e-9, -1e-9, 0.5, 1.0])
    assert found["zero"] == pytest.approx(1e-9) and found["equal"] == pytest.approx(1e-9)
    assert relative(scores, f=[0.1, 0.1, 0.5, 1.0])["zero"] == pytest.approx(0.1)


def test_an_answer_of_zeros_has_the_unit_of_its_rows():
    problem = Written(
        lambda: {"A": V(3), "E": V(3)},
        lambda A, E: least(cp.norm1(E) + cp.norm(A)),
        lambda A, E: {"sum": np.array([1.0, 2.0, 3.0]) == A + E, "trusted": E[0] == 0},
    )
    assert relative(problem, A=[1, 2, 3], E=[1e-9, 0, 0])["trusted"] == pytest.approx(1e-9 / 3)


def test_a_small_lower_limit_on_probabilities_may_be_missed_by_a_rounding_error():
    problem = Written(lambda: {"p": V(3)}, lambda p: least(p[0]), lambda p: {"sum": cp.sum(p) == 1, "least": p >= 1e-8})
    assert relative(problem, p=[0.9e-8, 0.5, 0.5 - 0.9e-8])["least"] == pytest.approx(1e-9 / 1e-3)


def example(unit: float = 1.0, factor: float = 1.0) -> Written:
    """A program in x and y, with y measured in another unit and one constraint multiplied by a factor."""
    return Written(
        lambda: {"x": V(2), "y": V(2), "K": V((2, 2), symmetric=True)},
        lambda x, y, K: least(cp.sum(x) + cp.trace(K)),
        lambda x, y, K: {
            "linear": factor * (x + unit * y) == factor * np.array([3.0, 0.0]),
            "norm": factor * cp.norm(unit * y) <= factor * 2,
            "cone": factor * (K - np.eye(2)) >> 0,
            "zero": factor * unit * y[0] == 0,
        },
    )


@pytest.mark.parametrize(("unit", "factor"), [(1e6, 1.0), (1e-6, 1.0), (1.0, 1e6), (1.0, 1e-6)])
def test_neither_units_nor_factors_change_what_is_judged(unit, factor):
    x, y, K = np.array([2.9, 0.3]), np.array([0.01, 2.2]), np.array([[1.5, 0.8], [0.8, 1.1]])
    wanted = relative(example(), x=x, y=y, K=K)
    assert all(violation > 1e-3 for violation in wanted.values())
    assert relative(example(unit, factor), x=x, y=y / unit, K=K) == pytest.approx(wanted)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_rows_of_a_linear_semidefinite_program_are_judged_alike(factor):
    def problem(factor: float) -> Written:
        return Written(
            lambda: {"K": V((2, 2), PSD=True)},
            lambda K: least(cp.trace(K)),
            lambda K: {"row": factor * K[0, 1] == factor * 1, "zero": factor * K[0, 0] == 0},
        )

    K = np.array([[0.2, 0.4], [0.4, 1.0]])
    assert relative(problem(factor), K=K) == pytest.approx(relative(problem(1.0), K=K))
    assert relative(problem(factor), K=K)["row"] == pytest.approx(0.6 / (1 + np.sqrt(0.2)))


@pytest.mark.parametrize(
    ("attributes", "value", "off"),
    [
        ({"nonneg": True}, [[1.0, -0.25], [-0.25, 1.0]], 0.25),
        ({"bounds": [0, 2]}, [[1.0, 0.0], [0.0, 2.5]], 0.5),
        ({"symmetric": True}, [[1.0, 0.2], [0.0, 1.0]], 0.1),
        ({"PSD": True}, [[1.0, 2.0], [2.0, 1.0]], 1.0),
        ({"PSD": True, "nonneg": True}, [[1.0, 2.0], [2.0, 1.0]], 1.0),
        ({"NSD": True}, [[1.0, 0.0], [0.0, -1.0]], 1.0),
        ({"diag": True}, [[1.0, 0.0], [0.3, 1.0]], 0.3),
        ({"sparsity": ([0, 1], [0, 1])}, [[1.0, 0.0], [0.3, 1.0]], 0.3),
    ],
)
def test_attributes_are_checked_all_of_them(attributes, value, off):
    problem = Written(lambda: {"X": V((2, 2), **attributes)}, lambda X: least(cp.sum_squares(X)))
    certificate = cl.certify(problem, {"X": np.array(value)})
    assert certificate.violations["X domain"] == pytest.approx(off)
    assert certificate.relative_violations["X domain"] > 0.05 and not certificate.holds(0.05)


def test_without_relative_violations_the_largest_entry_is_the_measure():
    certificate = cl.Certificate(1.0, {"row": 0.5}, lower_bound=1.0, scale=1000.0)
    assert certificate.largest_relative_violation == pytest.approx(5e-4)
    assert certificate.holds(1e-3) and not replace(certificate, relative_violations={"row": 0.5}).holds(1e-3)


# ---------------------------------------------------------------------- a rounding error outside a domain


@pytest.mark.parametrize(
    ("function", "value", "inside"),
    [
        (lambda p: cp.sum(cp.entr(p)), [-1e-11, 1.0], 0.0),
        (lambda p: -cp.sum(cp.entr(2 * p)) + 3 * p[1], [-1e-11, 0.5], 1.5),
        (lambda p: cp.sum(cp.sqrt(p)), [-1e-11, 4.0], 2.0),
        (lambda p: cp.sum(cp.kl_div(p, np.array([1.0, 1.0]))), [-1e-11, 1.0], 1.0),
        (lambda p: cp.geo_mean(p), [-1e-11, 1.0], 0.0),
    ],
)
def test_a_rounding_error_outside_a_domain_is_not_infinite(function, value, inside):
    p = V(2)
    p.value = np.array(value)
    assert value_of(function(p)) == pytest.approx(inside, abs=1e-9)


def test_further_outside_it_stays_infinite_and_the_violation_is_told():
    problem = Written(lambda: {"p": V(2)}, lambda p: least(-cp.sum(cp.entr(p))), lambda p: {"sum": cp.sum(p) == 1})
    outside = cl.certify(problem, {"p": np.array([-0.5, 1.5])})
    assert outside.value == np.inf and outside.violations["objective domain"] == pytest.approx(0.5)
    near = cl.certify(problem, {"p": np.array([-1e-11, 1.0])})
    assert near.value == pytest.approx(0.0) and near.violations["objective domain"] == pytest.approx(1e-11)


def test_what_a_variable_declares_is_no_violation_of_the_constraints_that_use_it():
    z = cp.Variable(2, name="z", nonneg=True)
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.sum(z) - cp.log(z[1] + 3)), [z[0] >= -5, cp.log(z[0] + 3) >= -9]))
    assert problem.certify({"z": [-1.0, 0.0]}).violations == {"z domain": 1, "constraints[0]": 0, "constraints[1]": 0}
    outside = problem.certify({"z": [-4.0, -4.0]}).violations  # z + 3 = −1 is outside the domain of the logarithm
    assert outside["z domain"] == 4 and outside["constraints[0]"] == 0
    assert outside["objective domain"] == pytest.approx(1) and outside["constraints[1]"] >= 1
