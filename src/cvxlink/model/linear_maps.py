"""Linear maps of a symmetric matrix that keep their coefficients: a CVXPY expression, and the same as data.

CVXPY finds the coefficients of ``K[i, j]`` by writing down all n² entries of K. A :class:`LinearMap` is given its
coefficients when it is made, and passes them to CVXPY only when CVXPY compiles the program. So a formulation made of
such maps can be declared, printed and read as data for any number of points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import cvxpy.lin_ops.lin_utils as lin
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom


class LinearMap(AffAtom):
    """The numbers ⟨A_r, K⟩ for a square matrix K.

    Parameters
    ----------
    K : CVXPY expression, n × n
    A : sparse matrix, m × n²
        Row r is the symmetric matrix A_r written out row by row: entry (i, j) is column i·n + j.
    scalar : bool
        Whether the result of a single row is a scalar instead of a vector.
    """

    def __init__(self, K: Any, A: sp.csr_array, scalar: bool = False) -> None:
        self.A, self.scalar = A, scalar
        super().__init__(K)

    def shape_from_args(self) -> tuple[int, ...]:
        """Return the shape of the result."""
        return () if self.scalar else (self.A.shape[0],)

    def validate_arguments(self) -> None:
        """Raise if the order of the matrix does not match the coefficients."""
        n = self.args[0].shape[0]
        if self.args[0].shape != (n, n) or self.A.shape[1] != n * n:
            raise ValueError(
                f"the coefficients are for {self.A.shape[1]} entries, but the matrix has shape {self.args[0].shape}"
            )

    def name(self) -> str:
        """Return how it is printed if nothing better is known."""
        return f"[{self.A.shape[0]} linear maps]({self.args[0].name()})"

    def get_data(self) -> list[Any]:
        """Return the arguments for a copy."""
        return [self.A, self.scalar]

    def sign_from_args(self) -> tuple[bool, bool]:
        """The result may have any sign."""
        return False, False

    def is_incr(self, idx: int) -> bool:
        """Whether no coefficient is negative."""
        return bool((self.A.data >= 0).all())

    def is_decr(self, idx: int) -> bool:
        """Whether no coefficient is positive."""
        return bool((self.A.data <= 0).all())

    def numeric(self, values: list[Any]) -> np.ndarray:
        """Return the numbers for a value of K."""
        part, n, K = self.A.tocoo(), self.args[0].shape[0], values[0]
        found = np.bincount(part.row, part.data * np.asarray(K[part.col // n, part.col % n]), self.A.shape[0])
        return found[0] if self.scalar else found

    def graph_implementation(self, arg_objs: list[Any], shape: tuple[int, ...], data: Any = None) -> tuple[Any, list]:
        """Return the map as CVXPY compiles it: coefficients times the entries of K in a column."""
        rows, columns = self.A.shape
        # CVXPY writes K out column by column; for symmetric rows that is the same as row by row.
        flat = lin.reshape(arg_objs[0], (columns, 1))
        product = lin.mul_expr(lin.create_const(sp.csc_array(self.A), (rows, columns), sparse=True), flat, (rows, 1))
        return lin.reshape(product, shape), []


class LinearMapOnDemand(LinearMap):
    """A map with so many coefficients that they are written out only when somebody reads them.

    Parameters
    ----------
    K : CVXPY expression, n × n
    count : int
        The number of rows.
    coefficients : function
        Returns the coefficients of all rows, count × n².
    """

    def __init__(self, K: Any, count: int, coefficients: Callable[[], sp.csr_array]) -> None:
        self.count, self.coefficients = count, coefficients
        AffAtom.__init__(self, K)

    @cached_property
    def A(self) -> sp.csr_array:
        """The coefficients."""
        return self.coefficients()

    scalar = False

    def shape_from_args(self) -> tuple[int, ...]:
        """Return the shape of the result."""
        return (self.count,)

    def validate_arguments(self) -> None:
        """Raise if the matrix is not square."""
        if self.args[0].ndim != 2 or self.args[0].shape[0] != self.args[0].shape[1]:
            raise ValueError(f"the matrix must be square, but it has shape {self.args[0].shape}")

    def name(self) -> str:
        """Return how it is printed if nothing better is known."""
        return f"[{self.count} linear maps]({self.args[0].name()})"

    def get_data(self) -> list[Any]:
        """Return the arguments for a copy."""
        return [self.count, self.coefficients]


def entries(K: Any, i: Any, j: Any, weights: Any = 1.0) -> LinearMap:
    """Return the entries K_ij at given places, times weights."""
    n, count = K.shape[0], len(i)
    i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)  # n² may be more than 32 bits hold
    return LinearMap(K, at_places(n, np.arange(count), i, j, np.broadcast_to(weights, count), count))


def at_places(n: int, row: np.ndarray, i: np.ndarray, j: np.ndarray, weights: np.ndarray, rows: int) -> sp.csr_array:
    """Return rows with coefficients at places (i, j), split evenly between (i, j) and (j, i)."""
    columns = np.concatenate([i * n + j, j * n + i])
    A = sp.csr_array((np.tile(np.asarray(weights) / 2, 2), (np.tile(row, 2), columns)), shape=(rows, n * n))
    A.sum_duplicates()
    return A


def squared_distances(K: Any, i: np.ndarray, j: np.ndarray, sign: float = 1.0) -> LinearMap:
    """Return K_ii + K_jj − 2K_ij or, for sign −1, the squared lengths of sums, K_ii + K_jj + 2K_ij."""
    n, count = K.shape[0], len(i)
    i, j, row, one = np.asarray(i, np.int64), np.asarray(j, np.int64), np.arange(count), np.ones(count)
    row, weights = np.tile(row, 3), np.concatenate([one, one, -2 * sign * one])
    return LinearMap(K, at_places(n, row, np.concatenate([i, j, i]), np.concatenate([i, j, j]), weights, count))


def row_differences(K: Any, i: Any, j: Any, weights: Any = (1.0, 1.0)) -> LinearMapOnDemand:
    """Return K_ik − K_jk for all k, pair after pair; with weights (a, b), numbers for each pair, a K_ik − b K_jk."""
    count = len(i)
    ends = tuple(np.asarray(end, dtype=np.int64) for end in (i, j))
    factors = tuple(np.broadcast_to(weight, count) for weight in weights)
    return LinearMapOnDemand(K, count * K.shape[0], partial(_row_differences, K.shape[0], ends, factors))


def _row_differences(n: int, ends: tuple[np.ndarray, ...], weights: tuple[np.ndarray, ...]) -> sp.csr_array:
    (i, j), (a, b) = (map(partial(np.repeat, repeats=n), both) for both in (ends, weights))
    count = len(ends[0])
    k, row = np.tile(np.arange(n), count), np.arange(count * n)
    places = np.tile(row, 2), np.concatenate([i, j]), np.tile(k, 2), np.concatenate([a, -b])
    return at_places(n, *places, count * n)


def product_with(K: Any, v: np.ndarray) -> LinearMapOnDemand:
    """Return Kv for a symmetric matrix K."""
    return LinearMapOnDemand(K, len(v), partial(_product_with, v))


def _product_with(v: np.ndarray) -> sp.csr_array:
    n = len(v)
    row = np.repeat(np.arange(n), n)
    return at_places(n, row, row, np.tile(np.arange(n), n), np.tile(v, n), n)


def inner_product(C: Any, K: Any) -> LinearMap:
    """Return ⟨C, K⟩ for a symmetric matrix C, dense or sparse."""
    return LinearMap(K, _written_out([C]), scalar=True)


def inner_products(matrices: Any, K: Any) -> LinearMap:
    """Return ⟨C, K⟩ for each of some symmetric matrices."""
    return LinearMap(K, _written_out(matrices))


def _written_out(matrices: Any) -> sp.csr_array:
    """Return matrices as rows of coefficients."""
    rows = []
    for C in map(sp.coo_array, matrices):
        columns = C.row.astype(np.int64) * C.shape[0] + C.col
        rows.append(sp.csr_array((C.data, (np.zeros(C.nnz, dtype=int), columns)), shape=(1, C.shape[0] ** 2)))
    return sp.csr_array(sp.vstack(rows))


def equal(linear: LinearMap, b: Any) -> Any:
    """Return the equations linear = b, which know their rows."""
    return _with_rows(linear == b, linear, b)


def at_most(linear: LinearMap, b: Any) -> Any:
    """Return the inequalities linear ≤ b, which know their rows."""
    return _with_rows(linear <= b, linear, b)


def at_least(linear: LinearMap, b: Any) -> Any:
    """Return the inequalities linear ≥ b, which know their rows: those of −linear ≤ −b."""
    negative = LinearMap(linear.args[0], -linear.A, linear.scalar)
    return at_most(negative, -b if isinstance(b, cp.Expression) else 0.0 - np.asarray(b, dtype=float))


def _with_rows(constraint: Any, linear: LinearMap, b: Any) -> Any:
    if not isinstance(b, cp.Expression):  # a parameter may change
        constraint.rows = linear, np.broadcast_to(np.asarray(b, dtype=float), linear.size)
    return constraint
