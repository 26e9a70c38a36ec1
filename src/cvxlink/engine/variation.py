"""Variations of a formulation: its program without some constraints, with others, or with more in the objective."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import cvxpy as cp

from ..errors import CvxlinkError, InvalidInput, InvalidProblem
from ..model.about import About
from ..model.declared import declared_variables
from ..model.well_formed import asked_by_name
from ..numerics.arguments import as_mapping, shown
from ..numerics.matrices import Arrays
from .formulation import Formulation, Learnt

Made = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Variation(Formulation):
    """What a variation declares. Of the original it keeps the data and what its variables mean for clustering.

    What was said about the original program (its fast path, its proof, its equivalents, its LaTeX, its paper) is not
    true of another one, and is left behind.

    Attributes
    ----------
    original : Problem
    removed : tuple of str
        The constraints of the original that are left out.
    added : dict
        Functions of the variables that return further constraints, by name.
    plus : tuple
        Functions of the variables that return what is added to the objective.
    """

    original: Formulation
    removed: tuple[str, ...] = ()
    added: Mapping[str, Made] = field(default_factory=dict)
    plus: tuple[Made, ...] = ()

    @property
    def called(self) -> str:
        """The name of the original, and what is different."""
        parts = [f"without {_listed(self.removed)}"] if self.removed else []
        parts += [f"with {_listed(self.added)}"] if self.added else []
        parts += [f"plus {len(self.plus)} term{'s' if len(self.plus) > 1 else ''}"] if self.plus else []
        return f"{self.original.called} {', '.join(parts)}"

    def _title(self) -> str:
        return self.called

    @property
    def about(self) -> About:  # type: ignore[override]
        """What stays true of the original."""
        return self.original.about.of_another_program()

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether the original is convex."""
        return self.original.convex

    @property
    def adjustable(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields of the original that may change in a program compiled once."""
        return self.original.adjustable

    def __getattr__(self, name: str) -> Any:
        # The data of the original (graph, links, weights), and nothing that could compute with its program.
        original = self.__dict__.get("original")
        known = original is not None and (name in _fields_of(original) or name == "n_clusters")
        if not known:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(original, name)

    def parameter(self, name: str) -> Any:
        """Return a field of the original, or what stands for it in a program compiled once."""
        return self._template.parameter(name)

    @property
    def _template(self) -> Formulation:
        """The original, told about what stands for its numbers in a program compiled once."""
        stand_in = self.__dict__.get("_stand_in")
        if stand_in is None:
            return self.original
        template = copy.copy(self.original)
        object.__setattr__(template, "_stand_in", stand_in)
        return template

    @property
    def changeable(self) -> tuple[str, ...]:
        """The fields of the original."""
        return self.original.changeable

    def _with_fields(self, given: Mapping[str, Any]) -> Any:
        return replace(self, original=self.original.changed(**given))

    def variables(self) -> dict[str, cp.Variable]:
        """Return the variables of the original."""
        return self.original.variables()

    def objective(self, /, **variables: Any) -> Any:
        """Return the objective of the original and what is added to it."""
        objective = asked_by_name(self._template, "objective", variables)
        terms = [_term(asked(made, variables, "the term")) for made in self.plus]
        return type(objective)(sum(terms, objective.args[0])) if terms else objective

    def constraints(self, /, **variables: Any) -> dict[str, Any]:
        """Return the constraints of the original without some, and those that are added."""
        declared = asked_by_name(self._template, "constraints", variables)
        kept = {name: group for name, group in declared.items() if name not in self.removed}
        added = {name: asked(made, variables, f"the constraint {name!r}") for name, made in self.added.items()}
        return {**kept, **added}

    def learnt(self, values: Arrays) -> Learnt:
        """Return what the variables mean in the original, without what it measures of its own program."""
        return replace(self.original.learnt(values), measures={}, propagation=None)

    def point_of_clustering(self, labels: Any) -> dict[str, Any] | None:
        """Return a clustering as a point of the original, which has the same variables."""
        return self.original.point_of_clustering(labels)


def _listed(names: Iterable[str]) -> str:
    *some, last = (repr(name) for name in names)
    return f"{', '.join(some)} and {last}" if some else last


def _fields_of(problem: Formulation) -> set[str]:
    if isinstance(problem, Variation):
        return _fields_of(problem.original)
    return {one.name for one in fields(problem)} if is_dataclass(problem) else set(vars(problem))


def _term(term: Any) -> Any:
    if not isinstance(term, cp.Expression) or term.size != 1:
        raise InvalidProblem(f"the term must be one number, a scalar CVXPY expression, not {shown(term)}")
    return term if term.shape == () else cp.sum(term)


def asked(made: Made, variables: Mapping[str, Any], what: str) -> Any:
    """Call a function with the variables it has parameters for; if there is only one, whatever it calls that one."""
    given, named = _arguments(made, variables, what)
    try:
        return made(*given, **named)
    except CvxlinkError:
        raise
    except Exception as error:  # it is anybody's code
        raise InvalidProblem(
            f"{what} cannot be made from {', '.join(variables)}: {type(error).__name__}: {error}"
        ) from error


def _arguments(made: Made, variables: Mapping[str, Any], what: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the variables that a function has parameters for, by place or by name; raise if it has others."""
    try:
        signature = inspect.signature(made)
    except (TypeError, ValueError):  # some functions do not tell
        return list(variables.values()), {}
    parameters = signature.parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return [], dict(variables)
    known = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)}
    taken = {name: variable for name, variable in variables.items() if name in known}
    if not taken and len(variables) == 1 and _takes(signature, variables.values()):
        return list(variables.values()), {}
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
    other = next((one.name for one in needed if one.name not in taken), None)
    if not taken or other is not None:
        wrong = "no parameters" if other is None else f"the parameter {other!r}"
        known_as = (
            f"the variable {next(iter(variables))}" if len(variables) == 1 else f"variables: {', '.join(variables)}"
        )
        raise InvalidProblem(f"{what} is a function with {wrong}; its parameters have to be {known_as}")
    return [], taken


def _takes(signature: inspect.Signature, arguments: Iterable[Any]) -> bool:
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


# ---------------------------------------------------------------------- what makes one


def without(problem: Formulation, names: tuple[Any, ...]) -> dict[str, Any]:
    """Return the fields of a variation without some constraints."""
    here, variation = _group_names(problem), _fields(problem)
    there = f"there are {_listed(here)}" if here else "it has none"
    if not names:
        raise InvalidInput(f"names must name constraints to leave out; {there}", "names")
    for name in names:
        if name not in here:
            raise InvalidInput(f"{problem.called} has no constraint {shown(name)}; {there}", "names")
    added = {name: made for name, made in variation["added"].items() if name not in names}
    removed = [name for name in names if name not in variation["added"]]
    return {**variation, "added": added, "removed": tuple(dict.fromkeys([*variation["removed"], *removed]))}


def with_constraints(problem: Formulation, groups: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a variation with further constraints."""
    given = {**as_mapping({} if groups is None else groups, "groups", "functions by name"), **named}
    here, variation = _group_names(problem), _fields(problem)
    if not given:
        raise InvalidInput("groups must name constraints to add: with_constraints(cap=lambda K: K <= 1)", "groups")
    for name, made in given.items():
        if name in here:
            raise InvalidInput(
                f"{problem.called} has a constraint {name!r} already; use another name, or leave that one out first, "
                f"without({name!r})",
                "groups",
            )
        _require_function(made, name, "groups", "K <= 1")
    return {**variation, "added": {**variation["added"], **given}}


def plus(problem: Formulation, term: Any) -> dict[str, Any]:
    """Return the fields of a variation with more in its objective."""
    _require_function(term, "term", "term", "cp.trace(K)")
    variation = _fields(problem)
    return {**variation, "plus": (*variation["plus"], term)}


def _require_function(made: Any, name: str, argument: str, example: str) -> None:
    if not callable(made):
        raise InvalidInput(
            f"{name} must be a function of the variables, such as lambda K: {example}, not {shown(made)}", argument
        )


def _group_names(problem: Formulation) -> list[str]:
    """Return the names of all constraints, also of those that are empty here."""
    declared = asked_by_name(problem, "constraints", declared_variables(problem))
    return list(as_mapping(declared, "constraints", "constraints by name"))


def _fields(problem: Formulation) -> dict[str, Any]:
    """Return the fields of a variation of a problem; one of a variation is one of its original."""
    if isinstance(problem, Variation):
        return {one.name: getattr(problem, one.name) for one in fields(Variation)}
    return {"original": problem, "removed": (), "added": {}, "plus": ()}
