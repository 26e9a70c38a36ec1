"""What must not change an answer: the order of the points, the unit of the weights, twins, threads, a second run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.solvers.isolation import available_threads
from helpers.graphs import random_points

N = 12
LABELS = np.array([0, -1, -1, 1, -1, 0, -1, 1, -1, -1, 1, -1])
ACCURACY = 1e-6


@dataclass(frozen=True)
class Given:
    """A graph with its links, labels and a kernel; all weights are ``unit`` times as large as they were."""

    graph: cl.Graph
    links: cl.Links
    kernel: np.ndarray
    labels: np.ndarray
    unit: float

    @classmethod
    def of(cls, order: Any = None, unit: float = 1.0) -> Given:
        X = random_points(N, seed=7)
        X[:6] += 1.5
        order = np.arange(N) if order is None else order
        graph = cl.Graph.knn(X, n_neighbors=4).permuted(order)
        links = cl.Links(N, must=[(0, 1), (6, 7)], cannot=[(0, 6), (2, 9)]).permuted(order)
        kernel = cl.Graph.rbf(X, 1.0).kernel()[np.ix_(order, order)]
        return cls(cl.Graph.from_affinity(unit * graph.W), links, unit * kernel, LABELS[order], unit)


@dataclass(frozen=True)
class Case:
    """How a problem is made, the power of the unit its optimum goes with, and what is unique of its answer."""

    build: Callable[[Given], cl.Problem]
    power: int
    unique: str | None = None


CASES = {
    "PCP": Case(lambda g: cl.PCP(g.graph, g.links), 0),
    "PCP, not normalised": Case(lambda g: cl.PCP(g.graph, g.links, normalized=False), 1),
    "KP": Case(lambda g: cl.KP(g.graph, g.links), 0),
    "KP, not normalised": Case(lambda g: cl.KP(g.graph, g.links, normalized=False), 1),
    "ImprovedOrder": Case(lambda g: cl.ImprovedOrder(g.graph, g.links), 0, "kernel"),
    "GaussianField": Case(lambda g: cl.GaussianField(g.graph, g.links), 0, "kernel"),
    "CCSR": Case(lambda g: cl.CCSR(g.graph, g.links, order=3), 0, "kernel"),
    "SRCP": Case(lambda g: cl.SRCP(g.graph, g.links), 0, "propagated"),
    "SRCP, not normalised": Case(lambda g: cl.SRCP(g.graph, g.links, False, mu=0.5 * g.unit), 1, "propagated"),
    "E2CP": Case(lambda g: cl.E2CP(g.graph, g.links), 0, "propagated"),
    "MinKL, bounds": Case(lambda g: cl.MinKL(g.kernel, g.links, must_bound=0.2 * g.unit, cannot_bound=1.0 * g.unit), 0),
    "MinKL, noise": Case(
        lambda g: cl.MinKL(g.kernel, g.links, must_noise=0.5 * g.unit**0.5, cannot_noise=0.7 * g.unit**0.5), 0
    ),
    "GFHF": Case(lambda g: cl.GFHF(g.graph, g.labels), 1, "scores"),
    "LLGC": Case(lambda g: cl.LLGC(g.graph, g.labels), 0, "scores"),
    "SL": Case(lambda g: cl.SL(g.graph, g.links), 0, "affinity"),
    "NCuts": Case(lambda g: cl.NCuts(g.graph, 2), 0, "kernel"),
    "LinkedCut": Case(lambda g: cl.LinkedCut(g.graph, g.links, 2), 0),
    "KPCut": Case(lambda g: cl.KPCut(g.graph, g.links, 2), 0),
    "LinkedCut, soft": Case(lambda g: cl.LinkedCut(g.graph, g.links, 2, must_weight=1.0, cannot_weight=0.5), 0),
    "SSKK": Case(lambda g: cl.SSKK(g.graph, g.links, penalty=0.5 * g.unit), 0),
    "CSC": Case(lambda g: cl.CSC(g.graph, g.links), 0),
    "CSCGFHF": Case(lambda g: cl.CSCGFHF(g.graph, g.labels), 0),
}
# SL puts zeros and ones among the affinities, so their unit means something.
WITHOUT_UNIT = [name for name in CASES if name != "SL"]


@cache
def reference(name: str) -> cl.Solution:
    return CASES[name].build(Given.of()).solve(accuracy=ACCURACY)


def clusters(solution: cl.Solution) -> np.ndarray:
    return solution.cluster(2, random_state=0)


@pytest.mark.parametrize("name", CASES)
def test_the_order_of_the_points_means_nothing(name):
    case, solution = CASES[name], reference(name)
    order = np.random.default_rng(3).permutation(N)
    moved = case.build(Given.of(order)).solve(accuracy=ACCURACY)
    assert moved.status is solution.status
    assert moved.value == pytest.approx(solution.value, rel=1e-5, abs=1e-6)
    if case.unique:
        there = np.asarray(getattr(solution, case.unique))[order]
        there = there[:, order] if there.shape == (N, N) else there
        np.testing.assert_allclose(getattr(moved, case.unique), there, atol=2e-4 * abs(there).max())
    assert cl.metrics.nmi(clusters(solution)[order], clusters(moved)) == pytest.approx(1)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("name", WITHOUT_UNIT)
def test_the_unit_of_the_weights_only_scales_the_optimum(name, unit):
    case, solution = CASES[name], reference(name)
    scaled = case.build(Given.of(unit=unit)).solve(accuracy=ACCURACY, strict=False)
    assert scaled.status is solution.status
    factor = unit**case.power
    assert scaled.value / factor == pytest.approx(solution.value, rel=1e-4, abs=1e-5)
    if case.unique:
        there = np.asarray(getattr(solution, case.unique))
        np.testing.assert_allclose(getattr(scaled, case.unique), there, atol=5e-3 * abs(there).max())
    if unit <= 1 or case.unique != "propagated":  # propagated links adjust affinities between 0 and 1
        assert cl.metrics.nmi(clusters(solution), clusters(scaled)) == pytest.approx(1)


@pytest.mark.parametrize("name", CASES)
def test_a_second_run_gives_the_same_bits(name):
    first, second = (CASES[name].build(Given.of()).solve(accuracy=ACCURACY, strict=False) for _ in range(2))
    assert first.value == second.value
    for variable in first.values:
        np.testing.assert_array_equal(first.values[variable], second.values[variable])
    np.testing.assert_array_equal(clusters(first), clusters(second))


@pytest.mark.parametrize("name", CASES)
def test_one_thread_or_two(name):
    solution = reference(name)
    for threads in range(1, min(2, available_threads()) + 1):
        other = CASES[name].build(Given.of()).solve(accuracy=ACCURACY, threads=threads)
        assert other.status is solution.status
        assert other.value == pytest.approx(solution.value, rel=1e-5, abs=1e-6)
        assert cl.metrics.nmi(clusters(solution), clusters(other)) == pytest.approx(1)


# ---------------------------------------------------------------------- twins


def with_twin(W: Any, point: int) -> np.ndarray:
    """Split a point in two: each takes half of its edges."""
    W = sp.csr_array(W).toarray()
    half = W[point] / 2
    twin = np.block([[W, half[:, None]], [half[None, :], np.zeros((1, 1))]])
    twin[point, :-1] /= 2
    twin[:-1, point] /= 2
    return twin


@pytest.mark.parametrize("kind", [cl.PCP, cl.KP])
@pytest.mark.parametrize("point", [0, 3])
def test_a_point_split_into_must_linked_twins_costs_the_same(kind, point):
    given = Given.of()
    must = [*given.links.must.tolist(), (point, N)]
    anchored = cl.Links(N, must=given.links.must, cannot=[*given.links.cannot.tolist(), (3, 8)])  # so that 3 is linked
    split = cl.Links(N + 1, must=must, cannot=anchored.cannot)
    whole = kind(given.graph, anchored, normalized=False).solve(accuracy=ACCURACY)
    twins = kind(cl.Graph.from_affinity(with_twin(given.graph.W, point)), split, normalized=False)
    found = twins.solve(accuracy=ACCURACY)
    assert found.value == pytest.approx(whole.value, rel=1e-5)
    K = found.values["K"]
    np.testing.assert_allclose(K[point], K[N], atol=1e-4)


def test_twins_leave_the_smallest_eigenvalues_of_a_cut_alone():
    # Splitting adds the eigenvalue 1 to those of the normalised Laplacian; the smallest stay.
    graph = Given.of().graph
    assert np.linalg.eigvalsh(graph.laplacian().toarray())[1] < 1
    twins = cl.Graph.from_affinity(with_twin(graph.W, 4))
    assert cl.NCuts(twins, 2).solve().value == pytest.approx(cl.NCuts(graph, 2).solve().value, abs=1e-10)


@pytest.mark.parametrize("point", [1, 3])
def test_a_point_that_hangs_on_another_takes_its_value(point):
    given = Given.of()
    W = np.zeros((N + 1, N + 1))
    W[:N, :N] = given.graph.W.toarray()
    W[point, N] = W[N, point] = 0.7
    whole = cl.GFHF(given.graph, given.labels).solve()
    more = cl.GFHF(cl.Graph.from_affinity(W), np.append(given.labels, -1)).solve()
    assert more.value == pytest.approx(whole.value, rel=1e-9)
    np.testing.assert_allclose(more.scores[N], more.scores[point], atol=1e-9)
