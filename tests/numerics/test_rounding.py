"""Bounds on rounding errors hold, against exact rational arithmetic and against 50 digits."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cvxlink.numerics.least_eigenvalue import least_eigenvalue, sum_of_smallest
from cvxlink.numerics.matrices import Congruence
from cvxlink.numerics.rounding import Ball, dot, inner_product, norm_above, total
from helpers import high_precision as hp

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
MODERATE = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)


def contains(ball: Ball, number: Fraction) -> bool:
    return Fraction(ball.lower) <= number <= Fraction(ball.upper)


@given(MODERATE, MODERATE, MODERATE)
def test_arithmetic_with_balls_contains_the_exact_result(x, y, z):
    a, b, c = Fraction(x), Fraction(y), Fraction(z)
    assert contains((Ball(x) + y) * z - x, (a + b) * c - a)
    if z:
        assert contains((Ball(x) - y) / z, (a - b) / c)
        assert contains(1 / (Ball(z) + 0.0), 1 / c)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20))
def test_sums_of_products_contain_the_exact_ones_also_where_they_underflow(pairs):
    x, y = np.array(pairs).reshape(-1, 2).T
    found, wanted = dot(x, y), sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    if math.isfinite(found.lower) and math.isfinite(found.upper):
        assert contains(found, wanted)


def test_what_cancels_is_not_lost():
    found = dot([1e16, 1.0, -1e16], [1.0, 1.0, 1.0])
    assert found.middle == 1 and found.radius <= 1e-15
    third = 1 / 3
    assert dot([third, -1.0], [third, third * third]).middle != 0  # the product is rounded, the difference is not


@pytest.mark.parametrize("count", [10, 100_001, 250_000])
def test_long_sums_contain_the_exact_ones(count):
    rng = np.random.default_rng(count)
    x, y = rng.standard_normal((2, count)) * 10.0 ** rng.uniform(-20, 20, (2, count))
    assert contains(total(x), sum(map(Fraction, x.tolist())))
    assert contains(dot(x, y), sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1.0, 1e200])
def test_norms_are_rounded_up_without_underflow(size):
    x = size * np.array([3.0, 4.0, 12.0])
    assert Fraction(norm_above(x)) ** 2 >= sum(Fraction(a) ** 2 for a in x.tolist())
    assert norm_above(x) <= 13 * size * (1 + 1e-14)


def test_inner_products_of_products_contain_the_exact_ones():
    rng = np.random.default_rng(0)
    for _ in range(20):
        T, M, C = rng.standard_normal((9, 3)), rng.standard_normal((3, 3)), 1e8 * rng.standard_normal((9, 9))
        C, M = C + C.T, M + M.T
        C -= np.outer(T[:, 0], T[:, 0]) * (T[:, 0] @ C @ T[:, 0]) / (T[:, 0] @ T[:, 0]) ** 2  # something cancels
        found = inner_product(sp.csr_array(C), Congruence(T, M))
        wanted = hp.inner(hp.exact(T).T * hp.exact(C) * hp.exact(T), hp.exact(M))
        assert mp.mpf(found.lower) <= wanted <= mp.mpf(found.upper)


def matrices():
    """Symmetric matrices whose least eigenvalue rounding easily hides."""
    rng = np.random.default_rng(0)
    hilbert = 1 / (1.0 + np.add.outer(np.arange(7), np.arange(7)))
    graded = 10.0 ** -np.abs(np.arange(0, 21, 3.0))
    yield "hilbert", hilbert
    yield "graded", np.diag(graded) + 1e-3 * np.sqrt(np.outer(graded, graded))
    yield "huge", 1e150 * hilbert
    yield "tiny", 1e-150 * hilbert
    yield "denormal", np.round(1e3 * hilbert) * 5e-324
    yield "zero", np.zeros((4, 4))
    yield "rank one", np.ones((6, 6)) / 3
    for k in range(6):
        A = rng.standard_normal((7, 5)) * 10.0 ** rng.uniform(-8, 8, 5)
        yield f"singular {k}", A @ A.T
        yield f"shifted {k}", A @ A.T - 1e-16 * np.eye(7) * np.linalg.norm(A) ** 2


@pytest.mark.parametrize(("name", "matrix"), list(matrices()), ids=[name for name, _ in matrices()])
def test_no_eigenvalue_is_below_the_proven_one(name, matrix):
    matrix = (matrix + matrix.T) / 2
    exact = hp.eigenvalues(hp.exact(matrix))
    least = least_eigenvalue(matrix)
    assert mp.mpf(least.lower) <= exact[0]
    assert exact[0] - least.lower <= mp.mpf(1e-13) * max(abs(exact[0]), abs(exact[-1])) + mp.mpf(1e-318)
    for count in (1, 3):
        guess, margin, _ = sum_of_smallest(matrix, count)
        lower = (Ball(guess) - margin).lower
        assert mp.mpf(lower) <= mp.fsum(exact[:count])
        size = max(abs(exact[0]), abs(exact[-1]))
        assert mp.fsum(exact[:count]) - lower <= mp.mpf(1e-13) * size + mp.mpf(1e-318)


def test_sums_on_a_complement_hold_for_any_vector():
    rng = np.random.default_rng(1)
    for _ in range(15):
        A = rng.standard_normal((6, 6)) * 10.0 ** rng.uniform(-3, 3)
        A, v = A + A.T, rng.standard_normal(6)
        v /= np.linalg.norm(v)
        w = hp.exact(v)
        # An orthonormal basis of the complement, in 50 digits.
        Q = mp.qr(w)[0]
        basis = hp.part(Q, list(range(6)), list(range(1, 6)))
        exact = hp.eigenvalues(basis.T * hp.exact(A) * basis)
        guess, margin, _ = sum_of_smallest(A, 2, v=v)
        assert mp.mpf((Ball(guess) - margin).lower) <= exact[0] + exact[1]
        assert margin <= 1e-12 * np.linalg.norm(A)


@pytest.mark.parametrize("n", [501, 900])
def test_sparse_factorisations_prove_the_least_eigenvalue_of_a_path(n):
    path = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    exact = 2 - 2 * mp.cos(mp.pi / (n + 1))
    least = least_eigenvalue(sp.csr_array(path))
    assert mp.mpf(least.lower) <= exact <= mp.mpf(least.value) + mp.mpf(1e-12)
    assert exact - least.lower <= 1e-11


def test_a_product_is_as_definite_as_its_middle():
    rng = np.random.default_rng(2)
    T, B = rng.standard_normal((12, 3)), rng.standard_normal((3, 2))
    for M in (B @ B.T, B @ B.T - 0.1 * np.eye(3)):
        exact = hp.eigenvalues(hp.exact(T) * hp.exact((M + M.T) / 2) * hp.exact(T).T)[0]
        assert mp.mpf(least_eigenvalue(Congruence(T, (M + M.T) / 2)).lower) <= exact
