"""The programs that problems declare: read off the declaration once, or supplied as data of a special kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import ReductionRefused
from ..model.declaration import Declaration
from ..model.declared import Declared
from .base import Program
from .from_declaration import read_linear_sdp
from .linear_sdp import LinearSDP


@dataclass(frozen=True, eq=False)
class DeclaredProgram(Program):
    """What a problem declares."""

    problem: Declared

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether CVXPY's solvers can take it as it is declared."""
        return self.problem.convex

    @property
    def declaration(self) -> Declaration:
        """The declaration of the problem."""
        return self.problem.declaration

    def linear_sdp(self) -> LinearSDP:
        """Return what was read off the declaration; that is done once."""
        if isinstance(self._read, LinearSDP):
            return self._read
        raise ReductionRefused(self._read)

    @cached_property
    def _read(self) -> LinearSDP | str:
        try:
            return read_linear_sdp(self.declaration)
        except ReductionRefused as refusal:
            return str(refusal)


@dataclass(frozen=True, eq=False)
class SpecialProgram(DeclaredProgram):
    """What a problem declares, and the same as data, with algorithms and a proof of its own.

    It belongs to the problem that declares it: a subclass that declares another program does not inherit it, and
    before it is used it is compared with the declaration at sampled points.

    Parameters
    ----------
    problem : Problem
        The problem whose program it is.
    data : object
        What the routes and the proof work on. ``data.value(point)`` is the objective and ``data.violations(point)``
        the largest violation of each constraint, by name, at a point given by the names of the variables. A
        :class:`LinearSDP` has both.
    routes : tuple of Route
        The algorithms that solve it, in the order in which they are considered.
    proof : function, optional
        ``proof(data, point, duals)`` returns a :class:`~cvxlink.Certificate`, for any point and any multipliers.
        Without one, the general bounds are taken.
    reductions : tuple of Reduction
        Reductions to try before the general ones.
    not_linear : str
        Why it is not a linear semidefinite program, for a reader of ``explain()``.
    suits_solvers : bool
        Whether a solver of CVXPY's may be chosen where no route takes the program, without being asked for.
    refutes : function, optional
        ``refutes(data, status)`` returns a sentence that shows a verdict such as INFEASIBLE to be wrong, or nothing.
    """

    data: Any
    routes: tuple[Any, ...] = ()
    proof: Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Any] | None = None
    reductions: tuple[Any, ...] = ()
    not_linear: str = "it is a program of a special kind"
    suits_solvers: bool = True
    refutes: Callable[[Any, Any], str] | None = None

    def linear_sdp(self) -> LinearSDP:
        """Return the data, if they are a linear semidefinite program."""
        if isinstance(self.data, LinearSDP):
            return self.data
        if self.proof is None:
            return super().linear_sdp()
        raise ReductionRefused(self.not_linear)

    def value(self, point: Mapping[str, Any]) -> float:
        """Return the objective, as the data have it."""
        data = self.data
        return data.value(point[data.variable]) if isinstance(data, LinearSDP) else data.value(point)

    def violations(self, point: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the largest violation of each constraint, as the data have it."""
        data = self.data
        return data.violations(point[data.variable]) if isinstance(data, LinearSDP) else data.violations(point)
