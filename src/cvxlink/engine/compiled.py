"""Programs that are compiled once and solved many times with different numbers: bounds, weights, mu.

CVXPY then only updates the parameters in the compiled matrices (Agrawal, Amos, Barratt, Boyd, Diamond & Kolter 2019,
"disciplined parametrized programming"), and a solver with warm start begins at its last answer.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import FormUnavailable, InvalidInput
from ..numerics.checks import as_flag
from ..solvers.catalogue import choose_solver, needs_process, require_solver, solver_options
from ..solvers.isolation import Limits
from ..solvers.through_cvxpy import run_declaration
from .formulation import Formulation, checked_program
from .options import Options
from .plan import Plan
from .solution import Solution
from .solve import finished


class Prepared:
    """A problem whose program is compiled once; see :meth:`cvxlink.Problem.prepare`."""

    def __init__(self, problem: Formulation, options: Options) -> None:
        name = type(problem).__name__
        if not problem.adjustable:
            raise FormUnavailable(
                f"{name} has no numbers that can change in a compiled program; make a new problem instead"
            )
        self.problem, self.accuracy = problem, options.accuracy
        solver = options.solver
        self.solver, self.why = (
            (require_solver(solver), "as requested") if solver else choose_solver(checked_program(problem))
        )
        self.options = solver_options(self.solver, options.accuracy, None, options.solver_options or {})
        self._parameters: dict[str, cp.Parameter] = {}
        template = copy.copy(problem)
        object.__setattr__(template, "_stand_in", self._stand_in)
        self._declaration = template.declaration
        self._compiled = self._declaration.to_cvxpy()
        assert self._compiled.is_dpp()

    def _stand_in(self, name: str, value: Any) -> Any:
        """Return the CVXPY parameter that stands for one or more numbers of the formulation."""
        if not np.size(value):  # for example, no links
            return value
        if name not in self._parameters:
            positive = bool(np.min(value) >= 0)
            self._parameters[name] = cp.Parameter(np.shape(value), nonneg=positive, name=name, value=value)
        return self._parameters[name]

    def solve(self, strict: bool = True, verbose: bool = False, **changes: Any) -> Solution:
        """Solve with other values for fields of the problem; fields that are not given keep their original values."""
        strict, verbose = as_flag(strict, "strict"), as_flag(verbose, "verbose")
        for field in changes:
            if field not in self.problem.adjustable:
                raise InvalidInput(
                    f"{field!r} cannot change in a compiled program; {', '.join(self.problem.adjustable)} can. For "
                    f"other changes make a new problem",
                    field,
                )
        problem = replace(self.problem, **changes)  # type: ignore[type-var]
        for name, parameter in self._parameters.items():
            value = getattr(problem, name)
            if np.shape(value) != parameter.shape:
                raise InvalidInput(
                    f"these values change the shape of the program, not just its numbers ({name}); make a new problem",
                    next(iter(changes), None),
                )
            parameter.value = value
        told, isolated = {**self.options, "warm_start": True}, needs_process(self.solver)
        attempt = run_declaration(self._declaration, self.solver, told, Limits(), isolated, verbose, self._compiled)
        why = f"{self.why}; compiled once"
        plan = Plan(problem, (), checked_program(problem), why, form=problem.about.form, solver=self.solver)
        return finished(plan, attempt, self.accuracy, dict(self.options), strict=strict)
