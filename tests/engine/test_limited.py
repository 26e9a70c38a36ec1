"""Limits hold for everything from the declaration to the certificate, and for every route."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl

pytestmark = pytest.mark.slow
# How far beyond a limit a solve may end on a machine that does nothing else, and what a busy one may add.
OVER, BUSY = 1.0, 4.0


@pytest.fixture(scope="module", autouse=True)
def warm(small_pcp):
    """Start the worker, which does not count."""
    small_pcp.solve(time_limit=100)


@pytest.fixture(scope="module")
def large() -> cl.SRCP:
    """Its route has one step, an eigendecomposition of order 3000, which takes half a minute."""
    X, y = cl.datasets.load("two_moons", n=3000, random_state=0)
    return cl.SRCP(cl.Graph.knn(X), cl.Links.sample(y, n_links=50, random_state=0))


class Sleeps(cl.Route):
    """A route without steps that does not return in time."""

    name, why = "sleeps", "it is asked for"

    def run(self, data, settings):
        time.sleep(100)


class Counts(cl.Route):
    """A route that heeds its limit, and returns the best it has."""

    name, why, iterates = "counts", "it is asked for", True

    def run(self, data, settings):
        time.sleep(min(settings.seconds_left, 100))
        return cl.Attempt(cl.Status.LIMIT, "the time was up", {"x": np.full(2, 0.5)})


@dataclass(frozen=True, eq=False)
class Slow(cl.Problem):
    """The smallest vector, with routes and stages that take long."""

    declares: float = 0.0

    def variables(self):
        time.sleep(self.declares)
        return {"x": cp.Variable(2)}

    def objective(self, x):
        return cp.Minimize(cp.sum_squares(x))

    def constraints(self, x):
        return {}

    @cached_property
    def program(self):
        return cl.SpecialProgram(self, np.ones(2), (Sleeps(), Counts()))


def timed(problem, **options):
    began = time.monotonic()
    solution = problem.solve(**options, strict=False)
    return solution, time.monotonic() - began


@pytest.mark.parametrize("limit", [0.1, 1.5])
def test_a_route_with_one_long_step_is_stopped(large, limit):
    solution, seconds = timed(large, route="eigen", time_limit=limit)
    assert solution.status is cl.Status.LIMIT and f"stopped after {limit:g} s" in solution.reason
    assert seconds < limit + OVER + BUSY


def test_a_route_that_never_returns_is_stopped_and_named():
    solution, seconds = timed(Slow(), route="sleeps", time_limit=1.0)
    assert solution.status is cl.Status.LIMIT and solution.reason == "the route 'sleeps' was stopped after 1 s"
    assert solution.plan.route.name == "sleeps" and not solution.values
    assert seconds < 1 + OVER + BUSY


def test_reading_the_declaration_counts():
    solution, seconds = timed(Slow(declares=100.0), time_limit=0.5)
    assert solution.status is cl.Status.LIMIT and solution.reason == "presolving was stopped after 0.5 s"
    assert seconds < 0.5 + OVER + BUSY
    assert "before it was decided how to solve" in str(solution.plan)


def test_an_iterative_route_returns_its_best_point_and_it_is_certified():
    solution, seconds = timed(Slow(), route="counts", time_limit=2.0)
    assert solution.status is cl.Status.LIMIT and solution.reason.startswith("the time was up")
    np.testing.assert_array_equal(solution.values["x"], [0.5, 0.5])
    assert solution.value == pytest.approx(0.5)
    assert 1.7 < seconds < 2 + OVER + BUSY


class AtOnce(cl.Route):
    """A route that needs no time."""

    name, why = "at once", "it is asked for"

    def run(self, data, settings):
        return cl.Attempt(cl.Status.OPTIMAL, "found", {"x": np.full(2, 0.5)})


class Squares:
    """The program of ``Slow`` as data."""

    def value(self, point):
        return float(point["x"] @ point["x"])

    def violations(self, point):
        return {}


def never(data, point, duals):
    """A proof that does not end."""
    time.sleep(100)


class HardToProve(Slow):
    """An answer comes at once, its proof never."""

    @cached_property
    def program(self):
        return cl.SpecialProgram(self, Squares(), (AtOnce(),), never)


def test_an_answer_is_kept_if_its_proof_takes_too_long():
    solution, seconds = timed(HardToProve(), time_limit=1.0)
    assert solution.status is cl.Status.LIMIT and solution.reason == "certifying the answer was stopped after 1 s"
    np.testing.assert_array_equal(solution.values["x"], [0.5, 0.5])
    assert solution.value == 0.5 and solution.certificate.bound is None
    assert seconds < 1 + OVER + BUSY


def test_what_comes_back_belongs_to_the_problem_that_was_asked(small_pcp):
    here, there = small_pcp.solve(), small_pcp.solve(time_limit=100)
    assert there.problem is small_pcp and there.plan.problem is small_pcp
    assert str(there.plan) == str(here.plan)
    assert there.value == pytest.approx(here.value, rel=1e-9)
    np.testing.assert_allclose(there.kernel, here.kernel, atol=1e-9)
    assert there.certificate.lower_bound == pytest.approx(here.certificate.lower_bound, rel=1e-9)


def test_errors_are_those_of_this_process(small_pcp):
    with pytest.raises(cl.FormUnavailable, match="there is no route 'nosuch'"):
        small_pcp.solve(route="nosuch", time_limit=100)
    with pytest.raises(cl.SolverUnavailable, match="OSQP cannot take this program"):
        small_pcp.solve(solver="OSQP", time_limit=100)


class Raises(Slow):
    """A formulation with a mistake."""

    def objective(self, x):
        raise ZeroDivisionError("a mistake in the formulation")


def test_a_mistake_in_a_formulation_is_shown_as_it_is():
    with pytest.raises(ZeroDivisionError, match="a mistake in the formulation") as raised:
        Raises().solve(time_limit=100)
    assert "test_limited.py" in raised.value.__notes__[0]


def test_a_class_inside_a_function_can_be_limited():
    class Local(Slow):
        """It has no name by which another process could import it."""

    solution, _ = timed(Local(), route="counts", time_limit=2.0)
    assert solution.value == pytest.approx(0.5) and type(solution.problem) is Local


def test_memory_is_limited_in_routes(large):
    solution = large.solve(route="eigen", memory_limit="450MB", strict=False)
    assert solution.status is cl.Status.LIMIT
    assert solution.resources.megabytes < 450 * 1.1
