"""From the matrix of a relaxation to a clustering that keeps the links."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...clustering import kernel_factor
from ...clustering.impossible import why_impossible
from ...clustering.partition_search import search
from ...errors import InfeasibleProblem
from ...numerics.matrices import Matrix
from ...numerics.threads import threads_for
from .partition import Partition


def rounded(
    partition: Partition,
    rows: np.ndarray | None,
    random_state: Any = None,
    n_init: int = 0,
    time_limit: float | None = None,
) -> np.ndarray:
    """Return the best clustering of the points that a local search finds, from an embedding of blocks and restarts.

    It keeps all links and sizes; :class:`InfeasibleProblem` says why none does.
    """
    k, sizes = partition.n_clusters, partition.block_sizes
    least = partition.least if partition.least > 1 else None
    starts = [] if rows is None else [rows]
    of_graph = partition.block_C, partition.block_d, k, partition.apart, starts
    try:
        labels, _ = search(*of_graph, sizes, least, partition.most, random_state, n_init, time_limit)
    except InfeasibleProblem as error:  # which speaks of blocks
        why = why_impossible(partition.links, k, sizes, least, partition.most)
        raise InfeasibleProblem(f"no clustering keeps the links: {why or error}") from error
    return labels[partition.links.blocks]


def rounded_answer(partition: Partition, Z: Matrix, random_state: Any, n_init: int) -> np.ndarray:
    """Return the same from a matrix on points, whose rows are those of blocks."""
    rows = kernel_factor(Z)[:, : partition.n_clusters] / partition.d[:, None]
    with threads_for(partition.order):
        return rounded(partition, rows[partition.representatives], random_state, n_init)


def embedding(partition: Partition, Y: np.ndarray) -> np.ndarray:
    """Return the rows of the leading eigenvectors, as weighted k-means takes them."""
    values, vectors = np.linalg.eigh((Y + Y.T) / 2)
    leading = slice(None, -partition.n_clusters - 1, -1)
    return vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0)) / partition.block_d[:, None]
