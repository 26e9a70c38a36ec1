"""The fuzzer of programs: its references hold, and a false claim is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cvxlink as cl
from attack import drawn_formulations, drawn_methods, references
from attack.drawn_methods import DRAWN, Drawn
from attack.programs import _false_claims
from attack.references import Correlations, Reference, laplacian
from cvxlink.programs.status import Status


def test_brackets_of_kernels_hold_the_optimum_and_are_tight():
    triangle = laplacian(1.0 - np.eye(3), normalized=False)
    low, high = Correlations(triangle, zeros=[(0, 1)]).bracket()
    assert low <= 6 - 2 * np.sqrt(2) <= high and high - low < 1e-6


def test_brackets_of_hinges_squares_and_bounds_hold_the_optimum():
    """Two points: K = [[1, x], [x, 1]] with −1 ≤ x ≤ 1, so the optimum is that of a function of one number."""
    x = np.append(np.linspace(-1, 1, 200_001), 0.4)
    C = np.array([[0.0, -0.6], [-0.6, 0.0]])
    for program, values in (
        (Correlations(C, hinges=[(0, 1, 2.0, 0.3)]), -1.2 * x + 2 * np.maximum(0, x - 0.3)),
        (Correlations(C, squares=[(0, 1, 2.0, 0.1)]), -1.2 * x + 2 * (x - 0.1) ** 2),
        (Correlations(C, constant=5.0, tops=[(0, 1, 0.4)]), np.where(x <= 0.4, 5 - 1.2 * x, np.inf)),
    ):
        low, high = program.bracket()
        assert low - 1e-9 <= values.min() <= high + 1e-9 and high - low < 1e-6


def test_the_complement_keeps_what_weights_of_all_sizes_say():
    """0 – 1 directly with weight 1, and over 3 – 2, a dead end, with weights 1e-10 and 1e8."""
    W = np.zeros((4, 4))
    W[0, 1], W[2, 3], W[3, 0] = 1, 1e8, 1e-10
    C = references.schur_complement(W + W.T, False, np.array([0, 1]))
    np.testing.assert_allclose(C, [[1, -1], [-1, 1]], rtol=1e-15)


@pytest.mark.parametrize("name", DRAWN)
def test_references_agree_with_accurate_answers_on_tame_instances(name):
    """The routes are right on tame instances, where all solvers agree: so the references have to hold there."""
    seen = 0
    for seed in range(60):
        drawn = DRAWN[name](np.random.default_rng(seed))
        try:
            problem = drawn.problem()
            solution = problem.solve(accuracy=1e-5, strict=False)
        except cl.CvxlinkError:
            continue
        graph = getattr(problem, "graph", None)
        if graph is not None and (not graph.n_edges or graph.W.data.max() > 1.01 or graph.W.data.min() < 1e-3):
            continue
        assert not list(_false_claims(drawn, solution, drawn.reference(problem), 1e-5))
        seen += solution.status.has_answer
        if seen == 4:
            return
    assert seen, "no tame instance was drawn"


@pytest.fixture(scope="module")
def answered() -> tuple[Drawn, cl.Solution, Reference]:
    for seed in range(100):
        drawn = DRAWN["PCP"](np.random.default_rng(seed))
        problem = drawn.problem()
        solution = problem.solve(accuracy=1e-5, strict=False)
        truth = drawn.reference(problem)
        if solution.status is Status.OPTIMAL and 0.1 < truth.low < 10 and truth.is_tight:
            return drawn, solution, truth
    raise AssertionError("no instance was drawn")


def changed(solution: cl.Solution, **changes) -> cl.Solution:
    return replace(solution, certificate=replace(solution.certificate, **changes))


def test_false_claims_are_found(answered):
    drawn, solution, truth = answered

    def found(claimed: cl.Solution) -> str:
        return " ".join(_false_claims(drawn, claimed, truth, 1e-5))

    assert not found(solution)
    assert "lower bound" in found(changed(solution, lower_bound=truth.high + 1e-3))
    assert "upper bound" in found(changed(solution, upper_bound=truth.low - 1e-3))
    assert "objective at its point" in found(changed(solution, value=truth.high + 1e-2))
    assert "OPTIMAL" in found(changed(solution, value=truth.low - 1e-2))
    for status in (Status.INFEASIBLE, Status.UNBOUNDED):
        assert status.name in found(replace(solution, status=status, certificate=None))
        assert not found(replace(solution, status=Status.UNPROVEN, certificate=None))
    K = solution.values["K"] * 1.01
    assert "violation" in found(replace(solution, values=type(solution.values)({"K": K})))


def test_true_verdicts_are_no_findings():
    for seed in range(40):
        drawn = drawn_formulations.draw(np.random.default_rng(seed))
        truth = drawn.reference(drawn.problem())
        if truth.status in ("INFEASIBLE", "UNBOUNDED"):
            break
    solution = drawn.problem().solve(strict=False)
    claimed = replace(solution, status=Status[truth.status], certificate=None)
    assert not list(_false_claims(drawn, claimed, truth, 1e-4))
    assert drawn_methods.draw(np.random.default_rng(0)).name == drawn_methods.draw(np.random.default_rng(0)).name
