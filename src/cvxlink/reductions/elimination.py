r"""Elimination: points that no constraint mentions follow from the others.

Let no constraint touch the points u, and let :math:`C_{uu} \succ 0`. Any :math:`K \succeq 0` is :math:`BB^\top`; for
given rows :math:`B_l` the cost :math:`\mathrm{tr}(B^\top C B)` is least at :math:`B_u = -C_{uu}^{-1} C_{ul} B_l`, so

.. math:: K = Q K_{ll} Q^\top, \quad Q = \begin{pmatrix} I \\ -C_{uu}^{-1} C_{ul} \end{pmatrix}, \qquad
          \langle C, K \rangle = \langle C_{ll} - C_{lu} C_{uu}^{-1} C_{ul},\ K_{ll} \rangle .

What remains is the same kind of program on the points l alone (equations (5) to (8) of Hu et al. 2010). The
multipliers do not change: by the Schur complement, :math:`S(y) \succeq 0` holds on all points exactly if it holds on l.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput, ReductionRefused
from ..numerics.checks import finite_array
from ..numerics.matrices import congruent
from ..programs.base import Program
from ..programs.linear_sdp import LinearSDP, Rows
from .base import Lift, Reduced, Reduction, Values, as_point, as_program

# With larger entries in Q a cost of order one is lost in the rounding of QKQᵀ.
LARGEST_VALUE = 1e8


class Elimination(Reduction):
    """Keep the points that some constraint mentions; the others follow in closed form."""

    name = "elimination"

    def reduce(self, program: Program) -> Reduced:
        """Return the program on the constrained points."""
        original: LinearSDP = as_program(program).linear_sdp()
        kept = original.constrained_points
        if len(kept) == original.n:
            raise ReductionRefused("every point is in some constraint")
        if not len(kept):
            raise ReductionRefused("no point is in any constraint")
        cost = _cost_on_kept_points(original)
        rows = tuple(on_points(g, original.n, kept) for g in original.rows)
        seed = replace(original, C=sp.csr_array(cost), rows=rows, null_vector=None)
        why = "points that no constraint mentions follow from the others"
        return Reduced(seed, EliminationLift(original, seed), why)


def _cost_on_kept_points(original: LinearSDP) -> np.ndarray:
    """Return the Schur complement; raise if points cannot be dropped, as an error if no solver could do better."""
    is_laplacian = original.null_vector is not None
    try:
        cost = original.extension.schur_complement
    except InvalidInput as error:
        if is_laplacian:
            raise _too_unequal("some points are joined to linked ones by weights too small") from error
        raise ReductionRefused(f"the cost is not positive definite on the points it would drop: {error}") from error
    largest = float(abs(original.extension.matrix).max())
    if is_laplacian and largest > LARGEST_VALUE:
        what = f"weights differ so much that values at some points are {largest:.0e} times linked ones, too large"
        raise _too_unequal(what)
    return cost


def _too_unequal(what: str) -> InvalidInput:
    return InvalidInput(f"{what} for double precision; build the graph with Graph.knn, or with a larger sigma", "graph")


@dataclass(frozen=True, eq=False)
class EliminationLift(Lift):
    """K = Q K_ll Qᵀ; the multipliers are the same."""

    original: LinearSDP
    seed: LinearSDP

    def start(self, factor: np.ndarray) -> np.ndarray:
        """Keep the rows of the constrained points."""
        return finite_array(factor, "factor", (self.original.n, None))[self.original.constrained_points]

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Extend the kernel from the constrained points to all points."""
        name = self.original.variable
        values, duals = as_point(values, duals, name, self.seed.n)
        lifted = {name: congruent(self.original.extension.matrix, values[name])}
        if not all(g.name in duals for g in self.seed.rows):
            return lifted, {}
        rows = {g.name: duals[g.name] for g in self.seed.rows}
        return lifted, {**rows, self.original.cone: self.original.slack(self.original.joined(rows))}


def on_points(g: Rows, n: int, kept: np.ndarray) -> Rows:
    """Return the same rows on the kept points, which must be all that they mention."""
    position = np.full(n, -1)
    position[kept] = np.arange(len(kept))
    part = g.A.tocoo()
    used = part.data != 0
    row, col, data = part.row[used], part.col[used], part.data[used]
    columns = position[col // n] * len(kept) + position[col % n]
    return replace(g, A=sp.csr_array((data, (row, columns)), shape=(len(g), len(kept) ** 2)))
