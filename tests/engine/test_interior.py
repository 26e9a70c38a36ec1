"""Which constraints leave a program without an interior, where reductions do not see it."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from helpers.programs import Program

COST = np.diag([1.0, 2.0, 3.0])


def program(constraints, soft=0.0):
    return Program(
        lambda: {"K": cp.Variable((3, 3), symmetric=True)},
        lambda K: cp.sum(cp.multiply(COST, K)) + soft * cp.sum_squares(K),
        lambda K: {**constraints(K), "psd": K >> 0},
    )


@pytest.mark.parametrize("soft", [0.0, 1.0])
@pytest.mark.parametrize(
    ("constraints", "blamed", "innocent"),
    [
        (lambda K: {"low": K[0, 1] >= 0.5, "high": K[0, 1] <= 0.5, "far": K[2, 2] <= 9}, ("low", "high"), ("far",)),
        # K₀₀ + K₁₁ − 2K₀₁ = 0 follows from the three, none of which says so alone
        (
            lambda K: {"a": K[0, 0] + K[2, 2] == 2, "b": K[1, 1] - K[2, 2] == 0, "c": K[0, 1] == 1, "d": K[1, 2] <= 8},
            ("a", "b", "c", "psd"),
            ("d",),
        ),
        (lambda K: {"sum": K[0, 1] + K[0, 2] == 1, "a": K[0, 1] >= 1, "b": K[0, 2] >= 0}, ("sum", "a", "b"), ("psd",)),
    ],
)
def test_constraints_that_leave_no_room_are_named(constraints, blamed, innocent, soft):
    plan = program(constraints, soft).explain(solver="CLARABEL")
    assert "no interior" in plan.diagnosis and plan.diagnosis.split(":")[1].strip() in " ".join(str(plan).split())
    assert all(repr(name) in plan.diagnosis for name in blamed)
    assert not any(repr(name) in plan.diagnosis for name in innocent)


@pytest.mark.parametrize("soft", [0.0, 1.0])
def test_programs_with_an_interior_are_not_diagnosed(soft):
    for constraints in (
        lambda K: {"unit": cp.diag(K) == 1, "low": K[0, 1] >= 0.9},
        lambda K: {"unit": cp.diag(K) == 1, "must": K[0, 1] == 1},  # it has none, but after the reduction it does
        lambda K: {"large": cp.diag(K) <= 1e6},
    ):
        plan = program(constraints, soft).explain(solver="CLARABEL")
        assert plan.diagnosis == "" and "no interior" not in str(plan)


def test_hardly_any_room_is_not_none():
    """K with a unit diagonal and K₀₁ = 1 − 1e-9 has the eigenvalues 1e-9 and 2 − 1e-9, so it is an interior point."""
    plan = program(lambda K: {"unit": cp.diag(K) == 1, "near": K[0, 1] == 1 - 1e-9}).explain(solver="CLARABEL")
    assert plan.diagnosis.startswith("almost no interior") and "almost no room (about 1e-09)" in plan.diagnosis
    assert "no point" not in plan.diagnosis and all(name in plan.diagnosis for name in ("'unit'", "'near'", "'psd'"))
