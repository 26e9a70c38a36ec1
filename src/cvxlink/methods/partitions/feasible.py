r"""From a matrix that nearly satisfies the constraints to one that does.

Taking :math:`t` from the entry (a, b) and :math:`t w_b/w_a`, :math:`t w_a/w_b` onto the diagonal keeps Yw = w. So
negative entries and entries at cannot-links can be removed one by one. Then Y ≥ 0 and Yw = w, which makes all
eigenvalues at most one (Perron and Frobenius), and what is left, a trace that is slightly off and eigenvalues slightly
below zero, is mended by a small share of a matrix well inside the constraints: that of the same kind made of
:math:`(1 - \beta)ww^\top + \beta I`.
"""

from __future__ import annotations

import numpy as np

from ...numerics.rounding import gamma
from .cuts import Cuts
from .partition import Partition

# Shares of the inner matrix that are tried; a larger one changes the value too much to be of use.
SHARES = 10.0 ** np.arange(-9.0, -1.5, 0.5)


def repaired(partition: Partition, cuts: Cuts, Y: np.ndarray) -> np.ndarray | None:
    """Return a feasible matrix near Y, or None if there is none close by that is found like this."""
    c, k = partition.order, partition.n_clusters
    w = partition.block_d / np.linalg.norm(partition.block_d)
    apart = np.zeros((c, c), dtype=bool)
    i, j = partition.apart.T
    apart[i, j] = apart[j, i] = True
    if c == k:  # every block is a cluster
        return np.eye(c)
    near = _moved(_with_sums(Y, w), w, apart)
    one, full = _moved(np.outer(w, w), w, apart), np.eye(c)
    least = float(np.trace(one))
    if least >= k:  # cannot-links leave no room for a matrix of this kind
        return None
    A, b = cuts.rows(partition.block_d, partition.links.blocks, partition.largest_weight)
    low, high = partition.diagonal_bounds
    rounding = gamma(4 * c)
    for share in SHARES:
        # The trace of the mixture is k if that of the inner matrix is this one.
        trace = (k - (1 - share) * float(np.trace(near))) / share
        beta = (trace - least) / (c - least)
        if not 0 <= beta < 1:
            continue
        mixed = (1 - share) * near + share * ((1 - beta) * one + beta * full)
        diagonal = np.diag(mixed)
        if (
            (diagonal >= low - rounding * (low > 0)).all()
            and (diagonal <= high + rounding).all()
            and (A @ mixed.ravel() <= b + rounding * abs(A).sum(axis=1).max(initial=0.0)).all()
            and np.linalg.eigvalsh(mixed)[0] >= -rounding
        ):
            return mixed
    return None


def _with_sums(Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the nearest matrix with Yw = w."""
    g = Y @ w
    return Y - np.outer(w, g) - np.outer(g, w) + (float(w @ g) + 1) * np.outer(w, w)


def _moved(Y: np.ndarray, w: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Return Y with its negative entries, and those at cannot-links, moved to the diagonal."""
    taken = np.where(apart | (Y < 0), Y, 0.0)
    np.fill_diagonal(taken, 0.0)
    moved = Y - taken
    moved[np.diag_indices(len(Y))] += (taken @ w) / w
    return moved
