"""What the formulations on a graph and links have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..adjustment import adjusted_affinity
from ..errors import InvalidInput
from ..graph import Graph
from ..links import Links
from ..matrices import Arrays, class_shares, indicators
from ..problem import Problem
from ..validation import as_flag, as_labels, as_shares, is_known

if TYPE_CHECKING:
    from ..ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class LinkedProblem(Problem):
    """A program on a graph and links over the same points."""

    graph: Graph
    links: Links

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.graph, Graph) or not isinstance(self.links, Links):
            raise InvalidInput(
                f"{name} takes a Graph and Links: {name}(Graph.knn(X), Links(n, must=…, cannot=…)); "
                f"labels become links by Links.from_labels(labels)"
            )
        if self.links.n != self.graph.n:
            raise InvalidInput(f"the graph has {self.graph.n} points, but the links are on {self.links.n}")


@dataclass(frozen=True, eq=False)
class LinkedGraphProblem(LinkedProblem):
    """A program on links and the Laplacian of a graph, normalised or not."""

    normalized: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
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


@dataclass(frozen=True, eq=False)
class PropagatingProblem(LinkedGraphProblem):
    """A program whose variable F, n × n, holds what the links say about every pair of points."""

    takes = "soft links"
    yields = "spread links, affinity"
    cluster_method = "spectral"
    yields_kernel = False

    def propagated_of(self, values: Arrays) -> Any:
        """The propagated links, an array or a sum of products."""
        return values.stored["F"]

    def affinity_of(self, values: Arrays, n_clusters: int | None = None) -> Any:
        """The affinity, raised and lowered by the propagated links: equation (9) of Fu et al. (2011).

        Where these are kept as a sum of products, it is sparse: the graph's edges, and the strongest pairs of each
        linked point.
        """
        return adjusted_affinity(self.graph, values.stored["F"]).affinity


@dataclass(frozen=True, eq=False)
class LabelledProblem(Problem):
    """A program on a graph some of whose points have labels."""

    graph: Graph
    labels: Any
    confidence: Any = 1.0

    cluster_method = "argmax"
    yields_kernel = False
    takes = "labels"
    yields = "labels, scores"

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.graph, Graph):
            raise InvalidInput(f"{name} takes a Graph and labels: {name}(Graph.knn(X), labels), -1 for unknown")
        if isinstance(self.labels, Links):
            raise InvalidInput(
                f"{name} takes labels, not links; links.to_labels() tells which labels follow from links"
            )
        labels = as_labels(self.labels, self.graph.n).copy()
        labels.setflags(write=False)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "confidence", as_shares(self.confidence, self.graph.n, "confidence"))
        if len(self.classes) < 2:
            raise InvalidInput(
                f"the labels name {', '.join(map(str, self.classes)) or 'no class'}, and it takes two classes; "
                f"label at least one point of each class (-1 stands for unknown)"
            )

    @cached_property
    def known(self) -> np.ndarray:
        """The points that have a label."""
        return np.flatnonzero(is_known(self.labels))

    @cached_property
    def classes(self) -> np.ndarray:
        """The labels there are, in order; a column of scores for each."""
        return np.unique(self.labels[self.known])

    @property
    def n_clusters(self) -> int:
        """As many clusters as there are classes."""
        return len(self.classes)

    @cached_property
    def Y(self) -> np.ndarray:
        """What is known, n × classes: 1 for the class of a labelled point; rows of points without a label are zero.

        With a confidence c below one the row is c for the class and (1 − c)/classes more for every class.
        """
        Y = np.zeros((self.graph.n, len(self.classes)))
        share = self.confidence[self.known, None]
        Y[self.known] = share * indicators(self.labels[self.known]) + (1 - share) / len(self.classes)
        return Y

    def scores_of(self, values: Arrays) -> np.ndarray | None:
        """What speaks for each class."""
        return values["f"]

    def embedding_of(self, values: Arrays) -> np.ndarray:
        """The share of each class in the scores of a point: how much arrives in all says how near labels are."""
        return class_shares(values["f"])
