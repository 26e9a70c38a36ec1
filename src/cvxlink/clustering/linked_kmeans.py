"""k-means that keeps links: it changes nothing where k-means keeps them by itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..data.links import Links
from ..errors import InfeasibleProblem, LinkWarning, SolveFailed
from .assignment import Assigner
from .labelling import kmeans
from .rules import Rules

# Far more than are ever needed: each step lowers the sum of squared distances, or is the last.
MOST_STEPS = 100
# Seconds for one assignment; nearly all take less than a millisecond.
ASSIGNMENT = 10.0


def linked_kmeans(
    embedding: np.ndarray, links: Links, n_clusters: int, random_state: Any = None, n_init: int = 20
) -> np.ndarray:
    """Return labels 0 … n_clusters − 1 that keep the links.

    If the clusters that k-means finds break a link, its two steps go on from there with assignments of least cost
    among those that keep all links, until the sum of squared distances no longer falls. Where no assignment keeps them,
    or none is found in time, the labels are those of k-means, with a warning.
    """
    labels = kmeans(embedding, n_clusters, random_state, n_init)
    if not links.violated(labels):
        return labels
    try:
        return _improved(embedding, labels, links, n_clusters)
    except (InfeasibleProblem, SolveFailed) as error:
        warnings.warn(f"the clusters break some links: {error}", LinkWarning, stacklevel=5)
        return labels


def _improved(embedding: np.ndarray, labels: np.ndarray, links: Links, k: int) -> np.ndarray:
    """Alternate between means and assignments that keep the links, while the sum of squared distances falls."""
    sizes = np.bincount(links.blocks, minlength=links.n_blocks)
    sums = np.zeros((links.n_blocks, embedding.shape[1]))
    np.add.at(sums, links.blocks, embedding)
    # No cluster is empty, unless there are too few blocks for that.
    assigner = Assigner(Rules.of(links.n_blocks, k, links.block_cannot, nonempty=links.n_blocks >= k))
    squares, centres = float((embedding**2).sum()), np.zeros((k, embedding.shape[1]))
    best, lowest = labels, np.inf
    for _ in range(MOST_STEPS):
        for cluster in np.unique(labels):  # an empty one, if there must be one, keeps its centre
            centres[cluster] = embedding[labels == cluster].mean(axis=0)
        costs = sizes[:, None] * (centres**2).sum(axis=1) - 2 * sums @ centres.T
        on_blocks = assigner(costs, ASSIGNMENT).labels
        value = squares + float(costs[np.arange(len(costs)), on_blocks].sum())
        labels = on_blocks[links.blocks]
        if value >= lowest * (1 - 1e-12):
            break
        best, lowest = labels, value
    return best
