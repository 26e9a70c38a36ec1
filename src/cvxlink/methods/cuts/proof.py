"""Bounds for constrained cuts and for stationary labelings: derived in ``constrained_cut`` and ``stationary_bound``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.eigenpairs import norm_bound
from ...numerics.least_eigenvalue import sum_of_smallest
from ...numerics.rounding import Ball, dot, gamma, norm_above, row_sums_above, terms_per_row
from ...numerics.threads import threads_for
from .constrained_cut import ConstrainedCut, multiplier_of
from .stationary_bound import largest_agreement
from .stationary_cuts import StationaryCuts


def certify_cut(program: ConstrainedCut, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Compare the cost with the bound at the multiplier that came with it, any number."""
    f, k = point["f"], program.count
    multiplier = multiplier_of(duals)
    with threads_for(program.n):
        bound, basis, margin, how = _bound(program, multiplier)
        value = _form(program.L, f)
        upper = _upper_bound(program, f, value)
    violations = program.violations(point)
    short = violations["satisfaction"]
    # What the two sides are made of: constraint matrices come in all sizes.
    size = k * abs(program.beta) + float(np.vdot(abs(f), abs(program.Q) @ abs(f)))
    violations["satisfaction"] = short / max(size, 1e-10 * norm_bound(program.Q), 1e-300)
    cost = program.cost(f)
    is_proven = upper is not None and not how
    if upper is None:
        upper = value if max(violations.values()) <= 1e-12 else _attained(program, f)  # feasible up to rounding
    return Certificate(
        cost,
        violations,
        lower_bound=bound,
        upper_bound=None if upper is None else upper.upper,
        basis=basis,
        conditions={f"constraint satisfaction, to be at least β = {program.beta:.6g}": program.satisfaction(f)},
        sensitivity=multiplier * short,
        rounding=max((value - cost).magnitude, margin, 0.0 if upper is None else upper.radius),
        rounding_is_proven=is_proven or (upper is None and not how),
    )


def _form(matrix: Any, f: np.ndarray) -> Ball:
    """Return tr fᵀMf."""
    sizes = dot(abs(f), abs(matrix) @ abs(f))
    return dot(f, matrix @ f) + Ball(0.0, gamma(2 * terms_per_row(matrix) + 8) * sizes.upper)


def _upper_bound(program: ConstrainedCut, f: np.ndarray, value: Ball) -> Ball | None:
    r"""Return the value of an exactly feasible point of the relaxation near f, or None where f is not near to any.

    If :math:`\|f^\top f - I\|` and :math:`\|v^\top f\|` are tiny, ω together, the nearest orthonormal columns in the
    subspace are within 2ω of f, and quadratic forms M change by at most :math:`6k\omega\|M\|`. What they then lack of
    satisfaction comes from mixing :math:`ff^\top` with the columns that satisfy the constraint most.
    """

    def made_feasible(columns: np.ndarray) -> tuple[Ball, Ball] | None:
        gram = columns.T @ columns - np.eye(program.count)
        off = norm_above(gram) + gamma(2 * program.n + 8) * norm_above(columns) ** 2
        if program.trivial is not None:
            along = norm_above(program.trivial @ columns) / max(float(np.linalg.norm(program.trivial)), 1e-300)
            off += 2 * along + gamma(2 * program.n + 8) * norm_above(columns)
        if not off < 1e-6:
            return None
        moved = 6 * Ball(float(program.count)) * off
        cost = _form(program.L, columns) + Ball(0.0, (moved * row_sums_above(program.L)).upper)
        satisfied = _form(program.Q, columns) + Ball(0.0, (moved * row_sums_above(program.Q)).upper)
        return cost, satisfied - program.count * Ball(program.beta)

    near, best = made_feasible(f), made_feasible(program.satisfying)
    if near is None:
        return None
    if near[1].lower >= 0:
        return near[0]
    if best is None or best[1].lower <= 0 or -near[1].lower > 1e-3 * best[1].lower:
        return None
    share = Ball(-near[1].lower) / (Ball(best[1].lower) - near[1].lower).lower
    return near[0] + Ball(share.upper) * (Ball(best[0].upper) - near[0].lower)


def _attained(program: ConstrainedCut, f: np.ndarray) -> Ball | None:
    """Return the cost of a cut near the given one that is feasible up to rounding; None if there is none."""
    near, _ = program.near(f)
    size = program.count * abs(program.beta) + float(np.vdot(abs(near), abs(program.Q) @ abs(near)))
    violations = program.violations({"f": near})
    violations["satisfaction"] /= max(size, 1e-300)
    return _form(program.L, near) if max(violations.values()) <= 1e-12 else None


def _bound(program: ConstrainedCut, multiplier: float) -> tuple[float | None, str, float, str]:
    """Return the bound, its basis, what rounding takes from it, and how it is known if not by arithmetic alone."""
    matrix = program.matrix(multiplier)
    least, margin, how = sum_of_smallest(matrix, program.count, v=program.trivial)
    sizes = row_sums_above(program.L) + multiplier * (row_sums_above(program.Q) + abs(program.beta))
    lost = Ball(margin) + program.count * gamma(8) * Ball(sizes)
    what = f"the sum of the {program.count} smallest eigenvalues" if program.count > 1 else "the smallest eigenvalue"
    basis = f"{what} of L − λ(Q − βI), λ = {multiplier:.4g}{how}"
    lower = (Ball(least) - lost).lower
    # L is semidefinite by declaration, up to the rounding of its entries.
    nothing = -(program.count * gamma(2 * terms_per_row(program.L) + 24) * Ball(row_sums_above(program.L))).upper
    if lower > nothing:
        return lower, basis, lost.upper, how
    return nothing, "no cut costs less than nothing", -nothing, ""


def certify_stationary(
    program: StationaryCuts, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]
) -> Certificate:
    """Show how stationary the labelings are, and bound how much any can agree with Q."""
    f, rates = point["f"], point["rates"]
    propagated, smooth = program.Q @ f, program.L @ f
    residual = np.linalg.norm(smooth - propagated * rates, axis=0)
    costs = f.T @ smooth
    sizes = np.sqrt(np.maximum(np.diag(costs), 1e-300))
    with threads_for(program.n):
        bound, basis = largest_agreement(program)
    return Certificate(
        float(np.vdot(f, propagated)),
        {
            "stationary": float((residual / np.maximum(np.linalg.norm(smooth, axis=0), 1e-300)).max()),
            "nontrivial": float(
                (abs(program.trivial @ propagated) / np.maximum(np.linalg.norm(propagated, axis=0), 1e-300)).max()
            ),
            "different": float(abs(costs / np.outer(sizes, sizes) - np.diag(np.diag(costs) / sizes**2)).max()),
            "unit": float(abs((f**2).sum(axis=0) - 1).max()),
        },
        upper_bound=bound if np.isfinite(bound) else None,
        maximises=True,
        basis=basis,
    )
