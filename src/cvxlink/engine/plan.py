"""The plan of a solve: the reductions, the form, the solver or route, and why."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, NoReturn

import cvxpy as cp

from ..errors import FormUnavailable, InfeasibleProblem, InvalidInput, InvalidProblem, ReductionRefused
from ..model.tables import WIDTH
from ..numerics.arguments import shown
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..reductions import Contraction, Dualisation, Elimination, Reduction, Scaling
from ..reductions.base import Lift, Values
from ..solvers.catalogue import choose_solver, require_semidefinite, require_solver
from ..solvers.interior_point import InteriorPoint
from ..solvers.low_rank import LowRank
from ..solvers.route import Route
from .formulation import Formulation, checked_program
from .options import Options

# The algorithms for linear semidefinite programs, in the order in which they are considered.
GENERAL_ROUTES: tuple[Route, ...] = (LowRank(), InteriorPoint())
# CVXPY writes down an entry for each pair of points; at order 9298 it needed more than 24 GB.
LARGEST_FOR_CVXPY = 6000


@dataclass(frozen=True, eq=False)
class Step:
    """A reduction that was considered: the program before and after it, or why it was left out."""

    reduction: Reduction | None  # None for rewriting as an equivalent program
    why: str
    before: Program
    after: Program | None = None
    lift: Lift | None = None

    @property
    def name(self) -> str:
        """The name of the reduction, or "rewriting"."""
        return "rewriting" if self.reduction is None else self.reduction.name

    def __str__(self) -> str:
        if self.after is None:
            return f"{self.name}: left out, {self.why}\n"
        return f"{self.name}: {self.why}\n    before  {self.before.sizes}\n    after   {self.after.sizes}\n"


@dataclass(frozen=True, eq=False)
class FromEquivalent(Lift):
    """The way back from an equivalent program; the original problem knows it."""

    original: Formulation
    form: str
    equivalent: Formulation

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Ask the original problem."""
        return self.original.point_from(self.form, values, duals)


@dataclass(frozen=True, eq=False)
class Plan:
    """What ``solve`` will do; print the plan to read it.

    Either a ``form`` of the program is passed to a ``solver`` through CVXPY, or a ``route`` solves it from ``data``.
    """

    problem: Formulation
    steps: tuple[Step, ...]
    program: Program
    why: str
    form: str | None = None
    solver: str | None = None
    route: Route | None = None
    data: Any = None

    def __str__(self) -> str:
        if self.route is None and self.solver is None:
            return f"{type(self.problem).__name__}: {self.why}"
        lines = [f"{type(self.problem).__name__}: {self.problem.program.sizes}"]
        lines += [*self.problem.remarks, *(str(step).rstrip() for step in self.steps)]
        if self.route is not None:
            lines.append(f"route {self.route.name!r}, no solver needed: {self.why}")
        else:
            lines.append(f"form {self.form!r}: {self.program.sizes}")
            lines.append(f"solver {self.solver}: {self.why}")
        return "\n".join([lines[0], *(_wrapped(f"{k}. {line}") for k, line in enumerate(lines[1:], 1))])

    __repr__ = __str__


def _wrapped(text: str) -> str:
    """Return lines that fit a page; sizes stay on one line."""
    first, *sizes = text.split("\n")
    return "\n".join([*wrap(first, WIDTH, subsequent_indent="   ", break_long_words=False), *sizes])


def forms_of(problem: Formulation) -> tuple[str, ...]:
    """Return the names of the forms of a problem: the declared one, its equivalents, and the dual."""
    if not problem.convex:
        return tuple(problem.equivalents)
    try:
        dual = () if Dualisation().refuses(checked_program(problem)) else ("dual",)
    except InfeasibleProblem:  # no form can be solved
        dual = ()
    return (problem.about.form, *problem.equivalents, *dual)


def routes_of(problem: Formulation) -> tuple[str, ...]:
    """Return the names of the routes that accept a problem, after its reductions."""
    named = [route.name for start in _starts(problem, True) for route, _ in _routes_for(start, takes=True)]
    return tuple(dict.fromkeys(named))


def all_routes(problem: Formulation) -> tuple[str, ...]:
    """Return the names of the routes for programs of this kind, whether or not they accept this one."""
    named = [route.name for start in _starts(problem, True) for route, _ in _routes_for(start)]
    return tuple(dict.fromkeys(named))


def make_plan(problem: Formulation, options: Options) -> Plan:
    """Decide how to solve a problem; nothing is solved yet."""
    solver, form, route = options.solver, options.form, options.route
    if route is not None and (solver is not None or form is not None):
        raise InvalidInput("a route needs no solver or form; give either a route, or a solver and a form", "route")
    if solver is not None:
        solver = require_solver(solver)
    if solver is None and form is None:
        planned = _by_route(problem, options)
        if planned is not None:
            return planned
    form = form or problem.prefers or (None if problem.convex else next(iter(problem.equivalents), None))
    if form is not None and (form in problem.equivalents or form == problem.prefers):
        start = _presolved(_equivalent(problem, form), options.presolve)
        if options.form is None:  # this form was not requested
            with suppress(ReductionRefused):
                start = _dualised(start, only_if_smaller=True)
        return _through_cvxpy(problem, start, form, solver)
    if form is not None and form not in (problem.about.form, "dual"):
        _refuse_form(problem, form)
    if not problem.convex:
        _refuse_not_convex(problem)
    start = _presolved(_declared(problem), options.presolve)
    if form == problem.about.form:
        return _through_cvxpy(problem, start, form, solver)
    try:
        return _through_cvxpy(problem, _dualised(start, only_if_smaller=form is None), "dual", solver)
    except ReductionRefused as refusal:
        if form == "dual":
            _refuse_form(problem, "dual", refusal)
        left_out = Step(Dualisation(), str(refusal), start.program)
        return _through_cvxpy(problem, start.then(start.program, left_out), problem.about.form, solver)


def to_cvxpy(problem: Formulation, form: str | None, presolve: bool) -> cp.Problem:
    """Return a program as CVXPY takes it; see :meth:`cvxlink.Problem.to_cvxpy`."""
    options = Options(form=form, presolve=presolve)
    default = problem.about.form if problem.convex else next(iter(problem.equivalents), problem.about.form)
    form = form or default
    if form == problem.about.form and not presolve and problem.convex:
        return copy.copy(problem).declaration.to_cvxpy()  # with variables of its own
    return make_plan(problem, replace(options, form=form)).program.declaration.to_cvxpy()


# ---------------------------------------------------------------------- where it starts, and what reductions make of it


@dataclass(frozen=True, eq=False)
class _Start:
    """A program to solve, the steps that led to it, and the formulation's own program that they began with."""

    program: Program
    steps: tuple[Step, ...] = ()
    origin: Program | None = None

    def then(self, program: Program, *steps: Step) -> _Start:
        return _Start(program, (*self.steps, *steps), self.origin)


def _declared(problem: Formulation) -> _Start:
    program = checked_program(problem)
    return _Start(program, origin=program)


def _equivalent(problem: Formulation, form: str) -> _Start:
    equivalent = problem.equivalents.get(form)
    if equivalent is None:
        raise InvalidProblem(
            f"{type(problem).__name__} prefers the form {form!r}, which is not among its equivalents: "
            f"{', '.join(problem.equivalents) or 'it has none'}"
        )
    program, lift = checked_program(equivalent), FromEquivalent(problem, form, equivalent)
    why = f"the form {form!r}, an equivalent program with the same optimum"
    return _Start(program, (Step(None, why, checked_program(problem), program, lift),), program)


def _starts(problem: Formulation, presolve: bool) -> Iterator[_Start]:
    """Yield the programs that routes may solve, after reductions: the declared one, and the preferred form.

    The preferred form comes first, unless the declared program has routes of its own.
    """
    declared = _declared(problem)
    has_own = bool(_own_routes(declared.program))
    if has_own or problem.prefers is None:
        yield _presolved(declared, presolve)
    if problem.prefers is not None:
        yield _presolved(_equivalent(problem, problem.prefers), presolve)
        if not has_own:
            yield _presolved(declared, presolve)


def _presolved(start: _Start, presolve: bool) -> _Start:
    """Apply the reductions that are exact for a program, beginning with its own."""
    program = start.program
    if not presolve:
        return start.then(program, Step(Contraction(), "presolve is off", program))
    own = program.reductions if isinstance(program, SpecialProgram) else ()
    for reduction in own:
        start = _reduced(start, reduction)
    if not program.convex:
        return start
    start = _reduced(start, Elimination(), is_worth_a_line=_has_free_points)
    start = _reduced(start, Contraction())
    with suppress(ReductionRefused):
        if start.program.linear_sdp().extremes != (1.0, 1.0):
            start = _reduced(start, Scaling())
    return start


def _reduced(start: _Start, reduction: Reduction, is_worth_a_line: Any = lambda program: True) -> _Start:
    before = start.program
    try:
        reduced = reduction.reduce(before)
    except ReductionRefused as refusal:
        left_out = (Step(reduction, str(refusal), before),) if is_worth_a_line(before) else ()
        return start.then(before, *left_out)
    return start.then(reduced.program, Step(reduction, reduced.why, before, reduced.program, reduced.lift))


def _has_free_points(program: Program) -> bool:
    with suppress(ReductionRefused):
        sdp = program.linear_sdp()
        return 0 < len(sdp.constrained_points) < sdp.n
    return False


def _dualised(start: _Start, only_if_smaller: bool) -> _Start:
    before = start.program
    reduced = Dualisation().reduce(before)
    unknowns = reduced.program.sizes.unknowns
    if only_if_smaller and unknowns > before.sizes.unknowns / 2:
        raise ReductionRefused(
            f"the dual would have {unknowns} unknowns, more than half as many as now ({before.sizes.unknowns})"
        )
    steps = start.steps
    if reduced.merges_points:  # then contraction was not left out
        steps = tuple(step for step in steps if not isinstance(step.reduction, Contraction))
    step = Step(Dualisation(), reduced.why, before, reduced.program, reduced.lift)
    return _Start(reduced.program, (*steps, step), start.origin)


# ---------------------------------------------------------------------- by a route


def _own_routes(program: Program | None) -> tuple[Route, ...]:
    return program.routes if isinstance(program, SpecialProgram) else ()


def _routes_for(start: _Start, takes: bool = False) -> list[tuple[Route, Any]]:
    """Return the routes for this kind of program, with their data; if ``takes``, only those that accept this one.

    A formulation's own routes for a linear semidefinite program also accept what the reductions leave of it.
    """
    program, routes = start.program, list[tuple[Route, Any]]()
    if isinstance(program, SpecialProgram):
        routes += [(route, program.data) for route in program.routes]
    with suppress(ReductionRefused):
        sdp = program.linear_sdp()
        own = () if isinstance(program, SpecialProgram) else _own_routes(start.origin)
        routes += [(route, sdp) for route in (*own, *GENERAL_ROUTES)]
    return [(route, data) for route, data in routes if not takes or route.refuses(data) is None]


def warm_routes(program: Program) -> list[str]:
    """Return the names of the routes that accept a program and can start from an earlier answer."""
    return [route.name for route, _ in _routes_for(_Start(program), takes=True) if route.starts_warm]


def _by_route(problem: Formulation, options: Options) -> Plan | None:
    """Return the plan with the requested route, or with the first that accepts and suits the program, or None."""
    for start in _starts(problem, options.presolve):
        for route, data in _routes_for(start):
            requested = route.name == options.route
            considered = options.route is None and (not route.least_order or data.n >= route.least_order)
            if (requested or considered) and route.refuses(data) is None and (requested or route.suits(data)):
                why = "as requested" if requested else route.why
                return Plan(problem, start.steps, start.program, why, route=route, data=data)
    if options.route is not None:
        _refuse_route(options.route, list(_starts(problem, options.presolve)))
    program = checked_program(problem)
    if isinstance(program, SpecialProgram) and not program.suits_solvers:
        why = "; ".join(f"{route.name}: {route.refuses(data)}" for route, data in _routes_for(_Start(program)))
        raise FormUnavailable(
            f"no route takes this {type(problem).__name__} ({why}); name a form or a solver to let CVXPY try"
        )
    return None


def _refuse_route(name: str, starts: list[_Start]) -> NoReturn:
    known = [pair for start in starts for pair in _routes_for(start)]
    reasons = [str(route.refuses(data)) for route, data in known if route.name == name]
    if name in {route.name for route in GENERAL_ROUTES} and not reasons:
        reasons = [_why_not_linear(starts[0].program)]
    if reasons:
        raise FormUnavailable(f"the route {shown(name)} does not take this problem: {'; '.join(reasons)}")
    fitting = [route.name for route, data in known if route.refuses(data) is None]
    raise FormUnavailable(f"there is no route {shown(name)}; for this problem there is {', '.join(fitting) or 'none'}")


def _why_not_linear(program: Program) -> str:
    try:
        program.linear_sdp()
    except ReductionRefused as refusal:
        return str(refusal)
    return ""


# ---------------------------------------------------------------------- through CVXPY


def _through_cvxpy(problem: Formulation, start: _Start, form: str, solver: str | None) -> Plan:
    program = start.program
    order = max(program.sizes.psd, default=0)
    if order > LARGEST_FOR_CVXPY:
        routes = " or ".join(map(repr, routes_of(problem)))
        raise InvalidInput(
            f"a semidefinite constraint of order {order} is more than CVXPY and its solvers can hold (at most "
            f"{LARGEST_FOR_CVXPY}); "
            + (f"use route={routes} without solver and form" if routes else "use fewer points")
        )
    if solver and order:
        require_semidefinite(solver)
    name, why = (solver, "as requested") if solver else choose_solver(program)
    return Plan(problem, start.steps, program, why, form=form, solver=name)


def _refuse_not_convex(problem: Formulation) -> NoReturn:
    forms, routes = ", ".join(problem.equivalents), ", ".join(routes_of(problem))
    ways = [f"by {kind}: {names}" for kind, names in (("form", forms), ("route", routes)) if names]
    how = f"it can be solved {', or '.join(ways)}" if ways else "declare it convex, or an equivalent that is"
    raise FormUnavailable(f"{type(problem).__name__} is not convex, so no CVXPY solver takes it as declared; {how}")


def _refuse_form(problem: Formulation, form: str, refusal: ReductionRefused | None = None) -> NoReturn:
    name = type(problem).__name__
    why = f" ({refusal})" if refusal else ""
    route = f"; {form!r} is a route, solve(route={form!r})" if form in routes_of(problem) else ""
    raise FormUnavailable(
        f"{name} has no form {shown(form)}{why}; it has {', '.join(forms_of(problem)) or 'none'}{route}"
    )
