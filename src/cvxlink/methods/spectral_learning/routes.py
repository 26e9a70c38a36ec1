"""The route to nearest matrices: given entries are replaced."""

from __future__ import annotations

from time import perf_counter

from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings
from .fixed_entries import FixedEntries


class Replacement(Route):
    """Replace the given entries."""

    name = "projection"
    why = "given entries are replaced, the others stay"

    def run(self, data: FixedEntries, settings: Settings) -> Attempt:
        """Replace them."""
        start = perf_counter()
        A = data.solution()
        return Attempt(Status.OPTIMAL, "given entries replaced", {"A": A}, solve_seconds=perf_counter() - start)
