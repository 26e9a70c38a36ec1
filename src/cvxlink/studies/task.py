"""What a method of a study is given: points, links, labels, and the classes to score against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..data.graph import Graph
from ..data.links import Links
from ..errors import InvalidInput
from ..numerics.arguments import as_instance
from ..numerics.checks import as_count, as_labels, as_points, is_known
from .parts import graph_options


@dataclass(frozen=True, eq=False)
class Task:
    """Points to cluster; functions that are the ``estimator`` of a configuration get one.

    Parameters
    ----------
    X : array, n × d
    y : array of n
        The classes, against which clusters are scored. A method that looks at them is told more than links say.
    links : Links
    labels : array of n, optional
        The labels that are given, -1 for unknown.
    random_state : int
        The seed of this draw.
    graph_options : dict
        How ``graph`` is built, as ``graph`` in :class:`InstanceChoice`.
    """

    X: np.ndarray
    y: np.ndarray
    links: Links
    labels: np.ndarray | None = None
    random_state: int = 0
    graph_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        keep = object.__setattr__
        keep(self, "X", as_points(self.X))
        keep(self, "y", as_labels(self.y, len(self.X), "y"))
        if not is_known(self.y).all():
            raise InvalidInput.about("y", "must hold the class of every point; some are -1")
        if as_instance(self.links, Links, "links", "Links").n != len(self.X):
            raise InvalidInput.about("links", f"are on {self.links.n} points, and X has {len(self.X)}")
        if self.labels is not None:
            keep(self, "labels", as_labels(self.labels, len(self.X)))
        keep(self, "random_state", as_count(self.random_state, "random_state", 0))
        keep(self, "graph_options", graph_options(self.graph_options, "graph_options"))

    @property
    def n_clusters(self) -> int:
        """The number of classes."""
        return len(np.unique(self.y))

    @cached_property
    def graph(self) -> Graph:
        """The graph of the points."""
        return graph_of(self.X, self.graph_options)


def graph_of(X: np.ndarray, options: Mapping[str, Any]) -> Graph:
    """Return the graph of some points that the options of an instance describe."""
    given = dict(options)
    return Graph.rbf(X, **given) if given.pop("kind", "knn") == "rbf" else Graph.knn(X, **given)
