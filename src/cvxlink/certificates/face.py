"""The program on which proofs for linear semidefinite programs are done, and the two bounds themselves.

They are derived in :mod:`cvxlink.certificates.linear_sdp`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import InfeasibleProblem, ReductionRefused
from ..numerics.harmonic import HarmonicExtension
from ..numerics.least_eigenvalue import DENSE_EIGENVALUES, Least, least_eigenvalue
from ..numerics.matrices import Congruence, Matrix, congruent, diagonal, entries
from ..numerics.rounding import (
    UNIT,
    Ball,
    dot,
    gamma,
    inner_product,
    norm_above,
    row_sums_above,
    terms_per_row,
    total,
)
from ..programs.linear_sdp import LinearSDP
from ..reductions import Contraction, Elimination
from ..reductions.contraction import CANCELLED, ContractionLift
from ..reductions.elimination import on_points
from .dual_interior import strictly_dual_feasible


class Bound(NamedTuple):
    """A bound on the optimum or None, its basis, how much of it is due to rounding, and whether that is proven."""

    value: float | None
    basis: str = ""
    rounding: float = 0.0
    is_proven: bool = True


@dataclass(frozen=True, eq=False)
class FeasiblePoint:
    """A matrix, as a sum of multiples of others, within ``off`` of one that satisfies all constraints exactly.

    The distance is in the Frobenius norm; ``is_proven`` says whether rounding is fully accounted for in it.
    """

    parts: tuple[tuple[Ball, Any], ...]
    off: float
    is_proven: bool

    @property
    def trace(self) -> Ball:
        """The trace of the feasible matrix."""
        n = self.parts[0][1].shape[0]
        found = sum((share * total(_diagonal(part)) for share, part in self.parts), Ball(0.0))
        return found + Ball(0.0, gamma(4 * n + 8) * abs(found.middle) + np.sqrt(n) * self.off)

    @property
    def largest(self) -> float:
        """A number that no entry of the feasible matrix exceeds in size: the largest is on the diagonal."""
        sizes = sum(share.magnitude * float(abs(_diagonal(part)).max()) for share, part in self.parts)
        return (sizes + self.off) * (1 + gamma(self.parts[0][1].shape[0] + 8))

    def product(self, C: Any) -> Ball:
        """The inner product of the sum with a matrix."""
        return sum((share * inner_product(C, part) for share, part in self.parts), Ball(0.0))

    def rows(self, sdp: LinearSDP) -> tuple[np.ndarray, np.ndarray]:
        """Return ⟨A_r, ·⟩ of the feasible matrix for the rows of a program, and how far off they can be."""
        at, rounding = np.zeros(len(sdp.b)), self.off * sizes_of_rows(sdp)
        for share, part in self.parts:
            found = sdp.rows_of(part)
            at = at + share.middle * found
            rounding = (
                rounding + share.magnitude * _rounding_of_rows(sdp, part) + (share.radius + gamma(8)) * abs(found)
            )
        return at, rounding * (1 + gamma(16))


@dataclass(frozen=True, eq=False)
class Face:
    """The program on which proofs are done: without the points that no constraint mentions, and on blocks.

    ``original`` becomes ``seed`` by elimination and ``sdp`` by contraction; a reduction that does not apply changes
    nothing.
    """

    original: LinearSDP
    seed: LinearSDP
    sdp: LinearSDP
    lift: ContractionLift | None

    @classmethod
    def of(cls, sdp: LinearSDP) -> Face:
        """Eliminate, then contract."""
        seed = sdp
        with suppress(ReductionRefused):
            seed = Elimination().reduce(sdp).program.linear_sdp()
        try:
            lift = Contraction().reduce(seed).lift
        except (ReductionRefused, InfeasibleProblem):
            return cls(sdp, seed, seed, None)
        assert isinstance(lift, ContractionLift)
        return cls(sdp, seed, lift.contracted, lift)

    def lower_bound(self, y: np.ndarray, least: Least) -> Bound:
        """Return a lower bound on the optimum, from any multipliers y.

        ``least`` is the least eigenvalue of the slack on blocks.
        """
        sdp, y = self.sdp, self.multipliers(y)
        where = "" if self.lift is None else f" on {sdp.n} blocks"
        if self.seed is not self.original:
            where += f" of the {self.seed.n} constrained points"
        value = dot(sdp.b, y) + Ball(0.0, self._rounding_of_sides(y)) + sdp.offset
        margin = Ball(least.margin) + self._rounding_of_slack(y)
        lowest = (Ball(least.value) - margin).lower
        is_exact = self.lift is None or self.lift.face.is_exact  # a rounded P is not that of the feasible matrices
        deficit, is_proven = min(0.0, lowest), not least.basis and is_exact
        if not np.isfinite(value.lower):
            return Bound(None, f"the multipliers are too large{where}")
        if deficit == 0:
            basis = f"dual value{where}, slack positive definite{least.basis}"
            return Bound(value.lower, basis, value.radius, is_proven)
        trace = self._trace
        if not np.isfinite(deficit):
            return Bound(None, f"the slack has the eigenvalue {least.value:.1e}{where}, and rounding leaves no bound")
        if trace is None:
            return self._bound_without_trace(y, deficit, where, is_proven)
        lowered = Ball(max(trace, 0.0)) * deficit
        bound = value + lowered
        basis = f"dual value {value.middle:.10g}{where}, trace {trace:g}, λmin of the slack {deficit:.1e}{least.basis}"
        return Bound(bound.lower, basis, bound.radius + max(trace, 0.0) * margin.upper, is_proven)

    def _bound_without_trace(self, y: np.ndarray, deficit: float, where: str, is_proven: bool) -> Bound:
        """Return the bound at a mixture with multipliers whose slack is positive definite."""
        if self.dual_interior is None:
            return Bound(
                None,
                f"the slack has an eigenvalue of {deficit:.1e}{where}, no constraint bounds the trace of "
                f"{self.sdp.variable}, and no positive definite slack was found",
            )
        inside, room = self.dual_interior
        # A little more than needed, so that rounding in the share and in the mixture does not matter.
        share = min(1.0, (1 + 1e-9) * -deficit / (room - deficit))
        mixed = (1 - share) * y + share * inside
        rounding = self._rounding_of_sides(mixed) + gamma(4) * dot(abs(self.sdp.b), abs(y) + abs(inside)).upper
        value = dot(self.sdp.b, mixed) + Ball(0.0, rounding) + self.sdp.offset
        basis = f"dual value{where}, mixed with {share:.1e} of a point whose slack is positive definite"
        return Bound(value.lower, basis, value.radius, is_proven)

    @cached_property
    def _trace(self) -> float | None:
        """A bound on the trace over the points that costs or rows mention; elsewhere the slack is exactly zero."""
        sdp = self.sdp
        costs = np.unique(np.concatenate(sdp.C.nonzero()))
        used = np.union1d(costs, sdp.constrained_points)
        if len(used) == sdp.n or not len(used):
            return sdp.trace_bound()
        rows = tuple(on_points(g, sdp.n, used) for g in sdp.rows)
        return replace(sdp, C=sp.csr_array((len(used), len(used))), rows=rows).trace_bound()

    @cached_property
    def dual_interior(self) -> tuple[np.ndarray, float] | None:
        """Multipliers whose slack on blocks is positive definite, and a lower bound on its eigenvalues."""
        y = strictly_dual_feasible(self.sdp)
        if y is None:
            return None
        room = (Ball(least_eigenvalue(self.sdp.slack(y)).lower) - self._rounding_of_slack(y)).lower
        return (y, room) if room > 0 else None

    def _rounding_of_sides(self, y: np.ndarray) -> float:
        """Return how much rounding can change bᵀy on blocks: right-hand sides were divided there."""
        if self.lift is None:
            return 0.0
        merging = self.lift.face.merging
        factors = merging.factors[merging.first]
        divided = abs(np.frexp(factors)[0]) != 0.5  # powers of two divide exactly
        return gamma(2) * dot(abs(self.sdp.b[divided]), abs(y[divided])).upper

    def _rounding_of_slack(self, y: np.ndarray) -> float:
        """Return how much rounding can change S(y) on blocks, in the spectral norm.

        An entry is a sum of a cost and of multiples of coefficients; on blocks these are sums themselves.
        """
        given = self.seed if self.lift is None else self.lift.original
        of_given = abs(y if self.lift is None else self.lift.spread(y))
        sizes = _absolute(given).adjoint(of_given)
        summed = np.asarray(sizes.sum(axis=1)).ravel()
        if self.lift is not None:  # the rows of |P|ᵀ(…)|P|, which are sums over all points that a block stands for
            P = abs(self.lift.P)
            summed = P.T @ np.asarray(sizes @ (P @ np.ones(self.sdp.n))).ravel()
        summed = summed + np.asarray(abs(self.sdp.C).sum(axis=1)).ravel()
        terms = np.unique(self.sdp.A.indices, return_counts=True)[1].max(initial=0) + terms_per_row(given.A) + 8
        share = gamma(2 * terms + 2 * self.seed.n) if self.lift is not None else gamma(2 * terms)
        # What cancelled up to rounding was dropped on blocks.
        share += CANCELLED if self.lift is not None else 0.0
        return self.cost_rounding + self.elimination_rest + share * float(summed.max(initial=0.0))

    def upper_bound(self, K: Matrix) -> Bound:
        """Return the value of an exactly feasible point near K, rounded up; None if this construction fails."""
        found = self.feasible_point(K)
        if found is None:
            return Bound(None)
        added = Ball(self.cost_rounding) * max(0.0, found.trace.upper) + Ball(norm_above(self.sdp.C)) * found.off
        moved = found.product(self.sdp.C) + self.sdp.offset
        return Bound((moved + added).upper, "", (added + moved.radius).upper, found.is_proven)

    def feasible_point(self, K: Matrix) -> FeasiblePoint | None:
        """Return an exactly feasible point near K, on blocks; None if this construction fails."""
        sdp = self.sdp
        if not len(sdp.b):
            return None
        near = self.point(K)
        at = sdp.rows_of(near)
        interior, v = sdp.interior_point, sdp.onto_equations(at - sdp.b)
        if interior is None or v is None:
            return None
        correction = sdp.adjoint(-v)
        at, inside = at + sdp.rows_of(correction), sdp.rows_of(interior)
        rounding = sum(_rounding_of_rows(sdp, matrix) for matrix in (near, correction, interior))
        rounding = rounding + gamma(4) * (abs(at) + abs(inside) + abs(sdp.b))
        # The mixture below is within this distance of a matrix that satisfies the equations exactly.
        off, is_proven = self._distance_to_equations(abs(at - sdp.b) + abs(inside - sdp.b) + rounding)
        lack = self._lack_of_definiteness(near, correction) + 2 * off
        slack = rounding + off * self._sizes_of_rows
        # A little more than needed, so that the inequalities hold after rounding, too.
        share = max(lack / (lack + sdp.room), (1 + 1e-6) * sdp.share_for_inequalities(at + slack, inside + slack))
        if not share <= 0.5 or not lack < np.inf:  # an inequality that the interior point only touches, or a bad answer
            holds = share <= 1 and (inside + slack <= sdp.b)[sdp.is_inequality].all() and off <= sdp.room
            return FeasiblePoint(((Ball(1.0), interior),), off, is_proven) if holds else None
        mixed = (1 - share) * at + share * inside + slack
        if not (mixed <= sdp.b)[sdp.is_inequality].all():
            return None
        rest = 1 - Ball(share)
        return FeasiblePoint(((rest, near), (rest, correction), (Ball(share), interior)), off, is_proven)

    def _lack_of_definiteness(self, near: Matrix, correction: sp.csr_array) -> float:
        """Return how far below zero the eigenvalues of the corrected point can be."""
        if isinstance(near, Congruence):
            # The correction, which is sparse, lowers no eigenvalue by more than its norm.
            return max(0.0, -least_eigenvalue(near).lower) + row_sums_above(correction)
        corrected = near + correction.toarray()
        return max(0.0, -least_eigenvalue(corrected).lower) + UNIT * row_sums_above(corrected)

    def _distance_to_equations(self, residual: np.ndarray) -> tuple[float, bool]:
        """Return how far a matrix with this residual is from satisfying the equations, and whether that is proven."""
        equations = ~self.sdp.is_inequality
        norm = norm_above(residual[equations])
        if self._least_of_gram > 0:
            return (Ball(norm) / np.sqrt(self._least_of_gram)).upper * (1 + 4 * UNIT), self._same_rows
        return norm, False

    @cached_property
    def _least_of_gram(self) -> float:
        """A lower bound on the least eigenvalue of 𝒜𝒜ᵀ for the equations; not positive where they depend."""
        rows = np.flatnonzero(~self.sdp.is_inequality)
        if not len(rows):
            return 1.0
        gram = sp.csr_array(self.sdp.gram[rows][:, rows])
        rounding = gamma(terms_per_row(self.sdp.A) + 4) * row_sums_above(gram)
        apart = gram.diagonal() * 2 - np.asarray(abs(gram).sum(axis=1)).ravel()
        discs = float(apart.min()) - gamma(2 * terms_per_row(gram) + 4) * row_sums_above(gram)
        return (discs if discs > 0 else least_eigenvalue(gram).lower) - rounding

    @cached_property
    def _same_rows(self) -> bool:
        """Whether equations that were dropped on blocks as repeated ones are exactly that, not only up to rounding."""
        if self.lift is None:
            return True
        seed, merging = self.lift.original, self.lift.face.merging
        kept, sides = merging.row_map >= 0, np.zeros(len(seed.b))
        sides[kept] = merging.factors[kept] * self.lift.contracted.b[merging.row_map[kept]]
        implied = seed.is_inequality & ~merging.kept
        same = np.where(implied, sides <= seed.b, (sides == seed.b) | seed.is_inequality)
        return bool(same.all()) and self.lift.face.is_exact

    @cached_property
    def _sizes_of_rows(self) -> np.ndarray:
        return sizes_of_rows(self.sdp)

    @cached_property
    def cost_rounding(self) -> float:
        """How much rounding can change the costs on blocks, in the spectral norm.

        These costs are sums over blocks and eliminated points, in which large terms cancel where points are tightly
        joined.
        """
        if self.sdp is self.original:
            return 0.0
        ones = np.ones(self.sdp.n)
        spread = ones if self.lift is None else abs(self.lift.P) @ ones
        terms = terms_per_row(self.original.C) + self.original.n + 8
        if self.seed is not self.original:
            summed = _sizes_of_terms(self.original.extension, spread)
        else:
            summed = abs(self.original.C) @ spread
        share = gamma(3 * terms)
        if self.lift is not None:
            summed = abs(self.lift.P).T @ summed
            share += CANCELLED * float(np.sqrt(self.seed.n))
        return share * float(summed.max())

    @cached_property
    def elimination_rest(self) -> float:
        r"""How much lower than QᵀCQ the exact Schur complement can be on blocks, in the spectral norm.

        For any Q that is the identity on the kept points, it is lower by :math:`R^\top C_{uu}^{-1} R`, where R has the
        rows of :math:`CQ` at the other points: zero, if Q were exact.
        """
        if self.seed is self.original or self.original.extension.mesh is not None:
            return 0.0
        extension, C = self.original.extension, abs(self.original.C)
        Q, unknown = extension.matrix, extension.unknown
        rounding = gamma(2 * terms_per_row(C) + 4) * row_sums_above(C) * norm_above(Q)
        norm = Ball(norm_above(self.original.C[unknown] @ Q)) + rounding
        rest = norm * norm * extension.inverse_norm() * self._stretch
        return rest.upper

    @property
    def _stretch(self) -> float:
        """A bound on the square of the spectral norm of P."""
        if self.lift is None:
            return 1.0
        P = abs(self.lift.P)
        return float(P.sum(axis=0).max(initial=1.0) * P.sum(axis=1).max(initial=1.0)) * (1 + gamma(2 * self.seed.n))

    def sensitivity(self, K: Matrix, y: np.ndarray, value: float) -> float:
        """Return what the violations of K are worth according to the multipliers."""
        near, y = self.point(K), self.multipliers(y)
        averaging, trace = abs(self.sdp.value(near) - value), max(0.0, float(self.sdp.slack(y).trace()))
        return averaging + float(abs(y) @ abs(self.sdp.residual(near))) - min(0.0, least_eigenvalue(near)[0]) * trace

    def slack_deficit(self, y: np.ndarray, least: Least) -> float:
        """Return how far below zero the eigenvalues of S(y) go, or an upper bound on it after elimination.

        By the Schur complement xᵀSx ≥ x_lᵀ S_l x_l, with S_l the slack on the constrained points. If S_l is large, the
        slack on blocks is used instead, to which it tends as the forced pairs are stiffened.
        """
        if self.seed.n > DENSE_EIGENVALUES:
            return max(0.0, -least.value)
        return max(0.0, -least_eigenvalue(self.seed.slack(y))[0])

    def least_of_slack(self, y: np.ndarray, K: Matrix) -> Least:
        """Return the least eigenvalue of the slack on blocks; for a solution K, the range of K is its eigenspace."""
        columns = None
        if isinstance(K, Congruence) and isinstance(near := self.point(K), Congruence):
            columns = near.factor()
        return least_eigenvalue(self.sdp.slack(self.multipliers(y)), columns)

    def point(self, K: Matrix) -> Matrix:
        """Return a matrix on the constrained points, averaged over blocks; a matrix of low rank stays a product."""
        kept = np.arange(K.shape[0]) if self.seed is self.original else self.original.constrained_points
        if len(kept) == K.shape[0] == self.sdp.n and isinstance(K, np.ndarray):
            return K
        select = sp.csr_array((np.ones(len(kept)), (np.arange(len(kept)), kept)), shape=(len(kept), K.shape[0]))
        averaged = congruent(select if self.lift is None else sp.csr_array(self.lift.face.inverse @ select), K)
        return averaged if averaged.is_thin else averaged.toarray()

    def multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers of the rows on blocks."""
        return y if self.lift is None else self.lift.restrict(y)


def _absolute(sdp: LinearSDP) -> LinearSDP:
    return replace(sdp, rows=tuple(replace(g, A=abs(g.A)) for g in sdp.rows))


def sizes_of_rows(sdp: LinearSDP) -> np.ndarray:
    """Return the Frobenius norms of the rows, rounded up."""
    squares = np.bincount(sdp.A.tocoo().row, sdp.A.data**2, len(sdp.b))
    return np.sqrt(squares) * (1 + gamma(2 * terms_per_row(sdp.A) + 8)) + 1e-160


def _diagonal(matrix: Any) -> np.ndarray:
    return matrix.diagonal() if sp.issparse(matrix) else diagonal(matrix)


def _rounding_of_rows(sdp: LinearSDP, K: Matrix | sp.csr_array) -> np.ndarray:
    """Return bounds on the rounding errors of ``sdp.rows_of(K)``."""
    part, width = sdp.A.tocoo(), 0
    if isinstance(K, Congruence):
        K, width = Congruence(abs(K.T), abs(K.M)), K.M.shape[0]
    sizes = abs(part.data) * abs(entries(K, part.col // sdp.n, part.col % sdp.n))
    share = gamma(2 * (int(sdp.additions.max(initial=0)) + 2 * width) + 8)
    return share * np.bincount(part.row, sizes, len(sdp.b)) * (1 + gamma(2 * terms_per_row(sdp.A)))


def _sizes_of_terms(extension: HarmonicExtension, spread: np.ndarray) -> np.ndarray:
    """Return sums of the absolute terms whose rounding errors are in the Schur complement, times a vector."""
    if extension.mesh is not None:  # relative errors in each elimination, and no cancellation
        return np.asarray(2 * (abs(extension.mesh.cost) @ spread))
    Q = abs(extension.matrix)
    return np.asarray(Q.T @ (abs(extension.L) @ (Q @ spread)))
