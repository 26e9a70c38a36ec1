"""The table of methods, and each of them on the same graph, links and labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .formulations import (
    CCSR,
    CSC,
    CSCGFHF,
    E2CP,
    GFHF,
    KP,
    LLGC,
    PCP,
    SL,
    SRCP,
    SSKK,
    GaussianField,
    ImprovedOrder,
    MinKL,
    NCuts,
)
from .graph import Graph
from .links import Links
from .problem import Problem
from .tables import Table

# The noise of the affinity propagation of Lu & Carreira-Perpiñán, where none is given.
NOISE = 0.1


def _affinity_propagation(graph: Graph, links: Links, labels: Any, k: int) -> MinKL:
    return MinKL(graph.kernel(), links, must_noise=NOISE, cannot_noise=NOISE, jitter="smallest")


# How each method is put on a graph, links, partial labels and a number of clusters; each takes what it needs.
METHODS: dict[str, Callable[[Graph, Links, Any, int], Problem]] = {
    "PCP": lambda graph, links, labels, k: PCP(graph, links),
    "KP": lambda graph, links, labels, k: KP(graph, links),
    "CCSR": lambda graph, links, labels, k: CCSR(graph, links),
    "SRCP": lambda graph, links, labels, k: SRCP(graph, links),
    "E2CP": lambda graph, links, labels, k: E2CP(graph, links),
    "MinKL": _affinity_propagation,
    "CSC": lambda graph, links, labels, k: CSC(graph, links, n_clusters=k),
    "CSCGFHF": lambda graph, links, labels, k: CSCGFHF(graph, labels),
    "GFHF": lambda graph, links, labels, k: GFHF(graph, labels),
    "LLGC": lambda graph, links, labels, k: LLGC(graph, labels),
    "SL": lambda graph, links, labels, k: SL(graph, links),
    "SSKK": lambda graph, links, labels, k: SSKK(graph, links, n_clusters=k),
    "NCuts": lambda graph, links, labels, k: NCuts(graph, k),
    "ImprovedOrder": lambda graph, links, labels, k: ImprovedOrder(graph, links),
    "GaussianField": lambda graph, links, labels, k: GaussianField(graph, links),
}


@dataclass(frozen=True)
class Method:
    """A row of the table."""

    name: str
    paper: str
    program: str
    forms: tuple[str, ...]
    routes: tuple[str, ...]
    takes: str
    yields: str
    formulation: type[Problem] = field(repr=False, compare=False)

    @classmethod
    def of(cls, problem: Problem) -> Method:
        """Read a row off a problem."""
        paper = problem.cites.short if problem.cites else ""
        return cls(
            type(problem).__name__,
            paper,
            problem.program,
            problem.forms,
            problem.routes,
            problem.takes,
            problem.yields,
            type(problem),
        )

    def make(self, graph: Graph, links: Links, labels: Any, n_clusters: int) -> Problem:
        """Return the method on a graph, with its own defaults; of links, labels and clusters it takes what it needs."""
        return METHODS[self.name](graph, links, labels, n_clusters)

    def cells(self) -> tuple[str, ...]:
        """Return what stands in the columns."""
        return (
            self.name,
            self.paper,
            self.program,
            ", ".join(self.forms) or "none",
            ", ".join(self.routes) or "none",
            self.takes,
            self.yields,
        )


class MethodTable(Table[Method]):
    """The methods, a row each; print it to read it."""

    columns = ("name", "paper", "kind of program", "forms", "routes", "takes", "yields")
    noun = "method"


def methods() -> MethodTable:
    """Return the table of methods: where from, what kind of program, forms, routes, what they take and yield.

    A form is a program that CVXPY takes, a route an algorithm of ours; both are looked up on a small instance.
    """
    graph = Graph.from_affinity(0.2 + 0.6 * np.kron(np.eye(2), np.ones((2, 2))))
    links = Links(4, must=[(0, 1)], cannot=[(0, 2)])
    rows = [Method.of(method(graph, links, [0, -1, 1, -1], 2)) for method in METHODS.values()]
    bounded = Method.of(MinKL(graph.kernel(), links, must_bound=NOISE, cannot_bound=NOISE))
    # Its two modes have different routes.
    return MethodTable(replace(r, routes=bounded.routes + r.routes) if r.name == bounded.name else r for r in rows)
