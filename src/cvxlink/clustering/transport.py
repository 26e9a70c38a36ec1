"""Labels at least cost when clusters have bounds on their sizes and every block is one point."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

# Shorter detours than this share of the costs are rounding errors.
ROUNDING = 1e-13


def transport(costs: np.ndarray, least: int, most: int) -> np.ndarray:
    """Return labels of least cost with between ``least`` and ``most`` points in every cluster.

    This is a flow from points through clusters to a sink. Every point starts in its cheapest cluster, which costs least
    of all. Then points move along shortest paths from clusters with too many to clusters with too few, one at a time:
    a flow changed along shortest paths is cheapest among those with the same sizes. The bounds must leave some labels.
    """
    n, k = costs.shape
    labels = costs.argmin(axis=1)
    counts = np.bincount(labels, minlength=k)
    used = np.clip(counts, least, most)  # the flow from each cluster to the sink, which is node k
    lengths, movers = np.full((k + 1, k + 1), np.inf), np.zeros((k, k), dtype=int)
    _measure(range(k), labels, costs, lengths, movers)
    shortest_step = ROUNDING * (1 + abs(costs).max())
    while True:
        excess = np.append(counts - used, used.sum() - n)
        if not excess.any():
            return labels
        lengths[:k, k] = np.where(used < most, 0.0, np.inf)
        lengths[k, :k] = np.where(used > least, 0.0, np.inf)
        path = _shortest_path(lengths, excess, shortest_step)
        for here, there in pairwise(path):
            if there == k:
                used[here] += 1
            elif here == k:
                used[there] -= 1
            else:
                labels[movers[here, there]] = there
                counts[here] -= 1
                counts[there] += 1
        _measure([node for node in path if node < k], labels, costs, lengths, movers)


def _measure(
    clusters: list[int] | range, labels: np.ndarray, costs: np.ndarray, lengths: np.ndarray, movers: np.ndarray
) -> None:
    """Find for some clusters which of their points goes to each other cluster at the least extra cost."""
    k = len(movers)
    for here in clusters:
        members = np.flatnonzero(labels == here)
        lengths[here, :k] = np.inf
        if len(members):
            extra = costs[members] - costs[members, here][:, None]
            first = extra.argmin(axis=0)
            movers[here], lengths[here, :k] = members[first], extra[first, np.arange(k)]
        lengths[here, here] = np.inf


def _shortest_path(lengths: np.ndarray, excess: np.ndarray, shortest_step: float) -> list[int]:
    """Return the nodes of a shortest path from a node with too much to one with too little (Bellman–Ford)."""
    nodes = len(lengths)
    distance, before = np.full(nodes, np.inf), np.full(nodes, -1)
    distance[np.flatnonzero(excess > 0)] = 0.0
    for _ in range(nodes):
        through = distance[:, None] + lengths
        last = through.argmin(axis=0)
        shorter = through[last, np.arange(nodes)] < distance - shortest_step
        if not shorter.any():
            break
        distance = np.where(shorter, through[last, np.arange(nodes)], distance)
        before[shorter] = last[shorter]
    node = int(np.where(excess < 0, distance, np.inf).argmin())
    path = [node]
    while before[node] >= 0:
        node = int(before[node])
        path.append(node)
    return path[::-1]
