"""Paths: one problem solved for many values of one of its numbers, each solve starting from the answer before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..errors import FormUnavailable, InfeasibleProblem, InvalidInput, InvalidProblem
from ..model.tables import Table
from ..numerics.arguments import as_list, as_text
from ..numerics.checks import as_number, finite_array, real_array
from ..programs.declared import DeclaredProgram
from ..programs.status import Status
from .compiled import Prepared
from .formulation import Formulation
from .options import Options
from .plan import Plan, make_plan
from .solution import Solution, Timings
from .solve import solve

# What a program compiled once can be told; with other options each value is solved by itself.
FOR_COMPILED = {"solver", "accuracy", "solver_options", "verbose", "strict", "random_state"}

# Of a value that is an array, the table shows so many entries.
FEW_ENTRIES = 4


@dataclass(frozen=True)
class _Line:
    name: str
    solution: Solution

    def cells(self) -> tuple[str, ...]:
        certificate, names = self.solution.certificate, ("value", "lower_bound", "upper_bound")
        numbers = [getattr(certificate, name, None) for name in names]
        gap = None if certificate is None else certificate.relative_gap
        shown = ["—" if number is None else f"{number:.8g}" for number in numbers]
        return self.name, str(self.solution.status), *shown, "—" if gap is None else f"{gap:.1e}"


class _Lines(Table[_Line]):
    columns = ("value", "status", "optimum", "lower bound", "upper bound", "relative gap")
    noun = "value"


@dataclass(frozen=True, eq=False)
class SolutionPath(Sequence[Solution]):
    """The certified solutions of a problem for several values of one of its numbers; print it to read them as a table.

    It is a sequence of solutions, in the order of the values. A value for which there is no answer has a solution too,
    whose status and reason say why.

    Attributes
    ----------
    name : str
        The field of the problem, or the parameter of a CVXPY problem, that changes.
    values : array
        One number per solution, or one row per solution for a parameter that is a vector or a matrix.
    solutions : tuple of Solution
    how : str
        How the solves made use of one another, in words.
    """

    name: str
    values: np.ndarray
    solutions: tuple[Solution, ...]
    how: str

    def __len__(self) -> int:
        return len(self.solutions)

    def __getitem__(self, which: Any) -> Any:
        return self.solutions[which]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    @property
    def statuses(self) -> tuple[Status, ...]:
        """How each solve ended."""
        return tuple(solution.status for solution in self.solutions)

    @property
    def optima(self) -> np.ndarray:
        """The objective at each answer; NaN where there is none."""
        return np.array([solution.value for solution in self.solutions])

    @property
    def lower_bounds(self) -> np.ndarray:
        """The certified lower bounds; NaN where there is none."""
        return self._certified("lower_bound")

    @property
    def upper_bounds(self) -> np.ndarray:
        """The certified upper bounds; NaN where there is none."""
        return self._certified("upper_bound")

    def _certified(self, which: str) -> np.ndarray:
        found = [getattr(solution.certificate, which, None) for solution in self.solutions]
        return np.array([np.nan if bound is None else bound for bound in found])

    def cluster(self, n_clusters: int | None = None, random_state: Any = None, **options: Any) -> np.ndarray:
        """Return labels, one row per value and one column per point; −1 in the rows of values without an answer.

        The arguments are those of :meth:`Solution.cluster`.
        """
        labels = [
            solution.cluster(n_clusters, random_state=random_state, **options) if solution.values else None
            for solution in self.solutions
        ]
        found = next((row for row in labels if row is not None), None)
        if found is None:
            raise InvalidInput("no value of the path has an answer to cluster; print the path to see why")
        return np.array([np.full_like(found, -1) if row is None else row for row in labels])

    def __str__(self) -> str:
        problem = self.solutions[0].problem
        lines = _Lines(_Line(_worded(value), s) for value, s in zip(self.values, self.solutions, strict=True))
        return f"{problem.called} for {len(self)} values of {self.name}, {self.how}\n{lines}"

    __repr__ = __str__


def solve_path(problem: Formulation, name: Any, values: Any, options: dict[str, Any]) -> SolutionPath:
    """Solve a problem for several values of a number; see :meth:`cvxlink.Problem.path`."""
    name = as_text(name, "name")
    if "strict" in options:
        raise InvalidInput("path() has no argument 'strict': a value without an answer is a row that says so", "strict")
    told = Options.of(strict=False, **options)
    numbers = [_plain(value, problem, name) for value in as_list(values, "values", "numbers")]
    if not numbers:
        raise InvalidInput.about("values", "must be at least one number")
    if len({np.ndim(number) for number in numbers}) > 1:
        raise InvalidInput.about("values", "must be all numbers, or all arrays")
    problems = [_changed(problem, name, number) for number in numbers]  # all values are checked before any is solved
    walk = _first_walk(problems, name, told)
    solutions = tuple(_solved(walk, one, number) for one, number in zip(problems, numbers, strict=True))
    return SolutionPath(name, np.array(numbers, dtype=float), solutions, walk.how)


def _plain(value: Any, problem: Formulation, name: str) -> Any:
    """Return one value: a number, or an array like the one that the problem has under that name."""
    shape = _shape_of(problem, name)
    if shape and real_array(value, "values").ndim:
        return finite_array(value, "values", shape, because=f"{name} has that shape")
    number = as_number(value, "values")
    return int(number) if isinstance(value, int | np.integer) else number


def _shape_of(problem: Formulation, name: str) -> tuple[int, ...]:
    """Return the shape of an array that a problem has under a name; () for anything else."""
    if name not in problem.changeable:
        return ()
    value = problem.parameter(name) if name in problem.adjustable else getattr(problem, name, None)
    return value.shape if isinstance(value, np.ndarray) else ()


def _worded(value: Any) -> str:
    if np.ndim(value) == 0:
        return f"{value:.6g}"
    entries = [f"{number:.4g}" for number in np.ravel(value)]
    return f"[{', '.join(entries if len(entries) <= FEW_ENTRIES else [*entries[:FEW_ENTRIES], '…'])}]"


def _changed(problem: Formulation, name: str, number: Any) -> Formulation:
    try:
        return problem.changed(**{name: number})
    except InvalidInput as error:
        if name not in problem.changeable:
            raise InvalidInput(str(error), "name") from error
        raise InvalidInput(f"values must fit {name}: {error}", "values") from error


def _solved(walk: _Alone, problem: Formulation, number: Any) -> Solution:
    """Return the solution for a value; one that makes the program not convex has no answer, and says so."""
    try:
        return walk.solved(problem, number)
    except InvalidProblem as error:
        plan = Plan(problem, (), DeclaredProgram(problem), f"this value makes no program to solve: {error}")
        return Solution(problem, Status.ERROR, f"nothing was solved: {error}", plan, Timings())


# ---------------------------------------------------------------------- how one solve helps the next


class _Alone:
    """Each value by itself."""

    how = "each solved by itself"

    def __init__(self, options: Options) -> None:
        self.options = options

    def solved(self, problem: Formulation, number: Any) -> Solution:
        return solve(problem, self.options)


class _FromTheLast(_Alone):
    """A route that starts from the answer before."""

    last: Solution | None = None

    def __init__(self, options: Options, route: str) -> None:
        super().__init__(options)
        self.how = f"each from the answer before it (route {route!r})"

    def solved(self, problem: Formulation, number: Any) -> Solution:
        try:
            solution = solve(problem, replace(self.options, start=self.last))
        except InvalidInput as error:
            if error.argument != "start":
                raise
            solution = solve(problem, self.options)  # another route takes this value, or the answer has too high a rank
        if solution.status.has_answer and solution.values:
            self.last = solution
        return solution


class _Compiled(_Alone):
    """A program compiled once, whose solver may start from its last answer."""

    def __init__(self, options: Options, name: str, prepared: Prepared) -> None:
        super().__init__(options)
        self.name, self.prepared = name, prepared
        self.how = f"compiled once in the form {prepared.plan.form!r} for {prepared.solver}"

    def solved(self, problem: Formulation, number: Any) -> Solution:
        try:
            return self.prepared.solve(strict=False, verbose=self.options.verbose, **{self.name: number})
        except (InfeasibleProblem, InvalidInput):
            # Contradictory, as the reductions found, or not what was compiled; an ordinary solve makes the best of it.
            return solve(problem, self.options)


def _first_walk(problems: list[Formulation], name: str, options: Options) -> _Alone:
    """Return the way to solve them all, according to the first of them that is a convex program; raise if none is."""
    refused = None
    for problem in problems:
        try:
            return _walk_for(problem, name, options)
        except InvalidProblem as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _walk_for(problem: Formulation, name: str, options: Options) -> _Alone:
    try:
        plan = make_plan(problem, options)
    except InfeasibleProblem:
        return _Alone(options)
    if plan.route is not None:
        warm = plan.route.starts_warm and options.start is None
        return _FromTheLast(options, plan.route.name) if warm else _Alone(options)
    unusual = {one.name for one in fields(Options) if getattr(options, one.name) != one.default} - FOR_COMPILED
    if name not in problem.adjustable or unusual:
        return _Alone(options)
    try:
        return _Compiled(options, name, Prepared(problem, options))
    except (InfeasibleProblem, FormUnavailable):
        return _Alone(options)
