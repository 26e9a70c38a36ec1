"""The cones of a program in standard form, in the order in which Clarabel takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import clarabel
import numpy as np

from ..programs.conic_form import long_enough, outside_exponential, outside_power

# Nearer to the boundary of the exponential cone there are no digits left.
LEAST_EXPONENTIAL = 1e-15

KINDS = ("zero", "nonnegative", "second-order", "semidefinite", "exponential", "power")


@dataclass(frozen=True)
class Block:
    """A cone in consecutive rows: equations and inequalities together, any other cone by itself.

    ``order`` is that of a semidefinite matrix, ``alpha`` the exponent of a power cone.
    """

    kind: str
    rows: slice
    order: int = 0
    alpha: float = 0.0


def clarabel_cones(blocks: Sequence[Block]) -> list[Any]:
    """Return cones as Clarabel names them."""
    cones = []
    for block in blocks:
        count = block.rows.stop - block.rows.start
        if block.kind == "zero":
            cones.append(clarabel.ZeroConeT(count))
        elif block.kind == "nonnegative":
            cones.append(clarabel.NonnegativeConeT(count))
        elif block.kind == "second-order":
            cones.append(clarabel.SecondOrderConeT(count))
        elif block.kind == "semidefinite":
            cones.append(clarabel.PSDTriangleConeT(block.order))
        elif block.kind == "exponential":
            cones.append(clarabel.ExponentialConeT())
        else:
            cones.append(clarabel.PowerConeT(block.alpha))
    return cones


def solved_by_clarabel(P: Any, cost: np.ndarray, A: Any, b: np.ndarray, cones: list[Any], settings: Any) -> Any:
    """Return what Clarabel returns, or None if it panics; such an error is no ``Exception``."""
    try:
        return clarabel.DefaultSolver(P, cost, A, b, cones, settings).solve()
    except BaseException as error:
        if not is_panic(error):
            raise
        return None


def is_panic(error: BaseException) -> bool:
    """Whether an error is that of a solver written in Rust which gives up on its own numbers."""
    return type(error).__name__ == "PanicException"


def packed(matrix: np.ndarray) -> np.ndarray:
    """Return the upper triangle of a symmetric matrix by columns, entries off the diagonal times √2."""
    i, j = triangle(len(matrix))
    return np.where(i == j, 1.0, np.sqrt(2)) * matrix[i, j]


def unpacked(flat: np.ndarray, order: int) -> np.ndarray:
    """Return the symmetric matrix."""
    i, j = triangle(order)
    matrix = np.zeros((order, order))
    matrix[i, j] = np.where(i == j, 1.0, np.sqrt(0.5)) * flat
    matrix[j, i] = matrix[i, j]
    return matrix


@lru_cache(maxsize=64)
def triangle(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the upper triangle, column by column."""
    j, i = np.tril_indices(order)
    for places in (i, j):
        places.flags.writeable = False  # they are kept
    return i, j


def spanned(V: np.ndarray) -> np.ndarray:
    """Return the matrix that turns a packed S into the packed VSVᵀ; its columns are orthonormal if those of V are."""
    (i, j), (a, b) = triangle(V.shape[0]), triangle(V.shape[1])
    both = V[i][:, a] * V[j][:, b] + V[i][:, b] * V[j][:, a]
    return np.where(i == j, np.sqrt(0.5), 1.0)[:, None] * both * np.where(a == b, np.sqrt(0.5), 1.0)


def interior(blocks: Sequence[Block], count: int) -> np.ndarray:
    """Return a point e inside the cones and inside their duals; zero for equations. For s inside, |s_i| ≤ 2 eᵀs."""
    e = np.zeros(count)
    for block in blocks:
        if block.kind == "nonnegative":
            e[block.rows] = 1.0
        elif block.kind == "second-order":
            e[block.rows.start] = 1.0
        elif block.kind == "semidefinite":
            e[block.rows] = packed(np.eye(block.order))
        elif block.kind == "exponential":
            # In the dual, −u exp(v/u − 1) ≤ w for u < 0: −1/2, 1, 1 has room, and eᵀs bounds every entry of s.
            e[block.rows] = (-0.5, 1.0, 1.0)
        elif block.kind == "power":
            e[block.rows] = (1.0, 1.0, 0.0)
    return e


def into_dual(blocks: Sequence[Block], w: np.ndarray) -> np.ndarray:
    """Return multipliers moved into the dual cones, which they may miss by rounding."""
    w = w.copy()
    for block in blocks:
        part = w[block.rows]
        if block.kind == "nonnegative":
            w[block.rows] = np.maximum(part, 0)
        elif block.kind == "second-order":
            w[block.rows.start] = float(long_enough(part[:1], part[1:, None], 0)[0]) * (1 + 1e-15)
        elif block.kind == "semidefinite":
            values, vectors = np.linalg.eigh(unpacked(part, block.order))
            w[block.rows] = packed((vectors * np.maximum(values, 0)) @ vectors.T)
        elif block.kind == "exponential" and part[0] > -LEAST_EXPONENTIAL and part[1] >= 0:
            w[block.rows] = (0.0, part[1], max(part[2], 0.0))
        elif block.kind == "exponential":
            # −u exp(v/u − 1) ≤ w for u < 0: v is moved, by which little changes
            u, z = min(part[0], -LEAST_EXPONENTIAL), max(part[2], LEAST_EXPONENTIAL)
            w[block.rows] = (u, max(part[1], u * (1 + np.log(z) - np.log(-u))), z)
        elif block.kind == "power":
            x, y = np.maximum(part[:2], 0)
            most = (x / block.alpha) ** block.alpha * (y / (1 - block.alpha)) ** (1 - block.alpha)
            w[block.rows] = (x, y, np.clip(part[2], -most, most))
    return w


def outside(block: Block, s: np.ndarray) -> float:
    """Return how far numbers are outside a cone."""
    if block.kind == "zero":
        return float(abs(s).max(initial=0.0))
    if block.kind == "nonnegative":
        return -float(s.min(initial=0.0))
    if block.kind == "second-order":
        return max(0.0, float(np.linalg.norm(s[1:]) - s[0]))
    if block.kind == "semidefinite":
        return max(0.0, -float(np.linalg.eigvalsh(unpacked(s, block.order))[0]))
    x, y, z = s[:, None]
    outside = outside_exponential(x, y, z) if block.kind == "exponential" else outside_power(x, y, z, block.alpha)
    return float(outside[0])
