r"""Least eigenvalues, and sums of the smallest, with a proof.

LAPACK's eigenvalues are accurate, but no bound on their errors is known with its constants. So they are only guesses:
that no eigenvalue of A lies below σ is shown by a factorisation of :math:`A - \sigma I`, with the bounds on its errors
in :mod:`cvxlink.numerics.rounding`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..errors import CvxlinkError
from .eigenpairs import (
    Pairs,
    chebyshev,
    deflated,
    norm_bound,
    number_below,
    outside,
    ritz,
    smallest_eigenpairs,
)
from .matrices import Congruence, as_dense, positive_definite_factors
from .rounding import (
    SMALLEST,
    UNIT,
    Ball,
    cholesky_error,
    dot,
    elimination_error,
    gamma,
    norm_above,
    row_sums_above,
)

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
# Up to the first order sums of eigenvalues are proven by a dense factorisation; up to the second, by a sparse one.
# Eigenvalues closer together than the third, relative to the norm, are not told apart by a count.
PROVEN_BY_LAPACK = 3000
COUNTED = 10_000
COUNT_MARGIN = 1e-7


class Least(NamedTuple):
    """The least eigenvalue, how much lower it can really be, and the basis of that if it is not arithmetic alone."""

    value: float
    margin: float
    basis: str = ""

    @property
    def lower(self) -> float:
        """A number that no eigenvalue is below; −∞ if nothing is known."""
        return (Ball(self.value) - self.margin).lower


def least_eigenvalue(matrix: Any, columns: np.ndarray | None = None) -> Least:
    """Return the least eigenvalue of a symmetric matrix and how much lower it can really be.

    For a dense or small matrix LAPACK computes it, and the margin is widened until Cholesky's factorisation shows that
    no eigenvalue lies below value − margin. A product TMTᵀ has none below ‖T‖² times a negative one of M. For a larger
    sparse matrix Lanczos's method makes the guess, and the factorisation is sparse.

    Beyond order 5000, where the factors may be large, ``columns`` that approximate the eigenvectors of the least
    eigenvalues make a proof by products possible, see :func:`apart_from`; without them the matrix is factorised.
    """
    n = matrix.shape[0]
    if isinstance(matrix, Congruence) and matrix.is_thin:
        return _least_of_product(matrix)
    if not sp.issparse(matrix) or n <= DENSE_EIGENVALUES or matrix.nnz > SPARSE * n * n:
        return _least_by_cholesky(as_dense(matrix))
    if n > FACTORISED and columns is not None:
        likely = apart_from(columns, matrix)
        if likely is not None:
            return likely
    return _least_by_elimination(matrix)


def _least_of_product(matrix: Congruence) -> Least:
    middle = _least_by_cholesky(matrix.M).lower
    T = abs(matrix.T)
    size = float(T.sum(axis=0).max()) * float(T.sum(axis=1).max()) * (1 + gamma(sum(T.shape) + 4))
    least = (Ball(min(0.0, middle)) * size).lower if middle < 0 else 0.0
    value = min(0.0, float(matrix.eigenvalues()[0])) if middle < 0 else 0.0
    return Least(value, (Ball(value) - least).upper)


def _least_by_cholesky(dense: np.ndarray) -> Least:
    n = len(dense)
    symmetric = (dense + dense.T) / 2
    if not n or not np.isfinite(symmetric).all():
        return Least(-np.inf if n else 0.0, 0.0)
    halved = 0.0 if np.array_equal(dense, dense.T) else UNIT * row_sums_above(symmetric)
    try:
        eigenvalues = np.linalg.eigvalsh(symmetric)
    except np.linalg.LinAlgError:
        return Least(-np.inf, 0.0)
    least, size = float(eigenvalues[0]), float(abs(eigenvalues).max())
    margin = 2 * gamma(n) * size + SMALLEST
    while margin <= 4 * size:
        missing = lack_of_definiteness(symmetric, (Ball(least) - margin).lower)
        if missing is not None:
            return Least(least, (Ball(margin) + missing + halved).upper)
        margin *= 4
    return Least(least, (Ball(max(0.0, least)) + row_sums_above(symmetric) + halved).upper)


def lack_of_definiteness(symmetric: np.ndarray, shift: float) -> float | None:
    """Return c such that no eigenvalue is below shift − c, if A − shift·I has a Cholesky factor; otherwise None."""
    shifted = symmetric.copy()
    np.fill_diagonal(shifted, symmetric.diagonal() - shift)
    diagonal = shifted.diagonal()
    if not (diagonal >= 0).all() or scipy.linalg.lapack.dpotrf(shifted, lower=1, clean=0)[1] != 0:
        return None
    return (Ball(cholesky_error(diagonal)) + UNIT * float(diagonal.max())).upper


def _least_by_elimination(matrix: Any) -> Least:
    n, size, identity = matrix.shape[0], row_sums_above(matrix), sp.eye_array(matrix.shape[0])
    guess, below, margin = 0.0, 0.0, 4 * gamma(n) * size
    with suppress(CvxlinkError):  # without convergence the bisection below does all the work
        values, vectors = smallest_eigenpairs(matrix, 1)
        guess, u = float(values[0]), vectors[:, 0]
        margin = max(margin, 2 * float(np.linalg.norm(matrix @ u - guess * u)))

    def error_at(distance: float) -> float | None:
        shifted = sp.csc_array(matrix - (guess - distance) * identity)
        factors = positive_definite_factors(shifted)
        return None if factors is None else elimination_error(factors) + 4 * UNIT * float(shifted.diagonal().max())

    error = None
    while margin < guess + size and (error := error_at(margin)) is None:
        below, margin = margin, 4 * margin
    for _ in range(8 if below and error is not None else 0):  # the estimate was wrong: find out by how much
        middle = (below + margin) / 2
        closer = error_at(middle)
        if closer is None:
            below = middle
        else:
            margin, error = middle, closer
    most = (Ball(guess) + size).upper
    return Least(guess, most if error is None else min((Ball(margin) + error).upper, most))


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


def sum_of_smallest(
    matrix: Any, count: int, found: Pairs | None = None, v: np.ndarray | None = None
) -> tuple[float, float, str]:
    r"""Return the sum of the smallest eigenvalues, how much lower it can really be, and how that is known.

    Optionally on the complement of v. For a dense matrix, and a sparse one up to order 3000, LAPACK makes a guess. The
    sum is the least of ⟨A, X⟩ over :math:`0 \preceq X \preceq I` of trace k; so for any σ and :math:`Z \succeq 0` with
    :math:`A + Z \succeq \sigma I` it is at least :math:`k\sigma - \operatorname{tr} Z`. Z raises the smallest
    eigenvalues to the k-th one, and Cholesky's factorisation shows that it does. On the complement of v, A may be
    replaced by :math:`A - va^\top - av^\top + tvv^\top` with any a and t.

    For a larger sparse matrix, the eigenvalues ``found`` elsewhere are checked by a count: exactly as many as were
    found lie below the last, so none is missing, and each is accurate within the norm of the residual (Kahan). Beyond
    order 10 000, where the factors may be too large, they are assumed to be complete.
    """
    if not sp.issparse(matrix) or matrix.shape[0] <= PROVEN_BY_LAPACK:
        return _sum_by_cholesky(as_dense(matrix), count, v)
    n, size = matrix.shape[0], row_sums_above(matrix)
    eigenvalues, vectors = found if found is not None else smallest_eigenpairs(matrix, count, v)
    residual = matrix @ vectors - vectors * eigenvalues
    if v is not None:
        residual -= np.outer(v, v @ residual)
    off = float(np.linalg.norm(residual))
    margin = count * (off + COUNT_MARGIN * size) + count * gamma(2 * n) * size
    if n > COUNTED:
        return float(eigenvalues.sum()), margin, ", by Lanczos's method"
    below = float(eigenvalues[-1]) - COUNT_MARGIN * size - off
    certain = int((eigenvalues < below - off).sum())
    if number_below(matrix, below, v) != certain:
        return -np.inf, 0.0, ", by Lanczos's method, which missed some"
    return float(eigenvalues[:certain].sum() + (count - certain) * below), margin, ", counted"


def _sum_by_cholesky(dense: np.ndarray, count: int, v: np.ndarray | None) -> tuple[float, float, str]:
    n, A = len(dense), (dense + dense.T) / 2
    if not np.isfinite(A).all():
        return -np.inf, 0.0, ""
    size = row_sums_above(A)
    # Of the entries: of the mean with the transpose, and of what is added below.
    rounding, whole = Ball(UNIT * size), Ball(size)
    if v is not None:
        a, length = A @ v, max(float(v @ v), 1e-300)
        a, t = a / length, float(v @ a) / length**2 + 2 * size
        A = A - np.outer(v, a) - np.outer(a, v) + t * np.outer(v, v)
        whole = whole + Ball(norm_above(v)) * (2 * norm_above(a) + abs(t) * norm_above(v))
        rounding = rounding + gamma(8) * whole
    eigenvalues, vectors = scipy.linalg.eigh(A, subset_by_index=[0, count - 1])
    top = float(eigenvalues[-1])
    lift = np.maximum(top - eigenvalues, 0.0)
    A = A + (vectors * lift) @ vectors.T
    A = (A + A.T) / 2
    trace = dot(vectors * lift, vectors) * (1 + 4 * UNIT)
    whole = whole + Ball(norm_above(vectors)) * norm_above(vectors * lift)
    rounding = rounding + gamma(count + 6) * whole
    guess, margin = float(eigenvalues.sum()), 2 * gamma(n) * size + SMALLEST
    while margin <= 4 * size:
        missing = lack_of_definiteness(A, (Ball(top) - margin).lower)
        if missing is not None:
            least = count * (Ball(top) - margin - missing - rounding) - trace
            return guess, (Ball(guess) - least.lower).upper, ""
        margin *= 4
    return guess, (Ball(guess) + count * Ball(size) + rounding).upper, ""
