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
    residual = Ball(norm_above(smooth[unknown])) + share * norm_above(sizes[unknown])
    uncertain = share * dot(abs(kept), sizes)
    upper, inverse = dot(kept, smooth) + Ball(0.0, uncertain.upper), program.extension.inverse_norm()
    lower = upper - inverse * residual * residual
    value, distance = program.value(point), inverse * residual + norm_above(kept - f)
    exact = dot(f, program.L @ f) + Ball(0.0, share * dot(abs(f), abs(program.L) @ abs(f)).upper)
    return Certificate(
        value,
        program.violations(point),
        lower_bound=lower.lower if np.isfinite(lower.lower) else None,
        upper_bound=upper.upper,
        basis="value − ‖L_uu⁻¹‖ ‖(Lf)_u‖², with the norm of the inverse bounded by a positive vector"
        if np.isfinite(lower.lower)
        else "L_uu is singular up to rounding",
        conditions={
            "norm of (Lf)_u: how far values at unknown points are from the means of their neighbours": residual.upper
        },
        cost_scale=_cost_scale(program),
        distance=distance.upper,
        norm=max(float(np.linalg.norm(kept)), 1e-300),
        rounding=max((exact - value).magnitude, upper.radius, lower.radius),
    )


def _certify_by_elimination(program: Harmonic, point: Mapping[str, np.ndarray], mesh: Mesh) -> Certificate:
    """Compare with the solution from the weights, which has a small relative error in every entry.

    The residual says nothing where large weights stand beside small ones; sums of non-negative numbers lose no digits.
    """
    f, given, known = point["f"], program.given, program.known
    rounding = 8 * len(f) * float(np.finfo(float).eps)
    solution = mesh.extension @ given
    solution[known] = given
    uncertain = rounding * float(np.linalg.norm(mesh.extension @ abs(given)))
    differences = ((given[:, None, :] - given[None, :, :]) ** 2).sum(axis=2)
    optimum = -float(np.vdot(mesh.cost, differences)) / 2
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
