"""The rule of the status: violations and the certified gap decide, and nothing else where there is a bound."""

from __future__ import annotations

import pytest

import cvxlink as cl
from cvxlink.solvers.catalogue import installed_solvers

# GFHF, LLGC and E2CP have proofs by strong convexity, which bound the distance to the solution as well; the others have
# an exactly feasible point.
NAMES = ("gfhf_weak_bridge", "llgc_two_points", "e2cp_two_points", "kp_path", "minkl_one_bound", "ncuts_star")
SOLVERS = [name for name in ("CLARABEL", "SCS", "CVXOPT", "SDPA", "OSQP", "HIGHS") if name in installed_solvers()]


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", NAMES)
def test_an_answer_is_optimal_exactly_if_gap_and_violations_meet_the_accuracy(name, solver):
    problem = cl.instances.load(name).problem
    for accuracy in (1e-4, 1e-7):
        try:
            solution = problem.solve(solver=solver, accuracy=accuracy, strict=False)
        except (cl.SolverUnavailable, cl.FormUnavailable):  # it has not the cones
            return
        certificate = solution.certificate
        size = certificate.cost_scale + abs(certificate.value)
        reached = certificate.value if certificate.attained is None else certificate.attained
        gap = max(abs(certificate.value - certificate.bound), abs(reached - certificate.value)) / size
        meets = gap <= accuracy and certificate.largest_relative_violation <= accuracy
        assert certificate.attained is not None or certificate.sensitivity is None
        assert (solution.status is cl.Status.OPTIMAL) == meets, solution


def test_a_proven_value_far_from_the_solution_says_so():
    # Two halves with labels at their ends, joined by weights of 1e-8: what lies between costs next to nothing.
    problem = cl.instances.load("gfhf_weak_bridge").problem
    solution = problem.solve(solver="SCS", accuracy=1e-4, strict=False)
    certificate = solution.certificate
    if certificate.distance > certificate.norm / 2:
        assert solution.status is cl.Status.OPTIMAL and "away from the solution" in solution.reason
    exact = problem.solve()
    assert exact.certificate.distance < 1e-5 and "away" not in exact.reason


def test_tiny_weights_do_not_make_every_labeling_optimal():
    chain = cl.GFHF(cl.Graph.from_affinity([[0, 1e-9, 0], [1e-9, 0, 1e-9], [0, 1e-9, 0]]), [0, -1, 1])
    exact = chain.solve().values["f"]
    wrong = exact.copy()
    wrong[1] = [1.0, 0.0]
    assert cl.certify(chain, {"f": exact}).holds(1e-9)
    assert not cl.certify(chain, {"f": wrong}).holds(1e-2)
