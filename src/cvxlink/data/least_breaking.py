"""The lightest links that break all paths of a contradiction, by branch and bound in whole numbers, without rounding.

Weights are floating-point numbers, and these are whole multiples of a power of two; so sums and comparisons are exact
however far the weights lie apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter

import numpy as np

Path = frozenset[int]
Separation = Callable[[np.ndarray], Iterable[np.ndarray]]

# Nodes of one search; beyond, what was found is not proven.
MOST_NODES = 3000


def whole_weights(weights: np.ndarray) -> list[int]:
    """Return the weights as whole numbers, in a unit that all of them are multiples of."""
    ratios = [float(weight).as_integer_ratio() for weight in weights]
    unit = max((below for _, below in ratios), default=1)
    return [above * (unit // below) for above, below in ratios]


def least_breaking(
    weights: list[int], paths: Iterable[np.ndarray], violated: Separation, best: np.ndarray, end: float
) -> tuple[np.ndarray, bool]:
    """Return the lightest removal that breaks all paths, and whether that is proven.

    Parameters
    ----------
    weights : list of int
        One per link, positive.
    paths : arrays of links
        Some of the paths: of each, a link must be removed.
    violated : callable
        Returns paths that a removal leaves whole; none if it breaks all.
    best : array of bool
        A removal that breaks all paths.
    end : float
        A time of ``perf_counter``.
    """
    known = [frozenset(path.tolist()) for path in paths]
    lowest, nodes = sum(weights[e] for e in np.flatnonzero(best)), 0
    stack: list[tuple[Path, Path, int]] = [(frozenset(), frozenset(), 0)]
    while stack:
        if nodes >= MOST_NODES or perf_counter() > end:
            return best, False
        nodes += 1
        removed, kept, weight = stack.pop()
        whole = [path for path in known if not path & removed]
        if not whole:
            chosen = np.zeros(len(weights), dtype=bool)
            chosen[list(removed)] = True
            whole = [frozenset(path.tolist()) for path in violated(chosen)]
            known += whole
            if not whole:
                if weight < lowest:
                    best, lowest = chosen, weight
                continue
        choices = sorted((sorted(path - kept, key=lambda e: (weights[e], e)) for path in whole), key=len)
        if not choices[0] or weight + _packed(choices, weights) >= lowest:
            continue
        first = choices[0]
        children = [(removed | {e}, kept | set(first[:i]), weight + weights[e]) for i, e in enumerate(first)]
        stack += reversed(children)
    return best, True


def _packed(choices: list[list[int]], weights: list[int]) -> int:
    """Return a lower bound: each path takes from all its links what is left of the weight of the lightest."""
    left: dict[int, int] = {}
    total = 0
    for choice in choices:
        share = min(left.get(e, weights[e]) for e in choice)
        if share:
            total += share
            for e in choice:
                left[e] = left.get(e, weights[e]) - share
    return total
