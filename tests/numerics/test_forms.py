"""Linear functions of a kernel as products of points and combinations of points."""

import numpy as np
import pytest
import scipy.sparse as sp

from cvxlink.numerics.forms import Forms

N = 12


def symmetric_rows(rng):
    """Rows of every kind, as dense symmetric matrices: entries, a star, products, and a long row that is no product."""
    star = np.zeros((N, N))
    star[3] += 0.5
    star[:, 3] += 0.5
    uneven = np.zeros((N, N))
    uneven[5] = rng.standard_normal(N)
    v = rng.standard_normal(N)
    some = np.where(np.arange(N) % 2, 1.0, 0.0)
    no_product = rng.standard_normal((N, N))
    entry = np.zeros((N, N))
    entry[1, 4] = entry[4, 1] = 0.5
    return [
        entry,
        star,
        uneven + uneven.T,
        np.ones((N, N)),
        np.outer(v, v),
        np.outer(some, some),
        no_product + no_product.T,
    ]


def test_products_are_the_same_functions():
    rng = np.random.default_rng(0)
    matrices = symmetric_rows(rng)
    forms = Forms.of(sp.csr_array(np.array([A.ravel() for A in matrices])), N)
    V = rng.standard_normal((N, 3))
    expected = [np.vdot(A, V @ V.T) for A in matrices]
    assert forms.values(V) == pytest.approx(expected, abs=1e-12)
    z = rng.standard_normal(len(matrices))
    adjoint = sum(weight * A for weight, A in zip(z, matrices, strict=True))
    assert forms.adjoint(z).toarray() == pytest.approx(adjoint, abs=1e-12)
    assert forms.adjoint(z) @ V == pytest.approx(adjoint @ V, abs=1e-12)
    assert np.linalg.norm(adjoint, 2) <= forms.adjoint(z).norm_above
    lengths = rng.random(N) + 0.5
    scaled = forms.lengths_given(lengths).values(V)
    assert scaled == pytest.approx(forms.values(lengths[:, None] * V), abs=1e-12)


def test_sums_over_all_points_take_one_term_each():
    rows = np.zeros((N, N, N))
    for i in range(N):
        rows[i, i] += 0.5
        rows[i, :, i] += 0.5
    forms = Forms.of(sp.csr_array(rows.reshape(N, N * N)), N)
    assert len(forms.row) == N and len(forms.U) == 1


def test_only_the_points_that_occur_are_touched():
    A = np.zeros((2, N, N))
    A[0, 2, 7] = A[0, 7, 2] = 1.0
    A[1, 9, 9] = 1.0
    forms = Forms.of(sp.csr_array(A.reshape(2, -1)), N)
    assert forms.touched.tolist() == [2, 7, 9]
    V = np.random.default_rng(1).standard_normal((N, 2))
    assert forms.among(forms.touched).values(V[forms.touched]) == pytest.approx(forms.values(V))
