"""The base classes of reductions: a reduction refuses or applies, and its result knows the way back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import InvalidInput, ReductionRefused
from ..model.declared import Declared
from ..numerics.arguments import as_instance, as_mapping
from ..numerics.checks import real_array
from ..numerics.matrices import Arrays, Congruence
from ..programs.base import Program
from ..programs.status import Status

Values = Mapping[str, Any]


def as_point(values: Any, duals: Any, needed: str | None = None, order: int | None = None) -> tuple[Values, Values]:
    """Return variables and multipliers by name; ``needed`` names a variable, ``order`` is that of its matrix."""
    values, duals = as_mapping(values, "values"), as_mapping(duals, "duals", "multipliers by name")
    if needed is not None and needed not in values:
        raise InvalidInput.about("values", f"has no value for the variable {needed}")
    if needed is not None and order is not None:
        stored = values.stored if isinstance(values, Arrays) else values
        K = stored[needed]
        if not isinstance(K, Congruence | np.ndarray) and not issparse(K):
            K = real_array(K, f"values[{needed!r}]", "values")
        if K.shape != (order, order):
            raise InvalidInput.about("values", f"must have the shape {(order, order)} for {needed}, not {K.shape}")
        values = {**stored, needed: K}
    return values, duals


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
    """A reduced program, the way back, and what was done in words."""

    program: Program
    lift: Lift
    why: str


def as_program(program: Any) -> Program:
    """Return a program, or that of a problem."""
    found = getattr(program, "program", None) if isinstance(program, Declared) else program
    return as_instance(found, Program, "program", "a program, or a problem that has one")


class Reduction(ABC):
    """An exact transformation of programs."""

    name: str

    def apply(self, program: Any) -> Reduced:
        """Return the reduced program and its lift; raise :class:`ReductionRefused` if the reduction is not exact.

        ``program`` is a program, or a problem that has one.
        """
        return self.reduce(as_program(program))

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
