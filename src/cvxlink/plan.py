"""The plan of a solve: which reductions, which form, which solver, and why."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from .backends.base import Route
from .backends.catalogue import choose_solver, require_semidefinite, require_solver
from .backends.routes import ROUTES
from .errors import FormUnavailable, InvalidInput, ReductionRefused
from .problem import Problem, Sizes
from .reductions import Contraction, Dualisation, Elimination, Reduction, Scaling
from .reductions.base import Lift
from .validation import as_flag


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
    """What ``solve`` will do; print it to read it.

    Either a ``form`` of the program goes to a ``solver`` through CVXPY, or a ``route`` of our own is taken.
    """

    problem: Problem
    steps: tuple[Step, ...]
    program: Problem
    why: str
    form: str | None = None
    solver: str | None = None
    route: Route | None = None

    def __str__(self) -> str:
        lines = [f"{type(self.problem).__name__}: {sizes_of(self.problem)}"]
        lines += [str(step).rstrip() for step in self.steps]
        if self.route is not None:
            lines.append(f"route {self.route.name!r}, no solver needed: {self.why}")
        else:
            lines.append(f"form {self.form!r}: {sizes_of(self.program)}")
            lines.append(f"solver {self.solver}: {self.why}")
        return "\n".join([lines[0], *(f"{k}. {line}" for k, line in enumerate(lines[1:], 1))])

    __repr__ = __str__


def sizes_of(problem: Problem) -> Sizes:
    """Return how large a problem is, without building the CVXPY program where it can be known."""
    known = getattr(problem, "sizes", None)
    return known if isinstance(known, Sizes) else problem.declare().sizes


def forms_of(problem: Problem) -> tuple[str, ...]:
    """Return the names of the equivalent programs there are for a problem."""
    if not problem.convex:
        return ()
    dual = Dualisation().refuses(problem) is None
    return (problem.declared_form, "dual") if dual else (problem.declared_form,)


def routes_of(problem: Problem) -> tuple[str, ...]:
    """Return the names of the algorithms of ours that take a problem, after its reductions."""
    program = _presolved(problem)[0]
    return tuple(route.name for route in ROUTES if route.refuses(program) is None)


def make_plan(
    problem: Problem, *, solver: str | None, form: str | None, presolve: bool, route: str | None = None
) -> Plan:
    """Decide how to solve a problem; nothing is solved yet."""
    if route is not None and (solver is not None or form is not None):
        raise InvalidInput("a route is an algorithm of ours, a form or solver is for CVXPY: give one or the other")
    as_flag(presolve, "presolve")
    if solver is not None:
        solver = require_solver(solver)
    if form not in (None, problem.declared_form, "dual"):
        raise FormUnavailable(f"{type(problem).__name__} has no form {form!r}; it has {', '.join(forms_of(problem))}")
    current, steps = _presolved(problem) if presolve else (problem, [_left_out(problem, "presolve is off")])
    if form is None and solver is None:
        chosen = _choose_route(current, route)
        if chosen is not None:
            return Plan(problem, tuple(steps), current, chosen.why if route is None else "as asked for", route=chosen)
    if not problem.convex:
        raise FormUnavailable(
            f"{type(problem).__name__} is not convex, so no CVXPY solver takes it; "
            f"solve it by its route: {', '.join(routes_of(problem))}"
        )
    if form in (None, "dual"):
        try:
            if form is None:
                _require_fewer_multipliers(current)
            current = _reduce(current, Dualisation(), "one unknown a constraint instead of one an entry", steps)
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
    name, why = (solver, "as asked for") if solver else choose_solver(current)
    return Plan(problem, tuple(steps), current, why, form=form, solver=name)


def _choose_route(program: Problem, name: str | None) -> Route | None:
    """Return the route asked for, or the first that takes the program, or None; refuse one that cannot."""
    if name is None:
        return next((route for route in ROUTES if route.refuses(program) is None), None)
    for route in ROUTES:
        if route.name == name:
            refusal = route.refuses(program)
            if refusal is not None:
                raise FormUnavailable(f"the route {name!r} does not take this problem: {refusal}")
            return route
    fitting = [route.name for route in ROUTES if route.refuses(program) is None]
    raise FormUnavailable(f"there is no route {name!r}; for this problem there is {', '.join(fitting) or 'none'}")


def _presolved(problem: Problem) -> tuple[Problem, list[Step]]:
    """Apply the reductions that are exact for a problem."""
    current, steps = problem, list[Step]()
    if not problem.convex:
        return current, steps
    try:
        current = _reduce(current, Elimination(), "points that no constraint mentions follow the others", steps)
    except ReductionRefused as refusal:
        if _has_free_points(current):  # otherwise there is nothing to say
            steps.append(Step(Elimination.name, str(refusal), sizes_of(current)))
    try:
        why = "points that the constraints force together become one, repeated rows are dropped"
        current = _reduce(current, Contraction(), why, steps)
    except ReductionRefused as refusal:
        steps.append(_left_out(current, str(refusal)))
    with suppress(ReductionRefused):  # rarely needed, so not worth a line where it is not
        why = "costs and right-hand sides divided by the largest, as the solvers' absolute tolerances need"
        current = _reduce(current, Scaling(), why, steps)
    return current, steps


def _has_free_points(problem: Problem) -> bool:
    with suppress(ReductionRefused):
        sdp = problem.linear_sdp()
        return 0 < len(sdp.constrained_points) < sdp.n
    return False


def _reduce(problem: Problem, reduction: Reduction, why: str, steps: list[Step]) -> Problem:
    reduced = reduction.apply(problem)
    steps.append(Step(reduction.name, why, sizes_of(problem), sizes_of(reduced.problem), reduced.lift))
    return reduced.problem


def _left_out(problem: Problem, why: str) -> Step:
    return Step(Contraction.name, why, sizes_of(problem))


def _require_fewer_multipliers(problem: Problem) -> None:
    sdp = problem.linear_sdp()
    if len(sdp.b) > sdp.n * (sdp.n + 1) // 4:
        raise ReductionRefused(f"there would be as many multipliers ({len(sdp.b)}) as entries to solve for")
