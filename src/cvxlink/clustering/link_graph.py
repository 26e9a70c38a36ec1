"""The graph of blocks that are kept apart, as sets of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

Graph = dict[int, set[int]]


def neighbours(pairs: np.ndarray) -> Graph:
    """Return the neighbours of every block that has some."""
    graph: Graph = {}
    for a, b in pairs.tolist():
        graph.setdefault(a, set()).add(b)
        graph.setdefault(b, set()).add(a)
    return graph


def parts(graph: Graph) -> Iterator[Graph]:
    """Yield the connected components."""
    left = set(graph)
    while left:
        found: set[int] = set()
        new = {min(left)}
        while new:
            found |= new
            new = set().union(*(graph[a] for a in new)) - found
        left -= found
        yield {a: graph[a] for a in sorted(found)}


def pairs_among(graph: Graph, blocks: Iterable[int]) -> np.ndarray:
    """Return the pairs of neighbours among some blocks, smaller number first, sorted."""
    chosen = set(blocks)
    return np.array(sorted((a, b) for a in chosen for b in graph[a] & chosen if a < b), dtype=int).reshape(-1, 2)


def core(graph: Graph, k: int) -> tuple[Graph, list[int]]:
    """Remove blocks with fewer than k neighbours until there are none; return what is left and the order of removal."""
    left = {a: set(others) for a, others in graph.items()}
    removed: list[int] = []
    few = [a for a, others in left.items() if len(others) < k]
    while few:
        a = few.pop()
        if a not in left:
            continue
        for b in left.pop(a):
            left[b].discard(a)
            if len(left[b]) < k:
                few.append(b)
        removed.append(a)
    return left, removed
