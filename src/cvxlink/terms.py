r"""Terms to build formulations from: each is one equation and one CVXPY expression.

K is the kernel, a symmetric CVXPY variable or any affine expression; 𝓜 are the must-links, 𝓒 the cannot-links. Terms
of an objective are expressions, to be added up and weighed; terms that constrain are constraints, to be named. PCP is

.. code-block:: python

    cp.Minimize(terms.smoothness(K, L))
    {
        "unit": terms.unit_diagonal(K),
        "must": terms.must_links(K, links),
        "cannot": terms.cannot_links(K, links),
        "psd": terms.semidefinite(K),
    }

A formulation made of terms prints itself as mathematics. Terms with a ``weight`` take one number for all links, numbers
by pair ``{(0, 1): 2.0}``, or an array in the order of the links; those that are not named weigh 1.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from .errors import InvalidInput
from .link_values import as_link_values, on_links
from .links import Links
from .mathematics import stands_for
from .validation import as_count, as_number, as_positive

# ---------------------------------------------------------------------- for objectives


def smoothness(K: Any, L: Any) -> Any:
    r""":math:`\langle L, K \rangle = \tfrac12 \sum_{ij} w_{ij} \|\phi_i - \phi_j\|^2`: neighbours shall be near."""
    return stands_for(cp.sum(cp.multiply(L, K)), r"\langle L, @ \rangle", K)


def soft_must_links(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{M}} w_{ij} (1 - K_{ij})`: on the unit sphere, half the squared distances."""
    i, j = _pairs(K, links, "must").T
    w = _weights(weight, links, links.must)
    return stands_for(w @ (1 - K[i, j]), r"\sum_{\mathcal{M}} w_{ij} (1 - @_{ij})", K)


def must_distances(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{M}} w_{ij} (K_{ii} + K_{jj} - 2K_{ij})`: squared distances, on no sphere."""
    i, j = _pairs(K, links, "must").T
    w = _weights(weight, links, links.must)
    tex = r"\sum_{\mathcal{M}} w_{ij} (@_{ii} + @_{jj} - 2 @_{ij})"
    return stands_for(w @ (K[i, i] + K[j, j] - 2 * K[i, j]), tex, K)


def soft_cannot_links(K: Any, links: Links, weight: Any = 1.0, margin: float = 0.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{C}} w_{ij} \max(0, K_{ij} - m)`: a hinge, free at right angles."""
    i, j = _pairs(K, links, "cannot").T
    w, m = _weights(weight, links, links.cannot), as_number(margin, "margin")
    tex = rf"\sum_{{\mathcal{{C}}}} w_{{ij}} \max(0, @_{{ij}}{f' - {m:g}' if m else ''})"
    return stands_for(w @ cp.pos(K[i, j] - m), tex, K)


def squared_links(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{\mathcal{M}} w_{ij} (K_{ij} - 1)^2 + \sum_{\mathcal{C}} w_{ij} K_{ij}^2`: all links fitted."""
    pairs = np.vstack([_pairs(K, links, "must"), links.cannot])
    wanted = np.repeat([1.0, 0.0], [len(links.must), len(links.cannot)])
    w = _weights(weight, links, pairs)
    tex = r"\sum_{\mathcal{M}} w_{ij} (@_{ij} - 1)^2 + \sum_{\mathcal{C}} w_{ij} @_{ij}^2"
    return stands_for(cp.sum_squares(cp.multiply(np.sqrt(w), K[pairs[:, 0], pairs[:, 1]] - wanted)), tex, K)


def trace_penalty(K: Any) -> Any:
    r""":math:`\operatorname{tr} K`: for a semidefinite matrix the sum of its eigenvalues, so that few are left."""
    return stands_for(cp.trace(K), r"\operatorname{tr} @", K)


def nuclear_penalty(F: Any) -> Any:
    r""":math:`\|F\|_*`: the sum of the singular values, the trace of a matrix that need not be semidefinite."""
    return stands_for(cp.normNuc(F), r"\|@\|_*", F)


def entropy_penalty(M: Any) -> Any:
    r""":math:`\operatorname{tr}(M \log M)`: least, for a given trace, where all eigenvalues are equal."""
    return stands_for(-cp.von_neumann_entr(M), r"\operatorname{tr}(@ \log @)", M)


# ---------------------------------------------------------------------- for constraints


def unit_diagonal(K: Any, points: Any = None) -> Any:
    """K_ii = 1 for all points, or for some, by number or by a mask: images on the unit sphere."""
    n = K.shape[0]
    i = np.arange(n) if points is None else np.unique(np.arange(n)[np.asarray(points)])
    who = r"\forall i" if len(i) == n else rf"\text{{for }} {len(i)} \text{{ points }} i"
    return stands_for(K[i, i] == 1, rf"@_{{ii}} = 1 \quad {who}", K)


def must_links(K: Any, links: Links) -> Any:
    """K_ij = 1 on 𝓜: with a unit diagonal, the same image for both."""
    i, j = _pairs(K, links, "must").T
    return stands_for(K[i, j] == 1, r"@_{ij} = 1 \quad (i,j) \in \mathcal{M}", K)


def must_links_together(K: Any, links: Links) -> Any:
    """K_ii + K_jj − 2K_ij = 0 on 𝓜: the same image for both, whatever its length."""
    i, j = _pairs(K, links, "must").T
    tex = r"@_{ii} + @_{jj} - 2 @_{ij} = 0 \quad (i,j) \in \mathcal{M}"
    return stands_for(K[i, i] + K[j, j] - 2 * K[i, j] == 0, tex, K)


def cannot_links(K: Any, links: Links) -> Any:
    """K_ij = 0 on 𝓒: images at right angles."""
    i, j = _pairs(K, links, "cannot").T
    return stands_for(K[i, j] == 0, r"@_{ij} = 0 \quad (i,j) \in \mathcal{C}", K)


def cannot_links_at_most(K: Any, links: Links, bound: float = 0.0) -> Any:
    """K_ij ≤ bound on 𝓒: images at right angles or further apart (for a bound of zero)."""
    i, j = _pairs(K, links, "cannot").T
    b = as_number(bound, "bound")
    return stands_for(K[i, j] <= b, rf"@_{{ij}} \le {b:g} \quad (i,j) \in \mathcal{{C}}", K)


def balance(K: Any, n_clusters: int, slack: float = 0.0) -> Any:
    r""":math:`|\sum_j K_{ij} - n/k| \le s\, n/k` for all i: clusters of about n/k points.

    In the kernel of a clustering, 1 within clusters and 0 between, a row sums to the size of its cluster.
    """
    n, k = K.shape[0], as_count(n_clusters, "n_clusters", 1, K.shape[0])
    s = as_positive(slack, "slack", or_zero=True)
    sizes = cp.sum(K, axis=1) - n / k
    if not s:
        return stands_for(sizes == 0, rf"\sum_j @_{{ij}} = {n / k:g} \quad \forall i", K)
    tex = rf"|\sum_j @_{{ij}} - {n / k:g}| \le {s * n / k:g} \quad \forall i"
    return stands_for(cp.abs(sizes) <= s * n / k, tex, K)


def semidefinite(K: Any) -> Any:
    """K ⪰ 0: K is a matrix of inner products."""
    return stands_for(K >> 0, r"@ \succeq 0", K)


def _pairs(K: Any, links: Any, kind: str) -> np.ndarray:
    if not isinstance(links, Links):
        raise InvalidInput("links must be a Links object: Links(n, must=…, cannot=…)")
    if K.shape != (links.n, links.n):
        raise InvalidInput(f"the links are on {links.n} points, but the matrix has the shape {K.shape}")
    return getattr(links, kind)


def _weights(weight: Any, links: Links, pairs: np.ndarray) -> np.ndarray:
    return on_links(as_link_values(weight, pairs, links.n, "weight"), pairs, "weight", positive=False, default=1.0)
