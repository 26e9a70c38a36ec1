"""Plain CVXPY problems: planned, solved and certified like any formulation, with the answer written back into them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.problems.problem import SolverStats
from cvxpy.reductions.solution import Solution as AnswerOfCVXPY

from ..certificates import Certificate
from ..errors import InfeasibleProblem, InvalidInput, SolveFailed
from ..model.declared import Declaration
from ..model.quiet import quiet_about_sparsity
from ..model.substitution import Substitution
from ..numerics.arguments import as_instance, as_mapping, shown
from ..numerics.matrices import as_dense
from ..programs.base import Program
from ..programs.status import Status
from ..solvers.through_cvxpy import RawResult
from .formulation import Formulation
from .given_points import certified
from .options import Options, signature
from .plain_cvxpy import checked_names, named, new_like, numbers_of, require_convex, require_real_variables
from .problem import Problem
from .solution import Solution
from .solve import solve as solve_as_asked

# How CVXPY calls an outcome with a point; what is not proven counts as inaccurate there.
WITH_A_POINT = {
    Status.OPTIMAL: cp.OPTIMAL,
    Status.INACCURATE: cp.OPTIMAL_INACCURATE,
    Status.UNPROVEN: cp.OPTIMAL_INACCURATE,
    Status.LIMIT: cp.USER_LIMIT,
}
WITHOUT_A_POINT = {Status.INFEASIBLE: (cp.INFEASIBLE, np.inf), Status.UNBOUNDED: (cp.UNBOUNDED, -np.inf)}


@dataclass(frozen=True, eq=False)
class Wrapped(Problem):
    """A plain CVXPY problem; :func:`cvxlink.wrap` makes it.

    It declares the same program over variables of its own, so several can be solved at once.

    Attributes
    ----------
    source : cvxpy.Problem
        The problem, into which :meth:`solve` writes the answer.
    names : dict
        The names that were given to variables and constraints.
    numbers : dict
        The values of the problem's parameters by name, as they were when it was wrapped.
    is_changed : bool
        Whether :meth:`changed` has given parameters other values. Answers are then written into the CVXPY problem only
        if the parameters have these values there too.
    """

    source: cp.Problem
    names: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[str, Any] | None = None
    is_changed: bool = False

    def __post_init__(self) -> None:
        problem = as_instance(self.source, cp.Problem, "problem", "a cvxpy.Problem")
        object.__setattr__(self, "names", checked_names(problem, self.names))
        require_real_variables(problem)
        require_convex(problem, self._groups)
        object.__setattr__(self, "numbers", numbers_of(self._parameters, self.numbers))

    # ------------------------------------------------------------------ the declaration

    @property
    def called(self) -> str:
        """What reports call it."""
        return "CVXPY problem"

    def _title(self) -> str:
        return self.called

    @cached_property
    def _own(self) -> dict[str, cp.Variable]:
        """The variables of the CVXPY problem by name."""
        given = {id(value): name for name, value in self.names.items() if isinstance(value, cp.Variable)}
        return named(self.source.variables(), given)

    @cached_property
    def _groups(self) -> dict[str, list[Any]]:
        """The constraints of the CVXPY problem by name."""
        given = {
            id(one): name
            for name, value in self.names.items()
            for one in (value if isinstance(value, list) else [value])
        }
        groups: dict[str, list[Any]] = {}
        seen: set[int] = set()
        for k, constraint in enumerate(self.source.constraints):
            if id(constraint) not in seen:
                seen.add(id(constraint))
                name = given.get(id(constraint)) or getattr(constraint, "label", None) or f"constraints[{k}]"
                groups.setdefault(name, []).append(constraint)
        return groups

    @cached_property
    def _parameters(self) -> dict[str, cp.Parameter]:
        return named(self.source.parameters(), {})

    @property
    def adjustable(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the problem's parameters."""
        return tuple(self._parameters)

    def parameter(self, name: str) -> Any:
        """Return the value of a parameter, or what stands for it in a program compiled once."""
        assert self.numbers is not None
        if not isinstance(name, str) or name not in self.numbers:
            raise InvalidInput.about("name", f"must be a parameter of the problem, not {shown(name)}")
        value, stand_in = self.numbers[name], self.__dict__.get("_stand_in")
        return value if stand_in is None else stand_in(name, value, self._parameters[name].attributes)

    @property
    def changeable(self) -> tuple[str, ...]:
        """The names of the problem's parameters, which :meth:`changed` takes."""
        return tuple(self._parameters)

    def _with_fields(self, given: Mapping[str, Any]) -> Wrapped:
        assert self.numbers is not None
        return replace(self, numbers={**self.numbers, **given}, is_changed=True)

    def variables(self) -> dict[str, cp.Variable]:
        """Return new variables like those of the problem."""
        return {name: new_like(variable, name) for name, variable in self._own.items()}

    def objective(self, /, **variables: Any) -> Any:
        """Return the objective of the problem over other variables."""
        return self._substitution(variables)(self.source.objective)

    def constraints(self, /, **variables: Any) -> dict[str, Any]:
        """Return the constraints of the problem over other variables."""
        replaced = self._substitution(variables)
        return {name: [replaced(one) for one in group] for name, group in self._groups.items()}

    def _substitution(self, variables: Mapping[str, Any]) -> Substitution:
        if variables.keys() != self._own.keys():
            raise InvalidInput(f"the variables must be {', '.join(self._own)}, not {', '.join(variables) or 'none'}")
        self.require_variables(**variables)
        replaced: list[tuple[Any, Any]] = [(self._own[name], variable) for name, variable in variables.items()]
        for name, parameter in self._parameters.items():
            number = self.parameter(name)
            if not isinstance(number, cp.Expression):
                number = cp.Constant(number)
                number = cp.psd_wrap(number) if parameter.attributes["PSD"] else number
            replaced.append((parameter, number))
        return Substitution(replaced)

    def __copy__(self) -> Wrapped:
        return replace(self)

    def __getstate__(self) -> dict[str, Any]:
        # A problem that was solved holds the solver, which cannot be sent anywhere.
        fresh = cp.Problem(self.source.objective, self.source.constraints)
        return {**super().__getstate__(), "source": fresh}

    # ------------------------------------------------------------------ the answer

    def solve(
        self, solver: str | None = None, form: str | None = None, presolve: bool = True, **options: Any
    ) -> Solution:
        """Solve the problem, certify the answer, and write it into the CVXPY problem.

        The arguments are those of :class:`~cvxlink.Options`. Afterwards ``x.value``, ``constraint.dual_value``,
        ``problem.value`` and ``problem.status`` are what CVXPY would have left there: nothing of an earlier answer
        stays, and an answer that is not proven is "optimal_inaccurate".
        """
        stale = self._stale
        if stale and not self.is_changed:
            raise InvalidInput(
                f"the parameter {stale[0]} has changed since the problem was wrapped, so the answer would not be "
                f"one of the CVXPY problem; wrap it again",
                "problem",
            )
        asked = Options.of(solver=solver, form=form, presolve=presolve, **options)
        if stale:
            return solve_as_asked(self, asked)
        try:
            solution = solve_as_asked(self, asked)
        except SolveFailed as failure:
            if isinstance(failure.solution, Solution):
                self.save(failure.solution)
            raise
        except InfeasibleProblem:  # seen before any solver ran
            self._clear()
            self.source.unpack(self._without_a_point(Status.INFEASIBLE))
            raise
        self.save(solution)
        return solution

    @property
    def _stale(self) -> list[str]:
        """The parameters of the CVXPY problem that have other values there now."""
        assert self.numbers is not None
        there = {name: parameter.value for name, parameter in self._parameters.items()}
        return [
            name
            for name, value in there.items()
            if value is None or not np.array_equal(as_dense(value), self.numbers[name])
        ]

    def save(self, solution: Solution) -> None:
        """Write a solution of this problem into the CVXPY problem: values, multipliers, and how it ended."""
        as_instance(solution, Solution, "solution", "a solution of this problem")
        if not isinstance(solution.problem, Wrapped) or solution.problem.source is not self.source:
            raise InvalidInput("solution must be one of this problem; it belongs to another", "solution")
        self._clear()
        self.source._solver_stats = _stats(solution)
        if solution.values and solution.status in WITH_A_POINT:
            primal = {variable.id: as_dense(solution.values[name]) for name, variable in self._own.items()}
            answer = AnswerOfCVXPY(WITH_A_POINT[solution.status], solution.value, primal, {}, {})
            self._save_duals(solution)
        elif solution.status in WITHOUT_A_POINT:
            answer = self._without_a_point(solution.status)
        else:
            self.source._status = cp.USER_LIMIT if solution.status is Status.LIMIT else None
            return
        with quiet_about_sparsity():
            self.source.unpack(answer)

    def _clear(self) -> None:
        """Remove what an earlier solve left in the CVXPY problem."""
        self.source._clear_solution()
        self.source._solver_stats = None

    def _without_a_point(self, status: Status) -> AnswerOfCVXPY:
        """Return how CVXPY says that there is no answer."""
        word, worst = WITHOUT_A_POINT[status]
        sign = 1.0 if isinstance(self.source.objective, cp.Minimize) else -1.0
        return AnswerOfCVXPY(word, sign * worst, {}, {}, {})

    def _save_duals(self, solution: Solution) -> None:
        sign = -1.0 if isinstance(self.source.objective, cp.Minimize) else 1.0
        for name, group in self._groups.items():
            if name not in solution.duals:
                continue
            kept = [one for one in group if one.size > 0]  # as in the declaration
            parts = [dual for one in kept for dual in one.dual_variables]
            flat = np.ravel(solution.duals[name], order="F")
            if len(flat) != sum(part.size for part in parts):
                continue
            signs = [sign if _is_row(one) else 1.0 for one in kept for _ in one.dual_variables]
            ends = np.cumsum([part.size for part in parts])[:-1]
            for part, numbers, factor in zip(parts, np.split(flat, ends), signs, strict=True):
                part.save_value(factor * numbers.reshape(part.shape, order="F"))

    def export(self, path: Any, form: str | None = None, presolve: bool = True, store_problem: bool = False) -> Path:
        """Write the program that a solver would get to a file, as :meth:`cvxlink.Problem.export` does.

        A CVXPY problem cannot be stored next to it: ``bring_back(…, problem=wrapped)`` takes it.
        """
        return super().export(path, form, presolve, store_problem)

    def certify(
        self,
        values: Mapping[str, Any] | None = None,
        duals: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Certificate:
        """Return what a point and multipliers prove; by default those that a solver left in the CVXPY problem.

        Parameters
        ----------
        values : dict, optional
            A value for each variable by name.
        duals : dict, optional
            Multipliers by the name of the constraint, in the convention of :func:`cvxlink.certify`.
        seconds : float, optional
            How long searches may take, as in :func:`cvxlink.certify`.
        """
        if values is None:
            as_mapping({} if duals is None else duals, "duals", "multipliers by name")
            with quiet_about_sparsity():
                left = self._left_there()
            values, duals = left.values, left.duals if duals is None else duals
        return super().certify(values, duals, seconds)

    def _left_there(self) -> RawResult:
        """Return the values and multipliers in the CVXPY problem, in our convention."""
        for name, variable in self._own.items():
            if variable.value is None and str(self.source.status).startswith((cp.INFEASIBLE, cp.UNBOUNDED)):
                raise InvalidInput(
                    f"the problem was found {self.source.status}, so it has no point to certify; "
                    f"cl.wrap(problem).why_infeasible() says why, with a proof",
                    "problem",
                )
            if variable.value is None:
                raise InvalidInput(
                    f"the variable {name} has no value; solve the problem first, or give values", "problem"
                )
        left = RawResult()
        groups = {name: [one for one in group if one.size > 0] for name, group in self._groups.items()}
        groups = {name: group for name, group in groups.items() if group}
        left.read_point(Declaration(self._own, self.source.objective, groups))
        return left


Wrapped.solve.__signature__ = signature()  # type: ignore[attr-defined]


def wrap(problem: cp.Problem, names: Mapping[str, Any] | None = None) -> Wrapped:
    """Return a plain CVXPY problem as one that can be explained, reduced, solved, certified and exported.

    Parameters
    ----------
    problem : cvxpy.Problem
        A convex problem by CVXPY's rules (DCP), with real variables. Its parameters need values, which are read now.
    names : dict, optional
        Names for variables, constraints and lists of constraints: ``{"budget": problem.constraints[0]}``. Otherwise a
        variable has the name that CVXPY knows, and a constraint its label, or ``"constraints[0]"`` if it has none.
        Constraints with one label form one group.

    Returns
    -------
    Wrapped
        Its ``solve`` also writes the answer into the CVXPY problem. The parameters are ``adjustable``: they can be
        changed in :meth:`~cvxlink.Problem.prepare` and :meth:`~cvxlink.Problem.path`.
    """
    wrapped = Wrapped(problem, {} if names is None else names)
    _ = wrapped.declaration  # what cannot be taken is said here
    return wrapped


def certify(
    problem: Problem | Program | cp.Problem,
    values: Mapping[str, Any] | None = None,
    duals: Mapping[str, Any] | None = None,
    seconds: float | None = None,
) -> Certificate:
    """Return what a point, and optionally multipliers, prove about a problem.

    Parameters
    ----------
    problem : Problem, Program or cvxpy.Problem
    values : dict
        A value for each declared variable. For a CVXPY problem, by default the values and multipliers that a solver
        left in it.
    duals : dict, optional
        Multipliers by the name of the constraint. For lhs = rhs and lhs ≤ rhs this is the change of the optimum per
        unit of u in rhs + u (CVXPY reads a ≥ b as b ≤ a), for a semidefinite constraint the slack matrix.
    seconds : float, optional
        How long searches for better multipliers and for a feasible point may take; by default as long as they need.
        With 0, only the given multipliers are used.
    """
    if isinstance(problem, cp.Problem):
        problem = wrap(problem)
    if isinstance(problem, Wrapped):
        return problem.certify(values, duals, seconds)
    if not isinstance(problem, Program):
        as_instance(problem, Formulation, "problem", "a problem, a program or a cvxpy.Problem")
    if values is None:
        raise InvalidInput("values must be given: a value for each variable by name", "values")
    return certified(problem, values, duals, seconds)


def _stats(solution: Solution) -> SolverStats:
    """Return how a solve went, as CVXPY says it; a route is named instead of a solver."""
    plan, timings = solution.plan, solution.timings
    route = None if plan.route is None else f"cvxlink, route {plan.route.name!r}"
    return SolverStats(plan.solver or route or "cvxlink", timings.solve, timings.compile, solution.iterations)


def _is_row(constraint: Any) -> bool:
    return isinstance(constraint, cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero)
