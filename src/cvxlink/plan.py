"""The plan of a solve: which reductions, which form, which solver, and why."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from .backends.base import Route, StructuredRoute
from .backends.catalogue import choose_solver, require_semidefinite, require_solver
from .backends.routes import ROUTES
from .declaration import Sizes
from .errors import FormUnavailable, InfeasibleProblem, InvalidInput, ReductionRefused
from .problem import Problem
from .reductions import Contraction, Dualisation, Elimination, Reduction, Scaling
from .reductions.base import Lift, Values
from .reductions.conic_dual import ConicDual
from .validation import as_flag

# CVXPY writes down an entry for each pair; at order 9298 it needed more than 24 GB.
LARGEST_FOR_CVXPY = 6000


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
class FromEquivalent(Lift):
    """The way back from an equivalent program, which the original knows."""

    original: Problem
    form: str

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask it."""
        return self.original.point_from(self.form, values, duals)


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
        lines = [f"{type(self.problem).__name__}: {self.problem.sizes}"]
        lines += [*self.problem.remarks, *(str(step).rstrip() for step in self.steps)]
        if self.route is not None:
            lines.append(f"route {self.route.name!r}, no solver needed: {self.why}")
        else:
            lines.append(f"form {self.form!r}: {self.program.sizes}")
            lines.append(f"solver {self.solver}: {self.why}")
        return "\n".join([lines[0], *(f"{k}. {line}" for k, line in enumerate(lines[1:], 1))])

    __repr__ = __str__


def forms_of(problem: Problem) -> tuple[str, ...]:
    """Return the names of the equivalent programs there are for a problem."""
    if not problem.convex:
        return tuple(problem.equivalents)
    try:
        dual = () if Dualisation().refuses(problem) else ("dual",)
    except InfeasibleProblem:  # there is nothing to solve in any form
        dual = ()
    return (problem.declared_form, *problem.equivalents, *dual)


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
        if not problem.convex and form is None:
            form = next(iter(problem.equivalents), None)
    if form is not None and form in problem.equivalents:
        return _equivalent_plan(problem, form, problem.equivalents[form], solver)
    if form is not None and form not in (problem.declared_form, "dual"):
        _refuse_form(problem, form)
    current, steps = _presolved(problem) if presolve else (problem, [_left_out(problem, "presolve is off")])
    if form is None and solver is None:
        chosen = _choose_route(current, route)
        if chosen is not None:
            return Plan(problem, tuple(steps), current, chosen.why if route is None else "as asked for", route=chosen)
        _refuse_if_routed(problem)
    if not problem.convex:
        forms = f"the form {', '.join(problem.equivalents)}, and " if problem.equivalents else ""
        routes = ", ".join(routes_of(problem))
        has = f"it has {forms}by route: {routes}" if forms or routes else "declare it convex, or an equivalent that is"
        raise FormUnavailable(f"{type(problem).__name__} is not convex, so no CVXPY solver takes it as declared; {has}")
    if form in (None, "dual"):
        try:
            current = _dualised(current, steps, only_if_smaller=form is None)
            form = "dual"
        except ReductionRefused as refusal:
            if form == "dual":
                _refuse_form(problem, "dual", refusal)
            steps.append(Step("dualisation", str(refusal), current.sizes))
            form = problem.declared_form
    return _cvxpy_plan(problem, steps, current, form, solver)


def _cvxpy_plan(problem: Problem, steps: list[Step], program: Problem, form: str, solver: str | None) -> Plan:
    order = max(program.sizes.psd, default=0)
    if order > LARGEST_FOR_CVXPY:
        routes = " or ".join(map(repr, routes_of(problem)))
        raise InvalidInput(
            f"a semidefinite constraint of order {order} is more than CVXPY and its solvers can hold (at most "
            f"{LARGEST_FOR_CVXPY}); "
            + (f"leave out solver and form, and take route {routes}" if routes else "take fewer points")
        )
    if solver and order:
        require_semidefinite(solver)
    name, why = (solver, "as asked for") if solver else choose_solver(program)
    return Plan(problem, tuple(steps), program, why, form=form, solver=name)


def _equivalent_plan(problem: Problem, form: str, program: Problem, solver: str | None) -> Plan:
    return _cvxpy_plan(problem, [rewriting(problem, form, program)], program, form, solver)


def rewriting(problem: Problem, form: str, program: Problem) -> Step:
    """Return the step from a problem to an equivalent one, which the problem knows the way back from."""
    why = "another program with the same optimum"
    return Step("rewriting", why, problem.sizes, program.sizes, FromEquivalent(problem, form))


def _refuse_form(problem: Problem, form: str, refusal: ReductionRefused | None = None) -> NoReturn:
    name = type(problem).__name__
    why = f" ({refusal})" if refusal else ""
    route = f"; {form!r} is a route, solve(route={form!r})" if form in routes_of(problem) else ""
    raise FormUnavailable(f"{name} has no form {form!r}{why}; it has {', '.join(forms_of(problem)) or 'none'}{route}")


def _refuse_if_routed(problem: Problem) -> None:
    """Raise for a program that no route takes and that solvers are slow on: CVXPY must be asked for then."""
    structure = problem.structure
    if structure is None or structure.suits_solvers:
        return
    routes = [r for r in ROUTES if isinstance(r, StructuredRoute) and isinstance(structure, r.kind)]
    why = "; ".join(f"{route.name}: {route.cannot(structure)}" for route in routes)
    raise FormUnavailable(
        f"no route takes this {type(problem).__name__} ({why}); name a form or a solver if CVXPY shall try"
    )


def _choose_route(program: Problem, name: str | None) -> Route | None:
    """Return the route asked for, or the first that takes the program and suits it, or None; refuse one that cannot."""
    if name is None:
        return next((route for route in ROUTES if route.refuses(program) is None and route.suits(program)), None)
    named = [route for route in ROUTES if route.name == name]
    for route in named:
        if route.refuses(program) is None:
            return route
    if named:
        why = "; ".join(str(route.refuses(program)) for route in named)
        raise FormUnavailable(f"the route {name!r} does not take this problem: {why}")
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
            steps.append(Step(Elimination.name, str(refusal), current.sizes))
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
    steps.append(Step(reduction.name, why, problem.sizes, reduced.problem.sizes, reduced.lift))
    return reduced.problem


def _left_out(problem: Problem, why: str) -> Step:
    return Step(Contraction.name, why, problem.sizes)


def _dualised(problem: Problem, steps: list[Step], only_if_smaller: bool) -> Problem:
    reduced = Dualisation().apply(problem)
    dual = reduced.problem
    if only_if_smaller and dual.sizes.unknowns > problem.sizes.unknowns / 2:
        raise ReductionRefused(f"there would be as many multipliers ({dual.sizes.unknowns}) as entries to solve for")
    why = "one unknown a constraint instead of one an entry"
    if isinstance(dual, ConicDual):
        why = "unknowns for constraints and for what is not linear, instead of one an entry"
        if dual.merges_points:
            why += "; points that the constraints force together become one"
            steps[:] = [step for step in steps if step.name != Contraction.name]  # it was not left out after all
    steps.append(Step(Dualisation.name, why, problem.sizes, dual.sizes, reduced.lift))
    return dual
