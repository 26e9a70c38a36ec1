"""Every public callable, found by walking the package, with one valid call for each.

Nothing here lists callables. Modules are walked by their public names, classes by their methods, and a class that is
not public itself but that a call returns, such as ``Ensemble``, by the object that was returned. A value for a
parameter is found by its name in ``valid_values``, so a new callable with known parameters is covered without any work.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import os
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cvxpy as cp
import matplotlib

import cvxlink as cl
from attack.valid_values import ALSO, EXAMPLES, KEYWORDS, PARTICULAR, RECEIVERS, VALUES, files
from cvxlink.errors import AboutArgument

PACKAGE = cl.__name__
# Made by Python, by CVXPY or by the package itself, not by its users: enumerations, errors, tables, expressions.
NOT_DOORS = (Enum, AboutArgument, dict, list, tuple, cp.Expression, cp.Constraint)


@dataclass(frozen=True, eq=False)
class Door:
    """A public callable: its name, how to call it, a valid call, and the parameters that can be given wrong values."""

    name: str
    call: Callable[..., Any]
    valid: dict[str, Any]
    parameters: tuple[str, ...]


class NoValidCall(Exception):
    """A public callable for which no valid call is known."""


@contextlib.contextmanager
def visiting(folder: Path) -> Iterator[None]:
    """Work in a folder that has the files of valid calls, without pictures on a screen, printing or warnings."""
    matplotlib.use("Agg")
    for name, content in files().items():
        (folder / name).write_bytes(content)
    here = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        os.chdir(here)
        if "matplotlib.pyplot" in __import__("sys").modules:
            matplotlib.pyplot.close("all")


def doors() -> tuple[Door, ...]:
    """Return all doors; each is opened once with its valid call."""
    walk = _walked()
    if walk.closed:
        raise NoValidCall("\n".join(walk.closed))
    return tuple(walk.found)


@cache
def _walked() -> _Walk:
    walk = _Walk()
    with TemporaryDirectory() as folder, visiting(Path(folder)):
        walk.through_package()
    return walk


class _Walk:
    def __init__(self) -> None:
        self.found: list[Door] = []
        self.names: set[tuple[str, str]] = set()
        self.classes: set[type] = set()
        self.closed: list[str] = []

    def through_package(self) -> None:
        for name in cl.__all__:
            value = getattr(cl, name)
            if isinstance(value, types.ModuleType):
                self.through_module(name, value)
            else:
                self.visit(name, value)

    def through_module(self, prefix: str, module: types.ModuleType) -> None:
        if callable(module):
            self.add(prefix, module, module)
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__]
        for name in getattr(module, "__all__", [n for n in own if not n.startswith("_")]):
            value = getattr(module, name)
            if callable(value):
                self.visit(name if name in cl.__all__ else f"{prefix}.{name}", value)

    def visit(self, name: str, value: Any) -> None:
        if not inspect.isclass(value):
            self.add(name, value, value)
        elif not issubclass(value, NOT_DOORS) and value not in self.classes:
            self.classes.add(value)
            try:
                example = self.example(name, value)
            except (NoValidCall, cl.CvxlinkError) as error:
                self.closed.append(f"no {name} can be made for tests/attack: {error}")
                return
            if not inspect.isabstract(value):
                self.constructor(name, value, example)
            self.through_methods(value, example)

    def example(self, name: str, kind: type) -> Any:
        if kind.__name__ in EXAMPLES:
            return EXAMPLES[kind.__name__]()
        return None if inspect.isabstract(kind) else kind(**self.arguments(name, kind))

    def constructor(self, name: str, kind: type, example: Any) -> None:
        valid = None
        if dataclasses.is_dataclass(kind) and kind.__name__ in EXAMPLES:
            valid = {f.name: getattr(example, f.name) for f in dataclasses.fields(kind) if f.init}
        if issubclass(kind, cl.ConstrainedClustering):  # scikit-learn's constructors check nothing, fit does

            def fitted(**parameters: Any) -> Any:
                return kind(**parameters).fit(VALUES["X"](), VALUES["labels"](), links=VALUES["links"]())

            fitted.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
            self.add(name, fitted, kind, valid)
        else:
            self.add(name, kind, kind, valid)

    def through_methods(self, kind: type, example: Any) -> None:
        for name in dir(kind):
            if (name.startswith("_") and name != "__call__") or name in getattr(kind, "__dataclass_fields__", ()):
                continue
            static = inspect.getattr_static(kind, name)
            if isinstance(static, property) or hasattr(static, "attrname") or not callable(getattr(kind, name, None)):
                continue
            owner = next(c for c in kind.__mro__ if name in vars(c))
            if not owner.__module__.startswith(PACKAGE) or inspect.isclass(static):
                continue
            full = f"{owner.__name__}.{name}"
            receiver = RECEIVERS[full]() if full in RECEIVERS else example
            if receiver is None:
                continue
            self.add_method(full, name, receiver)

    def add_method(self, full: str, name: str, receiver: Any) -> None:
        """Add a method; it may be that of many classes, and refused by some of them."""
        if (full, type(receiver).__name__) in self.names:
            return
        self.names.add((full, type(receiver).__name__))
        known = any(door.name == full for door in self.found)
        bound = getattr(receiver, name)
        if name != "__call__" and not bound.__module__.startswith(PACKAGE):  # what scikit-learn adds
            return
        self.add(full, bound, bound, self.particular_to(name, receiver), may_refuse=known)

    def particular_to(self, name: str, receiver: Any) -> dict[str, Any] | None:
        """Return the valid call of what formulations declare, which depends on the formulation."""
        if not isinstance(receiver, cl.Problem):
            return None
        if name in ("objective", "constraints"):
            return receiver.variables()
        if name in ("learnt", "answer"):
            return {"values": receiver.solve().values}
        if name == "point_from":
            form, program = next(iter({**receiver.equivalents, receiver.about.form: receiver}.items()))
            solution = program.solve()
            return {"form": form, "values": dict(solution.values), "duals": dict(solution.duals)}
        if name == "parameter":
            return {"name": receiver.changeable[0]}
        return None

    def arguments(self, name: str, function: Any) -> dict[str, Any]:
        """Return valid arguments for all required parameters, and for those in ``ALSO``."""
        found = {}
        for parameter in _parameters(function):
            if parameter.kind is parameter.VAR_KEYWORD or parameter.kind is parameter.VAR_POSITIONAL:
                continue
            if parameter.default is not parameter.empty and parameter.name not in ALSO.get(name, ()):
                continue
            known = PARTICULAR.get(f"{name}.{parameter.name}") or VALUES.get(parameter.name)
            if known is None:
                raise NoValidCall(
                    f"teach tests/attack/valid_values.py a value for parameter {parameter.name!r} of {name}"
                )
            found[parameter.name] = known()
        return found

    def add(
        self,
        name: str,
        call: Callable[..., Any],
        function: Any,
        valid: dict[str, Any] | None = None,
        may_refuse: bool = False,
    ) -> None:
        try:
            arguments = self.arguments(name, function) if valid is None else valid
        except NoValidCall as error:
            self.closed.append(str(error))
            return
        parameters = [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        parameters += [p for p in arguments if p not in parameters]
        parameters += [p for p in KEYWORDS.get(name, tuple)() if p not in parameters]
        try:
            result = call(**arguments)
        except Exception as error:
            if not ((may_refuse or not parameters) and isinstance(error, cl.CvxlinkError)):
                self.closed.append(f"the valid call of {name} in tests/attack/valid_values.py fails: {error!r}")
            return
        if parameters:
            self.found.append(Door(name, call, arguments, tuple(parameters)))
        kind = type(result)
        is_new = kind not in self.classes and kind.__name__ not in cl.__all__
        if is_new and kind.__module__.startswith(PACKAGE) and not issubclass(kind, NOT_DOORS):
            self.classes.add(kind)
            self.through_methods(kind, result)


def _parameters(function: Any) -> list[inspect.Parameter]:
    if isinstance(function, types.ModuleType):
        function = function.__call__  # type: ignore[operator]
    return list(inspect.signature(function).parameters.values())
