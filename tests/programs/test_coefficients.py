"""Coefficients that are read without CVXPY agree with CVXPY's own gradient."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink import terms
from cvxlink.model.linear_maps import entries, inner_product, squared_distances
from cvxlink.programs import coefficients as module
from cvxlink.programs.coefficients import coefficients
from helpers.gradients import by_gradient

N = 5
RNG = np.random.default_rng(0)
C, W = RNG.standard_normal((N, N)), RNG.standard_normal(3)
ROWS, COLUMNS = np.array([0, 1, 3]), np.array([2, 1, 4])
LINKS = cl.Links(N, must=[(0, 1), (1, 2)], cannot=[(0, 3), (2, 4)])
# What is read by itself.
KNOWN = {
    "entries": lambda K: K[ROWS, COLUMNS],
    "an entry": lambda K: K[0, 1],
    "an entry from the end": lambda K: K[-1, -2],
    "a block": lambda K: K[1:3, 2:4],
    "a row": lambda K: K[2],
    "a column": lambda K: K[:, 1],
    "every second": lambda K: K[::2, 0],
    "backwards": lambda K: K[::-1, 0],
    "the last ones backwards": lambda K: K[3::-1, 4],
    "sum backwards": lambda K: cp.sum(K[::-1, 0]),
    "several rows": lambda K: K[[0, 1]],
    "diagonal": lambda K: cp.diag(K),
    "trace": lambda K: cp.trace(K),
    "trace of a product": lambda K: cp.trace(C @ K),
    "inner product": lambda K: cp.sum(cp.multiply(C, K)),
    "sparse inner product": lambda K: cp.sum(cp.multiply(sp.csr_array(C), K)) + 1,
    "sum": lambda K: cp.sum(K),
    "row sums": lambda K: cp.sum(K, axis=1),
    "column sums, kept": lambda K: cp.sum(K, axis=0, keepdims=True),
    "multiples": lambda K: 2 * K[ROWS, COLUMNS] - 3,
    "multiples by entry": lambda K: cp.multiply(W, K[ROWS, COLUMNS]) + W,
    "weighted sum": lambda K: W @ (1 - K[ROWS, COLUMNS]),
    "weighted sum of one": lambda K: W[:1] @ K[ROWS[:1], COLUMNS[:1]],
    "multiple of one by a vector of one": lambda K: cp.multiply(W[:1], K[ROWS[:1], COLUMNS[:1]]),
    "distances": lambda K: K[ROWS, ROWS] + K[COLUMNS, COLUMNS] - 2 * K[ROWS, COLUMNS],
    "quotient": lambda K: -cp.trace(K) / 4 + 1,
    "our entries": lambda K: entries(K, ROWS, COLUMNS, W),
    "our distances": lambda K: squared_distances(K, ROWS, COLUMNS) - 0.5,
    "our sums": lambda K: 3 * squared_distances(K, ROWS, COLUMNS, sign=-1.0),
    "our inner product": lambda K: inner_product(C + C.T, K) + cp.trace(K),
    "product with a vector": lambda K: K @ C[0],
    "vector times it": lambda K: C[0] @ K,
    "product with a matrix": lambda K: K @ C[:, :2],
    "matrix times it": lambda K: C[:2] @ K,
    "matrix times its transpose": lambda K: C[:2] @ K.T,
    "soft links": lambda K: terms.soft_must_links(K, LINKS, 2.0) + terms.must_distances(K, LINKS),
}
# What CVXPY has to be asked for.
OTHERS = {
    "rows, then columns": lambda K: K[ROWS][:, COLUMNS],
    "matrix times entries": lambda K: C[:2, :3] @ K[ROWS, COLUMNS],
    "one entry of a sparse matrix": lambda K: sp.csr_array(([2.0], ([1], [2])), shape=(3, 3)) @ K[ROWS, COLUMNS],
    "a map of another expression": lambda K: entries(2 * K + np.eye(N), ROWS, COLUMNS),
    "a matrix of one row": lambda K: np.ones((1, 1)) @ K[ROWS[:1], COLUMNS[:1]],
    "stacked": lambda K: cp.hstack([K[0, 1], cp.trace(K)]),
}


def matrix() -> cp.Variable:
    return cp.Variable((N, N), symmetric=True)


def assert_same(expression, K):
    A, a = coefficients(expression, K)
    B, b = by_gradient(expression, K)
    np.testing.assert_allclose(A.toarray(), B.toarray(), atol=1e-12)
    np.testing.assert_allclose(a, b, atol=1e-12)
    value = RNG.standard_normal((N, N))
    K.value = value + value.T
    np.testing.assert_allclose(A @ K.value.ravel() + a, np.ravel(expression.value, order="F"), atol=1e-10)


@pytest.mark.parametrize("name", KNOWN)
def test_they_are_read_without_asking_cvxpy(name, monkeypatch):
    K = matrix()
    expression = KNOWN[name](K)
    assert_same(expression, K)
    monkeypatch.setattr(module, "compiled_coefficients", lambda *_: pytest.fail("CVXPY was asked"))
    coefficients(expression, K)


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_agree_with_cvxpys_gradient(name):
    K = matrix()
    assert_same(OTHERS[name](K), K)


VECTORS = [KNOWN[name] for name in ("entries", "multiples by entry", "distances", "our entries", "our distances")]
NUMBERS = [KNOWN[name] for name in ("an entry", "trace", "inner product", "weighted sum", "quotient", "sum")]


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(VECTORS), min_size=1, max_size=3),
    st.lists(st.sampled_from(NUMBERS), max_size=3),
    st.data(),
)
def test_sums_and_multiples_of_them(vectors, numbers, data):
    K = matrix()
    number = st.floats(-3, 3, allow_nan=False).map(lambda x: round(x, 3))
    total = 0.0
    for part in [*vectors, *numbers]:  # numbers are added to every entry
        total = total + data.draw(number) * part(K)
    assert_same(cp.multiply(data.draw(number), -total) / 2 + W, K)


def test_linear_maps_compile_evaluate_and_have_the_multipliers_of_cvxpys_own():
    L = C @ C.T
    ours, theirs = matrix(), matrix()
    own = [entries(ours, range(N), range(N)) == 1, entries(ours, [2], [4]) <= -0.2, ours >> 0]
    plain = [cp.diag(theirs) == 1, theirs[2, 4] <= -0.2, theirs >> 0]
    first = cp.Problem(cp.Minimize(inner_product(L, ours)), own)
    second = cp.Problem(cp.Minimize(cp.sum(cp.multiply(L, theirs))), plain)
    tight = {"solver": "CLARABEL", "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    assert first.solve(**tight) == pytest.approx(second.solve(**tight), abs=1e-7)
    np.testing.assert_allclose(own[0].dual_value, plain[0].dual_value, atol=1e-5)
    np.testing.assert_allclose(own[1].dual_value, plain[1].dual_value, atol=1e-5)


def test_linear_maps_know_how_they_grow():
    K = matrix()
    assert entries(K, ROWS, COLUMNS).is_incr(0) and not entries(K, ROWS, COLUMNS).is_decr(0)
    assert (-entries(K, ROWS, COLUMNS)).is_affine() and cp.pos(entries(K, ROWS, COLUMNS)).is_convex()
    with pytest.raises(ValueError, match="the coefficients are for 25 entries"):
        module.LinearMap(cp.Variable((4, 4), symmetric=True), entries(K, ROWS, COLUMNS).A)
