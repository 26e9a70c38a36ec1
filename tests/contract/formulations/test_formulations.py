"""Every formulation on the default settings, against plain CVXPY at tight tolerances."""

from __future__ import annotations

from functools import cache

import cvxpy as cp
import pytest

import cvxlink as cl
from contract.formulations import attributes, kernels, scores, tight  # noqa: F401  (they fill the list)
from contract.formulations.catalogue import CATALOGUE

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
# How far the reference may be off: it has no certificate.
REFERENCE = 2e-6
# CVXPY would rather not have them, but takes them.
pytestmark = [
    pytest.mark.filterwarnings("ignore:[\\s\\S]*NonPos"),
    pytest.mark.filterwarnings("ignore:Solution may be inaccurate"),
]
ANSWERED = [name for name, entry in CATALOGUE.items() if entry.status is cl.Status.OPTIMAL]
OTHERS = [name for name in CATALOGUE if name not in ANSWERED]


@cache
def solved(name: str) -> cl.Solution:
    return CATALOGUE[name].build().solve(strict=False)


@cache
def reference(name: str) -> float:
    """The optimum by hand, where CVXPY fails, or by CVXPY alone, of the program as it is declared."""
    problem = CATALOGUE[name].build()
    if hasattr(problem, "optimum"):
        return problem.optimum
    plain = problem.to_cvxpy()
    plain.solve(cp.CLARABEL, **TIGHT)
    assert plain.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE), plain.status
    return float(plain.value)


def test_there_are_forty_of_them():
    assert len(CATALOGUE) >= 40 and len(OTHERS) >= 7


@pytest.mark.parametrize("name", ANSWERED)
def test_the_answer_is_optimal(name):
    solution, value = solved(name), reference(name)
    off = REFERENCE * (1 + abs(value))
    assert solution.status is cl.Status.OPTIMAL, solution.reason
    certificate = solution.certificate
    assert solution.value == pytest.approx(value, rel=1e-4, abs=1e-4)
    assert certificate.lower_bound is None or certificate.lower_bound <= value + off
    assert certificate.upper_bound is None or certificate.upper_bound >= value - off
    assert abs(certificate.relative_gap) <= 1e-4


@pytest.mark.parametrize("name", ANSWERED)
def test_the_optimum_is_between_two_bounds(name):
    certificate, value = solved(name).certificate, reference(name)
    off = REFERENCE * (1 + abs(value))
    assert certificate.reach is None or not CATALOGUE[name].is_limited, certificate.basis
    assert certificate.lower_bound - off <= value <= certificate.upper_bound + off
    assert certificate.upper_bound - certificate.lower_bound <= 1e-4 * (1 + abs(value))


@pytest.mark.parametrize("name", OTHERS)
def test_there_is_no_answer_and_it_says_why(name):
    solution = solved(name)
    assert solution.status is CATALOGUE[name].status, solution.reason
    assert solution.reason
