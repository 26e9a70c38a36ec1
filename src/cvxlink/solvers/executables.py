"""External solvers that are separate executables: CSDP, SDPA and DSDP, through files in SDPA's sparse format.

To CVXPY each looks like any other solver for linear and semidefinite constraints; CVXPY rewrites everything else, such
as second-order cones, in terms of these.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from cvxpy import settings
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, Zero
from cvxpy.error import SolverError
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from ..errors import CvxlinkError
from .files.cone_program import ConeProgram, Eliminated, OtherCone, without_equations
from .files.outcome import Outcome, outcome_in
from .files.sdpa import Result, read_result, write_sdpa
from .isolation import available_threads
from .processes import run_executable, signal_name

ELIMINATED = "eliminated"
# CVXPY's exponential cone is z ≥ y exp(x/y); files have z first.
EXPONENTIAL_ORDER = [2, 1, 0]
# A dense matrix of this order takes 130 MB, and these solvers hold a dozen of them.
LARGEST_ORDER = 4000
# How long to wait for an executable to print its version when it is called without arguments.
VERSION_SECONDS = 5.0


class ProgramRefused(SolverError):
    """A program that a solver cannot take, known before it is started."""


class ConeProgramSolver(ConicSolver):
    """What CVXPY's compiler needs to know to produce a :class:`ConeProgram`."""

    MIP_CAPABLE = False
    SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, PSD]

    def name(self) -> str:
        """Return the name CVXPY shows."""
        return "CONE PROGRAM"

    def import_solver(self) -> None:
        """There is nothing to import."""

    def cite(self, data: Any) -> str:
        """There is nothing to cite."""
        return ""

    def apply(self, problem: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the program without its equations, and the data for the way back."""
        if not problem.formatted:
            problem = self.format_constraints(problem, EXPONENTIAL_ORDER)
        dims, groups = problem.cone_dims, problem.constr_map
        c, d, A, b = problem.apply_parameters()
        A, b = sp.csr_array(A), np.ravel(b)
        zero, linear, orders = int(dims.zero), int(dims.nonneg), tuple(int(order) for order in dims.psd)
        if max(orders, default=0) > LARGEST_ORDER:
            words = f"a semidefinite block of order {max(orders)} is not supported (at most {LARGEST_ORDER})"
            raise ProgramRefused(words)
        others = _other_cones(dims)
        rows = zero + _matrices_first(linear, sum(map(int, dims.soc)), sum(order**2 for order in orders), len(b) - zero)
        symmetric = _symmetriser(linear, orders, sum(cone.size for cone in others))
        cones, side = sp.csr_array(symmetric @ A[rows]), symmetric @ b[rows]
        eliminated = without_equations(np.ravel(c), A[:zero], b[:zero], cones, side, linear, orders, float(d), others)
        data = {settings.PARAM_PROB: problem, self.DIMS: dims, ELIMINATED: eliminated}
        back = {
            self.VAR_ID: problem.x.id,
            self.EQ_CONSTR: groups[Zero],
            self.NEQ_CONSTR: groups[NonNeg] + groups[PSD],
            settings.OFFSET: d,
        }
        return data, back

    def solve_via_data(
        self, data: dict[str, Any], warm_start: bool, verbose: bool, solver_opts: dict, solver_cache: Any = None
    ) -> dict[str, Any]:
        """Refuse, since this class only compiles."""
        raise NotImplementedError


def unpacked(eliminated: Eliminated, status: str, result: Result, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result of the cone program in CVXPY's format."""
    x = eliminated.variables(result.x)
    return {
        settings.STATUS: status,
        settings.VALUE: float(eliminated.c @ x),
        settings.PRIMAL: x,
        settings.EQ_DUAL: eliminated.multipliers(result.Z),
        settings.INEQ_DUAL: result.Z,
        settings.EXTRA_STATS: dict(attributes),
    }


class FileOfCones(ConeProgramSolver):
    """The same for files that can hold second-order, exponential and power cones."""

    SUPPORTED_CONSTRAINTS = [*ConeProgramSolver.SUPPORTED_CONSTRAINTS, SOC, ExpCone, PowCone3D]


def _other_cones(dims: Any) -> tuple[OtherCone, ...]:
    """Return the cones that are neither inequalities nor matrices."""
    quadratic = (OtherCone("Q", int(size)) for size in dims.soc)
    return (*quadratic, *[OtherCone("EXP")] * int(dims.exp), *(OtherCone("POW", 3, float(a)) for a in dims.p3d))


def _matrices_first(linear: int, quadratic: int, matrices: int, total: int) -> np.ndarray:
    """Return the rows with the matrices before the other cones; CVXPY has second-order cones before them."""
    rows = np.arange(total)
    ends = np.cumsum([linear, quadratic, matrices])
    return np.concatenate([rows[: ends[0]], rows[ends[1] : ends[2]], rows[ends[0] : ends[1]], rows[ends[2] :]])


def _symmetriser(linear: int, orders: tuple[int, ...], others: int = 0) -> sp.csr_array:
    """Return the matrix that averages the triangles of the symmetric matrices, and leaves all else as it is."""
    parts = [sp.eye_array(linear)]
    for n in orders:
        across = np.arange(n * n).reshape(n, n).T.ravel()
        swapped = sp.csr_array((np.ones(n * n), (np.arange(n * n), across)), shape=(n * n, n * n))
        parts.append((sp.eye_array(n * n) + swapped) / 2)
    parts.append(sp.eye_array(others))
    return sp.csr_array(sp.block_diag(parts, format="csr"))


class CommandLineSolver(ConeProgramSolver):
    """A solver on the PATH that reads SDPA's sparse format."""

    title = ""
    program = ""
    OPTIONS: Collection[str] = ()

    @property
    def path(self) -> str | None:
        """The path of the executable; None if it is not installed."""
        return shutil.which(self.program)

    def name(self) -> str:
        """Return the name."""
        return self.title

    def import_solver(self) -> None:
        """Raise if the executable is missing, as CVXPY expects."""
        if self.path is None:
            raise ImportError(f"{self.program} is not on the PATH")

    def command(self, folder: Path, options: dict[str, Any]) -> list[str]:
        """Write the files it needs besides the program into the folder, and return the command line."""
        raise NotImplementedError

    def version(self) -> str:
        """Return the version that the executable prints, or an empty string."""
        try:
            _, printed = run_executable([str(self.path)], seconds=VERSION_SECONDS)
        except CvxlinkError:
            return ""
        found = re.search(r"(?:CSDP|SDPA|DSDP)\D{0,60}?(\d+\.\d+(?:\.\d+)?)", printed)
        return found[1] if found else ""

    def outcome(self, code: int, printed: str, folder: Path) -> Outcome:
        """Read how it ended."""
        raise NotImplementedError

    def solve_via_data(
        self, data: dict[str, Any], warm_start: bool, verbose: bool, solver_opts: dict, solver_cache: Any = None
    ) -> dict[str, Any]:
        """Write the program, run the solver, read the result."""
        eliminated: Eliminated | None = data[ELIMINATED]
        if eliminated is None:
            return {settings.STATUS: settings.INFEASIBLE}
        start = perf_counter()
        status, result, iterations = self._solved(eliminated.program, dict(solver_opts), verbose)
        if result is None:
            return {settings.STATUS: status}
        attributes = {settings.SOLVE_TIME: perf_counter() - start, settings.NUM_ITERS: iterations}
        return unpacked(eliminated, status, result, attributes)

    def invert(self, solution: dict[str, Any], inverse_data: dict[str, Any]) -> Any:
        """Return CVXPY's solution, with the number of iterations."""
        found = super().invert(solution, inverse_data)
        found.attr.update(solution.get(settings.EXTRA_STATS, {}))
        return found

    def _solved(
        self, program: ConeProgram, options: dict[str, Any], verbose: bool
    ) -> tuple[str, Result | None, int | None]:
        # A variable in no cone must have no cost; otherwise there is no optimum.
        mentioned = np.flatnonzero(np.diff(program.A.tocsc().indptr))
        idle = np.setdiff1d(np.arange(len(program.c)), mentioned)
        if np.any(program.c[idle]):
            return settings.UNBOUNDED, None, None
        if not len(mentioned):
            return _constant(program)
        smaller = ConeProgram(
            program.c[mentioned], sp.csr_array(program.A[:, mentioned]), program.b, program.linear, program.orders
        )
        outcome, found = self._run(smaller, options, verbose)
        if found is None:
            return outcome.status, None, outcome.iterations
        x = np.zeros(len(program.c))
        x[mentioned] = found.x
        return outcome.status, Result(x, found.Z), outcome.iterations

    def _run(self, program: ConeProgram, options: dict[str, Any], verbose: bool) -> tuple[Outcome, Result | None]:
        try:
            with TemporaryDirectory(prefix="cvxlink-", ignore_cleanup_errors=True) as name:
                return self._run_in(Path(name), program, options, verbose)
        except OSError as error:
            raise CvxlinkError(
                f"the files of {self.program} cannot be written or read: {error.strerror or error}; let TMPDIR name a "
                "folder with enough space"
            ) from error

    def _run_in(
        self, folder: Path, program: ConeProgram, options: dict[str, Any], verbose: bool
    ) -> tuple[Outcome, Result | None]:
        write_sdpa(program, folder / "program.dat-s")
        threads = options.pop("threads", None) or os.environ.get("OMP_NUM_THREADS") or available_threads()
        unknown = sorted(set(options) - set(self.OPTIONS))
        if unknown:
            raise CvxlinkError(f"{self.title} has no option {unknown[0]!r}; it has {', '.join(self.OPTIONS)}")
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        code, printed = run_executable(self.command(folder, options), folder, environment)
        if verbose:
            print(printed)
        if code < 0:
            raise CvxlinkError(f"{self.program} was ended by signal {signal_name(-code)}")
        outcome = self.outcome(code, printed, folder)
        if outcome.status not in settings.SOLUTION_PRESENT:
            if outcome.status == settings.SOLVER_ERROR:
                raise CvxlinkError(f"it ended with the message: {outcome.words}")
            return outcome, None
        if not (folder / "result").is_file():
            raise CvxlinkError(f"{self.program} ended without writing a result")
        return outcome, read_result(folder / "result", program)


def _constant(program: ConeProgram) -> tuple[str, Result | None, int | None]:
    """Decide on a program whose equations leave nothing free."""
    least = program.b[: program.linear].min(initial=0.0)
    for k, order in enumerate(program.orders):
        block = program.b[program.starts[k] : program.starts[k] + order**2].reshape(order, order)
        least = min(least, float(np.linalg.eigvalsh(block)[0]))
    if least < -1e-9 * (1 + abs(program.b).max(initial=0.0)):
        return settings.INFEASIBLE, None, None
    return settings.OPTIMAL, Result(np.zeros(len(program.c)), np.zeros(len(program.b))), 0


class CSDP(CommandLineSolver):
    """CSDP, by Brian Borchers: the solver used in the papers."""

    title, program = "CSDP", "csdp"
    OPTIONS = {
        "axtol": 1e-8,
        "atytol": 1e-8,
        "objtol": 1e-8,
        "pinftol": 1e8,
        "dinftol": 1e8,
        "maxiter": 100,
        "minstepfrac": 0.90,
        "maxstepfrac": 0.97,
        "minstepp": 1e-8,
        "minstepd": 1e-8,
        "usexzgap": 1,
        "tweakgap": 0,
        "affine": 0,
        "printlevel": 1,
        "perturbobj": 1,
        "fastmode": 0,
    }
    # Its primal is the dual of the program in the file.
    CODES = {
        0: settings.OPTIMAL,
        1: settings.UNBOUNDED,
        2: settings.INFEASIBLE,
        3: settings.OPTIMAL_INACCURATE,
        4: settings.USER_LIMIT,
        5: settings.OPTIMAL_INACCURATE,
        6: settings.OPTIMAL_INACCURATE,
        7: settings.OPTIMAL_INACCURATE,
    }

    def command(self, folder: Path, options: dict[str, Any]) -> list[str]:
        """Return ``csdp program result``; the options are in the file param.csdp in the same folder."""
        lines = (f"{key}={value}\n" for key, value in {**self.OPTIONS, **options}.items())
        (folder / "param.csdp").write_text("".join(lines), encoding="ascii")
        return [str(self.path), "program.dat-s", "result"]

    def outcome(self, code: int, printed: str, folder: Path) -> Outcome:
        """Read the exit code."""
        steps = re.findall(r"^Iter:\s*(\d+)", printed, flags=re.MULTILINE)
        words = next((line for line in printed.splitlines() if line.startswith(("Success", "Failure", "Partial"))), "")
        status, count = self.CODES.get(code, settings.SOLVER_ERROR), int(steps[-1]) if steps else None
        return Outcome(status, words or _last_line(printed, code), count)


class DSDP(CommandLineSolver):
    """DSDP, by Steven Benson and Yinyu Ye: a dual-scaling method."""

    title, program = "DSDP", "dsdp5"
    OPTIONS = ("gaptol", "r0", "penalty", "boundy", "maxit", "zbar", "mu0", "rho", "drho", "pnormtol", "reuse", "bigM")

    def command(self, folder: Path, options: dict[str, Any]) -> list[str]:
        """Return ``dsdp5 program -save result`` and the options."""
        words = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        return [str(self.path), "program.dat-s", "-save", "result", *words]

    def outcome(self, code: int, printed: str, folder: Path) -> Outcome:
        """Read what it prints; it always ends with code 0."""
        steps = re.findall(r"^(\d+) +[-+]?\d\.\d+e", printed, flags=re.MULTILINE)
        iterations = int(steps[-1]) if steps else None
        said = printed.lower()
        for words, status in (
            ("primal unbounded, dual infeasible", settings.INFEASIBLE),  # its dual is the program in the file
            ("dual unbounded, primal infeasible", settings.UNBOUNDED),
            ("dsdp converged", settings.OPTIMAL),
            ("dsdp terminated due to maximum iterations", settings.USER_LIMIT),
            ("dsdp terminated", settings.OPTIMAL_INACCURATE),
        ):
            if words in said:
                return Outcome(status, words, iterations)
        return Outcome(settings.SOLVER_ERROR, _last_line(printed, code), iterations)


class SDPACommand(CommandLineSolver):
    """SDPA, by Kojima, Fujisawa and others, as an executable."""

    title, program = "SDPA-CLI", "sdpa"
    OPTIONS = {
        "maxIteration": 200,
        "epsilonStar": 1e-7,
        "lambdaStar": 1e2,
        "omegaStar": 2.0,
        "lowerBound": -1e5,
        "upperBound": 1e5,
        "betaStar": 0.1,
        "betaBar": 0.2,
        "gammaStar": 0.9,
        "epsilonDash": 1e-7,
    }

    def command(self, folder: Path, options: dict[str, Any]) -> list[str]:
        """Return ``sdpa -ds program -o result -p options``."""
        lines = [f"{value}\t{name};" for name, value in {**self.OPTIONS, **options}.items()]
        lines += [f"%+.17e\t{kind}Print;" for kind in ("x", "X", "Y", "inf")]
        (folder / "param.sdpa").write_text("\n".join([*lines, ""]), encoding="ascii")
        return [str(self.path), "-ds", "program.dat-s", "-o", "result", "-p", "param.sdpa"]

    def outcome(self, code: int, printed: str, folder: Path) -> Outcome:
        """Read the phase it ended in."""
        path = folder / "result"
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else printed
        return outcome_in(text) or Outcome(settings.SOLVER_ERROR, _last_line(printed, code))


def _last_line(printed: str, code: int) -> str:
    *_, last = ["", *printed.strip().splitlines()]
    return last or f"exit code {code}"


COMMAND_LINE: dict[str, CommandLineSolver] = {solver.title: solver for solver in (CSDP(), SDPACommand(), DSDP())}
