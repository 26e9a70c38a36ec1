"""The graphs among which Li, Liu & Tang (2009) choose: one number of neighbours, nine widths."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from ..errors import InvalidInput
from ..numerics.checks import as_count, as_points
from .graph import Graph, Symmetrize

# Multiples of the mean distance to the last neighbour: linspace(0.1, 1, 5) and linspace(1, 10, 5).
MULTIPLES = np.union1d(np.linspace(0.1, 1, 5), np.linspace(1, 10, 5))


def neighbour_widths(X: Any, n_neighbors: int = 20) -> np.ndarray:
    """Return the nine widths of section 4.2 of Li, Liu & Tang (2009), in increasing order.

    They are multiples, from 0.1 to 10, of the mean distance r from a point to its last neighbour: linspace(0.1r, r, 5)
    and linspace(r, 10r, 5).

    Parameters
    ----------
    X : array, n × d
    n_neighbors : int
        Neighbours of each point, itself not counted.
    """
    points = as_points(X)
    if len(points) < 2:
        raise InvalidInput("a neighbour graph needs at least two points", "X")
    k = as_count(n_neighbors, "n_neighbors", 1, len(points) - 1, f"X has {len(points)} points")
    distances, _ = NearestNeighbors(n_neighbors=k).fit(points).kneighbors()
    mean = float(distances[:, -1].mean())
    if mean == 0:
        raise InvalidInput(f"every point coincides with {k} others, so the mean distance, the unit, is zero", "X")
    return mean * MULTIPLES


def candidate_graphs(
    X: Any, n_neighbors: int = 20, symmetrize: Symmetrize = "union", connect: bool = False
) -> list[Graph]:
    """Return a neighbour graph for each of the nine widths of :func:`neighbour_widths`.

    The paper reports the best result of the nine for each method, which looks at the classes: as
    ``max(candidate_graphs(X), key=score)`` does, with a function ``score`` of a graph.

    Parameters
    ----------
    X : array, n × d
    n_neighbors, symmetrize, connect
        As for :meth:`Graph.knn`; the paper keeps an edge if either end chose the other, and joins no components.
    """
    return [Graph.knn(X, n_neighbors, float(width), symmetrize, connect) for width in neighbour_widths(X, n_neighbors)]
