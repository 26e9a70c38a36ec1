r"""Contraction: points that the constraints force together become one.

If :math:`K_{ii} = K_{jj} = K_{ij}` for every feasible :math:`K \succeq 0`, then
:math:`(e_i - e_j)^\top K (e_i - e_j) = 0`, so :math:`K(e_i - e_j) = 0`: rows i and j of K are equal. Every
feasible K is therefore singular, Slater's condition fails, and solvers stall. Let
:math:`P \in \{0,1\}^{n \times c}` map points to blocks of forced-together points. The feasible K are exactly
the :math:`P K' P^\top` with :math:`K' \succeq 0` that satisfy

.. math:: \langle P^\top A_r P, K' \rangle = b_r, \qquad
          \langle C, P K' P^\top\rangle = \langle P^\top C P, K' \rangle ,

a problem of order c in which those singular directions are gone (facial reduction). Which points are forced
together is read from the constraints themselves, so a formulation with soft links is refused, not trusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..errors import InfeasibleProblem, ReductionRefused
from ..linear_sdp import LinearSDP, Rows
from ..problem import Problem
from .base import Lift, Reduced, Reduction, Values

# Multipliers lifted to the original problem add STIFFNESS times the Laplacian of the forced pairs to the
# slack S. No finite multiple makes S exactly semidefinite there (the dual optimum is not attained without
# Slater's condition); this one leaves an error near the square root of machine precision.
STIFFNESS = 1e7


class Contraction(Reduction):
    """Merge the points whose rows every feasible matrix has in common."""

    name = "contraction"

    def apply(self, problem: Problem) -> Reduced:
        """Return the problem on blocks."""
        original = problem.linear_sdp()
        forced = _forced_pairs(original)
        if not len(forced):
            raise ReductionRefused(
                f"no two points are forced together: that takes equations fixing "
                f"{original.variable}_ii = {original.variable}_jj = {original.variable}_ij"
            )
        n = original.n
        links = sp.csr_array((np.ones(len(forced)), (forced[:, 0], forced[:, 1])), shape=(n, n))
        c, blocks = connected_components(links, directed=False)
        contracted, row_map = _on_blocks(original, blocks, c)
        return Reduced(contracted, ContractionLift(original, contracted, blocks, row_map, forced))


@dataclass(frozen=True, eq=False)
class ContractionLift(Lift):
    """K = P K' Pᵀ, and the multipliers of the rows that were merged."""

    original: LinearSDP
    contracted: LinearSDP
    blocks: np.ndarray
    row_map: np.ndarray  # original row → row after contraction, or −1 where it became 0 = 0
    forced: np.ndarray  # i, j and the rows that fix K_ii, K_jj, K_ij

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Spread K' over the points of each block."""
        name = self.original.variable
        lifted = {name: values[name][np.ix_(self.blocks, self.blocks)]}
        if not all(g.name in duals for g in self.contracted.rows):
            return lifted, {}
        y = self.multipliers(self.contracted.joined(duals))
        return lifted, {**self.original.split(y), self.original.cone: self.original.slack(y)}

    def multipliers(self, reduced: np.ndarray) -> np.ndarray:
        r"""Return multipliers of all original rows.

        The first of the rows that were merged takes the whole multiplier; the forced pairs then stiffen the
        slack by :math:`t \sum (e_i-e_j)(e_i-e_j)^\top`, which changes neither bᵀy nor PᵀSP.
        """
        y = np.zeros(len(self.row_map))
        kept, first = np.unique(self.row_map, return_index=True)
        y[first[kept >= 0]] = reduced[kept[kept >= 0]]
        stiffness = STIFFNESS * (abs(self.original.C).max() if self.original.C.nnz else 1.0)
        _, _, ii, jj, ij = self.forced.T
        for rows, amount in ((ii, -stiffness), (jj, -stiffness), (ij, 2 * stiffness)):
            weights = np.array([self._weight(r) for r in rows])
            np.add.at(y, rows, amount / weights)
        return y

    def restrict(self, y: np.ndarray) -> np.ndarray:
        """Return multipliers of the contracted rows: the sums over the rows merged into each."""
        reduced = np.zeros(len(self.contracted.b))
        kept = self.row_map >= 0
        np.add.at(reduced, self.row_map[kept], y[kept])
        return reduced

    def _weight(self, row: int) -> float:
        """Return a in a row that reads a·K_ij = b."""
        for g in self.original.rows:
            if row < len(g):
                return float(g.A.data[g.A.indptr[row] : g.A.indptr[row + 1]].sum())
            row -= len(g)
        raise IndexError(row)


def _forced_pairs(sdp: LinearSDP) -> np.ndarray:
    """Return i, j and the rows fixing K_ii, K_jj, K_ij, for the pairs with all three equal and positive."""
    fixed: dict[tuple[int, int], tuple[float, int]] = {}
    for i, j, value, row in sdp.fixed_entries():
        known = fixed.setdefault((i, j), (value, row))[0]
        if not _same(known, value):
            raise InfeasibleProblem(f"entry ({i}, {j}) is required to be {known:g} and {value:g} at once")
    forced = []
    for (i, j), (value, row) in fixed.items():
        if i != j and (i, i) in fixed and (j, j) in fixed:
            (vi, ri), (vj, rj) = fixed[i, i], fixed[j, j]
            if value > 0 and _same(value, vi) and _same(value, vj):
                forced.append((i, j, ri, rj, row))
            elif value**2 > vi * vj * (1 + 1e-9) + 1e-12:
                raise InfeasibleProblem(
                    f"entry ({i}, {j}) is required to be {value:g}, but the diagonal entries {vi:g} and {vj:g} "
                    f"of a semidefinite matrix allow at most {np.sqrt(max(vi * vj, 0)):g}"
                )
    return np.array(forced, dtype=int).reshape(-1, 5)


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-12 * max(1.0, abs(a), abs(b))


def _on_blocks(sdp: LinearSDP, blocks: np.ndarray, c: int) -> tuple[LinearSDP, np.ndarray]:
    """Replace point numbers by block numbers; drop rows that became alike or empty."""
    P = sp.csr_array((np.ones(sdp.n), (np.arange(sdp.n), blocks)), shape=(sdp.n, c))
    C = sp.csr_array(P.T @ sdp.C @ P)
    seen: dict[Any, tuple[int, float]] = {}
    row_map = []
    groups = []
    for g in sdp.rows:
        part = g.A.tocoo()
        columns = blocks[part.col // sdp.n] * c + blocks[part.col % sdp.n]
        A = sp.csr_array((part.data, (part.row, columns)), shape=(len(g), c * c))
        A.sum_duplicates()
        A.data[abs(A.data) < 1e-14] = 0
        A.eliminate_zeros()
        kept = []
        for r in range(len(g)):
            where = slice(A.indptr[r], A.indptr[r + 1])
            side = float(g.b[r])
            if where.start == where.stop:
                if (g.sense == "==" and abs(side) > 1e-9) or (g.sense == "<=" and side < -1e-9):
                    raise InfeasibleProblem(f"row {r} of {g.name!r} reads 0 {g.sense} {side:g} for merged points")
                row_map.append(-1)
                continue
            # Inequalities with different sides are different constraints; equations would contradict each other.
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
        if kept:
            groups.append(Rows(g.name, sp.csr_array(A[kept]), g.b[kept], g.sense))
    return LinearSDP(C, tuple(groups), sdp.offset, sdp.variable, sdp.cone), np.array(row_map, dtype=int)
