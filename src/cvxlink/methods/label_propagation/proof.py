"""A residual bound for the harmonic extension: derived in :mod:`cvxlink.methods.label_propagation.harmonic`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.rounding import Ball, dot, gamma, norm_above, terms_per_row
from ...numerics.star_mesh import Mesh
from .harmonic import Harmonic


def certify_harmonic(program: Harmonic, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Bound the distance to the solution, and the gap to the optimum, by the residual at unknown points."""
    if program.extension.mesh is not None:
        return _certify_by_elimination(program, point, program.extension.mesh)
    f = point["f"]
    kept = program.kept(f)
    unknown, smooth = program.extension.unknown, program.L @ kept
    sizes = abs(program.L) @ abs(kept)  # what a rounding error is relative to
    share = gamma(2 * terms_per_row(program.L) + 4)
    residual = (abs(smooth) + share * sizes)[unknown]
    error = _response(program.extension.walk, residual)
    known = bool(np.isfinite(error).all())
    upper = dot(kept, smooth) + Ball(0.0, share * dot(abs(kept), sizes).upper)
    lower = upper - dot(residual, error).upper if known else Ball(-np.inf)
    distance = norm_above(error) + norm_above(kept - f) if known else np.inf
    value = program.value(point)
    exact = dot(f, program.L @ f) + Ball(0.0, share * dot(abs(f), abs(program.L) @ abs(f)).upper)
    return Certificate(
        value,
        program.violations(point),
        lower_bound=lower.lower if np.isfinite(lower.lower) else None,
        upper_bound=upper.upper,
        basis="value − ⟨|r|, |L_uu⁻¹r|⟩ with the residual r = (Lf)_u, bounded entry by entry by a positive vector"
        if known
        else "L_uu is singular up to rounding",
        conditions={
            "norm of (Lf)_u: how far values at unknown points are from the means of their neighbours": norm_above(
                residual
            )
        },
        cost_scale=_cost_scale(program),
        distance=distance,
        norm=max(float(np.linalg.norm(kept)), 1e-300),
        rounding=max((exact - value).magnitude, upper.radius, lower.radius if known else 0.0),
    )


def _response(walk: tuple[np.ndarray, np.ndarray] | None, residual: np.ndarray) -> np.ndarray:
    """Return a bound on the entries of L_uu⁻¹r, from bounds on those of r, one column each; infinity if unknown."""
    if not len(residual):
        return residual
    if walk is None:
        return np.full_like(residual, np.inf)
    x, below = walk
    return np.outer(x, (residual / below[:, None]).max(axis=0)) * (1 + gamma(8))


def _certify_by_elimination(program: Harmonic, point: Mapping[str, np.ndarray], mesh: Mesh) -> Certificate:
    """Compare with the solution from the weights, which has a small relative error in every entry.

    The residual says nothing where large weights stand beside small ones; sums of non-negative numbers lose no digits.
    """
    f, given, known = point["f"], program.given, program.known
    rounding = 8 * len(f) * float(np.finfo(float).eps)
    solution = mesh.extension @ given
    solution[known] = given
    uncertain = rounding * float(np.linalg.norm(mesh.extension @ abs(given)))
    # Cost p = 0 for the null vector p of L on the known points, so the cost is a sum over pairs of what they differ by.
    p = program.extension.null_vector[known]
    differences = ((given[:, None, :] * p[None, :, None] - given[None, :, :] * p[:, None, None]) ** 2).sum(axis=2)
    optimum = -float(np.vdot(mesh.cost / np.outer(p, p), differences)) / 2
    return Certificate(
        program.value(point),
        program.violations(point),
        lower_bound=optimum * (1 - rounding),
        upper_bound=optimum * (1 + rounding),
        basis="the optimum from the weights themselves, by elimination without subtraction",
        cost_scale=_cost_scale(program),
        distance=float(np.linalg.norm(f - solution)) + uncertain,
        norm=max(float(np.linalg.norm(solution)), 1e-300),
    )


def _cost_scale(program: Harmonic) -> float:
    """Return the largest cost, at most 1, so that no answer passes just because all weights are tiny."""
    return min(1.0, float(abs(program.L).max()) or 1.0)
