"""The route to nearest matrices: entries put in their places."""

from __future__ import annotations

from time import perf_counter

from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings
from .fixed_entries import FixedEntries


class Replacement(Route):
    """Put the given entries in their places."""

    name = "projection"
    why = "given entries are put in their places, the others stay"

    def run(self, data: FixedEntries, settings: Settings) -> Attempt:
        """Put them there."""
        start = perf_counter()
        A = data.solution()
        return Attempt(Status.OPTIMAL, "entries put in their places", {"A": A}, solve_seconds=perf_counter() - start)
