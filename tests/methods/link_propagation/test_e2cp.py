"""E2CP: two label propagations as one program."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cvxlink as cl
from helpers.clusters import blobs


def test_two_passes_are_two_label_propagations():
    graph, _, links = blobs(14)
    alpha, L = 0.7, graph.laplacian().toarray()
    mu = (1 - alpha) / alpha

    def smoothed(Y):  # the program of LLGC, in CVXPY's hands
        F = cp.Variable(Y.shape)
        root = graph.incidence()
        cp.Problem(cp.Minimize(cp.sum_squares(root @ F) + mu * cp.sum_squares(F - Y))).solve(solver="CLARABEL")
        return F.value

    columns = smoothed(links.matrix.toarray())
    expected = smoothed(columns.T).T
    solution = cl.E2CP(graph, links, alpha=alpha).solve()
    np.testing.assert_allclose(solution.propagated, expected, atol=1e-6)
    S = np.eye(14) - L
    inverse = np.linalg.inv(np.eye(14) - alpha * S)
    formula = (1 - alpha) ** 2 * inverse @ links.matrix.toarray() @ inverse
    np.testing.assert_allclose(solution.propagated, formula, atol=1e-12)


def test_e2cp_certificates_hold_for_any_point():
    graph, _, links = blobs()
    problem = cl.E2CP(graph, links)
    best = problem.solve()
    for size in (1e-8, 1e-3, 1.0):
        F = best.propagated + size * np.random.default_rng(0).standard_normal((24, 24))
        certificate = cl.certify(problem, {"F": F})
        assert certificate.lower_bound <= best.value <= certificate.value
        assert np.linalg.norm(F - best.propagated) <= certificate.distance


@given(st.floats(0.01, 0.99))
def test_it_differs_from_srcp_by_the_term_on_both_sides(alpha):
    graph, _, links = blobs(6)
    mu = (1 - alpha) / alpha
    F = np.random.default_rng(0).standard_normal((6, 6))
    L, Y = graph.laplacian().toarray(), links.matrix.toarray()
    fit = mu * ((F - Y) ** 2).sum()
    srcp = cl.certify(cl.SRCP(graph, links, mu=mu), {"F": F}).value
    e2cp = cl.certify(cl.E2CP(graph, links, alpha=alpha), {"F": F}).value
    both = np.trace(F.T @ L @ F @ L) / mu
    assert e2cp == pytest.approx(2 * (srcp - fit) + fit + both, rel=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda g, links: cl.E2CP(g, links, alpha=0), "alpha must be a number between 0 and 1"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, says):
    graph, _, links = blobs()
    with pytest.raises(cl.InvalidInput, match=says):
        call(graph, links)
