"""The rows that CVXPY's compiler makes of a declaration. It is slow, so each declaration is compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.keeping import once
from .coefficients import Map, known_coefficients
from .conic_form import Compiled, Part, affine_maps, coefficients_of, whole_map
from .declared import body_of, read_rows, semidefinite_variable
from .linear_sdp import Rows

# The compiler has the negatives of these as nonnegative.
NEGATED = (cp.constraints.Inequality, cp.constraints.NonPos)


@dataclass(frozen=True, eq=False)
class DeclaredRows:
    """A declaration with cones, as rows over the entries of all variables; a maximisation is negated.

    The first row is the objective. The expressions of each cone follow, one after another. ``first`` has the first
    column of each variable by its id. Constraints that just say that a variable is semidefinite have no rows.
    """

    compiled: Compiled
    matrix: sp.csr_array
    offsets: np.ndarray
    first: dict[int, int]
    starts: np.ndarray  # the first row of each cone

    @classmethod
    def of(cls, declaration: Declaration) -> DeclaredRows:
        """Compile a declaration, or refuse with the reason; variables keep their values."""
        return once(declaration, cls.__name__, lambda: cls._compiled(declaration))

    @classmethod
    def _compiled(cls, declaration: Declaration) -> DeclaredRows:
        variables, objective = declaration.variables, declaration.objective.args[0]
        objective = -objective if isinstance(declaration.objective, cp.Maximize) else objective
        saved = {variable: variable._value for variable in variables.values()}
        terms = [term for term in declaration.terms if semidefinite_variable(term, variables) is None]
        try:
            compiled = Compiled.of(objective, variables, terms)
            inside = [expressions for _, expressions in compiled.read]
            whole = whole_map([compiled.problem.objective.args[0], *(e for group in inside for e in group)])
        finally:
            for variable, value in saved.items():
                variable._value = value
        starts = np.cumsum([1, *(sum(e.size for e in group) for group in inside)])
        return cls(compiled, *whole, starts)

    def part(self, term: Any, declaration: Declaration) -> Part:
        """Return the body of an affine constraint, or the matrix that it requires to be semidefinite."""
        start, sign = int(self.starts[self.compiled.owners[term.id]]), -1.0 if isinstance(term, NEGATED) else 1.0
        rows = slice(start, start + term.size)
        matrix = sp.csr_array(sign * self.matrix[rows])
        A = {name: coefficients_of(v, matrix, self.first.get(v.id)) for name, v in declaration.variables.items()}
        return Part(term.shape, A, [], sign * self.offsets[rows])


def linear_rows(declaration: Declaration, K: cp.Variable) -> tuple[list[Rows], list[Any]]:
    """Return the linear constraints on one symmetric matrix alone: as rows, and as CVXPY constraints."""
    (name,) = (name for name, variable in declaration.variables.items() if variable is K)

    def read(term: Any) -> Map:
        known = known_coefficients(body_of(term), K)
        if known is not None:
            return known
        (part,) = affine_parts(declaration, [term])
        return part.A[name], part.a

    rows, terms = [], []
    for key, group in declaration.constraints.items():
        for term in group:
            if {variable.id for variable in term.variables()} == {K.id}:
                with suppress(ReductionRefused):
                    rows.append(read_rows(key, term, K, read))
                    terms.append(term)
    return rows, terms


def affine_parts(declaration: Declaration, terms: Sequence[Any]) -> list[Part]:
    """Return the bodies of affine constraints, or the matrices that they require to be semidefinite, as matrices."""
    try:
        rows = DeclaredRows.of(declaration)
    except ReductionRefused:  # there is no exact conic form, but affine constraints need none
        return affine_maps([_inside(term) for term in terms], declaration.variables, []) if terms else []
    return [rows.part(term, declaration) for term in terms]


def _inside(term: Any) -> Any:
    rows = isinstance(term, cp.constraints.Equality | cp.constraints.Inequality)
    return body_of(term) if rows else term.args[0]
