r"""Bounds on rounding errors, from which proofs take what floating point leaves uncertain.

With the unit roundoff :math:`u = 2^{-53}` and :math:`\gamma_k = ku/(1 - ku)`, a sum of k products, added up in whatever
order, differs from the exact one by at most

.. math:: |\mathrm{fl}(x^\top y) - x^\top y| \ \le\ \gamma_k\, |x|^\top |y|

(Higham 2002, section 3.1), plus half of the smallest positive number for each product that underflows. A number known
up to an error is a :class:`Ball`; arithmetic with balls keeps that promise. The numbers of a program are taken as they
are stored: how they were rounded before, when a graph was built, is no part of any proof.

References
----------
Higham (2002), Accuracy and Stability of Numerical Algorithms, 2nd edition.
Rump (2006), Verification of positive definiteness, BIT 46: theorem 2.3 and its corollary.
Jansson, Chaykin & Keil (2008), Rigorous error bounds for the optimal value in semidefinite programming, SIAM J.
Numer. Anal. 46 (the method of VSDP).
Ogita, Rump & Oishi (2005), Accurate sum and dot product, SIAM J. Sci. Comput. 26: products without error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .matrices import Congruence, as_dense

UNIT = 2.0**-53
SMALLEST = 2.0**-1074
# Bounds are themselves computed with rounding; this factor covers a dozen operations.
UPWARDS = 1 + 2.0**-49
# Up to this many terms sums are exact to the last digit; beyond, they are added up in pieces of the second length.
ADDED_EXACTLY = 100_000
PIECE = 512
# Dekker's splitting neither overflows nor underflows between these.
SPLIT = 2.0**27 + 1
LEAST_SPLIT, MOST_SPLIT = 1e-130, 1e150


@dataclass(frozen=True)
class Ball:
    """A number known up to an error: the exact one is within ``radius`` of ``middle``."""

    middle: float
    radius: float = 0.0

    @property
    def lower(self) -> float:
        """A number that the exact one is not below; −∞ if nothing is known."""
        low = math.nextafter(self.middle - self.radius, -math.inf) if self.radius else self.middle
        return -math.inf if math.isnan(low) else low

    @property
    def upper(self) -> float:
        """A number that the exact one is not above; ∞ if nothing is known."""
        high = math.nextafter(self.middle + self.radius, math.inf) if self.radius else self.middle
        return math.inf if math.isnan(high) else high

    @property
    def magnitude(self) -> float:
        """A number that the absolute value of the exact one is not above."""
        return max(self.upper, -self.lower)

    def __neg__(self) -> Ball:
        return Ball(-self.middle, self.radius)

    def __add__(self, other: Ball | float) -> Ball:
        other = _as_ball(other)
        middle = self.middle + other.middle
        return Ball(middle, UPWARDS * (self.radius + other.radius + UNIT * abs(middle)))

    __radd__ = __add__

    def __sub__(self, other: Ball | float) -> Ball:
        return self + -_as_ball(other)

    def __rsub__(self, other: Ball | float) -> Ball:
        return _as_ball(other) + -self

    def __mul__(self, other: Ball | float) -> Ball:
        other = _as_ball(other)
        middle = self.middle * other.middle
        if any(ball.middle == ball.radius == 0 for ball in (self, other)) and not math.isnan(middle):
            return Ball(0.0)
        spread = abs(self.middle) * other.radius + self.radius * (abs(other.middle) + other.radius)
        return Ball(middle, UPWARDS * (spread + UNIT * abs(middle)) + 4 * SMALLEST)

    __rmul__ = __mul__

    def __truediv__(self, other: Ball | float) -> Ball:
        other = _as_ball(other)
        least = abs(other.middle) - other.radius * UPWARDS
        if not least > 0:
            return Ball(math.nan, math.inf)
        middle = self.middle / other.middle
        return Ball(middle, UPWARDS * ((self.radius + abs(middle) * other.radius) / least + 2 * UNIT * abs(middle)))

    def __rtruediv__(self, other: Ball | float) -> Ball:
        return _as_ball(other) / self


def _as_ball(number: Ball | float) -> Ball:
    return number if isinstance(number, Ball) else Ball(float(number))


def gamma(terms: float) -> float:
    """Return γ_k, rounded up; infinity where so many terms prove nothing."""
    share = float(terms) * UNIT
    return UPWARDS * share / (1 - share) if share < 0.5 else math.inf


def total(numbers: Any) -> Ball:
    """Return the sum of the entries of an array."""
    flat = np.ravel(np.asarray(numbers, dtype=float))
    if flat.size <= ADDED_EXACTLY:
        return _added(flat, 0.0)
    return _added(_in_pieces(flat), gamma(PIECE) * float(abs(flat).sum()) * (1 + gamma(flat.size)))


def dot(x: Any, y: Any) -> Ball:
    """Return the inner product of two arrays; up to 100 000 terms the products are exact as well."""
    x, y = np.ravel(np.asarray(x, dtype=float)), np.ravel(np.asarray(y, dtype=float))
    if x.size > ADDED_EXACTLY:
        with np.errstate(all="ignore"):
            products = x * y
            sizes = float(abs(products).sum()) * (1 + gamma(x.size))
        return _added(_in_pieces(products), gamma(PIECE + 1) * sizes + x.size * SMALLEST)
    with np.errstate(all="ignore"):
        products, rest = _exact_products(x, y)
        inexact = np.isnan(rest)
        rounding = 2 * UNIT * float(abs(products[inexact]).sum()) + inexact.sum() * SMALLEST
    return _added(np.concatenate([products, rest[~inexact]]), rounding)


def norm_above(matrix: Any) -> float:
    """Return a number that the Frobenius norm of a matrix is not above."""
    data = np.ravel(matrix.data if sp.issparse(matrix) else np.asarray(matrix, dtype=float))
    if not data.size:
        return 0.0
    # Squares may underflow, or overflow, where the norm does not.
    largest = float(abs(data).max())
    if largest == 0 or not math.isfinite(largest):
        return largest
    return UPWARDS * largest * float(np.linalg.norm(data / largest)) * (1 + gamma(data.size + 4))


def row_sums_above(matrix: Any) -> float:
    """Return a bound on the norm of a symmetric matrix: its largest row sum of absolute values, rounded up."""
    if not matrix.shape[0]:
        return 0.0
    return float(abs(matrix).sum(axis=1).max()) * (1 + gamma(matrix.shape[1] + 2))


def terms_per_row(matrix: Any) -> int:
    """Return the largest number of nonzero entries in a row: the terms in an entry of a product with the matrix."""
    if sp.issparse(matrix):
        return int(np.diff(sp.csr_array(matrix).indptr).max(initial=0))
    return int(np.count_nonzero(matrix, axis=1).max(initial=0))


def inner_product(C: Any, K: Any) -> Ball:
    """Return ⟨C, K⟩ for a sparse or dense C and a matrix K, possibly kept as a product TMTᵀ."""
    if not isinstance(K, Congruence):
        if sp.issparse(C):
            part = C.tocoo()
            return dot(part.data, as_dense(K[part.row, part.col]))
        return dot(C, as_dense(K))
    # ⟨TᵀCT, M⟩, where the entries of TᵀCT are known up to γ |T|ᵀ|C||T|.
    small = as_dense(K.T.T @ (C @ K.T))
    large = as_dense(abs(K.T).T @ (abs(C) @ abs(K.T)))
    rounding = gamma(2 * (terms_per_row(C) + K.shape[0]) + 4) * float(np.sum(large * abs(K.M))) * (1 + gamma(K.M.size))
    return dot(small, K.M) + Ball(0.0, rounding)


def cholesky_error(diagonal: np.ndarray) -> float:
    r"""Return c such that :math:`\lambda_{\min}(A) \ge -c` if Cholesky's factorisation of A runs to its end.

    It then is the exact factorisation of :math:`A + \Delta` with :math:`|\Delta_{ij}| \le \frac{\gamma_{n+1}}{1 -
    \gamma_{n+1}}\sqrt{a_{ii}a_{jj}}`, so the norm of Δ is at most that times the trace (Rump 2006). A few more
    operations per entry are allowed, for libraries that multiply by reciprocals.
    """
    n, share = len(diagonal), gamma(len(diagonal) + 8)
    largest = float(diagonal.max(initial=0.0))
    underflow = 16 * n * (n + largest) * SMALLEST
    return UPWARDS * share / (1 - share) * float(diagonal.sum()) * (1 + gamma(n)) + underflow


def elimination_error(factors: Any) -> float:
    r"""Return c such that :math:`\lambda_{\min}(A) \ge -c`, from factors LU of A with positive pivots on the diagonal.

    The factors are exact for :math:`A + \Delta` with :math:`|\Delta| \le \gamma_k |L||U|`, k the most entries in a row
    of L (Higham 2002, theorem 9.3). With D the diagonal of U, :math:`LU = LDL^\top + L(U - DL^\top)`, and
    :math:`LDL^\top` is semidefinite.
    """
    L, U = sp.csr_array(factors.L), sp.csr_array(factors.U)
    D = sp.diags_array(U.diagonal())
    scaled = sp.csr_array(D @ L.T)
    apart = abs(sp.csr_array(U - scaled)) + 2 * UNIT * abs(scaled)
    backward = gamma(terms_per_row(L) + 8)
    return UPWARDS * (backward * _norm_of_product(abs(L), abs(U)) + _norm_of_product(abs(L), apart))


def _norm_of_product(left: Any, right: Any) -> float:
    """Return a bound on the spectral norm of the product of two matrices without negative entries."""
    rows, columns = left @ (right @ np.ones(right.shape[1])), right.T @ (left.T @ np.ones(left.shape[0]))
    rounding = 1 + gamma(sum(left.shape) + sum(right.shape))
    return math.sqrt(float(rows.max(initial=0.0))) * math.sqrt(float(columns.max(initial=0.0))) * rounding


def _in_pieces(numbers: np.ndarray) -> np.ndarray:
    return np.add.reduceat(numbers, np.arange(0, numbers.size, PIECE)) if numbers.size else numbers


def _added(numbers: np.ndarray, radius: float) -> Ball:
    """Return a sum that is exact up to the last digit, with what is known about errors in its terms."""
    try:
        middle = math.fsum(numbers)
    except (OverflowError, ValueError):  # beyond the largest number, or infinities of both signs
        return Ball(math.nan, math.inf)
    return Ball(middle, UPWARDS * (radius + UNIT * abs(middle)))


def _exact_products(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return products and what rounding took from them (Dekker, Veltkamp); NaN where that cannot be represented."""
    products = x * y
    (a, b), (c, d) = _split(x), _split(y)
    rest = b * d - (((products - a * c) - b * c) - a * d)
    sizes = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    safe = ((sizes[0] >= LEAST_SPLIT) & (sizes[1] <= MOST_SPLIT)) | (sizes[0] == 0)
    return products, np.where(safe, np.where(sizes[0] == 0, 0.0, rest), np.nan)


def _split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    high = SPLIT * x
    high = high - (high - x)
    return high, x - high
