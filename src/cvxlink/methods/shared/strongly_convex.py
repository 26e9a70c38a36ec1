r"""A residual bound for quadratics that spread labels or links: derived beside each of them.

The program has the strength ``mu``, ``residual(F)`` for the norm of the gradient and the value at F, the formula of its
``gradient`` in words, a bound ``amplification`` on the norm of its linear part, ``curvature(loss)``, and the name of
its ``variable``. The objective q is convex by declaration: its matrix L is a Laplacian, semidefinite up to the rounding
of its entries, which the ``loss`` bounds. With curvature c, the gradient R at any F shows that

.. math:: \|F - F^*\|_F \le \frac{\|R\|_F}{c}, \qquad q(F) - q^* \le \frac{\|R\|_F^2}{2c} .
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...certificates import Certificate
from ...numerics.rounding import Ball, gamma, norm_above, row_sums_above, terms_per_row
from ...numerics.threads import threads_for

# Operations per entry beside the sums: in the gradient, and in a normalised Laplacian.
OPERATIONS = 24


def certify_strongly_convex(program: Any, point: Mapping[str, np.ndarray], duals: Mapping[str, Any]) -> Certificate:
    """Bound the distance to the solution, and the gap to the optimum, by the gradient."""
    F = point[program.variable]
    with threads_for(program.n):
        residual, value = program.residual(F)
        norm = norm_above(F)
        share = gamma(2 * terms_per_row(program.L) + OPERATIONS)
        # Rounding in the products with L matters where μ is tiny; F − Y is as exact as its result.
        smooth = Ball(share) * program.amplification * norm
        fit = np.sqrt(program.mu) * np.sqrt(value.magnitude + program.amplification * norm**2)
        gradient = Ball(residual) + smooth + gamma(OPERATIONS) * float(fit)
        value = value + Ball(0.0, (smooth * norm).upper)
        curvature = program.curvature(share * row_sums_above(program.L))
    known = curvature > 0 and np.isfinite(value.lower)
    lower = value - gradient * gradient / (2 * Ball(curvature)) if known else None
    distance = (gradient / curvature).upper if known else np.inf
    return Certificate(
        value.middle,
        {},
        lower_bound=lower.lower if lower and np.isfinite(lower.lower) else None,
        basis="value − ‖gradient‖²/4μ, as the objective is 2μ-strongly convex" if known else "μ is lost in rounding",
        conditions={f"norm of the gradient {program.gradient}": gradient.upper},
        distance=distance,
        # What is propagated can be as faint as μ times what was given.
        norm=max(norm, 1e-300),
        rounding=value.radius,
    )
