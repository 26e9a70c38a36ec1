"""A proof that no labels keep the links and the sizes of clusters, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Messages list this many blocks or pairs at most.
MOST_LISTED = 8


@dataclass(frozen=True, eq=False)
class Contradiction:
    """A proof that no labels keep all rules: some pairs and the sizes, without any of which there would be labels.

    Attributes
    ----------
    k : int
        The number of clusters.
    apart : array, m × 2
        Pairs of blocks kept apart that cannot all be kept with k labels, or not together with the sizes.
    least, most : int or None
        The bounds on the sizes of clusters that are part of the contradiction.
    counts : tuple of int
        The numbers of blocks and of points.
    irreducible : bool
        Whether it is proven that without any one of the pairs there would be labels.
    """

    k: int
    apart: np.ndarray
    least: int | None = None
    most: int | None = None
    counts: tuple[int, int] = (0, 0)
    irreducible: bool = True

    @property
    def blocks(self) -> np.ndarray:
        """The blocks in the pairs, in increasing order."""
        return np.unique(self.apart)

    @property
    def is_clique(self) -> bool:
        """Whether it consists of blocks that are all kept apart from one another."""
        order = len(self.blocks)
        return self.least is None and self.most is None and order > 1 and 2 * len(self.apart) == order * (order - 1)

    def message(self, named: Callable[[int], str] = "block {}".format) -> str:
        """Say it in one sentence; ``named`` returns what to call a block."""
        clusters = f"{self.k} cluster{'s' * (self.k > 1)}"
        if self.least is not None or self.most is not None:
            return f"{self._sizes(clusters)}; allow other sizes or change the number of clusters"
        order = len(self.blocks)
        if self.is_clique:
            who = _listed([named(int(a)) for a in self.blocks])
            return (
                f"{who} are all kept apart from one another, which needs {order} clusters instead of {self.k}; remove "
                f"one of these cannot-links or allow {order} clusters"
            )
        pairs = _listed([f"{named(int(a))} – {named(int(b))}" for a, b in self.apart])
        return (
            f"{len(self.apart)} cannot-links between {order} blocks cannot all be kept with {clusters}: {pairs}; "
            f"remove one of them or allow more clusters"
        )

    def __str__(self) -> str:
        return self.message()

    def _sizes(self, clusters: str) -> str:
        blocks, points = self.counts
        who = f"{points} points" if blocks == points else f"{blocks} blocks with {points} points"
        bounds = [f"at least {self.least}" if self.least else "", f"at most {self.most}" if self.most else ""]
        within = f"of {' and '.join(bound for bound in bounds if bound)} points each"
        if self.least == 1 and self.most is None:
            within = "none of which is empty"
        what = f"{who} cannot be split into {clusters}{',' * (self.least == 1)} {within}"
        return f"{what} while keeping {len(self.apart)} cannot-links" if len(self.apart) else what


def _listed(words: list[str]) -> str:
    shown = words if len(words) <= MOST_LISTED else [*words[: MOST_LISTED - 1], f"{len(words) - MOST_LISTED + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
