"""Contradictions that are seen before any solver runs."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import scipy.sparse as sp

from ..certificates.plain_contradictions import PlainContradiction, plain_contradiction
from ..certificates.row_words import in_words
from ..errors import InfeasibleProblem, ReductionRefused
from ..model.declared import Declaration
from ..programs.base import Program
from ..programs.declared import SpecialProgram, semidefinite_names
from ..programs.declared_rows import linear_rows
from ..programs.linear_sdp import Rows
from ..reductions.contradictory_rows import contradictory_rows
from ..reductions.negation import linear_minimisation
from .formulation import Formulation, checked_program

# A message lists this many rows.
MOST_NAMED = 8


def contradiction_of(program: Program) -> PlainContradiction | None:
    """Return a contradiction among affine rows; a program with its own data and proof is not looked at."""
    if not program.convex or (isinstance(program, SpecialProgram) and program.proof is not None):
        return None
    with suppress(ReductionRefused):
        program = linear_minimisation(program)  # its rows are known without CVXPY
    return plain_contradiction(program)


def require_no_contradiction(problem: Formulation) -> None:
    """Raise if equations, or bounds on the same expression, contradict one another."""
    found = contradiction_of(checked_program(problem))
    if found is not None:
        raise InfeasibleProblem(f"{found}; problem.why_infeasible() says by how much to relax them")


def with_rows_named(contradiction: InfeasibleProblem, program: Program) -> InfeasibleProblem:
    """Return a contradiction that was seen when points were merged, with all rows that it follows from."""
    declaration = program.declaration
    for name in semidefinite_names(declaration):
        try:
            rows, terms = linear_rows(declaration, declaration.variables[name])
        except ReductionRefused:
            continue
        found = contradictory_rows(rows, declaration.variables[name].shape[0])
        if found is not None:
            words = [_worded(declaration, rows[k], terms[k], place) for k, place in found]
            more = f"; … ({len(words)} rows)" if len(words) > MOST_NAMED else ""
            return InfeasibleProblem(
                f"{contradiction}; this follows from {'; '.join(words[:MOST_NAMED])}{more} and from {name} ⪰ 0; "
                f"problem.why_infeasible() says by how much to relax them"
            )
    return contradiction


def _worded(declaration: Declaration, rows: Rows, term: Any, place: int) -> str:
    row = sp.coo_array(rows.A[[place]])
    first = _first_column(declaration, term)
    written = in_words(term, place, declaration, (first + row.col, row.data, -float(rows.b[place])), rows.sense == "==")
    return f"{written} ({rows.name!r})"


def _first_column(declaration: Declaration, term: Any) -> int:
    """Return the number of the first entry of the one variable of a constraint among those of all variables."""
    start = 0
    (own,) = term.variables()
    for variable in declaration.variables.values():
        if variable is own:
            break
        start += variable.size
    return start
