r"""Cuts that must satisfy constraints.

A constrained cut is a program over n × k matrices f with orthonormal columns, in two quadratic forms:

.. math:: \min_f\ \operatorname{tr}(f^\top L f) \quad\text{s.t.}\quad \operatorname{tr}(f^\top Q f) \ge k\beta,\quad
          f^\top f = I,\quad f \perp v .

It is not convex, but as good as convex. For any λ ≥ 0, the sum of the k smallest eigenvalues of
:math:`L - \lambda(Q - \beta I)` on the complement of v, call it g(λ), is below the optimum (Lagrange), and g is
concave. The largest of these bounds *is* the optimum: max g is the dual of the program over :math:`X = ff^\top`,
relaxed to :math:`0 \preceq X \preceq I,\ \operatorname{tr} X = k`. An extreme point of that set with one more linear
constraint has :math:`r(r+1)/2 \le 2` for the number r of its eigenvalues strictly between 0 and 1 (Barvinok, Pataki),
so r ≤ 1, and as the trace is whole, r = 0: it is a projection :math:`ff^\top`, and the relaxation is exact. For k
columns the constraint may as well be asked of each: a rotation f ↦ fU makes the diagonal of :math:`f^\top Q f`
constant and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InvalidInput
from ...numerics.checks import real_array
from ...numerics.eigenpairs import DENSE, Complement, Pairs, by_products, smallest_eigenpairs
from ...numerics.threads import threads_for

EPSILON = float(np.finfo(float).eps)
# Above this share of nonzero entries a dense product is faster.
DENSE_IS_FASTER = 0.05
# Unit vectors nearer than this are one cut.
SAME_CUT = 1e-7
# Beyond, in units of cost per satisfaction, the threshold is as good as the largest there is, and rounding in λQ grows.
LARGEST_MULTIPLIER = 1e7


@dataclass(frozen=True, eq=False)
class ConstrainedCut:
    """The program as data: Laplacian, constraint matrix, threshold, the vector to be orthogonal to, and k.

    ``satisfying`` are the k columns that satisfy the constraint most, from which the search starts; ``null_vector`` is
    the null vector of L, or None where there are several. ``excluded`` is a unit vector that costs nothing and that f,
    a single column, must not be.
    """

    L: sp.csr_array
    Q: Any
    beta: float
    trivial: np.ndarray | None
    count: int
    satisfying: np.ndarray
    null_vector: np.ndarray | None = None
    excluded: np.ndarray | None = None

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.L.shape[0])

    @cached_property
    def space(self) -> Complement:
        """The subspace of f."""
        return Complement(self.n, self.trivial)

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.cost(point["f"])

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return the largest violation of each constraint."""
        f = point["f"]
        violations = {
            "satisfaction": max(0.0, self.count * (self.beta - self.satisfaction(f))),
            "unit": float(abs(f.T @ f - np.eye(self.count)).max()),
        }
        if self.trivial is not None:
            violations["orthogonal"] = float(abs(self.trivial @ f).max())
        if self.is_excluded(f):
            violations["not trivial"] = 1.0
        return violations

    def is_excluded(self, f: np.ndarray) -> bool:
        """Whether f is the vector that it must not be, up to rounding and length."""
        if self.excluded is None:
            return False
        along = self.excluded @ f
        return bool(np.linalg.norm(f - np.outer(self.excluded, along)) <= SAME_CUT * np.linalg.norm(f))

    @cached_property
    def no_minimum(self) -> str:
        """Why no cut is the cheapest; empty if one is.

        Where the excluded vector satisfies the constraint itself, cuts near it cost as little as one likes.
        """
        if self.excluded is None:
            return ""
        satisfied = float(self.excluded @ (self.Q @ self.excluded))
        rounding = 100 * EPSILON * (abs(satisfied) + abs(self.beta))
        if satisfied < self.beta - rounding:
            return ""
        is_largest = satisfied >= self.satisfaction(self.satisfying) - rounding
        remedy = f"{'' if is_largest else f'raise beta above {satisfied:.6g}, or '}take orthogonal=True"
        return (
            f"D^{{1/2}}1 satisfies the constraints to the degree {satisfied:.6g} itself, which is not below "
            f"beta = {self.beta:.6g}, so that cuts near it cost as little as one likes and none is the cheapest; "
            f"{remedy}"
        )

    def cost(self, f: np.ndarray) -> float:
        """Return tr fᵀLf."""
        return float(np.vdot(f, self.L @ f))

    def satisfaction(self, f: np.ndarray) -> float:
        """Return tr fᵀQf / k, to be compared with β."""
        return float(np.vdot(f, self.Q @ f)) / self.count

    def matrix(self, multiplier: float) -> Any:
        """Return L − λ(Q − βI), sparse if that pays."""
        identity = sp.eye_array(self.n, format="csr")
        if sp.issparse(self.Q):
            matrix = sp.csr_array(self.L - multiplier * (self.Q - self.beta * identity))
            return matrix if self._is_sparse else matrix.toarray()
        return (self.L + multiplier * self.beta * identity).toarray() - multiplier * self.Q

    @property
    def _is_sparse(self) -> bool:
        """Whether both forms are sparse; a graph of all pairs is stored as a sparse matrix without being one."""
        return sp.issparse(self.Q) and self.L.nnz + self.Q.nnz <= DENSE_IS_FASTER * self.n**2

    def smallest(self, multiplier: float, count: int, start: np.ndarray | None = None) -> Pairs:
        """Return the smallest eigenvalues of L − λ(Q − βI) on the subspace, and their eigenvectors as columns."""
        begin = None if start is None else start.sum(axis=1)
        count = min(count, self.space.dimension)
        return smallest_eigenpairs(self.matrix(multiplier), count, self.trivial, begin, self._products_do)

    @cached_property
    def _products_do(self) -> bool:
        """Whether products with L find its smallest eigenvalues quickly; tried once."""
        if self.n <= DENSE or not self._is_sparse:
            return True
        with threads_for(1):
            return by_products(self.L, self.count + 1, self.trivial) is not None

    def within(self, V: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the best f with columns in the span of V, orthonormal and in the subspace, and its multiplier λ."""
        A, B = V.T @ (self.L @ V), V.T @ (self.Q @ V)
        rounding = 10 * EPSILON * self.count * (float(abs(B).sum(axis=1).max()) + abs(self.beta))
        B = (B + B.T) / 2 - self.beta * np.eye(len(B))
        y, multiplier = small_cut((A + A.T) / 2, B, self.count, rounding)
        return V @ y, multiplier

    def near(self, f: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the best cut in the span of given columns and those that satisfy the constraint most, and its λ.

        Without the latter there may be none, where the threshold is close to the largest feasible one.
        """
        f = f if self.trivial is None else f - np.outer(self.trivial, self.trivial @ f)
        return self.within(joined(self.satisfying, f))


def joined(V: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of both spans; what is new by less than rounding is left out."""
    more = more - V @ (V.T @ more)
    more -= V @ (V.T @ more)
    new, lengths, _ = np.linalg.svd(more, full_matrices=False)
    new = new[:, lengths > 1e-9]
    return np.hstack([V, new - V @ (V.T @ new)])


def largest_satisfaction(Q: Any, trivial: np.ndarray | None, count: int) -> Pairs:
    """Return the largest eigenvalues of Q on the complement of the trivial cut, decreasing, and their eigenvectors."""
    if not (Q.nnz if sp.issparse(Q) else np.any(Q)):
        space = Complement(Q.shape[0], trivial)
        return np.zeros(count), space.lift(np.eye(space.dimension, count))
    eigenvalues, vectors = smallest_eigenpairs(-Q, count, trivial)
    return -eigenvalues, vectors


def small_cut(A: np.ndarray, B: np.ndarray, count: int, rounding: float) -> tuple[np.ndarray, float]:
    """Solve min tr yᵀAy over orthonormal columns with tr yᵀBy ≥ 0, for small dense matrices; return y and λ.

    The slack tr yᵀBy at the smallest eigenvectors of A − λB grows with λ: bisection finds where it changes sign. There
    it may jump, from one side of a multiple eigenvalue to the other; eigenvectors are combined then. A slack that is
    negative by ``rounding`` counts as zero.
    """
    size = max(float(np.linalg.norm(A, 2)), 1e-300) / max(float(np.linalg.norm(B, 2)), rounding, 1e-300)

    def eigen(multiplier: float) -> tuple[np.ndarray, float]:
        vectors = np.linalg.eigh(A - multiplier * B)[1]
        y = vectors[:, :count]
        return vectors, float(np.vdot(y, B @ y)) + rounding

    low, high = 0.0, 0.0
    slack = eigen(high)[1]
    while slack < 0 and high < LARGEST_MULTIPLIER * size:
        low, high = high, max(4 * high, 1e-6 * size)
        slack = eigen(high)[1]
    if slack < 0:
        return _most_satisfying(A, B, count), high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2 if low > 0.1 * high else max(np.sqrt(low * high), high / 100)
        if not low < middle < high:
            break
        if eigen(middle)[1] < 0:
            low = middle
        else:
            high = middle
    candidates = [y for side in (low, high) for y in _feasible(eigen(side)[0], B, count, rounding)]
    return min(candidates, key=lambda y: float(np.vdot(y, A @ y))), high


def _most_satisfying(A: np.ndarray, B: np.ndarray, count: int) -> np.ndarray:
    """Return the best of the columns that satisfy the constraint most: where the threshold leaves no others."""
    eigenvalues, vectors = np.linalg.eigh(B)
    close = 1e-9 * float(abs(eigenvalues).max())
    above = eigenvalues > eigenvalues[-count] + close
    tied = vectors[:, ~above & (eigenvalues >= eigenvalues[-count] - close)]
    best = np.linalg.eigh(tied.T @ A @ tied)[1][:, : count - above.sum()]
    return np.hstack([vectors[:, above], tied @ best])


def _feasible(vectors: np.ndarray, B: np.ndarray, count: int, rounding: float) -> list[np.ndarray]:
    """Return combinations of the leading eigenvectors that satisfy the constraint, most of them with equality.

    Of the first eigenvectors some are kept, and the others rotated within a window around the last one: between the
    directions in it that satisfy the constraint least and those that satisfy it most, the slack takes every value.
    """
    found = []
    y = vectors[:, :count]
    if np.vdot(y, B @ y) >= -rounding:
        found.append(y)
    for kept in range(count):
        for end in range(count + 1, min(vectors.shape[1], count + 5) + 1):
            head, window = vectors[:, :kept], vectors[:, kept:end]
            slacks, turned = np.linalg.eigh(window.T @ B @ window)
            wanted, free = -float(np.vdot(head, B @ head)), count - kept
            moving = min(free, len(slacks) - free)
            still = list(range(moving, free))  # low and high at once
            low, high = list(range(moving)), list(range(len(slacks) - moving, len(slacks)))
            wanted -= slacks[still].sum()
            least, most = slacks[low].sum(), slacks[high].sum()
            if not least <= wanted <= most or most - least <= 0:
                continue
            share = (wanted - least) / (most - least)
            rotated = np.sqrt(1 - share) * turned[:, low] + np.sqrt(share) * turned[:, high]
            found.append(np.hstack([head, window @ turned[:, still], window @ rotated]))
    return found


def multiplier_of(duals: Mapping[str, Any]) -> float:
    """Return λ ≥ 0 from −λ, the change of the optimum as the threshold is lowered; 0 if it is of no use."""
    given = real_array(duals.get("satisfaction", 0.0), "the multiplier of 'satisfaction'", "duals").ravel()
    if len(given) != 1:
        raise InvalidInput(f"the constraint 'satisfaction' has one multiplier, but {len(given)} were given", "duals")
    return max(0.0, -float(given[0])) if np.isfinite(given[0]) else 0.0
