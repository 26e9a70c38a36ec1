"""A residual bound for propagated links, whole or kept as a sum of products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates import Certificate
from ...numerics.matrices import entries
from ...numerics.separable import PropagatedLinks
from ..shared.strongly_convex import certify_strongly_convex
from .lyapunov import Lyapunov
from .two_sided import TwoSided

# The number of random vectors, and the factor by which they may underrate the square of a norm.
VECTORS, UNDERRATED = 20, 10.0


def certify_propagated_links(
    program: Lyapunov | TwoSided, point: Mapping[str, Any], duals: Mapping[str, Any]
) -> Certificate:
    """Bound the distance to the solution, and the gap to the optimum, by the gradient."""
    F = point["F"]
    return (
        _certify_products(program, F)
        if isinstance(F, PropagatedLinks)
        else certify_strongly_convex(program, point, duals)
    )


def _certify_products(program: Lyapunov | TwoSided, F: PropagatedLinks) -> Certificate:
    r"""Bound the same from products with random vectors, for F that is never formed.

    For Gaussian x, the mean of :math:`\|Rx\|^2` over 20 vectors is below a tenth of :math:`\|R\|_F^2` with a
    probability of at most 8.1e-7 (Chernoff), and so for the norm of F. The value at any F is
    :math:`\mu\|Y\|^2 - \mu\langle F, Y\rangle + \tfrac12\langle F, R\rangle`.
    """
    x = np.random.default_rng(0).standard_normal((program.n, VECTORS))
    gradient, image = program.gradient_times(F, x), F @ x
    norm = float(np.linalg.norm(image)) / np.sqrt(VECTORS)
    residual = np.sqrt(UNDERRATED) * float(np.linalg.norm(gradient)) / np.sqrt(VECTORS)
    Y = program.Y.tocoo()
    fit = float(Y.data @ (Y.data - entries(F.nearby, Y.row, Y.col)))
    value = program.mu * fit + float(np.vdot(image, gradient)) / (2 * VECTORS)
    uncertain = np.sqrt(UNDERRATED) * norm * residual
    return Certificate(
        value,
        {},
        lower_bound=value - uncertain - residual**2 / (4 * program.mu),
        basis=f"value − ‖gradient‖²/4μ, the gradient by {VECTORS} random vectors: true with probability 1 − 1.7e-6",
        conditions={f"norm of the gradient {program.gradient}, at most": residual},
        distance=residual / (2 * program.mu),
        norm=max(norm, 1e-300),
        rounding=uncertain,
        rounding_is_proven=False,
    )
