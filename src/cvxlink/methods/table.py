"""The table of methods, and each of them on the same graph, links and labels."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from ..data.graph import Graph
from ..data.links import Links
from ..engine.plan import all_routes
from ..engine.problem import Problem
from ..errors import InvalidInput
from ..model.tables import Table, same_name
from ..numerics.arguments import as_instance, shown
from . import METHODS

PACKAGE = __name__.split(".")[0]
# Names in a message about a method that is not there.
MOST_LISTED = 25
# What a formulation is given by the names of its fields; every other field is an option of its own.
GIVEN = ("graph", "kernel", "X", "links", "labels", "n_clusters")


@dataclass(frozen=True)
class Method:
    """A row of the table of methods."""

    name: str
    paper: str
    program: str
    forms: tuple[str, ...]
    routes: tuple[str, ...]
    takes: str
    yields: str
    formulation: type[Problem] = field(repr=False, compare=False)

    @classmethod
    def of(cls, formulation: type[Problem]) -> Method:
        """Read a row off a formulation; its forms and routes off a small instance, where one can be made."""
        about, (forms, routes) = formulation.about, _ways(formulation)
        return cls(
            formulation.__name__,
            about.citation.short if about.citation else "",
            about.program,
            forms,
            routes,
            about.takes or ", ".join(name for name in ("links", "labels") if name in _parameters(formulation)),
            about.yields,
            formulation,
        )

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options it takes besides graph, links, labels and the number of clusters."""
        return options_of(self.formulation)

    @property
    def needs(self) -> tuple[str, ...]:
        """Which of graph, kernel, X (the points), links, labels and n_clusters it has a field for."""
        return tuple(name for name in GIVEN if name in _parameters(self.formulation))

    def enforces_links(self, options: Mapping[str, Any]) -> bool:
        """Whether every answer keeps all links: always, or because no prices for broken ones are given."""
        chosen = {**default_options_of(self.formulation), **options}
        prices = [chosen[name] is None for name in ("must_weight", "cannot_weight") if name in chosen]
        return self.formulation.about.hard_links or (len(prices) == 2 and all(prices))

    def make(self, graph: Graph, links: Links, labels: Any, n_clusters: int, /, **options: Any) -> Problem:
        """Return the method on a graph; of links, labels and clusters it takes what it needs.

        ``options`` are fields of the formulation, ``mu=0.2`` for SRCP; the others keep their defaults.
        """
        require_options(self.formulation, options)
        chosen = {**self.formulation.about.defaults(options), **options}
        required = {p.name for p in _signature(self.formulation) if p.default is p.empty} - {*self.needs, *chosen}
        if required:
            raise InvalidInput(f"{self.name} needs {', '.join(sorted(required))}; give it as an option")
        given = {"graph": graph, "links": links, "labels": labels, "n_clusters": n_clusters}
        if "kernel" in self.needs:
            given["kernel"] = as_instance(graph, Graph, "graph", "a Graph").kernel()
        if "X" in self.needs:
            given["X"] = as_instance(graph, Graph, "graph", "a Graph").points
            if given["X"] is None:
                raise InvalidInput(
                    f"{self.name} clusters points, and this graph was made of affinities; build it from points, or "
                    f"choose a method that takes a graph, such as LinkedCut",
                    "graph",
                )
        return self.formulation(**{name: given[name] for name in self.needs}, **chosen)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        return (
            self.name,
            self.paper or "—",
            self.program,
            ", ".join(self.forms) or "none",
            ", ".join(self.routes) or "none",
            self.takes or "—",
            str(self.yields),
        )


class MethodTable(Table[Method]):
    """The methods, a row each; print it to read it."""

    columns = ("name", "paper", "kind of program", "forms", "routes", "takes", "yields")
    noun = "method"


def methods() -> MethodTable:
    """Return the table of methods: where from, what kind of program, forms, routes, what they take and yield.

    A form is a program that CVXPY takes, and a route is one of our own algorithms; both are read off a small instance.
    The formulations of this package come first, then every other subclass of :class:`Problem`.
    """
    rows = [Method.of(formulation) for formulation in own_methods()]
    for formulation in _of_users():
        with suppress(Exception):  # one broken class must not take the table down
            rows.append(Method.of(formulation))
    return MethodTable(rows)


def method(which: Any, argument: str = "method") -> Method:
    """Return a method by its name, in capitals or not, or by its class."""
    return which if isinstance(which, Method) else Method.of(formulation_of(which, argument))


def formulation_of(which: Any, argument: str = "method") -> type[Problem]:
    """Return the class of a method by its name, in capitals or not, or the class that is given."""
    if isinstance(which, Method):
        return which.formulation
    if isinstance(which, type) and issubclass(which, Problem):
        return which
    candidates = {formulation.__name__: formulation for formulation in (*own_methods(), *_of_users())}
    name = same_name(which, candidates) if isinstance(which, str) else None
    if name is not None:
        return candidates[name]
    # A session that tries many formulations has dozens.
    listed = ", ".join(list(candidates)[:MOST_LISTED])
    raise InvalidInput(
        f"there is no method {shown(which)}; there are {listed}, and any subclass of cvxlink.Problem", argument
    )


def options_of(formulation: type[Problem]) -> tuple[str, ...]:
    """Return the names of the fields that are options: all but graph, kernel, links, labels and clusters."""
    return tuple(name for name in _parameters(formulation) if name not in GIVEN)


def default_options_of(formulation: type[Problem]) -> dict[str, Any]:
    """Return the options that need not be given, with their values."""
    return {p.name: p.default for p in _signature(formulation) if p.name not in GIVEN and p.default is not p.empty}


def require_options(formulation: type[Problem], names: Iterable[str], argument: str | None = None) -> None:
    """Raise if one of some names is not an option of a formulation."""
    options = options_of(formulation)
    unknown = [name for name in names if name not in options]
    if unknown:
        known = f"it has {', '.join(options)}" if options else "it has none"
        given = ", which comes from the data" if unknown[0] in GIVEN else ""
        raise InvalidInput(f"{formulation.__name__} has no option {shown(unknown[0])}{given}; {known}", argument)


def _signature(formulation: type[Problem]) -> list[inspect.Parameter]:
    parameters = inspect.signature(formulation).parameters.values()
    return [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _parameters(formulation: type[Problem]) -> tuple[str, ...]:
    return tuple(p.name for p in _signature(formulation))


@cache
def own_methods() -> tuple[type[Problem], ...]:
    """Return the methods of this package."""
    return tuple(getattr(import_module(home, __package__), name) for name, home in METHODS.items())


def _of_users() -> list[type[Problem]]:
    """Return formulations from outside this package; of several with one name, as in a notebook, the last."""
    found = {f.__name__: f for f in _subclasses(Problem) if f.__module__.split(".")[0] != PACKAGE}  # type: ignore[type-abstract]
    taken = {formulation.__name__ for formulation in own_methods()}
    return [f for name, f in found.items() if not (inspect.isabstract(f) or name.startswith("_") or name in taken)]


def _subclasses(formulation: type[Problem]) -> Iterator[type[Problem]]:
    for subclass in formulation.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


@cache
def _small() -> tuple[Graph, Links, list[int], int]:
    graph = Graph.from_affinity(0.2 + 0.6 * np.kron(np.eye(2), np.ones((3, 3))))
    graph = replace(graph, points=np.array([[0.0], [1], [2], [5], [6], [7]]))
    return graph, Links(6, must=[(0, 1), (3, 4)], cannot=[(0, 3), (2, 5)]), [0, -1, -1, 1, -1, -1], 2


def _ways(formulation: type[Problem]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the forms and routes of a formulation on six points; none where it needs more than these."""
    row = Method(formulation.__name__, "", "", (), (), "", "", formulation)
    try:
        problem = row.make(*_small())
        return problem.forms, all_routes(problem)
    except Exception:  # a user's formulation may need more, and may say so in any way
        return (formulation.about.form,), ()
