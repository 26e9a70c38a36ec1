"""What the formulations on a graph and links have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import scipy.sparse as sp

from ..errors import InvalidInput
from ..graph import Graph
from ..links import Links
from ..problem import Problem


@dataclass(frozen=True, eq=False)
class LinkedGraphProblem(Problem):
    """A program on a graph and links over the same points."""

    graph: Graph
    links: Links
    normalized: bool = True

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.graph, Graph) or not isinstance(self.links, Links):
            raise InvalidInput(f"{name} takes a Graph and Links: {name}(Graph.knn(X), Links(n, must=…, cannot=…))")
        if self.links.n != self.graph.n:
            raise InvalidInput(f"the graph has {self.graph.n} points, but the links are on {self.links.n}")

    @cached_property
    def L(self) -> sp.csr_array:
        """The Laplacian, normalised or not."""
        return self.graph.laplacian(self.normalized)
