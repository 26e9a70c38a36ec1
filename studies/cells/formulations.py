"""Plain CVXPY, and the same solver through cvxlink: what a cell of formulations.toml computes.

The formulations are those of ``tests/contract/formulations``. Both ways start from a fresh problem, take turns in one
process after a warm-up, and are counted by their best of five (of one, if that takes longer than ten seconds). Plain
CVXPY gets the solver that cvxlink chose, with the same tolerances, or CLARABEL where cvxlink needed none.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import cvxpy as cp

import cvxlink as cl
from cvxlink.programs.status import DEFAULT_ACCURACY
from cvxlink.solvers.catalogue import solver_options
from cvxlink.solvers.executables import COMMAND_LINE

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from contract.formulations import attributes, kernels, scores, tight  # noqa: F401  (they fill the list)
from contract.formulations.catalogue import CATALOGUE, Entry

REPEATS = 5
LONG = 10.0
TIME_LIMITS = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}
STAGES = ("reduce", "compile", "solve", "lift", "certify")


def plain(entry: Entry, points: int, solver: str, limit: float) -> tuple[float, str]:
    """Return the seconds that CVXPY takes for the declared program, and its status."""
    options = solver_options(solver, DEFAULT_ACCURACY, None, {})
    if solver in TIME_LIMITS:
        options[TIME_LIMITS[solver]] = limit
    began = time.perf_counter()
    problem = entry.build(points).to_cvxpy()
    try:
        problem.solve(COMMAND_LINE.get(solver, solver), **options)
        status = problem.status
    except cp.SolverError:
        status = "failed"
    return time.perf_counter() - began, status


def ours(entry: Entry, points: int) -> tuple[float, cl.Solution]:
    """Return the seconds of a solve with its certificate, and the solution."""
    began = time.perf_counter()
    solution = entry.build(points).solve(strict=False)
    return time.perf_counter() - began, solution


def measured(formulation: str, size: str, limit: float) -> dict:
    """Return the times of both ways, and what is certified; the size is "small" or "moderate"."""
    warnings.simplefilter("ignore")  # the statuses say it
    entry = CATALOGUE[formulation]
    points = entry.moderate if size == "moderate" else entry.points
    ours(entry, entry.points)  # libraries are loaded
    fastest, slowest, status = float("inf"), float("inf"), ""
    for turn in range(REPEATS):
        seconds, solution = ours(entry, points)
        fastest = min(fastest, seconds)
        solver = solution.plan.solver or "CLARABEL"
        if turn == 0:
            plain(entry, entry.points, solver, limit)
        seconds, status = plain(entry, points, solver, limit)
        slowest = min(slowest, seconds)
        if slowest > LONG or fastest > LONG:
            break
    is_moderate, by_clarabel = points != entry.points, slowest
    if is_moderate and solver != "CLARABEL":
        by_clarabel, _ = plain(entry, points, "CLARABEL", limit)
    certificate = solution.certificate
    return {
        "n": points,
        "solver": solution.plan.solver or f"route {solution.plan.route.name}",
        "plain_seconds": slowest,
        "plain_status": status,
        "plain_clarabel_seconds": by_clarabel,
        "is_moderate": is_moderate,
        "has_hard_links": entry.has_hard_links,
        "ours_seconds": fastest,
        "ratio": fastest / slowest,
        "status": solution.status.name,
        "lower": None if certificate is None else certificate.lower_bound,
        "upper": None if certificate is None else certificate.upper_bound,
        **{f"{stage}_seconds": getattr(solution.timings, stage) for stage in STAGES},
    }
