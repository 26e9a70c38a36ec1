"""Checks on declarations: variables, objective and constraints as they have to be, or a sentence on what is wrong."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.transforms.indicator import indicator

from ..errors import InvalidProblem
from ..numerics.arguments import shown
from . import typesetting
from .hidden_cones import parts_of


def check_leaves(term: Any, variables: Mapping[str, cp.Variable], what: str) -> None:
    """Raise if a term has an undeclared variable, a parameter without a value, or a constant that is not finite."""
    declared = {variable.id for variable in variables.values()}
    for variable in term.variables():
        if variable.id not in declared:
            raise InvalidProblem(f"{what} uses a variable {variable.name()} that variables() does not return")
    if any(isinstance(part, indicator) for part in parts_of(term)):
        raise InvalidProblem(f"{what} has an indicator of constraints; return these from constraints() instead")
    for parameter in term.parameters():
        if parameter.value is None:
            raise InvalidProblem(f"{what} has a parameter {parameter.name()} without a value; set its value")
    for constant in term.constants():
        numbers = constant.value.data if sp.issparse(constant.value) else constant.value
        if not np.isfinite(numbers).all():
            raise InvalidProblem(f"{what} has a constant with NaN or infinite entries")


OF_MATRICES = ("symmetric", "PSD", "NSD", "diag")


def listed(group: Any) -> list[Any]:
    """Return the constraints of a group: one, or several in a list, a tuple, an array or a generator."""
    if isinstance(group, np.ndarray):
        return group.ravel().tolist()
    several = isinstance(group, Iterable) and not isinstance(group, str | Mapping | cp.Expression)
    return list(group) if several else [group]


def as_constraints(term: Any) -> list[Any]:
    """Return a comparison of numbers, which Python answers at once, as a constraint; anything else as it is.

    A stack of matrices becomes one constraint per matrix.
    """
    if isinstance(term, bool | np.bool_):
        return [cp.Constant(0.0) <= cp.Constant(1.0) if term else cp.Constant(1.0) <= cp.Constant(0.0)]
    if isinstance(term, cp.constraints.PSD) and term.args[0].ndim > 2:
        stack = term.args[0]
        return [stack[place] >> 0 for place in np.ndindex(stack.shape[:-2])]
    return [term]


def checked_variables(problem: Any) -> dict[str, cp.Variable]:
    """Ask a problem for its variables and check them."""
    name, variables = type(problem).__name__, problem.variables()
    if not isinstance(variables, Mapping) or not variables:
        raise InvalidProblem(f"{name}.variables() must return a dictionary of CVXPY variables by name")
    names: dict[int, str] = {}
    for key, variable in variables.items():
        if not isinstance(key, str) or not key:
            raise InvalidProblem(f"{name}.variables() must name each variable with text, not {shown(key)}")
        if not isinstance(variable, cp.Variable):
            raise InvalidProblem(f"{name}.variables(): {key!r} is not a cvxpy.Variable")
        if names.setdefault(variable.id, key) != key:
            raise InvalidProblem(
                f"{name}.variables() returns one variable under two names, {names[variable.id]!r} and {key!r}; keep "
                f"one of them, or declare two variables and an equation"
            )
        if variable.is_complex() or variable.attributes["boolean"] or variable.attributes["integer"]:
            raise InvalidProblem(
                f"{name}: the variable {key} must be real; complex and integer variables are not supported"
            )
        if variable.ndim > 2 and any(variable.attributes[attribute] for attribute in OF_MATRICES):
            raise InvalidProblem(
                f"{name}: the variable {key} is a stack of matrices with an attribute of matrices; declare one "
                f"variable for each of them, or leave out the attribute and constrain {key}[k]"
            )
        if any(isinstance(bound, cp.Expression) for bound in variable.bounds or ()):
            raise InvalidProblem(
                f"{name}: the bounds of the variable {key} must be numbers; write an expression as a constraint"
            )
    return dict(variables)


def asked_by_name(problem: Any, what: str, variables: Mapping[str, cp.Variable]) -> Any:
    """Call ``problem.objective`` or ``problem.constraints`` with the variables by name; raise if it lacks one."""
    method, name = getattr(problem, what), type(problem).__name__
    whole = getattr(method, "__func__", None)  # with its "self"
    first = None if whole is None else next(iter(inspect.signature(whole).parameters.values()))
    if first is not None and first.kind is first.POSITIONAL_OR_KEYWORD and first.name in variables:
        raise InvalidProblem(
            f"{name}: a variable cannot be called {first.name!r}, the name of the first parameter of {what}(); call it "
            f"something else"
        )
    try:
        inspect.signature(method).bind(**variables)
    except TypeError as error:
        raise InvalidProblem(
            f"{name}.{what}() must have a parameter for each of the variables {', '.join(variables)}, by name: {error}"
        ) from None
    return method(**variables)


def not_convex_in(term: Any, variables: Mapping[str, cp.Variable]) -> str:
    """Return the part of an objective or a constraint because of which it is not convex by CVXPY's rules, in words."""
    if isinstance(term, cp.Minimize | cp.Maximize):
        convex = isinstance(term, cp.Minimize)
        wrong = [part for part in _summands(term.args[0]) if not (part.is_convex() if convex else part.is_concave())]
        term = wrong[0] if wrong else term
    return f"“{typesetting.expression(term, dict(variables))}”"


def _summands(expression: Any) -> Iterable[Any]:
    """Yield the parts of a sum, and of sums in it."""
    if not isinstance(expression, AddExpression):
        yield expression
        return
    for part in expression.args:
        yield from _summands(part)
