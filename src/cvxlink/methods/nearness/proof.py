"""The duality gap of matrix nearness: the bound is in :mod:`cvxlink.methods.nearness.nearness`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...errors import InvalidInput
from ...numerics.rounding import Ball, gamma
from ...numerics.threads import threads_for
from .nearness import Nearness


def certify_nearness(program: Nearness, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Compare the value of an exactly feasible kernel with the dual function at the multipliers."""
    K = (point["K"] + point["K"].T) / 2
    asymmetry = float(abs(point["K"] - K).max())
    with threads_for(program.n):
        eigenvalues = np.linalg.eigvalsh(K)
        lengths = program.squared_lengths(K)
        violations = {"psd": max(0.0, -float(eigenvalues[0]))}
        if asymmetry:
            violations["K domain"] = asymmetry
        value = upper = program.objective_at(K)
        scale, conditions, multipliers = float(abs(K).max()), {}, program.weights
        basis = "the optimum, n + log det(I + Λ^½GΛ^½) with Λ = 1/ε²"
        if program.bounds is not None:
            excess = lengths - program.bounds
            violations |= program.violations({"K": K})
            # Every bound holds for a small enough multiple of a kernel.
            share = min(1.0, float((program.bounds / np.maximum(lengths, program.bounds)).min(initial=1.0)))
            upper = value if share == 1 else program.objective_at(K * share)
            scale = min(scale, float(program.bounds.min(initial=np.inf)))
            multipliers = _multipliers(program, duals)
            basis = "dual value n + log det(I + Λ^½GΛ^½) − aᵀλ"
            if multipliers is not None:
                conditions["complementarity Σ λ(a − uᵀKu)"] = float(-multipliers @ excess)
        rounding = (
            np.inf if np.isinf(value) else program.rounding(K, eigenvalues) + gamma(2 * program.n + 16) * abs(value)
        )
        upper += rounding
        bound = Ball(np.nan, np.inf) if multipliers is None else program.bound(multipliers)
    lower: float | None = bound.lower
    if not np.isfinite(bound.lower):
        lower, basis = None, "there are no multipliers" if multipliers is None else "the multipliers are too large"
    return Certificate(
        value,
        violations,
        lower,
        upper if np.isfinite(upper) else None,
        float(eigenvalues[0]),
        basis=basis,
        conditions=conditions,
        scale=scale,
        rounding=rounding if lower is None else max(rounding, bound.radius),
        rounding_is_proven=False,
    )


def _multipliers(program: Nearness, duals: Mapping[str, Any]) -> np.ndarray | None:
    """Return λ ≥ 0, one per link, from multipliers in our convention, which are −λ; None where any is missing."""
    multipliers = np.zeros(program.n_links)
    for name, group in program.groups.items():
        size = group.stop - group.start
        if not size:
            continue
        if name not in duals:
            return None
        given = np.ravel(np.asarray(duals[name], dtype=float))
        if given.shape != (size,):
            raise InvalidInput(f"there must be {size} multipliers of {name!r}, not {len(given)}")
        multipliers[group] = -given
    return np.maximum(multipliers, 0) if np.isfinite(multipliers).all() else None
