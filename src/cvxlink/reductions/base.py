"""What a reduction is: it refuses or applies, and what it returns knows the way back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ReductionRefused
from ..programs.base import Program
from ..programs.status import Status

Values = Mapping[str, Any]


class Lift(ABC):
    """The way back from a reduced program to the one it came from."""

    @abstractmethod
    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return variables and multipliers of the program before, from those of the program after."""

    def start(self, factor: np.ndarray) -> np.ndarray:
        """Return a factor of a matrix of the program before, one row per point, as one of the program after."""
        return factor

    def status(self, status: Status) -> tuple[Status, str]:
        """Return what the outcome of the reduced program says about the program before, and a word on why."""
        return status, ""


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced program, how to come back, what was done in words, and whether points were merged on the way."""

    program: Program
    lift: Lift
    why: str
    merges_points: bool = False


class Reduction(ABC):
    """An exact transformation of programs."""

    name: str

    def apply(self, program: Any) -> Reduced:
        """Return the reduced program and its lift; raise :class:`ReductionRefused` where it is not exact.

        ``program`` is a program, or a problem, whose program is then taken.
        """
        return self.reduce(program if isinstance(program, Program) else program.program)

    @abstractmethod
    def reduce(self, program: Program) -> Reduced:
        """Do the same for a program."""

    def refuses(self, program: Any) -> str | None:
        """Return why a program, or the program of a problem, may not be touched, or None if it may."""
        try:
            self.apply(program)
        except ReductionRefused as refusal:
            return str(refusal)
        return None
