"""Programs as files list them: entry by entry, in memory that grows with the file and not with what it claims."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...errors import InvalidFile
from .cone_program import ConeProgram

# A matrix of this order has 4e8 entries, and the program in Y is one matrix.
LARGEST_ORDER = 20_000
# Beyond, products of coefficients and multipliers overflow, and some solvers end the process.
LARGEST_COEFFICIENT = 1e100
# Blocks and lists of this size are believed even if the file says little about them.
SMALL = 1000


@dataclass(frozen=True, eq=False)
class ListedProgram:
    """min cᵀx + offset subject to Σ x_k F_k + F_0 in a product of cones, by the entries of the F_k.

    Attributes
    ----------
    name : str
        What the file is called in messages.
    c : array
    sizes : tuple of int
        The order of each block, negative if it is diagonal.
    matrix, block, i, j : arrays of int
        The places of the entries, each once, with i ≤ j; the matrix 0 is the constant, blocks, i and j are counted
        from 0.
    values : array
    offset : float
    """

    name: str
    c: np.ndarray
    sizes: tuple[int, ...]
    matrix: np.ndarray
    block: np.ndarray
    i: np.ndarray
    j: np.ndarray
    values: np.ndarray
    offset: float = 0.0

    def __post_init__(self) -> None:
        require_orders(self.name, self.sizes)
        if not len(self.values):
            raise InvalidFile(f"{self.name} has no entries; is it cut short?")
        # A row of a block without any entry would be zero whatever x is, and an entry is in two rows at most.
        for k, count in enumerate(np.bincount(self.block, minlength=len(self.sizes)).tolist()):
            order = abs(self.sizes[k])
            if order > max(SMALL, 2 * count):
                raise InvalidFile(
                    f"{self.name} claims a block of order {order}, but has only {count} entries of it; is it cut short?"
                )
        if len(self.c) > max(SMALL, len(self.values)):
            raise InvalidFile(
                f"{self.name} claims {len(self.c)} variables, but has only {len(self.values)} entries; is it cut short?"
            )

    @cached_property
    def both(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Matrix, block, i, j and value of the entries of both triangles."""
        twice = np.flatnonzero(self.i != self.j)
        one = (self.matrix, self.block, self.i, self.j, self.values)
        other = (self.matrix, self.block, self.j, self.i, self.values)
        return tuple(np.concatenate([a, b[twice]]) for a, b in zip(one, other, strict=True))  # type: ignore[return-value]

    @property
    def linear(self) -> int:
        """The number of inequalities: the rows of all diagonal blocks."""
        return sum(-size for size in self.sizes if size < 0)

    @property
    def orders(self) -> tuple[int, ...]:
        """The orders of the blocks that are not diagonal."""
        return tuple(size for size in self.sizes if size > 0)

    def in_one_matrix(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return matrix, row, column and value of all entries, all blocks in one matrix, the diagonal ones last."""
        starts, next_block, next_row = [], 0, sum(self.orders)
        for size in self.sizes:
            starts.append(next_block if size > 0 else next_row)
            next_block, next_row = next_block + max(size, 0), next_row + max(-size, 0)
        matrix, block, i, j, values = self.both
        start = np.array(starts, dtype=np.int64)[block]
        return matrix, start + i, start + j, values

    def program(self) -> ConeProgram:
        """Return the program with all entries of its matrices; several diagonal blocks become one."""
        starts, next_row, next_matrix = [], 0, self.linear
        for size in self.sizes:
            starts.append(next_row if size < 0 else next_matrix)
            next_row, next_matrix = next_row + max(-size, 0), next_matrix + max(size, 0) ** 2
        matrix, block, i, j, values = self.both
        start, order = np.array(starts, dtype=np.int64)[block], np.array(self.sizes)[block]
        rows = np.where(order < 0, start + i, start + i * order + j)
        b, constant = np.zeros(next_matrix), matrix == 0
        b[rows[constant]] = values[constant]
        entries = (values[~constant], (rows[~constant], matrix[~constant] - 1))
        A = sp.csr_array(entries, shape=(next_matrix, len(self.c)))
        return ConeProgram(self.c, A, b, self.linear, self.orders, self.offset)


def require_orders(name: str, sizes: tuple[int, ...]) -> None:
    """Raise if the matrices are larger than any program that can be solved here."""
    total = sum(map(abs, sizes))
    if total > LARGEST_ORDER:
        shown = total if total < 10**12 else "more than 10¹²"
        raise InvalidFile(f"{name} has matrices of order {shown}; at most {LARGEST_ORDER} is supported")
