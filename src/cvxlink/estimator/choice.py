"""The method that is taken where none is named: one table, by what is given.

===========================================================================  =========================
what is given                                                                what is taken
===========================================================================  =========================
no links and no labels                                                       NCuts
links that contradict one another, or that so many clusters cannot keep      LinkedCut with soft links
links that look wrong: they do not help to predict one another               LinkedCut with soft links
other links, on a graph with points that have no neighbours                  KP
fewer than five other links, no cannot-links, or components of the graph     LinkedCut
without links
more than 300 other links                                                    KP
all other links                                                              KPCut
===========================================================================  =========================

Labels become links first. The study behind it is ``benchmarks/few_links.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..clustering.colouring import colouring
from ..clustering.contradiction import Contradiction
from ..data.graph import Graph
from ..data.links import Links
from ..errors import SolveFailed
from ..methods.partitions.kp_cut import share_of_graph
from .doubts import why_doubtful

# So few links leave the clusters of the graph nearly as they are, and a kernel learnt from them knows too little.
FEW = 5
# With more links they decide nearly alone: the cut beside KP changes little, and not always for the better.
MANY = 300
# A must-link pulls a third as strongly as all edges of a typical point; a cannot-link pushes a tenth as strongly.
SOFT = {"must_weight": 0.3, "cannot_weight": 0.1}


@dataclass(frozen=True)
class Choice:
    """A method, why it was chosen, and its options."""

    method: str
    reason: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{self.method}{f' with {options}' if options else ''}: {self.reason}"


def choose(links: Links, n_clusters: int, graph: Graph) -> Choice:
    """Return the method for links, those that follow from labels included, and a number of clusters."""
    if not len(links):
        return Choice("NCuts", "there are no links, so the points are clustered by their graph alone")
    if n_clusters == 1:
        return Choice("NCuts", "there is one cluster, which holds all points whatever the links say")
    trouble = _why_not_enforced(links, n_clusters)
    if trouble:
        return softly(trouble)
    if (graph.degrees == 0).any():
        return Choice("KP", "some points have no neighbours, so they have no weight in a cut")
    if len(np.unique(graph.components[links.linked])) < graph.n_components:
        return Choice("LinkedCut", "the graph has components without links, to which KP does not lead")
    if not len(links.cannot):
        return Choice("LinkedCut", "there are no cannot-links, without which KP maps all points to one place")
    if len(links) < FEW:
        return Choice("LinkedCut", f"{_counted(links)}, fewer than {FEW}: the graph decides")
    trouble = why_doubtful(graph, links, n_clusters)
    if trouble:
        return softly(trouble)
    share = share_of_graph(links, n_clusters)
    if len(links) > MANY:
        return Choice("KP", f"{_counted(links)}, more than {MANY}: beside them the graph would weigh {share:.2%}")
    return Choice(
        "KPCut", f"{_counted(links)} and {n_clusters} clusters: the graph weighs {share:.0%}, the links the rest"
    )


def softly(reason: str) -> Choice:
    """Return the method for links that cannot or should not all hold."""
    return Choice("LinkedCut", reason, SOFT)


def _why_not_enforced(links: Links, n_clusters: int) -> str:
    """Return why no clustering with so many clusters keeps the links, as far as that is easily seen; or ""."""
    if links.contradiction():
        return "the links contradict one another, so some have to be broken"
    if links.n_blocks < n_clusters:
        return f"the must-links leave {links.n_blocks} blocks, fewer than {n_clusters} clusters"
    if links.least_clusters() > n_clusters:
        return f"the cannot-links need {links.least_clusters()} clusters, more than {n_clusters}"
    with suppress(SolveFailed):  # if it cannot be decided quickly, the links are taken as they are
        if isinstance(colouring(links.n_blocks, links.block_cannot, n_clusters, time_limit=1.0), Contradiction):
            return f"no clustering into {n_clusters} clusters keeps all cannot-links"
    return ""


def _counted(links: Links) -> str:
    return "1 link" if len(links) == 1 else f"{len(links)} links"
