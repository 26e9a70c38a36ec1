"""Certificates for relaxations of partitions with Z ≥ 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.matrices import Congruence, Matrix, as_dense
from ...numerics.rounding import Ball, gamma, norm_above
from ...numerics.threads import threads_for
from .bounds import cost_sizes, highest_value, proven_bound
from .cuts import rows_of
from .feasible import repaired
from .only_point import only_matrix, only_value
from .partition import Partition
from .relaxation import Relaxation
from .splitting import Multipliers

# A feasible point whose value differs by a larger share says more about the point than about the answer.
NEAR = 1e-4
# A feasible point with less than this difference is always good enough.
NEARER = 1e-7
# The entries of the only feasible matrix are known to this accuracy, if it is the answer.
ROUNDED = 1e-12


def certify_relaxation(program: Relaxation, point: Mapping[str, Matrix], duals: Mapping[str, Any]) -> Certificate:
    """Bound the optimum from below by the multipliers, and from above by a feasible matrix near the point."""
    own, size = program.to_its_own_size()
    multipliers = program.multipliers_of(duals)
    with threads_for(program.partition.order):
        found = _of_the_only_point(own, point, size)
        if found is None:
            found = _certified(own, point, None if multipliers is None else multipliers.divided_by(size), size)
    return _enlarged(found, size)


def _certified(
    program: Relaxation, point: Mapping[str, Matrix], multipliers: Multipliers | None, size: float
) -> Certificate:
    """Bound the optimum of a program whose cost was divided by ``size``."""
    partition = program.partition
    value, violations = program.value(point), program.violations(point)
    # ⟨C, Z⟩ is known up to the rounding of its terms.
    rounding = gamma(2 * partition.n + 8) * norm_above(cost_sizes(partition)) * np.sqrt(partition.n_clusters)
    cost_scale = cost_scale_of(partition, size)
    bound, how, slips = None, "", None
    Y = program.on_blocks(point["Z"])
    upper = _attained(program, Y, value, rounding, cost_scale)
    if multipliers is not None:
        bound, how = proven_bound(partition, program.cuts, *multipliers)
        slips = _sensitivity(program, Y, violations, multipliers)
    # A feasible matrix may be further off than the violations are worth; then these say more about the answer.
    enough = NEARER * (cost_scale + abs(value))
    if upper is not None and slips is not None and upper.upper - value > max(2 * slips, enough):
        upper = None
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
        cost_scale=cost_scale,
        sensitivity=slips if upper is None else None,
        missing="" if upper else "no feasible point was found that is near enough",
    )


def _of_the_only_point(program: Relaxation, point: Mapping[str, Matrix], size: float) -> Certificate | None:
    """Certify a point that is the only feasible one up to rounding; None if it is not, or its value is not known so."""
    partition = program.partition
    only, value = only_matrix(partition), only_value(partition)
    if only is None or value is None:
        return None
    Y = program.on_blocks(point["Z"])
    if not abs(Y - only).max() <= ROUNDED or repaired(partition, program.cuts, Y) is None:
        return None
    violations = program.violations(point)
    return Certificate(
        value.middle,
        violations,
        lower_bound=value.lower,
        upper_bound=value.upper,
        min_eigenvalue=-violations["psd"],
        basis="links and the number of clusters leave one point",
        rounding=value.radius,
        cost_scale=cost_scale_of(partition, size),
    )


def cost_scale_of(partition: Partition, size: float) -> float:
    """Return the size of the cost, and at most one before it was divided by ``size``: gaps are relative to it."""
    return min(1 / size, norm_above(cost_sizes(partition)))


def _enlarged(found: Certificate, size: float) -> Certificate:
    """Return a certificate of a program whose cost was divided by a power of two."""
    if size == 1:
        return found

    def times(number: float | None, towards: float = 0.0) -> float | None:
        if number is None:
            return None
        product = number * size
        # Only where digits are lost below the range of numbers, a bound is rounded.
        return float(np.nextafter(product, towards)) if towards and product / size != number else product

    return replace(
        found,
        value=found.value * size,
        lower_bound=times(found.lower_bound, -np.inf),
        upper_bound=times(found.upper_bound, np.inf),
        rounding=times(found.rounding),
        cost_scale=found.cost_scale * size,
        sensitivity=times(found.sensitivity),
    )


def disproof(program: Relaxation, duals: Mapping[str, Any]) -> str:
    """Return that no point is feasible, if the bound of multipliers is above the value of every point there could be.

    Both are bounds on the same matrices, those with the right eigenvalues, with rounding.
    """
    multipliers = program.multipliers_of(duals)
    if multipliers is None:
        return ""
    own, size = program.to_its_own_size()
    with threads_for(program.partition.order):
        bound, how = proven_bound(own.partition, program.cuts, *multipliers.divided_by(size))
        highest = highest_value(own.partition)
    return contradicted(bound.lower, highest, size) if not how else ""


def contradicted(lower: float, highest: float, size: float = 1.0) -> str:
    """Return in words that a lower bound is above the highest value, both times ``size``, or an empty string."""
    if not lower > highest:
        return ""
    return (
        f"proven: by the multipliers every feasible point has a value of at least {lower * size:.6g}, "
        f"by its eigenvalues one of at most {highest * size:.6g}, so there is none"
    )


def _attained(program: Relaxation, Y: np.ndarray, value: float, rounding: float, cost_scale: float) -> Ball | None:
    """Return the value of a feasible matrix on blocks, if there is one close by."""
    partition = program.partition
    feasible = repaired(partition, program.cuts, Y)
    if feasible is None:
        return None
    attained = Relaxation(partition, program.cuts).value({"Z": Congruence(partition.T, feasible)})
    if abs(attained - value) > NEAR * (cost_scale + abs(value)):
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
