"""What a search asks of a problem: a bound for given links, a clustering that keeps them, and a pair to branch on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..clustering.impossible import why_impossible
from ..data.links import Links

# Called with the bound so far, which is not proven yet, and with the best clustering and its value.
Report = Callable[[float, np.ndarray | None, float], Any]


class Task(NamedTuple):
    """What is known when a node is evaluated."""

    links: Links
    warm: Any
    labels: np.ndarray | None
    value: float
    gap: float
    seconds: float
    is_root: bool
    seed: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What is known of a node.

    Attributes
    ----------
    bound : float
        Proven; infinite if no clustering keeps the links.
    labels, value : array and float
        The best clustering known that keeps the links of the root.
    pair : tuple of int or None
        Two points that are neither together nor apart by the links; None if there are none, so that the bound is the
        value of the only clustering.
    warm : object
        Where the children may start.
    rounds : int
        Rounds of cuts.
    seconds : float
    trouble : str
        Why no clustering keeps the links.
    history : tuple
        What each round achieved.
    """

    bound: float
    labels: np.ndarray | None
    value: float
    pair: tuple[int, int] | None
    warm: Any = None
    rounds: int = 0
    seconds: float = 0.0
    trouble: str = ""
    history: tuple[Any, ...] = ()


class Bounding(ABC):
    """A problem that can be bounded with more links than it has."""

    links: Links
    n_clusters: int | None

    @abstractmethod
    def evaluated(self, task: Task, report: Report | None = None) -> Evaluation:
        """Return bound, clustering and branching pair of a node; ``report`` hears of its progress."""

    @abstractmethod
    def value(self, labels: np.ndarray) -> float:
        """Return the value of a clustering, computed anew."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """How much of a value may be rounding: differences of this size are zero."""

    def admits(self, labels: np.ndarray) -> bool:
        """Whether a clustering has the right number of clusters and sizes, and keeps the links."""
        return not self.links.violated(labels)

    @property
    @abstractmethod
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The data, to recognise the problem by."""

    def without_clustering(self, links: Links) -> bool:
        """Whether it is proven that no clustering keeps some links."""
        return bool(self.contradiction(links))

    def contradiction(self, links: Links, sizes: Any = None, least: int | None = None, most: int | None = None) -> str:
        """Return why no clustering keeps the links, or an empty string if one does or that could not be decided."""
        if links.contradiction():
            return "a cannot-link lies within a block of must-linked points"
        return "" if self.n_clusters is None else why_impossible(links, self.n_clusters, sizes, least, most)


def with_link(links: Links, link: tuple[str, int, int]) -> Links:
    """Return links and one more."""
    kind, i, j = link
    must, cannot = links.must, links.cannot
    if kind == "must":
        return Links(links.n, np.vstack([must, [[i, j]]]), cannot)
    return Links(links.n, must, np.vstack([cannot, [[i, j]]]))
