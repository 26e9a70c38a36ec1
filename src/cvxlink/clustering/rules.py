"""Which labels of blocks are allowed: blocks kept apart, sizes of clusters, no empty cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput
from ..numerics.checks import MOST_POINTS, as_count, as_flag, as_pairs_of_points, real_array


@dataclass(frozen=True, eq=False)
class Rules:
    """The partitions of n blocks into at most k clusters that keep the links and the sizes of clusters.

    A block is a set of points that must-links join; it gets one label. Clusters that must not be empty have at least
    one point, so there is no rule of its own for them.

    Attributes
    ----------
    n : int
        The number of blocks.
    k : int
        The number of clusters.
    apart : array, m × 2
        The pairs of blocks that must get different labels, smaller number first, sorted, each once.
    sizes : array of n
        The number of points in each block.
    least, most : int
        The smallest and the largest number of points in a cluster.
    """

    n: int
    k: int
    apart: np.ndarray
    sizes: np.ndarray
    least: int
    most: int

    @classmethod
    def of(
        cls,
        n: int,
        k: int,
        apart: Any = (),
        sizes: Any = None,
        least: int | None = None,
        most: int | None = None,
        nonempty: bool = True,
    ) -> Rules:
        """Return checked rules. Blocks have one point each unless ``sizes`` says otherwise."""
        n = as_count(n, "n_blocks", 1, MOST_POINTS)
        k = as_count(k, "k", 1, MOST_POINTS)
        pairs = np.sort(as_pairs_of_points(apart, n, "apart"), axis=1)
        itself = pairs[pairs[:, 0] == pairs[:, 1]]
        if len(itself):
            raise InvalidInput.about("apart", f"keeps block {itself[0, 0]} apart from itself; remove that pair")
        pairs = np.unique(pairs, axis=0)
        points = _whole_sizes(sizes, n)
        total = int(points.sum())
        lowest = 0 if least is None else as_count(least, "least", 0)
        if as_flag(nonempty, "nonempty"):
            lowest = max(lowest, 1)
        highest = total if most is None else min(as_count(most, "most", 1), total)
        if most is not None and most < lowest:
            raise InvalidInput.about("most", f"is {most}, below the least size of a cluster, {lowest}; raise it")
        return cls(n, k, pairs, points, lowest, highest)

    @property
    def total(self) -> int:
        """The number of points."""
        return int(self.sizes.sum())

    @property
    def bounds_above(self) -> bool:
        """Whether the largest size of a cluster excludes anything."""
        return self.most < self.total

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """The graph of blocks kept apart, as a symmetric matrix of ones."""
        i, j = self.apart.T
        ones = np.ones(2 * len(i))
        return sp.csr_array((ones, (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(self.n, self.n))

    @cached_property
    def is_linked(self) -> np.ndarray:
        """Which blocks are kept apart from some other block."""
        linked = np.zeros(self.n, dtype=bool)
        linked[self.apart] = True
        return linked

    def keeps_apart(self, labels: np.ndarray) -> bool:
        """Whether labels keep all pairs apart."""
        return not len(self.apart) or bool((labels[self.apart[:, 0]] != labels[self.apart[:, 1]]).all())

    def points_in(self, labels: np.ndarray) -> np.ndarray:
        """Return the number of points in each cluster."""
        return np.bincount(labels, weights=self.sizes, minlength=self.k).astype(int)

    def fits_sizes(self, labels: np.ndarray) -> bool:
        """Whether the clusters have the right sizes."""
        points = self.points_in(labels)
        return bool(points.min() >= self.least and points.max() <= self.most)

    def admits(self, labels: np.ndarray) -> bool:
        """Whether labels 0 … k − 1 keep all rules."""
        return self.keeps_apart(labels) and self.fits_sizes(labels)


def _whole_sizes(sizes: Any, n: int) -> np.ndarray:
    if sizes is None:
        return np.ones(n, dtype=int)
    points = real_array(sizes, "sizes")
    if points.shape != (n,) or not ((points >= 1) & (points <= MOST_POINTS) & (points == np.floor(points))).all():
        raise InvalidInput.about("sizes", f"must be {n} positive whole numbers, the number of points in each block")
    return points.astype(int)
