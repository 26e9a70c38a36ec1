"""What every formulation declares: variables, an objective and named constraints. Nothing here is about solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np

from ..errors import InvalidInput, InvalidProblem
from ..numerics.arguments import as_mapping, shown
from ..numerics.checks import real_array
from ..numerics.matrices import Arrays
from . import attributes, typesetting
from . import typesetting as mathematics
from .about import About
from .expressions import as_expression
from .hidden_cones import exponential_atoms, log_dets, parts_of, semidefinite_orders
from .tables import WIDTH
from .well_formed import as_constraints, asked_by_name, check_leaves, checked_variables, listed, not_convex_in


@dataclass(frozen=True)
class Sizes:
    """How large a program is.

    ``hidden_psd`` are the orders of semidefinite blocks that CVXPY makes of functions, and ``exponential`` the names of
    functions that need exponential cones.
    """

    unknowns: int
    equations: int
    inequalities: int
    psd: tuple[int, ...]
    other: tuple[str, ...] = ()
    log_det: tuple[int, ...] = ()
    hidden_psd: tuple[int, ...] = ()
    exponential: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"{self.unknowns} unknown{'s' if self.unknowns != 1 else ''}"]
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
        name = problem.called
        objective = asked_by_name(problem, "objective", variables)
        if not isinstance(objective, (cp.Minimize, cp.Maximize)):
            raise InvalidProblem(f"{name}.objective() must return cvxpy.Minimize(…) or cvxpy.Maximize(…)")
        check_leaves(objective, variables, f"{name}: the objective")
        if problem.convex and not objective.is_dcp():
            kind = "convex" if isinstance(objective, cp.Minimize) else "concave"
            raise InvalidProblem(
                f"{name}: CVXPY does not recognise the objective as {kind} because of "
                f"{not_convex_in(objective, variables)}; rewrite it to follow the rules of disciplined convex "
                f"programming"
            )
        declared = asked_by_name(problem, "constraints", variables)
        if not isinstance(declared, Mapping):
            raise InvalidProblem(f"{name}.constraints() must return a dictionary of constraints by name")
        groups = {}
        for key, group in declared.items():
            terms = [constraint for term in listed(group) for constraint in as_constraints(term)]
            for term in terms:
                if not isinstance(term, cp.constraints.constraint.Constraint):
                    raise InvalidProblem(
                        f"{name}: the constraint {key!r} contains {term!r}, which is not a CVXPY constraint"
                    )
                if isinstance(term, cp.constraints.FiniteSet):
                    raise InvalidProblem(
                        f"{name}: the constraint {key!r} allows single values only, which is not convex; use an "
                        f"interval"
                    )
                check_leaves(term, variables, f"{name}: the constraint {key!r}")
                if problem.convex and not term.is_dcp():
                    raise InvalidProblem(
                        f"{name}: CVXPY does not recognise the constraint {key!r} as convex because of "
                        f"{not_convex_in(term, variables)}; rewrite it to follow the rules of disciplined convex "
                        f"programming"
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

    def said_of_variables(self, written: Callable[[str, cp.Variable, bool], list[str]]) -> dict[str, list[str]]:
        """Return what variables are declared to be, by name, where that is anything; ``written`` writes one."""
        parts = [part for term in (self.objective, *self.terms) for part in parts_of(term)]
        matrices = [part for part in parts if isinstance(part, cp.constraints.PSD | cp.log_det)]
        ids = {variable.id for part in matrices for variable in part.variables()}
        found = {name: written(name, v, v.id in ids) for name, v in self.variables.items()}
        return {name: statements for name, statements in found.items() if statements}

    @cached_property
    def sizes(self) -> Sizes:
        """Count unknowns, equations, inequalities and cones."""
        unknowns = 0
        psd, other = [], []
        equations = inequalities = 0
        for variable in self.variables.values():
            unknowns += attributes.unknowns_of(variable)
            if variable.attributes["PSD"] or variable.attributes["NSD"]:
                psd.append(variable.shape[0])
        for term in self.terms:
            if isinstance(term, cp.constraints.PSD):
                psd.append(term.shape[-1])
            elif isinstance(term, (cp.constraints.Zero, cp.constraints.Equality)):
                equations += term.size
            elif isinstance(term, (cp.constraints.NonPos, cp.constraints.NonNeg, cp.constraints.Inequality)):
                inequalities += term.size
            else:
                other.append(f"{type(term).__name__} of size {term.size}")
        parts = (self.objective, *self.terms)
        logarithms = tuple(order for part in parts for order in log_dets(part))
        hidden = tuple(order for part in parts for order in semidefinite_orders(part))
        exponential = tuple(dict.fromkeys(name for part in parts for name in exponential_atoms(part)))
        return Sizes(unknowns, equations, inequalities, tuple(psd), tuple(other), logarithms, hidden, exponential)


DECLARES = ("variables", "objective", "constraints")
MADE_OF_VARIABLES = ("_variables", "declaration", "program", "_checked_program")


class Declared(ABC):
    """A convex program, declared by three methods, that can be printed."""

    about: ClassVar[About] = About()
    convex: ClassVar[bool] = True

    # Members that describe one program and are not true of another; subclasses add to them.
    _said_about_the_program: ClassVar[tuple[str, ...]] = ("tex",)

    def __init_subclass__(cls, **options: Any) -> None:
        """Reset what describes an inherited program in a subclass that declares another one.

        A class may change the program by its own methods, through a mixin, or because ``super()`` leads elsewhere. So
        all definitions along the method resolution order are compared.
        """
        super().__init_subclass__(**options)
        for name in cls._said_about_the_program:
            if not is_said_of(cls, name):
                setattr(cls, name, _default(cls, name))
        if not is_said_of(cls, "about"):
            cls.about = cls.about.of_another_program()

    @property
    def called(self) -> str:
        """What reports call it: the name of its class."""
        return type(self).__name__

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX for the objective (key ``"objective"``) and constraints, by name, where the terms have none."""
        return {}

    @abstractmethod
    def variables(self) -> dict[str, cp.Variable]:
        """Return new CVXPY variables by name."""

    @abstractmethod
    def objective(self, **variables: Any) -> cp.Minimize | cp.Maximize:
        """Return the objective; the variables are passed by name."""

    @abstractmethod
    def constraints(self, **variables: Any) -> Mapping[str, Any]:
        """Return the constraints by name; each entry is one constraint or a list of them."""

    def parameter(self, name: str) -> Any:
        """Return an attribute by name, or the CVXPY parameter that stands for it in a program compiled once."""
        if not isinstance(name, str) or not hasattr(self, name):
            raise InvalidInput.about("name", f"must be a field of {type(self).__name__}, not {shown(name)}")
        value, stand_in = getattr(self, name), self.__dict__.get("_stand_in")
        if name in getattr(self, "adjustable", ()) and not isinstance(value, np.ndarray | float | int | Mapping | None):
            try:
                real_array(value, name)
            except InvalidInput:  # before CVXPY says so in its own words
                problem = f"must be a number or an array of numbers, not {shown(value)}"
                raise InvalidInput.about(name, problem) from None
        return value if stand_in is None else stand_in(name, value)

    def require_variables(self, /, **given: Any) -> None:
        """Raise if something given by the name of a variable does not have its shape."""
        for name, variable in declared_variables(self).items():
            if name in given:
                as_expression(given[name], name, variable.shape)

    @cached_property
    def declaration(self) -> Declaration:
        """The declared program, checked to be well formed and convex. The formulation is asked only once."""
        return Declaration.of(self, declared_variables(self))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        for made in MADE_OF_VARIABLES:  # it is another program now
            self.__dict__.pop(made, None)

    def __getstate__(self) -> dict[str, Any]:
        # CVXPY's variables, and what was made of them, belong to this object alone: a copy declares its own.
        return {name: value for name, value in self.__dict__.items() if name not in MADE_OF_VARIABLES}

    def __str__(self) -> str:
        declaration, tex = self.declaration, self.tex

        def written(name: str, terms: list) -> str:
            return typesetting.plain(tex[name]) if name in tex else declaration.worded(terms)

        verb = "minimise" if isinstance(declaration.objective, cp.Minimize) else "maximise"
        rows = [(verb, written("objective", [declaration.objective]), "")]
        for name, group in declaration.constraints.items():
            rows.append(("" if len(rows) > 1 else "subject to", written(name, group), name))
        for name, statements in declaration.said_of_variables(attributes.worded).items():
            rows.append(("" if len(rows) > 1 else "subject to", ",  ".join(statements), f"(as {name} is declared)"))
        width = max(len(text) for _, text, name in rows if name) if len(rows) > 1 else 0
        lines = [self._title()]
        lines += [f"  {head:<11} {text:<{width}}   {name}".rstrip() for head, text, name in rows]
        shapes = (f"{n}: {'×'.join(map(str, v.shape)) or 'scalar'}" for n, v in declaration.variables.items())
        lines.append(f"  {'over':<11} {', '.join(shapes)}")
        lines.append(f"  {'size':<11} {declaration.sizes}")
        if self.about.citation:
            whole = str(self.about.citation).replace("eq. ", "eq.\u00a0")  # "eq. (1)" stays on one line
            wrapped = wrap(f"  {'from':<11} {whole}", WIDTH, subsequent_indent=" " * 14)
            lines += [line.replace("\u00a0", " ") for line in wrapped]
        return "\n".join(lines)

    def _repr_latex_(self) -> str:
        declaration, tex = self.declaration, self.tex

        def written(name: str, terms: list) -> str:
            return tex.get(name) or declaration.tex(terms)

        verb = r"\min" if isinstance(declaration.objective, cp.Minimize) else r"\max"
        over = ",".join(declaration.variables)
        lines = [rf"{verb}_{{{over}}} \quad & {written('objective', [declaration.objective])}"]
        head = r"\text{s.t.} \quad"
        for name, group in declaration.constraints.items():
            lines.append(f"{head} & {written(name, group)}")
            head = ""
        for statements in declaration.said_of_variables(attributes.tex).values():
            lines.append(head + " & " + r",\quad ".join(statements))
            head = ""
        return "$$\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}$$"

    def _title(self) -> str:
        """Return the name of the class and the first line of its own docstring."""
        name, summary = type(self).__name__, (type(self).__doc__ or "").strip().splitlines()
        # A dataclass without a docstring gets its signature as one, which does not help a reader.
        useful = summary and not summary[0].startswith(f"{name}(")
        return f"{name}: {summary[0].rstrip('.')}" if useful else name


def as_values(variables: Mapping[str, cp.Variable], values: Any, argument: str) -> Arrays:
    """Return a value of the right shape for each of some variables, as it was given: an array or a product."""
    given = as_mapping(values, argument, "the values of the variables by name")
    stored = dict(given.stored if isinstance(given, Arrays) else given)
    for name, variable in variables.items():
        if name not in stored:
            raise InvalidInput.about(argument, f"has no value for the variable {name}")
        value = stored[name]
        if not (type(value) is np.ndarray and value.dtype == float) and not hasattr(value, "toarray"):
            value = real_array(value, f"{argument}[{name!r}]", argument)
        if value.shape != variable.shape:
            raise InvalidInput.about(argument, f"must have the shape {variable.shape} for {name}, not {value.shape}")
        stored[name] = value
    return given if isinstance(given, Arrays) else Arrays(stored)


def declared_variables(problem: Declared) -> dict[str, cp.Variable]:
    """Return the checked variables of a problem; the formulation is asked only once."""
    if "_variables" not in problem.__dict__:
        problem.__dict__["_variables"] = checked_variables(problem)
    return problem.__dict__["_variables"]


def _definitions(cls: type, name: str) -> tuple[Any, ...]:
    return tuple(vars(base)[name] for base in cls.__mro__ if name in vars(base))


def is_said_of(cls: type[Declared], name: str) -> bool:
    """Whether a member that a class inherits describes the same program that the class declares."""
    before: list[type] = []
    for owner in cls.__mro__:
        if name in vars(owner):
            break
        before.append(owner)
    if issubclass(owner, Declared):
        return all(_definitions(owner, method) == _definitions(cls, method) for method in DECLARES)
    # A mixin describes the classes after it.
    return not any(method in vars(base) for base in before for method in DECLARES)


def _default(cls: type[Declared], name: str) -> Any:
    """Return the default of a member: the definition in the base class."""
    return [vars(base)[name] for base in cls.__mro__ if issubclass(base, Declared) and name in vars(base)][-1]
