"""Export programs to files and bring results back: compile and write, later read, lift and certify.

Next to the file of a program is a second file, with ``.lift`` added to its name, that stores the original problem as
JSON and arrays. A result computed anywhere can then be brought back as a :class:`~cvxlink.Solution` of that problem.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

from ..data.files.archive import read_archive, write_archive
from ..data.files.atomic import put_in_place
from ..data.files.contents import require_readable
from ..errors import InfeasibleProblem, InvalidFile, InvalidInput, SolverUnavailable
from ..numerics.arguments import as_instance, as_path, shown
from ..numerics.checks import as_flag
from ..programs.status import DEFAULT_ACCURACY
from ..reductions import Negation
from ..solvers.executables import ELIMINATED, ConeProgramSolver, FileOfCones, unpacked
from ..solvers.files.cbf import write_cbf
from ..solvers.files.cone_program import Eliminated
from ..solvers.files.outcome import Outcome, off_by, outcome_of
from ..solvers.files.sdpa import Result, read_result, write_sdpa
from ..solvers.through_cvxpy import LARGEST_SQUARE, RawResult, interpreted, order_of_quadratic_terms
from .finishing import finished
from .formulation import Formulation
from .options import Options, as_accuracy
from .plan import Plan, make_plan
from .solution import Solution
from .stored_problem import restored, stored

# What CVXPY compiles to for each format; the first holds inequalities and matrices only.
COMPILERS = {".dat-s": ConeProgramSolver, ".cbf": FileOfCones}
WRITERS = {".dat-s": write_sdpa, ".cbf": write_cbf}
# The header of a .lift, and what its entries are; docs/api/files.rst describes the format.
FORMAT, VERSION, HEADER = "cvxlink lift", 1, "header"
KEYS: dict[str, Any] = {
    "digest": str,
    "form": str | None,
    "presolve": bool,
    "problem": dict | None,
}
# What a file says if it minimises the negative of what the problem, or its dual, maximises.
NEGATIVE = "the optimum of the problem is minus the optimum of this file"
PICKLED = b"\x80"  # the first byte of a pickle, which the first versions wrote


def export(
    problem: Formulation, path: Any, form: str | None = None, presolve: bool = True, store_problem: bool = True
) -> Path:
    """Write the program that a solver would get to a file; see :meth:`cvxlink.Problem.export`."""
    path, store_problem, presolve = (
        as_path(path),
        as_flag(store_problem, "store_problem"),
        as_flag(presolve, "presolve"),
    )
    suffix = format_of(path)
    content, arrays = stored(problem) if store_problem else (None, {})
    compiled = _Compiled.of(problem, form, presolve, COMPILERS[suffix])
    header = {
        "format": FORMAT,
        "version": VERSION,
        "digest": compiled.digest,
        "form": form,
        "presolve": bool(presolve),
        "problem": content,
    }
    # Both are complete before either takes its place.
    with put_in_place(path) as program, put_in_place(_lift(path)) as lift:
        assert program is not None and lift is not None
        WRITERS[suffix](compiled.eliminated.program, program, NEGATIVE if compiled.is_negative else "")
        write_archive(lift, arrays, header, HEADER)
    return path


def bring_back(
    program: Any,
    result: Any,
    accuracy: float | None = DEFAULT_ACCURACY,
    strict: bool = True,
    problem: Formulation | None = None,
) -> Solution:
    """Return a result that was computed elsewhere as a lifted and certified solution of its problem.

    Parameters
    ----------
    program : path
        The file that :meth:`cvxlink.Problem.export` wrote. The file next to it, with ``.lift`` added to the name, is
        read; nothing in either is run as code.
    result : path
        In the format of CSDP and DSDP (x in the first line, then lines "matrix block i j value" with X as matrix 1 and
        Y as matrix 2) or in that of SDPA, which also says how the run ended. Whatever a file says, the certificate
        decides: an answer is OPTIMAL only with a bound that proves it, and a program INFEASIBLE or UNBOUNDED only with
        a proof.
    accuracy, strict
        As in :meth:`cvxlink.Problem.solve`.
    problem : Problem, optional
        The problem that was exported. Without it, it is read from the ``.lift``; its class must then be one of
        cvxlink's methods, or be loaded already.
    """
    path, result = as_path(program, "program"), as_path(result, "result")
    accuracy, strict = as_accuracy(accuracy), as_flag(strict, "strict")
    compiler = COMPILERS[format_of(path, "program")]
    if problem is not None:
        as_instance(problem, Formulation, "problem", "the problem that was exported")
    compiled = _compiled_again(_lift(path), problem, compiler)
    if compiled.eliminated.program.others:
        raise InvalidFile(
            f"{path.name} has second-order, exponential or power cones, and no results for these are read; "
            f"export the problem as .dat-s if its form goes into one"
        )
    found = read_result(result, compiled.eliminated.program)
    return compiled.solution(found, result, accuracy, strict)


def _compiled_again(lift: Path, problem: Formulation | None, compiler: type[ConeProgramSolver]) -> _Compiled:
    """Return the program of a stored problem, or of the problem that is given; raise if it is not the exported one."""
    header, arrays = _header_of(lift)
    form, presolve, stored_here = header["form"], header["presolve"], problem is None
    if problem is None:
        if header["problem"] is None:
            raise InvalidFile(f"{lift} was written without its problem; give it: bring_back(…, problem=…)")
        try:
            problem = restored(header["problem"], arrays)
        except InvalidFile as error:
            raise InvalidFile(f"{lift}: {error}") from error
    try:
        compiled = _Compiled.of(problem, form, presolve, compiler)
    except Exception as error:  # what a file makes of a formulation may be nothing it expects
        if not stored_here:
            raise
        words = str(error) or type(error).__name__
        raise InvalidFile(f"{lift}: its problem has no such program: {words}") from error
    if compiled.digest != header["digest"]:
        why = "was exported by another version of cvxlink or CVXPY; export it again"
        raise InvalidFile(f"{lift} {why if stored_here else 'belongs to another problem than the one that is given'}")
    return compiled


def _header_of(lift: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header of a ``.lift``, checked, and its arrays."""
    if not lift.exists():
        raise InvalidFile(f"there is no {lift}, which export() wrote next to the program; keep the two together")
    require_readable(lift)
    if _starts_as_pickle(lift):
        raise InvalidFile(
            f"{lift} was written by an older version of cvxlink, in a format that is no longer read; "
            f"export the problem again"
        )
    arrays, texts = read_archive(lift)
    header = texts.get(HEADER)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InvalidFile(f"{lift} is not the file that export() wrote next to the program")
    if header.get("version") != VERSION:
        found = str(header.get("version"))[:20]
        raise InvalidFile(f"{lift} has the version {found} of its format, but {VERSION} is read; export it again")
    wrong = [name for name, kinds in KEYS.items() if name not in header or not isinstance(header[name], kinds)]
    if wrong:
        raise InvalidFile(f"{lift} is damaged: its {wrong[0]} is missing or of the wrong kind")
    return header, arrays


def _starts_as_pickle(lift: Path) -> bool:
    with lift.open("rb") as file:
        return file.read(1) == PICKLED


def format_of(path: Path, argument: str = "path") -> str:
    """Return the suffix that determines the format of a program."""
    for suffix in WRITERS:
        if path.name.endswith(suffix):
            return suffix
    endings = " or ".join("*" + end for end in WRITERS)
    raise InvalidInput(f"{shown(path.name)}: the name of a program file must be {endings}", argument)


def _lift(path: Path) -> Path:
    return path.with_name(path.name + ".lift")


@dataclass(frozen=True, eq=False)
class _Compiled:
    """A problem as CVXPY compiles it to cones, and the way back."""

    plan: Plan
    declaration: Any
    problem: cp.Problem
    chain: Any
    inverse: Any
    eliminated: Eliminated

    @classmethod
    def of(cls, problem: Formulation, form: str | None, presolve: bool, compiler: type[ConeProgramSolver]) -> _Compiled:
        # Any solver will do, since the program is the same for all.
        plan = make_plan(problem, Options("CLARABEL", form, presolve))
        declaration = plan.program.declaration
        compiled = declaration.to_cvxpy()
        order = 0 if compiler is FileOfCones else order_of_quadratic_terms(compiled)
        if order > LARGEST_SQUARE:
            name = problem.called
            raise SolverUnavailable(
                f"{name} has a quadratic term that would become a dense block of order {order} in a semidefinite "
                f"program (at most {LARGEST_SQUARE}); use fewer points, or write a .cbf, which holds second-order cones"
            )
        try:
            data, chain, inverse = compiled.get_problem_data(solver=compiler())
        except cp.error.SolverError as error:
            raise SolverUnavailable(_cannot_hold(problem, plan, compiler)) from error
        if data[ELIMINATED] is None:
            raise InfeasibleProblem(f"the equations of {problem.called} contradict one another")
        return cls(plan, declaration, compiled, chain, inverse, data[ELIMINATED])

    @property
    def is_negative(self) -> bool:
        """Whether the optimum of the file is the negative of the problem's, as files always minimise."""
        turned = sum(isinstance(step.reduction, Negation) and step.lift is not None for step in self.plan.steps)
        return bool(turned % 2) != isinstance(self.declaration.objective, cp.Maximize)

    @property
    def digest(self) -> str:
        """A fingerprint of the program."""
        program, found = self.eliminated.program, hashlib.sha256()
        for part in (program.c, program.A.indptr, program.A.indices, np.round(program.A.data, 9), program.b.round(9)):
            found.update(np.ascontiguousarray(part).astype(float).tobytes())
        return found.hexdigest()

    def solution(self, result: Result, path: Path, accuracy: float | None, strict: bool) -> Solution:
        """Return what a result says of the problem; raise if it says nothing."""
        program = self.eliminated.program
        outcome = outcome_of(result, program)
        if outcome is None:
            raise InvalidFile(
                f"{path.name} does not fit the program: it is off by {off_by(result, program):.1g}; it is cut short, "
                f"from another program, or from a run that did not finish"
            )
        raw = RawResult(outcome.status, iterations=outcome.iterations, most_iterations=outcome.most_iterations)
        if outcome.status in cp.settings.SOLUTION_PRESENT:
            # The claim is kept in raw; CVXPY would warn about any other status.
            self.problem.unpack_results(unpacked(self.eliminated, cp.OPTIMAL, result, {}), self.chain, self.inverse)
            raw.read_point(self.declaration)
        attempt = replace(interpreted(raw, path.name), reason=_said(path.name, outcome))
        return finished(self.plan, attempt, accuracy, {}, strict=strict)


def _cannot_hold(problem: Formulation, plan: Plan, compiler: type[ConeProgramSolver]) -> str:
    """Return why a format does not hold a program, and which one does."""
    functions = ", ".join(plan.program.sizes.exponential)
    what = f"logarithms or exponentials ({functions})" if functions else "cones of other kinds"
    if compiler is FileOfCones:
        return f"{problem.called} in the form {plan.form!r} has constraints that the Conic Benchmark Format cannot hold"
    return (
        f"{problem.called} in the form {plan.form!r} has {what}, but SDPA's format holds linear inequalities and "
        f"semidefinite matrices only; write a .cbf instead"
    )


def _said(name: str, outcome: Outcome) -> str:
    """Return what a result file says of its run, in words."""
    if outcome.words:
        at_limit = outcome.iterations is not None and outcome.iterations >= outcome.most_iterations
        when = f" after {outcome.iterations} iterations, as many as were allowed" if at_limit else ""
        return f"{name} says {outcome.words!r}{when}"
    kinds = {
        cp.INFEASIBLE: "a direction in which the dual improves without end",
        cp.UNBOUNDED: "a direction in which the objective improves without end",
    }
    return f"{name} holds {kinds.get(outcome.status, 'a point, and does not say how the run ended')}"
