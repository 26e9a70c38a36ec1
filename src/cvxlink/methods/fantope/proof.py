"""A bound for sums of smallest eigenvalues: derived in :mod:`cvxlink.methods.fantope.fantope`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...certificates.certificate import Certificate
from ...numerics.least_eigenvalue import sum_of_smallest
from ...numerics.matrices import Congruence, Matrix
from ...numerics.rounding import UNIT, Ball, gamma, inner_product, norm_above, row_sums_above, total
from ...numerics.threads import threads_for
from ..shared.shares import nearest_shares
from .fantope import Fantope, eigenvalues_of


def certify_fantope(program: Fantope, point: Mapping[str, Matrix], duals: Mapping[str, Any]) -> Certificate:
    """Compare with the sum of the smallest eigenvalues, computed again."""
    X = point["X"]
    with threads_for(program.n):
        eigenvalues, vectors = eigenvalues_of(X)
        found = program.eigenpairs() if sp.issparse(program.C) else None
        least, margin, how = sum_of_smallest(program.C, program.count, found)
    violations = program.violated(eigenvalues)
    if not isinstance(X, Congruence):
        violations["X domain"] = float(abs(X - X.T).max())
    offset = Ball(program.offset, UNIT * abs(program.offset))
    value = offset + inner_product(program.C, X)
    lower, upper = offset + Ball(least) - margin, None
    if len(eigenvalues) >= program.count:  # a product of lower rank has nothing to make a projection of
        upper = _feasible_nearby(program, vectors, nearest_shares(eigenvalues, program.count))
    cost = program.cost(X)
    return Certificate(
        cost,
        violations,
        lower_bound=lower.lower if np.isfinite(lower.lower) else None,
        upper_bound=None if upper is None else upper.upper,
        min_eigenvalue=program.smallest(eigenvalues),
        basis=f"{program.said}{how or ', computed again'}",
        rounding=max((value - cost).magnitude, lower.radius + margin, 0.0 if upper is None else upper.radius),
        rounding_is_proven=not how,
    )


def _feasible_nearby(program: Fantope, vectors: np.ndarray, shares: np.ndarray) -> Ball:
    r"""Return the value at an exactly feasible X near VxVᵀ, for columns V that are orthonormal up to rounding.

    If :math:`\|V^\top V - I\| \le \omega < \frac12`, the nearest orthonormal columns are within ω of V, and with
    them X changes by at most :math:`3\omega\sum x` in the nuclear norm. The shares x, between 0 and 1, can be changed
    to have the sum k exactly.
    """
    used = shares > 0
    V, x = vectors[:, used], shares[used]
    gram = V.T @ V - np.eye(V.shape[1])
    off = norm_above(gram) + gamma(2 * len(V) + 8) * norm_above(V) ** 2
    sum_of_shares = total(x)
    moved = 3 * Ball(off) * sum_of_shares.upper + (sum_of_shares - program.count).magnitude
    offset = Ball(program.offset, UNIT * abs(program.offset))
    value = offset + inner_product(program.C, Congruence(V, np.diag(x)))
    return value + Ball(0.0, (moved * row_sums_above(program.C)).upper) if off < 0.5 else Ball(np.nan, np.inf)
