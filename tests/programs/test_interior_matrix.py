"""Strictly feasible matrices, and bounds on the trace from rows with weights."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers.programs import Program


def partition(sizes, clusters, apart):
    """Return the k-means relaxation on blocks: Zs = 1, Σ sₐZₐₐ = k, Z ≥ 0, some entries zero."""
    n = len(sizes)
    i, j = np.array(apart).T
    distances = abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    return Program(
        lambda: {"Z": cp.Variable((n, n), symmetric=True)},
        lambda Z: cp.sum(cp.multiply(distances, Z)),
        lambda Z: {
            "rows": Z @ sizes == 1,
            "clusters": cp.sum(cp.multiply(sizes, cp.diag(Z))) == clusters,
            "entries": Z >= 0,
            "apart": Z[i, j] == 0,
            "psd": Z >> 0,
        },
    )


BLOCKS = partition(np.array([1.0, 1, 4, 1, 2, 1, 1, 3, 1, 1]), 3, [(0, 2), (2, 7), (4, 7), (1, 9), (2, 4), (0, 9)])


@pytest.mark.parametrize("problem", [BLOCKS, partition(np.ones(6), 2, [(0, 5), (1, 4)])])
def test_partitions_have_one(problem):
    sdp = cl.Contraction().reduce(problem.program).program.linear_sdp()
    K = sdp.interior_point.toarray()
    assert np.linalg.eigvalsh(K)[0] > 1e-6
    rows = sdp.rows_of(K) - sdp.b
    np.testing.assert_allclose(rows[~sdp.is_inequality], 0, atol=1e-10)
    assert (rows[sdp.is_inequality] < 0).all()


def test_a_program_whose_feasible_matrices_are_singular_has_none():
    singular = Program(
        lambda: {"K": cp.Variable((4, 4), symmetric=True)},
        lambda K: cp.trace(K),
        lambda K: {"rows": K @ np.array([1.0, 2, -1, 0.5]) == 0, "one": K[0, 0] == 1, "psd": K >> 0},
    )
    assert singular.program.linear_sdp().interior_point is None


def test_weights_on_the_diagonal_bound_the_trace():
    sdp = BLOCKS.program.linear_sdp()
    v = sdp.trace_multipliers()
    assert np.linalg.eigvalsh(sdp.adjoint(v).toarray() - np.eye(sdp.n))[0] >= -1e-12  # A*(v) ⪰ I
    solution = BLOCKS.solve()
    assert np.trace(solution.values["Z"]) <= sdp.trace_bound() + 1e-9
    assert solution.plan.route.name == "interior-point"
    plain = BLOCKS.to_cvxpy()
    plain.solve("CLARABEL")
    assert solution.value == pytest.approx(plain.value, rel=1e-5)
    assert solution.certificate.lower_bound <= solution.certificate.upper_bound
