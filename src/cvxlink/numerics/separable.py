r"""Propagated links as a sum of a few products, for graphs so large that an n × n matrix does not fit.

Both methods that propagate links multiply them, between eigenvectors of L with eigenvalues x and y, by a function of
the two: :math:`2\mu/(2\mu+x+y)` for SRCP, :math:`\mu^2/((\mu+x)(\mu+y))` for E2CP. Such a function is, to any
accuracy ε, a short sum :math:`\sum_k f_k(x) f_k(y)` of polynomials, so that

.. math:: F \approx \sum_k f_k(L)\, Y f_k(L), \qquad \|F - F^*\|_F \le \varepsilon \|Y\|_F .

With :math:`Y = \sum_q \theta_q v_q v_q^\top`, whose eigenvectors are supported on the linked points, an entry is
:math:`F_{ij} = \sum_{k,q} \theta_q (f_k(L)v_q)_i (f_k(L)v_q)_j`. All :math:`f_k(L)v_q` come from one Chebyshev
recurrence in L, a few columns at a time, and no n × n array is ever formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import chebyshev
from scipy.sparse.csgraph import connected_components

from ..errors import InvalidInput
from .eigenpairs import InOrder, chebyshev_series
from .matrices import entries

# Bytes for the columns that are processed at a time.
MEMORY = 600_000_000
# F as an array takes 1.8 GB at this order.
LARGEST_ARRAY = 15_000
# The largest degree of polynomials that is tried.
MOST_PRODUCTS = 2000
# Pairs whose entries are computed at once.
PAIRS = 20_000
# Computing all eigenvectors of a component of links takes a minute at this order.
LARGEST_COMPONENT = 5000
# Besides the neighbours of every point, this many of the largest entries of each linked point are kept.
STRONGEST = 10
# A degree that nobody would compute.
BEYOND_ALL = 1e9


@dataclass(frozen=True, eq=False)
class Separable:
    """A function of x and y between 0 and ``high`` as Σ_k f_k(x) f_k(y).

    ``coefficients`` has one row per term: f_k as a Chebyshev series on that interval. The error is at most ``error``.
    """

    coefficients: np.ndarray
    high: float
    error: float

    @classmethod
    def of(
        cls, function: Callable[[Any, Any], np.ndarray], high: float, pole: float, accuracy: float
    ) -> Separable | None:
        """Return the shortest sum of the requested accuracy, or None if that takes too high a degree.

        The function must be positive definite, and have no pole in x or y above −``pole``. On Chebyshev's points it is
        then a matrix whose eigenvectors, scaled by the roots of their eigenvalues, are the best f_k there; between the
        points they are interpolated by polynomials.
        """
        fine = high * (1 - np.cos(np.linspace(0, np.pi, 601))) / 2
        wanted = function(fine[:, None], fine[None, :])
        degree = max(16, expected_degree(high, pole, accuracy) // 2)
        while degree <= MOST_PRODUCTS:
            nodes = chebyshev.chebpts1(degree + 1)
            x = high * (1 + nodes) / 2
            shares, vectors = np.linalg.eigh(function(x[:, None], x[None, :]))
            order = np.argsort(shares)[::-1]
            basis = chebyshev.chebvander(nodes, degree)
            # On these points the polynomials are orthogonal, so the series is a sum over them.
            series = (basis.T @ vectors[:, order]) * (2 / (degree + 1)) * np.sqrt(np.maximum(shares[order], 0))
            series[0] /= 2
            values = chebyshev.chebvander(2 * fine / high - 1, degree) @ series
            rest = wanted.copy()
            for terms in range(min(degree + 1, 80)):
                rest -= np.outer(values[:, terms], values[:, terms])
                error = float(abs(rest).max())
                if error <= accuracy:
                    kept = series[:, : terms + 1].T
                    return cls(kept, high, error)
            degree = int(1.4 * degree) + 1
        return None

    @property
    def degree(self) -> int:
        """The degree of the polynomials: the number of products with L per column."""
        return self.coefficients.shape[1] - 1


def expected_degree(high: float, pole: float, accuracy: float) -> int:
    """Return the approximate degree needed on [0, high] for a function with a pole at −``pole`` (Bernstein)."""
    rate = float(np.arccosh(1 + 2 * pole / high))
    return int(np.ceil(min(-np.log(accuracy) / max(rate, 1e-300), BEYOND_ALL)))


class PropagatedLinks:
    """F = Σ_k f_k(L) Y f_k(L); entries, rows and products are computed on request.

    Parameters
    ----------
    L : sparse matrix, n × n
    Y : sparse symmetric matrix, n × n
        Only few points have entries.
    terms : Separable
    """

    def __init__(self, L: sp.csr_array, Y: sp.csr_array, terms: Separable) -> None:
        self.L, self.Y, self.terms = L, Y, terms

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of F."""
        return self.L.shape[0], self.L.shape[0]

    def toarray(self) -> np.ndarray:
        """Return F as an array; raise if it would take gigabytes."""
        n = self.shape[0]
        if n > LARGEST_ARRAY:
            raise InvalidInput(
                f"the propagated links of {n} points would take {8 * n * n / 1e9:.0f} GB as an array; "
                f"use solution.propagated_at(i, j) for single entries"
            )
        return self.rows(np.arange(n))

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        """Return F times columns: along the f_k, through Y, and back."""
        inside, c = self._inside, self.terms.coefficients
        columns = np.asarray(x, dtype=float)
        B = columns.reshape(len(columns), -1)[inside.order]
        spread = np.zeros((len(c), *B.shape))
        for a, T in enumerate(self._recurrence(B)):
            spread += c[:, a, None, None] * T
        Y = self.Y[inside.order][:, inside.order]
        linked = [Y @ part for part in spread]
        later = latest = np.zeros_like(B)
        for a in range(self.terms.degree, 0, -1):  # Clenshaw's sum of T_a(L) Σ_k c_ka Y f_k(L) x
            added = sum(c[k, a] * part for k, part in enumerate(linked))
            later, latest = latest, 2 * self._scaled(latest) - later + added
        total = self._scaled(latest) - later + sum(c[k, 0] * part for k, part in enumerate(linked))
        return inside.outer(total).reshape(columns.shape)

    def entries(self, i: Any, j: Any) -> np.ndarray:
        """Return F_ij for pairs of points."""
        i, j = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        inner_i, inner_j = self._place[i.ravel()], self._place[j.ravel()]
        total = np.zeros(i.size)
        for H, weights in self._spread_links():
            _add_products(total, H, weights, inner_i, inner_j)
        return total.reshape(i.shape)

    def rows(self, points: Any) -> np.ndarray:
        """Return the rows of some points."""
        points = np.atleast_1d(np.asarray(points))
        total = np.zeros((len(points), self.shape[0]))
        for H, weights in self._spread_links():
            total += (H[self._place[points]] * weights) @ H.T
        return total[:, self._place]

    @cached_property
    def nearby(self) -> sp.csr_array:
        """The entries where L or Y has one, and the largest other entries of each linked point, as a sparse matrix.

        Negative entries elsewhere are left out: equation (9) cannot lower an affinity that is already zero.
        """
        n = self.shape[0]
        Y = self.Y[self._inside.order][:, self._inside.order]
        pattern = sp.triu(abs(self._inside.matrix) + abs(Y)).tocoo()
        known = sp.csr_array(pattern + pattern.T)
        near = np.zeros(pattern.nnz)
        linked = self._place[self.linked]
        at_once = max(1, min(len(linked), MEMORY // (8 * n)))
        i, j, values = [pattern.row], [pattern.col], [near]
        for first in range(0, max(len(linked), 1), at_once):
            some = linked[first : first + at_once]
            rows = np.zeros((len(some), n))
            for H, weights in self._spread_links():
                if first == 0:
                    _add_products(near, H, weights, pattern.row, pattern.col)
                rows += (H[some] * weights) @ H.T
            for point, row in zip(some, rows, strict=True):
                row[known.indices[known.indptr[point] : known.indptr[point + 1]]] = row[point] = 0
                best = np.argpartition(row, -STRONGEST)[-STRONGEST:] if n > STRONGEST else np.arange(n)
                best = best[row[best] > 0]
                i.append(np.minimum(point, best))
                j.append(np.maximum(point, best))
                values.append(row[best])
        row, col = (self._inside.order[np.concatenate(part)] for part in (i, j))
        return _symmetric(np.minimum(row, col), np.maximum(row, col), np.concatenate(values), n)

    @cached_property
    def linked(self) -> np.ndarray:
        """The points in links."""
        return np.flatnonzero(np.diff(self.Y.indptr))

    # ------------------------------------------------------------------ inside, with neighbours near each other

    @cached_property
    def _inside(self) -> InOrder:
        return InOrder(self.L)

    @cached_property
    def _place(self) -> np.ndarray:
        place = np.empty(self.shape[0], dtype=int)
        place[self._inside.order] = np.arange(len(place))
        return place

    @cached_property
    def _links(self) -> tuple[np.ndarray, sp.csc_array]:
        """The eigenvalues of Y that are not zero, and their eigenvectors as columns."""
        Y = sp.csr_array(self.Y[self.linked][:, self.linked])
        count, components = connected_components(Y, directed=False)
        values, rows, cols, parts = [np.zeros(0)], [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        start = 0
        by_component = np.split(np.argsort(components, kind="stable"), np.cumsum(np.bincount(components))[:-1])
        for members in by_component if count else []:
            theta, vectors = np.linalg.eigh(Y[members][:, members].toarray())
            kept = abs(theta) > 1e-14 * abs(theta).max(initial=0.0)
            theta, vectors = theta[kept], vectors[:, kept]
            place = self._place[self.linked[members]]
            values.append(theta)
            rows.append(np.repeat(place, len(theta)))
            cols.append(np.tile(start + np.arange(len(theta)), len(place)))
            parts.append(vectors.ravel())
            start += len(theta)
        places = np.concatenate(rows), np.concatenate(cols)
        return np.concatenate(values), sp.csc_array((np.concatenate(parts), places), shape=(self.shape[0], start))

    def _spread_links(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield H, one row per point, and weights θ with F = Σ H diag(θ) Hᵀ, for some links at a time and all terms."""
        n, (theta, vectors), c = self.shape[0], self._links, self.terms.coefficients
        width = int(np.clip(MEMORY // (8 * n * c.shape[1]), 1, max(len(theta), 1)))
        spread = np.empty((c.shape[1], n * width))
        for first in range(0, len(theta), width):
            B = vectors[:, first : first + width].toarray()
            T = spread[:, : B.size]
            for a, columns in enumerate(self._recurrence(B)):
                T[a] = columns.ravel()
            H = (c @ T).reshape(len(c), *B.shape).transpose(1, 0, 2)
            yield H.reshape(n, -1), np.tile(theta[first : first + width], len(c))

    def _recurrence(self, B: np.ndarray) -> Iterator[np.ndarray]:
        """Return T_a(L)B for a = 0, 1, …"""
        return chebyshev_series(self._inside.matrix, B, self.terms.degree, 0.0, self.terms.high)

    def _scaled(self, B: np.ndarray) -> np.ndarray:
        """Return 2L/high − I, whose eigenvalues are between −1 and 1, times columns."""
        return (2 / self.terms.high) * (self._inside.matrix @ B) - B


def _add_products(total: np.ndarray, H: np.ndarray, weights: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
    """Add Σ_q θ_q H_iq H_jq to the totals of pairs."""
    for first in range(0, len(i), PAIRS):
        some = slice(first, first + PAIRS)
        total[some] += np.einsum("eq,eq->e", H[i[some]] * weights, H[j[some]])


def _symmetric(row: np.ndarray, col: np.ndarray, values: np.ndarray, n: int) -> sp.csr_array:
    """Return a symmetric matrix from its upper triangle, which may repeat values; zeros stay stored."""
    _, first = np.unique(row.astype(np.int64) * n + col, return_index=True)
    row, col, values = row[first], col[first], values[first]
    below = row < col
    places = np.concatenate([row, col[below]]), np.concatenate([col, row[below]])
    return sp.csr_array((np.concatenate([values, values[below]]), places), shape=(n, n))


def largest_component(Y: sp.csr_array) -> int:
    """Return the number of points in the largest component of links."""
    components = connected_components(Y, directed=False)[1]
    return int(np.bincount(components).max(initial=0))


def entries_of(F: Any, i: Any, j: Any) -> np.ndarray:
    """Return entries of propagated links, kept as an array or as a sum of products."""
    return F.entries(i, j) if isinstance(F, PropagatedLinks) else entries(F, i, j)
