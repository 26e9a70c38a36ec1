"""What there is to know about solvers: how to get them, what they take, their tolerances, when to use which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
from cvxpy.atoms import EXP_ATOMS
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

from ..errors import SolverUnavailable
from ..problem import Problem
from ..reductions.dualisation import DualSDP
from ..structures import Nearness
from .base import interior_tolerance

# Clarabel factorises a dense block of order w as a matrix of order w²/2, SCS only takes eigenvalues of it. Measured
# on PCP: without sparsity Clarabel takes minutes at order 141.
DENSE_LIMIT = 60
# With a row or two besides, SCS needs few iterations. Measured on CSC: 0.2 s against 18 s of Clarabel at order 99.
FEW_ROWS = 3
SMALL_BLOCK = 30


@dataclass(frozen=True)
class SolverNotes:
    """How to get a solver, and how our accuracy is said in its options."""

    get: str
    tolerances: Callable[[float], dict[str, Any]] | None = None
    licence: str = "see its documentation for how to get one"


SOLVERS: dict[str, SolverNotes] = {
    "CLARABEL": SolverNotes(
        "pip install clarabel",
        lambda a: dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), interior_tolerance(a) / 10),
    ),
    # SCS's residuals enter the certified gap multiplied by the order of the matrix.
    "SCS": SolverNotes("pip install scs", lambda a: {"eps_abs": a / 1000, "eps_rel": a / 1000, "max_iters": 100_000}),
    "CVXOPT": SolverNotes(
        "pip install 'cvxlink[solvers]'",
        lambda a: dict.fromkeys(
            ("abstol", "reltol", "feastol"), max(1e-8, interior_tolerance(a))
        ),  # below, it gives up
    ),
    "SDPA": SolverNotes(
        "pip install 'cvxlink[solvers]'",
        lambda a: dict.fromkeys(("epsilonStar", "epsilonDash"), 10 * interior_tolerance(a)),
    ),
    "MOSEK": SolverNotes(
        "pip install 'cvxlink[mosek]', and a licence (free for academics)",
        lambda a: {
            "mosek_params": {
                f"MSK_DPAR_INTPNT_CO_TOL_{which}": interior_tolerance(a) for which in ("PFEAS", "DFEAS", "REL_GAP")
            }
        },
        "academics get one free from mosek.com; put the licence file where MOSEK looks for it, or name it in "
        "MOSEKLM_LICENSE_FILE",
    ),
    "COPT": SolverNotes("pip install coptpy, and a licence"),
}


def takes_semidefinite(name: str) -> bool:
    """Whether CVXPY can hand semidefinite constraints to the solver of that name."""
    interface = SOLVER_MAP_CONIC.get(name)
    # CVXPY has two classes for them, by how the triangle is stored.
    return interface is not None and any("PSD" in cone.__name__ for cone in interface.SUPPORTED_CONSTRAINTS)


def installed_sdp_solvers() -> list[str]:
    """Return the installed solvers that take semidefinite constraints."""
    return [name for name in cp.installed_solvers() if takes_semidefinite(name)]


def capable_solvers(problem: cp.Problem) -> list[str]:
    """Return the installed solvers that take semidefinite constraints, and logarithms where the problem has any."""
    if not any(atom in EXP_ATOMS for atom in problem.atoms()):
        return installed_sdp_solvers()
    return [name for name in installed_sdp_solvers() if _takes_logarithms(name)]


def _takes_logarithms(name: str) -> bool:
    return any("ExpCone" in cone.__name__ for cone in SOLVER_MAP_CONIC[name].SUPPORTED_CONSTRAINTS)


def require_solver(name: str) -> str:
    """Return the solver's name as CVXPY spells it, or say how to get it."""
    key = str(name).upper()
    if key in cp.installed_solvers():
        return key
    here = ", ".join(installed_sdp_solvers())
    if key in SOLVERS or key in SOLVER_MAP_CONIC or key in SOLVER_MAP_QP:
        notes = SOLVERS.get(key)
        how = f"get it with: {notes.get}" if notes else "see CVXPY's list of solvers for how to get it"
        raise SolverUnavailable(f"the solver {key} is not installed; {how}. Installed for these problems: {here}")
    raise SolverUnavailable(f"there is no solver named {name!r}; installed for these problems: {here}")


def require_semidefinite(solver: str) -> None:
    """Raise if CVXPY cannot hand semidefinite constraints to an installed solver."""
    if not takes_semidefinite(solver):
        raise SolverUnavailable(
            f"{solver} cannot take this program: it has a semidefinite constraint; "
            f"installed solvers that can: {', '.join(installed_sdp_solvers())}"
        )


def tolerances(solver: str, accuracy: float | None) -> dict[str, Any]:
    """Return our accuracy in the solver's own options; none where we do not know them."""
    notes = SOLVERS.get(solver)
    if accuracy is None or notes is None or notes.tolerances is None:
        return {}
    return notes.tolerances(accuracy)


def choose_solver(program: Problem) -> tuple[str, str]:
    """Return the fastest suitable installed solver for a program, and why it is."""
    installed = cp.installed_solvers()
    if isinstance(program, DualSDP):
        if "SDPA" in installed:
            return "SDPA", "fastest installed interior-point code for matrix inequalities, sparse or dense"
        clique = program.largest_clique
        if clique <= DENSE_LIMIT:
            return "CLARABEL", f"the slack is sparse (its largest dense block is of order {clique})"
        return (
            "SCS",
            f"the slack is dense (a block of order {clique}), where Clarabel is slow and SDPA is missing",
        )
    order = max(program.sizes.psd, default=0)
    if order > SMALL_BLOCK and 1 <= program.sizes.equations + program.sizes.inequalities <= FEW_ROWS:
        return "SCS", f"a dense block of order {order} and hardly a row: a first-order method needs few iterations"
    if isinstance(program.structure, Nearness):
        order = 2 * program.structure.n  # as CVXPY writes a logarithm of a determinant
    if order <= DENSE_LIMIT:
        return "CLARABEL", "accurate, and fast at this size"
    return "SCS", f"a dense semidefinite block of order {order} is slow for an interior-point code"
