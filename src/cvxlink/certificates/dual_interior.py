r"""A strictly feasible dual point, which turns any multipliers into a bound where nothing bounds the trace.

If the slack S(y) of a linear semidefinite program is a little indefinite and no constraint bounds the trace of K, its
multipliers prove nothing. Mixed with a point :math:`\hat y` whose slack is positive definite they do:

.. math:: S\big((1-\theta) y + \theta \hat y\big) = (1-\theta) S(y) + \theta S(\hat y) \succeq 0
          \quad\text{for}\quad \theta = \frac{\delta}{\delta + \rho},

where :math:`\lambda_{\min}(S(y)) \ge -\delta` and :math:`\lambda_{\min}(S(\hat y)) \ge \rho > 0`. Such a point exists
if and only if the set of optimal K is bounded (and there is one). It is found by a small search and then checked.
"""

from __future__ import annotations

import warnings
from contextlib import suppress

import cvxpy as cp
import numpy as np

from ..programs.linear_sdp import LinearSDP

# Above this order the search would take longer than most solves.
LARGEST_ORDER = 300


def strictly_dual_feasible(sdp: LinearSDP) -> np.ndarray | None:
    """Return multipliers whose slack is, as far as the search can tell, positive definite; None if none was found."""
    if sdp.n > LARGEST_ORDER or not len(sdp.b):
        return None
    y, least = cp.Variable(len(sdp.b)), cp.Variable()
    most = max(float(abs(sdp.C.data).max(initial=0.0)), 1e-300)
    S = cp.reshape(sdp.C.toarray().ravel() / most - sdp.A.T @ y, (sdp.n, sdp.n), order="C")
    signed = np.flatnonzero(sdp.is_inequality)
    signs = [y[signed] <= 0] if len(signed) else []
    # Large multipliers would make the bound poor, however positive their slack.
    search = cp.Problem(cp.Maximize(least - 1e-3 * cp.norm(y)), [S >> least * np.eye(sdp.n), least <= 1, *signs])
    with warnings.catch_warnings(), suppress(cp.SolverError):
        warnings.simplefilter("ignore")
        search.solve(solver=cp.CLARABEL, accept_unknown=True)
    if y.value is None or not np.isfinite(y.value).all() or not least.value > 0:
        return None
    return most * np.where(sdp.is_inequality, np.minimum(y.value, 0), y.value)
