"""What is known about solvers: how to install them, what they accept, their options, and when to use which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
from cvxpy.atoms import EXP_ATOMS
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

from ..errors import SolverUnavailable
from ..model.declared import Sizes
from ..numerics.arguments import as_instance, shown
from ..programs.base import Program
from .capacity import fits
from .executables import COMMAND_LINE
from .licences import finds_mosek_licence, require_licence
from .tolerances import Options, Tolerances, first_order, interior

# Clarabel factorises a dense block of order w as a matrix of order w²/2; SCS only needs its eigenvalues. Measured on
# PCP: without sparsity Clarabel takes minutes at order 141.
DENSE_LIMIT = 60
# A semidefinite variable is dense, and rows do not make it less so. Measured on k-means relaxations and Fantopes: both
# are as fast at order 36; at order 47 Clarabel takes ten times as long.
DENSE_VARIABLE = 40
# With only one to three rows, SCS needs few iterations. Measured on CSC at order 99: 0.2 s, Clarabel 18 s.
FEW_ROWS = 3
SMALL_BLOCK = 30
# With more unknowns a solver may take longer than the second that Ctrl-C may take. Measured: Clarabel needs 1.3 s for
# PCP at order 45, which has 1035.
LARGEST_UNINTERRUPTED = 1000


@dataclass(frozen=True)
class SolverNotes:
    """How to install a solver, what it is, and how our accuracy and threads translate into its options.

    ``kind`` is the type of algorithm: if two solvers of different kinds agree, a common mistake is unlikely.
    ``reports`` lists what CVXPY passes on about a run. A solver that ``stalls`` may lose all digits just before it
    reaches a tight tolerance and return nothing; it gets a second try with looser tolerances. A solver that
    ``needs_process`` runs in its own process by default, because its library ends Python on some programs, or prints
    even if it is told not to. One that ``keeps_lock`` lets no other thread of Python run, so that Ctrl-C would have to
    wait for it; it runs there if the program is large. ``finds_licence`` says whether a licence is where the solver
    looks for it; without one, messages do not suggest the solver.
    """

    get: str
    kind: str
    licence: str
    package: str = ""
    tolerances: Tolerances | None = None
    threads: Callable[[int], Options] | None = None
    limits: str = ""
    reports: tuple[str, ...] = ("iterations", "time")
    warm_start: bool = False
    get_licence: str = "see its documentation on how to get one"
    stalls: bool = False
    needs_process: bool = False
    keeps_lock: bool = False
    finds_licence: Callable[[], bool] | None = None


INTERIOR, FIRST_ORDER, ACTIVE_SET = "interior point", "first order", "active set"
BRANCHING = "branch and bound"
EXTRA = "pip install 'cvxlink[solvers]'"
DENSE = "dense semidefinite blocks up to about order 100"
BLOCKS = "semidefinite blocks up to about order 2000"
# Options of two solvers alike.
CLARABELS = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
HIGHSES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")  # HiGHS takes 1e-10 at the least
MOSEKS = tuple(f"MSK_DPAR_INTPNT_CO_TOL_{which}" for which in ("PFEAS", "DFEAS", "REL_GAP"))
# What these take is documented, or safe; not measured here.
LEAST = 1e-9
# Its own 1e-7 is as far as SDPA goes: beyond, it stops with the same answer and says that it is not optimal.
SDPA = interior("epsilonStar", "epsilonDash", share=1e-2, floor=1e-7)


def _program(package: str, kind: str, licence: str, tolerances: Tolerances) -> SolverNotes:
    """Return the notes on a command-line solver from a Debian package."""
    return SolverNotes(
        f"apt install {package}",
        kind,
        licence,
        tolerances=tolerances,
        threads=lambda count: {"threads": count},
        limits=BLOCKS,
    )


SOLVERS: dict[str, SolverNotes] = {
    "CLARABEL": SolverNotes(
        "comes with cvxlink",
        INTERIOR,
        "Apache-2.0",
        "clarabel",
        interior(*CLARABELS),  # with 1e-11 it answers less exactly than with 1e-10
        lambda count: {"max_threads": count},
        DENSE,
        stalls=True,
        keeps_lock=True,
    ),
    "SCS": SolverNotes(
        "comes with cvxlink",
        FIRST_ORDER,
        "MIT",
        "scs",
        first_order("eps_abs", "eps_rel", max_iters=100_000),
        limits="low accuracy",
        warm_start=True,
    ),
    "CVXOPT": SolverNotes(
        EXTRA,
        INTERIOR,
        "GPL-3.0",
        "cvxopt",
        interior("abstol", "reltol", "feastol", share=1e-3, floor=1e-8),  # with 1e-9 it gives up
        limits=DENSE,
        reports=(),
        keeps_lock=True,
    ),
    "SDPA": SolverNotes(
        EXTRA,
        INTERIOR,
        "GPL-2.0",
        "sdpa-python",
        SDPA,
        lambda count: {"numThreads": count},
        BLOCKS,
        reports=(),
        needs_process=True,  # it calls exit() when its numbers overflow
    ),
    "MOREAU": SolverNotes(
        EXTRA,
        INTERIOR,
        "Apache-2.0",
        "moreau",
        interior(*CLARABELS, within="ipm_settings", device="cpu"),
        limits=DENSE,
        warm_start=True,
        stalls=True,
        keeps_lock=True,
    ),
    # With 1e-9, violations are a thousand times as large.
    "CSDP": _program("coinor-csdp", INTERIOR, "EPL-1.0", interior("axtol", "atytol", "objtol", share=1e-3, floor=1e-8)),
    "SDPA-CLI": _program("sdpa", INTERIOR, "GPL-2.0", SDPA),
    # With 1e-9, it is ten times less exact.
    "DSDP": _program("dsdp", "dual scaling", "DSDP licence (MIT-like)", interior("gaptol", share=1e-3, floor=1e-8)),
    "MOSEK": SolverNotes(
        "pip install 'cvxlink[mosek]', and a licence (free for academics)",
        INTERIOR,
        "commercial",
        "mosek",
        interior(*MOSEKS, within="mosek_params"),
        lambda count: {"mosek_params": {"MSK_IPAR_NUM_THREADS": count}},
        get_licence="academics get one for free at mosek.com; put the licence file where MOSEK looks for it, or set "
        "MOSEKLM_LICENSE_FILE to its path",
        finds_licence=finds_mosek_licence,
    ),
    "COPT": SolverNotes(
        "pip install 'cvxlink[copt]'; small problems need no licence",
        INTERIOR,
        "commercial",
        "coptpy",
        interior("BarPrimalTol", "BarDualTol", "BarGapTol"),
        lambda count: {"Threads": count},
        "without a licence, small problems only",
        needs_process=True,  # it prints about its licence
    ),
    "OSQP": SolverNotes(
        "comes with CVXPY",
        FIRST_ORDER,
        "Apache-2.0",
        "osqp",
        first_order("eps_abs", "eps_rel", max_iter=100_000),
        warm_start=True,
    ),
    "HIGHS": SolverNotes("comes with CVXPY", ACTIVE_SET, "MIT", "highspy", interior(*HIGHSES, share=1e-3)),
    "SCIPY": SolverNotes("comes with CVXPY; it calls the HiGHS in SciPy", ACTIVE_SET, "BSD-3-Clause", "scipy"),
    "GLPK": SolverNotes(f"{EXTRA}; it comes with CVXOPT", ACTIVE_SET, "GPL-3.0", reports=()),
    "GLPK_MI": SolverNotes(f"{EXTRA}; it comes with CVXOPT", BRANCHING, "GPL-3.0", reports=()),
    "ECOS": SolverNotes(
        "pip install ecos", INTERIOR, "GPL-3.0", "ecos", interior("abstol", "reltol", "feastol", floor=LEAST)
    ),
    "PIQP": SolverNotes(
        "pip install piqp", INTERIOR, "BSD-2-Clause", "piqp", interior("eps_abs", "eps_rel", floor=LEAST)
    ),
    "PROXQP": SolverNotes(
        "pip install proxsuite", FIRST_ORDER, "BSD-2-Clause", "proxsuite", interior("eps_abs", "eps_rel", floor=LEAST)
    ),
    "QOCO": SolverNotes(
        "pip install qoco", INTERIOR, "BSD-3-Clause", "qoco", interior("abstol", "reltol", floor=LEAST)
    ),
    "GUROBI": SolverNotes(
        "pip install gurobipy; small problems need no licence",
        INTERIOR,
        "commercial",
        "gurobipy",
        interior("BarConvTol", "BarQCPConvTol", "FeasibilityTol", "OptimalityTol", floor=LEAST),
        lambda count: {"Threads": count},
    ),
    # These solved the small problems of the table; they add nothing that the extra does not have.
    "QPALM": SolverNotes(
        "pip install qpalm", FIRST_ORDER, "LGPL-3.0", "qpalm", interior("eps_abs", "eps_rel", floor=LEAST)
    ),
    "DAQP": SolverNotes("pip install daqp", ACTIVE_SET, "MIT", "daqp", interior("primal_tol", "dual_tol", floor=LEAST)),
    "DIFFCP": SolverNotes(
        "pip install diffcp; it calls SCS",
        FIRST_ORDER,
        "Apache-2.0",
        "diffcp",
        first_order("eps_abs", "eps_rel", max_iters=100_000),
        limits="low accuracy",
    ),
    # These have not been tried: most need a licence, a graphics card or Julia. Their notes come from
    # CVXPY's interfaces to them.
    "KNITRO": SolverNotes(
        "pip install knitro, and a licence",
        INTERIOR,
        "commercial",
        "knitro",
        interior("feastol", "opttol", floor=LEAST),
        lambda count: {"threads": count},
        get_licence="set ARTELYS_LICENSE to the file or its folder",
    ),
    "CPLEX": SolverNotes(
        "pip install cplex; small problems need no licence",
        INTERIOR,
        "commercial",
        "cplex",
        threads=lambda count: {"cplex_params": {"threads": count}},
    ),
    "XPRESS": SolverNotes(
        "pip install xpress; small problems need no licence",
        INTERIOR,
        "commercial",
        "xpress",
        threads=lambda count: {"threads": count},
    ),
    "NAG": SolverNotes("pip install naginterfaces from NAG, and a licence", INTERIOR, "commercial", "naginterfaces"),
    "SCIP": SolverNotes("pip install pyscipopt", BRANCHING, "Apache-2.0", "pyscipopt"),
    "ECOS_BB": SolverNotes("pip install ecos", BRANCHING, "GPL-3.0", "ecos", interior("abstol", "reltol", floor=LEAST)),
    "CBC": SolverNotes("pip install cylp, which needs CBC itself", BRANCHING, "EPL-2.0", "cylp"),
    "GLOP": SolverNotes("pip install ortools", ACTIVE_SET, "Apache-2.0", "ortools"),
    "PDLP": SolverNotes("pip install ortools", FIRST_ORDER, "Apache-2.0", "ortools"),
    "MPAX": SolverNotes("pip install mpax, which brings JAX", FIRST_ORDER, "MIT", "mpax"),
    "CUCLARABEL": SolverNotes("Julia, CuPy and an NVIDIA card; see CVXPY's list", INTERIOR, "Apache-2.0"),
    "CUOPT": SolverNotes("an NVIDIA card; see cuOpt's documentation", FIRST_ORDER, "Apache-2.0", "cuopt"),
    "PDCS": SolverNotes("Julia, CuPy and an NVIDIA card; see CVXPY's list", FIRST_ORDER, "see its documentation"),
    "COSMO": SolverNotes(
        "Julia, and COSMO's own interface for Python (the package cosmopy on PyPI is another one, about astronomy)",
        FIRST_ORDER,
        "Apache-2.0",
        tolerances=first_order("eps_abs", "eps_rel", max_iter=100_000),
    ),
}


# ------------------------------------------------------------------ what they take

KINDS = SEMIDEFINITE, LOGARITHMS, QUADRATIC, LINEAR = "semidefinite", "logarithms", "quadratic", "linear"
# COPT 8.0 reports feasible programs with logarithms as infeasible. It can be requested, but is not suggested.
WRONG_ON_LOGARITHMS = ("COPT",)
CONES = {"SOC": "second-order", "PSD": SEMIDEFINITE, "SvecPSD": SEMIDEFINITE, "ExpCone": "exponential"}


def cones_of(name: str) -> tuple[str, ...]:
    """Return the cones, besides linear inequalities, that CVXPY or a file can pass to a solver."""
    if name in COMMAND_LINE:
        return (SEMIDEFINITE,)
    interface = SOLVER_MAP_CONIC.get(name)
    supported = [] if interface is None else [cone.__name__ for cone in interface.SUPPORTED_CONSTRAINTS]
    return tuple(dict.fromkeys(CONES[cone] for cone in supported if cone in CONES))


def kinds_of(name: str) -> tuple[str, ...]:
    """Return the kinds of programs that a solver accepts; linear ones are accepted by all.

    Quadratic programs may be passed as such, as second-order cones or as semidefinite ones.
    """
    cones = cones_of(name)
    kinds = [SEMIDEFINITE] if SEMIDEFINITE in cones else []
    if {SEMIDEFINITE, "exponential"} <= set(cones):
        kinds.append(LOGARITHMS)
    if name in SOLVER_MAP_QP or cones:
        kinds.append(QUADRATIC)
    return (*kinds, LINEAR)


def known_solvers() -> list[str]:
    """Return all solvers that CVXPY or a file reaches, installed or not; those with notes come first.

    CVXPY's solvers for nonlinear programs, such as IPOPT, take its convex problems only as if they were not convex.
    """
    return [*SOLVERS, *sorted({*SOLVER_MAP_CONIC, *SOLVER_MAP_QP} - set(SOLVERS))]


def installed_solvers() -> list[str]:
    """Return the installed ones among them, in the same order."""
    here = {*cp.installed_solvers(), *(name for name, solver in COMMAND_LINE.items() if solver.path)}
    return [name for name in known_solvers() if name in here]


def is_executable(name: str) -> bool:
    """Whether a solver is a program of its own, which runs in its own process anyway."""
    return name in COMMAND_LINE


def needs_process(name: str, unknowns: int = 0) -> bool:
    """Whether a solver runs a program of this size in its own process unless something else is asked for."""
    notes = SOLVERS.get(name)
    by_size = notes is not None and notes.keeps_lock and unknowns > LARGEST_UNINTERRUPTED
    return is_executable(name) or by_size or (notes is not None and notes.needs_process)


def takes_semidefinite(name: str) -> bool:
    """Whether a solver accepts semidefinite constraints."""
    return SEMIDEFINITE in cones_of(name)


def takes_squares(name: str) -> bool:
    """Whether a solver accepts quadratic terms other than as semidefinite blocks."""
    return "second-order" in cones_of(name) or name in SOLVER_MAP_QP


def installed_sdp_solvers() -> list[str]:
    """Return the installed solvers that accept semidefinite constraints."""
    return [name for name in installed_solvers() if takes_semidefinite(name)]


def suggested(names: Iterable[str]) -> list[str]:
    """Return those of some solvers that a message can suggest: not those that are known to have no licence here."""
    licences = {name: notes.finds_licence for name, notes in SOLVERS.items() if notes.finds_licence is not None}
    return [name for name in names if name not in licences or licences[name]()]


def capable_solvers(problem: cp.Problem) -> list[str]:
    """Return the solvers to suggest that accept semidefinite constraints, and logarithms if the problem has any."""
    able = suggested(installed_sdp_solvers())
    if not any(atom in EXP_ATOMS for atom in problem.atoms()):
        return able
    return [name for name in able if LOGARITHMS in kinds_of(name) and name not in WRONG_ON_LOGARITHMS]


def require_solver(name: str) -> str:
    """Return the correctly spelt name of a solver, or raise with advice on how to install it."""
    as_instance(name, str, "solver", "the name of a solver")
    key = name.upper()
    if key in cp.installed_solvers():
        require_licence(key)
        return key
    if key in COMMAND_LINE and COMMAND_LINE[key].path:
        return key
    here = ", ".join(suggested(installed_sdp_solvers()))
    if key in SOLVERS or key in SOLVER_MAP_CONIC or key in SOLVER_MAP_QP:
        notes = SOLVERS.get(key)
        how = f"get it with: {notes.get}" if notes else "see CVXPY's list of solvers on how to install it"
        raise SolverUnavailable(f"the solver {key} is not installed; {how}. Installed for these problems: {here}")
    raise SolverUnavailable(f"there is no solver named {shown(name)}; installed for these problems: {here}")


def require_cones(solver: str, sizes: Sizes) -> None:
    """Raise if an installed solver does not accept the cones of a program, declared or hidden in its functions."""
    cones, needed = set(cones_of(solver)), dict[str, str]()
    if sizes.psd:
        needed[SEMIDEFINITE] = "a semidefinite constraint"
    elif sizes.hidden_psd:
        needed[SEMIDEFINITE] = f"a function that becomes a semidefinite block of order {max(sizes.hidden_psd)}"
    if sizes.exponential:
        needed["exponential"] = f"logarithms or exponentials ({', '.join(sizes.exponential)})"
    if set(needed) <= cones:
        return
    able = suggested(name for name in installed_solvers() if set(needed) <= set(cones_of(name)))
    if "exponential" in needed:
        able = [name for name in able if name not in WRONG_ON_LOGARITHMS]
    raise SolverUnavailable(
        f"{solver} cannot take this program, which has {' and '.join(needed[kind] for kind in needed)}; "
        f"installed solvers that can: {', '.join(able) or 'none'}"
    )


def solver_options(
    solver: str, accuracy: float | None, threads: int | None, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the given options together with our accuracy and threads, translated where we know how."""
    notes, options = SOLVERS.get(solver), Options()
    parts = [given]
    if notes is not None and threads is not None and notes.threads is not None:
        parts.insert(0, notes.threads(threads))
    if notes is not None and accuracy is not None and notes.tolerances is not None:
        parts.insert(0, notes.tolerances.options(accuracy))
    for part in parts:
        for name, value in part.items():
            inner = options.get(name)
            options[name] = {**inner, **value} if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return options


def tolerances_asked(solver: str | None, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the tolerances that a solver was asked for, by the names of its options; none if it keeps its own."""
    notes = SOLVERS.get(solver or "")
    return {} if notes is None or notes.tolerances is None else notes.tolerances.asked(options)


def words_on_floor(solver: str, accuracy: float | None) -> str:
    """Return what to say where an accuracy asks for more than a solver's tolerances can; empty if it does not."""
    notes = SOLVERS.get(solver)
    if accuracy is None or notes is None:
        return ""
    if notes.tolerances is None:
        return f"an accuracy of {accuracy:g} does not change the tolerances of {solver}, which keeps its own"
    if accuracy >= notes.tolerances.finest:
        return ""
    return (
        f"an accuracy of {accuracy:g} is asked for, but its tolerances stay at {notes.tolerances.floor:g}, as for "
        f"an accuracy of {notes.tolerances.finest:g}: with smaller ones {solver} gives up or gets no nearer"
    )


def choose_solver(program: Program) -> tuple[str, str]:
    """Return the fastest suitable installed solver for a program, and the reason."""
    # CVXPY finds out what is installed by importing it, so that comes after what is known at once.
    if program.suits_sdp_codes and "SDPA" in cp.installed_solvers() and fits("SDPA", program):
        return "SDPA", "the fastest installed interior-point code for matrix inequalities, sparse or dense"
    clique = program.largest_clique
    if clique is not None:
        if clique <= DENSE_LIMIT:
            return "CLARABEL", f"the slack is sparse (its largest dense block has order {clique})"
        return (
            "SCS",
            f"the slack is dense (a block of order {clique}), so Clarabel would be slow, and SDPA is not installed",
        )
    sizes = program.sizes
    order = max((*sizes.psd, *sizes.hidden_psd), default=0)
    if order > SMALL_BLOCK and 1 <= sizes.equations + sizes.inequalities <= FEW_ROWS:
        return (
            "SCS",
            f"a dense block of order {order} and few rows, for which a first-order method needs few iterations",
        )
    if max(sizes.psd, default=0) <= DENSE_VARIABLE and order <= DENSE_LIMIT:
        return "CLARABEL", "accurate, and fast at this size"
    return "SCS", f"a dense semidefinite block of order {order} would be slow for an interior-point code"
