"""What the formulations on a graph and links have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from ..errors import InvalidInput
from ..graph import Graph
from ..links import Links
from ..problem import Problem
from ..validation import as_flag

if TYPE_CHECKING:
    from ..ensemble import Ensemble


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
        as_flag(self.normalized, "normalized")

    @cached_property
    def L(self) -> sp.csr_array:
        """The Laplacian, normalised or not."""
        return self.graph.laplacian(self.normalized)

    def solve_resampled(
        self,
        n_subsets: int = 10,
        n_links: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        **options: Any,
    ) -> Ensemble:
        """Solve for several bootstrap subsets of the links, and average the kernels: for large sets of links.

        Parameters
        ----------
        n_subsets : int
            How many subsets are drawn.
        n_links : int
            Draws from the links, with replacement, for each subset.
        random_state : None, int or numpy generator
            Everything random follows from it, whatever ``n_jobs`` is.
        n_jobs : int, optional
            How many are solved at once, as joblib takes it: -1 for one a core. Starting them takes a second or two.
        **options
            Passed on to :meth:`solve`.
        """
        from ..ensemble import solve_resampled

        return solve_resampled(self, n_subsets, n_links, random_state, n_jobs, options)
