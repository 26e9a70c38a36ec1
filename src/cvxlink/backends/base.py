"""What a backend brings back, and what a route is: an algorithm of ours instead of a CVXPY solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..problem import Problem
from ..status import Status


@dataclass(frozen=True)
class Attempt:
    """What a backend brings back: an outcome, and a point where there is one.

    A heuristic promises a feasible point, not an optimal one; however far it is off, it is an answer.
    """

    status: Status
    reason: str
    values: dict[str, Any] = field(default_factory=dict)
    duals: dict[str, Any] = field(default_factory=dict)
    compile_seconds: float = 0.0
    solve_seconds: float = 0.0
    iterations: int | None = None
    history: tuple[float, ...] = ()
    is_heuristic: bool = False


class Route(ABC):
    """An algorithm of ours for some kind of problem."""

    name: str
    why: str
    remedy: str | None = None  # what to do where its answer is not good enough, if not what the status says

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Return why this problem cannot be solved this way, or None if it can."""

    @abstractmethod
    def run(self, problem: Problem, accuracy: float, time_limit: float | None, verbose: bool) -> Attempt:
        """Solve it."""


class StructuredRoute(Route):
    """A route that is made for one kind of structure."""

    kind: ClassVar[Any]

    def refuses(self, problem: Problem) -> str | None:
        """Return that it is of another kind, or what else is in the way."""
        structure = problem.structure
        return self.cannot(structure) if isinstance(structure, self.kind) else f"it is not {self.kind.described}"

    @abstractmethod
    def cannot(self, structure: Any) -> str | None:
        """Return why a structure of the right kind cannot be solved this way, or None if it can."""
