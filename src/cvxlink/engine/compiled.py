"""Programs that are compiled once and solved many times with different numbers: bounds, weights, mu.

CVXPY then only updates the parameters in the compiled matrices (Agrawal, Amos, Barratt, Boyd, Diamond & Kolter 2019,
"disciplined parametrized programming"), and a solver with warm start begins at its last answer.

Where reductions or the dual make a linear or conic program smaller, that smaller program is compiled. Its reductions
are computed anew for each solve, which is fast; see :mod:`cvxlink.programs.parametrised`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import CvxlinkError, FormUnavailable, InvalidInput, ReductionRefused
from ..model.declared import Declaration
from ..model.quiet import quiet_about_sparsity
from ..numerics.arguments import shown
from ..numerics.checks import as_flag
from ..programs.parametrised import Parametrised
from ..solvers.catalogue import choose_solver, needs_process, require_solver, solver_options
from ..solvers.isolation import Limits
from ..solvers.through_cvxpy import run_declaration
from .finishing import finished
from .formulation import Formulation, checked_program
from .options import Options
from .plan import Plan, forms_of, make_plan
from .solution import Solution

# The arguments of a compiled program's solve(), next to which numbers are given by their own names.
ARGUMENTS = ("strict", "verbose")


class Prepared:
    """A problem whose program is compiled once; see :meth:`cvxlink.Problem.prepare`. Print it to see what is compiled.

    Attributes
    ----------
    problem : Problem
        The problem with its original numbers.
    plan : Plan
        The reductions, the form that is compiled, and the solver.
    """

    def __init__(self, problem: Formulation, options: Options) -> None:
        taken = next((name for name in problem.adjustable if name in ARGUMENTS), None)
        if taken is not None:
            raise FormUnavailable(
                f"{problem.called} cannot be compiled with numbers called {taken!r}, which is an argument of the "
                f"compiled program's solve(); give them another name, or make a new problem instead"
            )
        if not problem.adjustable:
            raise FormUnavailable(
                f"{problem.called} has no numbers that can change in a compiled program; make a new problem instead"
            )
        self.problem, self.accuracy = problem, options.accuracy
        solver = options.solver and require_solver(options.solver)
        self._compiled: _AsDeclared | _AsReduced
        try:
            self._compiled = _AsReduced(problem, solver)
        except (FormUnavailable, ReductionRefused):
            self._compiled = _AsDeclared(problem, solver)
        self.plan = self._compiled.plan
        assert self.plan.solver is not None
        self.solver = self.plan.solver
        self.options = solver_options(self.solver, options.accuracy, None, options.solver_options or {})

    def __str__(self) -> str:
        what = f"{', '.join(self.problem.adjustable)} can change without compiling again"
        return f"{self.plan}\n{what}"

    __repr__ = __str__

    def solve(self, /, strict: bool = True, verbose: bool = False, **changes: Any) -> Solution:
        """Solve with other values for fields of the problem; fields that are not given keep their original values."""
        strict, verbose = as_flag(strict, "strict"), as_flag(verbose, "verbose")
        for field in changes:
            if field not in self.problem.adjustable:
                raise InvalidInput(
                    f"{field!r} cannot change in a compiled program; {', '.join(self.problem.adjustable)} can. For "
                    f"other changes make a new problem",
                    field,
                )
        plan, declaration, compiled = self._planned(changes)
        told, isolated = {**self.options, "warm_start": True}, needs_process(self.solver)
        with quiet_about_sparsity():
            attempt = run_declaration(declaration, self.solver, told, Limits(), isolated, verbose, compiled)
            return finished(plan, attempt, self.accuracy, dict(self.options), strict=strict)

    def _planned(self, changes: dict[str, Any]) -> tuple[Plan, Declaration, cp.Problem]:
        """Return the plan for other values, and what is compiled for it."""
        try:
            return self._compiled.planned_for(self.problem.changed(**changes), next(iter(changes), None))
        except CvxlinkError:
            raise
        except Exception as error:  # a formulation may not check its fields, and CVXPY then says what it does not like
            given = ", ".join(f"{name}={shown(value)}" for name, value in changes.items())
            words = " ".join(str(error).split()).rstrip(".")
            raise InvalidInput(
                f"{given} does not fit {self.problem.called} ({words}); give numbers like those it had",
                next(iter(changes), None),
            ) from error


class _AsDeclared:
    """The program as declared, with parameters where the formulation reads its numbers."""

    def __init__(self, problem: Formulation, solver: str | None) -> None:
        self.solver, self.why = (solver, "as requested") if solver else choose_solver(checked_program(problem))
        self.parameters: dict[str, cp.Parameter] = {}
        template = copy.copy(problem)
        object.__setattr__(template, "_stand_in", self._stand_in)
        self.declaration = template.declaration
        self.compiled = self.declaration.to_cvxpy()
        if not self.compiled.is_dpp():
            raise FormUnavailable(
                f"{problem.called} does not use its numbers in a way that CVXPY can compile once (they must be factors "
                f"or sides, see CVXPY's rules for parameters); make a new problem instead"
            )
        self.plan = self._plan(problem)

    def _plan(self, problem: Formulation) -> Plan:
        why = f"{self.why}; compiled once"
        return Plan(problem, (), checked_program(problem), why, form=problem.about.form, solver=self.solver)

    def _stand_in(self, name: str, value: Any, attributes: Mapping[str, Any] | None = None) -> Any:
        """Return the CVXPY parameter that stands for one or more numbers of the formulation.

        ``attributes`` are those of a parameter of CVXPY, if it is one already; otherwise it has the sign of its value.
        """
        if not np.size(value):  # for example, no links
            return value
        if name not in self.parameters:
            kept = {"nonneg": bool(np.min(value) >= 0)} if attributes is None else _kept(attributes)
            self.parameters[name] = cp.Parameter(np.shape(value), name=name, value=value, **kept)
        return self.parameters[name]

    def planned_for(self, problem: Formulation, field: str | None) -> tuple[Plan, Declaration, cp.Problem]:
        """Set the parameters to the numbers of a problem; return what to run."""
        for name, parameter in self.parameters.items():
            value = problem.parameter(name)
            if np.shape(value) != parameter.shape:
                raise InvalidInput(
                    f"these values change the shape of the program, not just its numbers ({name}); make a new problem",
                    field,
                )
            if parameter.attributes["nonneg"] and np.min(value) < 0:
                raise InvalidInput(
                    f"{name} must not be negative in this compiled program, as it was not when it was prepared; make a "
                    f"new problem",
                    field,
                )
            parameter.value = value
        return self._plan(problem), self.declaration, self.compiled


def _kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a parameter by which CVXPY decides what is convex."""
    kept = {name: attributes[name] for name in ("nonneg", "nonpos", "pos", "neg", "PSD", "NSD", "symmetric")}
    return {**kept, "symmetric": True} if attributes["diag"] else kept


class _AsReduced:
    """The program after its reductions, with parameters for all its costs and offsets."""

    def __init__(self, problem: Formulation, solver: str | None) -> None:
        planned = _dual_or_reduced(problem, solver)
        if all(step.lift is None for step in planned.steps):
            raise ReductionRefused("no reduction applies")
        assert planned.solver is not None
        self.options = Options(solver=planned.solver, form=planned.form)
        self.why, self.form = planned.why, planned.form
        self.parametrised = Parametrised.of(planned.program.declaration)
        self.plan = replace(planned, why=f"{self.why}; compiled once")

    def planned_for(self, problem: Formulation, field: str | None) -> tuple[Plan, Declaration, cp.Problem]:
        """Reduce a problem, and set the parameters to what is left of its numbers; compile again if that is not all."""
        planned, how = make_plan(problem, self.options), "compiled once"
        if not self.parametrised.takes(planned.program.declaration):
            self.parametrised, how = Parametrised.of(planned.program.declaration), "compiled again for these numbers"
        plan = replace(planned, why=f"{self.why}; {how}")
        return plan, self.parametrised.declaration, self.parametrised.compiled


def _dual_or_reduced(problem: Formulation, solver: str | None) -> Plan:
    """Return the plan for a solver: the dual where it is much smaller, as in a solve, otherwise the declared form."""
    if solver is not None:
        return make_plan(problem, Options(solver=solver))
    with_dual = problem.convex and "dual" in forms_of(problem)
    if with_dual:
        planned = make_plan(problem, Options(form="dual"))
        if planned.program.sizes.unknowns <= checked_program(problem).sizes.unknowns / 2:
            return planned
    return make_plan(problem, Options(form=problem.about.form))
