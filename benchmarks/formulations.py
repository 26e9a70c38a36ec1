"""Formulations that are in no paper: plain CVXPY, and the same solver through cvxlink, certificate included.

    python benchmarks/formulations.py                     # small sizes, about a minute
    python benchmarks/formulations.py --moderate          # also 60 to 100 points, ten minutes
    python benchmarks/formulations.py --only KMeansRelaxation SignedCut --moderate
    python benchmarks/formulations.py --moderate --save docs/results/formulations.md

The formulations are those of ``tests/contract/formulations``. Both ways start from a fresh problem, take turns in one
process after a warm-up, and are counted by their best of five (of one, if that takes longer than ten seconds). Plain
CVXPY gets the solver that cvxlink chose, with the same tolerances, or CLARABEL where cvxlink needed none.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from pathlib import Path

import cvxpy as cp

import cvxlink as cl
from cvxlink.programs.status import DEFAULT_ACCURACY
from cvxlink.solvers.catalogue import solver_options
from cvxlink.solvers.executables import COMMAND_LINE
from resumable import Cells, table, write_report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from contract.formulations import attributes, kernels, scores, tight  # noqa: F401  (they fill the list)
from contract.formulations.catalogue import CATALOGUE, Entry

REPEATS = 5
LONG = 10.0
TIME_LIMITS = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}
HEAD_MODERATE = (
    "formulation",
    "n",
    "hard links",
    "solver",
    "ours s",
    "plain s (its status)",
    "times faster",
    "plain Clarabel s",
    "times faster",
    "status",
    "lower",
    "upper",
)
HEAD = ("formulation", "n", "solver", "plain s", "ours s", "ratio", "status", "lower", "upper", "most time in")


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


def measured(name: str, points: int, limit: float, repeats: int) -> dict:
    """Return the times of both ways, and what is certified."""
    entry = CATALOGUE[name]
    ours(entry, entry.points)  # libraries are loaded
    fastest, slowest, status = float("inf"), float("inf"), ""
    for turn in range(repeats):
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
    stages = {stage: getattr(solution.timings, stage) for stage in ("reduce", "compile", "solve", "lift", "certify")}
    certificate = solution.certificate
    return {
        "formulation": name,
        "n": points,
        "solver": solution.plan.solver or f"route {solution.plan.route.name}",
        "plain_seconds": slowest,
        "plain_status": status,
        "plain_clarabel_seconds": by_clarabel,
        "is_moderate": is_moderate,
        "has_hard_links": entry.has_hard_links,
        "seconds": fastest,
        "ratio": fastest / slowest,
        "status": solution.status.name,
        "lower": None if certificate is None else certificate.lower_bound,
        "upper": None if certificate is None else certificate.upper_bound,
        "stages": stages,
    }


def row(cell: dict) -> list[str]:
    """Return a measured cell as it is printed."""
    longest = max(cell["stages"], key=cell["stages"].get)
    stage = f"{longest} {cell['stages'][longest]:.3f}" if cell["ratio"] > 1 else ""
    bounds = ["" if cell[side] is None else f"{cell[side]:.6g}" for side in ("lower", "upper")]
    head = [cell["formulation"], str(cell["n"]), cell["solver"], f"{cell['plain_seconds']:.3f}"]
    return [*head, f"{cell['seconds']:.3f}", f"{cell['ratio']:.2g}", cell["status"], *bounds, stage]


def report(cells: list[dict]) -> str:
    """Return the page."""
    small, moderate = ([c for c in cells if c["is_moderate"] == which] for which in (False, True))
    ratios = [cell["ratio"] for cell in small]
    text = f"""# Formulations that are in no paper, beside plain CVXPY

Made by `python benchmarks/formulations.py --moderate --limit 100 --save docs/results/formulations.md` on two cores,
with one thread for linear algebra.

plain s: CVXPY and the same solver, with the same tolerances. ours s: reading, reducing, solving, the certificate and
an exactly feasible point. Both are the best of {REPEATS} turns in one process.

## {len(small)} small programs

Ratios: median {statistics.median(ratios):.1f}, at most 2 for {sum(r <= 2 for r in ratios)} of {len(ratios)}.

{table(HEAD, map(row, small))}
"""
    if moderate:
        text += f"""
## 60 to 100 points

{table(HEAD_MODERATE, map(moderate_row, moderate))}
"""
    return text


def moderate_row(cell: dict) -> list[str]:
    """Return a cell of moderate size as it is printed: beside plain CVXPY with the same solver, and with Clarabel."""
    clarabel = cell["plain_clarabel_seconds"]
    links = "yes" if cell["has_hard_links"] else ""
    faster = [f"{seconds / cell['seconds']:.2g}" for seconds in (cell["plain_seconds"], clarabel)]
    bounds = ["" if cell[side] is None else f"{cell[side]:.6g}" for side in ("lower", "upper")]
    head = [cell["formulation"], str(cell["n"]), links, cell["solver"], f"{cell['seconds']:.2f}"]
    plain_words = f"{cell['plain_seconds']:.2f} ({cell['plain_status']})"
    return [*head, plain_words, faster[0], f"{clarabel:.2f}", faster[1], cell["status"], *bounds]


def main() -> None:
    """Measure what was not measured yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moderate", action="store_true", help="also at a moderate size")
    parser.add_argument("--only", nargs="+", default=list(CATALOGUE), choices=list(CATALOGUE), metavar="NAME")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each solve")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--cells", type=Path, default=Path("formulations.jsonl"), help="finished cells, as JSON lines")
    parser.add_argument("--save", type=Path, help="the page to write")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # the statuses say it
    cells = Cells(asked.cells, {"limit": asked.limit, "repeats": asked.repeats}, ("formulation", "n"))
    done = []
    for name in asked.only:
        entry = CATALOGUE[name]
        sizes = [entry.points, entry.moderate] if asked.moderate and entry.moderate else [entry.points]
        for points in sizes:
            if (name, points) not in cells.done:
                cells.add(measured(name, points, asked.limit, asked.repeats))
            done.append(cells.done[name, points])
            print(*row(done[-1]), flush=True)
    print("\n" + table(HEAD, map(row, done)))
    if asked.save:
        write_report(asked.save, report(done))


if __name__ == "__main__":
    main()
