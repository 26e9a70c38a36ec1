r"""An exactly feasible matrix on blocks near a dense answer, for any number of links.

The answer has eigenvectors V and eigenvalues x on the complement of w, moved a little away from 0 and 1. With
:math:`P = V\,\mathrm{diag}(x(1 - x))V^\top`, every change :math:`\Delta = P^{1/2}RP^{1/2}` with :math:`\|R\| < 1` keeps
the eigenvalues between 0 and 1, because :math:`P \preceq X` and :math:`P \preceq I - X`. The shortest R for the
equations :math:`\langle A_l, \Delta\rangle = b_l` is :math:`P^{1/2}(\sum u_l A_l)P^{1/2}`, and their matrix

.. math:: \langle A_l, P A_m P\rangle = \tfrac12(P_{aa'}P_{bb'} + P_{ab'}P_{ba'}), \qquad A_l = E_{ab},\ A_m = E_{a'b'},

needs four entries of P each. Where it is too long, a shorter change is made first, and P is computed anew. So the
work grows with the square of the number of links, not with that of the answer's rank as well. What rounding leaves is
removed by an explicit change: entries at links go to zero, the diagonal restores Yw = w, and a multiple of a
projection of rank one, on two blocks without a link, restores the trace. It is tiny, and the eigenvalues are proven
to leave room for it.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy.linalg
from scipy.sparse.csgraph import connected_components

from ...numerics.least_eigenvalue import least_eigenvalue
from ...numerics.rounding import UPWARDS, gamma, norm_above, total
from ..shared.shares import nearest_shares
from .fantope_projection import eigenpairs_beside
from .linked_fantope import LinkedFantope

# Eigenvalues of the answer are kept this far from 0 and 1: more room costs more.
ROOMS = (1e-9, 1e-8, 3e-8, 1e-7, 3e-7, 1e-6, 1e-5)
# A change of a larger norm is shortened to this one, so that a share of the room is left; it takes a few of them.
INSIDE = 0.9
MOST_CHANGES = 5
# Where the first of them has a larger norm, there is not enough room.
TOO_FAR = 4.0
# Blocks are in one cluster if their entry is more than this share of those on the diagonal, by weight.
TOGETHER = 0.5
# The equations are solved by Cholesky's method, for at most so many.
MOST_LINKS = 6000
# Rows of their matrix that are computed at once.
BATCH = 200


def feasible_nearby(
    data: LinkedFantope, x: np.ndarray, V: np.ndarray, held: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return a matrix on blocks, and a bound on its distance from an exactly feasible one; None if none is found.

    The distance is the sum of the absolute eigenvalues of the difference. ``x`` and ``V`` are all eigenvalues on
    the complement of w and their eigenvectors, and ``held`` says which pairs of blocks are to have entries of
    zero.
    """
    if held.sum() > MOST_LINKS or len(x) < data.partition.order - 1:
        return None
    for room in ROOMS:
        Y = _changed(data, nearest_shares(x, data.k - 1, room), V, held)
        if Y is None:
            continue
        off = _distance(data, Y, held)
        if off is not None and _leaves_room(data, Y, off):
            return Y, off
    return None


def clustering_nearby(data: LinkedFantope, Y: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return the matrix of the clustering that a matrix nearly is, and a bound on its rounding, if it keeps the links.

    Where links leave hardly any room, what they leave is often a clustering.
    """
    d, (a, b) = data.partition.block_d, data.block_pairs.T
    z = Y / np.outer(d, d)
    count, labels = connected_components(z > TOGETHER * np.maximum.outer(z.diagonal(), z.diagonal()))
    if count != data.k or ((labels[a] == labels[b]) & np.isinf(data.block_prices)).any():
        return None
    H = np.zeros((len(d), count))
    H[np.arange(len(d)), labels] = d
    H /= np.linalg.norm(H, axis=0)
    return H @ H.T, gamma(2 * len(d) + 16) * count * np.sqrt(len(d))


def _changed(data: LinkedFantope, x: np.ndarray, V: np.ndarray, held: np.ndarray) -> np.ndarray | None:
    """Return the matrix after changes inside the Fantope that make the equations hold, or None if they do not."""
    a, b = data.block_pairs[held].T
    along = np.outer(data.block_w, data.block_w)
    X = _symmetric((V * x) @ V.T)
    for count in range(MOST_CHANGES):
        p = x * (1 - x)
        if not p.min(initial=1.0) > 0:
            return None
        P = _symmetric((V * p) @ V.T)
        step = _Step(P, a, b)
        if step.factors is None:
            return None
        A = step.multipliers(-(along + X)[a, b], data.k - 1 - np.trace(X))
        inner = V.T @ A @ V
        norm = float(np.linalg.norm(np.sqrt(p)[:, None] * inner * np.sqrt(p), 2))
        if norm <= INSIDE:
            X = _symmetric(X + P @ A @ P)
            # Once more, for what rounding left.
            A = step.multipliers(-(along + X)[a, b], data.k - 1 - np.trace(X))
            Y = along + _symmetric(X + P @ A @ P)
            Y[a, b] = Y[b, a] = 0.0
            return Y
        if not norm <= (TOO_FAR if count == 0 else 2 * TOO_FAR):
            return None
        X = X + INSIDE / norm * P @ A @ P
        x, V = eigenpairs_beside(X, data.block_w)
    return None


class _Step:
    """The equations for a change at one P, and their solution."""

    def __init__(self, P: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        self.order, self.a, self.b, self.factors = len(P), a, b, None
        G = _equations(P, a, b)
        self.scale = 1 / np.sqrt(np.maximum(G.diagonal(), 1e-300))
        G *= self.scale[:, None]
        G *= self.scale
        with suppress(np.linalg.LinAlgError):  # dependent, up to rounding
            self.factors = scipy.linalg.cho_factor(G.T, lower=True, overwrite_a=True, check_finite=False)

    def multipliers(self, entries: np.ndarray, trace: float) -> np.ndarray:
        """Return A with the smallest change PAP that adds these entries and this trace."""
        missing = self.scale * np.append(entries, trace)
        u = self.scale * scipy.linalg.cho_solve(self.factors, missing)
        A = np.diag(np.full(self.order, u[-1]))
        np.add.at(A, (self.a, self.b), u[:-1] / 2)
        np.add.at(A, (self.b, self.a), u[:-1] / 2)
        return A


def _equations(P: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ⟨A_l, P A_m P⟩ for all links, and for the trace at the end."""
    m, squared = len(a), P @ P
    G = np.empty((m + 1, m + 1))
    for start in range(0, m, BATCH):
        rows = slice(start, min(start + BATCH, m))
        left, right = P[a[rows]], P[b[rows]]
        G[rows, :m] = left[:, a] * right[:, b]
        G[rows, :m] += left[:, b] * right[:, a]
    G[:m, :m] /= 2
    G[:m, m] = G[m, :m] = squared[a, b]
    G[m, m] = np.trace(squared)
    return G


def _distance(data: LinkedFantope, Y: np.ndarray, held: np.ndarray) -> float | None:
    """Return a bound on the sum of absolute eigenvalues of a change that restores Yw = w and the trace.

    It leaves the entries at links zero. The norm is at most that sum.
    """
    w, c = data.block_w, len(Y)
    if held.sum() >= c * (c - 1) // 2:  # no two blocks are free to restore the trace
        return None
    # The diagonal takes what Yw = w lacks, and what it lacks because w itself is rounded.
    rounded = gamma(c + int(data.partition.block_sizes.max()) + 24)
    lacks = float(((abs(w - Y @ w) + rounded * (abs(Y) @ w + w)) / w).sum()) * (1 + gamma(c + 4))
    # A projection of rank one takes the trace of the diagonal back, and what the trace lacked before.
    return UPWARDS * (2 * lacks + (total(Y.diagonal()) - data.k).magnitude)


def _leaves_room(data: LinkedFantope, Y: np.ndarray, off: float) -> bool:
    """Whether the eigenvalues of Y on the complement of w are proven to be in [off, 1 − off]."""
    w = data.block_w
    along = np.outer(w, w)
    # On the complement of w these are Y and I − Y; along w they are near one.
    rounding = gamma(16) * (norm_above(Y) + 2.0)
    below = least_eigenvalue(Y)
    above = least_eigenvalue(np.eye(len(Y)) - Y + along)
    return bool(min(below.lower, above.lower) - rounding > off)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2
