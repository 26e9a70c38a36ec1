"""The cells of a study: one instance, one configuration, one accuracy, one repeat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..engine.linear_problem import LinearProblem
from ..engine.options import in_bytes
from ..engine.problem import Problem
from ..errors import InvalidInput
from ..methods.called import is_own
from ..methods.table import Method, formulation_of, own_methods, require_options
from ..numerics.arguments import as_instance, shown
from ..solvers.catalogue import known_solvers
from ..solvers.option_names import unknown_option
from ..solvers.versions import versions_with
from .description import Study
from .instance import Instance, expanded, require_readable
from .parts import Configuration, given_in
from .sources import hash_of_source, options_wanted, require_importable
from .wording import WrongPart, meant

AUTO = "auto"


@dataclass(frozen=True)
class Cell:
    """One computation of a study."""

    instance: Instance
    configuration: Configuration
    accuracy: float
    repeat: int
    kind: str
    time_limit: float
    memory_limit: float | str | None
    threads: int
    # Hashes of what instance and configuration are made of beyond their names, and where that is.
    content: tuple[str, str] = ("", "")
    folder: str = field(default=".", compare=False)

    @cached_property
    def identity(self) -> str:
        """A hash of everything but versions: what is computed. Where its files are does not matter."""
        return _hash(
            {
                "instance": _asked(self.instance),
                "configuration": _asked(self.configuration),
                "content": self.content,
                "accuracy": self.accuracy,
                "repeat": self.repeat,
                "kind": self.kind,
                "time_limit": float(self.time_limit),
                "memory_limit": in_bytes(self.memory_limit),
                "threads": self.threads,
            }
        )

    @cached_property
    def versions(self) -> dict[str, str]:
        """The versions that the result depends on."""
        solver = self.configuration.solver
        return versions_with(None if solver is None else solver.upper())

    @cached_property
    def key(self) -> str:
        """A hash of what is computed, and with which versions."""
        return _hash({"identity": self.identity, "versions": self.versions})

    def found_here(self) -> Cell:
        """Return the cell as this machine has it: another identity means that its files or its code are others here."""
        return replace(self, content=(self.instance.content(), _content(self.configuration, self.folder)))

    def require_importable(self) -> None:
        """Raise if code of one's own that the cell names cannot be imported here."""
        for key, name in _own_code(self):
            _require_importable_once(key, name, self.folder)

    @property
    def place(self) -> tuple[str, str, float, int]:
        """What it is called: results of one place were made of something else if they have another identity."""
        return self.instance.name, self.configuration.name, self.accuracy, self.repeat

    def __str__(self) -> str:
        repeat = f", repeat {self.repeat + 1}" if self.repeat else ""
        return f"{self.instance.name}, {self.configuration.name}, {self.accuracy:g}{repeat}"


def place_of(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the place of the cell that a result is of."""
    return tuple(record.get(name) for name in ("instance", "configuration", "accuracy", "repeat"))


def cells_of(study: Study) -> list[Cell]:
    """Return the cells of a study, in the order in which they are computed: random, so that load hits all alike.

    A name that does not exist is said; nothing is run to find that out.
    """
    _require_known(as_instance(study, Study, "study", "a Study"))
    folder = str(study.folder.absolute())
    every = expanded(study)
    found = {one.name: one.content() for one in every}
    code = {one.name: _content(one, folder) for one in study.configurations}
    cells = [
        Cell(
            instance,
            configuration,
            accuracy,
            repeat,
            study.kind,
            study.time_limit,
            study.memory_limit,
            study.threads,
            (found[instance.name], code[configuration.name]),
            folder,
        )
        for instance in every
        for configuration in study.configurations
        for accuracy in study.accuracy
        for repeat in range(study.repeats)
    ]
    return [cells[k] for k in np.random.default_rng(study.seed).permutation(len(cells))]


def _asked(part: Instance | Configuration) -> dict[str, Any]:
    """Return what is said of a part; what is left at its default does not count, so new keys change no hash."""
    return {name: getattr(part, name) for name in given_in(part) if name != "folder"}


def _content(configuration: Configuration, folder: str) -> str:
    """Return a hash of the code that a configuration names."""
    return " ".join(hash_of_source(name, folder, key) for key, name in _code(configuration))


@cache
def _require_importable_once(key: str, name: str, folder: str) -> None:
    require_importable([(key, name, ())], folder)


def _own_code(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield all code of one's own that a cell names, with its key."""
    if cell.instance.formulation is not None and is_own(cell.instance.formulation):
        yield "formulation", cell.instance.formulation
    yield from _code(cell.configuration)


def _code(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Yield the code of one's own that a configuration names, with its key."""
    for key in ("method", "estimator", "run"):
        name = getattr(configuration, key)
        if name is not None and is_own(name):
            yield key, name


# ---------------------------------------------------------------------- what there is


def require_usable(study: Study) -> None:
    """Raise if data cannot be read, or if code cannot be imported or does not take its options in a cell's process."""
    _require_options(study)
    require_readable(study)
    wanted: list[tuple[str, str, tuple[str, ...]]] = []
    for choice in study.instances:
        if choice.formulation is not None and is_own(choice.formulation):
            wanted.append(("formulation", choice.formulation, options_wanted(choice.options, choice.over)))
    for configuration in study.configurations:
        for key, name in _code(configuration):
            tables = [(choice.options, choice.over) for choice in study.instances] if key == "run" else [({}, {})]
            wanted += [(key, name, options_wanted(*table, configuration.options)) for table in tables]
    require_importable(wanted, str(study.folder.absolute()))


def _require_options(study: Study) -> None:
    """Raise if a solver says that it does not have an option; those that do not say refuse it in their cells."""
    for k, one in enumerate(study.configurations):
        found = unknown_option(one.solver.upper(), one.options) if study.kind == "solvers" and one.solver else None
        if found is not None:
            name, known = found
            words = f"has {shown(name)}, which is no option of {(one.solver or '').upper()}{meant(name, known)}"
            raise WrongPart("configurations", k, "options", words)


def _require_known(study: Study) -> None:
    """Raise before anything runs if a solver, method, route or form is not there."""
    for k, choice in enumerate(study.instances):
        if choice.formulation is not None and not is_own(choice.formulation):
            _require_method(choice.formulation, {**choice.options, **choice.over}, "instances", k, "formulation")
    for k, configuration in enumerate(study.configurations):
        name, solver = configuration.method, configuration.solver
        if name is not None and not is_own(name) and name.lower() != AUTO:
            _require_method(name, configuration.options, "configurations", k, "method")
        if solver is not None and solver.upper() not in known_solvers():
            words = meant(solver.upper(), known_solvers(), 0) or "; `cvxlink solvers` shows those there are"
            raise InvalidInput(f"there is no solver {shown(solver)}{words}", "solver")
        for twice in configuration.options:
            if configuration.run and any(twice in (*choice.options, *choice.over) for choice in study.instances):
                words = f"has {shown(twice)}, which an instance has too; give it in one of them"
                raise WrongPart("configurations", k, "options", words)
    _require_ways(study)


def _require_method(name: str, options: Mapping[str, Any], table: str, k: int, key: str) -> None:
    try:
        formulation = formulation_of(name, key)
    except InvalidInput as error:
        known = [one.__name__ for one in own_methods()]
        near = meant(name.upper(), [one.upper() for one in known], 0)
        words = next((f"; did you mean {one!r}?" for one in known if near and repr(one.upper()) in near), None)
        raise InvalidInput(f"there is no method {shown(name)}{words or meant(name, known)}", key) from error
    try:
        require_options(formulation, options)
    except InvalidInput as error:
        raise WrongPart(table, k, "options", f"cannot be used: {error}") from error


def _require_ways(study: Study) -> None:
    """Raise if no method has a route or a form of that name. Formulations of one's own may have any."""
    names = [choice.formulation for choice in study.instances] + [one.method for one in study.configurations]
    if any(name is not None and is_own(name) for name in names):
        return
    for key, known in (("route", set()), ("form", {LinearProblem.about.form, "dual"})):
        asked = {value for one in study.configurations if (value := getattr(one, key)) is not None}
        for formulation in own_methods():
            if asked <= known:
                break
            known |= set(getattr(_row(formulation), f"{key}s"))
        for value in sorted(asked - known):
            raise InvalidInput(f"there is no {key} {shown(value)}{meant(value, sorted(known))}", key)


@cache
def _row(formulation: type[Problem]) -> Method:
    return Method.of(formulation)


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
