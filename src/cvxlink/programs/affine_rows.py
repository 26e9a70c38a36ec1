"""The affine equations and inequalities of a program as rows over all its variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.expressions import is_linear
from .base import Program
from .declared import body_of
from .declared_rows import affine_parts
from .linear_sdp import LinearSDP


@dataclass(frozen=True, eq=False)
class AffineRows:
    """Equations Ax = b and inequalities Ax ≤ b, where x are all variables one after another, each column by column.

    ``group_of`` and ``place_of`` say for each row to which of the named ``groups`` it belongs, and its number there.
    """

    A: sp.csr_array
    b: np.ndarray
    is_equation: np.ndarray
    groups: tuple[str, ...]
    group_of: np.ndarray
    place_of: np.ndarray

    @classmethod
    def of(cls, program: Program, most_rows: int, most_unknowns: int) -> AffineRows:
        """Read a program, without CVXPY if it is known as data; refuse it if it is too large."""
        try:
            sdp = program.linear_sdp()
        except ReductionRefused:
            return cls._of_declaration(program.declaration, most_rows, most_unknowns)
        return cls._of_sdp(sdp, most_rows)

    @classmethod
    def _of_sdp(cls, sdp: LinearSDP, most_rows: int) -> AffineRows:
        if len(sdp.b) > most_rows:
            raise ReductionRefused(f"it has more than {most_rows} rows")
        counts = [len(group) for group in sdp.rows]
        senses = np.repeat([group.sense == "==" for group in sdp.rows], counts)
        return cls(sdp.A, sdp.b, senses, tuple(group.name for group in sdp.rows), *_numbered(counts))

    @classmethod
    def _of_declaration(cls, declaration: Declaration, most_rows: int, most_unknowns: int) -> AffineRows:
        unknowns = sum(variable.size for variable in declaration.variables.values())
        terms = [(name, term) for name, group in declaration.constraints.items() for term in group if _is_affine(term)]
        if unknowns > most_unknowns or sum(term.size for _, term in terms) > most_rows:
            raise ReductionRefused(f"it has more than {most_rows} rows or {most_unknowns} unknowns")
        names = tuple(dict.fromkeys(name for name, _ in terms))
        if not terms:
            return cls(sp.csr_array((0, unknowns)), np.zeros(0), np.zeros(0, dtype=bool), (), *_numbered([]))
        parts = affine_parts(declaration, [term for _, term in terms])
        A = sp.csr_array(sp.vstack([sp.hstack(list(part.A.values())) for part in parts], format="csr"))
        sizes = [term.size for _, term in terms]
        equations = np.repeat([not isinstance(term, cp.constraints.Inequality) for _, term in terms], sizes)
        counts = [sum(term.size for own, term in terms if own == name) for name in names]
        return cls(A, -np.concatenate([part.a for part in parts]), equations, names, *_numbered(counts))


def term_at(declaration: Declaration, group: str, place: int) -> tuple[Any, int]:
    """Return the affine constraint that a row of a group belongs to, and its number within that constraint."""
    for term in filter(_is_affine, declaration.constraints.get(group, ())):
        if place < term.size:
            return term, place
        place -= term.size
    return None, place


def _is_affine(term: Any) -> bool:
    kinds = cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero
    return isinstance(term, kinds) and is_linear(body_of(term))


def _numbered(counts: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of its group, and the number within its group, for each row."""
    group_of = np.repeat(np.arange(len(counts)), counts)
    place_of = np.concatenate([np.zeros(0, dtype=int), *(np.arange(count) for count in counts)])
    return group_of, place_of
