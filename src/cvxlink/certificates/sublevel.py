r"""How large the feasible points can be that are at least as good as the answer, from a strictly feasible dual point.

Let :math:`\hat w = \rho e + v` with :math:`v \in \mathcal{K}^*`, e inside the dual cone, and
:math:`\hat r = c - M^\top \hat w`. A feasible z with :math:`c^\top z + d \le u` has :math:`s = Mz + a \in \mathcal{K}`,
so

.. math:: \rho\, e^\top s \ \le\ \hat w^\top s \ =\ c^\top z - \hat r^\top z + a^\top \hat w
          \ \le\ u - d + a^\top \hat w + \|\hat r\|\,\|z\| .

Every entry of s is at most :math:`2 e^\top s`, and :math:`\|z\| \le (\|s\| + \|a\|)/\sigma` with σ the least singular
value of M. Where M takes directions to zero that cost nothing, σ is the least of the others: every z can be replaced by
one without a part in these. Together these bound z as soon as :math:`\hat r` is small compared with ρσ. Such a point
exists if and only if the set of optimal points is bounded, but for these directions: v are then the multipliers of the
same program with the costs :math:`c - \rho M^\top e`, for ρ small enough. The inequality holds for whatever a search
for them returns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics.rounding import gamma
from ..reductions.standard_form import StandardForm
from .search import TOLERANCE, Budget, search

# Above this many unknowns the least singular value would take longer than most solves.
LARGEST = 1500
# The values of ρ that are tried, in units of the largest cost, and the tolerances of the searches. A large one leaves
# room for rounding and limits the points more; where only a small one is possible, its multipliers are nearly optimal.
TRIES = ((1e-2, 1e-7), (1e-6, TOLERANCE))


# Squares of singular values below this share of the largest may be zero.
SAME = 1e-12
# Directions that change s and the cost by less than this share change nothing.
VANISHES = 1e-13


class Inside(NamedTuple):
    """Multipliers strictly inside the dual cone, and the bound on the norm of z that they give."""

    w: np.ndarray
    norm: float


def strictly_inside(form: StandardForm, worst: float, budget: Budget) -> Inside | None:
    """Return what bounds the norm of z for feasible z with an objective of at most ``worst``, or None."""
    if form.M.shape[1] > LARGEST or budget.is_spent:
        return None
    sigma = _least_singular_value(form)
    if not sigma > 0:
        return None
    e, size = form.interior, max(float(abs(form.cost).max(initial=0.0)), 1e-300)
    for share, tolerance in TRIES:
        room = share * size
        found = search(form.cost - room * (form.M.T @ e), form.M, form.a, form.blocks, budget, tolerance=tolerance)
        if found is not None:
            w = form.into_dual(found.w) + room * e
            norm = _norm_by(form, w, room, sigma, worst)
            if norm is not None:
                return Inside(w, norm)
    return None


def _norm_by(form: StandardForm, w: np.ndarray, room: float, sigma: float, worst: float) -> float | None:
    """Return the bound that multipliers give which are inside the dual cone by ``room``, or None."""
    m = len(w)
    rest = abs(form.cost - form.M.T @ w) + gamma(2 * m + 8) * (abs(form.M).T @ abs(w) + abs(form.cost))
    slope, worth = float(np.linalg.norm(rest)), float(form.a @ w) + gamma(2 * m + 4) * float(abs(form.a) @ abs(w))
    # e's ≤ (level + slope·norm)/room, ‖s‖ ≤ 2√m e's, norm ≤ (‖s‖ + ‖a‖)/sigma
    level, spread = max(worst - form.constant + worth, 0.0), 2 * np.sqrt(m) / (room * sigma)
    if not spread * slope < 0.5:
        return None
    return float((spread * level + np.linalg.norm(form.a) / sigma) / (1 - spread * slope) * (1 + 1e-9))


def _least_singular_value(form: StandardForm) -> float:
    """Return a lower bound on the least singular value of M; zero if points that differ in cost have the same s.

    Directions that change neither s nor the cost, up to rounding, do not count.
    """
    squares, ways = np.linalg.eigh((form.M.T @ form.M).toarray())
    largest = float(squares[-1])
    free = squares <= SAME * largest
    if free.any():
        N = ways[:, free]
        moves = float(abs(form.M @ N).max(initial=0.0)) > VANISHES * np.sqrt(largest)
        costs = float(abs(N.T @ form.cost).max()) > VANISHES * float(np.linalg.norm(form.cost))
        if moves or costs or free.all():
            return 0.0
    return float(np.sqrt(max(squares[~free][0] - SAME * largest, 0.0)))
