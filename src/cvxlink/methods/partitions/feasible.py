r"""From a matrix that nearly satisfies the constraints to one that does.

Negative entries and entries at cannot-links are set to zero, and scaling :math:`Y_{ab}s_as_b` restores Yw = w. Then
Y ≥ 0 and Yw = w, which makes all eigenvalues at most one (Perron and Frobenius), and what is left, a trace that is
slightly off and eigenvalues slightly below zero, is mended by a small share of a matrix well inside the constraints:
:math:`(1 - \beta)ww^\top + \beta I`, in which the entries at cannot-links are moved to the diagonal. Taking t from the
entry (a, b) and adding :math:`t w_b/w_a` and :math:`t w_a/w_b` on the diagonal keeps Yw = w.
"""

from __future__ import annotations

import numpy as np

from ...numerics.rounding import gamma
from .cuts import Cuts, rows_of
from .only_point import only_matrix
from .partition import Partition

# Steps of the scaling, each of which halves the error or better.
SCALINGS = 50
# Shares of the inner matrix that are tried; a larger one changes the value too much to be of use.
SHARES = 10.0 ** np.arange(-9.0, -1.5, 0.5)


def repaired(partition: Partition, cuts: Cuts, Y: np.ndarray) -> np.ndarray | None:
    """Return a feasible matrix near Y, or None if there is none close by that is found like this."""
    c, k = partition.order, partition.n_clusters
    w = partition.block_d / np.linalg.norm(partition.block_d)
    apart = partition.are_apart
    A, b = rows_of(cuts, partition.block_d, partition.links.blocks, partition.largest_weight)
    low, high = partition.diagonal_bounds
    rounding = gamma(4 * c)

    def satisfies(Y: np.ndarray) -> bool:
        diagonal = np.diag(Y)
        return bool(
            (diagonal >= low - rounding * (low > 0)).all()
            and (diagonal <= high + rounding).all()
            and (A @ Y.ravel() <= b + rounding * abs(A).sum(axis=1).max(initial=0.0)).all()
            and np.linalg.eigvalsh(Y)[0] >= -rounding
        )

    only = only_matrix(partition)
    if only is not None:
        return only if not (apart & (only > 0)).any() and satisfies(only) else None
    near = _scaled(np.where(apart, 0.0, np.maximum((Y + Y.T) / 2, 0)), w)
    one, full = _moved(np.outer(w, w), w, apart), np.eye(c)
    least = float(np.trace(one))
    if least >= k:  # cannot-links leave no room for a matrix of this kind
        return None
    for share in SHARES:
        # The trace of the mixture is k if that of the inner matrix is this one.
        trace = (k - (1 - share) * float(np.trace(near))) / share
        beta = (trace - least) / (c - least)
        if not 0 <= beta < 1:
            continue
        mixed = (1 - share) * near + share * ((1 - beta) * one + beta * full)
        if satisfies(mixed):
            return mixed
    return None


def _scaled(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return SXS with a diagonal S, for which SXSw = w; what is left of the difference goes to the diagonal."""
    s = np.ones(len(w))
    for _ in range(SCALINGS):
        sums = X @ (s * w)
        s = np.sqrt(s * w / np.maximum(sums, 1e-300))
    X = s[:, None] * X * s
    X[np.diag_indices(len(w))] += (w - X @ w) / w
    return X


def _moved(Y: np.ndarray, w: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Return Y with its negative entries, and those at cannot-links, moved to the diagonal."""
    taken = np.where(apart | (Y < 0), Y, 0.0)
    np.fill_diagonal(taken, 0.0)
    moved = Y - taken
    moved[np.diag_indices(len(Y))] += (taken @ w) / w
    return moved
