"""The base classes of reductions: a reduction refuses or applies, and its result knows the way back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
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
        """Return variables and multipliers of the original program from those of the reduced one."""

    def start(self, factor: np.ndarray) -> np.ndarray:
        """Translate a starting factor, one row per point, from the original program to the reduced one."""
        return factor

    # What an outcome of the reduced program says about the program before, and why, where it does not say the same.
    verdicts: Mapping[Status, tuple[Status, str]] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced program, the way back, what was done in words, and whether dualisation also merged points."""

    program: Program
    lift: Lift
    why: str
    merges_points: bool = False


class Reduction(ABC):
    """An exact transformation of programs."""

    name: str

    def apply(self, program: Any) -> Reduced:
        """Return the reduced program and its lift; raise :class:`ReductionRefused` if the reduction is not exact.

        ``program`` is a program, or a problem that has one.
        """
        return self.reduce(program if isinstance(program, Program) else program.program)

    @abstractmethod
    def reduce(self, program: Program) -> Reduced:
        """Reduce a program; subclasses implement this."""

    def refuses(self, program: Any) -> str | None:
        """Return why a program, or the program of a problem, cannot be reduced, or None if it can."""
        try:
            self.apply(program)
        except ReductionRefused as refusal:
            return str(refusal)
        return None
