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

# The elimination is dense.
LARGEST = 2000


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
    n = C.shape[0]
    if n > LARGEST or not carries_to_zero(C, p):
        return None
    W: Any = -(p[:, None] * C.toarray() * p[None, :])
    np.fill_diagonal(W, 0.0)
    if W.min(initial=0.0) < 0 or not np.isfinite(W).all():
        return None
    left = np.ones(n, dtype=bool)
    unknown = np.setdiff1d(np.arange(n), known)
    means = []
    for k in unknown[np.argsort((W[unknown] > 0).sum(axis=1), kind="stable")]:
        left[k] = False
        near = np.flatnonzero(left & (W[k] > 0))
        total = float(W[k, near].sum())
        if not total > 0:
            return None
        mean = W[k, near] / total
        W[np.ix_(near, near)] += np.outer(mean, W[k, near])
        means.append((k, near, mean))
    extension = np.zeros((n, len(known)))
    extension[known] = np.eye(len(known))
    for k, near, mean in reversed(means):
        extension[k] = mean @ extension[near]
    meshed = W[np.ix_(known, known)]
    meshed = (meshed + meshed.T) / 2
    np.fill_diagonal(meshed, 0.0)
    cost = np.diag(meshed.sum(axis=1)) - meshed
    inside = p[known]
    return Mesh(p[:, None] * extension / inside, cost / np.outer(inside, inside))
