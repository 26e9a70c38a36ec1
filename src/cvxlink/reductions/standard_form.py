r"""Any convex program in the form :math:`\min c^\top z + d,\ Mz + a \in \mathcal{K}`, with rows sorted by cone.

CVXPY writes it with cones (see :mod:`cvxlink.programs.conic_form`). Here its rows are sorted as Clarabel takes them:
equations, inequalities, second-order cones, semidefinite matrices (their upper triangles by columns, entries off the
diagonal times √2, so that inner products are kept), exponential and power cones. The unknowns z are the entries of the
variables that are free to differ: of a symmetric matrix one triangle, of a diagonal one the diagonal, of a
semidefinite matrix K = PK'Pᵀ whose points are forced together the triangle of K'.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..errors import InfeasibleProblem, ReductionRefused
from ..model.declared import Declaration
from ..model.keeping import once
from .cones import Block, interior, into_dual, outside
from .matrix_inequalities import faces_of_inequalities
from .standard_reading import Reading, Triples


@dataclass(frozen=True, eq=False)
class StandardForm:
    """A convex program as matrices; a maximisation is negated.

    ``spread`` turns z into the entries of all variables, the declared ones first, each by columns; ``columns`` has the
    unknowns of each declared variable, ``matrices`` the orders of those that are semidefinite, ``owners`` the rows that
    belong to each declared constraint, by its id, in the order of its multipliers.
    """

    M: sp.csr_array
    a: np.ndarray
    cost: np.ndarray
    constant: float
    blocks: tuple[Block, ...]
    spread: sp.csr_array
    columns: dict[str, slice]
    matrices: dict[str, Block]
    owners: dict[int, Triples]
    shapes: dict[str, tuple[int, ...]]
    faces: dict[str, sp.csr_array | None]  # P with K = PK'Pᵀ for the semidefinite variables whose points are merged
    replaced: dict[int, Block]  # matrix inequalities on their faces, by the id of the declared constraint
    domains: dict[str, tuple[slice, ...]]  # the rows that the declared variables require by themselves

    @classmethod
    def of(cls, declaration: Declaration, most: int) -> StandardForm:
        """Read a declaration as a minimisation; refuse it if it has more unknowns or rows than ``most``."""
        if sum(variable.size for variable in declaration.variables.values()) > most:
            raise ReductionRefused(f"it has more than {most} unknowns")
        known = once(declaration, cls.__name__, lambda: cls(**Reading(declaration, most).fields()))
        if len(known.a) > most:
            raise ReductionRefused(f"its conic form has more than {most} rows")
        return known

    @classmethod
    def as_declared(cls, declaration: Declaration, most: int) -> StandardForm:
        """Read a declaration without merging any points, although they may be forced together or contradictory."""
        with suppress(InfeasibleProblem):
            known = cls.of(declaration, most)
            if not known.is_merged:
                return known
        return cls(**Reading(declaration, most, is_merged=False).fields())

    def with_room(self, declaration: Declaration, most: int) -> StandardForm:
        """Return the form with matrix inequalities on their faces, where these are smaller; their multipliers are lost.

        A matrix inequality whose expression must be singular leaves no room; a principal submatrix does, and with
        equations it says the same.
        """
        faces = faces_of_inequalities(declaration)
        return StandardForm(**Reading(declaration, most, faces).fields()) if faces else self

    @property
    def is_merged(self) -> bool:
        """Whether the points of a semidefinite variable are merged."""
        return any(P is not None and P.shape[1] < P.shape[0] for P in self.faces.values())

    def parts(self, kind: str) -> list[Block]:
        """Return the cones of one kind."""
        return [block for block in self.blocks if block.kind == kind]

    @cached_property
    def is_free(self) -> np.ndarray:
        """Which rows are equations."""
        free = np.zeros(len(self.a), dtype=bool)
        for block in self.parts("zero"):
            free[block.rows] = True
        return free

    @cached_property
    def interior(self) -> np.ndarray:
        """A point e inside the cone and inside its dual; zero for equations. For s in the cone |s_i| ≤ 2 eᵀs."""
        return interior(self.blocks, len(self.a))

    def unknowns(self, point: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the unknowns of the declared variables at a point, zero for others."""
        z = np.zeros(len(self.cost))
        start = 0
        for name, columns in self.columns.items():
            entries = np.ravel(point[name], order="F")
            D = self.spread[start : start + len(entries), columns]
            z[columns] = _least_squares(D, entries)
            start += len(entries)
        return z

    def point(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Return the declared variables."""
        entries, start, point = self.spread @ z, 0, {}
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            point[name] = entries[start : start + size].reshape(shape, order="F")
            start += size
        return point

    # ------------------------------------------------------------------ cones

    def into_dual(self, w: np.ndarray) -> np.ndarray:
        """Return multipliers moved into the dual cone, which they may miss by rounding."""
        return into_dual(self.blocks, w)

    def outside_of(self, block: Block, s: np.ndarray) -> float:
        """Return how far numbers, one per row, are outside a cone."""
        return outside(block, s[block.rows])


def _least_squares(D: sp.csr_array, entries: np.ndarray) -> np.ndarray:
    """Return the unknowns whose entries are nearest to given ones."""
    if np.diff(D.indptr).max(initial=0) <= 1:  # each entry belongs to one unknown
        D = Triples.of(D)
        squares = np.bincount(D.columns, D.numbers**2, D.shape[1])
        return D.transposed_times(entries) / np.where(squares > 0, squares, 1.0)
    return sp.linalg.lsqr(D, entries, atol=1e-15, btol=1e-15)[0]
