r"""A strictly feasible dual point, which turns any multipliers into a bound where nothing bounds the trace.

If the slack S(y) of a linear semidefinite program is a little indefinite and no constraint bounds the trace of K, its
multipliers prove nothing. Mixed with a point :math:`\hat y` whose slack is positive definite they do:

.. math:: S\big((1-\theta) y + \theta \hat y\big) = (1-\theta) S(y) + \theta S(\hat y) \succeq 0
          \quad\text{for}\quad \theta = \frac{\delta}{\delta + \rho},

where :math:`\lambda_{\min}(S(y)) \ge -\delta` and :math:`\lambda_{\min}(S(\hat y)) \ge \rho > 0`. Such a point exists
if and only if the set of optimal K is bounded (and there is one). It is found by a small search and then checked.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..programs.linear_sdp import LinearSDP
from ..reductions.cones import Block, packed, triangle
from .search import Budget, search

# Above this order the search would take longer than most solves.
LARGEST_ORDER = 300
# Large multipliers would make the bound poor, however positive their slack.
PRICE_OF_SIZE = 1e-3
# Any point inside will do, so the search need not be accurate; what it finds is checked.
ROUGHLY = 1e-6


def strictly_dual_feasible(sdp: LinearSDP) -> np.ndarray | None:
    """Return multipliers whose slack is, as far as the search can tell, positive definite; None if none was found.

    The unknowns are y, a bound on its norm, and t ≤ 1 with S(y) ⪰ tI, which is maximised.
    """
    m, n = len(sdp.b), sdp.n
    if n > LARGEST_ORDER or not m:
        return None
    most = max(float(abs(sdp.C.data).max(initial=0.0)), 1e-300)
    signed = np.flatnonzero(sdp.is_inequality)
    i, j = triangle(n)
    upper = sp.diags_array(np.where(i == j, 1.0, np.sqrt(2))) @ sp.csr_array(sdp.A.T)[i * n + j]
    signs = sp.csr_array((np.full(len(signed), -1.0), (np.arange(len(signed)), signed)), shape=(len(signed), m))
    rows = [
        [None, None, sp.csr_array([[-1.0]])],
        [signs, None, None],
        [None, sp.csr_array([[1.0]]), None],
        [sp.eye_array(m), None, None],
        [-upper, None, sp.csr_array(-packed(np.eye(n))[:, None])],
    ]
    M = sp.block_array([row for row in rows if any(part is not None and part.shape[0] for part in row)], format="csr")
    ends = np.cumsum([0, 1 + len(signed), 1 + m, len(i)]).tolist()
    kinds = ("nonnegative", "second-order", "semidefinite")
    blocks = [Block(kind, slice(*end), n) for kind, end in zip(kinds, pairwise(ends), strict=True)]
    a = np.concatenate([[1.0], np.zeros(len(signed) + 1 + m), packed(sdp.C.toarray()) / most])
    cost = np.concatenate([np.zeros(m), [PRICE_OF_SIZE, -1.0]])
    found = search(cost, sp.csr_array(M), a, blocks, Budget(), tolerance=ROUGHLY)
    if found is None or not found.z[-1] > 0:
        return None
    y = found.z[:m]
    return most * np.where(sdp.is_inequality, np.minimum(y, 0), y)
