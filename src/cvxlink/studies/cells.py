"""The cells of a study: one instance, one configuration, one accuracy, one repeat."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from .. import datasets, instances
from ..data.graph import Graph
from ..data.links import Links
from ..engine.problem import Problem
from ..errors import InvalidInput
from ..methods.called import formulation_called, is_own
from ..methods.table import method
from ..numerics.versions import package_versions
from ..solvers.table import solvers
from .description import Configuration, InstanceChoice, Study


@dataclass(frozen=True)
class Instance:
    """One program, or one data set with links, named and rebuilt wherever it is needed."""

    name: str
    library: str | None = None
    data: str | None = None
    formulation: str | None = None
    links: int | None = None
    draw: int = 0
    scale: bool = False
    options: Mapping[str, Any] | None = None

    def problem(self) -> Problem:
        """Return the program, for studies of solvers."""
        if self.library is not None:
            return instances.load(self.library).problem
        X, y = self.points()
        links = self.drawn(y)
        assert self.formulation is not None
        what = formulation_called(self.formulation) if is_own(self.formulation) else self.formulation
        return method(what).make(Graph.knn(X), links, None, len(np.unique(y)), **(self.options or {}))

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the points and their classes."""
        assert self.data is not None
        X, y = datasets.load(self.data)
        return (StandardScaler().fit_transform(X[:, np.ptp(X, axis=0) > 0]) if self.scale else X), y

    def drawn(self, y: np.ndarray) -> Links:
        """Return the links of this draw."""
        return Links.sample(y, n_links=self.links or 0, random_state=self.draw)

    def content(self) -> str:
        """Return what the instance is made of, beyond its name: so a change of it is noticed."""
        if self.library is not None:
            return (instances.folder() / f"{self.library}.toml").read_text(encoding="utf-8")
        own = self.formulation is not None and is_own(self.formulation)
        return inspect.getsource(formulation_called(self.formulation or "")) if own else ""


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

    @cached_property
    def identity(self) -> str:
        """A hash of everything but versions: what is computed."""
        return _hash(asdict(self) | {"content": self.instance.content()})

    @cached_property
    def versions(self) -> dict[str, str]:
        """The versions that the result depends on."""
        return versions(self.configuration.solver)

    @cached_property
    def key(self) -> str:
        """A hash of what is computed, and with which versions."""
        return _hash({"identity": self.identity, "versions": self.versions})

    def __str__(self) -> str:
        repeat = f", repeat {self.repeat + 1}" if self.repeat else ""
        return f"{self.instance.name}, {self.configuration.name}, {self.accuracy:g}{repeat}"


def cells_of(study: Study) -> list[Cell]:
    """Return the cells of a study, in the order in which they are computed: random, so that load hits all alike."""
    _require_known(study)
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
        )
        for instance in expanded(study)
        for configuration in study.configurations
        for accuracy in study.accuracy
        for repeat in range(study.repeats)
    ]
    return [cells[k] for k in np.random.default_rng(study.seed).permutation(len(cells))]


def expanded(study: Study) -> list[Instance]:
    """Return the instances of a study one by one."""
    found = [instance for choice in study.instances for instance in _instances(choice, study.seed)]
    unique = {instance.name: instance for instance in found}
    return list(unique.values())


def _instances(choice: InstanceChoice, seed: int) -> list[Instance]:
    if choice.library is not None:
        return [Instance(name, library=name) for name in _in_library(choice.library)]
    assert choice.data is not None
    if choice.data not in datasets.names():
        near = get_close_matches(choice.data, datasets.names(), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(datasets.names())}"
        raise InvalidInput(f"there is no data set {choice.data!r}; {hint}", "data")
    what = f"{choice.formulation} on " if choice.formulation else ""
    given: dict[str, Any] = {"data": choice.data, "formulation": choice.formulation}
    given |= {"scale": choice.scale, "options": choice.options}
    return [
        Instance(f"{what}{choice.data}, {links} links, draw {draw + 1}", links=links, draw=seed + draw, **given)
        for links in choice.links or (0,)
        for draw in range(choice.draws)
    ]


def _in_library(pattern: str) -> list[str]:
    names = instances.names()
    if not set(pattern) & set("*?["):
        instances.load(pattern)  # raises, with the nearest name, if there is none
        return [pattern]
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise InvalidInput(
            f"no instance of the library fits {pattern!r}; `cvxlink problems list` shows them", "library"
        )
    return found


def _require_known(study: Study) -> None:
    """Raise before anything runs if a method or a formulation is not there."""
    for choice in study.instances:
        if choice.formulation is not None and is_own(choice.formulation):
            formulation_called(choice.formulation)
        elif choice.formulation is not None:
            method(choice.formulation)
    known = list(_solver_versions())
    for configuration in study.configurations:
        name = configuration.method
        if name is not None and is_own(name):
            formulation_called(name)
        elif name is not None and name != "auto":
            method(name)
        if configuration.solver is not None and configuration.solver.upper() not in known:
            near = get_close_matches(configuration.solver.upper(), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else "`cvxlink solvers` shows those there are"
            raise InvalidInput(f"there is no solver {configuration.solver!r}; {hint}", "solver")


@cache
def _solver_versions() -> dict[str, str]:
    return {row.name: row.version for row in solvers(check=False)}


@cache
def versions(solver: str | None = None) -> dict[str, str]:
    """Return the versions of Python, the packages, and a solver."""
    found = dict(package_versions())
    if solver is not None:
        found[solver.upper()] = _solver_versions().get(solver.upper(), "")
    return found


def _hash(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
