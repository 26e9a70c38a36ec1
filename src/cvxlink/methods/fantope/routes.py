"""The route to sums of smallest eigenvalues: their eigenvectors."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ...numerics.matrices import Congruence
from ...numerics.threads import threads_for
from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings
from .fantope import Fantope


class Eigenvectors(Route):
    """Project on the eigenvectors of the smallest eigenvalues."""

    name = "eigen"
    why = "the optimum is a sum of smallest eigenvalues, the solution the projection on their eigenvectors"

    def run(self, data: Fantope, settings: Settings) -> Attempt:
        """Compute them."""
        start = perf_counter()
        with threads_for(data.n):
            _, V = data.eigenpairs()
        X = Congruence(V, np.eye(data.count))
        return Attempt(Status.OPTIMAL, "solved by eigenvectors", {"X": X}, solve_seconds=perf_counter() - start)
