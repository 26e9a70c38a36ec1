"""Elimination without subtraction, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.numerics import star_mesh
from cvxlink.numerics.star_mesh import carries_to_zero, eliminated


def exact_reduction(W: np.ndarray, known: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the harmonic extension and the Schur complement of D − W, in exact arithmetic."""
    n = len(W)
    L = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            if i != j:
                L[i][j] = -Fraction(float(W[i, j]))
                L[i][i] += Fraction(float(W[i, j]))
    unknown = [i for i in range(n) if i not in known]
    system = [[L[i][j] for j in unknown] + [-L[i][k] for k in known] for i in unknown]
    for c in range(len(unknown)):  # Gauss–Jordan
        pivot = next(r for r in range(c, len(unknown)) if system[r][c] != 0)
        system[c], system[pivot] = system[pivot], system[c]
        system[c] = [x / system[c][c] for x in system[c]]
        for r in range(len(unknown)):
            if r != c:
                system[r] = [x - system[r][c] * y for x, y in zip(system[r], system[c], strict=True)]
    Q = [row[len(unknown) :] for row in system]
    schur = [
        [L[k][m] + sum(L[k][u] * Q[a][b] for a, u in enumerate(unknown)) for b, m in enumerate(known)] for k in known
    ]
    extension = np.eye(n)[:, known]
    extension[unknown] = np.array([[float(x) for x in row] for row in Q])
    return extension, np.array([[float(x) for x in row] for row in schur])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("spread", [0, 8, 40])
@pytest.mark.parametrize("normalized", [False, True])
def test_weights_of_all_sizes_lose_no_digits(seed, spread, normalized):
    rng = np.random.default_rng(seed)
    W = np.triu(10 ** rng.uniform(-spread, spread, (7, 7)), 1)
    W = W + W.T
    graph, known = cl.Graph.from_affinity(W), [0, 2, 5]
    p = np.sqrt(graph.degrees) if normalized else np.ones(7)
    mesh = eliminated(graph.laplacian(normalized), p, np.array(known))
    Q, schur = exact_reduction(W, known)
    np.testing.assert_allclose(mesh.extension, p[:, None] * Q / p[known], rtol=1e-12)
    np.testing.assert_allclose(mesh.cost, schur / np.outer(p[known], p[known]), rtol=1e-12)


@pytest.mark.parametrize("block", [1, 3, 64])
def test_blocks_of_points_are_eliminated_like_single_ones(block, monkeypatch):
    monkeypatch.setattr(star_mesh, "BLOCK", block)
    rng = np.random.default_rng(block)
    W = np.triu(10 ** rng.uniform(-30, 5, (14, 14)) * (rng.random((14, 14)) < 0.6), 1)
    W += np.diag(np.full(13, 1e-40), 1)  # so that it is connected
    W, known = W + W.T, [3, 8, 11]
    mesh = eliminated(cl.Graph.from_affinity(W).laplacian(False), np.ones(14), np.array(known))
    Q, schur = exact_reduction(W, known)
    np.testing.assert_allclose(mesh.extension, Q, rtol=1e-12)
    np.testing.assert_allclose(mesh.cost, schur, rtol=1e-12)


def test_products_of_weights_may_be_smaller_than_any_number():
    # Without point 4, points 0 and 5 are joined by 1e-400, which is a share of 1e-200 in the weights of point 5.
    W = np.zeros((6, 6))
    W[4, 0], W[4, 1], W[4, 5], W[5, 1:4] = 1e-200, 1, 1e-200, 1e-230
    W, known = W + W.T, [0, 1, 2, 3]
    mesh = eliminated(cl.Graph.from_affinity(W).laplacian(False), np.ones(6), np.array(known))
    Q, schur = exact_reduction(W, known)
    assert 0 < Q[5, 0] < 1e-199
    np.testing.assert_allclose(mesh.extension, Q, rtol=1e-12)
    np.testing.assert_allclose(mesh.cost, schur, rtol=1e-12)


def test_the_extension_uses_it_where_a_factorisation_fails():
    W = np.zeros((4, 4))
    W[0, 1], W[2, 3], W[3, 0] = 1, 1e8, 1e-10
    W = W + W.T
    for normalized in (False, True):
        graph = cl.Graph.from_affinity(W)
        p = np.sqrt(graph.degrees) if normalized else np.ones(4)
        extension = cl.HarmonicExtension(graph.laplacian(normalized), [0, 1], null_vector=p)
        expected = exact_reduction(W, [0, 1])[0]
        np.testing.assert_allclose(extension.matrix, p[:, None] * expected / p[:2], rtol=1e-12)
        np.testing.assert_allclose(extension([3.0, 5.0]), extension.matrix @ [3.0, 5.0])


def test_what_is_not_a_laplacian_of_that_kind_is_refused():
    L = cl.Graph.from_affinity(np.ones((3, 3)) - np.eye(3)).laplacian(normalized=False)
    assert eliminated(L, np.ones(3), np.array([0])) is not None
    assert eliminated(L, np.array([1.0, 1.0, 1.1]), np.array([0])) is None  # not taken to zero
    assert not carries_to_zero(L, np.array([1.0, 1.0, -1.0]))
    positive = sp.csr_array(np.array([[1.0, 1, -2], [1, 1, -2], [-2, -2, 4]]))  # takes ones to zero, but no Laplacian
    assert carries_to_zero(positive, np.ones(3)) and eliminated(positive, np.ones(3), np.array([0])) is None
