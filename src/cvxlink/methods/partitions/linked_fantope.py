r"""The Fantope with links: the relaxation of normalised cuts, without the condition :math:`Z \ge 0`.

.. math::

    \min_{Z, s}\ \langle C, Z\rangle + \sum_{\mathcal{C}} c_{ij}|s_{ij}| \quad\text{s.t.}\quad
    Zw = w,\quad \operatorname{tr} Z = k,\quad 0 \preceq Z \preceq I,\quad
    Z_{i\cdot}/d_i = Z_{j\cdot}/d_j \text{ on } \mathcal{M},\quad Z_{ij} = s_{ij} \text{ on } \mathcal{C},

with :math:`s_{ij} = 0`, that is :math:`c_{ij} = \infty`, for links that must hold. On blocks of must-linked points, see
:class:`~cvxlink.methods.partitions.partition.Partition`, and with :math:`Y = ww^\top + M`, what remains is M on the
complement of w with :math:`0 \preceq M \preceq I` and :math:`\operatorname{tr} M = k - 1`. For any z with
:math:`|z_{ij}| \le c_{ij}`, and :math:`S = T^\top CT - \sum z_{ij} T^\top E_{ij}T`, the optimum is therefore at least

.. math:: w^\top S w + \text{the sum of the } k - 1 \text{ smallest eigenvalues of } S \text{ on the complement of } w

(Lagrange, Ky Fan), and the largest of these bounds is the optimum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InvalidInput
from ...numerics.checks import real_array
from ...numerics.matrices import Congruence, Matrix, as_dense, entries, inner
from ...numerics.rounding import row_sums_above
from .partition import Partition

# Rows of must-linked points are compared this many at a time.
BATCH = 32


@dataclass(frozen=True, eq=False)
class LinkedFantope:
    """The program as data.

    Attributes
    ----------
    partition : Partition
        Cost, root weights, number of clusters; its must-links are the ones that hold exactly.
    pairs : array, m × 2
        The cannot-links.
    prices : array of m
        The numbers c_ij; infinity where the link must hold.
    is_soft : bool
        Whether there is a variable s.
    nonnegative : bool
        Whether Z ≥ 0 is declared as well.
    """

    partition: Partition
    pairs: np.ndarray
    prices: np.ndarray
    is_soft: bool = False
    nonnegative: bool = False

    @property
    def n(self) -> int:
        """The number of points."""
        return self.partition.n

    @property
    def k(self) -> int:
        """The number of clusters."""
        return self.partition.n_clusters

    # ------------------------------------------------------------------ as it is declared

    @cached_property
    def w(self) -> np.ndarray:
        """The root weights, scaled to length one."""
        return self.partition.d / np.linalg.norm(self.partition.d)

    def value(self, point: Mapping[str, Matrix]) -> float:
        """Return the objective."""
        paid = float(self.prices @ abs(as_dense(point["s"]).ravel())) if self.is_soft else 0.0
        return inner(self.partition.C, point["Z"]) + paid

    def violations(self, point: Mapping[str, Matrix]) -> dict[str, float]:
        """Return the largest violation of each constraint."""
        Z = point["Z"]
        eigenvalues = Z.eigenvalues() if isinstance(Z, Congruence) else np.linalg.eigvalsh((Z + Z.T) / 2)
        found = {
            "keeps": float(abs(_times(Z, self.w) - self.w).max()),
            "trace": abs(_trace(Z) - self.k),
            "psd": max(0.0, -float(eigenvalues[0])),
            "below": max(0.0, float(eigenvalues[-1]) - 1),
            "must": self._row_differences(Z),
            "cannot": 0.0,
        }
        if len(self.pairs):
            slack = as_dense(point["s"]).ravel() if self.is_soft else 0.0
            found["cannot"] = float(abs(entries(Z, *self.pairs.T) - slack).max())
        if self.nonnegative:
            found["nonnegative"] = max(0.0, -float(as_dense(Z).min()))
        return found

    def _row_differences(self, Z: Matrix) -> float:
        must, d = self.partition.links.must, self.partition.d
        largest = 0.0
        for start in range(0, len(must), BATCH):
            i, j = must[start : start + BATCH].T
            size = np.hypot(d[i], d[j]) / np.sqrt(2)
            rows = (_rows(Z, end) * (d[other] / size)[:, None] for end, other in ((i, j), (j, i)))
            one, other = rows
            largest = max(largest, float(abs(one - other).max()))
        return largest

    # ------------------------------------------------------------------ on blocks

    @cached_property
    def block_w(self) -> np.ndarray:
        """The root weights of blocks, scaled to length one."""
        return self.partition.block_d / np.linalg.norm(self.partition.block_d)

    @cached_property
    def _lifted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pairs of blocks, each once; which of them each link belongs to; and d_i d_j / (d_a d_b)."""
        partition = self.partition
        blocks = np.sort(partition.links.blocks[self.pairs], axis=1).reshape(-1, 2)
        pairs, number = np.unique(blocks, axis=0, return_inverse=True)
        share = partition.d[self.pairs].prod(axis=1) / partition.block_d[blocks].prod(axis=1)
        return pairs, number.ravel(), share

    @property
    def block_pairs(self) -> np.ndarray:
        """The pairs of blocks with cannot-links between them; within one, if links contradict one another."""
        return self._lifted[0]

    @property
    def counts(self) -> np.ndarray:
        """Which of these pairs are not free of charge."""
        return self.block_prices > 0

    @cached_property
    def block_prices(self) -> np.ndarray:
        """What |Y_ab| costs; infinity where it must be zero."""
        pairs, number, share = self._lifted
        return np.bincount(number, self.prices * share, len(pairs))

    def on_blocks(self, z: np.ndarray) -> np.ndarray:
        """Return multipliers of pairs of blocks from those of links."""
        pairs, number, share = self._lifted
        return np.bincount(number, z * share, len(pairs))

    def on_links(self, z: np.ndarray) -> np.ndarray:
        """Return multipliers of links, within their prices, from those of pairs of blocks."""
        pairs, number, share = self._lifted
        many = np.bincount(number, minlength=len(pairs))[number]
        with np.errstate(invalid="ignore"):
            by_price = np.where(self.prices > 0, z[number] / self.block_prices[number] * self.prices, 0.0)
        return np.where(np.isfinite(self.prices), by_price, z[number] / (share * many))

    def multipliers(self, duals: Mapping[str, Any]) -> np.ndarray:
        """Return the multipliers of cannot-links within their prices; zero where there are none of use."""
        given = real_array(duals.get("cannot", np.zeros(len(self.pairs))), "the multipliers of 'cannot'", "duals")
        if given.size != len(self.pairs):
            raise InvalidInput(
                f"the constraint 'cannot' has {len(self.pairs)} multipliers, but {given.size} were given", "duals"
            )
        usable = np.where(np.isfinite(given.ravel()), given.ravel(), 0.0)
        return np.clip(usable, -self.prices, self.prices)

    def matrix(self, z: np.ndarray) -> Any:
        """Return S for multipliers of pairs of blocks: dense or sparse, as the cost is."""
        C, (a, b) = self.partition.block_C, self.block_pairs.T
        order, half = self.partition.order, np.tile(z / 2, 2)
        change = sp.csr_array((half, (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(order, order))
        return sp.csr_array(C - change) if sp.issparse(C) else C - change.toarray()

    @cached_property
    def highest(self) -> float:
        """What no feasible point has a larger value than: |Y_ab| is at most one."""
        size = self.k * row_sums_above(self.partition.block_C)
        return size + float(self.block_prices[np.isfinite(self.block_prices)].sum())

    def entries_on_links(self, Y: np.ndarray) -> np.ndarray:
        """Return Z_ij of the cannot-links for a matrix on blocks."""
        pairs, number, share = self._lifted
        return Y[*pairs[number].T] * share

    def lifted(self, V: np.ndarray, X: np.ndarray) -> Congruence:
        """Return Z = T(wwᵀ + VXVᵀ)Tᵀ, kept as a product."""
        columns = self.partition.T @ np.column_stack([self.block_w, V])
        middle = np.zeros((len(X) + 1, len(X) + 1))
        middle[0, 0], middle[1:, 1:] = 1.0, X
        return Congruence(columns, middle)


def _times(Z: Matrix, v: np.ndarray) -> np.ndarray:
    return Z.T @ (Z.M @ (Z.T.T @ v)) if isinstance(Z, Congruence) else Z @ v


def _rows(Z: Matrix, i: np.ndarray) -> np.ndarray:
    return as_dense(Z.T[i]) @ Z.M @ Z.T.T if isinstance(Z, Congruence) else Z[i]


def _trace(Z: Matrix) -> float:
    return float(np.sum((Z.T.T @ Z.T) * Z.M) if isinstance(Z, Congruence) else np.trace(Z))
