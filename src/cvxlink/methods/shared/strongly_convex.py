"""A residual bound for quadratics that spread labels or links: derived beside each of them.

The program has the strength ``mu``, ``residual(F)`` for the norm of the gradient and the value at F, the formula of its
``gradient`` in words, a bound ``amplification`` on the norm of its linear part, and the name of its ``variable``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates import Certificate
from ...numerics.threads import threads_for


def certify_strongly_convex(program: Any, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Bound the distance to the solution, and the gap to the optimum, by the gradient."""
    F = point[program.variable]
    with threads_for(program.n):
        residual, value = program.residual(F)
        norm = float(np.linalg.norm(F))
        # Rounding in the products with L matters where μ is tiny; F − Y is as exact as its result, and μ‖F − Y‖² at
        # most the value.
        epsilon = float(np.finfo(float).eps)
        smooth = epsilon * float(np.sqrt(program.n)) * program.amplification * norm
        residual += smooth + epsilon * 2 * float(np.sqrt(program.mu * max(value, 0.0)))
        uncertain = program.n * epsilon * value + norm * smooth
    return Certificate(
        value,
        {},
        lower_bound=value - uncertain - residual**2 / (4 * program.mu),
        basis="value − ‖gradient‖²/4μ, as the objective is 2μ-strongly convex",
        conditions={f"norm of the gradient {program.gradient}": residual},
        distance=residual / (2 * program.mu),
        # What is propagated can be as faint as μ times what was given.
        norm=max(norm, 1e-300),
    )
