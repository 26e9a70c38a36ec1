r"""Kernel programs over factors V with rows on spheres: values, derivatives and proofs.

:mod:`cvxlink.solvers.low_rank` explains what is minimised, and why the multipliers prove a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..numerics.eigenpairs import by_lapack, norm_bound, smallest_eigenpairs
from ..programs.linear_sdp import LinearSDP

# Above this share of nonzero entries, a product with the dense matrix is faster.
DENSE_IS_FASTER = 0.1
# Up to this many rows, a dense system moves the factor onto them.
DENSE_GRAM = 2000
# Entries of the squares that are added up at a time.
LARGEST_SQUARES = 4_000_000
# Up to these orders LAPACK finds the least eigenvalue of a slack, sparse or dense.
LARGEST_SPARSE, LARGEST_DENSE = 500, 1500


def squared_lengths(sdp: LinearSDP) -> tuple[np.ndarray, np.ndarray]:
    """Return the diagonal entries that single equations fix, NaN elsewhere, and the numbers of these equations."""
    A = sdp.A
    alone = np.flatnonzero((np.diff(A.indptr) == 1) & ~sdp.is_inequality)
    columns, weights = A.indices[A.indptr[alone]], A.data[A.indptr[alone]]
    on_diagonal = (columns % (sdp.n + 1) == 0) & (weights != 0)
    rows, points = alone[on_diagonal], columns[on_diagonal] // (sdp.n + 1)
    lengths, which = np.full(sdp.n, np.nan), np.full(sdp.n, -1)
    lengths[points[::-1]] = (sdp.b[rows] / weights[on_diagonal])[::-1]  # of several equations the first counts
    which[points[::-1]] = rows[::-1]
    return lengths, which


@dataclass(frozen=True, eq=False)
class Value:
    """The augmented Lagrangian at V: its value, its gradient along the spheres, y and g."""

    total: float
    gradient: np.ndarray
    y: np.ndarray
    g: np.ndarray


@dataclass(frozen=True, eq=False)
class Proof:
    """A factor that is feasible up to ``violation``, multipliers, and the bounds they give.

    ``eigenvalue`` and ``direction`` are the least eigenvalue of the slack and its eigenvector.
    """

    V: np.ndarray
    violation: float
    y: np.ndarray
    z: np.ndarray
    value: float
    bound: float
    eigenvalue: float
    direction: np.ndarray
    unit: float

    @property
    def gap(self) -> float:
        """The gap divided by |value| plus a unit."""
        return (self.value - self.bound) / (self.unit + abs(self.value))

    @property
    def off(self) -> float:
        """The larger of gap and violation."""
        return max(abs(self.gap), self.violation)


class Spheres:
    """The program over V with rows of unit length, after scaling both sides by the prescribed lengths."""

    def __init__(self, sdp: LinearSDP) -> None:
        self.sdp, self.n = sdp, sdp.n
        squared, self.diagonal_rows = squared_lengths(sdp)
        self.lengths = np.sqrt(squared)
        scale = sp.diags_array(self.lengths)
        C = sp.csr_array(scale @ sdp.C @ scale)
        self.C: Any = C.toarray() if C.nnz > DENSE_IS_FASTER * self.n**2 else C
        self.C_diagonal = C.diagonal()
        self.cost = float(abs(self.C_diagonal).mean()) or 1.0
        self.others = np.setdiff1d(np.arange(len(sdp.b)), self.diagonal_rows)
        A = sdp.A[self.others].tocoo()
        i, j = A.col // self.n, A.col % self.n
        upper = i <= j  # both triangles hold the same
        self.row, self.i, self.j = A.row[upper], i[upper], j[upper]
        self.weight = np.where(self.i < self.j, 2.0, 1.0) * A.data[upper] * self.lengths[self.i] * self.lengths[self.j]
        self.b, self.is_inequality = sdp.b[self.others], sdp.is_inequality[self.others]
        # The points that these rows touch, and places among them.
        self.touched = np.unique(np.concatenate([self.i, self.j]))
        self.at_i, self.at_j = np.searchsorted(self.touched, self.i), np.searchsorted(self.touched, self.j)
        self.products = 0.0

    @property
    def enough_columns(self) -> int:
        """A rank that some solution does not exceed: r(r + 1)/2 ≤ number of rows (Barvinok, Pataki)."""
        return min(self.n, int((np.sqrt(8 * len(self.sdp.b) + 1) - 1) / 2) + 1)

    def costs(self, V: np.ndarray) -> np.ndarray:
        """CV."""
        self.products += 1
        return self.C @ V

    def excess(self, V: np.ndarray) -> np.ndarray:
        """g = A(VVᵀ) − b."""
        terms = self.weight * row_products(V[self.i], V[self.j])
        return np.bincount(self.row, terms, len(self.b)) - self.b

    def wrong(self, g: np.ndarray) -> np.ndarray:
        """By how much the rows are violated."""
        return np.where(self.is_inequality, np.maximum(g, 0), abs(g))

    def adjoint(self, z: np.ndarray) -> sp.csr_array:
        """A*(z), on the touched points."""
        return self._on_pairs(z, self.at_i, self.at_j, len(self.touched))

    def _on_pairs(self, z: np.ndarray, i: np.ndarray, j: np.ndarray, order: int) -> sp.csr_array:
        half = self.weight * z[self.row] / 2
        places = np.concatenate([i, j]), np.concatenate([j, i])
        return sp.csr_array((np.concatenate([half, half]), places), shape=(order, order))

    def multipliers(self, z: np.ndarray, g: np.ndarray, penalty: float) -> np.ndarray:
        """z − σg; for inequalities without what has the wrong sign."""
        moved = z - penalty * g
        return np.where(self.is_inequality, np.minimum(moved, 0), moved)

    def lagrangian(self, V: np.ndarray, z: np.ndarray, penalty: float) -> Value:
        """Return the augmented Lagrangian and its derivatives."""
        slack = self.costs(V)
        total, g = float(np.vdot(V, slack)), self.excess(V)
        if len(self.b):
            moved = self.multipliers(z, g, penalty)
            total += float((moved**2 - z**2).sum()) / (2 * penalty)
            slack[self.touched] -= self.adjoint(moved) @ V[self.touched]
        y = row_products(slack, V)
        slack -= y[:, None] * V
        slack *= 2
        return Value(total, slack, y, g)

    # ------------------------------------------------------------------ proofs

    def _derivative(self, V: np.ndarray) -> sp.csr_array:
        """Return the derivative of g along the spheres: one row per constraint, p columns per touched point."""
        p = V.shape[1]
        Vi, Vj = V[self.i], V[self.j]
        inner = row_products(Vi, Vj)[:, None]
        values = self.weight[:, None] * np.concatenate([Vj - inner * Vi, Vi - inner * Vj]).reshape(2, -1, p)
        columns = (np.stack([self.at_i, self.at_j])[:, :, None] * p + np.arange(p)).ravel()
        rows = np.broadcast_to(self.row[None, :, None], (2, len(self.row), p)).ravel()
        return sp.csr_array((values.ravel(), (rows, columns)), shape=(len(self.b), len(self.touched) * p))

    def feasible(self, V: np.ndarray) -> np.ndarray:
        """Return the factor moved onto g = 0, as far as possible nearby."""
        V, g = V.copy(), self.excess(V)
        for _ in range(6):
            wrong = self.wrong(g)
            size = float(wrong.max(initial=0.0))
            if size <= 1e-15:
                break
            rows = wrong > 0
            J = self._derivative(V)[rows]
            step = J.T @ _solved_gram(J, -g[rows])  # the least that does it
            moved = V.copy()
            moved[self.touched] += step.reshape(len(self.touched), -1)
            moved = unit_rows(moved)
            g = self.excess(moved)
            if float(self.wrong(g).max()) >= 0.9 * size:
                break
            V = moved
        return V

    def fitting_multipliers(self, V: np.ndarray) -> np.ndarray:
        """Return the z with the smallest gradient along the spheres, by least squares."""
        if not len(self.b):
            return np.zeros(0)
        slack = self.costs(V)
        slack = 2 * (slack - row_products(slack, V)[:, None] * V)
        z = _solved_gram(J := self._derivative(V), J @ slack[self.touched].ravel())
        return np.where(self.is_inequality, np.minimum(z, 0), z)

    def proof(self, V: np.ndarray, z: np.ndarray) -> Proof:
        """Return what a factor and multipliers prove."""
        W = self.feasible(V) if len(self.b) else V
        slack = self.costs(W)
        value = float(np.vdot(W, slack))
        if len(self.b):
            slack[self.touched] -= self.adjoint(z) @ W[self.touched]
        y = row_products(slack, W)
        eigenvalue, off, direction = self._least_eigenvalue(self.slack(y, z), V.shape[1])
        bound = float(y.sum() + self.b @ z) + self.n * min(0.0, eigenvalue - off)
        violation = float(self.wrong(self.excess(W)).max(initial=0.0))
        return Proof(W, violation, y, z, value, bound, eigenvalue, direction, min(1.0, self.sdp.unit))

    def slack(self, y: np.ndarray, z: np.ndarray) -> Any:
        """S = C − Diag(y) − A*(z)."""
        rows = self._on_pairs(z, self.i, self.j, self.n) + sp.diags_array(y)
        return self.C - rows.toarray() if isinstance(self.C, np.ndarray) else sp.csr_array(self.C - rows)

    def _least_eigenvalue(self, S: Any, width: int) -> tuple[float, float, np.ndarray]:
        """Return the least eigenvalue, a bound on its error, and its eigenvector."""
        if self.n <= (LARGEST_SPARSE if sp.issparse(S) else LARGEST_DENSE):
            eigenvalues, vectors = by_lapack(S, 1)
            return float(eigenvalues[0]), 0.0, vectors[:, 0]
        size = norm_bound(S)
        count = 0

        def flipped(x: np.ndarray) -> np.ndarray:
            nonlocal count
            count += 1
            return size * x - S @ x

        operator = sp.linalg.LinearOperator(S.shape, matvec=flipped, dtype=float)
        start = np.random.default_rng(0).standard_normal(self.n)
        try:
            found, vectors = sp.linalg.eigsh(operator, 1, which="LA", ncv=40, tol=1e-10, v0=start, maxiter=100)
            eigenvalue, u = size - float(found[0]), vectors[:, 0]
        except sp.linalg.ArpackError:  # on graphs in the plane, whose factors are sparse
            found, vectors = smallest_eigenpairs(S, 1, try_products=False)
            eigenvalue, u = float(found[0]), vectors[:, 0]
        finally:
            self.products += count / width
        return eigenvalue, float(np.linalg.norm(S @ u - eigenvalue * u)), u


class Curvature:
    """The Hessian of the augmented Lagrangian without coupling between points: one block of order p per point.

    It is 2 S_aa for every point, and σ w² V_b V_bᵀ more for each row that joins it to a point b.
    """

    def __init__(self, spheres: Spheres, V: np.ndarray, at: Value, penalty: float) -> None:
        least = 0.2 * abs(spheres.C_diagonal) + 1e-3 * spheres.cost
        self.plain = 2 * np.maximum(spheres.C_diagonal - at.y, least)[:, None]
        self.touched, p = spheres.touched, V.shape[1]
        blocks = self.plain[self.touched][:, :, None] * np.eye(p)
        weight = penalty * spheres.weight**2
        at_once = max(1, LARGEST_SQUARES // p**2)
        for first in range(0, len(weight), at_once):
            some = slice(first, first + at_once)
            for mine, other in ((spheres.at_i, spheres.j), (spheres.at_j, spheres.i)):
                np.add.at(blocks, mine[some], weight[some, None, None] * _squares(V[other[some]]))
        self.inverses = np.linalg.inv(blocks)

    def solve(self, way: np.ndarray) -> np.ndarray:
        """Return the inverse times a direction."""
        solved = way / self.plain
        solved[self.touched] = np.einsum("aij,aj->ai", self.inverses, way[self.touched])
        return solved


def _squares(V: np.ndarray) -> np.ndarray:
    """Return V_a V_aᵀ for each row."""
    return V[:, :, None] * V[:, None, :]


def _solved_gram(J: sp.csr_array, right: np.ndarray) -> np.ndarray:
    """Solve JJᵀx = right, approximately if rows of J are dependent."""
    gram = sp.csr_array(J @ J.T)
    gram = gram + max(1e-13 * gram.diagonal().max(), np.finfo(float).tiny) * sp.eye_array(len(right))
    if len(right) > DENSE_GRAM:
        return sp.linalg.cg(gram, right, rtol=1e-12, maxiter=500)[0]
    return scipy.linalg.solve(gram.toarray(), right, assume_a="pos")


def row_products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner products of rows."""
    return np.einsum("ij,ij->i", A, B)


def unit_rows(V: np.ndarray) -> np.ndarray:
    """Return rows of unit length."""
    return V / np.sqrt(row_products(V, V))[:, None]
