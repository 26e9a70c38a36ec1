"""What every formulation declares: variables, an objective and named constraints. Nothing here is about solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import cvxpy as cp

from . import typesetting
from .about import About
from .declaration import Declaration, checked_variables

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
        value, stand_in = getattr(self, name), self.__dict__.get("_stand_in")
        return value if stand_in is None else stand_in(name, value)

    @cached_property
    def declaration(self) -> Declaration:
        """The declared program, checked to be well formed and convex. The formulation is asked only once."""
        return Declaration.of(self, declared_variables(self))

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
        width = max(len(text) for _, text, name in rows if name) if len(rows) > 1 else 0
        lines = [self._title()]
        lines += [f"  {head:<11} {text:<{width}}   {name}".rstrip() for head, text, name in rows]
        shapes = (f"{n}: {'×'.join(map(str, v.shape)) or 'scalar'}" for n, v in declaration.variables.items())
        lines.append(f"  {'over':<11} {', '.join(shapes)}")
        lines.append(f"  {'size':<11} {declaration.sizes}")
        if self.about.citation:
            lines.append(f"  {'from':<11} {self.about.citation}")
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
        return "$$\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}$$"

    def _title(self) -> str:
        """Return the name of the class and the first line of its own docstring."""
        name, summary = type(self).__name__, (type(self).__doc__ or "").strip().splitlines()
        # A dataclass without a docstring gets its signature as one, which does not help a reader.
        useful = summary and not summary[0].startswith(f"{name}(")
        return f"{name}: {summary[0].rstrip('.')}" if useful else name


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
