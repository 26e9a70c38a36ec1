"""What every formulation owes: its forms on every capable solver, and its routes, agree in value and solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import cvxlink as cl
from helpers import SOLVERS
from helpers.fast_paths import Ironed
from helpers.graphs import random_points


@dataclass(frozen=True)
class Case:
    """A small instance: how it is made of points in some order, and what of its answer is unique."""

    build: object
    unique: object  # what of the solution is unique, and follows the points: a name, a function, or None
    needs: frozenset[str] = frozenset()  # solvers that cannot take it for want of a cone

    def problem(self, order=None) -> cl.Problem:
        X = random_points(9, seed=4)
        X[:4] += 1.5
        order = np.arange(9) if order is None else order
        graph = cl.Graph.knn(X, n_neighbors=3).permuted(order)
        links = cl.Links(9, must=[(0, 1), (5, 6)], cannot=[(0, 5), (2, 7)]).permuted(order)
        kernel = cl.Graph.rbf(X, 1.0).kernel()[np.ix_(order, order)]
        labels = np.array([0, -1, -1, 1, -1, 2, -1, 1, -1])[order]
        return self.build(graph, links, kernel, labels)

    def of(self, solution: cl.Solution) -> np.ndarray:
        return getattr(solution, self.unique) if isinstance(self.unique, str) else self.unique(solution)


def of_values(name: str):
    """The value of a variable; where it holds a cut, its projection, as signs and rotations mean nothing."""
    return lambda solution: solution.values[name] if name != "f" else solution.values[name] @ solution.values[name].T


NO_LOGARITHMS = frozenset({"CVXOPT", "SDPA"})
CASES = {
    "PCP": Case(lambda g, links, K, y: cl.PCP(g, links), None),
    "KP": Case(lambda g, links, K, y: cl.KP(g, links), None),
    "ImprovedOrder": Case(lambda g, links, K, y: cl.ImprovedOrder(g, links), "kernel"),
    "GaussianField": Case(lambda g, links, K, y: cl.GaussianField(g, links), "kernel"),
    "CCSR": Case(lambda g, links, K, y: cl.CCSR(g, links, order=3), "kernel"),
    "CCSR, weighted": Case(
        lambda g, links, K, y: cl.CCSR(g, links, order=3, must_weight=4, cannot_weight=0.5), "kernel"
    ),
    "CCSR, not normalised": Case(lambda g, links, K, y: cl.CCSR(g, links, normalized=False, order=3), "kernel"),
    "SRCP": Case(lambda g, links, K, y: cl.SRCP(g, links), "propagated"),
    "SRCP, not normalised": Case(lambda g, links, K, y: cl.SRCP(g, links, normalized=False, mu=2), "propagated"),
    "MinKL, bounds": Case(
        lambda g, links, K, y: cl.MinKL(K, links, must_bound=0.2, cannot_bound=1), "kernel", NO_LOGARITHMS
    ),
    "MinKL, noise": Case(
        lambda g, links, K, y: cl.MinKL(K, links, must_noise=0.5, cannot_noise=0.7), "kernel", NO_LOGARITHMS
    ),
    "GFHF": Case(lambda g, links, K, y: cl.GFHF(g, y), "scores"),
    "GFHF, normalised": Case(lambda g, links, K, y: cl.GFHF(g, y, normalized=True), "scores"),
    "GFHF, unsure": Case(lambda g, links, K, y: cl.GFHF(g, y, confidence=0.6), "scores"),
    "LLGC": Case(lambda g, links, K, y: cl.LLGC(g, y), "scores"),
    "LLGC, alpha 0.9": Case(lambda g, links, K, y: cl.LLGC(g, y, alpha=0.9), "scores"),
    "E2CP": Case(lambda g, links, K, y: cl.E2CP(g, links), "propagated"),
    "E2CP, not normalised": Case(lambda g, links, K, y: cl.E2CP(g, links, False, alpha=0.3), "propagated"),
    "SL": Case(lambda g, links, K, y: cl.SL(g, links), "affinity"),
    "NCuts": Case(lambda g, links, K, y: cl.NCuts(g, 2), "kernel"),
    "LinkedCut": Case(lambda g, links, K, y: cl.LinkedCut(g, links, 3), None),
    # With must-links K has no interior; KP is reduced first, and solvers get this program as it is declared.
    "KPCut": Case(lambda g, links, K, y: cl.KPCut(g, cl.Links(9, cannot=links.cannot), 3), None),
    "LinkedCut, soft": Case(lambda g, links, K, y: cl.LinkedCut(g, links, 3, must_weight=2.0, cannot_weight=0.5), None),
    "SSKK": Case(lambda g, links, K, y: cl.SSKK(g, links), of_values("X")),
    "CSC": Case(lambda g, links, K, y: cl.CSC(g, links), of_values("f")),
    "CSC, three clusters": Case(lambda g, links, K, y: cl.CSC(g, links, 3), of_values("f")),
    "CSC, soft": Case(lambda g, links, K, y: cl.CSC(g, K - 0.3, fraction=0.9), of_values("f")),
    "CSC, leaning": Case(lambda g, links, K, y: cl.CSC(g, links, orthogonal=False), of_values("f")),
    "CSCGFHF": Case(lambda g, links, K, y: cl.CSCGFHF(g, y), of_values("f")),
    "KMeans": Case(lambda g, links, K, y: cl.KMeans(g.points / 4, links, 3), None),
    "KMeans, sizes": Case(lambda g, links, K, y: cl.KMeans(g.points / 4, links, 3, size_min=2, size_max=4), None),
    "a stranger's, with a fast path": Case(lambda g, links, K, y: Ironed(g, links), "propagated"),
}
# Second-order cones become semidefinite ones for SDPA, and CVXOPT stops at 1e-8 of the value.
TOLERANCE = {"CVXOPT": 2e-3, "SDPA": 2e-3}


def ways(name: str) -> list[dict]:
    """Every form on every solver, and every route."""
    problem = CASES[name].problem()
    quadratic = isinstance(problem, (cl.SRCP, cl.E2CP, cl.GFHF, cl.LLGC, cl.SL, Ironed))
    solvers = [*SOLVERS, "OSQP"] if quadratic else SOLVERS
    asked = [{"form": form, "solver": solver} for form in problem.forms for solver in solvers]
    return asked + [{"route": route} for route in problem.routes]


ALL = [pytest.param(name, way, id=f"{name}: {'/'.join(way.values())}") for name in CASES for way in ways(name)]


@pytest.fixture(scope="module")
def reference():
    solved: dict[str, cl.Solution] = {}

    def solve(name):
        if name not in solved:
            solved[name] = CASES[name].problem().solve(accuracy=1e-6)
        return solved[name]

    return solve


@pytest.mark.parametrize(("name", "way"), ALL)
def test_forms_solvers_and_routes_agree(name, way, reference):
    case, solver = CASES[name], way.get("solver")
    if solver in case.needs:
        with pytest.raises(cl.SolverUnavailable, match=f"{solver} cannot take this program.*can: .*CLARABEL"):
            case.problem().solve(**way)
        return
    best = reference(name)
    solution = case.problem().solve(**way, strict=False)
    certificate = solution.certificate
    if way.get("form") == "standard":  # as printed, with no interior: solvers may fail, and may not be believed
        if solution.status is cl.Status.OPTIMAL:
            assert solution.value == pytest.approx(best.value, abs=1e-4 * (1 + abs(best.value)))
        if certificate is not None and certificate.lower_bound is not None:
            assert certificate.lower_bound <= best.value + 1e-6
            assert certificate.upper_bound is None or certificate.upper_bound >= best.value - 1e-6
        return
    assert solution.status.has_answer
    if way == {"route": "paper"}:  # feasible, and no better than the optimum, which its certificate knows
        assert certificate.largest_violation < 1e-9
        assert solution.value >= best.value - 1e-9
        assert certificate.lower_bound == pytest.approx(best.value, abs=1e-6)
        return
    assert solution.value == pytest.approx(best.value, abs=2e-5)
    if certificate.lower_bound is not None:
        assert certificate.lower_bound <= best.value + 1e-6
        assert certificate.upper_bound is None or certificate.upper_bound >= best.value - 1e-6
    if case.unique:
        ours, theirs = case.of(solution), case.of(best)
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE.get(solver, 5e-4) * abs(theirs).max())
    if certificate.distance is not None:  # the bound on the distance is one
        off = np.linalg.norm(case.of(solution) - case.of(best))
        assert off <= certificate.distance + best.certificate.distance


@pytest.mark.parametrize("name", CASES)
def test_the_answer_follows_the_points(name, reference):
    case, solution = CASES[name], reference(name)
    order = np.random.default_rng(1).permutation(9)
    moved = case.problem(order).solve(accuracy=1e-6)
    assert moved.value == pytest.approx(solution.value, rel=1e-5, abs=1e-6)
    if case.unique:
        there = case.of(solution)[order]
        if there.shape == (9, 9):
            there = there[:, order]
        np.testing.assert_allclose(case.of(moved), there, atol=2e-4 * abs(there).max())
    k = getattr(case.problem(), "n_clusters", None) or 2
    labels = solution.cluster(k, random_state=0)
    assert cl.metrics.nmi(labels[order], moved.cluster(k, random_state=0)) == pytest.approx(1)


@pytest.mark.parametrize("name", CASES)
def test_every_problem_prints_itself_and_its_plan(name, reference):
    problem = CASES[name].problem()
    text, plan = str(problem), str(problem.explain())
    assert text.startswith(type(problem).__name__) and "imise" in text and (problem.about.paper or "\\") not in text
    assert "\\" not in text and "_" not in text.splitlines()[1]
    assert "route" in plan or "solver" in plan
    assert str(reference(name)).startswith(f"{type(problem).__name__}: OPTIMAL")
    assert problem._repr_latex_().startswith("$$")


@pytest.mark.parametrize("name", CASES)
def test_a_solution_can_be_stored(name, reference):
    import pickle

    solution = reference(name)
    again = pickle.loads(pickle.dumps(solution))
    k = getattr(solution.problem, "n_clusters", None) or 2
    np.testing.assert_array_equal(again.cluster(k, random_state=0), solution.cluster(k, random_state=0))
