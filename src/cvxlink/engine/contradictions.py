"""Contradictions that are seen before any solver runs."""

from __future__ import annotations

from contextlib import suppress

from ..certificates.plain_contradictions import PlainContradiction, plain_contradiction
from ..errors import InfeasibleProblem, ReductionRefused
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..reductions.negation import linear_minimisation
from .formulation import Formulation, checked_program


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
