"""A residual bound for the harmonic extension: derived in :mod:`cvxlink.methods.label_propagation.harmonic`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates.certificate import Certificate
from ...numerics.star_mesh import Mesh
from .harmonic import Harmonic


def certify_harmonic(program: Harmonic, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Bound the distance to the solution, and the gap to the optimum, by the residual at unknown points."""
    if program.extension.mesh is not None:
        return _certify_by_elimination(program, point, program.extension.mesh)
    f, epsilon = point["f"], float(np.finfo(float).eps)
    kept = program.kept(f)
    unknown, smooth = program.extension.unknown, program.L @ kept
    sizes = abs(program.L) @ abs(kept)  # what a rounding error is relative to
    terms = np.diff(program.L.indptr)[:, None] + 2  # in a row of the product
    residual = float(np.linalg.norm(smooth[unknown])) + epsilon * float(np.linalg.norm((terms * sizes)[unknown]))
    upper = float(np.vdot(kept, smooth))
    inverse = program.extension.inverse_norm()
    uncertain = len(kept) * epsilon * float(np.vdot(abs(kept), sizes))
    return Certificate(
        program.value(point),
        program.violations(point),
        lower_bound=max(upper - inverse * residual**2 - uncertain, 0.0),
        upper_bound=upper,
        basis="value − ‖L_uu⁻¹‖ ‖(Lf)_u‖², with the norm of the inverse bounded by a positive vector",
        conditions={
            "norm of (Lf)_u: how far values at unknown points are from the means of their neighbours": residual
        },
        distance=inverse * residual + float(np.linalg.norm(kept - f)),
        norm=max(float(np.linalg.norm(kept)), 1e-300),
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
        distance=float(np.linalg.norm(f - solution)) + uncertain,
        norm=max(float(np.linalg.norm(solution)), 1e-300),
    )
