"""Certificates for relaxations of partitions with Z ≥ 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.matrices import Congruence, Matrix, as_dense
from ...numerics.rounding import Ball, gamma, norm_above
from ...numerics.threads import threads_for
from .bounds import cost_sizes, highest_value, proven_bound
from .cuts import rows_of
from .feasible import repaired
from .relaxation import Relaxation
from .splitting import Multipliers

# A feasible point whose value differs by a larger share says more about the point than about the answer.
NEAR = 1e-4
# A feasible point with less than this difference is always good enough.
NEARER = 1e-7


def certify_relaxation(program: Relaxation, point: Mapping[str, Matrix], duals: Mapping[str, Any]) -> Certificate:
    """Bound the optimum from below by the multipliers, and from above by a feasible matrix near the point."""
    partition = program.partition
    with threads_for(partition.order):
        value, violations = program.value(point), program.violations(point)
        # ⟨C, Z⟩ is known up to the rounding of its terms.
        rounding = gamma(2 * partition.n + 8) * norm_above(cost_sizes(partition)) * np.sqrt(partition.n_clusters)
        multipliers = program.multipliers_of(duals)
        bound, how = None, ""
        if multipliers is not None:
            bound, how = proven_bound(partition, program.cuts, *multipliers)
        Y = program.on_blocks(point["Z"])
        upper = _attained(program, Y, value, rounding)
        slips = None if multipliers is None else _sensitivity(program, Y, violations, multipliers)
        # A feasible matrix may be further off than the violations are worth; then these say more about the answer.
        if upper is not None and slips is not None and upper.upper - value > max(2 * slips, NEARER * (1 + abs(value))):
            upper = None
        slips = None if upper is not None else slips
    lower = bound.lower if bound is not None and np.isfinite(bound.lower) else None
    return Certificate(
        value,
        violations,
        lower_bound=lower,
        upper_bound=None if upper is None else upper.upper,
        min_eigenvalue=-violations["psd"],
        basis=f"the sum of the smallest eigenvalues that the multipliers leave{how}"
        if lower is not None
        else "there are no multipliers to prove a bound",
        rounding=float(2 * rounding if bound is None else bound.radius + 2 * rounding),
        rounding_is_proven=not how,
        cost_scale=min(1.0, norm_above(cost_sizes(partition))),
        sensitivity=slips,
        missing="" if upper else "no feasible point was found that is near enough",
    )


def disproof(program: Relaxation, duals: Mapping[str, Any]) -> str:
    """Return that no point is feasible, if the bound of multipliers is above the value of every point there could be.

    Both are bounds on the same matrices, those with the right eigenvalues, with rounding.
    """
    multipliers = program.multipliers_of(duals)
    if multipliers is None:
        return ""
    with threads_for(program.partition.order):
        bound, how = proven_bound(program.partition, program.cuts, *multipliers)
        highest = highest_value(program.partition)
    return contradicted(bound.lower, highest) if not how else ""


def contradicted(lower: float, highest: float) -> str:
    """Return in words that a lower bound is above the highest value, or an empty string."""
    if not lower > highest:
        return ""
    return (
        f"proven: by the multipliers every feasible point has a value of at least {lower:.6g}, "
        f"by its eigenvalues one of at most {highest:.6g}, so there is none"
    )


def _attained(program: Relaxation, Y: np.ndarray, value: float, rounding: float) -> Ball | None:
    """Return the value of a feasible matrix on blocks, if there is one close by."""
    partition = program.partition
    feasible = repaired(partition, program.cuts, Y)
    if feasible is None:
        return None
    attained = Relaxation(partition, program.cuts).value({"Z": Congruence(partition.T, feasible)})
    if abs(attained - value) > NEAR * (1 + abs(value)):
        return None
    return Ball(attained, 2 * rounding + gamma(4) * abs(partition.offset))


def _sensitivity(
    program: Relaxation, Y: np.ndarray, violations: Mapping[str, float], multipliers: Multipliers
) -> float:
    """Return what the violations are worth according to the multipliers, on blocks."""
    partition, entries = program.partition, multipliers.entries
    w = partition.block_d / np.linalg.norm(partition.block_d)
    off = np.maximum(-Y, 0)
    i, j = partition.apart.T
    off[i, j] = off[j, i] = abs(Y[i, j])
    low, high = partition.diagonal_bounds
    np.fill_diagonal(off, np.maximum(0, np.maximum(low - np.diag(Y), np.diag(Y) - high)))
    A, b = rows_of(program.cuts, partition.block_d, partition.links.blocks, partition.largest_weight)
    S = as_dense(partition.block_C) - entries + (A.T @ multipliers.cuts).reshape(Y.shape)
    eigenvalues = float(np.linalg.norm(S, 2)) * (violations["psd"] + violations["trace"] + np.linalg.norm(Y @ w - w))
    return float((abs(entries) * off).sum() + multipliers.cuts @ np.maximum(A @ Y.ravel() - b, 0) + eigenvalues)
