r"""Elimination of points of a weighted graph without subtraction.

A point k that may take any value takes the weighted mean of its neighbours' values, and then costs as much as new
weights :math:`w_{ki} w_{kj} / \sum_m w_{km}` between these: the star at k becomes a mesh. Sums, products and quotients
of non-negative numbers lose no digits, however much the weights differ, whereas :math:`L = D - W` has lost small
weights beside large ones before a factorisation sees it.

A matrix C with non-positive entries off the diagonal and :math:`Cp = 0`, p > 0, such as L̄ with :math:`p = D^{1/2}1`, is
the Laplacian of the weights :math:`-C_{ij}p_ip_j` on either side of which p is divided out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

# The elimination is dense: two arrays of this order, and seconds.
LARGEST = 5000
# Points that are eliminated before the weights of all others are brought up to date, by one product.
BLOCK = 64
# Weights are multiplied by a power of two, up to this exponent, as long as their sums stay below it: so that products
# of small weights do not vanish.
EXPONENT = 1000


class Mesh(NamedTuple):
    """The map from known values to all values, and the cost that is left on the known points."""

    extension: np.ndarray
    cost: np.ndarray


def carries_to_zero(C: sp.csr_array, p: np.ndarray) -> bool:
    """Whether Cp = 0 up to rounding for a positive vector p."""
    terms = np.diff(C.indptr) + 4
    rounding = terms * np.finfo(float).eps * (abs(C) @ p)
    return bool((p > 0).all() and np.isfinite(p).all() and (abs(C @ p) <= rounding).all())


def eliminated(C: sp.csr_array, p: np.ndarray, known: np.ndarray) -> Mesh | None:
    """Eliminate all points but the known ones; None if C is not a Laplacian of this kind, too large or too extreme."""
    n, count = C.shape[0], C.shape[0] - len(known)
    if n > LARGEST or not carries_to_zero(C, p):
        return None
    unknown = np.setdiff1d(np.arange(n), known)
    order = np.concatenate([unknown[np.argsort(np.diff(C.indptr)[unknown], kind="stable")], known])
    p = p[order]
    W: Any = -(p[:, None] * C[order][:, order].toarray() * p[None, :])
    np.fill_diagonal(W, 0.0)
    largest = float(W.max(initial=0.0))
    if W.min(initial=0.0) < 0 or not 0 < largest < np.inf:
        return None
    unit = 2.0 ** min(np.floor(EXPONENT - np.log2(n) - np.log2(largest)), EXPONENT)
    W = W * unit
    totals = _stars_to_meshes(W, count)
    if not (totals > 0).all():
        return None
    extension = np.zeros((n, len(known)))
    extension[count:] = np.eye(len(known))
    for k in reversed(range(count)):
        extension[k] = (W[k, k + 1 :] / totals[k]) @ extension[k + 1 :]
    meshed = W[count:, count:]
    meshed = (meshed + meshed.T) / 2
    np.fill_diagonal(meshed, 0.0)
    cost = (np.diag(meshed.sum(axis=1)) - meshed) / unit
    inside = p[count:]
    placed = np.empty_like(extension)
    placed[order] = p[:, None] * extension / inside
    return Mesh(placed, cost / np.outer(inside, inside))


def _stars_to_meshes(W: np.ndarray, count: int) -> np.ndarray:
    """Eliminate the first points, in place; return the sum of the weights that each of them had to later points.

    Row k then holds these weights, to the right of the diagonal, and the rest of W those of the meshes.
    """
    totals = np.zeros(count)
    for first in range(0, count, BLOCK):
        block = range(first, min(first + BLOCK, count))
        for k in block:
            before = slice(first, k)
            W[k, k + 1 :] += (W[before, k] / totals[before]) @ W[before, k + 1 :]
            totals[k] = W[k, k + 1 :].sum()
            if not totals[k] > 0:
                return totals
        rows = W[first : block.stop, block.stop :]
        W[block.stop :, block.stop :] += (rows / totals[first : block.stop, None]).T @ rows
    return totals
