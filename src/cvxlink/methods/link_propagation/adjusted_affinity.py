"""Similarity adjustment: an affinity raised by propagated must-links and lowered by propagated cannot-links."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...data.graph import Graph
from ...data.links import Links
from ...errors import ClippedWarning
from ...numerics.checks import as_positive
from ...numerics.matrices import entries
from ...numerics.separable import PropagatedLinks


@dataclass(frozen=True, eq=False)
class Adjustment:
    """An adjusted affinity, and how many entries of F had to be clipped to [−1, 1] for it."""

    affinity: np.ndarray | sp.csr_array
    clipped: int


def adjusted_affinity(graph: Graph, F: np.ndarray | PropagatedLinks, scale: float = 1.0) -> Adjustment:
    r"""Return the affinity of equation (9) of Fu et al. (2011).

    .. math:: w^*_{ij} = \begin{cases} 1 - (1 - F_{ij})(1 - w_{ij}) & F_{ij} \ge 0 \\ (1 + F_{ij})\, w_{ij} & F_{ij} < 0
              \end{cases}

    For weights in [0, 1] and F in [−1, 1] the result is in [0, 1] too. Propagated links stay in [−1, 1] where degrees
    are alike; near points of unlike degree they can leave it. They are clipped then, and a warning counts them.

    Of links that are kept as a sum of products, only those between neighbours and the strongest of each linked point
    are used, and the result is sparse.

    Parameters
    ----------
    graph : Graph
    F : array or PropagatedLinks
    scale : float
        The size of F that counts as certain: F is divided by it, and what is then outside [−1, 1] is clipped.
    """
    graph.require_unit_weights("equation (9) adjusts affinities between 0 and 1")
    scale = as_positive(scale, "scale")
    if isinstance(F, PropagatedLinks):
        near = F.nearby.tocoo()
        adjusted, outside = _adjusted(near.data, entries(graph.W, near.row, near.col), scale)
        affinity = sp.csr_array((adjusted, (near.row, near.col)), shape=near.shape)
        affinity.eliminate_zeros()
        return Adjustment(affinity, outside)
    return Adjustment(*_adjusted(F, graph.W.toarray(), scale))


def size_on_links(F: np.ndarray | PropagatedLinks, links: Links) -> float:
    """Return the median size of propagated links on the links themselves; 1 if there are none, or all cancel out."""
    i, j = np.vstack([links.must, links.cannot]).T
    values = F.nearby[i, j] if isinstance(F, PropagatedLinks) else F[i, j]
    return (float(np.median(abs(np.asarray(values)))) if len(i) else 0.0) or 1.0


def _adjusted(F: np.ndarray, W: np.ndarray, scale: float) -> tuple[np.ndarray, int]:
    outside = int((abs(F) > 1).sum())
    if outside:
        warnings.warn(
            f"{outside} of {F.size} propagated links lie outside [−1, 1] and were clipped for equation (9)",
            ClippedWarning,
            stacklevel=3,
        )
    F = np.clip(F / scale, -1, 1)
    # 1 − (1 − F)(1 − w) is F + w − Fw, in which faint weights are not rounded away.
    return np.where(F >= 0, F + W - F * W, (1 + F) * W), outside
