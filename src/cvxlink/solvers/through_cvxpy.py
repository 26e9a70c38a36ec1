"""The CVXPY backend: compile a declared program, run any CVXPY solver, and translate the outcome."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np

from ..errors import SolverUnavailable
from ..model.declared import Declaration
from ..numerics.matrices import as_dense, joined_multipliers
from ..numerics.threads import on_threads
from ..programs.base import Program
from ..programs.status import Status
from ..reductions.cones import is_panic
from .catalogue import SOLVERS, SolverNotes, capable_solvers, takes_squares
from .executables import COMMAND_LINE, ProgramRefused
from .isolation import Ended, Limits, run_isolated
from .licences import remember_refusal
from .route import Attempt, resources_of, without_answer
from .worker import is_task

STATUSES = {
    cp.OPTIMAL: Status.OPTIMAL,
    cp.OPTIMAL_INACCURATE: Status.INACCURATE,
    cp.INFEASIBLE: Status.INFEASIBLE,
    cp.INFEASIBLE_INACCURATE: Status.INFEASIBLE,
    cp.UNBOUNDED: Status.UNBOUNDED,
    cp.UNBOUNDED_INACCURATE: Status.UNBOUNDED,
    "infeasible_or_unbounded": Status.ERROR,
    cp.USER_LIMIT: Status.LIMIT,
    cp.SOLVER_ERROR: Status.ERROR,
}
# If a solver accepts quadratic terms neither directly nor as cones, CVXPY makes a dense semidefinite block of each.
LARGEST_SQUARE = 400
# The number by which SCS says that it was interrupted (SCS_SIGINT in its headers).
SCS_INTERRUPTED = -5


@dataclass
class RawResult:
    """The outcome from CVXPY in plain arrays, so that it can be sent to another process."""

    status: str | None = None
    failure: str | None = None
    failure_module: str = ""
    is_refused: bool = False  # before the solver was started
    values: dict[str, Any] = field(default_factory=dict)
    duals: dict[str, Any] = field(default_factory=dict)
    compile_seconds: float = 0.0
    solve_seconds: float = 0.0
    iterations: int | None = None
    most_iterations: float = float("inf")
    capable: list[str] = field(default_factory=list)

    def read_point(self, declaration: Declaration) -> None:
        """Read the values of variables and multipliers from CVXPY's objects."""
        used = {variable.id for term in (declaration.objective, *declaration.terms) for variable in term.variables()}
        for name, variable in declaration.variables.items():
            self.values[name] = _value(variable) if variable.id in used else _any_value(variable)
        sign = -1.0 if isinstance(declaration.objective, cp.Minimize) else 1.0
        for name, group in declaration.constraints.items():
            found = [_multiplier(term, sign) for term in group]
            if any(dual is None for dual in found):
                continue
            self.duals[name] = joined_multipliers(found)


def call_cvxpy(
    declaration: Declaration,
    solver: str,
    options: Mapping[str, Any],
    verbose: bool,
    compiled: cp.Problem | None = None,
) -> RawResult:
    """Compile and solve, or solve a compiled problem again; a failure is returned as data."""
    problem = declaration.to_cvxpy() if compiled is None else compiled
    raw = RawResult()
    start = perf_counter()
    order = order_of_quadratic_terms(problem)
    if order > LARGEST_SQUARE and not takes_squares(solver):
        words = (
            f"quadratic terms are not supported directly, and one of them would become a dense block of order {order}"
        )
        return RawResult(
            failure=words, is_refused=True, capable=[s for s in capable_solvers(problem) if takes_squares(s)]
        )
    try:
        with warnings.catch_warnings():
            # "Solution may be inaccurate": the certificate says by how much.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            # sdpa-python's own check of its answer warns about small matrices; our certificate replaces it.
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="sdpap")
            warnings.filterwarnings("ignore", message="Python recalculation of primal")
            # CVXPY warns about how it reads its own variables with a sparsity pattern, and how it compiles stacks.
            warnings.filterwarnings("ignore", message="The problem has an expression with dimension greater than 2")
            warnings.filterwarnings("ignore", message="Reading from a sparse CVXPY expression")
            _solve(problem, solver, verbose, options)
    except BaseException as error:  # solvers raise whatever they like: their own errors, ArithmeticError, panics …
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        if isinstance(error, MemoryError) and is_task():
            raise  # a limit, not a failure
        raw.failure = str(error) or type(error).__name__
        raw.failure_module = type(error).__module__
        raw.is_refused = isinstance(error, ProgramRefused)
        raw.capable = capable_solvers(problem)
    raw.compile_seconds = float(problem.compilation_time or 0.0)
    raw.solve_seconds = perf_counter() - start - raw.compile_seconds
    raw.status = problem.status
    if raw.failure is None:
        raw.iterations = getattr(problem.solver_stats, "num_iters", None)
        raw.most_iterations = options.get("max_iters", float("inf"))
        raw.read_point(declaration)
    return raw


def _solve(problem: cp.Problem, solver: str, verbose: bool, options: Mapping[str, Any]) -> None:
    """Let CVXPY solve a problem. SCS notices Ctrl-C itself, so Python does not, and CVXPY takes it for a failure."""
    if solver != "SCS":
        problem.solve(solver=COMMAND_LINE.get(solver, solver), verbose=verbose, **options)
        return
    told = dict(options)
    warm_start = told.pop("warm_start", True)
    data, chain, inverse = problem.get_problem_data(solver, verbose=verbose, solver_opts=told)
    result = chain.solve_via_data(problem, data, warm_start, verbose, told)
    if result["info"]["status_val"] == SCS_INTERRUPTED:
        raise KeyboardInterrupt
    problem.unpack_results(result, chain, inverse)


def order_of_quadratic_terms(problem: cp.Problem) -> int:
    """Return the order of the semidefinite block that CVXPY would make of the largest quadratic term."""
    return 2 + max(map(_largest_square, [problem.objective, *problem.constraints]))


def _largest_square(expression: Any) -> int:
    """Return the number of entries in the largest quadratic term."""
    own = expression.args[0].size if isinstance(expression, (cp.quad_over_lin, cp.Pnorm)) else 0
    return max([own, *map(_largest_square, expression.args)])


def _value(variable: cp.Variable) -> np.ndarray | None:
    """Return the value of a variable as an array; CVXPY keeps that of a diagonal or sparse one in its own ways."""
    value = variable.value if variable.sparse_idx is None else variable.value_sparse
    return None if value is None else np.asarray(as_dense(value))


def _any_value(variable: cp.Variable) -> np.ndarray:
    """Return the value nearest to zero for a variable that occurs nowhere, to which CVXPY gives none."""
    lower, upper = variable.get_bounds()
    return np.clip(np.zeros(variable.shape), as_dense(lower), as_dense(upper))


def _multiplier(term: Any, sign: float) -> Any:
    """Return a multiplier in our convention: for rows, the change of the optimum per unit of u in lhs ≤ rhs + u."""
    dual = term.dual_value
    if dual is None:
        return None
    if isinstance(term, cp.constraints.PSD):
        return (dual + dual.T) / 2
    if isinstance(term, (cp.constraints.Equality, cp.constraints.Inequality, cp.constraints.Zero)):
        return sign * np.atleast_1d(dual)
    return dual


def interpreted(raw: RawResult, solver: str) -> Attempt:
    """Return the outcome as an attempt."""
    seconds: dict[str, Any] = {"compile_seconds": raw.compile_seconds, "solve_seconds": raw.solve_seconds}
    if raw.failure is not None:
        _raise_if_unavailable(raw, solver)
        # CVXPY's own error: the solver ended without an answer, but did not crash.
        gave_up = raw.failure_module.startswith("cvxpy")
        return Attempt(Status.ERROR, f"{solver}: {raw.failure}", gave_up=gave_up, **seconds)
    status = STATUSES.get(str(raw.status), Status.ERROR)
    if status is Status.INACCURATE and raw.iterations is not None and raw.iterations >= raw.most_iterations:
        status = Status.LIMIT  # SCS calls an answer at its iteration limit inaccurate
    complete = bool(raw.values) and all(v is not None and np.isfinite(v).all() for v in raw.values.values())
    if status.has_answer and not complete:
        return Attempt(Status.ERROR, f"{solver} reported {raw.status!r} without an answer", **seconds)
    values = {name: np.asarray(v) for name, v in raw.values.items()} if complete else {}
    return Attempt(
        status,
        f"{solver} reported {raw.status!r}",
        values,
        raw.duals if complete else {},
        iterations=raw.iterations,
        **seconds,
    )


def _raise_if_unavailable(raw: RawResult, solver: str) -> None:
    message = " ".join(str(raw.failure).split()).rstrip(".")
    lowered = message.lower()
    if "license" in lowered or "licence" in lowered:
        how = SOLVERS[solver].get_licence if solver in SOLVERS else SolverNotes.get_licence
        words = f"{solver} is installed but has no valid licence ({message}); {how}"
        remember_refusal(solver, words)
        raise SolverUnavailable(words, needs_licence=True)
    # Nothing but CVXPY's words says that a solver does not support a cone or the like.
    unsupported = raw.failure_module.startswith("cvxpy") and any(
        words in lowered for words in ("could not be reduced", "not supported", "cannot solve")
    )
    if raw.is_refused or unsupported:
        raise SolverUnavailable(f"{solver} cannot take this program ({message}); try one of {', '.join(raw.capable)}")


def run_solver(
    program: Program, solver: str, options: Mapping[str, Any], limits: Limits, isolated: bool, verbose: bool
) -> Attempt:
    """Run a solver on a declared program."""
    start = perf_counter()
    declaration = program.declaration
    declare_seconds = perf_counter() - start
    attempt = run_declaration(declaration, solver, options, limits, isolated, verbose)
    return replace(attempt, compile_seconds=declare_seconds + attempt.compile_seconds)


def run_declaration(
    declaration: Declaration,
    solver: str,
    options: Mapping[str, Any],
    limits: Limits,
    isolated: bool,
    verbose: bool,
    compiled: cp.Problem | None = None,
) -> Attempt:
    """Run a solver on a declaration, which may be compiled already; in another process it is compiled again."""
    arguments = declaration, solver, dict(options), verbose
    if isolated:
        ended = run_isolated(call_cvxpy, arguments, limits, solver, verbose)
    else:
        with on_threads(limits.threads):
            ended = Ended(call_cvxpy(*arguments, compiled))
    attempt = interpreted(ended.answer, solver) if ended.answer is not None else without_answer(ended)
    return replace(attempt, resources=resources_of(ended, limits, isolated))
