"""What a solution means for clustering, as the formulation defines it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..numerics.matrices import Matrix


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a formulation derives from its variables. Every field is optional; a costly one may be a function.

    Parameters
    ----------
    kernel : matrix or function
        The kernel, n × n, an array or a product.
    embedding : array or function
        The points in feature space, one row each, if the method has its own coordinates.
    affinity : array, sparse matrix or function
        The input of spectral clustering, if it is not the kernel without its negative entries. A function gets the
        number of clusters, or None if that is not known yet.
    propagated : matrix or function
        What the links imply for every pair of points, if the method propagates links.
    scores : array or function
        One row per point and one column per class, if the method propagates labels.
    classes : array
        The names of the classes, one per column of the scores.
    weights : array
        The weight of each point in k-means; equal by default.
    measures : mapping or function
        Further numbers about the solution, by name.
    propagation : tuple of three matrices
        Propagation within the graph and into it, P_GG and P_GH, and the null vectors of I − P_GG as columns. They
        define which labelings are stationary; see :func:`cvxlink.stationarity`.
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
        """Return a field, computed if it was given as a function."""
        value = getattr(self, name)
        return value() if callable(value) else value

    def affinity_for(self, n_clusters: int | None) -> Any:
        """Return the affinity for a number of clusters, or None if the method has none of its own."""
        return self.affinity(n_clusters) if callable(self.affinity) else self.affinity
