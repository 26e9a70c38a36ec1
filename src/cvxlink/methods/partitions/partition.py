r"""What k-means and normalised cuts with links have in common: a cost, weights of points, links.

With the root weights :math:`d_i > 0` (1 for k-means, :math:`\sqrt{\deg_i}` for normalised cuts), a clustering has the
matrix :math:`Z = \sum_S d_S d_S^\top / \|d_S\|^2`, where :math:`d_S` is d on the points of the cluster S and zero
elsewhere. Z is the projection on the span of these vectors, so

.. math:: Zd = d,\quad \operatorname{tr} Z = k,\quad 0 \preceq Z \preceq I,\quad Z \ge 0,

and its value is :math:`c_0 + \langle C, Z\rangle`. Must-linked points have equal rows :math:`Z_{i\cdot}/d_i`, and
:math:`Z_{ij} = 0` for cannot-linked ones.

*Contraction.* With a block of must-linked points as one point of root weight :math:`d_a = \|d_{(a)}\|`, and T the n × c
matrix with the entries :math:`d_i/d_a` (its columns are orthonormal), the matrices with equal rows are exactly
:math:`Z = TYT^\top`, and Y satisfies the same conditions with the cost :math:`T^\top CT`.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...clustering.colouring import colouring
from ...clustering.contradiction import Contradiction
from ...data.links import Links
from ...errors import InfeasibleProblem, SolveFailed
from ...numerics.matrices import Congruence, as_dense
from ...programs.status import Status


@dataclass(frozen=True, eq=False)
class Partition:
    """The problem as data.

    Attributes
    ----------
    C : matrix, n × n
        The cost: an array, a sparse matrix or a product.
    d : array of n
        The root weights, positive.
    links : Links
        Consistent: no cannot-link within a block.
    n_clusters : int
    offset : float
        The constant c₀.
    least, most : int, optional
        How many points each cluster has at least and at most.
    is_distortion : bool
        Whether C is −XXᵀ and the constant the sum of squares of X, so that values are squared distances to means.
    """

    C: Any
    d: np.ndarray
    links: Links
    n_clusters: int
    offset: float = 0.0
    least: int = 1
    most: int | None = None
    is_distortion: bool = False

    @property
    def n(self) -> int:
        """The number of points."""
        return len(self.d)

    @property
    def order(self) -> int:
        """The number of blocks c."""
        return self.links.n_blocks

    @cached_property
    def T(self) -> sp.csr_array:
        """The n × c matrix with orthonormal columns that leads from blocks to points."""
        entries = self.d / self.block_d[self.links.blocks]
        return sp.csr_array((entries, (np.arange(self.n), self.links.blocks)), shape=(self.n, self.order))

    @cached_property
    def block_d(self) -> np.ndarray:
        """The root weights of blocks."""
        return np.sqrt(np.bincount(self.links.blocks, self.d**2, self.order))

    @cached_property
    def block_sizes(self) -> np.ndarray:
        """The number of points in each block."""
        return np.bincount(self.links.blocks, minlength=self.order)

    @cached_property
    def representatives(self) -> np.ndarray:
        """The first point of each block."""
        return np.unique(self.links.blocks, return_index=True)[1]

    @cached_property
    def largest_weight(self) -> float:
        r"""β, which :math:`\|d_S\|^2` of no cluster exceeds: all others have at least the least points of all."""
        others = self.least * (self.n_clusters - 1)
        weights = np.sort(self.d**2)
        largest = float(weights[others:].sum())
        if self.most is not None:
            largest = min(largest, float(weights[-self.most :].sum()))
        return largest * (1 + 1e-12)  # rounding must not make it too small

    @property
    def diagonal_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and largest entries on the diagonal of Y: s/most and s/least for a block of s points.

        Sizes count points, so they are for equal weights; without sizes, Y ⪯ I leaves the numbers from 0 to 1.
        """
        low = np.zeros(self.order) if self.most is None else self.block_sizes / self.most
        return low, np.minimum(self.block_sizes / self.least, 1.0) if self.least > 1 else np.ones(self.order)

    @property
    def apart(self) -> np.ndarray:
        """The pairs of blocks that cannot be in one cluster."""
        return self.links.block_cannot

    @cached_property
    def are_apart(self) -> np.ndarray:
        """The same as a mask over all pairs of blocks."""
        mask = np.zeros((self.order, self.order), dtype=bool)
        i, j = self.apart.T
        mask[i, j] = mask[j, i] = True
        return mask

    @cached_property
    def block_C(self) -> Any:
        """The cost on blocks, TᵀCT: of the same kind as C."""
        if isinstance(self.C, Congruence):
            return Congruence(as_dense(self.T.T @ self.C.T), self.C.M)
        product = self.T.T @ self.C @ self.T
        return sp.csr_array((product + product.T) / 2) if sp.issparse(product) else (product + product.T) / 2

    def to_its_own_size(self) -> tuple[Partition, float]:
        """Return the same problem with a cost of about one, and the power of two that its values were divided by.

        Squares of tiny costs would be lost, and tolerances would depend on the unit that points are measured in.
        """
        C = self.C
        if not isinstance(C, Congruence):
            size = _power_of_two(abs(C).max())
            return replace(self, C=C / size, offset=self.offset / size), size
        unit = _power_of_two(abs(C.T).max(initial=0.0))
        if unit * unit == 0:  # no value differs from zero
            return self, 1.0
        T = C.T / unit
        offset = float(np.vdot(T, T)) if self.is_distortion else self.offset / unit / unit
        return replace(self, C=Congruence(T, C.M), offset=offset), unit * unit

    def has_clustering(self) -> bool:
        """Whether a clustering is found that keeps all links and sizes; if not, there may be one."""
        sizes = self.block_sizes, self.least if self.least > 1 else None, self.most
        with suppress(SolveFailed):
            return not isinstance(colouring(self.order, self.apart, self.n_clusters, *sizes), Contradiction)
        return False

    def on_blocks(self) -> Partition:
        """Return the same problem with every block as a point; sizes stay those of points."""
        return replace(self, C=self.block_C, d=self.block_d, links=Links(self.order, cannot=self.apart))

    def value(self, labels: np.ndarray) -> float:
        """Return the value of a clustering of the points."""
        H = self.columns(labels)
        if self.is_distortion and isinstance(self.C, Congruence):
            # Distances to the means, not a difference of sums of squares, which a point far away would swamp.
            apart = self.C.T - H @ (H.T @ self.C.T)
            return float(np.vdot(apart, apart))
        C_H = self.C.T @ (self.C.M @ (self.C.T.T @ H)) if isinstance(self.C, Congruence) else self.C @ H
        return self.offset + float(np.vdot(H, C_H))

    def columns(self, labels: np.ndarray) -> np.ndarray:
        """Return d on each cluster, scaled to length one, as columns: Z is this matrix times its transpose."""
        _, number = np.unique(labels, return_inverse=True)
        H = np.zeros((self.n, number.max() + 1))
        H[np.arange(self.n), number] = self.d
        return H / np.linalg.norm(H, axis=0)


def _power_of_two(number: float) -> float:
    """Return the largest power of two up to a number, or one in place of zero."""
    return float(np.ldexp(0.5, np.frexp(number)[1])) if number > 0 else 1.0


def require_enough_clusters(links: Links, n_clusters: int, remedy: str = "Raise it, or remove cannot-links") -> None:
    """Raise if cannot-links need more clusters: some points are pairwise cannot-linked."""
    clique = links.clique()
    if len(clique) > n_clusters:
        first = [int(np.flatnonzero(links.blocks == block)[0]) for block in sorted(clique)]
        raise InfeasibleProblem(
            f"the links keep the points {', '.join(map(str, first))} pairwise apart, so at least {len(clique)} "
            f"clusters are needed; n_clusters is {n_clusters}. {remedy}"
        )


def refuted(data: Any, status: Status) -> str:
    """Return why a verdict on a program over a partition is wrong, or an empty string."""
    if status is Status.UNBOUNDED:
        return "all feasible Z are between 0 and I"
    # With fewer colours than clusters, a cluster of several blocks can be divided.
    has_point = status is Status.INFEASIBLE and data.partition.has_clustering()
    return "there is a clustering that keeps all links" if has_point else ""
