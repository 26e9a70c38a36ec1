r"""Contraction: points that the constraints force together are merged.

If :math:`K_{ii} = K_{jj} = K_{ij}` for every feasible :math:`K \succeq 0`, then
:math:`(e_i - e_j)^\top K (e_i - e_j) = 0`, so :math:`K(e_i - e_j) = 0`: rows i and j of K are equal. Every
feasible K is therefore singular, Slater's condition fails, and solvers stall. Let
:math:`P \in \{0,1\}^{n \times c}` map points to blocks of forced-together points. The feasible K are exactly
the :math:`P K' P^\top` with :math:`K' \succeq 0` that satisfy

.. math:: \langle P^\top A_r P, K' \rangle = b_r, \qquad
          \langle C, P K' P^\top\rangle = \langle P^\top C P, K' \rangle ,

a problem of order c without those singular directions (facial reduction). Repeated rows are dropped on the way, even
where no points are merged. Which points are forced together is read from the constraints themselves, so a formulation
with soft links is refused, not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..errors import InfeasibleProblem, ReductionRefused
from ..numerics.checks import finite_array
from ..numerics.matrices import Stiffened, congruent
from ..programs.base import Program
from ..programs.linear_sdp import FixedEntry, LinearSDP, Rows
from .base import Lift, Reduced, Reduction, Values, as_point, as_program

# Multipliers lifted to the original problem add STIFFNESS times the Laplacian of the forced pairs to the
# slack S. No finite multiple makes S exactly semidefinite there (the dual optimum is not attained without
# Slater's condition); this one leaves an error near the square root of machine precision.
STIFFNESS = 1e7
# Sums of coefficients count as zero below this share of their sizes.
CANCELLED = 4 * float(np.finfo(float).eps)


class Contraction(Reduction):
    """Merge points whose rows are equal in every feasible matrix, and drop repeated constraints."""

    name = "contraction"

    def reduce(self, program: Program) -> Reduced:
        """Return the program on blocks."""
        original: LinearSDP = as_program(program).linear_sdp()
        forced = [*_forced_by_entries(original), *_forced_by_distance(original)]
        n = original.n
        i, j = np.array([pair.points for pair in forced], dtype=int).reshape(-1, 2).T
        c, blocks = connected_components(sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
        contracted, row_map, factors = _on_blocks(original, blocks, c)
        if not forced and len(contracted.b) == len(original.b):
            raise ReductionRefused(
                "no two points are visibly forced together, which needs equations K_ii = K_jj = K_ij = a > 0 "
                "or K_ii + K_jj − 2 K_ij = 0".replace("K_", f"{original.variable}_")
            )
        stiffening = np.zeros(len(original.b))
        for pair in forced:
            np.add.at(stiffening, list(pair.rows), pair.weights)
        why = "points that the constraints force together are merged, repeated rows are dropped"
        return Reduced(contracted, ContractionLift(original, contracted, blocks, row_map, factors, stiffening), why)


@dataclass(frozen=True, eq=False)
class Blocks:
    """The points that linear constraints force together, as P with K = PK'Pᵀ, and which rows are not repeated."""

    P: sp.csr_array
    first: np.ndarray
    rows: LinearSDP  # the constraints on blocks, without costs


def blocks_of(rows: Sequence[Rows]) -> Blocks | None:
    """Return the points that linear constraints on a semidefinite matrix force together, or None if there are none."""
    if not rows:
        return None
    n = int(np.sqrt(rows[0].A.shape[1]))
    try:
        lift = Contraction().apply(LinearSDP(sp.csr_array((n, n)), tuple(rows))).lift
    except ReductionRefused:
        return None
    assert isinstance(lift, ContractionLift)
    first = np.zeros(len(lift.row_map), dtype=bool)
    kept, places = np.unique(lift.row_map, return_index=True)
    first[places[kept >= 0]] = True
    return Blocks(_membership(lift.blocks, lift.contracted.n), first, lift.contracted)


@dataclass(frozen=True, eq=False)
class ContractionLift(Lift):
    """K = P K' Pᵀ, and the multipliers of the rows that were merged."""

    original: LinearSDP
    contracted: LinearSDP
    blocks: np.ndarray
    row_map: np.ndarray  # original row → row after contraction, or −1 if it became 0 = 0
    factors: np.ndarray  # original row = factor × row after contraction
    stiffening: np.ndarray  # multipliers v with −A*(v) = Σ (e_i−e_j)(e_i−e_j)ᵀ over forced pairs and bᵀv = 0

    def start(self, factor: np.ndarray) -> np.ndarray:
        """Average over the points of each block."""
        factor = finite_array(factor, "factor", (len(self.blocks), None))
        P = _membership(self.blocks, self.contracted.n)
        return (P.T @ factor) / np.bincount(self.blocks)[:, None]

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Spread K' over the points of each block."""
        name = self.original.variable
        values, duals = as_point(values, duals, name, self.contracted.n)
        lifted = {name: congruent(_membership(self.blocks, self.contracted.n), values[name])}
        if not all(g.name in duals for g in self.contracted.rows):
            return lifted, {}
        base = self.original.split(self.spread(self.contracted.joined(duals)))
        stiffness = STIFFNESS * (abs(self.original.C).max() if self.original.C.nnz else 1.0)
        large = self.original.split(stiffness * self.stiffening)
        rows = {name: Stiffened(base[name], large[name]) for name in base}
        return lifted, {**rows, self.original.cone: self.original.slack(self.original.joined(rows))}

    def spread(self, reduced: np.ndarray) -> np.ndarray:
        r"""Return multipliers of all original rows: of rows that were merged, the first gets all.

        The slack is then semidefinite on blocks only. So :meth:`point` also stiffens it on the forced pairs by
        :math:`t \sum (e_i-e_j)(e_i-e_j)^\top`, which changes neither bᵀy nor PᵀSP.
        """
        y = np.zeros(len(self.row_map))
        kept, first = np.unique(self.row_map, return_index=True)
        first, kept = first[kept >= 0], kept[kept >= 0]
        y[first] = reduced[kept] / self.factors[first]
        return y

    def restrict(self, y: np.ndarray) -> np.ndarray:
        """Return multipliers of the contracted rows: the sums over the rows merged into each."""
        reduced = np.zeros(len(self.contracted.b))
        kept = self.row_map >= 0
        np.add.at(reduced, self.row_map[kept], (self.factors * y)[kept])
        return reduced


@dataclass(frozen=True)
class ForcedPair:
    """Two points forced together, and the multiples of rows that add up to −(K_ii + K_jj − 2 K_ij) = 0."""

    points: tuple[int, int]
    rows: tuple[int, ...]
    weights: tuple[float, ...]


def _forced_by_entries(sdp: LinearSDP) -> Iterator[ForcedPair]:
    """Yield the pairs for which K_ii, K_jj and K_ij are fixed at the same positive value."""
    fixed: dict[tuple[int, int], FixedEntry] = {}
    for entry in sdp.fixed_entries():
        known = fixed.setdefault(entry.place, entry).value
        if not _same(known, entry.value):
            raise InfeasibleProblem(f"entry {entry.place} is required to be both {known:g} and {entry.value:g}")
    for (i, j), entry in fixed.items():
        if i == j or (i, i) not in fixed or (j, j) not in fixed:
            continue
        ii, jj = fixed[i, i], fixed[j, j]
        # Exactly equal: 1 − 1e-13 would let the two vectors differ by 4e-7.
        is_exact = entry.is_exact and ii.is_exact and jj.is_exact
        if is_exact and entry.value > 0 and entry.value == ii.value == jj.value:
            weights = (-1 / ii.weight, -1 / jj.weight, 2 / entry.weight)
            yield ForcedPair((i, j), (ii.row, jj.row, entry.row), weights)
        elif entry.value**2 > ii.value * jj.value * (1 + 1e-9) + 1e-12:
            raise InfeasibleProblem(
                f"entry ({i}, {j}) is required to be {entry.value:g}, but the diagonal entries {ii.value:g} and "
                f"{jj.value:g} of a semidefinite matrix allow at most {np.sqrt(max(ii.value * jj.value, 0)):g}"
            )


def _forced_by_distance(sdp: LinearSDP) -> Iterator[ForcedPair]:
    """Yield the pairs for which one row reads a (K_ii + K_jj − 2 K_ij) = 0."""
    start = 0
    for g in sdp.rows:
        for r in np.flatnonzero((np.diff(g.A.indptr) == 4) & (g.b == 0) & (g.sense == "==")).tolist():
            entries = {divmod(int(c), sdp.n): float(w) for c, w in zip(*g.coefficients(r), strict=True)}
            diagonal = [i for i, j in entries if i == j]
            if len(diagonal) == 2:
                i, j = diagonal
                a = entries[i, i]
                if entries[j, j] == a and entries.get((i, j)) == entries.get((j, i)) == -a:
                    yield ForcedPair((i, j), (start + r,), (-1 / a,))
        start += len(g)


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-12 * max(1.0, abs(a), abs(b))


def _on_blocks(sdp: LinearSDP, blocks: np.ndarray, c: int) -> tuple[LinearSDP, np.ndarray, np.ndarray]:
    """Replace point numbers by block numbers, scale rows to coefficients of sum one, drop equal or empty rows."""
    P = _membership(blocks, c)
    C, sizes = sp.csr_array(P.T @ sdp.C @ P), sp.csr_array(P.T @ abs(sdp.C) @ P)
    # What rounding leaves of terms that cancel, as in a block that no edge leaves, is not a cost.
    C = sp.csr_array(C.multiply(abs(C) > CANCELLED * np.sqrt(sdp.n) * sizes))
    C.eliminate_zeros()
    seen: dict[Any, tuple[int, float]] = {}
    row_map, factors, groups = [], [], []
    for g in sdp.rows:
        A, b = _merged_columns(g, sdp.n, blocks, c), g.b.copy()
        kept = []
        for r in range(len(g)):
            where = slice(A.indptr[r], A.indptr[r + 1])
            if where.start == where.stop:
                if (g.sense == "==" and abs(b[r]) > 1e-9) or (g.sense == "<=" and b[r] < -1e-9):
                    raise InfeasibleProblem(f"row {r} of {g.name!r} becomes 0 {g.sense} {b[r]:g} for merged points")
                row_map.append(-1)
                factors.append(1.0)
                continue
            factor = float(abs(A.data[where]).sum())
            if g.sense == "==" and A.data[where.start] < 0:
                factor = -factor
            A.data[where] /= factor
            b[r] /= factor
            # Inequalities with different sides are different constraints; equations would contradict each other.
            side = float(b[r])
            key = (g.sense, A.indices[where].tobytes(), A.data[where].tobytes(), side if g.sense == "<=" else None)
            if key not in seen:
                seen[key] = (len(seen), side)
                kept.append(r)
            number, known = seen[key]
            if not _same(known, side):
                raise InfeasibleProblem(
                    f"row {r} of {g.name!r} contradicts an earlier constraint on the merged points: "
                    f"the same quantity is required to be {known:g} and {side:g}"
                )
            row_map.append(number)
            factors.append(factor)
        if kept:
            groups.append(Rows(g.name, sp.csr_array(A[kept]), b[kept], g.sense))
    contracted = replace(sdp, C=C, rows=tuple(groups), null_vector=None)
    return contracted, np.array(row_map, dtype=int), np.array(factors)


def _membership(blocks: np.ndarray, c: int) -> sp.csr_array:
    """Return P, which maps points to blocks."""
    n = len(blocks)
    return sp.csr_array((np.ones(n), (np.arange(n), blocks)), shape=(n, c))


def _merged_columns(g: Rows, n: int, blocks: np.ndarray, c: int) -> sp.csr_array:
    """Return the coefficients on blocks, without those that cancel up to rounding."""
    part = g.A.tocoo()
    blocks = blocks.astype(np.int64)  # c² may be more than 32 bits hold
    place = (part.row, blocks[part.col // n] * c + blocks[part.col % n])
    A = sp.csr_array((part.data, place), shape=(len(g), c * c))
    sizes = sp.csr_array((abs(part.data), place), shape=(len(g), c * c))
    for matrix in (A, sizes):
        matrix.sum_duplicates()  # both then store the same entries in the same order
    A.data[abs(A.data) <= CANCELLED * sizes.data] = 0
    A.eliminate_zeros()
    return A
