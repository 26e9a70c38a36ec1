"""Certificates for relaxations of partitions with Z ≥ 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.matrices import Matrix
from ...numerics.rounding import Ball, gamma, norm_above
from ...numerics.threads import threads_for
from .bounds import cost_sizes, proven_bound
from .feasible import repaired
from .relaxation import Relaxation


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
        feasible = repaired(partition, program.cuts, program.on_blocks(point["Z"]))
        upper = None
        if feasible is not None:
            C = partition.block_C
            product = C.T.T @ feasible @ C.T if hasattr(C, "M") else None
            at = float(np.vdot(C.M, product)) if product is not None else float((C.multiply(feasible)).sum())
            upper = Ball(partition.offset + at, 2 * rounding + gamma(4) * abs(partition.offset))
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
        rounding=2 * rounding if bound is None else bound.radius + 2 * rounding,
        rounding_is_proven=not how,
        cost_scale=min(1.0, norm_above(cost_sizes(partition))),
        missing="" if upper else "the links leave no room for a feasible point near it that is easy to find",
    )
