"""What a backend brings back, and what a route is: an algorithm of ours instead of a CVXPY solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..problem import Problem
from ..status import Status


@dataclass(frozen=True)
class Attempt:
    """What a backend brings back: an outcome, and a point where there is one."""

    status: Status
    reason: str
    values: dict[str, Any] = field(default_factory=dict)
    duals: dict[str, Any] = field(default_factory=dict)
    compile_seconds: float = 0.0
    solve_seconds: float = 0.0
    iterations: int | None = None
    history: tuple[float, ...] = ()


class Route(ABC):
    """An algorithm of ours for some kind of problem.

    ``kind`` is the structure it works on, where it is made for one.
    """

    name: str
    why: str
    kind: ClassVar[type | None] = None

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Return why this problem cannot be solved this way, or None if it can."""

    @abstractmethod
    def run(self, problem: Problem, accuracy: float, time_limit: float | None, verbose: bool) -> Attempt:
        """Solve it."""
