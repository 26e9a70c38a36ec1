"""The smallest eigenvalues of a symmetric matrix, sparse or dense, without missing any.

Optionally they are computed on the complement of a unit vector v. Lanczos's method uses products with the matrix if
that converges, otherwise products with its inverse. A run sees only one direction of each eigenspace, so missed
eigenvalues are searched for a second time, or counted by Sylvester's law of inertia.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..errors import CvxlinkError
from .matrices import factorise
from .threads import threads_for

Pairs = tuple[np.ndarray, np.ndarray]

# Up to this order LAPACK is as fast as Lanczos's method, and cannot miss an eigenvalue.
DENSE = 1000
# Beyond this order a sparse matrix is not made dense if Lanczos's method fails.
LARGEST_DENSE = 8000
# Measured: 15 eigenvectors of 9298 points in 256 dimensions take 0.2 s by products and 11 s by inversion, 200 of 3000
# points in 784 dimensions 3 s and 0.6 s.
MOST_BY_PRODUCTS = 50
# Beyond this order a block of columns is filtered: products are cheaper, and clusters of eigenvalues do no harm.
MANY = 20_000
# The largest numbers of products of the block; below, its final residual relative to the norm.
MOST_FILTERED = 2000
QUICKLY_FILTERED = 150
FEW = 8
FILTERED = 1e-10
# Runs by inversion, each on the complement of what was found before, until the count is right.
MOST_RUNS = 12
# Products for a first guess.
KRYLOV = 30


def smallest_eigenpairs(
    matrix: Any,
    count: int,
    v: np.ndarray | None = None,
    start: np.ndarray | None = None,
    try_products: bool = True,
) -> Pairs:
    """Return the smallest eigenvalues, in increasing order, and their eigenvectors as columns.

    Parameters
    ----------
    matrix : sparse or dense matrix
    count : int
    v : array, optional
        A unit vector; the eigenvalues are computed on its complement.
    start : array, optional
        A starting vector, ideally close to an eigenvector.
    try_products : bool
        False if products with the matrix are known not to converge.
    """
    n = matrix.shape[0]
    found = None
    if n > DENSE and 4 * count <= n:
        # Vectors are too short for threads to help, unless the matrix is dense.
        sparse_and_many = sp.issparse(matrix) and n > MANY
        with threads_for(1 if sp.issparse(matrix) else n):
            if count <= MOST_BY_PRODUCTS and (try_products or not sp.issparse(matrix)):
                found = _of_many(matrix, count, v) if sparse_and_many else by_products(matrix, count, v, start)
            if found is None and sp.issparse(matrix):
                found = by_inversion(matrix, count, v)
        if found is None and sp.issparse(matrix) and n > LARGEST_DENSE:
            raise CvxlinkError(
                f"the smallest eigenvalues of these {n} points are too close together for Lanczos's method; "
                f"join the components of the graph, or use fewer points"
            )
    return by_lapack(matrix, count, v) if found is None else found


def by_lapack(matrix: Any, count: int, v: np.ndarray | None = None) -> Pairs:
    """Return the smallest eigenpairs of a dense matrix, or of a sparse one made dense."""
    space = Complement(matrix.shape[0], v)
    dense = space.restrict(matrix)
    # Divide and conquer finds all eigenvalues faster than the other method finds half of them.
    whole = 2 * count > len(dense)
    eigenvalues, y = np.linalg.eigh(dense) if whole else scipy.linalg.eigh(dense, subset_by_index=[0, count - 1])
    return eigenvalues[:count], space.lift(y[:, :count])


def by_products(matrix: Any, count: int, v: np.ndarray | None = None, start: np.ndarray | None = None) -> Pairs | None:
    """Run Lanczos's method on size − matrix, whose largest eigenvalues give the smallest ones; None if it fails.

    Products are enough if the eigenvalues are not too close together, as on graphs in many dimensions, whose factors
    would not be sparse. On graphs in few dimensions factors are better, and also for many eigenvectors, because keeping
    these orthogonal costs more.

    It is run a second time, from another start and orthogonal to the vectors found: it must not find anything smaller
    than the last eigenvalue.
    """
    n, size = matrix.shape[0], norm_bound(matrix)
    first, elsewhere = np.random.default_rng(0).standard_normal((2, n))
    fixed = np.zeros((n, 0)) if v is None else v[:, None]
    options: dict[str, Any] = {"which": "LA", "maxiter": 30}
    try:
        begin = first if start is None else start + 1e-3 * first / np.sqrt(n)
        eigenvalues, vectors = sp.linalg.eigsh(
            deflated(lambda x: size * x - matrix @ x, fixed, n),
            count,
            ncv=min(n, max(4 * count, 40)),
            tol=1e-12,
            v0=outside(begin, fixed),
            **options,
        )
        eigenvalues, vectors = size - eigenvalues[::-1], outside(vectors[:, ::-1], fixed)
        known = np.hstack([fixed, vectors])
        rest = deflated(lambda x: size * x - matrix @ x, known, n)
        options |= {"tol": 1e-8 if n <= MANY else 1e-4, "return_eigenvectors": False}
        other = sp.linalg.eigsh(rest, 1, v0=outside(elsewhere, known), **options)
    except sp.linalg.ArpackError:
        return None
    return (eigenvalues, vectors) if size - other[0] > eigenvalues[-1] - 1e-7 * size else None


def _of_many(matrix: sp.csr_array, count: int, v: np.ndarray | None) -> Pairs | None:
    """If few eigenvalues are wanted, first filter a block briefly; then try Lanczos's method, then filter at length."""
    inside = InOrder(matrix)
    v = None if v is None else v[inside.order]
    found = by_filter(inside.matrix, count, v, QUICKLY_FILTERED) if count <= FEW else None
    found = found or by_products(inside.matrix, count, v) or by_filter(inside.matrix, count, v)
    return None if found is None else (found[0], inside.outer(found[1]))


def by_filter(matrix: sp.csr_array, count: int, v: np.ndarray | None = None, most: int = MOST_FILTERED) -> Pairs | None:
    """Filter random columns by Chebyshev polynomials of the matrix until they converge; None if they do not.

    For a block it does not matter how close together the wanted eigenvalues are, only how far they are from the next
    ones, and with a few extra columns none is missed. Block products with a matrix whose neighbours are close in memory
    (:class:`InOrder`) are several times as fast as the same number of single products.
    """
    n, size = matrix.shape[0], norm_bound(matrix)
    fixed = np.zeros((n, 0)) if v is None else v[:, None]
    U = np.random.default_rng(0).standard_normal((n, count + max(5, count // 2)))
    low, degree, products = size / 4, 20, 0
    while products < most:
        filtered = chebyshev(matrix, outside(U, fixed), degree, low, size)
        eigenvalues, U, rest = ritz(lambda U: outside(matrix @ U, fixed), outside(filtered, fixed))
        off = float(np.linalg.norm(rest, axis=0)[:count].max())
        products += degree + 1
        if off <= FILTERED * size:
            return eigenvalues[:count], U[:, :count]
        low = float(eigenvalues[-1])
        rate = float(np.arccosh(1 + 2 * max(low - float(eigenvalues[count - 1]), 0.0) / (size - low)))
        wanted = np.log(off / (FILTERED * size)) / max(rate, 1e-12)
        if products > 80 and products + wanted > most:
            return None
        # The degree is limited so that the block stays independent in double precision.
        spread = float(np.arccosh(1 + 2 * max(low - float(eigenvalues[0]), 0.0) / (size - low)))
        degree = int(np.clip(min(wanted + 1, 16 / max(spread, 1e-12)), 10, 300))
    return None


def by_inversion(matrix: sp.csr_array, count: int, v: np.ndarray | None = None) -> Pairs | None:
    """Run Lanczos's method on (matrix − shift)⁻¹, where the smallest eigenvalues are the largest and far apart.

    The shift is below all eigenvalues. The eigenvalues below the last one found are counted; if some are missing, it is
    run again on the complement of those found.
    """
    n, size = matrix.shape[0], norm_bound(matrix)
    found = _below(matrix, v, size)
    if found is None:
        return None
    bordered = _nearer(matrix, count, v, size, *found)
    basis, rng = np.zeros((n, 0)), np.random.default_rng(0)
    fixed = np.zeros((n, 0)) if v is None else v[:, None]
    for _ in range(MOST_RUNS):
        known = np.hstack([fixed, basis])
        try:
            _, new = sp.linalg.eigsh(
                deflated(bordered.solve, known, n),
                count,
                ncv=min(n, max(2 * count + 1, 40)),
                which="LA",
                v0=outside(rng.standard_normal(n), known),
            )
        except sp.linalg.ArpackError:
            return None
        basis = np.linalg.qr(np.hstack([basis, outside(new, known)]))[0]
        small = basis.T @ (matrix @ basis)
        eigenvalues, turned = np.linalg.eigh((small + small.T) / 2)
        below = eigenvalues[count - 1] - 1e-8 * size
        if number_below(matrix, below, v) == (eigenvalues < below).sum():
            return eigenvalues[:count], basis @ turned[:, :count]
    return None


def number_below(matrix: sp.csr_array, value: float, v: np.ndarray | None = None) -> int | None:
    """Count the eigenvalues below a number by Sylvester's law of inertia; None if elimination needs other pivots.

    On the complement of v they are those of the matrix bordered by v, which has one more of either sign. By Haynsworth
    the count is the number of negative pivots, plus one if vᵀ(matrix − value)⁻¹v is positive, minus one.
    """
    factors = _eliminated(matrix, value)
    return None if factors is None else _negative(factors, v)


def _eliminated(matrix: sp.csr_array, value: float) -> Any | None:
    """Return the factors of matrix − value; None if elimination needs pivots off the diagonal."""
    try:
        factors = factorise(matrix - value * sp.eye_array(matrix.shape[0]))
    except RuntimeError:
        return None
    return factors if np.array_equal(factors.perm_r, factors.perm_c) else None


def _negative(factors: Any, v: np.ndarray | None) -> int:
    """Count the negative eigenvalues of the factorised matrix on the complement of v."""
    negative = int((factors.U.diagonal() < 0).sum())
    return negative if v is None else negative + int(v @ factors.solve(v) > 0) - 1


def norm_bound(matrix: Any) -> float:
    """Return a bound on the absolute values of the eigenvalues: the largest row sum (Gershgorin)."""
    return float(abs(matrix).sum(axis=1).max())


class InOrder:
    """A sparse symmetric matrix with its rows and columns ordered so that neighbours are close in memory.

    Products with several columns are then two to six times as fast as in arbitrary order (100 000 points).
    """

    def __init__(self, matrix: sp.csr_array) -> None:
        self.order = reverse_cuthill_mckee(sp.csr_array(matrix), symmetric_mode=True)
        self.matrix = sp.csr_array(matrix[self.order][:, self.order])
        self.matrix.sort_indices()

    def outer(self, columns: np.ndarray) -> np.ndarray:
        """Return columns with their rows in the order of the given matrix."""
        out = np.empty_like(columns)
        out[self.order] = columns
        return out


class Complement:
    """The complement of a unit vector v, or the whole space if v is None, with an orthonormal basis."""

    def __init__(self, n: int, v: np.ndarray | None = None) -> None:
        self.n, self.v = n, v
        self._u = None
        if v is not None:  # I − 2uuᵀ takes v to the first coordinate
            u = v.copy()
            u[0] += np.copysign(1.0, u[0])
            self._u = u / np.linalg.norm(u)

    @property
    def dimension(self) -> int:
        """Its dimension."""
        return self.n if self.v is None else self.n - 1

    def lift(self, y: np.ndarray) -> np.ndarray:
        """Return columns in the subspace from their coordinates."""
        if self._u is None:
            return y
        full = np.vstack([np.zeros((1, y.shape[1])), y])
        return full - 2 * self._u[:, None] * (self._u @ full)

    def restrict(self, matrix: Any) -> np.ndarray:
        """Return a symmetric matrix in coordinates."""
        A = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix, dtype=float)
        u = self._u
        if u is not None:
            w = 2 * (A @ u)
            A = (A - np.outer(u, w) - np.outer(w, u) + 2 * (u @ w) * np.outer(u, u))[1:, 1:]
        return (A + A.T) / 2


class _Bordered:
    """Solves with A = matrix − shift on the complement of v: A⁻¹x − A⁻¹v (vᵀA⁻¹x)/(vᵀA⁻¹v)."""

    def __init__(self, factors: Any, v: np.ndarray | None) -> None:
        self.factors, self.v = factors, v
        self.Av = None if v is None else factors.solve(v)

    def solve(self, x: np.ndarray) -> np.ndarray:
        solved = self.factors.solve(x)
        if self.v is None or self.Av is None:
            return solved
        return solved - np.multiply.outer(self.Av, (self.v @ solved) / (self.v @ self.Av)).reshape(solved.shape)


def _below(matrix: sp.csr_array, v: np.ndarray | None, size: float) -> tuple[Any, float] | None:
    """Return the factors of matrix − shift, with a shift slightly below the smallest eigenvalue, and the shift."""
    n = matrix.shape[0]
    fixed = np.zeros((n, 0)) if v is None else v[:, None]
    # An upper estimate: the least Ritz value on a small Krylov space.
    basis = np.zeros((n, 0))
    x = size * np.random.default_rng(0).standard_normal(n)
    for _ in range(KRYLOV):
        x = outside(outside(x, fixed), basis)
        if np.linalg.norm(x) <= 1e-8 * size:  # for example for a multiple of the identity
            break
        basis = np.column_stack([basis, x / np.linalg.norm(x)])
        x = matrix @ basis[:, -1]
    basis = np.linalg.qr(basis)[0]
    guess = float(np.linalg.eigvalsh(basis.T @ (matrix @ basis))[0])
    gap = 1e-3 * size
    while gap < 4 * size:
        factors = _eliminated(matrix, guess - gap)
        if factors is not None and _negative(factors, v) == 0:
            return factors, guess - gap
        gap *= 4
    return None


def _nearer(
    matrix: sp.csr_array, count: int, v: np.ndarray | None, size: float, factors: Any, shift: float
) -> _Bordered:
    """Return a solver with a shift that is as close to the eigenvalues as they are to each other.

    With a distant shift they look like one cluster, and Lanczos's method needs hundreds of steps to separate them.
    """
    bordered, n = _Bordered(factors, v), matrix.shape[0]
    fixed = np.zeros((n, 0)) if v is None else v[:, None]
    U = outside(np.random.default_rng(1).standard_normal((n, count + 5)), fixed)
    while True:
        for _ in range(4):
            U = np.linalg.qr(outside(bordered.solve(U), fixed))[0]
        eigenvalues = np.linalg.eigvalsh(U.T @ (matrix @ U))
        least, apart = float(eigenvalues[0]), float(eigenvalues[count - 1] - eigenvalues[0])
        for share in (0.05, 0.3):  # of the remaining distance
            near = least - max(share * (least - shift), 0.3 * apart, 1e-9 * size)
            closer = None if near <= shift + 0.5 * (least - shift) else _eliminated(matrix, near)
            if closer is not None and _negative(closer, v) == 0:
                bordered, shift = _Bordered(closer, v), near
                break
        else:
            return bordered


def deflated(product: Any, away: np.ndarray, n: int) -> sp.linalg.LinearOperator:
    """Return an operator on the complement of orthonormal columns; it maps these columns to zero."""
    return sp.linalg.LinearOperator(
        (n, n), matvec=lambda x: outside(product(outside(x.ravel(), away)), away), dtype=float
    )


def outside(x: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Return columns without their components along orthonormal ones."""
    return x - away @ (away.T @ x)


def chebyshev(matrix: Any, x: np.ndarray, degree: int, low: float, high: float) -> np.ndarray:
    """Return T_k(M)x, for the Chebyshev polynomial that is at most 1 in absolute value between low and high."""
    *_, last = deque(chebyshev_series(matrix, x, degree, low, high), maxlen=1)
    return last


def chebyshev_series(matrix: Any, x: np.ndarray, degree: int, low: float, high: float) -> Iterator[np.ndarray]:
    """Yield T_0(M)x = x, T_1(M)x, … up to the degree, for the Chebyshev polynomials of the interval."""
    middle, half = (low + high) / 2, (high - low) / 2
    before, now = x, x
    yield x
    for k in range(degree):
        moved = (matrix @ now - middle * now) / half
        before, now = now, 2 * moved - before if k else moved
        yield now


def ritz(product: Callable[[np.ndarray], np.ndarray], columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Ritz values on the span of columns, in increasing order, their vectors and the residuals."""
    U = np.linalg.qr(columns)[0]
    image = product(U)
    values, turned = np.linalg.eigh(U.T @ image)
    U = U @ turned
    return values, U, image @ turned - U * values
