"""The plan of a solve: which reductions, which form, which solver, and why."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from .backends.catalogue import choose_solver, require_semidefinite, require_solver
from .errors import FormUnavailable, ReductionRefused
from .problem import Problem, Sizes
from .reductions import Contraction, Dualisation, Reduction, Scaling
from .reductions.base import Lift


@dataclass(frozen=True, eq=False)
class Step:
    """A reduction that was considered: its sizes before and after, or why it was left out."""

    name: str
    why: str
    before: Sizes
    after: Sizes | None = None
    lift: Lift | None = None

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.name}: left out, {self.why}\n"
        return f"{self.name}: {self.why}\n    before  {self.before}\n    after   {self.after}\n"


@dataclass(frozen=True, eq=False)
class Plan:
    """What ``solve`` will do; print it to read it."""

    problem: Problem
    form: str
    steps: tuple[Step, ...]
    program: Problem
    solver: str
    why_solver: str

    def __str__(self) -> str:
        lines = [f"{type(self.problem).__name__}: {sizes_of(self.problem)}"]
        lines += [f"{k}. {step}".rstrip() for k, step in enumerate(self.steps, 1)]
        lines.append(f"{len(self.steps) + 1}. form {self.form!r}: {sizes_of(self.program)}")
        lines.append(f"{len(self.steps) + 2}. solver {self.solver}: {self.why_solver}")
        return "\n".join(lines)

    __repr__ = __str__


def sizes_of(problem: Problem) -> Sizes:
    """Return how large a problem is, without building the CVXPY program where it can be known."""
    known = getattr(problem, "sizes", None)
    return known if isinstance(known, Sizes) else problem.declare().sizes


def forms_of(problem: Problem) -> tuple[str, ...]:
    """Return the names of the equivalent programs there are for a problem."""
    dual = Dualisation().refuses(problem) is None
    return (problem.declared_form, "dual") if dual else (problem.declared_form,)


def make_plan(problem: Problem, *, solver: str | None, form: str | None, presolve: bool) -> Plan:
    """Decide how to solve a problem; nothing is solved yet."""
    if solver is not None:
        solver = require_solver(solver)
    current = problem
    steps: list[Step] = []

    def reduce(reduction: Reduction, why: str) -> None:
        nonlocal current
        reduced = reduction.apply(current)
        steps.append(Step(reduction.name, why, sizes_of(current), sizes_of(reduced.problem), reduced.lift))
        current = reduced.problem

    if presolve:
        try:
            reduce(Contraction(), "points that the constraints force together become one, repeated rows are dropped")
        except ReductionRefused as refusal:
            steps.append(Step("contraction", str(refusal), sizes_of(problem)))
        with suppress(ReductionRefused):  # rarely needed, so not worth a line where it is not
            reduce(
                Scaling(), "costs and right-hand sides divided by the largest, as the solvers' absolute tolerances need"
            )
    else:
        steps.append(Step("contraction", "presolve is off", sizes_of(problem)))

    if form not in (None, problem.declared_form, "dual"):
        raise FormUnavailable(f"{type(problem).__name__} has no form {form!r}; it has {', '.join(forms_of(problem))}")
    if form in (None, "dual"):
        try:
            if form is None:
                _require_fewer_multipliers(current)
            reduce(Dualisation(), "one unknown a constraint instead of one an entry")
            form = "dual"
        except ReductionRefused as refusal:
            if form == "dual":
                raise FormUnavailable(
                    f"{type(problem).__name__} has no dual form, {refusal}; it has {problem.declared_form!r}"
                ) from refusal
            steps.append(Step("dualisation", str(refusal), sizes_of(current)))
            form = problem.declared_form
    if solver and sizes_of(current).psd:
        require_semidefinite(solver)
    chosen, why = (solver, "as asked for") if solver else choose_solver(current)
    return Plan(problem, form, tuple(steps), current, chosen, why)


def _require_fewer_multipliers(problem: Problem) -> None:
    sdp = problem.linear_sdp()
    if len(sdp.b) > sdp.n * (sdp.n + 1) // 4:
        raise ReductionRefused(f"there would be as many multipliers ({len(sdp.b)}) as entries to solve for")
