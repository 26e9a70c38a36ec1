"""What formulations have in common: a graph and links, the Laplacian of a graph, or partial labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.graph import Graph
from ..data.links import Links
from ..engine.ensemble import Ensemble, solve_resampled
from ..engine.formulation import Learnt
from ..engine.problem import Problem
from ..errors import InvalidInput
from ..model.about import About
from ..numerics.arguments import shown
from ..numerics.checks import as_flag, as_labels, as_shares, is_known
from ..numerics.matrices import Arrays, class_shares, indicators


@dataclass(frozen=True, eq=False)
class LinkedProblem(Problem):
    """A program on a graph and links over the same points."""

    graph: Graph
    links: Links

    def __post_init__(self) -> None:
        name = type(self).__name__
        how = f"{name} takes a Graph and Links: {name}(Graph.knn(X), Links(n, must=…, cannot=…))"
        if not isinstance(self.graph, Graph):
            raise InvalidInput(f"{how}; graph must be a Graph, not {shown(self.graph)}", "graph")
        if not isinstance(self.links, Links):
            raise InvalidInput(f"{how}; labels become links by Links.from_labels(labels)", "links")
        if self.links.n != self.graph.n:
            raise InvalidInput(f"the graph has {self.graph.n} points, but the links are on {self.links.n}", "links")


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

    @property
    def L_symbol(self) -> str:
        """How the Laplacian is printed."""
        return r"\bar L" if self.normalized else "L"

    def solve_resampled(
        self,
        n_subsets: int = 10,
        n_links: int = 100,
        random_state: Any = None,
        n_jobs: int | None = None,
        scheduler: str | None = None,
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
            Everything random follows from it, whatever ``n_jobs`` or ``scheduler`` is.
        n_jobs : int, optional
            How many are solved at once, as joblib takes it: -1 for one per core. Starting them takes a second or two.
        scheduler : str, optional
            The address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers solve instead of this machine.
        **options
            Passed on to :meth:`solve`.
        """
        return solve_resampled(self, n_subsets, n_links, random_state, n_jobs, options, scheduler)


@dataclass(frozen=True, eq=False)
class LabelledProblem(Problem):
    """A program on a graph some of whose points have labels."""

    graph: Graph
    labels: Any
    confidence: Any = 1.0

    about = About(takes="labels", yields="labels, scores", kernel=False, embedding=True, cluster="argmax")

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not isinstance(self.graph, Graph):
            raise InvalidInput(
                f"{name} takes a Graph and labels: {name}(Graph.knn(X), labels), -1 for unknown; graph must be a "
                f"Graph, not {shown(self.graph)}",
                "graph",
            )
        if isinstance(self.labels, Links):
            raise InvalidInput(
                f"{name} takes labels, not links; links.to_labels() tells which labels follow from links", "labels"
            )
        labels = as_labels(self.labels, self.graph.n, whose="the graph").copy()
        labels.setflags(write=False)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "confidence", as_shares(self.confidence, self.graph.n, "confidence"))
        if len(self.classes) < 2:
            raise InvalidInput(
                f"the labels name {', '.join(map(str, self.classes)) or 'no class'}, but two classes are needed; "
                f"label at least one point of each class (-1 stands for unknown)",
                "labels",
            )

    @cached_property
    def known(self) -> np.ndarray:
        """The points that have a label."""
        return np.flatnonzero(is_known(self.labels))

    @cached_property
    def classes(self) -> np.ndarray:
        """The distinct labels, in order; the scores have a column for each."""
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

    def learnt(self, values: Arrays) -> Learnt:
        """Scores for each class. Their sum only says how near labels are, so the shares are the embedding."""
        values = self.answer(values)
        return Learnt(scores=values["f"], classes=self.classes, embedding=lambda: class_shares(values["f"]))
