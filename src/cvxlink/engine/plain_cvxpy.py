"""Plain CVXPY problems: what their parts are called, and which problems can be taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import InvalidInput, InvalidProblem
from ..model.well_formed import not_convex_in
from ..numerics.arguments import as_mapping, shown
from ..numerics.checks import real_array
from ..numerics.matrices import as_dense


def checked_names(problem: cp.Problem, names: Any) -> dict[str, Any]:
    """Return the given names, each with a variable, or with a list of constraints."""
    checked: dict[str, Any] = {}
    variables = {id(variable) for variable in problem.variables()}
    constraints = {id(constraint) for constraint in problem.constraints}
    known: dict[int, str] = {}
    for name, given in as_mapping(names, "names", "variables and constraints by name").items():
        several = list(given) if isinstance(given, list | tuple) else [given]
        if not name:
            raise InvalidInput.about("names", f"must not have an empty name, as for {shown(given)}")
        for one in several:
            other = known.setdefault(id(one), name)
            if other != name:
                raise InvalidInput.about("names", f"has two names, {other!r} and {name!r}, for one part of the problem")
        if len(several) == 1 and id(several[0]) in variables:
            checked[name] = several[0]
        elif several and all(id(one) in constraints for one in several):
            checked[name] = several
        else:
            raise InvalidInput.about(
                "names", f"must have variables and constraints of the problem; {name!r} is {shown(given)}"
            )
    for k, constraint in enumerate(problem.constraints):
        automatic = getattr(constraint, "label", None) or f"constraints[{k}]"
        if id(constraint) not in known and isinstance(checked.get(automatic), list):
            raise InvalidInput.about(
                "names", f"must not have {automatic!r} for a constraint, which another constraint is called already"
            )
    return checked


def named(leaves: list[Any], given: Mapping[int, str]) -> dict[str, Any]:
    """Return variables or parameters by name; of several with one name, all but the first get a number."""
    found: dict[str, Any] = {given[id(leaf)]: leaf for leaf in leaves if id(leaf) in given}
    for leaf in leaves:
        if id(leaf) not in given:
            name = leaf.name()
            found[next(free for free in _numbered(name) if free not in found)] = leaf
    return {name: leaf for one in leaves for name, leaf in found.items() if leaf is one}  # in the order of CVXPY


def _numbered(name: str) -> Iterator[str]:
    yield name
    k = 2
    while True:
        yield f"{name}_{k}"
        k += 1


def require_real_variables(problem: cp.Problem) -> None:
    """Raise if a problem has no variables, or some that are not real."""
    if not problem.variables():
        raise InvalidInput("problem has no variables, so there is nothing to solve", "problem")
    for variable in problem.variables():
        kinds = [kind for kind in ("boolean", "integer") if variable.attributes[kind]]
        kinds += ["complex"] if variable.is_complex() else []
        if kinds:
            raise InvalidInput(
                f"problem has the {kinds[0]} variable {variable.name()}; only real ones are supported, so relax it",
                "problem",
            )
        if any(
            isinstance(bound, cp.Expression) and bound.parameters() for bound in variable.attributes["bounds"] or ()
        ):
            raise InvalidInput(
                f"problem has bounds with parameters on the variable {variable.name()}; write them as constraints",
                "problem",
            )


def require_convex(problem: cp.Problem, groups: Mapping[str, list[Any]]) -> None:
    """Raise if a problem is not convex by CVXPY's rules; the message names the part that is not."""
    parts = [("its objective", problem.objective)]
    parts += [(f"its constraint {name!r}", one) for name, group in groups.items() for one in group]
    found = next(((what, one) for what, one in parts if not one.is_dcp()), None)
    if found is None:
        return
    wrong = f"{found[0]}: {not_convex_in(found[1], {v.name(): v for v in problem.variables()})}"
    kind = ""
    if problem.is_dgp():
        kind = "; it is a geometric program, which becomes convex in the logarithms of its variables"
    elif problem.is_dqcp():
        kind = "; it is quasiconvex, so fix the level and wrap the convex feasibility problem"
    raise InvalidProblem(f"the CVXPY problem is not convex by CVXPY's rules (DCP) because of {wrong}{kind}")


def numbers_of(parameters: Mapping[str, cp.Parameter], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of all parameters: those given, otherwise those they have."""
    numbers = {}
    for name, parameter in parameters.items():
        value = parameter.value if given is None else given[name]
        if value is None:
            raise InvalidInput(f"problem has the parameter {name} without a value; set its value first", "problem")
        array = np.array(real_array(as_dense(value), name))
        if array.shape != parameter.shape or not np.isfinite(array).all():
            raise InvalidInput.about(
                name, f"must be finite numbers of the shape {parameter.shape}, like the parameter; not {shown(value)}"
            )
        try:
            parameter._validate_value(array)
        except ValueError as error:
            raise InvalidInput.about(name, f"is not a value of the parameter: {error}") from None
        numbers[name] = array[()]
    return numbers


def new_like(variable: cp.Variable, name: str) -> cp.Variable:
    """Return a new variable of the same shape with the same attributes."""
    attributes = dict(variable.attributes)
    if attributes["bounds"] is not None:
        attributes["bounds"] = [b.value if isinstance(b, cp.Expression) else b for b in attributes["bounds"]]
    return cp.Variable(variable.shape, name=name, **attributes)
