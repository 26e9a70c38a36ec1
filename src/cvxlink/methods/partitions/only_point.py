r"""Programs with one feasible point: every block is a cluster, or all blocks are in one.

With as many clusters as blocks, :math:`0 \preceq Y \preceq I` and :math:`\operatorname{tr} Y = c` leave Y = I, and with
one cluster :math:`Yw = w` and :math:`\operatorname{tr} Y = 1` leave :math:`Y = ww^\top`. Squared distances to means are
then sums over pairs, :math:`\sum_{i<j} \|x_i - x_j\|^2/m` for a cluster of m points: no differences of large numbers.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from ...numerics.matrices import Congruence, as_dense
from ...numerics.rounding import Ball, gamma, total
from .partition import Partition

# Clusters of more points have too many pairs.
MOST_POINTS = 2000


def only_matrix(partition: Partition) -> np.ndarray | None:
    """Return the only matrix on blocks that has the right eigenvalues; None if there are several."""
    if partition.n_clusters == partition.order:
        return np.eye(partition.order)
    if partition.n_clusters == 1:
        w = partition.block_d / np.linalg.norm(partition.block_d)
        return np.outer(w, w)
    return None


def only_value(partition: Partition) -> Ball | None:
    """Return the sum of squared distances to means at the only matrix; None if it is another cost or not known."""
    if not partition.is_distortion or not isinstance(partition.C, Congruence) or only_matrix(partition) is None:
        return None
    X, value = as_dense(partition.C.T), Ball(0.0)
    labels = np.zeros(partition.n, dtype=int) if partition.n_clusters == 1 else partition.links.blocks
    counts = np.bincount(labels)
    if counts.max() > MOST_POINTS:
        return None
    for cluster in np.flatnonzero(counts > 1):
        squares = total(pdist(X[labels == cluster], "sqeuclidean"))
        # Each is a sum of squares of differences, which are rounded once.
        rounded = squares * (1 + Ball(0.0, gamma(X.shape[1] + 4))) if squares.middle else Ball(0.0)
        value = value + rounded / float(counts[cluster])
    return value
