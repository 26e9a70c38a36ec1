"""The cones of a program in standard form, in the order in which Clarabel takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import clarabel
import numpy as np

from ..programs.conic_form import outside_exponential, outside_power

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
