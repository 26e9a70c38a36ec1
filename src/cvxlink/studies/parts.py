"""What a study is made of: instances and configurations, with the checks of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from ..errors import InvalidInput
from ..numerics.arguments import as_choice, as_list, as_mapping, shown
from ..numerics.checks import MOST_POINTS, MOST_REPEATS, as_count, as_flag, as_number, as_positive
from .wording import meant

# What a graph can be made of, as in :class:`Graph`.
GRAPHS = {"knn": ("n_neighbors", "sigma", "symmetrize", "connect"), "rbf": ("sigma",)}
SYMMETRIZE = ("union", "mean", "mutual")
# What instances of functions have; everything else belongs to data.
OF_FUNCTIONS = ("name", "options", "over")
# What says which columns of a table are what.
OF_TABLES = ("truth", "id", "ignore", "columns")


@dataclass(frozen=True, kw_only=True)
class InstanceChoice:
    """Instances of a study: programs in studies of solvers, data in studies of methods, options of functions.

    Parameters
    ----------
    library : str, optional
        A name of the library of problems, or a pattern such as ``"pcp_*"``.
    file : str, optional
        A program in SDPA's sparse format (``.dat-s``) or in the Conic Benchmark Format (``.cbf``), or a pattern such as
        ``"sdplib/*.dat-s"``; relative to the file of the study.
    data : str, optional
        A data set of ``cl.datasets``, or a file: a table with a column of classes, see ``truth``, or an ``.npz`` with
        arrays X and y.
    truth : str, optional
        The column of a table that has the classes: its name, or its number counted from 1.
    id : str, optional
        The column that has the names of the points, which are no feature.
    ignore, columns : texts, or whole numbers
        The columns not to use, and the columns that are features; by default all that are named for nothing else.
    formulation : str, optional
        In studies of solvers: what to solve on the data, a method such as "PCP" or your own ``module:Class``.
    name : str, optional
        What data, or options of functions, are called in results; by default it is made of the rest.
    links, per_class : whole numbers
        Numbers of links to draw at random from the classes: in all, or as many must-links in each class and
        cannot-links between every two.
    labels : whole numbers, or shares
        Numbers of labels to reveal at random; a number below 1 is a share of the points.
    wrong : float
        The share of the links, drawn at random, that say the opposite of what is true.
    draws : int
        How often links and labels are drawn for each number.
    points : int, optional
        Of more points, so many are drawn, once for all draws.
    classes : whole numbers, or lists of them
        Which classes are kept, by their place in order; those in a list become one.
    scale : bool
        Whether features are scaled to unit variance.
    graph : dict, optional
        How the graph is built: ``{"kind": "knn", "n_neighbors": 20, "symmetrize": "mean"}``, as by :meth:`Graph.knn`
        and :meth:`Graph.rbf`.
    options : dict
        Further arguments of the formulation, or of the functions.
    over : dict
        Lists of values for some of the options; each combination is an instance.
    """

    library: str | None = None
    file: str | None = None
    data: str | None = None
    truth: str | None = None
    id: str | None = None
    ignore: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    formulation: str | None = None
    name: str | None = None
    links: tuple[int, ...] = ()
    per_class: tuple[int, ...] = ()
    labels: tuple[float, ...] = ()
    wrong: float = 0.0
    draws: int = 1
    points: int | None = None
    classes: tuple[int | tuple[int, ...], ...] = ()
    scale: bool = False
    graph: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    over: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_texts(self, "library", "file", "data", "truth", "id", "formulation", "name")
        keep = keeper(self)
        for name in ("ignore", "columns"):
            keep(name, _columns(getattr(self, name), name))
        for name in ("links", "per_class"):
            keep(name, tuple(as_count(one, name, 0, MOST_POINTS) for one in listed(getattr(self, name), name)))
        keep("labels", tuple(_share_or_count(one) for one in listed(self.labels, "labels")))
        keep("wrong", as_number(self.wrong, "wrong"))
        if not 0 <= self.wrong <= 1:
            raise InvalidInput.about("wrong", f"must be a share of the links, from 0 to 1, not {shown(self.wrong)}")
        keep("draws", as_count(self.draws, "draws", 1, MOST_REPEATS))
        if self.points is not None:
            keep("points", as_count(self.points, "points", 2, MOST_POINTS))
        keep("classes", tuple(_class_or_several(one) for one in listed(self.classes, "classes")))
        as_flag(self.scale, "scale")
        keep("graph", graph_options(self.graph, "graph"))
        keep("options", plain(self.options, "options"))
        over = plain(self.over, "over")
        if not all(isinstance(values, list) and values for values in over.values()):
            raise InvalidInput.about("over", f"must have a list of values for each option, not {shown(self.over)}")
        keep("over", over)
        self._check_together()

    def _check_together(self) -> None:
        """Raise if what is given does not go together."""
        given = given_in(self)
        sources = [name for name in ("library", "file", "data") if name in given]
        if len(sources) > 1:
            raise InvalidInput.about(sources[1], f"does not go with {sources[0]}; make two instances of them")
        if sources in (["library"], ["file"]):
            for name in given[1:]:
                raise InvalidInput.about(name, f"goes with data; a program of a {sources[0]} has its own")
        if not sources:
            for name in given:
                if name not in OF_FUNCTIONS:
                    raise InvalidInput.about(name, 'goes with data; name a data set, such as data = "iris"')
        if self.links and self.per_class:
            raise InvalidInput.about("per_class", "says the same as links; give one of them")
        for name in self.over:
            if name in self.options:
                raise InvalidInput.about("over", f"has {shown(name)}, which options have too; give it once")
        if self.data is not None and self.formulation is None:
            for name in ("options", "over"):
                if name in given:
                    raise InvalidInput.about(name, "belongs to a formulation or a function, and none is given")
        if self.wrong and not (self.links or self.per_class):
            raise InvalidInput.about("wrong", "is a share of links, and there are none")


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One way to solve, to cluster, or to compute something for every instance.

    Parameters
    ----------
    name : str
        How tables call it; by default it is made of the rest.
    solver, route, form : str, optional
        As in :meth:`Problem.solve`.
    presolve : bool
        In studies of solvers, as in :meth:`Problem.solve`.
    method : str, optional
        In studies of methods: as in :class:`ConstrainedClustering`, or your own ``module:Class``.
    estimator : str, optional
        In studies of methods: ``module:function``, anything that returns labels. A function with an argument ``X`` is
        called as f(X, n_clusters, links, random_state), as far as it has these arguments, and ``labels`` and ``graph``;
        any other gets a :class:`Task`.
    run : str, optional
        In studies of functions: ``module:function``, called with the options of the instance and of the configuration;
        it returns numbers and short texts by name.
    options : dict
        Options of the solver, the method or the function.
    """

    name: str = ""
    solver: str | None = None
    route: str | None = None
    form: str | None = None
    presolve: bool = True
    method: str | None = None
    estimator: str | None = None
    run: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidInput.about("name", f"must be a text, not {shown(self.name)}")
        _check_texts(self, "solver", "route", "form", "method", "estimator", "run")
        for name in ("estimator", "run"):
            value = getattr(self, name)
            if value is not None and not _names_something(value):
                raise InvalidInput.about(name, f'must be "module:function", not {shown(value)}')
        as_flag(self.presolve, "presolve")
        keeper(self)("options", plain(self.options, "options"))
        chosen = [name for name in ("method", "estimator", "run") if getattr(self, name) is not None]
        if len(chosen) > 1:
            raise InvalidInput.about(chosen[1], f"does not go with {chosen[0]}; make two configurations of them")
        if self.solver is not None and self.route is not None:
            raise InvalidInput.about("route", "is an algorithm of its own; name either a solver or a route")
        for name in ("solver", "route", "form", "presolve"):
            if chosen and chosen != ["method"] and name in given_in(self):
                raise InvalidInput.about(name, f"does not go with {chosen[0]}; it is for programs")
        if not self.name:
            keeper(self)("name", self._made_of_parts())

    def _made_of_parts(self) -> str:
        parts = [self.method or self.estimator or self.run or ""]
        parts += [self.solver or "", f"route {self.route}" if self.route else "", self.form or ""]
        parts += ["" if self.presolve else "as printed"]
        parts += [f"{key}={value}" for key, value in self.options.items()]
        named = ", ".join(part for part in parts if part)
        return named if self.solver or self.route or parts[0] else f"default, {named}" if named else "default"


# ---------------------------------------------------------------------- checks


def plain(value: Any, name: str) -> dict[str, Any]:
    """Return a copy of a table that holds what files can hold: numbers, texts, truth values, lists and tables."""
    as_mapping(value, name)
    try:
        copied = json.loads(json.dumps(dict(value)))
    except Exception:  # objects, circles, numbers without end
        copied = None
    if copied is None or _holds_none(copied):
        problem = f"must hold numbers, texts, truth values, lists and tables only, not {shown(value)}"
        raise InvalidInput.about(name, problem)
    return copied


def _holds_none(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_none, value.values() if isinstance(value, dict) else value))
    return value is None


def keeper(part: Any) -> Callable[[str, Any], None]:
    """Return a function that sets a field of a frozen object while it is made."""
    return lambda name, value: object.__setattr__(part, name, value)


def given_in(part: Any) -> list[str]:
    """Return the names of the fields that differ from their defaults."""

    def default(one: Any) -> Any:
        return one.default if one.default_factory is MISSING else one.default_factory()

    return [one.name for one in fields(part) if getattr(part, one.name) != default(one)]


def _check_texts(part: Any, *names: str) -> None:
    for name in names:
        value = getattr(part, name)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise InvalidInput.about(name, f"must be a text, not {shown(value)}")


def _names_something(value: str) -> bool:
    where, colon, what = value.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*where.split("."), *what.split(".")))


def listed(value: Any, name: str) -> list[Any]:
    """Return several values as a list; a number is one value."""
    return [value] if isinstance(value, int | float) else as_list(value, name, "numbers")


def _columns(value: Any, name: str) -> tuple[str, ...]:
    """Return columns by their names, or by their numbers as texts."""
    values = [value] if isinstance(value, str | int) else as_list(value, name, "names of columns, or their numbers")
    for one in values:
        if isinstance(one, bool) or not isinstance(one, str | int) or not str(one).strip():
            words = f"must hold names of columns, or their numbers counted from 1, not {shown(one)}"
            raise InvalidInput.about(name, words)
    return tuple(map(str, values))


def _share_or_count(value: Any) -> float:
    number = as_number(value, "labels")
    if not 0 < number < 1:
        return as_count(int(number) if number == int(number) else value, "labels", 1, MOST_POINTS)
    return number


def _class_or_several(value: Any) -> int | tuple[int, ...]:
    if isinstance(value, list | tuple) and value:
        return tuple(as_count(one, "classes", 0, MOST_POINTS) for one in value)
    return as_count(value, "classes", 0, MOST_POINTS)


def graph_options(value: Any, name: str) -> dict[str, Any]:
    """Return how a graph is built, checked."""
    given = plain(value, name)
    if not given:
        return {}
    kind = as_choice(given.get("kind", "knn"), f"{name}.kind", tuple(GRAPHS))
    for key in given:
        if key != "kind" and key not in GRAPHS[kind]:
            raise InvalidInput.about(name, f"has no {shown(key)}{meant(key, ('kind', *GRAPHS[kind]))}")
    if "n_neighbors" in given:
        as_count(given["n_neighbors"], f"{name}.n_neighbors", 1, MOST_POINTS)
    if given.get("sigma", "mean") != "mean":
        as_positive(given["sigma"], f"{name}.sigma")
    as_choice(given.get("symmetrize", "union"), f"{name}.symmetrize", SYMMETRIZE)
    as_flag(given.get("connect", True), f"{name}.connect")
    return {"kind": kind, **given}
