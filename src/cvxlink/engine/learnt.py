"""What a solution means for clustering, in the words of the formulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..numerics.matrices import Matrix


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a formulation makes of its variables. Anything may be left out, and given as a function if it is costly.

    Parameters
    ----------
    kernel : matrix or function
        The kernel, n × n, an array or a product.
    embedding : array or function
        The points in feature space, one row each, where the method has coordinates of its own.
    affinity : array, sparse matrix or function
        What spectral clustering works on, where it is not the kernel without its negative entries. A function is given
        the number of clusters, or None where that is not known yet.
    propagated : matrix or function
        What the links say about every pair of points, where they are propagated.
    scores : array or function
        One row per point and one column per class, where labels are propagated.
    classes : array
        The names of the classes, one per column of the scores.
    weights : array
        What each point weighs in k-means; all alike by default.
    measures : mapping or function
        Further numbers about the solution, by name.
    propagation : tuple of three matrices
        Propagation within the graph and into it, P_GG and P_GH, and the null vectors of I − P_GG as columns: what a
        stationary labelling does not change under.
    """

    kernel: Matrix | Callable[[], Matrix] | None = None
    embedding: np.ndarray | Callable[[], np.ndarray] | None = None
    affinity: Any = None
    propagated: Any = None
    scores: np.ndarray | Callable[[], np.ndarray] | None = None
    classes: np.ndarray | None = None
    weights: np.ndarray | None = None
    measures: Mapping[str, float] | Callable[[], Mapping[str, float]] = field(default_factory=dict)
    propagation: tuple[Any, Any, np.ndarray] | Callable[[], Any] | None = None

    def get(self, name: str) -> Any:
        """Return one of these, computed if it was given as a function."""
        value = getattr(self, name)
        return value() if callable(value) else value

    def affinity_for(self, n_clusters: int | None) -> Any:
        """Return the affinity for so many clusters, or None where the method has none of its own."""
        return self.affinity(n_clusters) if callable(self.affinity) else self.affinity
