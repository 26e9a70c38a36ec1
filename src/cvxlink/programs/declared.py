"""The programs that problems declare: read from the declaration once, or supplied as data of a special kind."""

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
    """The program that a problem declares."""

    problem: Declared

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether CVXPY's solvers accept the program as declared."""
        return self.problem.convex

    @property
    def declaration(self) -> Declaration:
        """The declaration of the problem."""
        return self.problem.declaration

    def linear_sdp(self) -> LinearSDP:
        """Return the linear SDP read from the declaration; it is read only once."""
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
    """The program of a problem together with the same program as data, its own algorithms and its own proof.

    It belongs to the problem that declares it: a subclass that declares another program does not inherit it, and its
    data are compared with the declaration at sampled points before they are used.

    Parameters
    ----------
    problem : Problem
        The problem whose program it is.
    data : object
        What the routes and the proof work on. ``data.value(point)`` returns the objective and
        ``data.violations(point)`` the largest violation of each constraint by name; ``point`` maps the names of the
        variables to values. A :class:`LinearSDP` is also accepted.
    routes : tuple of Route
        The algorithms that solve it, in the order in which they are considered.
    proof : function, optional
        ``proof(data, point, duals)`` returns a :class:`~cvxlink.Certificate` for any point and any multipliers.
        By default the general bounds are used.
    reductions : tuple of Reduction
        Reductions to apply before the general ones.
    not_linear : str
        The reason it is not a linear semidefinite program, as ``explain()`` shows it.
    suits_solvers : bool
        Whether a CVXPY solver may be chosen automatically if no route accepts the program.
    refutes : function, optional
        ``refutes(data, status)`` returns the reason why a verdict such as INFEASIBLE is wrong, or an empty string.
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
        """Return the objective according to the data."""
        data = self.data
        return data.value(point[data.variable]) if isinstance(data, LinearSDP) else data.value(point)

    def violations(self, point: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the largest violation of each constraint according to the data."""
        data = self.data
        return data.violations(point[data.variable]) if isinstance(data, LinearSDP) else data.violations(point)
