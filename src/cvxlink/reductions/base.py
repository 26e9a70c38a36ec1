"""What a reduction is: it refuses or applies, and what it returns knows the way back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ReductionRefused
from ..problem import Problem
from ..status import Status

Values = Mapping[str, Any]


class Lift(ABC):
    """The way back from a reduced problem to the one it came from."""

    @abstractmethod
    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return variables and multipliers of the problem before, from those of the problem after."""

    def start(self, factor: np.ndarray) -> np.ndarray:
        """Return a factor of a matrix of the problem before, a row a point, as one of the problem after."""
        return factor

    def status(self, status: Status) -> tuple[Status, str]:
        """Return what the outcome of the reduced problem says about the problem before, and a word on why."""
        return status, ""


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced problem and its lift."""

    problem: Problem
    lift: Lift


class Reduction(ABC):
    """An exact transformation of problems."""

    name: str

    @abstractmethod
    def apply(self, problem: Problem) -> Reduced:
        """Return the reduced problem and its lift; raise :class:`ReductionRefused` where it is not exact."""

    def refuses(self, problem: Problem) -> str | None:
        """Return why this problem may not be touched, or None if it may."""
        try:
            self.apply(problem)
        except ReductionRefused as refusal:
            return str(refusal)
        return None
