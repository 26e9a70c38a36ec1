"""Negation: maximising f is minimising −f, so that everything that is made for minimisations applies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.keeping import once
from ..numerics.matrices import Stiffened, as_dense
from ..programs.base import Program
from ..programs.declared import ReadProgram, SpecialProgram
from .base import Lift, Reduced, Reduction, Values, as_point, as_program


class Negation(Reduction):
    """Minimise the negative objective of a maximisation."""

    name = "negation"

    def reduce(self, program: Program) -> Reduced:
        """Return the minimisation."""
        program = as_program(program)
        if isinstance(program, SpecialProgram) or not program.convex:
            raise ReductionRefused("it is a program of a special kind")
        if isinstance(program.declaration.objective, cp.Minimize):
            raise ReductionRefused("it minimises")
        minimised = once(program, "minimised", lambda: Minimised(program))
        return Reduced(minimised, NegationLift(program.declaration), "maximising f is minimising −f")


def linear_minimisation(program: Program) -> Program:
    """Return the minimisation that a maximisation is, or refuse if that is not a linear semidefinite program."""
    minimised = Negation().reduce(program).program
    minimised.linear_sdp()
    return minimised


@dataclass(frozen=True, eq=False)
class Minimised(ReadProgram):
    """The minimisation of the negative objective of a program."""

    original: Program

    @cached_property
    def declaration(self) -> Declaration:
        """The same variables and constraints."""
        declared = self.original.declaration
        return replace(declared, objective=cp.Minimize(-declared.objective.args[0]))


@dataclass(frozen=True, eq=False)
class NegationLift(Lift):
    """The variables stay; the multipliers of rows, which are changes of the optimum, are negated."""

    original: Declaration

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Negate the multipliers of rows."""
        values, duals = as_point(values, duals)
        return dict(values), negated_multipliers(self.original, duals)


def negated_multipliers(declaration: Declaration, duals: Values) -> dict[str, Any]:
    """Return the multipliers of the same constraints for the negative objective."""
    rows = cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero
    flipped = dict(duals)
    for name, group in declaration.constraints.items():
        if name in flipped and all(isinstance(term, rows) for term in group):
            given = flipped[name]
            flipped[name] = -given if isinstance(given, Stiffened) else -np.asarray(as_dense(given), dtype=float)
        elif name in flipped and any(isinstance(term, rows) for term in group):
            raise ReductionRefused(f"its constraint {name!r} mixes rows and cones; give them separate names")
    return flipped
