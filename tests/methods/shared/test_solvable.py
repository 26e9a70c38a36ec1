"""Verdicts that are impossible for our methods become errors, and what is said to refute them is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.engine.finishing import finished
from cvxlink.engine.options import Options
from cvxlink.engine.plan import make_plan
from cvxlink.methods.table import methods
from cvxlink.solvers.route import Attempt

GRAPH = replace(
    cl.Graph.from_affinity(0.2 + 0.6 * np.kron(np.eye(2), np.ones((3, 3)))),
    points=np.array([[0.0], [1], [2], [5], [6], [7]]),
)
LINKS = cl.Links(6, must=[(0, 1), (3, 4)], cannot=[(0, 3), (2, 5)])
LABELS = [0, -1, -1, 1, -1, -1]
PROBLEMS = {method.name: method.make(GRAPH, LINKS, LABELS, 2) for method in methods() if hasattr(cl, method.name)}
BOUNDED = cl.MinKL(GRAPH.kernel(), LINKS, must_bound=0.1, cannot_bound=0.2, jitter="smallest")


def after(problem: cl.Problem, verdict: cl.Status) -> cl.Solution:
    """Return what becomes of a verdict without an answer."""
    attempt = Attempt(verdict, "the solver says so")
    return finished(make_plan(problem, Options.of()), attempt, None, {}, strict=False)


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_method_of_ours_is_unbounded(name):
    solution = after(PROBLEMS[name], cl.Status.UNBOUNDED)
    assert solution.status is cl.Status.ERROR and solution.reason.startswith("the solver says so, but ")


@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "CSCGFHF"])
def test_no_method_of_ours_is_infeasible(name):
    solution = after(PROBLEMS[name], cl.Status.INFEASIBLE)
    assert solution.status is cl.Status.ERROR and solution.reason.startswith("the solver says so, but ")


def feasible_points():
    """Yield a problem and the point that is said to be feasible."""
    labels = np.zeros((6, 2))
    labels[PROBLEMS["GFHF"].known] = PROBLEMS["GFHF"].Y[PROBLEMS["GFHF"].known]
    entries = np.zeros((6, 6))
    entries[0, 1] = entries[1, 0] = entries[3, 4] = entries[4, 3] = 1
    blocks = np.eye(6)
    blocks[0, 1] = blocks[1, 0] = blocks[3, 4] = blocks[4, 3] = 1
    yield PROBLEMS["PCP"], {"K": blocks}
    yield PROBLEMS["KP"], {"K": blocks}
    yield PROBLEMS["CCSR"], {"M": np.zeros_like(PROBLEMS["CCSR"].solve().values["M"])}
    yield BOUNDED, {"K": 1e-3 * BOUNDED.prior}
    yield PROBLEMS["GFHF"], {"f": labels}
    yield PROBLEMS["SL"], {"A": entries}
    yield PROBLEMS["SSKK"], {"X": np.eye(6) / 3}
    yield PROBLEMS["NCuts"], {"X": np.eye(6) / 3}
    yield PROBLEMS["LinkedCut"], {"Z": np.kron(np.eye(2), np.ones((3, 3))) / 3}
    yield PROBLEMS["CSC"], {"f": PROBLEMS["CSC"].cut.satisfying}
    yield PROBLEMS["ImprovedOrder"], {"mu": np.zeros(6)}
    yield PROBLEMS["GaussianField"], {"epsilon": np.array(0.3)}


@pytest.mark.parametrize(("problem", "point"), list(feasible_points()), ids=lambda part: type(part).__name__)
def test_the_points_that_refute_infeasibility_are_feasible(problem, point):
    certificate = cl.certify(problem, point)
    assert certificate.largest_violation <= 1e-12 and np.isfinite(certificate.value)


def test_the_bound_of_the_divergence_is_attained_by_the_prior_and_nothing_is_below():
    rng = np.random.default_rng(0)
    assert BOUNDED.program.data.value({"K": BOUNDED.prior}) == pytest.approx(6)
    for _ in range(50):
        B = rng.standard_normal((6, 6))
        K = B @ B.T * 10 ** rng.uniform(-2, 2)
        assert BOUNDED.program.data.value({"K": K}) >= 6


def test_other_outcomes_are_passed_on():
    assert after(PROBLEMS["SRCP"], cl.Status.LIMIT).status is cl.Status.LIMIT
