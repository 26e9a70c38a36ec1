"""Bounds by conjugates: they hold for any multipliers, and are sharp at a solution."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms
from cvxlink.certificates import certify_program
from cvxlink.certificates.separable_sdp import certify_separable_sdp
from cvxlink.numerics.matrices import Congruence
from helpers.graphs import path_graph
from helpers.separable import ADDED, by_plain_cvxpy, separable

SOME = ("hinge", "square", "huber", "pieces", "of a sum")


def unit_factor(n, columns, rng):
    V = rng.standard_normal((n, columns))
    return Congruence(V / np.linalg.norm(V, axis=1)[:, None], np.eye(columns))


@pytest.mark.parametrize("constrained", ["none", "must-links", "inequalities"])
@pytest.mark.parametrize("added", SOME)
def test_bounds_hold_for_any_point_and_multipliers(added, constrained):
    problem = separable(added, constrained, step=10, n_links=9)
    optimum, program = by_plain_cvxpy(problem), problem.program.separable_sdp()
    rng = np.random.default_rng(0)
    found = []
    for size in (0.0, 0.1, 1.0, 10.0):
        duals = {rows.name: size * rng.standard_normal(len(rows)) for rows in program.linear.rows}
        duals["objective"] = size * rng.standard_normal(len(program.losses))
        certificate = certify_separable_sdp(program, unit_factor(program.n, 4, rng), duals, {})
        assert certificate.lower_bound <= optimum + 1e-7
        if certificate.upper_bound is not None:
            assert certificate.upper_bound >= optimum - 1e-7
            found.append(certificate.upper_bound)
    assert found  # a feasible point is always found here


@pytest.mark.parametrize("added", ADDED)
def test_the_bound_is_the_optimum_at_the_solution(added):
    problem = separable(added, step=10, n_links=9)
    solution = problem.solve(route="low-rank", accuracy=1e-7)
    optimum = by_plain_cvxpy(problem)
    again = certify_program(problem.program, solution.values, solution.duals)
    assert again.lower_bound == pytest.approx(optimum, abs=3e-6)
    assert again.upper_bound == pytest.approx(optimum, abs=3e-6)
    assert again.value == pytest.approx(optimum, abs=3e-6)


@pytest.mark.parametrize("constrained", ["none", "must-links", "inequalities"])
@pytest.mark.parametrize("added", SOME)
def test_multipliers_that_are_missing_are_fitted(added, constrained):
    problem = separable(added, constrained, step=10, n_links=9)
    solution = problem.solve(route="low-rank", accuracy=1e-7)
    program, optimum = problem.program.separable_sdp(), by_plain_cvxpy(problem)
    certificate = certify_separable_sdp(program, solution.values.stored["K"], {}, {})
    assert optimum - 1e-3 <= certificate.lower_bound <= optimum + 1e-7


def test_a_point_as_an_array_is_certified_like_a_product():
    problem = separable("hinge", "inequalities")
    solution = problem.solve(route="low-rank", accuracy=1e-6)
    dense = certify_program(problem.program, {"K": solution.kernel}, dict(solution.duals))
    assert dense.relative_gap <= 1e-5
    assert dense.value == pytest.approx(solution.value)


def test_violations_count():
    problem = separable("hinge", "about balanced")
    solution = problem.solve(route="low-rank", accuracy=1e-6)
    far = certify_program(problem.program, {"K": 1.5 * solution.kernel}, dict(solution.duals))
    assert far.violations["unit"] == pytest.approx(0.5)
    sums, n = 1.5 * solution.kernel.sum(axis=1), problem.graph.n
    assert far.violations["balance"] == pytest.approx(max(abs(sums - n / 3).max() - 0.25 * n / 3, 0))
    assert not far.holds(1e-3)


def test_wrong_numbers_of_multipliers_are_told():
    problem = separable()
    solution = problem.solve(route="low-rank")
    with pytest.raises(cl.InvalidInput, match="nonlinear terms"):
        certify_program(problem.program, solution.values, {**solution.duals, "objective": np.zeros(2)})


def test_a_maximisation_is_the_mirror_of_its_negative():
    links, graph = cl.Links(6, must=[(0, 1)], cannot=[(0, 4), (2, 5)]), path_graph(6)

    class Soft(cl.Problem):
        def __init__(self, sign):
            self.sign = sign

        def variables(self):
            return {"K": cp.Variable((6, 6), symmetric=True)}

        def objective(self, K):
            cost = terms.smoothness(K, graph.laplacian()) + 2 * terms.soft_cannot_links(K, links)
            return cp.Minimize(cost) if self.sign > 0 else cp.Maximize(-cost)

        def constraints(self, K):
            return {"unit": terms.unit_diagonal(K), "must": terms.must_links(K, links), "psd": terms.semidefinite(K)}

    least, most = (Soft(sign).solve(route="low-rank") for sign in (1, -1))
    assert most.value == pytest.approx(-least.value, abs=1e-4) and most.certificate.maximises
    plain = Soft(-1).to_cvxpy()
    plain.solve(solver="CLARABEL")
    assert most.certificate.lower_bound - 1e-6 <= plain.value <= most.certificate.upper_bound + 1e-6
