r"""Alternating directions for relaxations of partitions.

On blocks, with the unit vector w along the root weights, the program is

.. math:: \min \langle C, Y\rangle \quad\text{over}\quad Y \in \mathcal{F} \cap \mathcal{P},\qquad
    \mathcal{F} = \{ww^\top + UMU^\top : 0 \preceq M \preceq I,\ \operatorname{tr} M = k - 1\},

with U an orthonormal basis of the complement of w, and 𝓟 the matrices with non-negative entries, zeros at
cannot-links, bounds on the diagonal, and cuts :math:`A(Y) \le b`; other conditions on single entries are in
:mod:`cvxlink.methods.partitions.linked_splitting`. Each step projects on 𝓟 and on 𝓕, and Anderson's
method shortens the way. The projection on 𝓟 has multipliers :math:`\nu \ge 0` for the cuts, which a few steps of an
accelerated gradient method improve from where they were; it need not be exact, because any multipliers give a rigorous
bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...numerics.acceleration import Anderson
from ...numerics.matrices import as_dense
from .cuts import Cuts, rows_of
from .fantope_projection import FantopeProjection
from .partition import Partition

OVER_RELAXATION = 1.6
# Steps on the multipliers of cuts within each step.
INNER_STEPS = 5
# The penalty follows the residuals: every so many steps it changes by this factor if they differ by more than three.
ADAPTED_EVERY = 20
FACTOR = 1.3
IMBALANCE = 3.0
# It stays within this factor of the first one: a residual that is zero must not drive it beyond what numbers can hold.
FURTHEST = 1e6
# How often the bound is computed.
CHECKED_EVERY = 25


class Multipliers(NamedTuple):
    r"""Multipliers of a program on blocks: free at cannot-links, of the right sign elsewhere.

    Attributes
    ----------
    entries : array, c × c
        Λ: non-negative off the diagonal except at cannot-links; on the diagonal of either sign, for its two bounds.
    cuts : array
        μ ≥ 0, one for each cut.
    """

    entries: np.ndarray
    cuts: np.ndarray

    def divided_by(self, size: float) -> Multipliers:
        """Return them for a cost that is divided by this number."""
        return Multipliers(self.entries / size, self.cuts / size)

    def times(self, size: float) -> Multipliers:
        """Return them for a cost that is multiplied by this number."""
        return Multipliers(self.entries * size, self.cuts * size)


@dataclass(frozen=True, eq=False)
class Blocks:
    """A program on blocks, ready to be solved; ``scale`` makes each row of A as long as one."""

    partition: Partition
    cuts: Cuts = field(default_factory=Cuts)

    def __post_init__(self) -> None:
        partition = self.partition
        set_ = object.__setattr__
        set_(self, "C", as_dense(partition.block_C))
        set_(self, "w", partition.block_d / np.linalg.norm(partition.block_d))
        set_(self, "apart", partition.are_apart)
        A, b = rows_of(self.cuts, partition.block_d, partition.links.blocks, partition.largest_weight)
        lengths = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        set_(self, "scale", scale)
        set_(self, "A", sp.csr_array(sp.diags_array(scale) @ A))
        set_(self, "b", b * scale)

    C: np.ndarray = field(init=False, repr=False)
    w: np.ndarray = field(init=False, repr=False)
    apart: np.ndarray = field(init=False, repr=False)
    A: sp.csr_array = field(init=False, repr=False)
    b: np.ndarray = field(init=False, repr=False)
    scale: np.ndarray = field(init=False, repr=False)

    @property
    def k(self) -> int:
        """The number of clusters."""
        return self.partition.n_clusters

    def bound(self, entries: np.ndarray, nu: np.ndarray) -> float:
        """Return the lower bound that multipliers Λ of entries and ν of scaled cuts give, up to rounding."""
        low, high = self.partition.diagonal_bounds
        diagonal = np.diag(entries)
        return self._least(entries, nu) + float(np.minimum(diagonal * low, diagonal * high).sum())

    def value(self, Y: np.ndarray) -> float:
        """Return the objective."""
        return self.partition.offset + float(np.vdot(self.C, Y))

    def projection(self) -> Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]:
        """Return the projection on 𝓟, from a matrix, multipliers of cuts and the penalty, with better multipliers."""
        return _Polyhedron(self)

    def _least(self, entries: np.ndarray, nu: np.ndarray) -> float:
        """Return the least of ⟨S, Y⟩ over 𝓕, less what cuts allow."""
        w, S = self.w, self.C - entries
        if len(nu):
            S = S + (self.A.T @ nu).reshape(S.shape)
        g = S @ w
        a = float(w @ g)
        # On the complement of w: its own eigenvalue is moved beyond all others, in proportion to them, as a fixed step
        # would drown tiny costs.
        beyond = 2 * abs(S).sum(axis=1).max()
        inside = S - np.outer(w, g) - np.outer(g, w) + (a + beyond) * np.outer(w, w)
        smallest = 0.0
        if self.k > 1:
            smallest = scipy.linalg.eigh(inside, eigvals_only=True, subset_by_index=[0, self.k - 2]).sum()
        return self.partition.offset + a + float(smallest) - float(self.b @ nu)


@dataclass(frozen=True, eq=False)
class State:
    """Where the iteration is: the matrix in 𝓟, the scaled multiplier, those of cuts, and the penalty."""

    X: np.ndarray
    U: np.ndarray
    nu: np.ndarray
    rho: float

    @classmethod
    def first(cls, blocks: Blocks) -> State:
        """Return the state to start from: the centre of 𝓕, with a penalty from the size of the cost."""
        c, w = len(blocks.w), blocks.w
        middle = np.outer(w, w)
        if c > 1:
            middle = middle + (blocks.k - 1) / (c - 1) * (np.eye(c) - middle)
        rho = 200 * float(np.linalg.norm(blocks.C)) / c
        return cls(middle, np.zeros((c, c)), np.zeros(len(blocks.b)), rho or 1.0)

    def on(self, R: sp.csr_array) -> State:
        """Return the state on coarser blocks; R leads from these to the finer ones."""
        return replace(self, X=as_dense(R.T @ self.X @ R), U=as_dense(R.T @ self.U @ R))

    def multipliers(self, blocks: Blocks) -> Multipliers:
        """Return the multipliers of the program; their signs are right by construction."""
        return Multipliers(self.entries(blocks), self.rho * self.nu * blocks.scale)

    def entries(self, blocks: Blocks) -> np.ndarray:
        """Return Λ."""
        by_cuts = (blocks.A.T @ self.nu).reshape(self.U.shape) if len(self.nu) else 0.0
        return self.rho * (by_cuts - self.U)


class Found(NamedTuple):
    """What the iteration ended with."""

    state: State
    Y: np.ndarray  # in 𝓕
    bound: float
    multipliers: Multipliers
    value: float
    residual: float
    steps: int


def solved(
    blocks: Blocks,
    state: State | None = None,
    most: int = 1000,
    enough: Callable[[float, float, float], bool] = lambda bound, value, residual: False,
) -> Found:
    """Run the iteration; ``enough(bound, value, residual)`` is asked every 25 steps whether to stop.

    The value is that of a matrix in 𝓕, which lacks the other conditions by the residual, ‖Y − X‖.
    """
    state = State.first(blocks) if state is None else state
    C, rho, nu = blocks.C, state.rho, state.nu
    rho_first = State.first(blocks).rho
    in_fantope, in_polyhedron, accelerated = FantopeProjection(blocks.w, blocks.k), blocks.projection(), Anderson()
    sizes = max(float(np.linalg.norm(C)), 1e-300)
    best = Found(state, state.X, -np.inf, state.multipliers(blocks), np.inf, np.inf, 0)
    before, V = state.X, state.X + state.U
    for step in range(1, most + 1):
        X, nu = in_polyhedron(V, nu, rho)
        U = V - X
        Y = in_fantope(X - U - C / rho)
        if step % ADAPTED_EVERY == 0 or step % CHECKED_EVERY == 0 or step == most:
            primal, dual = float(np.linalg.norm(Y - X)), rho * float(np.linalg.norm(X - before))
        before = X
        if step % CHECKED_EVERY == 0 or step == most:
            now = State(X, U, nu, rho)
            bound = blocks.bound(now.entries(blocks), rho * nu)
            value = blocks.value(Y)
            if bound > best.bound:
                best = best._replace(bound=bound, multipliers=now.multipliers(blocks))
            best = best._replace(state=now, Y=Y, value=value, residual=primal, steps=step)
            if enough(best.bound, value, primal):
                break
        move = OVER_RELAXATION * (Y - X)
        # With cuts a move depends on their multipliers too, which change on their own: combining moves leads astray.
        V = V + move if len(nu) else accelerated.after(V, move)
        if step % ADAPTED_EVERY == 0:
            ratio = (primal / np.linalg.norm(X)) / max(dual / sizes, 1e-300)
            factor = FACTOR if ratio > IMBALANCE else 1 / FACTOR if ratio < 1 / IMBALANCE else 1.0
            if factor != 1.0 and 1 / FURTHEST <= rho * factor / rho_first <= FURTHEST:
                rho, V, nu = rho * factor, X + U / factor, nu / factor
                in_fantope.forget()
                accelerated.forget()
    return best


class _Polyhedron:
    """The projection on 𝓟; with cuts, nearly so."""

    def __init__(self, blocks: Blocks) -> None:
        self.apart, self.b = blocks.apart, blocks.b
        self.low, self.high = blocks.partition.diagonal_bounds
        self.bounded = bool(self.low.any() or (self.high < 1).any())
        if len(self.b):
            c = len(self.low)
            touched = np.unique(blocks.A.indices)
            row, column = np.divmod(touched, c)
            # Entries above the diagonal stand for those below as well.
            upper = row <= column
            touched, row, column = touched[upper], row[upper], column[upper]
            self.upper, self.lower = touched, column * c + row
            half = sp.csr_array(blocks.A[:, touched])
            self.A = sp.csr_array(half * np.where(row == column, 1.0, 2.0))
            self.AT = sp.csr_array(half.T)
            # Steps of this length in each multiplier cannot overshoot.
            self.steps = np.maximum(np.asarray(abs(self.A @ self.AT).sum(axis=1)).ravel(), 1e-12)
            self.least = np.where(row == column, self.low[row], 0.0)
            self.largest = np.where(row == column, self.high[row], np.inf) if self.bounded else np.inf
            self.largest = np.where(self.apart.ravel()[touched], 0.0, self.largest)

    def __call__(self, V: np.ndarray, nu: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
        if len(self.b):
            flat = V.ravel()[self.upper]
            nu = self._improved(flat, nu)
            V = V.copy()
            V.ravel()[self.upper] = V.ravel()[self.lower] = flat - self.AT @ nu
        X = np.maximum(V, 0)
        X[self.apart] = 0
        if self.bounded:
            np.fill_diagonal(X, np.clip(np.diag(V), self.low, self.high))
        return X, nu

    def _improved(self, flat: np.ndarray, nu: np.ndarray) -> np.ndarray:
        """Maximise over the multipliers of cuts by some accelerated gradient steps."""
        point, before, t = nu, nu, 1.0
        for _ in range(INNER_STEPS):
            X = np.clip(flat - self.AT @ point, self.least, self.largest)
            after = np.maximum(point + (self.A @ X - self.b) / self.steps, 0)
            larger = (1 + np.sqrt(1 + 4 * t * t)) / 2
            point, before, t = after + (t - 1) / larger * (after - before), after, larger
        return before


def merged(partition: Partition, before: Partition) -> Any:
    """Return the matrix that leads from the blocks of a partition to the finer ones of another."""
    return sp.csr_array(before.T.T @ partition.T)
