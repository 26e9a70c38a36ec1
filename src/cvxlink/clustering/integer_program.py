"""Labels by integer programming: HiGHS, for what has no simpler way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from .rules import Rules

# HiGHS stops at an absolute gap of 1e-6, so costs are scaled to make that far smaller than any difference of interest.
LARGEST_COST = 1e4
OPTIMAL, LIMIT, INFEASIBLE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Outcome:
    """What HiGHS says.

    Attributes
    ----------
    labels : array or None
        The best labels found.
    is_optimal : bool
        Whether they are proven best.
    is_infeasible : bool
        Whether it is proven that there are none.
    """

    labels: np.ndarray | None
    is_optimal: bool = False
    is_infeasible: bool = False


def cheapest(costs: np.ndarray, rules: Rules, time_limit: float, clique: tuple[int, ...] = ()) -> Outcome:
    r"""Minimise :math:`\sum_{al} c_{al} x_{al}` over :math:`x \in \{0, 1\}^{n \times k}` with one label per block.

    The labels of the blocks in ``clique``, which are pairwise apart, are set to 0, 1, …; this excludes nothing if the
    costs do not tell clusters from one another.
    """
    n, k = costs.shape
    low = costs.min(axis=1, keepdims=True)
    largest = float((costs - low).max())
    upper = np.ones((n, k))
    for label, block in enumerate(clique):
        upper[block] = np.eye(k)[label]
    found = milp(
        (LARGEST_COST * ((costs - low) / (largest or 1.0))).ravel(),
        integrality=np.ones(n * k),
        bounds=Bounds(0, upper.ravel()),
        constraints=_constraints(rules),
        options={"time_limit": max(time_limit, 1e-3), "mip_rel_gap": 0.0},
    )
    if found.status == INFEASIBLE:
        return Outcome(None, is_infeasible=True)
    if found.x is None:
        return Outcome(None)
    labels = found.x.reshape(n, k).argmax(axis=1)
    if not rules.admits(labels):  # rounding of HiGHS; never seen, and never returned
        return Outcome(None)
    return Outcome(labels, is_optimal=found.status == OPTIMAL)


def _constraints(rules: Rules) -> list[LinearConstraint]:
    n, k, m = rules.n, rules.k, len(rules.apart)
    labels = sp.eye_array(k)
    rows = [LinearConstraint(sp.kron(sp.eye_array(n), np.ones((1, k)), format="csr"), 1, 1)]
    if m:
        ends = sp.csr_array((np.ones(2 * m), (np.repeat(np.arange(m), 2), rules.apart.ravel())), shape=(m, n))
        rows.append(LinearConstraint(sp.kron(ends, labels, format="csr"), -np.inf, 1))
    if rules.least > 0 or rules.bounds_above:
        points = sp.kron(rules.sizes[None, :].astype(float), labels, format="csr")
        rows.append(LinearConstraint(points, rules.least, max(rules.least, rules.most)))
    return rows
