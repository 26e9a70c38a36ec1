r"""Kernels of low rank: K = VVᵀ, with the rows of V on spheres.

For the program :math:`\min \langle C, K\rangle` over :math:`K_{aa} = d_a`, further rows :math:`\mathcal{A}(K) = b`
(or ≤) and :math:`K \succeq 0`, solutions have a rank of about the number of clusters. With :math:`K = VV^\top`, V of
n rows and p columns, semidefiniteness and diagonal hold by themselves, and what is left is smooth: minimise

.. math:: \langle C, VV^\top\rangle - z^\top g + \tfrac\sigma2 \|g\|^2, \qquad g = \mathcal{A}(VV^\top) - b,

over rows of length :math:`\sqrt{d_a}` by L-BFGS, a product :math:`CV` a step, and follow
:math:`z \leftarrow z - \sigma g` (Burer & Monteiro 2003). That program is not convex; the answer is proven afterwards,
by convex duality: with

.. math:: y_a = \bigl((C - \mathcal{A}^*(z))V\bigr)_a \cdot V_a / d_a, \qquad
          S = C - \mathrm{Diag}(y) - \mathcal{A}^*(z),

every feasible K costs at least :math:`d^\top y + b^\top z + \min(0, \lambda_{\min}(S)) \sum_a d_a`. The value is that
of V moved onto :math:`g = 0` (Gauss & Newton), so the gap between the two is a proof, and the method stops when that
gap is small. Where :math:`\lambda_{\min}(S) < 0`, its eigenvector, put into an empty column of V, leads downhill
(Boumal's staircase): columns that are not needed are dropped, and one is added where all are.

References
----------
Burer & Monteiro (2003); Boumal, Voroninski & Bandeira (2016).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..linear_sdp import LinearSDP
from ..matrices import Congruence
from ..problem import Problem
from ..spectrum import norm_bound, smallest_eigenpairs
from ..threads import threads_for
from ..validation import as_generator
from .base import Attempt, Route, Settings
from .iteration import Iteration

# The gap it aims at, unless a smaller one is asked for.
DEFAULT_GAP = 1e-5
# Below this order the interior-point method is as fast.
LEAST_ORDER = 250
# A product with a sparse matrix costs about as much an entry as a dense one of so many entries.
DENSE_IS_FASTER = 0.1
# Columns at first: solutions for a few clusters have rank 3 to 6.
COLUMNS = 8
# A column that holds less than this share of all squared lengths is empty.
EMPTY = 1e-6
# Rows that cannot be satisfied better than this need more columns: points at right angles to one another, for example.
TOO_FEW_COLUMNS = 1e-3
# Pairs of steps and gradients that L-BFGS remembers.
MEMORY = 10
# Up to so many rows a dense system moves the factor onto them.
DENSE_GRAM = 2000
MOST_ROUNDS = 60
PATIENCE = 12
MOST_STEPS = 500
# Steps after which the curvature is looked at anew.
REFRESH = 20
# The first gradient is wanted this small, for every point, in units of the costs; each round's is a fifth of the last.
FIRST_GRADIENT = 1e-2
SMALLER_GRADIENT = 0.2
# The weight of violations at first, in units of the costs, and what it grows by where they do not shrink to a quarter.
FIRST_PENALTY = 5.0
MORE_PENALTY = 4.0
MOST_PENALTY = 1e5


class LowRank(Route):
    """Minimise over a factor with few columns; prove the answer by its multipliers."""

    name = "low-rank"
    why = "the kernel has low rank: products of the sparse cost with a few columns, and a proof by the multipliers"
    remedy = "look at the certificate; try more time, a larger accuracy, or route='interior-point' up to order 5000"
    starts_warm = True

    def refuses(self, problem: Problem) -> str | None:
        """Return what is missing."""
        try:
            sdp = problem.linear_sdp()
        except ReductionRefused as refusal:
            return str(refusal)
        lengths = _squared_lengths(sdp)[0]
        loose = np.flatnonzero(~(lengths > 0))
        if len(loose):
            return f"no equation of its own gives the diagonal entry of point {loose[0]} a positive value"
        return None

    def suits(self, problem: Problem) -> bool:
        """Whether the program is so large that it is the faster one, and strictly feasible, so that gaps close."""
        sdp = problem.linear_sdp()
        return sdp.n >= LEAST_ORDER and sdp.interior_point is not None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Solve until the proven gap is below the accuracy, and at least below 1e-5, relative to 1 + |value|."""
        sdp = problem.linear_sdp()
        wanted = DEFAULT_GAP if settings.accuracy is None else min(settings.accuracy, DEFAULT_GAP)
        spheres = _Spheres(sdp)
        # Columns are few, so threads have nothing to do unless the costs are dense.
        with threads_for(1 if sp.issparse(spheres.C) else sdp.n):
            return _Rounds(spheres, Iteration(settings, MOST_ROUNDS, PATIENCE, 0.9 * wanted)).run()


def _squared_lengths(sdp: LinearSDP) -> tuple[np.ndarray, np.ndarray]:
    """Return what single equations make of the diagonal, NaN where there is none, and the number of the equation."""
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
class _Value:
    """The augmented Lagrangian at V: its value, its gradient along the spheres, y and g."""

    total: float
    gradient: np.ndarray
    y: np.ndarray
    g: np.ndarray


@dataclass(frozen=True, eq=False)
class _Proof:
    """A factor, feasible but for the violation, multipliers, the bounds they give, and what is in the way.

    That is the least eigenvalue of the slack, with its eigenvector.
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
        """The gap relative to the value, and one where that is small."""
        return (self.value - self.bound) / (self.unit + abs(self.value))

    @property
    def off(self) -> float:
        """How far it is from proving that the factor is a solution."""
        return max(abs(self.gap), self.violation)


class _Spheres:
    """The program over V with rows of unit length, after both sides were scaled by the lengths that are asked for."""

    def __init__(self, sdp: LinearSDP) -> None:
        self.sdp, self.n = sdp, sdp.n
        squared, self.diagonal_rows = _squared_lengths(sdp)
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
        terms = self.weight * np.einsum("ij,ij->i", V[self.i], V[self.j])
        return np.bincount(self.row, terms, len(self.b)) - self.b

    def wrong(self, g: np.ndarray) -> np.ndarray:
        """By how much the rows are violated."""
        return np.where(self.is_inequality, np.maximum(g, 0), abs(g))

    def adjoint(self, z: np.ndarray) -> sp.csr_array:
        """A*(z), on the touched points."""
        half = self.weight * z[self.row] / 2
        places = np.concatenate([self.at_i, self.at_j]), np.concatenate([self.at_j, self.at_i])
        return sp.csr_array((np.concatenate([half, half]), places), shape=(len(self.touched),) * 2)

    def multipliers(self, z: np.ndarray, g: np.ndarray, penalty: float) -> np.ndarray:
        """z − σg; for inequalities without what has the wrong sign."""
        moved = z - penalty * g
        return np.where(self.is_inequality, np.minimum(moved, 0), moved)

    def lagrangian(self, V: np.ndarray, z: np.ndarray, penalty: float) -> _Value:
        """Return the augmented Lagrangian and its derivatives."""
        slack = self.costs(V)
        total, g = float(np.vdot(V, slack)), self.excess(V)
        if len(self.b):
            moved = self.multipliers(z, g, penalty)
            total += float((moved**2 - z**2).sum()) / (2 * penalty)
            slack[self.touched] -= self.adjoint(moved) @ V[self.touched]
        y = _row_products(slack, V)
        slack -= y[:, None] * V
        slack *= 2
        return _Value(total, slack, y, g)

    # ------------------------------------------------------------------ proofs

    def _derivative(self, V: np.ndarray) -> sp.csr_array:
        """Return the derivative of g along the spheres, a row a constraint, p columns a touched point."""
        p = V.shape[1]
        Vi, Vj = V[self.i], V[self.j]
        inner = np.einsum("ij,ij->i", Vi, Vj)[:, None]
        values = self.weight[:, None] * np.concatenate([Vj - inner * Vi, Vi - inner * Vj]).reshape(2, -1, p)
        columns = (np.stack([self.at_i, self.at_j])[:, :, None] * p + np.arange(p)).ravel()
        rows = np.broadcast_to(self.row[None, :, None], (2, len(self.row), p)).ravel()
        return sp.csr_array((values.ravel(), (rows, columns)), shape=(len(self.b), len(self.touched) * p))

    def feasible(self, V: np.ndarray) -> np.ndarray:
        """Return the factor moved onto g = 0, as far as that is possible nearby."""
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
            moved = _unit_rows(moved)
            g = self.excess(moved)
            if float(self.wrong(g).max()) >= 0.9 * size:
                break
            V = moved
        return V

    def fitting_multipliers(self, V: np.ndarray) -> np.ndarray:
        """Return z for which the gradient along the spheres is least, by least squares."""
        if not len(self.b):
            return np.zeros(0)
        slack = self.costs(V)
        slack = 2 * (slack - _row_products(slack, V)[:, None] * V)
        z = _solved_gram(J := self._derivative(V), J @ slack[self.touched].ravel())
        return np.where(self.is_inequality, np.minimum(z, 0), z)

    def proof(self, V: np.ndarray, z: np.ndarray) -> _Proof:
        """Return what a factor and multipliers prove."""
        W = self.feasible(V) if len(self.b) else V
        slack = self.costs(W)
        value = float(np.vdot(W, slack))
        if len(self.b):
            slack[self.touched] -= self.adjoint(z) @ W[self.touched]
        y = _row_products(slack, W)
        eigenvalue, off, direction = self._least_eigenvalue(self.slack(y, z), V.shape[1])
        bound = float(y.sum() + self.b @ z) + self.n * min(0.0, eigenvalue - off)
        violation = float(self.wrong(self.excess(W)).max(initial=0.0))
        return _Proof(W, violation, y, z, value, bound, eigenvalue, direction, min(1.0, self.sdp.unit))

    def slack(self, y: np.ndarray, z: np.ndarray) -> Any:
        """S = C − Diag(y) − A*(z)."""
        half = self.weight * z[self.row] / 2
        places = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        rows = sp.csr_array((np.concatenate([half, half]), places), shape=(self.n, self.n)) + sp.diags_array(y)
        return self.C - rows.toarray() if isinstance(self.C, np.ndarray) else sp.csr_array(self.C - rows)

    def _least_eigenvalue(self, S: Any, width: int) -> tuple[float, float, np.ndarray]:
        """Return the least eigenvalue, how far it may be off, and its eigenvector."""
        if self.n <= 500 or (isinstance(S, np.ndarray) and self.n <= 1500):
            dense = S if isinstance(S, np.ndarray) else S.toarray()
            eigenvalues, vectors = scipy.linalg.eigh((dense + dense.T) / 2, subset_by_index=[0, 0])
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


class _Rounds:
    """Rounds of minimising over V and following the multipliers, until the gap is proven to be small."""

    def __init__(self, spheres: _Spheres, iteration: Iteration) -> None:
        self.spheres, self.iteration = spheres, iteration
        self.rng = as_generator(iteration.settings.random_state)
        self.V, self.z = self._random(), np.zeros(len(spheres.b))
        self.penalty = FIRST_PENALTY * spheres.cost
        self.wanted = FIRST_GRADIENT * spheres.cost * np.sqrt(spheres.n)
        if iteration.settings.start is not None:
            self._start_from(iteration.settings.start / spheres.lengths[:, None])

    def _random(self) -> np.ndarray:
        columns = max(1, min(COLUMNS, self.spheres.enough_columns))
        return _unit_rows(self.rng.standard_normal((self.spheres.n, columns)))

    def _start_from(self, given: np.ndarray) -> None:
        """Start from an earlier answer, and from the multipliers that fit it best."""
        spheres = self.spheres
        shares = (given**2).sum(axis=0)
        given = given[:, shares > EMPTY * shares.sum()]
        # A little of something else, so that no row is zero and columns it leaves empty can be used.
        V = 1e-6 * self.rng.standard_normal((spheres.n, given.shape[1] + 1))
        V[:, :-1] += given
        self.V = spheres.feasible(_unit_rows(V))
        self.z = spheres.fitting_multipliers(self.V)
        gradient = spheres.lagrangian(self.V, self.z, self.penalty).gradient
        self.wanted = min(self.wanted, SMALLER_GRADIENT * float(np.linalg.norm(gradient)))

    def run(self) -> Attempt:
        """Go on until the gap is small, or nothing helps."""
        spheres = self.spheres
        worst = np.inf
        while True:
            at = self._descend()
            violation = float(spheres.wrong(at.g).max(initial=0.0))
            self.z = spheres.multipliers(self.z, at.g, self.penalty)
            proof = spheres.proof(self.V, self.z)
            if not self._goes_on(proof):
                break
            if np.linalg.norm(at.gradient) <= self.wanted:  # otherwise the next round goes on with the same
                if violation > worst / 4:
                    self.penalty = min(MORE_PENALTY * self.penalty, MOST_PENALTY * spheres.cost)
                worst = violation
                self.wanted *= SMALLER_GRADIENT
            self._fit_columns(proof)
        return self._attempt(self.iteration.best)

    def _goes_on(self, proof: _Proof) -> bool:
        offset, columns = self.spheres.sdp.offset, self.V.shape[1]
        numbers = {"objective": proof.value + offset, "bound": proof.bound + offset, "rank": columns}
        words = "  ".join(f"{name} {number:.10g}" for name, number in numbers.items())
        progress = f"{words}  gap {proof.gap:.1e}  {self.spheres.products:.0f} products"
        return self.iteration.goes_on(proof, proof.off, progress, **numbers)

    def _attempt(self, best: _Proof) -> Attempt:
        spheres, sdp = self.spheres, self.spheres.sdp
        y = np.zeros(len(sdp.b))
        y[spheres.others] = best.z
        y[spheres.diagonal_rows] = best.y / sdp.b[spheres.diagonal_rows]
        K = Congruence(spheres.lengths[:, None] * best.V, np.eye(best.V.shape[1]))
        attempt = self.iteration.attempt({sdp.variable: K}, {**sdp.split(y), sdp.cone: sdp.slack(y)})
        how = f"{attempt.reason}, {spheres.products:.0f} products with the costs, {best.V.shape[1]} columns"
        return replace(attempt, reason=how)

    # ------------------------------------------------------------------ columns

    def _fit_columns(self, proof: _Proof) -> None:
        """Turn V so that its columns are in order, drop the empty ones but one, and lead that one downhill."""
        if proof.violation > TOO_FEW_COLUMNS and self.V.shape[1] < self.spheres.enough_columns:
            more = min(self.V.shape[1], self.spheres.enough_columns - self.V.shape[1])
            self.V = _unit_rows(np.hstack([self.V, 0.1 * self.rng.standard_normal((len(self.V), more))]))
            return
        shares, turn = np.linalg.eigh(self.V.T @ self.V)
        V = self.V @ turn[:, ::-1]
        used = int((shares > EMPTY * self.spheres.n).sum())
        kept = min(used + 1, max(self.spheres.enough_columns, V.shape[1]))
        V = np.column_stack([V, np.zeros(len(V))])[:, :kept] if kept > V.shape[1] else V[:, :kept]
        self.V = _unit_rows(V)
        if proof.eigenvalue < 0:
            before = self.spheres.lagrangian(self.V, self.z, self.penalty).total
            for reach in (1.0, 0.3, 0.1, 0.03, 0.01):
                moved = self.V.copy()
                moved[:, -1] += reach * np.sqrt(self.spheres.n) * proof.direction
                moved = _unit_rows(moved)
                if self.spheres.lagrangian(moved, self.z, self.penalty).total < before:
                    self.V = moved
                    break

    # ------------------------------------------------------------------ L-BFGS

    def _descend(self) -> _Value:
        """Minimise over V until the gradient is as small as wanted."""
        spheres, V = self.spheres, self.V
        at = spheres.lagrangian(V, self.z, self.penalty)
        memory: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
        for step in range(MOST_STEPS):
            if np.linalg.norm(at.gradient) <= self.wanted or self.iteration.is_late:
                break
            if step % REFRESH == 0:
                curvature = _Curvature(spheres, V, at, self.penalty)
            way = _quasi_newton(memory, at.gradient, curvature)
            way -= _row_products(way, V)[:, None] * V
            slope = float(np.vdot(at.gradient, way))
            if not slope > 0:
                memory.clear()
                way = curvature.solve(at.gradient)
                way -= _row_products(way, V)[:, None] * V
                slope = float(np.vdot(at.gradient, way))
            moved = self._along(V, way, slope, at)
            if moved is None:
                break
            V_new, new = moved
            moved_by, change = V_new - V, new.gradient - at.gradient
            product = float(np.vdot(moved_by, change))
            if product > 1e-10 * np.linalg.norm(moved_by) * np.linalg.norm(change):
                memory.append((moved_by, change, product))
            V, at = V_new, new
        self.V = V
        return at

    def _along(self, V: np.ndarray, way: np.ndarray, slope: float, at: _Value) -> tuple[np.ndarray, _Value] | None:
        """Return the first point along the way that goes down enough, or None where rounding leaves none."""
        length = 1.0
        while length > 1e-8:
            moved = _unit_rows(V - length * way)
            new = self.spheres.lagrangian(moved, self.z, self.penalty)
            if new.total <= at.total - 1e-4 * length * slope + 1e-14 * abs(at.total):
                return moved, new
            length *= 0.4
        return None


class _Curvature:
    """The Hessian of the augmented Lagrangian without what couples different points: a block of order p for each.

    It is 2 S_aa for every point, and σ w² V_b V_bᵀ more for each row that joins it to a point b.
    """

    def __init__(self, spheres: _Spheres, V: np.ndarray, at: _Value, penalty: float) -> None:
        least = 0.2 * abs(spheres.C_diagonal) + 1e-3 * spheres.cost
        self.plain = 2 * np.maximum(spheres.C_diagonal - at.y, least)[:, None]
        self.touched, p = spheres.touched, V.shape[1]
        blocks = self.plain[self.touched][:, :, None] * np.eye(p)
        weight = penalty * spheres.weight**2
        np.add.at(blocks, spheres.at_i, weight[:, None, None] * _squares(V[spheres.j]))
        np.add.at(blocks, spheres.at_j, weight[:, None, None] * _squares(V[spheres.i]))
        self.inverses = np.linalg.inv(blocks)

    def solve(self, way: np.ndarray) -> np.ndarray:
        """Return the inverse times a direction."""
        solved = way / self.plain
        solved[self.touched] = np.einsum("aij,aj->ai", self.inverses, way[self.touched])
        return solved


def _squares(V: np.ndarray) -> np.ndarray:
    """Return V_a V_aᵀ for each row."""
    return V[:, :, None] * V[:, None, :]


def _quasi_newton(memory: Any, gradient: np.ndarray, curvature: _Curvature) -> np.ndarray:
    """Return the inverse Hessian times the gradient, as L-BFGS has it from the last steps and a diagonal."""
    way, shares = gradient.copy(), []
    for step, change, product in reversed(memory):
        share = float(np.vdot(step, way)) / product
        shares.append(share)
        way -= share * change
    way = curvature.solve(way)
    if memory:
        _, change, product = memory[-1]
        way *= product / float(np.vdot(change, curvature.solve(change)))
    for (step, change, product), share in zip(memory, reversed(shares), strict=True):
        way += (share - float(np.vdot(change, way)) / product) * step
    return way


def _solved_gram(J: sp.csr_array, right: np.ndarray) -> np.ndarray:
    """Return x with JJᵀx as given, or nearly so where rows of J depend on one another."""
    gram = sp.csr_array(J @ J.T)
    gram = gram + 1e-13 * gram.diagonal().max() * sp.eye_array(len(right))
    if len(right) > DENSE_GRAM:
        return sp.linalg.cg(gram, right, rtol=1e-12, maxiter=500)[0]
    return scipy.linalg.solve(gram.toarray(), right, assume_a="pos")


def _row_products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", A, B)


def _unit_rows(V: np.ndarray) -> np.ndarray:
    return V / np.sqrt(_row_products(V, V))[:, None]
