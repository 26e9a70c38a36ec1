r"""The bound that any multipliers prove for a relaxation on blocks, with rounding.

For Y as in :mod:`cvxlink.methods.partitions.splitting`, multipliers Λ of its entries and :math:`\mu \ge 0` of cuts,
with :math:`S = C - \Lambda + A^*(\mu)`,

.. math:: \langle C, Y\rangle = \langle S, Y\rangle + \langle \Lambda, Y\rangle - \langle A^*(\mu), Y\rangle
    \ \ge\ w^\top S w + \sum_{i < k} \lambda_i(U^\top S U)
    + \sum_a \min_{l_a \le t \le h_a} \Lambda_{aa} t - b^\top\mu ,

because :math:`Y = ww^\top + UMU^\top` with M in the Fantope (Ky Fan), :math:`\langle \Lambda, Y\rangle \ge 0` off the
diagonal and :math:`A(Y) \le b`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...numerics.least_eigenvalue import sum_of_smallest
from ...numerics.matrices import Congruence, as_dense
from ...numerics.rounding import Ball, gamma, inner_product, norm_above, row_sums_above, total
from .cuts import Cuts, rows_of
from .partition import Partition


def proven_bound(partition: Partition, cuts: Cuts, entries: np.ndarray, mu: np.ndarray) -> tuple[Ball, str]:
    """Return a lower bound on the relaxation with cuts, from any Λ and μ, and how it is known if not by arithmetic.

    Signs that do not fit are cut off. What is proven is for the numbers as they are stored: C, d and the cuts.
    """
    c, k = partition.order, partition.n_clusters
    entries = (entries + entries.T) / 2
    free = partition.are_apart | np.eye(c, dtype=bool)
    entries = np.where(free, entries, np.maximum(entries, 0))
    mu = np.maximum(mu, 0)
    A, b = rows_of(cuts, partition.block_d, partition.links.blocks, partition.largest_weight)
    C = as_dense(partition.block_C)
    S = C - entries + (A.T @ mu).reshape(c, c)
    S = (S + S.T) / 2
    w = partition.block_d / np.linalg.norm(partition.block_d)
    # Every feasible Y has a Frobenius norm of at most √k, so an error E in the entries of S counts at most √k‖E‖.
    sizes = cost_sizes(partition) + abs(entries) + (abs(A).T @ mu).reshape(c, c)
    most_cuts = int(np.bincount(A.indices, minlength=1).max(initial=0)) if A.nnz else 0
    wrong = gamma(partition.n + most_cuts + 12) * norm_above(sizes)
    # w itself is rounded, which turns the space by as little.
    turned = gamma(2 * partition.n + 8) * row_sums_above(S)
    bound = Ball(partition.offset) - np.sqrt(k) * wrong * 2 - 4 * k * turned + quadratic_form(S, w)
    how = ""
    if k > 1:
        least, margin, how = sum_of_smallest(S, k - 1, v=w)
        bound = bound + Ball(least) - margin
    low, high = partition.diagonal_bounds
    diagonal = np.diag(entries)
    terms = np.minimum(diagonal * low, diagonal * high)
    return bound + total(terms) - gamma(4) * float(abs(terms).sum()) - _product(b, mu), how


def highest_value(partition: Partition) -> float:
    """Return a number that no feasible point has a larger value than."""
    C = partition.C
    negative = Congruence(C.T, -C.M) if isinstance(C, Congruence) else -C
    c = partition.order
    bound, _ = proven_bound(replace(partition, C=negative, offset=0.0), Cuts(), np.zeros((c, c)), np.zeros(0))
    return (Ball(partition.offset) - bound.lower).upper


def cost_sizes(partition: Partition) -> np.ndarray:
    """Return |T|ᵀ|C||T|, by which the errors of the cost on blocks are bounded."""
    T, C = partition.T, partition.C
    if isinstance(C, Congruence):
        factor = as_dense(T.T @ abs(C.T))
        return factor @ abs(C.M) @ factor.T
    return as_dense(T.T @ abs(C) @ T)


def quadratic_form(S: np.ndarray, w: np.ndarray) -> Ball:
    """Return wᵀSw."""
    return inner_product(S, Congruence(w[:, None], np.eye(1)))


def _product(b: np.ndarray, mu: np.ndarray) -> Ball:
    terms = b * mu
    return total(terms) + Ball(0.0, gamma(2) * float(abs(terms).sum()))
