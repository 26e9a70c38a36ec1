r"""Contraction: points that the constraints force together are merged.

If :math:`K_{ii} = K_{jj} = K_{ij}` for every feasible :math:`K \succeq 0`, then
:math:`(e_i - e_j)^\top K (e_i - e_j) = 0`, so :math:`K(e_i - e_j) = 0`: rows i and j of K are equal. Every
feasible K is therefore singular, Slater's condition fails, and solvers stall. Let
:math:`P \in \{0,1\}^{n \times c}` map points to blocks of forced-together points. The feasible K are exactly
the :math:`P K' P^\top` with :math:`K' \succeq 0` that satisfy

.. math:: \langle P^\top A_r P, K' \rangle = b_r, \qquad
          \langle C, P K' P^\top\rangle = \langle P^\top C P, K' \rangle ,

a problem of order c without those singular directions (facial reduction). Points can also be opposite, proportional or
at zero, and any vector v may be taken to zero (:mod:`cvxlink.reductions.faces`). Repeated and implied rows are dropped
on the way, even where no points are merged. All this is read from the constraints themselves, so a formulation with
soft links is refused, not trusted. Programs that are not linear are in :mod:`cvxlink.reductions.declared_faces`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..errors import ReductionRefused
from ..model.keeping import once
from ..numerics.checks import finite_array
from ..numerics.matrices import Stiffened, congruent
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..programs.linear_sdp import LinearSDP
from .base import Lift, Reduced, Reduction, Values, as_point, as_program
from .declared_faces import DeclaredFaces, DeclaredFacesLift
from .faces import CANCELLED, STIFFNESS, Blocks, Reason, blocks_of, face_of
from .matrix_inequalities import InequalityFace

__all__ = ["CANCELLED", "Contraction", "ContractionLift", "blocks_of"]

# explain() names at most so many blocks, and so many points of each.
MOST_NAMED = 3
MOST_POINTS = 6


class Contraction(Reduction):
    """Merge points whose rows are equal in every feasible matrix, and drop repeated constraints."""

    name = "contraction"

    def reduce(self, program: Program) -> Reduced:
        """Return the program on blocks."""
        program = as_program(program)
        try:
            original: LinearSDP = program.linear_sdp()
        except ReductionRefused as refusal:
            return _of_declared(program, refusal)
        face: Blocks = once(original, "face", lambda: face_of(original.rows, original.n))
        _refuse_if_nothing_changes({original.variable: face})
        contracted = replace(original, C=_costs(original.C, face.P), rows=face.rows.rows, null_vector=None)
        return Reduced(contracted, ContractionLift(original, contracted, face), in_words({original.variable: face}))


def _of_declared(program: Program, not_linear: ReductionRefused) -> Reduced:
    """Reduce a program that is not a linear semidefinite one."""
    if isinstance(program, SpecialProgram) or not program.convex:
        raise not_linear
    faces = DeclaredFaces.of(program)
    if not faces.inequalities:
        _refuse_if_nothing_changes(faces.faces)
    words = [in_words({**faces.faces}), *(_of_inequality(key, found) for (key, _), found in faces.inequalities.items())]
    return Reduced(faces, DeclaredFacesLift(faces), ", ".join(word for word in words if word))


def _refuse_if_nothing_changes(faces: dict[str, Blocks]) -> None:
    for name, face in faces.items():
        if not face.P.shape[1]:
            raise ReductionRefused(f"the constraints put every point at zero: {name} = 0 is the only feasible matrix")
    if not any(face.is_smaller or face.merging.changes for face in faces.values()):
        K = next(iter(faces), "K")
        raise ReductionRefused(
            "no two points are visibly forced together, which needs equations K_ii = K_jj = K_ij = a > 0 "
            "or K_ii + K_jj − 2 K_ij = 0, or equal rows".replace("K_", f"{K}_")
        )


def _costs(C: sp.csr_array, P: sp.csr_array) -> sp.csr_array:
    """Return PᵀCP."""
    contracted, sizes = sp.csr_array(P.T @ C @ P), sp.csr_array(abs(P).T @ abs(C) @ abs(P))
    # What rounding leaves of terms that cancel, as in a block that no edge leaves, is not a cost.
    contracted = sp.csr_array(contracted.multiply(abs(contracted) > CANCELLED * np.sqrt(C.shape[0]) * sizes))
    contracted.eliminate_zeros()
    return contracted


@dataclass(frozen=True, eq=False)
class ContractionLift(Lift):
    """K = P K' Pᵀ, and the multipliers of the rows that were merged."""

    original: LinearSDP
    contracted: LinearSDP
    face: Blocks

    @property
    def P(self) -> sp.csr_array:
        """The matrix P with K = PK'Pᵀ."""
        return self.face.P

    def start(self, factor: np.ndarray) -> np.ndarray:
        """Average over the points of each block."""
        return self.face.inverse @ finite_array(factor, "factor", (self.original.n, None))

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Spread K' over the points of each block."""
        name = self.original.variable
        values, duals = as_point(values, duals, name, self.contracted.n)
        lifted = {name: congruent(self.P, values[name])}
        if not all(g.name in duals for g in self.contracted.rows):
            return lifted, {}
        base = self.original.split(self.spread(self.contracted.joined(duals)))
        stiffness = STIFFNESS * (abs(self.original.C).max() if self.original.C.nnz else 1.0)
        large = self.original.split(stiffness * self.face.stiffening)
        rows = {name: Stiffened(base[name], large[name]) for name in base}
        return lifted, {**rows, self.original.cone: self.original.slack(self.original.joined(rows))}

    def spread(self, reduced: np.ndarray) -> np.ndarray:
        r"""Return multipliers of all original rows: of rows that were merged, the first gets all.

        The slack is then semidefinite on blocks only. So :meth:`point` also stiffens it on the forced pairs by
        :math:`t \sum (e_i-e_j)(e_i-e_j)^\top`, and likewise for other null vectors, which changes neither bᵀy nor PᵀSP.
        """
        return self.face.merging.spread(reduced)

    def restrict(self, y: np.ndarray) -> np.ndarray:
        """Return multipliers of the contracted rows: the sums over the rows merged into each."""
        return self.face.merging.restrict(y)


# ---------------------------------------------------------------------- in words


def in_words(faces: dict[str, Blocks]) -> str:
    """Return which points are merged and why, and which rows are dropped."""
    parts = []
    for name, face in faces.items():
        of = f" of {name}" if len(faces) > 1 else ""
        if face.is_smaller:
            named = list(_named_blocks(face, name))
            more = [f"and {len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
            reasons = "; ".join([*named[:MOST_NAMED], *more])
            parts.append(f"points{of} that the constraints force together are merged ({reasons})")
        dropped = len(face.merging.row_map) - len(face.merging.first)
        if dropped:
            words = "row that is repeated or implied is" if dropped == 1 else "rows that are repeated or implied are"
            example = [f" ({row} by {by})" for row, by in face.merging.implied[:1]]
            parts.append(f"{dropped} {words} dropped{''.join(example)}")
    return ", ".join(parts)


def _of_inequality(key: str, found: InequalityFace) -> str:
    """Return which matrix inequality becomes smaller, and why."""
    named = list(_named_blocks(found.face, "the matrix"))
    more = [f"and {len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
    n, c = found.face.P.shape
    reasons = "; ".join([*named[:MOST_NAMED], *more])
    return f"the matrix of {key!r} is singular, so order {c} instead of {n} is enough ({reasons})"


def _named_blocks(face: Blocks, name: str) -> Iterator[str]:
    """Yield what happens to points, block after block, and by which constraints."""
    n, reasons = face.P.shape[0], face.reasons
    simple = [reason for reason in reasons if len(reason.points) <= 2]
    ends = np.array([(r.points[0], r.points[-1]) for r in simple], dtype=int).reshape(-1, 2)
    _, component = connected_components(sp.csr_array((np.ones(len(ends)), ends.T), shape=(n, n)), directed=False)
    at_zero = np.diff(face.P.indptr) == 0
    for k in dict.fromkeys(component[ends[:, 0]].tolist()):
        points = np.flatnonzero(component == k)
        by = _quoted(r for r, c in zip(simple, component[ends[:, 0]], strict=True) if c == k)
        yield f"{_what(points, face, bool(at_zero[points].all()))}{by}"
    for reason in reasons:
        if len(reason.points) > 2:
            ones = len(set(reason.weights)) == 1
            product = f"{name}v" if len(name) == 1 else f"{name} times v"
            what = f"rows of {name} add up to zero" if ones else f"{product} = 0 for a vector v"
            yield f"{what} over {len(reason.points)} points{_quoted([reason])}"


def _what(points: np.ndarray, face: Blocks, at_zero: bool) -> str:
    if at_zero:
        return f"{listed(points)} at zero"
    rows = face.P[points].toarray()
    ratios = rows @ rows[0] / (rows[0] @ rows[0])
    if (ratios > 0).all():
        return listed(points) if len(set(ratios.tolist())) == 1 else f"{listed(points)} proportional"
    return f"{listed(points[ratios < 0])} opposite to {listed(points[ratios > 0])}"


def listed(points: Sequence[int] | np.ndarray) -> str:
    """Return numbers of points as a phrase, at most a few of them."""
    shown = [str(p) for p in points[:MOST_POINTS]]
    if len(points) > MOST_POINTS:
        return f"{', '.join(shown)} and {len(points) - MOST_POINTS} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _quoted(reasons: Iterable[Reason]) -> str:
    """Return by which constraints something holds."""
    names = [repr(name) for name in dict.fromkeys(group for reason in reasons for group in reason.groups)]
    if not names:
        return ""
    return f" by {' and '.join([', '.join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]}"
