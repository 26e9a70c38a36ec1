r"""Directions in which multipliers stay in the dual cone to first order, and the correction of rounded multipliers.

A solver finds multipliers w with :math:`M^\top w \approx 0` up to its tolerances. Moved along the face of the dual cone
that they are on, they satisfy it up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..numerics.rounding import UNIT
from ..reductions.cones import Block, spanned, unpacked
from .conic_system import INACTIVE, ConicSystem

# Each pass removes most of what the one before has left.
PASSES = 3
# Slopes of this share of the terms that cancel in them are rounding.
ENOUGH = 4 * UNIT
# Systems with more rows or unknowns are corrected by an iterative method.
LARGEST_DENSE = 400
# Smaller singular values, relative to the largest, count as zero.
RANK = 1e-11


def balanced(system: ConicSystem, w: np.ndarray, is_sparse: bool = False) -> np.ndarray:
    """Return multipliers near w in the dual cone with a smaller slope Mᵀw; small ones are zero if that is asked for."""
    w = system.into_dual(w)
    if is_sparse:
        w = _without_small_ones(system, w)
    enough = ENOUGH * float((abs(system.M).T @ abs(w)).max(initial=0.0))
    for _ in range(PASSES):
        slope = system.M.T @ w
        if float(abs(slope).max(initial=0.0)) <= enough:
            break
        ways = _all_ways(system, w)
        w = system.into_dual(w - ways @ nearest(sp.csr_array(system.M.T @ ways))(slope))
    return w


def _without_small_ones(system: ConicSystem, w: np.ndarray) -> np.ndarray:
    """Return multipliers without inequalities, cones and entries of cones that hardly count."""
    w, least = w.copy(), INACTIVE * float(abs(w).max(initial=0.0))
    for block in system.blocks:
        part = w[block.rows]
        if block.kind == "nonnegative":
            w[block.rows] = np.where(part > least, part, 0.0)
        elif block.kind != "zero" and abs(part).max() <= least:
            w[block.rows] = 0.0
        elif block.kind == "second-order":
            part = np.where(abs(part) > least, part, 0.0)
            length = float(np.linalg.norm(part[1:]))
            w[block.rows] = (length if part[0] - length <= least else part[0], *part[1:])
        elif block.kind == "exponential" and -part[0] <= least:
            w[block.rows] = (0.0, *np.where(part[1:] > least, part[1:], 0.0))
        elif block.kind == "power" and part[:2].min() <= least:
            w[block.rows] = (*np.where(part[:2] > least, part[:2], 0.0), 0.0)
    return w


def nearest(A: sp.csr_array) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function of b that gives the shortest x for which Ax is as near to b as possible."""
    if not A.shape[1] or not A.shape[0]:
        return lambda b: np.zeros(A.shape[1])
    if max(A.shape) > LARGEST_DENSE:
        return lambda b: sp.linalg.lsmr(A, b, atol=1e-15, btol=1e-15, conlim=0, maxiter=5 * max(A.shape))[0]
    U, sizes, V = np.linalg.svd(A.toarray(), full_matrices=False)
    rank = int((sizes > RANK * sizes[0]).sum())
    return lambda b: V[:rank].T @ ((U[:, :rank].T @ b) / sizes[:rank])


def _all_ways(system: ConicSystem, w: np.ndarray) -> sp.csr_array:
    least = INACTIVE * max(float(abs(w).max(initial=0.0)), 1e-300)
    rows, columns, numbers, width = [], [], [], 0
    for block in system.blocks:
        part = w[block.rows]
        if block.kind in ("zero", "nonnegative"):
            free = np.arange(len(part)) if block.kind == "zero" else np.flatnonzero(part > least)
            rows.append(block.rows.start + free)
            columns.append(width + np.arange(len(free)))
            numbers.append(np.ones(len(free)))
            width += len(free)
            continue
        ways = _ways(block, part, least)
        i, j = np.nonzero(ways)
        rows.append(block.rows.start + i)
        columns.append(width + j)
        numbers.append(ways[i, j])
        width += ways.shape[1]
    places = (np.concatenate(rows), np.concatenate(columns)) if rows else (np.zeros(0, int), np.zeros(0, int))
    return sp.csr_array((np.concatenate([np.zeros(0), *numbers]), places), shape=(len(w), width))


def _ways(block: Block, w: np.ndarray, least: float) -> np.ndarray:
    """Return the directions of one cone that is not linear, as columns; none if its multipliers are negligible."""
    size = float(abs(w).max())
    if size <= least:
        return np.zeros((len(w), 0))
    if block.kind == "semidefinite":
        eigenvalues, vectors = np.linalg.eigh(unpacked(w, block.order))
        return spanned(vectors[:, eigenvalues > max(INACTIVE * eigenvalues[-1], least)])
    if block.kind == "second-order":
        length = float(np.linalg.norm(w[1:]))
        if w[0] - length > INACTIVE * size or not length:
            return np.eye(len(w))
        # Entries that are zero stay so: moved, they would change the length by their squares only.
        return np.vstack([w[1:] / length, np.eye(len(w) - 1)])[:, w[1:] != 0]
    if block.kind == "exponential":
        return _of_exponential(w, size)
    return _of_power(w, block.alpha, size)


def _of_exponential(w: np.ndarray, size: float) -> np.ndarray:
    """Return the directions for −u exp(v/u − 1) ≤ z, u < 0; on the boundary v = u(1 + log z − log(−u))."""
    u, v, z = w
    if -u <= INACTIVE * size:  # v, z ≥ 0
        return np.eye(3)[:, [k for k in (1, 2) if w[k] > INACTIVE * size]]
    if v - u * (1 + np.log(z) - np.log(-u)) > INACTIVE * size:
        return np.eye(3)
    return np.array([[1.0, np.log(z / -u), 0.0], [0.0, u / z, 1.0]]).T


def _of_power(w: np.ndarray, alpha: float, size: float) -> np.ndarray:
    """Return the directions for (x/α)^α (y/(1−α))^(1−α) ≥ |z|."""
    x, y, z = w
    if min(x, y) <= INACTIVE * size:
        return np.eye(3)[:, [k for k in (0, 1) if w[k] > INACTIVE * size]]
    most = (x / alpha) ** alpha * (y / (1 - alpha)) ** (1 - alpha)
    if most - abs(z) > INACTIVE * size:
        return np.eye(3)
    return np.array([[1.0, 0.0, alpha * z / x], [0.0, 1.0, (1 - alpha) * z / y]]).T
