"""A bound for constrained cuts, derived in the module ``constrained_cut``; what can be said of stationary labelings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...errors import InvalidInput
from ...numerics.checks import real_array
from ...numerics.eigenpairs import norm_bound
from ...numerics.least_eigenvalue import sum_of_smallest
from ...numerics.threads import threads_for
from .constrained_cut import ConstrainedCut
from .stationary_cuts import StationaryCuts


def certify_cut(program: ConstrainedCut, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Compare the cost with the bound at the multiplier that came with it, any number."""
    f, k = point["f"], program.count
    multiplier = _multiplier(duals)
    with threads_for(program.n):
        bound, basis = _bound(program, multiplier)
    violations = program.violations(point)
    short = violations["satisfaction"]
    # What the two sides are made of: constraint matrices come in all sizes.
    size = k * abs(program.beta) + float(np.vdot(abs(f), abs(program.Q) @ abs(f)))
    violations["satisfaction"] = short / max(size, 1e-10 * norm_bound(program.Q), 1e-300)
    feasible = max(violations.values()) <= 1e-12
    return Certificate(
        program.cost(f),
        violations,
        lower_bound=bound,
        # Feasible up to rounding is feasible.
        upper_bound=program.cost(f) if feasible else None,
        basis=basis,
        conditions={f"constraint satisfaction, to be at least β = {program.beta:.6g}": program.satisfaction(f)},
        sensitivity=multiplier * short,
    )


def _multiplier(duals: Mapping[str, Any]) -> float:
    """Return λ ≥ 0 from −λ, the change of the optimum as the threshold is lowered; 0 if it is of no use."""
    given = real_array(duals.get("satisfaction", 0.0), "the multiplier of 'satisfaction'").ravel()
    if len(given) != 1:
        raise InvalidInput(f"the constraint 'satisfaction' has one multiplier, but {len(given)} were given")
    return max(0.0, -float(given[0])) if np.isfinite(given[0]) else 0.0


def _bound(program: ConstrainedCut, multiplier: float) -> tuple[float, str]:
    least, margin, how = sum_of_smallest(program.matrix(multiplier), program.count, v=program.trivial)
    what = f"the sum of the {program.count} smallest eigenvalues" if program.count > 1 else "the smallest eigenvalue"
    basis = f"{what} of L − λ(Q − βI), λ = {multiplier:.4g}{how}"
    return (least - margin, basis) if least - margin > 0 else (0.0, "no cut costs less than nothing")


def certify_stationary(
    program: StationaryCuts, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]
) -> Certificate:
    """Show how stationary the labelings are; that none are better rests on the route, which computed all."""
    f, rates = point["f"], point["rates"]
    propagated, smooth = program.Q @ f, program.L @ f
    residual = np.linalg.norm(smooth - propagated * rates, axis=0)
    costs = f.T @ smooth
    sizes = np.sqrt(np.maximum(np.diag(costs), 1e-300))
    return Certificate(
        float(np.vdot(f, propagated)),
        {
            "stationary": float((residual / np.maximum(np.linalg.norm(smooth, axis=0), 1e-300)).max()),
            "nontrivial": float((abs(program.trivial @ propagated) / np.linalg.norm(propagated, axis=0)).max()),
            "different": float(abs(costs / np.outer(sizes, sizes) - np.diag(np.diag(costs) / sizes**2)).max()),
            "unit": float(abs((f**2).sum(axis=0) - 1).max()),
        },
        basis="the program is not convex; all stationary labelings were computed, and the best taken",
    )
