"""A problem after all its reductions, with one way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..reductions.base import Lift, Reduced, Values
from .formulation import Formulation
from .options import Options
from .plan import make_plan


@dataclass(frozen=True, eq=False)
class AllBack(Lift):
    """The way back through several reductions, the last one first."""

    lifts: tuple[Lift, ...]

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Go back step by step."""
        for lift in reversed(self.lifts):
            values, duals = lift.point(values, duals)
        return dict(values), dict(duals)

    def start(self, factor: Any) -> Any:
        """Translate a starting factor step by step."""
        for lift in self.lifts:
            factor = lift.start(factor)
        return factor


def reduced(problem: Formulation, form: str | None) -> Reduced:
    """Return a problem after its reductions; see :meth:`cvxlink.Problem.reduce`."""
    default = problem.about.form if problem.convex else next(iter(problem.equivalents), problem.about.form)
    planned = make_plan(problem, Options(form=default if form is None else form))
    done = [step for step in planned.steps if step.lift is not None]
    why = "; ".join(f"{step.name}: {step.why}" for step in done) or "no reduction applies"
    return Reduced(planned.program, AllBack(tuple(step.lift for step in done if step.lift is not None)), why)
