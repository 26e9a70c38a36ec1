"""A bound for constrained cuts, derived in :mod:`cvxlink.structures.cut`; what can be said of stationary labelings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from ..certificate import Certificate
from ..eigenvalues import DENSE_EIGENVALUES
from ..structures import ConstrainedCut, StationaryCuts
from ..structures.cut import EPSILON
from ..threads import threads_for


def certify_cut(program: ConstrainedCut, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Compare the cost with the bound at the multiplier that came with it, any number."""
    f, k = point["f"], program.count
    given = float(np.ravel(duals.get("satisfaction", 0.0))[0])
    multiplier = -given if np.isfinite(given) and given < 0 else 0.0
    with threads_for(program.n):
        bound, basis = _bound(program, multiplier, f)
    size = float(abs(program.Q).sum(axis=1).max())
    short = max(0.0, k * (program.beta - program.satisfaction(f)))
    violations = {
        # Relative to the largest there can be: constraint matrices come in all sizes.
        "satisfaction": short / max(size, 1e-300),
        "unit": float(abs(f.T @ f - np.eye(k)).max()),
    }
    if program.trivial is not None:
        violations["orthogonal"] = float(abs(program.trivial @ f).max())
    feasible = max(violations.values()) <= 1e-12
    return Certificate(
        program.cost(f),
        violations,
        lower_bound=bound,
        # Feasible but for rounding is feasible.
        upper_bound=program.cost(f) if feasible else None,
        basis=basis,
        conditions={f"constraint satisfaction, to be at least β = {program.beta:.6g}": program.satisfaction(f)},
        sensitivity=multiplier * short,
    )


def _bound(program: ConstrainedCut, multiplier: float, f: np.ndarray) -> tuple[float, str]:
    k, n = program.count, program.n
    what = f"the sum of the {k} smallest eigenvalues" if k > 1 else "the smallest eigenvalue"
    if n <= DENSE_EIGENVALUES:
        matrix = program.restricted(multiplier)
        eigenvalues = scipy.linalg.eigvalsh(matrix, subset_by_index=[0, k - 1])
        margin = k * n * EPSILON * float(abs(matrix).sum(axis=1).max())
        return float(eigenvalues.sum()) - margin, f"{what} of L − λ(Q − βI), λ = {multiplier:.4g}"
    # Started elsewhere than the search, so that what that missed is found.
    start = f[:, :1] + np.random.default_rng(2).standard_normal((n, 1)) / np.sqrt(n)
    eigenvalues, vectors = program.smallest(multiplier, k, start)
    product = program.L @ vectors - multiplier * (program.Q @ vectors - program.beta * vectors)
    residuals = np.linalg.norm(program.space.project(product) - vectors * eigenvalues, axis=0)
    return float((eigenvalues - residuals).sum()), f"{what} of L − λ(Q − βI), λ = {multiplier:.4g}, by Lanczos's method"


def certify_stationary(
    program: StationaryCuts, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]
) -> Certificate:
    """Show how stationary the labelings are; that there are no better ones is the word of who computed them all."""
    f, rates = point["f"], point["rates"]
    propagated = program.Q @ f
    residual = np.linalg.norm(program.L @ f - propagated * rates, axis=0)
    return Certificate(
        float(np.vdot(f, propagated)),
        {
            "stationary": float((residual / np.maximum(np.linalg.norm(program.L @ f, axis=0), 1e-300)).max()),
            "unit": float(abs((f**2).sum(axis=0) - 1).max()),
        },
        basis="the program is not convex; all stationary labelings were computed, and the best taken",
    )
