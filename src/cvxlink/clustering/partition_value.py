r"""The value of a partition, :math:`\sum_S d_S^\top C d_S / \|d_S\|^2`, and how it changes when blocks move.

Minimising it is weighted kernel k-means: with the kernel :math:`D^{-1}(\sigma I - C)D^{-1}` and the weights
:math:`d_a^2`, the sum of squared distances to the means is the value plus a constant, for every :math:`\sigma`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput
from ..numerics.checks import LARGEST_COORDINATE, as_numbers_of_points, as_square, finite_array
from ..numerics.matrices import Congruence, as_dense, diagonal


@dataclass(frozen=True, eq=False)
class Cost:
    """The matrix C, dense, sparse or as a product, and the weights d."""

    C: Any
    d: np.ndarray

    @classmethod
    def of(cls, C: Any, d: Any) -> Cost:
        """Return checked data."""
        if isinstance(C, Congruence):
            matrix: Any = C
        else:
            matrix = as_square(C, "C")
            asymmetry, largest = abs(matrix - matrix.T).max(), abs(matrix).max()
            if largest > LARGEST_COORDINATE:
                raise InvalidInput.about("C", f"has entries above {LARGEST_COORDINATE:g}; divide it by the largest")
            if asymmetry > 1e-8 * largest:
                raise InvalidInput.about("C", f"is not symmetric (by {asymmetry:.3g}); give (C + C.T) / 2")
        n = matrix.shape[0]
        weights = finite_array(d, "d", (n,), because=f"C has {n} rows")
        if not ((weights > 0) & (weights <= LARGEST_COORDINATE)).all():
            raise InvalidInput.about("d", f"must be {n} positive numbers, one for each block")
        return cls(matrix, weights)

    @classmethod
    def of_embedding(cls, rows: np.ndarray, d: np.ndarray) -> Cost:
        """Return the cost of weighted k-means on the rows of an embedding, with the weights d²."""
        return cls(Congruence(d[:, None] * rows, -np.eye(rows.shape[1])), d)

    @property
    def n(self) -> int:
        """The number of blocks."""
        return len(self.d)

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return CV."""
        if isinstance(self.C, Congruence):
            return self.C.T @ (self.C.M @ (self.C.T.T @ V))
        return self.C @ V

    def forms(self, blocks: np.ndarray, weights: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
        """Return vᵀCv for several vectors v, given by their non-zero entries and the number of the vector of each."""
        rows = sp.csr_array((weights, (group, blocks)), shape=(count, self.n))
        if isinstance(self.C, Congruence):
            short = as_dense(rows @ self.C.T)
            return np.einsum("ij,ij->i", short @ self.C.M, short)
        return np.bincount(group, weights=weights * as_dense((rows @ self.C)[group, blocks]), minlength=count)

    def column(self, a: int) -> np.ndarray:
        """Return a column of C."""
        if isinstance(self.C, Congruence):
            return np.asarray(self.C.T @ (self.C.M @ as_dense(self.C.T[[a]]).ravel()))
        if sp.issparse(self.C):
            dense = np.zeros(self.n)
            rows, entries = self.column_entries(a)
            dense[rows] = entries
            return dense
        return self.C[:, a]

    def column_entries(self, a: int) -> tuple[Any, np.ndarray]:
        """Return the rows and entries of a column of C, without the zeros of a sparse matrix."""
        if not sp.issparse(self.C):
            return slice(None), self.column(a)
        here = slice(self.C.indptr[a], self.C.indptr[a + 1])  # row a is column a
        return self.C.indices[here], self.C.data[here]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the entries of C in some rows and columns."""
        if isinstance(self.C, Congruence):
            return as_dense(self.C.T[rows]) @ self.C.M @ as_dense(self.C.T[columns]).T
        return as_dense(self.C[rows][:, columns])

    @cached_property
    def own(self) -> np.ndarray:
        """The diagonal of C."""
        return diagonal(self.C)

    @cached_property
    def squares(self) -> np.ndarray:
        """The squared weights."""
        return self.d**2

    @cached_property
    def shift(self) -> float:
        """The multiple of the identity that makes the kernel's diagonal non-negative."""
        return max(0.0, float(self.own.max()))

    def squared_distances(self, a: int) -> np.ndarray:
        """Return the weighted squared distances of all blocks from block a, in the space of the kernel."""
        inner = -self.column(a) / (self.d * self.d[a])
        inner[a] += self.shift / self.squares[a]
        lengths = (self.shift - self.own) / self.squares
        return self.squares * np.maximum(lengths + lengths[a] - 2 * inner, 0.0)


class State:
    """A partition, with what is needed to know how its value changes.

    Labels of -1 belong to no cluster; they occur only before the first assignment.

    Attributes
    ----------
    labels : array of n
    G : array, n × k
        C d_S, one column per cluster.
    norms, forms, counts : arrays of k
        ‖d_S‖², d_SᵀCd_S and the number of blocks.
    """

    def __init__(self, cost: Cost, labels: np.ndarray, k: int) -> None:
        self.cost, self.k, self.labels = cost, k, labels.copy()
        inside = np.flatnonzero(labels >= 0)
        H = np.zeros((cost.n, k))
        H[inside, labels[inside]] = cost.d[inside]
        self.G = cost.times(H)
        self.norms = np.bincount(labels[inside], weights=cost.squares[inside], minlength=k)
        own = cost.d[inside] * self.G[inside, labels[inside]]
        self.forms = np.bincount(labels[inside], weights=own, minlength=k)
        self.counts = np.bincount(labels[inside], minlength=k)

    @property
    def ratios(self) -> np.ndarray:
        """The contribution of each cluster to the value; an empty one contributes nothing."""
        return np.divide(self.forms, self.norms, out=np.zeros(self.k), where=self.norms > 0)

    @property
    def value(self) -> float:
        """The value of the partition."""
        return float(self.ratios.sum())

    def lloyd_costs(self) -> np.ndarray:
        """Return the weighted squared distances of blocks from the means of clusters; infinity for empty clusters."""
        cost, sigma = self.cost, self.cost.shift
        norms = np.where(self.norms > 0, self.norms, 1.0)
        costs = (2 * cost.d[:, None]) * self.G / norms
        if sigma:
            inside = np.flatnonzero(self.labels >= 0)
            own = self.labels[inside]
            costs[inside, own] -= 2 * sigma * cost.squares[inside] / norms[own]
        costs += cost.squares[:, None] * ((sigma - self.ratios) / norms) + (sigma - cost.own)[:, None]
        costs[:, self.norms <= 0] = np.inf
        return costs

    def move_changes(self, blocks: np.ndarray | None = None) -> np.ndarray:
        """Return by how much the value changes when one block moves to another cluster, one row per block.

        Zero for staying, infinity for a block that is alone in its cluster. All blocks unless some are given.
        """
        chosen = slice(None) if blocks is None else blocks
        square, d, G, here = self.cost.squares[chosen], self.cost.d[chosen], self.G[chosen], self.labels[chosen]
        rows, own, ratios = np.arange(len(here)), square * self.cost.own[chosen], self.ratios
        left = self.norms[here] - square
        alone = self.counts[here] == 1
        leaving = (self.forms[here] - 2 * d * G[rows, here] + own) / np.where(alone, 1.0, left) - ratios[here]
        changes = (self.forms + 2 * d[:, None] * G + own[:, None]) / (self.norms + square[:, None]) - ratios
        changes += np.where(alone, np.inf, leaving)[:, None]
        changes[rows, here] = 0.0
        return changes

    def exchange_changes(self, A: Any, B: Any, gained: np.ndarray, linear: tuple, quadratic: np.ndarray) -> np.ndarray:
        """Return by how much the value changes when A gains what B loses.

        ``gained`` is the change of ‖d_A‖², ``linear`` the products of the change δ of d_A with the columns of G for A
        and B, ``quadratic`` is δᵀCδ.
        """
        new_A = (self.forms[A] + 2 * linear[0] + quadratic) / (self.norms[A] + gained)
        new_B = (self.forms[B] - 2 * linear[1] + quadratic) / (self.norms[B] - gained)
        return new_A + new_B - self.ratios[A] - self.ratios[B]

    def move(self, a: int, there: int) -> None:
        """Move one block to another cluster."""
        cost, here = self.cost, int(self.labels[a])
        d, own = cost.d[a], cost.squares[a] * cost.own[a]
        self.forms[here] += own - 2 * d * self.G[a, here]
        self.forms[there] += own + 2 * d * self.G[a, there]
        self.norms[here] -= cost.squares[a]
        self.norms[there] += cost.squares[a]
        self.counts[here] -= 1
        self.counts[there] += 1
        rows, entries = cost.column_entries(a)
        self.G[rows, here] -= d * entries
        self.G[rows, there] += d * entries
        self.labels[a] = there


def value_of(C: Any, d: Any, labels: Any) -> float:
    r"""Return :math:`\sum_S d_S^\top C d_S / \|d_S\|^2` over the clusters S of a partition.

    Parameters
    ----------
    C : array, sparse matrix or Congruence
        Symmetric, of order c.
    d : array of c
        Positive weights.
    labels : array of c
        Whole numbers from 0; numbers that no block has count for nothing.
    """
    cost = Cost.of(C, d)
    labels = as_numbers_of_points(labels, cost.n, "labels", "there are as many labels as blocks at most")
    if labels.shape != (cost.n,):
        raise InvalidInput.about("labels", f"must be {cost.n} whole numbers, one for each block")
    return State(cost, labels, int(labels.max()) + 1).value
