r"""Routes for labels that spread over a graph: one sparse system, or the iterations of the papers.

*spreading*, for labels that are kept (equation (1) of Wang, Qian & Davidson 2012): every unknown point takes the
weighted mean of its neighbours, :math:`f_u \leftarrow P_{ul} y_l + P_{uu} f_u`, from zero on. A step Δ is
:math:`-D_u^{-1}r` with the residual :math:`r = (Lf)_u`, so the error before it is bounded, entry by entry, by a
multiple of the lengths x of walks (see :attr:`cvxlink.HarmonicExtension.walk`); and :math:`P_{uu}x \le x`, so the error
after it is, too. For labels that are fitted (equation (4)): :math:`f \leftarrow \alpha S f + (1-\alpha) y`, which
shrinks distances by α, so a step of length ‖Δ‖ ends within ‖Δ‖ α/(1−α) of the solution.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from ...numerics.matrices import as_dense
from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings
from ..shared.routes import LinearEquation
from ..shared.spreading import spread
from .harmonic import Harmonic
from .smoothing import Smoothing


class Extending(Route):
    """Extend known values harmonically."""

    name = "harmonic"
    why = "one sparse system for all classes"

    def run(self, data: Harmonic, settings: Settings) -> Attempt:
        """Solve the system; the multipliers of the known values are the derivatives of the optimum."""
        start = perf_counter()
        f = data.extension(data.given)
        duals = {"labels": 2 * (data.L @ f)[data.known]}
        seconds = perf_counter() - start
        return Attempt(Status.OPTIMAL, f"solved by {data.extension.method}", {"f": f}, duals, 0.0, seconds)


class OneSolve(LinearEquation):
    """Labels: one sparse solve."""

    name = "sparse-solve"
    why = "one sparse system for all classes"


class Averaging(Route):
    """Let every unknown point take the mean of its neighbours, again and again."""

    name = "spreading"
    history = "distance"
    why = "unknown points take the means of their neighbours until nothing moves"

    def refuses(self, data: Harmonic) -> str | None:
        """Return why the route does not apply, if it does not."""
        if data.extension.walk is None:
            return "weights differ too much for a bound on what is left to go"
        return None

    def suits(self, data: Harmonic) -> bool:
        """Never unasked: the system is solved sooner."""
        return False

    def run(self, data: Harmonic, settings: Settings) -> Attempt:
        """Iterate equation (1), from zero at unknown points."""
        unknown, walk = data.extension.unknown, data.extension.walk
        assert walk is not None
        x, below = walk
        diagonal = data.L.diagonal()[unknown][:, None]

        def following(f: np.ndarray) -> np.ndarray:
            moved = f.copy()
            moved[unknown] -= (data.L[unknown] @ f) / diagonal
            return moved

        def left(step: np.ndarray) -> float:
            residual = abs(step[unknown] * diagonal)
            return float(np.linalg.norm(np.outer(x, (residual / below[:, None]).max(axis=0, initial=0.0))))

        begin = data.kept(np.zeros((len(diagonal) + len(data.known), data.given.shape[1])))
        attempt = spread("f", begin, following, left, settings)
        duals = {"labels": 2 * (data.L @ attempt.values["f"])[data.known]}
        return replace(attempt, duals=duals)


class Spreading(Route):
    """Let labels spread, and hold on to a share of what was given."""

    name = "spreading"
    history = "distance"
    why = "labels spread over the graph until nothing moves"

    def refuses(self, data: Smoothing) -> str | None:
        """Return why the route does not apply, if it does not."""
        return None if data.is_contraction else "it need not converge without the normalised Laplacian"

    def suits(self, data: Smoothing) -> bool:
        """Never unasked: the system is solved sooner."""
        return False

    def run(self, data: Smoothing, settings: Settings) -> Attempt:
        """Iterate equation (4), from the given labels."""
        alpha, Y = 1 / (1 + data.mu), as_dense(data.Y)

        def following(f: np.ndarray) -> np.ndarray:
            return np.asarray(alpha * (f - data.L @ f) + (1 - alpha) * Y)

        return spread("f", Y, following, lambda step: float(np.linalg.norm(step)) / data.mu, settings)
