"""A study as it is written down: instances, configurations, limits. Read from a TOML file, or made in Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ..data.files.contents import bytes_of, text_in_utf8
from ..engine.options import Options
from ..errors import InvalidInput
from ..numerics.arguments import shown

KINDS = ("solvers", "methods")
# A study is described in some lines; a file of this size is something else.
MOST_BYTES = 2**20
ACCURACY = 1e-4
TIME_LIMIT = 60.0


@dataclass(frozen=True)
class InstanceChoice:
    """Instances of a study.

    Parameters
    ----------
    library : str, optional
        A name of the library of problems, or a pattern such as ``"pcp_*"``. Give this or ``data``.
    data : str, optional
        A data set of ``cl.datasets``.
    formulation : str, optional
        In studies of solvers: what to solve on the data, a method such as "PCP" or your own ``module:Class``.
    links : list of int
        Numbers of links to draw at random from the classes of the data.
    draws : int
        How often links are drawn for each number.
    scale : bool
        Whether features are scaled to unit variance.
    options : mapping
        Further arguments of the formulation.
    """

    library: str | None = None
    data: str | None = None
    formulation: str | None = None
    links: tuple[int, ...] = ()
    draws: int = 1
    scale: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """One way to solve or to cluster every instance.

    Parameters
    ----------
    name : str
        How tables call it; by default it is made of the rest.
    solver, route, form, presolve, options
        In studies of solvers, as in :meth:`Problem.solve`; ``options`` are the solver's.
    method, options
        In studies of methods: a method as in :class:`ConstrainedClustering`, and its options.
    """

    name: str = ""
    solver: str | None = None
    route: str | None = None
    form: str | None = None
    presolve: bool = True
    method: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            parts = [self.method or self.solver or (f"route {self.route}" if self.route else "default")]
            parts += [self.form] if self.form else []
            parts += [] if self.presolve else ["as printed"]
            parts += [f"{key}={value}" for key, value in self.options.items()]
            object.__setattr__(self, "name", ", ".join(parts))


@dataclass(frozen=True)
class Study:
    """What is compared with what.

    Parameters
    ----------
    title : str
    kind : "solvers" or "methods"
        *Solvers*: the same programs, who proves what in which time. *Methods*: the same data and links, who scores
        what.
    instances, configurations : tuples
    accuracy : tuple of float
        Accuracies that are asked for; each is a cell of its own.
    repeats : int
        How often each cell is computed.
    time_limit : float
        Seconds per cell.
    memory_limit : float or str, optional
        Per cell, for example "4GB".
    threads : int
        Threads of dense linear algebra per cell.
    seed : int
        Decides draws of links, random starts and the order of the cells.
    """

    title: str
    instances: tuple[InstanceChoice, ...]
    configurations: tuple[Configuration, ...]
    kind: str = "solvers"
    accuracy: tuple[float, ...] = (ACCURACY,)
    repeats: int = 1
    time_limit: float = TIME_LIMIT
    memory_limit: float | str | None = None
    threads: int = 1
    seed: int = 0

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """Read a file; what is wrong in it is named by line and key."""
        file = Path(path)
        text = text_in_utf8(bytes_of(file, MOST_BYTES), file.name)
        try:
            content = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{file.name} is not valid TOML: {error}", "path") from error
        return _Reader(content, file.name, text).study()

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Study:
        """Make a study of what a file would hold, as dictionaries and lists."""
        return _Reader(dict(content), "the study").study()

    def __str__(self) -> str:
        named = ", ".join(configuration.name for configuration in self.configurations)
        return f"{self.title}: a study of {self.kind} ({named})"


class _Reader:
    """Checks a description key by key; the text serves to name lines."""

    def __init__(self, content: dict[str, Any], where: str, text: str = "") -> None:
        self.content, self.where, self.lines = content, where, text.splitlines()

    def study(self) -> Study:
        given = self.content
        self.keys(given, Study, "")
        self.require("title" in given, "", None, 'has no title; begin with title = "…"')
        kind = given.get("kind", "solvers")
        self.require(
            kind in KINDS, "", "kind", f"must be one of {' and '.join(KINDS)}, not {shown(kind)}{_meant(kind, KINDS)}"
        )
        instances = tuple(self.instance(k, one, kind) for k, one in enumerate(self.tables("instances")))
        configurations = tuple(self.configuration(k, one, kind) for k, one in enumerate(self.tables("configurations")))
        names = [configuration.name for configuration in configurations]
        for k, name in enumerate(names):
            words = f"is the second one called {shown(name)}; give it a name of its own"
            self.require(name not in names[:k], "configurations", None, words, k)
        accuracy = given.get("accuracy", ACCURACY)
        listed = accuracy if isinstance(accuracy, list) else [accuracy]
        right = bool(listed) and all(_is_number(one) and 0 < one < 1 for one in listed)
        self.require(
            right, "", "accuracy", f"must be a number between 0 and 1, or a list of such, not {shown(accuracy)}"
        )
        for name, default in (("repeats", 1), ("threads", 1)):
            self.whole(given, name, default, 1)
        self.whole(given, "seed", 0, 0)
        limits = {name: given[name] for name in ("time_limit", "memory_limit") if name in given}
        for name in limits:
            try:
                _ = Options(**{name: limits[name]}).limits
            except InvalidInput as error:
                raise self.wrong("", name, str(error).removeprefix(f"{name} ")) from error
        simple = {name: given[name] for name in ("title", "repeats", "threads", "seed") if name in given}
        self.require(isinstance(given["title"], str), "", "title", "must be text in quotation marks")
        return Study(
            instances=instances,
            configurations=configurations,
            kind=kind,
            accuracy=tuple(map(float, listed)),
            **simple,
            **limits,
        )

    def tables(self, name: str) -> list[dict[str, Any]]:
        tables = self.content.get(name)
        right = isinstance(tables, list) and tables and all(isinstance(one, dict) for one in tables)
        self.require(bool(right), "", name if name in self.content else None, f"needs [[{name}]], one or more")
        assert isinstance(tables, list)
        return tables

    def instance(self, k: int, given: dict[str, Any], kind: str) -> InstanceChoice:
        table = "instances"
        self.keys(given, InstanceChoice, table, k)
        self.require(("library" in given) != ("data" in given), table, None, "needs either library or data", k)
        for name in ("library", "data", "formulation"):
            self.text(given, name, table, k)
        if kind == "methods":
            for name in ("library", "formulation"):
                words = "belongs in a study of solvers; methods are compared on data, and named in configurations"
                self.require(name not in given, table, name, words, k)
        else:
            words = 'needs a formulation for its data: a method such as "PCP", or your own "module:Class"'
            self.require("data" not in given or "formulation" in given, table, "data", words, k)
        if "library" in given:
            for name in ("links", "draws", "scale", "options", "formulation"):
                self.require(name not in given, table, name, "goes with data; a problem of the library has its own", k)
        links = given.get("links", [])
        listed = links if isinstance(links, list) else [links]
        right = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in listed)
        self.require(right, table, "links", f"must be numbers of links, such as [10, 30], not {shown(links)}", k)
        if kind == "methods":
            self.require(bool(listed), table, "data", "needs links, such as links = [10, 30]", k)
        self.whole(given, "draws", 1, 1, table, k)
        self.flag(given, "scale", table, k)
        self.mapping(given, table, k)
        return InstanceChoice(**{**given, "links": tuple(listed)})

    def configuration(self, k: int, given: dict[str, Any], kind: str) -> Configuration:
        table = "configurations"
        self.keys(given, Configuration, table, k)
        for name in ("name", "solver", "route", "form", "method"):
            self.text(given, name, table, k)
        self.flag(given, "presolve", table, k)
        self.mapping(given, table, k)
        if kind == "methods":
            self.require("method" in given, table, None, 'needs a method, such as method = "KP"', k)
            for name in ("solver", "route", "form", "presolve"):
                self.require(name not in given, table, name, "belongs in a study of solvers; a method has options", k)
        else:
            self.require("method" not in given, table, "method", 'belongs in a study of methods: kind = "methods"', k)
            both = "solver" in given and "route" in given
            self.require(not both, table, "route", "is an algorithm of its own; name either a solver or a route", k)
        return Configuration(**given)

    # ------------------------------------------------------------------ checks

    def keys(self, given: dict[str, Any], kind: Any, table: str, k: int = 0) -> None:
        known = [one.name for one in fields(kind)]
        for key in given:
            self.require(key in known, table, key, f"is not known{_meant(key, known)}", k)

    def text(self, given: dict[str, Any], name: str, table: str, k: int) -> None:
        right = isinstance(given.get(name, "text"), str) and given.get(name, "text") != ""
        self.require(right, table, name, "must be text in quotation marks", k)

    def flag(self, given: dict[str, Any], name: str, table: str, k: int) -> None:
        self.require(isinstance(given.get(name, True), bool), table, name, "must be true or false", k)

    def mapping(self, given: dict[str, Any], table: str, k: int) -> None:
        right = isinstance(given.get("options", {}), dict)
        self.require(right, table, "options", "must be a table, such as { max_iters = 5000 }", k)

    def whole(self, given: dict[str, Any], name: str, default: int, least: int, table: str = "", k: int = 0) -> None:
        value = given.get(name, default)
        right = isinstance(value, int) and not isinstance(value, bool) and value >= least
        self.require(right, table, name, f"must be a whole number, at least {least}, not {shown(value)}", k)

    def require(self, holds: bool, table: str, key: str | None, words: str, k: int = 0) -> None:
        if not holds:
            raise self.wrong(table, key, words, k)

    def wrong(self, table: str, key: str | None, words: str, k: int = 0) -> InvalidInput:
        """Return an error that names file, line and key."""
        line = self._line(table, key, k)
        place = f"{self.where}{f', line {line}' if line else ''}"
        which = f"{table}[{k}]" if table else ""
        what = ".".join(part for part in (which, key or "") if part)
        return InvalidInput(f"{place}: {f'{what} ' if what else ''}{words}", key or table or "study")

    def _line(self, table: str, key: str | None, k: int) -> int | None:
        """Return the line of a key of the k-th table of a name, or of its head."""
        current = ""
        seen: dict[str, int] = {}
        for number, line in enumerate(self.lines, 1):
            head = re.match(r"\s*\[\[?\s*([\w.-]+)\s*\]", line)
            if head:
                current = head[1]
                seen[current] = seen.get(current, -1) + 1
                if key is None and current == table and seen[current] == k:
                    return number
            here = current == table and seen.get(current, 0) == k
            # Tables of a table, such as [instances.options], belong to it.
            if key is not None and here and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                return number
            if key is not None and not table and head and head[1] == key:
                return number
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _meant(word: Any, known: Any) -> str:
    near = get_close_matches(word, list(known), 1) if isinstance(word, str) else []
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
