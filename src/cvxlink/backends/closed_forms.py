"""Routes for programs that need no iteration of ours: eigenvectors, and entries put in their places."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ..matrices import Congruence
from ..problem import Problem
from ..status import Status
from ..structures import Fantope, FixedEntries
from ..threads import threads_for
from .base import Attempt, Settings, StructuredRoute


class Eigenvectors(StructuredRoute):
    """Project on the eigenvectors of the smallest eigenvalues."""

    name = "eigen"
    why = "the optimum is a sum of smallest eigenvalues, the solution the projection on their eigenvectors"
    kind = Fantope

    def cannot(self, structure: Fantope) -> str | None:
        """Return that nothing is in the way."""
        return None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Compute them."""
        structure: Fantope = problem.structure
        start = perf_counter()
        with threads_for(structure.n):
            _, V = structure.eigenpairs()
        X = Congruence(V, np.eye(structure.count))
        return Attempt(Status.OPTIMAL, "solved by eigenvectors", {"X": X}, solve_seconds=perf_counter() - start)


class Replacement(StructuredRoute):
    """Put the given entries in their places."""

    name = "projection"
    why = "given entries are put in their places, the others stay"
    kind = FixedEntries

    def cannot(self, structure: FixedEntries) -> str | None:
        """Return that nothing is in the way."""
        return None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Put them there."""
        start = perf_counter()
        A = problem.structure.solution()
        return Attempt(Status.OPTIMAL, "entries put in their places", {"A": A}, solve_seconds=perf_counter() - start)
