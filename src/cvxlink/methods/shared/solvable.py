"""Programs that always have a solution, so that a solver's verdict without an answer is an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...programs.status import Status


@dataclass(frozen=True)
class AlwaysSolvable:
    """Refutes verdicts, as the ``refutes`` of a :class:`~cvxlink.SpecialProgram`: a feasible point, and a bound.

    Parameters
    ----------
    point : str
        A feasible point, in words that complete "but …"; empty if there need not be one.
    bound : str
        Why the objective is bounded, likewise.
    """

    point: str = ""
    bound: str = ""

    def __call__(self, data: Any, status: Status) -> str:
        """Return why a verdict is wrong, or an empty string."""
        return {Status.INFEASIBLE: self.point, Status.UNBOUNDED: self.bound}.get(status, "")


# Sums of squares without constraints.
FREE_SQUARES = AlwaysSolvable("nothing is required of its variables", "its objective is a sum of squares")
