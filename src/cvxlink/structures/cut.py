r"""Cuts that must satisfy constraints, and cuts that stand still under propagation.

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

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..errors import CvxlinkError
from ..matrices import as_dense

# Up to this order LAPACK is as fast as Lanczos's method, and cannot miss an eigenvalue; beyond the other it is no
# resort where Lanczos's method does not converge.
DENSE = 1500
LARGEST_DENSE = 8000
EPSILON = float(np.finfo(float).eps)
# Beyond, in units of cost a satisfaction, the threshold is as good as the largest there is, and rounding in λQ grows.
LARGEST_MULTIPLIER = 1e7


@dataclass(frozen=True, eq=False)
class Subspace:
    """The complement of a unit vector v, or the whole space where there is none."""

    n: int
    v: np.ndarray | None = None

    @property
    def dimension(self) -> int:
        """Its dimension."""
        return self.n if self.v is None else self.n - 1

    def project(self, x: np.ndarray) -> np.ndarray:
        """Return columns without their parts along v."""
        return x if self.v is None else x - self.v[:, None] * (self.v @ x.reshape(self.n, -1)).reshape(1, -1)

    @cached_property
    def _reflection(self) -> np.ndarray | None:
        """The vector u for which I − 2uuᵀ takes v to the first coordinate."""
        if self.v is None:
            return None
        u = self.v.copy()
        u[0] += np.copysign(1.0, u[0])
        return u / np.linalg.norm(u)

    def lift(self, y: np.ndarray) -> np.ndarray:
        """Return columns in the subspace from their coordinates in an orthonormal basis of it."""
        if self._reflection is None:
            return y
        full = np.vstack([np.zeros((1, y.shape[1])), y])
        return full - 2 * self._reflection[:, None] * (self._reflection @ full)

    def restrict(self, matrix: Any) -> np.ndarray:
        """Return a symmetric matrix in that basis."""
        A = as_dense(matrix).astype(float)
        u = self._reflection
        if u is not None:
            w = 2 * (A @ u)
            A = (A - np.outer(u, w) - np.outer(w, u) + 2 * (u @ w) * np.outer(u, u))[1:, 1:]
        return (A + A.T) / 2


@dataclass(frozen=True, eq=False)
class ConstrainedCut:
    """The program as data: Laplacian, constraint matrix, threshold, the vector to be orthogonal to, and k."""

    L: sp.csr_array
    Q: Any
    beta: float
    trivial: np.ndarray | None
    count: int

    described = "a constrained cut"
    not_linear = "it is not convex; its relaxation is the form 'sdp'"
    suits_solvers = False

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.L.shape[0])

    @cached_property
    def space(self) -> Subspace:
        """Where f lives."""
        return Subspace(self.n, self.trivial)

    def cost(self, f: np.ndarray) -> float:
        """Return tr fᵀLf."""
        return float(np.vdot(f, self.L @ f))

    def satisfaction(self, f: np.ndarray) -> float:
        """Return tr fᵀQf / k, to be compared with β."""
        return float(np.vdot(f, self.Q @ f)) / self.count

    def restricted(self, multiplier: float) -> np.ndarray:
        """Return L − λ(Q − βI) in a basis of the subspace."""
        Q = self.space.restrict(self.Q)
        return self.space.restrict(self.L) - multiplier * (Q - self.beta * np.eye(len(Q)))

    def smallest(self, multiplier: float, count: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest eigenvalues of L − λ(Q − βI) on the subspace, and their eigenvectors as columns."""
        return _extreme(
            self.space,
            lambda x: self.L @ x - multiplier * (self.Q @ x - self.beta * x),
            lambda: self.restricted(multiplier),
            count,
            start,
        )

    def within(self, V: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the best f with columns in the span of V, orthonormal and in the subspace, and its multiplier λ."""
        A, B = V.T @ (self.L @ V), V.T @ (self.Q @ V)
        rounding = 10 * EPSILON * self.count * (float(abs(B).sum(axis=1).max()) + abs(self.beta))
        B = (B + B.T) / 2 - self.beta * np.eye(len(B))
        y, multiplier = small_cut((A + A.T) / 2, B, self.count, rounding)
        return V @ y, multiplier


def largest_satisfaction(Q: Any, space: Subspace, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of Q on a subspace, in decreasing order, and their eigenvectors as columns."""
    start = np.random.default_rng(0).standard_normal(space.n)
    eigenvalues, vectors = _extreme(space, lambda x: -(Q @ x), lambda: -space.restrict(Q), count, start)
    return -eigenvalues, vectors


def _extreme(
    space: Subspace, product: Any, restricted: Any, count: int, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenvalues on a subspace, by LAPACK or by Lanczos's method."""
    count = min(count, space.dimension)
    if space.n > DENSE and 4 * count <= space.n:
        bound = _norm_bound(space, product)

        def flipped(x: np.ndarray) -> np.ndarray:  # what is projected away stays at zero, the least of all
            inside = space.project(x.reshape(space.n, -1))
            return (bound * inside - space.project(product(inside))).reshape(x.shape)

        try:
            eigenvalues, vectors = sp.linalg.eigsh(
                sp.linalg.LinearOperator((space.n, space.n), matvec=flipped, matmat=flipped, dtype=float),
                count,
                which="LA",
                v0=space.project(start.reshape(space.n, -1)).sum(axis=1),
                ncv=min(space.n, max(2 * count + 1, 40)),
                tol=1e-13,
                maxiter=60 if space.n <= LARGEST_DENSE else 2000,
            )
            return bound - eigenvalues[::-1], space.project(vectors[:, ::-1])
        except sp.linalg.ArpackError as error:  # too close together for it
            if space.n > LARGEST_DENSE:
                raise CvxlinkError(
                    f"Lanczos's method does not converge on these {space.n} points: the smallest eigenvalues are too "
                    f"close together; join the components of the graph, or take fewer points"
                ) from error
    matrix = restricted()
    eigenvalues, vectors = scipy.linalg.eigh(matrix, subset_by_index=[0, count - 1])
    return eigenvalues, space.lift(vectors)


def _norm_bound(space: Subspace, product: Any) -> float:
    """Return a number a little above the norm of a symmetric operator on the subspace: some steps of Lanczos's method.

    Ritz values fall short of the norm by little; half as much again is added.
    """
    x = space.project(np.random.default_rng(1).standard_normal((space.n, 1)))
    norm = 0.0
    for _ in range(20):
        x = x / max(float(np.linalg.norm(x)), 1e-300)
        x = space.project(product(x))
        norm = max(norm, float(np.linalg.norm(x)))
    return 1.5 * norm + 1e-300


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


@dataclass(frozen=True, eq=False)
class StationaryCuts:
    r"""Labelings that stand still, :math:`Lf = \lambda Qf` with λ ≠ 0, as the k that agree most with Q.

    ``trivial`` spans the null space of L, where λ = 0.
    """

    L: sp.csr_array
    Q: np.ndarray
    trivial: np.ndarray
    count: int

    described = "a choice among stationary labelings"
    not_linear = "it is not convex"
    suits_solvers = False

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.L.shape[0])


def generalised_eigenvectors(
    L: Any, B: Any, trivial: np.ndarray, orthogonal: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    r"""Return all finite λ ≠ 0 and unit f with Lf = λBf, as 1/λ and columns; None where L has further null vectors.

    With ``orthogonal`` the equation is that of the forms on the complement of the null vector of L. Without, f is a
    vector g of the complement plus a multiple of v; as :math:`v^\top L = 0`, also :math:`v^\top B f = 0`, which
    determines the multiple, and leaves a Schur complement of B for g.
    """
    space = Subspace(len(trivial), trivial)
    Bv = B @ trivial
    own = float(trivial @ Bv)
    form = space.restrict(B)
    if not orthogonal:
        if abs(own) <= 1e-14 * max(float(abs(form).max()), abs(own)):
            return None
        c = space.lift(np.eye(space.dimension)).T @ Bv
        form = form - np.outer(c, c) / own
    try:
        inverses, y = scipy.linalg.eigh(form, space.restrict(L))
    except np.linalg.LinAlgError:
        return None
    f = space.lift(y)
    if not orthogonal:
        f = f - np.outer(trivial, (Bv @ f) / own)
    finite = abs(inverses) > 1e-12 * abs(inverses).max(initial=0.0)
    f = f[:, finite]
    return inverses[finite], f / np.linalg.norm(f, axis=0)
