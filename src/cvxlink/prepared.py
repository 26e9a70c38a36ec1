"""Programs that are compiled once and solved many times, with other numbers: bounds, weights, mu.

CVXPY then only puts new values for its parameters into the matrices it compiled (Agrawal, Amos, Barratt, Boyd, Diamond
& Kolter 2019, "disciplined parametrized programming"), and a solver that can starts from its last answer.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from .backends.base import Resources
from .backends.catalogue import choose_solver, require_solver, solver_options
from .backends.cvxpy import call_cvxpy, interpreted
from .errors import FormUnavailable, InvalidInput
from .plan import Plan, rewriting
from .problem import Problem
from .solution import Solution
from .solve import check_arguments, finished
from .status import DEFAULT_ACCURACY
from .threads import threads_in_use


class Prepared:
    """A problem whose program is compiled once; see :meth:`cvxlink.Problem.prepare`."""

    def __init__(
        self,
        problem: Problem,
        solver: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        check_arguments(accuracy, options)
        name = type(problem).__name__
        if not problem.adjustable:
            raise FormUnavailable(f"{name} has no numbers that may change in a compiled program; make a new problem")
        self.problem, program = problem, problem.with_quantities
        self.solver, self.why = (require_solver(solver), "as asked for") if solver else choose_solver(program)
        self.accuracy = accuracy
        self.options = solver_options(self.solver, accuracy, None, options or {})
        self._parameters = {
            quantity: cp.Parameter(np.shape(value), nonneg=True, name=quantity, value=value)
            for quantity, value in _quantities(program).items()
        }
        template = copy.copy(program)
        object.__setattr__(template, "_standing_for", self._parameters)
        self._declaration = template.declare()
        self._compiled = self._declaration.to_cvxpy()
        assert self._compiled.is_dpp()

    def solve(self, strict: bool = True, verbose: bool = False, **changes: Any) -> Solution:
        """Solve with other numbers, fields of the problem by name; those not named stay as they were at first."""
        for field in changes:
            if field not in self.problem.adjustable:
                raise InvalidInput(
                    f"{field!r} cannot change in a compiled program; {', '.join(self.problem.adjustable)} can, for "
                    f"anything else make a new problem"
                )
        problem = replace(self.problem, **changes)  # type: ignore[type-var]
        program = problem.with_quantities
        values = _quantities(program)
        if {k: np.shape(v) for k, v in values.items()} != {k: p.shape for k, p in self._parameters.items()}:
            raise InvalidInput(
                "these numbers make another program, not the same with other numbers; make a new problem"
            )
        for quantity, value in values.items():
            self._parameters[quantity].value = value
        raw = call_cvxpy(self._declaration, self.solver, {**self.options, "warm_start": True}, verbose, self._compiled)
        attempt = replace(interpreted(raw, self.solver), resources=Resources(threads_in_use()))
        form, why = program.declared_form, f"{self.why}; compiled once"
        steps = () if program is problem else (rewriting(problem, form, program),)
        plan = Plan(problem, steps, program, why, form=form, solver=self.solver)
        return finished(plan, attempt, self.accuracy, dict(self.options), strict=strict)


def _quantities(program: Problem) -> dict[str, Any]:
    """Return the numbers of a program that may change, by name; where there are none of a kind, it is left out."""
    found = {name: getattr(program, name) for name in program.quantities}
    return {name: value for name, value in found.items() if np.size(value)}
