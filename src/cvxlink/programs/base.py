"""The base class of programs: each can be declared to CVXPY, knows its sizes, and may be a linear SDP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..errors import ReductionRefused
from ..model.declared import Declaration, Sizes
from ..model.keeping import KEPT


class Program(ABC):
    """A program to be solved. Reductions, solvers and certificates take programs, never problems."""

    convex: bool = True

    @property
    @abstractmethod
    def declaration(self) -> Declaration:
        """The program as CVXPY takes it."""

    def __getstate__(self) -> dict[str, Any]:
        # CVXPY's expressions are made again when they are needed.
        return {name: value for name, value in self.__dict__.items() if name not in ("declaration", KEPT)}

    @property
    def sizes(self) -> Sizes:
        """How large the program is."""
        return self.declaration.sizes

    def linear_sdp(self) -> Any:
        """Return the program as a :class:`~cvxlink.LinearSDP`, or raise :class:`ReductionRefused` with the reason."""
        raise ReductionRefused("it is not a linear semidefinite program")

    def separable_sdp(self) -> Any:
        """Return the program with convex functions of single numbers in its objective, or refuse with the reason."""
        raise ReductionRefused("its objective is not a sum of functions of single numbers")

    @property
    def largest_clique(self) -> int | None:
        """The order of the largest dense block that chordal decomposition leaves, for linear matrix inequalities."""
        return None

    @property
    def suits_sdp_codes(self) -> bool:
        """Whether codes that support only linear and semidefinite cones are fastest for this program."""
        return False
