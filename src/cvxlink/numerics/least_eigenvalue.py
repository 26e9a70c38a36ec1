"""Least eigenvalues with a proof."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import CvxlinkError
from .eigenpairs import chebyshev, deflated, norm_bound, outside, ritz, smallest_eigenpairs
from .matrices import Congruence, as_dense, positive_definite_factors

# Up to this order, and for matrices with a larger share of nonzero entries, all eigenvalues are computed.
DENSE_EIGENVALUES = 500
SPARSE = 0.1
# Up to this order a factorisation proves that no eigenvalue lies below; its factors are not always sparse.
FACTORISED = 5000
# A bound by products is rejected if it differs from the least Ritz value by more than this share of it.
BLUNT = 0.1
# The allowed probability that a proof by a random vector fails, and the largest number of its products.
CHANCE = 1e-12
MOST_PRODUCTS = 5000
# Columns with a larger residual, relative to the norm, do not count as approximate eigenvectors.
NEARLY = 1e-3
# After filtering, the residual must be smaller than this.
CLEARLY = 1e-6
# Each filter reduces unwanted components by e to this power, until their effect on the bound is negligible relative to
# the norm.
FILTERED = 10
NEGLIGIBLE = 1e-13


class Least(NamedTuple):
    """The least eigenvalue, how much lower it can really be, and the basis of that if it is not arithmetic alone."""

    value: float
    margin: float
    basis: str = ""


def least_eigenvalue(matrix: Any, columns: np.ndarray | None = None) -> Least:
    """Return the least eigenvalue of a symmetric matrix and how much lower it can really be.

    For a dense or small matrix all eigenvalues are computed, with a margin of n·ε·‖·‖ for rounding. For a larger sparse
    one Lanczos's method estimates the least eigenvalue θ (its residual only shows that some eigenvalue is near θ), and
    the margin is widened until a factorisation shows that no eigenvalue lies below θ − margin.

    Beyond order 5000, where the factors may be large, ``columns`` that approximate the eigenvectors of the least
    eigenvalues make a proof by products possible, see :func:`apart_from`; without them the matrix is factorised.
    """
    n = matrix.shape[0]
    if not sp.issparse(matrix) or n <= DENSE_EIGENVALUES or matrix.nnz > SPARSE * n * n:
        if isinstance(matrix, Congruence):
            eigenvalues = matrix.eigenvalues()
        else:
            dense = as_dense(matrix)
            eigenvalues = np.linalg.eigvalsh((dense + dense.T) / 2)
        return Least(float(eigenvalues[0]), float(n * np.finfo(float).eps * abs(eigenvalues).max()))
    if n > FACTORISED and columns is not None:
        likely = apart_from(columns, matrix)
        if likely is not None:
            return likely
    size, identity = norm_bound(matrix), sp.eye_array(n)
    guess, below, margin = 0.0, 0.0, 4 * n * float(np.finfo(float).eps) * size
    with suppress(CvxlinkError):  # without convergence the bisection below does all the work
        values, vectors = smallest_eigenpairs(matrix, 1)
        guess, u = float(values[0]), vectors[:, 0]
        margin = max(margin, 2 * float(np.linalg.norm(matrix @ u - guess * u)))
    while margin < guess + size and positive_definite_factors(matrix - (guess - margin) * identity) is None:
        below, margin = margin, 4 * margin
    for _ in range(8 if below else 0):  # the estimate was wrong: find out by how much
        middle = (below + margin) / 2
        if positive_definite_factors(matrix - (guess - middle) * identity) is not None:
            margin = middle
        else:
            below = middle
    return Least(guess, min(margin, guess + size))


def apart_from(columns: np.ndarray, matrix: sp.csr_array) -> Least | None:
    r"""Return a lower bound on the least eigenvalue that is almost certain, by products alone; None if that fails.

    With U an orthonormal basis of the columns that are nearly eigenvectors, :math:`A = U^\top M U`, D the matrix on
    the complement of U and :math:`c = \|(I - UU^\top) M U\|`, no eigenvalue is below the lesser one of the 2 × 2 matrix
    with diagonal :math:`\lambda_{\min}(A), \lambda_{\min}(D)` and −c beside it. If U spans the
    eigenvectors near zero, c is small and D has a gap γ to zero, part of which can be given up. If D had an eigenvalue
    :math:`\lambda < 0.8\gamma` with eigenvector v, the Chebyshev polynomial :math:`T_k` of the interval from 0.8γ up
    would make :math:`\|T_k(D)x\| \ge |T_k(\lambda)|\,|v^\top x|` large, for all unit vectors x except the share
    :math:`t\sqrt{2n/\pi}` of them with :math:`|v^\top x| < t`.
    """
    n, size, filtered = matrix.shape[0], norm_bound(matrix), False
    rng = np.random.default_rng(0)
    least_seen = CHANCE / np.sqrt(2 * n / np.pi)
    near, U, rest = ritz(matrix.dot, columns)
    keep = np.linalg.norm(rest, axis=0) <= NEARLY * size
    while not keep.all() or not filtered:
        U = U[:, keep]
        if not U.shape[1]:
            return None
        flipped = deflated(lambda x, U=U: size * x - matrix @ x, U, n)
        start = outside(rng.standard_normal(n), U)
        try:
            found = sp.linalg.eigsh(flipped, 1, which="LA", tol=1e-4, v0=start, return_eigenvectors=False, maxiter=60)
        except sp.linalg.ArpackError:
            return None
        gap = size - float(found[0])
        if gap <= 0:
            return None
        low = 0.8 * gap
        degree = int(np.ceil(np.log(2 / least_seen) / np.arccosh(1 + 0.8 * gap / (size - low))))
        if degree > MOST_PRODUCTS:
            return None
        # Components along other eigenvectors are filtered out first, as they enter the bound squared. Columns that
        # do not become eigenvectors belong to the complement.
        filtering = int(np.ceil(FILTERED / np.arccosh(1 + 2 * low / (size - low))))
        near, U, rest = ritz(matrix.dot, chebyshev(matrix, U, filtering, low, size))
        keep, filtered = np.linalg.norm(rest, axis=0) <= CLEARLY * size, True
    # Their coupling to the rest of the matrix lowers the bound by its square divided by the gap.
    coupling = float(np.linalg.norm(rest, 2))
    while coupling**2 > NEGLIGIBLE * size * low:
        near, U, rest = ritz(matrix.dot, chebyshev(matrix, U, filtering, low, size))
        before, coupling = coupling, float(np.linalg.norm(rest, 2))
        if coupling > before / 2:  # as far as rounding allows
            break
    x = outside(rng.standard_normal(n), U)
    grown = chebyshev(deflated(lambda x: matrix @ x, U, n), x / np.linalg.norm(x), degree, low, size)
    at_most = np.cosh(np.arccosh(max(1.0, float(np.linalg.norm(grown)) / least_seen)) / degree)
    apart = low - (size - low) / 2 * (at_most - 1)
    least = (near[0] + apart) / 2 - np.hypot((near[0] - apart) / 2, coupling)
    if near[0] - least > BLUNT * (abs(near[0]) + 1e-9 * size):  # Lanczos's method did not find where the others begin
        return None
    rounding = float(np.finfo(float).eps) * (np.sqrt(n) * size + degree * size)
    return Least(float(least), rounding, f", with probability 1 − {CHANCE:g} by {degree} products")
