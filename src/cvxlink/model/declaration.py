"""A declared program, collected and checked: variables, objective, named constraints, and sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import InvalidProblem
from . import typesetting as mathematics


def _check_leaves(term: Any, variables: Mapping[str, cp.Variable], what: str) -> None:
    """Raise if a term has an undeclared variable, a parameter without a value, or a constant that is not finite."""
    declared = {variable.id for variable in variables.values()}
    for variable in term.variables():
        if variable.id not in declared:
            raise InvalidProblem(f"{what} uses a variable {variable.name()} that variables() does not return")
    for parameter in term.parameters():
        if parameter.value is None:
            raise InvalidProblem(f"{what} has a parameter {parameter.name()} without a value; set its value")
    for constant in term.constants():
        numbers = constant.value.data if sp.issparse(constant.value) else constant.value
        if not np.isfinite(numbers).all():
            raise InvalidProblem(f"{what} has a constant with NaN or infinite entries")


def checked_variables(problem: Any) -> dict[str, cp.Variable]:
    """Ask a problem for its variables and check them."""
    name, variables = type(problem).__name__, problem.variables()
    if not isinstance(variables, Mapping) or not variables:
        raise InvalidProblem(f"{name}.variables() must return a dictionary of CVXPY variables by name")
    for key, variable in variables.items():
        if not isinstance(variable, cp.Variable):
            raise InvalidProblem(f"{name}.variables(): {key!r} is not a cvxpy.Variable")
        if variable.is_complex() or variable.attributes["boolean"] or variable.attributes["integer"]:
            raise InvalidProblem(
                f"{name}: the variable {key} must be real; complex and integer variables are not supported"
            )
    return dict(variables)


@dataclass(frozen=True)
class Sizes:
    """How large a program is."""

    unknowns: int
    equations: int
    inequalities: int
    psd: tuple[int, ...]
    other: tuple[str, ...] = ()
    log_det: tuple[int, ...] = ()

    def __str__(self) -> str:
        parts = [f"{self.unknowns} unknowns"]
        if self.equations:
            parts.append(f"{self.equations} equation{'s' if self.equations > 1 else ''}")
        if self.inequalities:
            parts.append(f"{self.inequalities} inequalit{'ies' if self.inequalities > 1 else 'y'}")
        parts += [f"semidefinite of order {order}" for order in self.psd]
        parts += [f"log det of order {order}" for order in self.log_det]
        return ", ".join([*parts, *self.other])


@dataclass(frozen=True, eq=False)
class Declaration:
    """A declared program: its variables, its objective and its constraints by name."""

    variables: dict[str, cp.Variable]
    objective: cp.Minimize | cp.Maximize
    constraints: dict[str, list[Any]]

    @classmethod
    def of(cls, problem: Any, variables: Mapping[str, cp.Variable]) -> Declaration:
        """Collect and check what a problem declares over its variables; an error names the part that is wrong."""
        name = type(problem).__name__
        objective = problem.objective(**variables)
        if not isinstance(objective, (cp.Minimize, cp.Maximize)):
            raise InvalidProblem(f"{name}.objective() must return cvxpy.Minimize(…) or cvxpy.Maximize(…)")
        _check_leaves(objective, variables, f"{name}: the objective")
        if problem.convex and not objective.is_dcp():
            raise InvalidProblem(
                f"{name}: CVXPY does not recognise the objective as convex "
                f"(for Maximize: concave); rewrite it to follow the rules of disciplined convex programming"
            )
        declared = problem.constraints(**variables)
        if not isinstance(declared, Mapping):
            raise InvalidProblem(f"{name}.constraints() must return a dictionary of constraints by name")
        groups = {}
        for key, group in declared.items():
            terms = list(group) if isinstance(group, (list, tuple)) else [group]
            for term in terms:
                if not isinstance(term, cp.constraints.constraint.Constraint):
                    raise InvalidProblem(
                        f"{name}: the constraint {key!r} contains {term!r}, which is not a CVXPY constraint"
                    )
                _check_leaves(term, variables, f"{name}: the constraint {key!r}")
                if problem.convex and not term.is_dcp():
                    raise InvalidProblem(
                        f"{name}: CVXPY does not recognise the constraint {key!r} as convex; "
                        f"rewrite it to follow the rules of disciplined convex programming"
                    )
            terms = [term for term in terms if term.size > 0]
            if terms:  # an empty set of links makes an empty group: nothing to solve, nothing to show
                groups[key] = terms
        return cls(dict(variables), objective, groups)

    @property
    def terms(self) -> list[Any]:
        """All constraints, group after group."""
        return [term for group in self.constraints.values() for term in group]

    def to_cvxpy(self) -> cp.Problem:
        """Return the program as CVXPY takes it."""
        return cp.Problem(self.objective, self.terms)

    def worded(self, terms: list) -> str:
        """Return constraints, or the objective, in plain characters: as mathematics, or as CVXPY writes them."""
        return ",  ".join(mathematics.expression(term, self.variables) for term in terms)

    def tex(self, terms: list) -> str:
        """Return the same as LaTeX."""
        return r",\quad ".join(mathematics.tex(term, self.variables) for term in terms)

    @property
    def sizes(self) -> Sizes:
        """Count unknowns, equations, inequalities and cones."""
        unknowns = 0
        psd, other = [], []
        equations = inequalities = 0
        for variable in self.variables.values():
            order = variable.shape[0] if variable.ndim == 2 else 0
            symmetric = order > 1 and variable.is_symmetric()
            unknowns += order * (order + 1) // 2 if symmetric else variable.size
            if variable.attributes["PSD"]:
                psd.append(order)
        for term in self.terms:
            if isinstance(term, cp.constraints.PSD):
                psd.append(term.shape[-1])
            elif isinstance(term, (cp.constraints.Zero, cp.constraints.Equality)):
                equations += term.size
            elif isinstance(term, (cp.constraints.NonPos, cp.constraints.NonNeg, cp.constraints.Inequality)):
                inequalities += term.size
            else:
                other.append(f"{type(term).__name__} of size {term.size}")
        logarithms = tuple(order for part in (self.objective, *self.terms) for order in _log_dets(part))
        return Sizes(unknowns, equations, inequalities, tuple(psd), tuple(other), logarithms)


def _log_dets(expression: Any) -> Iterator[int]:
    """Yield the orders of the matrices whose log-determinants are in an expression."""
    if isinstance(expression, cp.log_det):
        yield expression.args[0].shape[0]
    for part in getattr(expression, "args", ()):
        yield from _log_dets(part)
