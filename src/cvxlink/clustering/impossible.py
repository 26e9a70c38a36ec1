"""Why no clustering keeps links and sizes, in the words of the points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..data.links import Links
from ..errors import InfeasibleProblem, SolveFailed
from .colouring import colouring
from .contradiction import Contradiction

# Seconds for the question whether any clustering keeps the links; without an answer nothing is said.
SECONDS_TO_COLOUR = 5.0


def why_impossible(
    links: Links,
    n_clusters: int,
    sizes: np.ndarray | None = None,
    least: int | None = None,
    most: int | None = None,
    named: Callable[[int], str] = "point {}".format,
) -> str:
    """Return why no clustering keeps consistent links, or an empty string if one does or that could not be decided.

    ``sizes`` are those of the blocks of must-linked points, which the least and the largest size of a cluster are
    about, and ``named`` returns what to call a point.
    """
    try:
        found = colouring(links.n_blocks, links.block_cannot, n_clusters, sizes, least, most, SECONDS_TO_COLOUR)
    except (SolveFailed, InfeasibleProblem):
        return ""
    if not isinstance(found, Contradiction):
        return ""
    first = np.unique(links.blocks, return_index=True)[1]
    many = np.bincount(links.blocks) > 1
    return found.message(lambda a: named(int(first[a])) + (" with its must-links" if many[a] else ""))
