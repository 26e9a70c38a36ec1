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
from ..numerics.forms import Adjoint, Forms
from ..numerics.losses import Losses
from ..numerics.matrices import as_dense
from ..programs.linear_sdp import LinearSDP
from ..programs.separable_sdp import SeparableSDP

# Above this share of nonzero entries, a product with the dense matrix is faster.
DENSE_IS_FASTER = 0.1
# Up to this many rows, a dense system moves the factor onto them.
DENSE_GRAM = 2000
# Entries of the squares that are added up at a time.
LARGEST_SQUARES = 4_000_000
# Up to these orders LAPACK finds the least eigenvalue of a slack, sparse or dense.
LARGEST_SPARSE, LARGEST_DENSE = 500, 1500
# Rows with a larger Frobenius norm are scaled to norm one.
LONG = 4.0
# Subgradients of a start are taken from within this distance.
NEARBY = 1e-3


def linear_part(program: LinearSDP | SeparableSDP) -> LinearSDP:
    """Return the costs and constraints of a program."""
    return program.linear if isinstance(program, SeparableSDP) else program


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
    """The augmented Lagrangian at V: its value, its gradient along the spheres, y, and ⟨A_l, VVᵀ⟩ for all rows.

    ``stiffness`` is the curvature of each row as a share of the penalty.
    """

    total: float
    gradient: np.ndarray
    y: np.ndarray
    at: np.ndarray
    stiffness: np.ndarray


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
    """The program over V with rows of unit length, after scaling both sides by the prescribed lengths.

    Every row other than the diagonal is a function φ of one number: zero or infinite for a constraint.
    """

    def __init__(self, program: LinearSDP | SeparableSDP) -> None:
        self.program, self.sdp = program, (sdp := linear_part(program))
        self.n = sdp.n
        squared, self.diagonal_rows = squared_lengths(sdp)
        self.lengths = np.sqrt(squared)
        scale = sp.diags_array(self.lengths)
        C = sp.csr_array(scale @ sdp.C @ scale)
        self.C: Any = C.toarray() if C.nnz > DENSE_IS_FASTER * self.n**2 else C
        self.C_diagonal = C.diagonal()
        self.cost = float(abs(self.C_diagonal).mean()) or 1.0
        self.others = np.setdiff1d(np.arange(len(sdp.b)), self.diagonal_rows)
        b, rows = sdp.b[self.others], sdp.A[self.others]
        losses = [Losses.interval(np.where(sdp.is_inequality[self.others], -np.inf, b), b)]
        if isinstance(program, SeparableSDP):
            rows = sp.csr_array(sp.vstack([rows, program.A], format="csr"))
            losses.append(program.losses)
        forms = Forms.of(rows, self.n).lengths_given(self.lengths)
        # Long rows, such as sums over all points, would outweigh the others.
        self.units = np.where(forms.norms > LONG, forms.norms, 1.0)
        self.forms, self.losses = forms.times(1 / self.units), Losses.stacked(losses).scaled(self.units)
        # The points that these rows touch, and the rows on them alone.
        self.touched = forms.touched
        self.near = self.forms.among(self.touched)
        self.products = 0.0

    @property
    def enough_columns(self) -> int:
        """A rank that some solution does not exceed: r(r + 1)/2 ≤ number of rows (Barvinok, Pataki)."""
        return min(self.n, int((np.sqrt(8 * (self.n + len(self.losses)) + 1) - 1) / 2) + 1)

    def costs(self, V: np.ndarray) -> np.ndarray:
        """CV."""
        self.products += 1
        return self.C @ V

    def excess(self, at: np.ndarray) -> np.ndarray:
        """Return how far numbers are outside the domains of their functions."""
        return at - np.clip(at, *self.losses.domain)

    def violation(self, at: np.ndarray) -> float:
        """Return by how much constraints are violated."""
        return float((abs(self.excess(at)) * self.units).max(initial=0.0))

    def value_of_terms(self, at: np.ndarray) -> float:
        """Return Σφ, where constraints that hold up to rounding cost nothing."""
        return float(self.losses.values(np.clip(at, *self.losses.domain)).sum())

    def multipliers(self, z: np.ndarray, at: np.ndarray, penalty: float) -> np.ndarray:
        """z − σ(at − t), with the best t: minus a subgradient of φ there."""
        t = self.losses.step(at - z / penalty, penalty).t
        low, high = self.losses.slopes
        return -np.clip(penalty * (at - t) - z, low, high)

    def lagrangian(self, V: np.ndarray, z: np.ndarray, penalty: float) -> Value:
        """Return the augmented Lagrangian and its derivatives."""
        slack = self.costs(V)
        total, at = float(np.vdot(V, slack)), self.forms.values(V)
        stiffness = np.zeros(0)
        if len(self.losses):
            t, stiffness = self.losses.step(at - z / penalty, penalty)
            moved = z - penalty * (at - t)
            total += float((moved**2 - z**2).sum()) / (2 * penalty) + self.value_of_terms(t)
            self._take_off(slack, moved, V)
        y = row_products(slack, V)
        slack -= y[:, None] * V
        slack *= 2
        return Value(total, slack, y, at, stiffness)

    def _take_off(self, slack: np.ndarray, z: np.ndarray, V: np.ndarray) -> None:
        """Subtract A*(z)V."""
        slack[self.touched] -= self.near.adjoint(z) @ V[self.touched]

    # ------------------------------------------------------------------ proofs

    def _derivative(self, V: np.ndarray, some: np.ndarray) -> Any:
        """Return the derivatives of some rows along the spheres: p columns per touched point.

        It is a sparse matrix or, where rows have combinations of points, an operator.
        """
        forms, V = self.near, V[self.touched]
        if len(forms.U):
            return self._derivative_by_products(V, some)
        p, number = V.shape[1], np.full(forms.count, -1)
        number[some] = np.arange(len(some))
        kept = np.flatnonzero(number[forms.row] >= 0)
        i, j = forms.i[kept], forms.j[kept]
        inner = row_products(V[i], V[j])[:, None]
        values = forms.weight[kept, None] * np.concatenate([V[j] - inner * V[i], V[i] - inner * V[j]]).reshape(2, -1, p)
        columns = (np.stack([i, j])[:, :, None] * p + np.arange(p)).ravel()
        rows = np.broadcast_to(number[forms.row[kept]][None, :, None], values.shape).ravel()
        return sp.csr_array((values.ravel(), (rows, columns)), shape=(len(some), V.size))

    def _derivative_by_products(self, V: np.ndarray, some: np.ndarray) -> sp.linalg.LinearOperator:
        forms, W = self.near, self.near.extended(V)

        def along(way: np.ndarray) -> np.ndarray:
            way = way.reshape(V.shape)
            moved = forms.extended(way - row_products(way, V)[:, None] * V)
            change = row_products(moved[forms.i], W[forms.j]) + row_products(W[forms.i], moved[forms.j])
            return np.bincount(forms.row, forms.weight * change, forms.count)[some]

        def transposed(x: np.ndarray) -> np.ndarray:
            whole = np.zeros(forms.count)
            whole[some] = x.ravel()
            way = 2 * (forms.adjoint(whole) @ V)
            return (way - row_products(way, V)[:, None] * V).ravel()

        return sp.linalg.LinearOperator((len(some), V.size), matvec=along, rmatvec=transposed, dtype=float)

    def feasible(self, V: np.ndarray) -> np.ndarray:
        """Return the factor moved to where the constraints hold, as far as possible nearby."""
        V, g = V.copy(), self.excess(self.forms.values(V))
        for _ in range(6):
            size = float(abs(g).max(initial=0.0))
            if size <= 1e-15:
                break
            rows = np.flatnonzero(g)
            J = self._derivative(V, rows)
            step = J.T @ _solved_gram(J, -g[rows])  # the least that does it
            moved = V.copy()
            moved[self.touched] += step.reshape(len(self.touched), -1)
            moved = unit_rows(moved)
            g = self.excess(self.forms.values(moved))
            if float(abs(g).max()) >= 0.9 * size:
                break
            V = moved
        return V

    def fitting_multipliers(self, V: np.ndarray) -> np.ndarray:
        """Return the z with the smallest gradient along the spheres, by least squares, that are subgradients nearby."""
        if not len(self.losses):
            return np.zeros(0)
        slack = self.costs(V)
        slack = 2 * (slack - row_products(slack, V)[:, None] * V)
        J = self._derivative(V, np.arange(len(self.losses)))
        z = _solved_gram(J, J @ slack[self.touched].ravel())
        least, most = self.losses.subgradients(np.clip(self.forms.values(V), *self.losses.domain), NEARBY)
        return -np.clip(-z, least, most)

    def proof(self, V: np.ndarray, z: np.ndarray) -> Proof:
        """Return what a factor and multipliers prove."""
        W = self.feasible(V) if len(self.losses) else V
        slack, at = self.costs(W), self.forms.values(W)
        value, bound = float(np.vdot(W, slack)), 0.0
        if len(self.losses):
            value += self.value_of_terms(at)
            bound -= float(self.losses.conjugates(-z)[0].sum())
            self._take_off(slack, z, W)
        y = row_products(slack, W)
        eigenvalue, off, direction = self._least_eigenvalue(self.slack(y, z), V.shape[1])
        bound += float(y.sum()) + self.n * min(0.0, eigenvalue - off)
        offset = self.sdp.offset
        return Proof(
            W, self.violation(at), y, z, value + offset, bound + offset, eigenvalue, direction, min(1.0, self.sdp.unit)
        )

    def slack(self, y: np.ndarray, z: np.ndarray) -> Any:
        """S = C − Diag(y) − A*(z)."""
        rows = self.forms.adjoint(z)
        if rows.U is not None and self.n > LARGEST_DENSE:
            return Difference(self.C - sp.diags_array(y), rows)
        if rows.U is not None or isinstance(self.C, np.ndarray):
            return as_dense(self.C) - rows.toarray() - np.diag(y)
        return sp.csr_array(self.C - rows.N - sp.diags_array(y))

    def _least_eigenvalue(self, S: Any, width: int) -> tuple[float, float, np.ndarray]:
        """Return the least eigenvalue, a bound on its error, and its eigenvector."""
        if self.n <= (LARGEST_SPARSE if sp.issparse(S) else LARGEST_DENSE):
            eigenvalues, vectors = by_lapack(S, 1)
            return float(eigenvalues[0]), 0.0, vectors[:, 0]
        size = norm_bound(S.left) + S.right.norm_above if isinstance(S, Difference) else norm_bound(S)
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
            found, vectors = smallest_eigenpairs(as_dense(S) if isinstance(S, Difference) else S, 1, try_products=False)
            eigenvalue, u = float(found[0]), vectors[:, 0]
        finally:
            self.products += count / width
        return eigenvalue, float(np.linalg.norm(S @ u - eigenvalue * u)), u


@dataclass(frozen=True, eq=False)
class Difference:
    """A matrix without another one, of which only products are taken."""

    left: Any
    right: Adjoint

    @property
    def shape(self) -> tuple[int, int]:
        """The shape."""
        return self.left.shape

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return self.left @ x - self.right @ x

    def toarray(self) -> np.ndarray:
        """Return all entries."""
        return as_dense(self.left) - self.right.toarray()


class Curvature:
    """The Hessian of the augmented Lagrangian without coupling between points: one block of order p per point.

    It is 2 S_aa for every point, and σ w² V_b V_bᵀ more for each row that joins it to a point b; less for functions
    that are not as stiff as constraints.
    """

    def __init__(self, spheres: Spheres, V: np.ndarray, at: Value, penalty: float) -> None:
        least = 0.2 * abs(spheres.C_diagonal) + 1e-3 * spheres.cost
        self.plain = 2 * np.maximum(spheres.C_diagonal - at.y, least)[:, None]
        forms, n, p = spheres.forms, spheres.n, V.shape[1]
        self.touched, W = spheres.touched, forms.extended(V)
        blocks = self.plain[self.touched][:, :, None] * np.eye(p)
        stiffness = np.where(spheres.losses.is_hard, 1.0, at.stiffness)
        weight = penalty * stiffness[forms.row] * forms.weight**2
        of_combinations = np.zeros((len(forms.U), p, p))
        at_once = max(1, LARGEST_SQUARES // p**2)
        for first in range(0, len(weight), at_once):
            some = slice(first, first + at_once)
            for mine, other in ((forms.i[some], forms.j[some]), (forms.j[some], forms.i[some])):
                squares = weight[some, None, None] * _squares(W[other])
                single = mine < n
                np.add.at(blocks, np.searchsorted(self.touched, mine[single]), squares[single])
                np.add.at(of_combinations, mine[~single] - n, squares[~single])
        for members, square in zip(forms.U, of_combinations, strict=True):
            blocks += members[self.touched, None, None] ** 2 * square
        self.inverses = np.linalg.inv(blocks)

    def solve(self, way: np.ndarray) -> np.ndarray:
        """Return the inverse times a direction."""
        solved = way / self.plain
        solved[self.touched] = np.einsum("aij,aj->ai", self.inverses, way[self.touched])
        return solved


def _squares(V: np.ndarray) -> np.ndarray:
    """Return V_a V_aᵀ for each row."""
    return V[:, :, None] * V[:, None, :]


def _solved_gram(J: Any, right: np.ndarray) -> np.ndarray:
    """Solve JJᵀx = right, approximately if rows of J are dependent or J is an operator."""
    if not sp.issparse(J):
        return sp.linalg.cg(J @ J.T, right, rtol=1e-12, maxiter=500)[0]
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
