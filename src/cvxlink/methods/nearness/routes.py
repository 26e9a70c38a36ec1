r"""Two routes to matrix nearness: a concave program in the multipliers, and a closed form.

*dual*: with :math:`h_r(\lambda) = u_r^\top \bar K(\lambda) u_r` and :math:`H = U^\top \bar K U`, the gradient of the
dual function φ is h − a and its Hessian −H∘H. The optimality conditions a − h(λ) = s, λ_r s_r = 0, λ, s ≥ 0 are
followed along λ_r s_r = μ → 0 by Newton's method,

.. math:: (H \circ H + \operatorname{Diag}(s/\lambda))\,\Delta\lambda = \sigma\mu/\lambda - (a - h(\lambda)),
          \qquad \Delta s = (a - h - s) + (H \circ H)\Delta\lambda ,

in units in which every bound is one. It ends at a proven gap: K̄(λ), scaled down until every bound holds, has a
value, and φ(λ) is below the optimum.

*closed-form*: with weights instead of bounds, λ = w.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import scipy.linalg

from ...numerics.threads import threads_for
from ...programs.status import Status
from ...solvers.route import Attempt, Iteration, Route, Settings
from .nearness import Nearness, shrunk

# The Newton system is dense in the multipliers.
MOST_LINKS = 10_000
TO_THE_BOUNDARY = 0.99
PATIENCE = 15


class DualNewton(Route):
    """Newton's method in the multipliers, along the central path."""

    name = "dual"
    iterates = True
    why = "one unknown per link, and linear algebra of that size only"

    def refuses(self, data: Nearness) -> str | None:
        """Return why the route does not apply, if it does not."""
        if data.bounds is None:
            return "it has noise instead of bounds, so it has no multipliers; it has a closed form"
        if data.n_links > MOST_LINKS:
            return f"{data.n_links} links are too many for dense algebra (at most {MOST_LINKS})"
        return None

    def run(self, data: Nearness, settings: Settings) -> Attempt:
        """Solve until the gap is below the tolerance times 1 + |value|, or no longer shrinks."""
        iteration = Iteration(settings, patience=PATIENCE)
        with threads_for(max(data.n_links, data.n)):
            multipliers = _maximised(data, iteration)
            values = {"K": data.kernel(multipliers)}
        return iteration.attempt(values, {name: -multipliers[group] for name, group in data.groups.items()})


def _maximised(structure: Nearness, iteration: Iteration) -> np.ndarray:
    """Return the multipliers that maximise the dual function."""
    a, n = structure.bounds, structure.n
    assert a is not None
    R = structure.R / np.sqrt(a)
    g = (R**2).sum(axis=0)
    # Alone, a link that binds (g > 1) has the multiplier 1 − 1/g.
    x, s = np.maximum(1 - 1 / g, 0.1) / 2, np.maximum(1 - g, 0.1)
    try:
        while True:
            V, logarithm = shrunk(R, x)
            H = V.T @ V
            h = np.diag(H)
            # K̄(x) scaled by 1/t satisfies every bound; its value, less the dual value, is the gap.
            t = max(1.0, float(h.max(initial=0.0)))
            gap = n * float(np.log(t)) + (n - x @ h) / t - n + float(x.sum())
            bound = n + logarithm - float(x.sum())
            # The gap is of second order in the violation t − 1, which has to be small as well.
            off = max(gap / (1 + abs(bound)), t - 1)
            if not iteration.goes_on(x, off, f"bound {bound:.10g}  gap {gap:.2e}  violation {t - 1:.2e}"):
                break
            x, s = _newton_step(x, s, H, h)
    except np.linalg.LinAlgError:  # nothing but rounding is left to factorise
        iteration.stalls()
    return np.zeros(len(a)) if iteration.best is None else iteration.best / a


def _newton_step(x: np.ndarray, s: np.ndarray, H: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Take one step towards the central path, further along it the nearer the last point was to it."""
    squares, off = H * H, 1 - h - s
    factor = scipy.linalg.cho_factor(squares + np.diag(s / x), lower=True, overwrite_a=True, check_finite=False)
    mu = float(x @ s) / len(x)

    def direction(target: float) -> tuple[np.ndarray, np.ndarray]:
        dx = scipy.linalg.cho_solve(factor, target / x - (1 - h), check_finite=False)
        return dx, off + squares @ dx

    def length(dx: np.ndarray, ds: np.ndarray) -> float:
        shrinking = np.concatenate([-dx / x, -ds / s])
        return min(1.0, TO_THE_BOUNDARY / max(float(shrinking.max()), 1e-300))

    dx, ds = direction(0.0)
    step = length(dx, ds)
    reached = float((x + step * dx) @ (s + step * ds)) / len(x)
    dx, ds = direction((reached / mu) ** 3 * mu)
    step = length(dx, ds)
    return x + step * dx, s + step * ds


class ClosedForm(Route):
    """The posterior of a Gaussian process."""

    name = "closed-form"
    why = "the optimum is known: the covariance of a Gaussian process after noisy observations"

    def refuses(self, data: Nearness) -> str | None:
        """Return why the route does not apply, if it does not."""
        if data.weights is None:
            return "it has bounds; the closed form is for noise"
        return None

    def run(self, data: Nearness, settings: Settings) -> Attempt:
        """Evaluate it."""
        start = perf_counter()
        with threads_for(data.n):
            assert data.weights is not None
            kernel = data.kernel(data.weights)
        return Attempt(Status.OPTIMAL, "by its closed form", {"K": kernel}, solve_seconds=perf_counter() - start)
