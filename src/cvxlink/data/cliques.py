"""Blocks that are all kept apart from one another."""

from __future__ import annotations

from collections.abc import Mapping


def greedy_clique(neighbours: Mapping[int, set[int]]) -> list[int]:
    """Return vertices that are pairwise neighbours, as many as are found greedily from every vertex."""
    best: list[int] = []
    for start in neighbours:
        clique, candidates = [start], set(neighbours[start])
        while candidates:
            a = max(candidates, key=lambda v: (len(neighbours[v] & candidates), -v))
            candidates &= neighbours[a]
            clique.append(a)
        best = max(best, clique, key=len)
    return best
