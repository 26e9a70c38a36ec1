"""The plan of a solve: the reductions, the form, the solver or route, and why."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import wrap
from typing import Any, NoReturn

import cvxpy as cp

from ..errors import FormUnavailable, InfeasibleProblem, InvalidInput, InvalidProblem, ReductionRefused
from ..model.expressions import is_linear
from ..model.tables import WIDTH
from ..numerics.arguments import shown
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..programs.linear_sdp import LinearSDP
from ..reductions import Contraction, Dualisation, Elimination, Negation, Reduction, Scaling
from ..reductions.base import Lift, Values
from ..solvers.capacity import fits, is_worth_telling, memory_in_words
from ..solvers.catalogue import choose_solver, require_cones, require_solver, words_on_floor
from ..solvers.interior_point import InteriorPoint
from ..solvers.low_rank import LowRank
from ..solvers.route import Route
from .contradictions import with_rows_named
from .formulation import Formulation, checked_program
from .interior import missing_interior
from .options import Options

# The algorithms for linear semidefinite programs, in the order in which they are considered.
GENERAL_ROUTES: tuple[Route, ...] = (LowRank(), InteriorPoint())
# Those that also take convex functions of single numbers in the objective.
SEPARABLE_ROUTES: tuple[Route, ...] = (LowRank(),)
# Below this order none of these is chosen, so programs are not read for them.
LEAST_SEPARABLE = min(route.least_order for route in SEPARABLE_ROUTES)
# Up to this many unknowns, a matrix of order 30, Clarabel needs milliseconds.
SMALL = 500
# CVXPY writes down an entry for each pair of points; at order 9298 it needed more than 24 GB.
LARGEST_FOR_CVXPY = 6000
# The forms that every program with a dual has, and every linear semidefinite program.
DUAL, STANDARD = "dual", "standard"


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
    is_explained: bool = False  # then what is printed also says whether there is an interior

    @cached_property
    def diagnosis(self) -> str:
        """Which constraints leave the reduced program without a strictly feasible point; empty if there is one."""
        reduced = [step for step in self.steps if not isinstance(step.reduction, Dualisation)]
        program = next((step.after for step in reversed(reduced) if step.after is not None), None)
        return missing_interior(program or checked_program(self.problem))

    def __str__(self) -> str:
        if self.route is None and self.solver is None:
            return f"{self.problem.called}: {self.why}"
        lines = [f"{self.problem.called}: {self.problem.program.sizes}"]
        said = (*self.problem.cautions(), *self.problem.remarks)
        lines += [*said, *(str(step).rstrip() for step in self.steps)]
        if self.route is not None:
            lines.append(f"route {self.route.name!r}, no solver needed: {self.why}")
        else:
            lines.append(f"form {self.form!r}: {self.program.sizes}")
            lines.append(f"solver {self.solver}: {self.why}")
            lines += [self.diagnosis] if self.is_explained and self.diagnosis else []
        return "\n".join([lines[0], *(_wrapped(f"{k}. {line}") for k, line in enumerate(lines[1:], 1))])

    __repr__ = __str__


def _wrapped(text: str) -> str:
    """Return lines that fit a page; sizes stay on one line."""
    first, *sizes = text.split("\n")
    return "\n".join([*wrap(first, WIDTH, subsequent_indent="   ", break_long_words=False), *sizes])


def forms_of(problem: Formulation) -> tuple[str, ...]:
    """Return the names of the forms of a problem: the declared one, its equivalents, the dual and the standard one."""
    if not problem.convex:
        return tuple(problem.equivalents)
    try:
        dual = () if Dualisation().refuses(checked_program(problem)) else (DUAL,)
    except InfeasibleProblem:  # no form can be solved
        dual = ()
    standard = () if not dual or _why_not(lambda: _in_standard_form(problem)) else (STANDARD,)
    return (problem.about.form, *problem.equivalents, *dual, *standard)


def routes_of(problem: Formulation) -> tuple[str, ...]:
    """Return the names of the routes that accept a problem, after its reductions."""
    named = [route.name for start in _Starts(problem, True) for route, _ in _routes_for(start, takes=True)]
    return tuple(dict.fromkeys(named))


def all_routes(problem: Formulation) -> tuple[str, ...]:
    """Return the names of the routes for programs of this kind, whether or not they accept this one."""
    named = [route.name for start in _Starts(problem, True) for route, _ in _routes_for(start)]
    return tuple(dict.fromkeys(named))


def make_plan(problem: Formulation, options: Options) -> Plan:
    """Decide how to solve a problem; nothing is solved yet."""
    try:
        planned = _planned(problem, options)
        return planned if options.solver_options else _with_floor_named(planned, options.accuracy)
    except InfeasibleProblem as contradiction:
        if not problem.convex:
            raise
        raise with_rows_named(contradiction, checked_program(problem)) from contradiction


def _with_floor_named(plan: Plan, accuracy: float | None) -> Plan:
    """Return a plan that says where more is asked for than the tolerances of its solver allow."""
    words = words_on_floor(plan.solver, accuracy) if plan.solver is not None else ""
    return replace(plan, why=f"{plan.why}; {words}") if words else plan


def _planned(problem: Formulation, options: Options) -> Plan:
    solver, form, route = options.solver, options.form, options.route
    if route is not None and (solver is not None or form is not None):
        raise InvalidInput("a route needs no solver or form; give either a route, or a solver and a form", "route")
    if solver is not None:
        solver = require_solver(solver)
    starts = _Starts(problem, options.presolve, suited_only=route is None)
    if solver is None and form is None:
        planned = _by_route(problem, options, starts)
        if planned is not None:
            return planned
    form = form or problem.prefers or (None if problem.convex else next(iter(problem.equivalents), None))
    if form is not None and (form in problem.equivalents or form == problem.prefers):
        start = starts.equivalent(form)
        if options.form is None:  # this form was not requested
            with suppress(ReductionRefused):
                start = _dualised(start, only_if_smaller=True, for_any_solver=solver is None)
        return _through_cvxpy(problem, start, form, solver)
    if form is not None and form not in (problem.about.form, DUAL, STANDARD):
        _refuse_form(problem, form)
    if not problem.convex:
        _refuse_not_convex(problem)
    if form == STANDARD:
        try:
            return _through_cvxpy(problem, _in_standard_form(problem), form, solver)
        except ReductionRefused as refusal:
            _refuse_form(problem, form, refusal)
    start = starts.declared
    if form == problem.about.form:
        return _through_cvxpy(problem, start, form, solver)
    try:
        return _through_cvxpy(problem, _dualised(start, form is None, for_any_solver=solver is None), DUAL, solver)
    except ReductionRefused as refusal:
        if form == DUAL:
            _refuse_form(problem, DUAL, refusal)
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


class _Starts:
    """The programs that routes and solvers may be given, after reductions, each made when it is first asked for."""

    def __init__(self, problem: Formulation, presolve: bool, suited_only: bool = False) -> None:
        self.problem, self.presolve = problem, presolve
        self.suited_only = suited_only  # leave out programs too small for any route to be chosen for them
        self._equivalents: dict[str, _Start] = {}

    @cached_property
    def declared(self) -> _Start:
        """The declared program."""
        return _presolved(_declared(self.problem), self.presolve)

    def equivalent(self, form: str) -> _Start:
        """An equivalent program."""
        if form not in self._equivalents:
            self._equivalents[form] = _presolved(_equivalent(self.problem, form), self.presolve)
        return self._equivalents[form]

    def __iter__(self) -> Iterator[_Start]:
        """Yield what routes may solve: the preferred form first, unless the declared program has its own routes."""
        has_own, prefers = bool(_own_routes(checked_program(self.problem))), self.problem.prefers
        if has_own or prefers is None:
            yield self.declared
        if prefers is not None:
            yield self.equivalent(prefers)
            if not has_own:
                yield self.declared
        declared = _minimised(_declared(self.problem))
        if self.suited_only and max(declared.program.sizes.psd, default=0) < LEAST_SEPARABLE:
            return
        if _why_not(declared.program.linear_sdp) and not _why_not(declared.program.separable_sdp):
            yield declared  # the routes for such programs merge points themselves


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
    minimised = _minimised(start)
    if not _why_not(minimised.program.linear_sdp) or program.sizes.unknowns > SMALL:
        # Linear programs and duals are minimisations; otherwise solvers and certificates take either kind.
        start = minimised
    start = _reduced(start, Elimination(), is_worth_a_line=_has_free_points)
    start = _reduced(start, Contraction())
    with suppress(ReductionRefused):
        if start.program.linear_sdp().extremes != (1.0, 1.0):
            start = _reduced(start, Scaling())
    return start


def _minimised(start: _Start) -> _Start:
    """Turn a maximisation into a minimisation."""
    return _reduced(start, Negation(), is_worth_a_line=lambda program: False)


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


def _dualised(start: _Start, only_if_smaller: bool, for_any_solver: bool) -> _Start:
    before, now = start.program, start.program.sizes.unknowns
    if only_if_smaller and for_any_solver and now <= SMALL:
        raise ReductionRefused(
            f"with {now} unknown{'s' if now > 1 else ''} the program is solved sooner than its dual is written down"
        )
    too_many = "the dual would have {} unknowns, more than half as many as now ({})"
    if only_if_smaller and not isinstance(before, LinearSDP):
        # Each linear row has a multiplier; counting these takes no time, dualising a program that is not linear does.
        least = sum(term.size for term in before.declaration.terms if _is_linear(term))
        if least > now / 2:
            raise ReductionRefused(too_many.format(f"at least {least}", now))
    reduced = Dualisation().reduce(before)
    unknowns = reduced.program.sizes.unknowns
    if only_if_smaller and unknowns > now / 2:
        raise ReductionRefused(too_many.format(unknowns, now))
    return start.then(reduced.program, Step(Dualisation(), reduced.why, before, reduced.program, reduced.lift))


def _is_linear(term: Any) -> bool:
    rows = isinstance(term, cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero)
    return rows and all(map(is_linear, term.args))


def _in_standard_form(problem: Formulation) -> _Start:
    """Return the declared program as solvers of semidefinite programs read it, with no reduction.

    A file in SDPA's format, and MOSEK's matrix variables, hold exactly min ⟨C, K⟩, ⟨A_r, K⟩ = b_r, K ⪰ 0: one equation
    per declared row, and none per entry of K. CVXPY hands this over when it is given the multipliers as unknowns.
    """
    start = _minimised(_declared(problem))
    start.program.linear_sdp()  # refuses what is none
    reduced = Dualisation().reduce(start.program)
    rows = reduced.program.sizes.unknowns
    why = f"the printed program without reductions, {rows} row{'s' if rows != 1 else ''}, given by its multipliers"
    return start.then(reduced.program, Step(Dualisation(), why, start.program, reduced.program, reduced.lift))


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
    if not routes and all(isinstance(step.reduction, Negation) for step in start.steps):
        with suppress(ReductionRefused):
            separable = program.separable_sdp()
            routes += [(route, separable) for route in SEPARABLE_ROUTES]
    return [(route, data) for route, data in routes if not takes or route.refuses(data) is None]


def warm_routes(program: Program) -> list[str]:
    """Return the names of the routes that accept a program and can start from an earlier answer."""
    return [route.name for route, _ in _routes_for(_Start(program), takes=True) if route.starts_warm]


def _by_route(problem: Formulation, options: Options, starts: _Starts) -> Plan | None:
    """Return the plan with the requested route, or with the first that accepts and suits the program, or None."""
    for start in starts:
        for route, data in _routes_for(start):
            requested = route.name == options.route
            considered = options.route is None and (not route.least_order or data.n >= route.least_order)
            if (requested or considered) and route.refuses(data) is None and (requested or route.suits(data)):
                why = "as requested" if requested else route.why
                return Plan(problem, start.steps, start.program, why, route=route, data=data)
    if options.route is not None:
        _refuse_route(options.route, list(starts))
    program = checked_program(problem)
    if isinstance(program, SpecialProgram) and not program.suits_solvers:
        _refuse_all(problem, _routes_for(_Start(program)))
    return None


def _refuse_all(problem: Formulation, known: list[tuple[Route, Any]]) -> NoReturn:
    reasons = {route.name: route.refuses(data) for route, data in known}
    why = "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason)
    on_request = [f"route={name!r}" for name, reason in reasons.items() if not reason]
    left = [*on_request, *(["a form or a solver to let CVXPY try"] if forms_of(problem) else [])]
    remedy = f"; name {' or '.join(left)}" if left else ""
    raise FormUnavailable(f"no route takes this {type(problem).__name__} by default ({why}){remedy}")


def _refuse_route(name: str, starts: list[_Start]) -> NoReturn:
    known = [pair for start in starts for pair in _routes_for(start)]
    reasons = [str(route.refuses(data)) for route, data in known if route.name == name]
    if name in {route.name for route in GENERAL_ROUTES} and not reasons:
        separable = name in {route.name for route in SEPARABLE_ROUTES}
        program = starts[0].origin or starts[0].program
        reasons = [_why_not(program.separable_sdp if separable else program.linear_sdp)]
    if reasons:
        raise FormUnavailable(f"the route {shown(name)} does not take this problem: {'; '.join(reasons)}")
    fitting = [route.name for route, data in known if route.refuses(data) is None]
    raise FormUnavailable(f"there is no route {shown(name)}; for this problem there is {', '.join(fitting) or 'none'}")


def _why_not(read: Callable[[], Any]) -> str:
    try:
        read()
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
    if solver:
        require_cones(solver, program.sizes)
    name, why = (solver, "as requested") if solver else choose_solver(program)
    if not fits(name, program):
        _refuse_memory(problem, start, name, form)
    why = f"{why}; {memory_in_words(name, program)}" if is_worth_telling(name, program) else why
    return Plan(problem, start.steps, program, why, form=form, solver=name)


def _refuse_memory(problem: Formulation, start: _Start, solver: str, form: str) -> NoReturn:
    program, routes = start.program, " or ".join(map(repr, routes_of(problem)))
    ways = [f"route={routes} without solver and form"] if routes else []
    ways += [f"form={DUAL!r}"] if form == problem.about.form and _dual_fits(start, solver) else []
    ways += ["solver='SCS', which factorises no dense block"] if solver != "SCS" else []
    raise InvalidInput(
        f"{solver} would need more memory than this machine has: {memory_in_words(solver, program)}; "
        f"use {', or '.join(ways) or 'fewer points'}",
        "solver",
    )


def _dual_fits(start: _Start, solver: str) -> bool:
    """Whether there is a dual for which a solver has memory."""
    with suppress(ReductionRefused):
        return fits(solver, _dualised(start, only_if_smaller=False, for_any_solver=False).program)
    return False


def _refuse_not_convex(problem: Formulation) -> NoReturn:
    forms, routes = ", ".join(problem.equivalents), ", ".join(routes_of(problem))
    ways = [f"by {kind}: {names}" for kind, names in (("form", forms), ("route", routes)) if names]
    how = f"it can be solved {', or '.join(ways)}" if ways else "declare it convex, or an equivalent that is"
    raise FormUnavailable(f"{problem.called} is not convex, so no CVXPY solver takes it as declared; {how}")


def _refuse_form(problem: Formulation, form: str, refusal: ReductionRefused | None = None) -> NoReturn:
    name = problem.called
    why = f" ({refusal})" if refusal else ""
    route = f"; {form!r} is a route, solve(route={form!r})" if form in routes_of(problem) else ""
    raise FormUnavailable(
        f"{name} has no form {shown(form)}{why}; it has {', '.join(forms_of(problem)) or 'none'}{route}"
    )
