"""PCP with and without the reductions: the same instances, the same solvers, one run, as ratios.

The unreduced program is what a user types into CVXPY from the paper. Each cell runs in a child process with a time
limit; a cell that was stopped counts with the limit, so its ratio is a lower bound and is marked ">". The solver's
tolerances are the same in both columns (``accuracy=1e-4``, translated), unless --own-tolerances leaves them alone.

    python benchmarks/pcp_forms.py                        # all of it, up to 600 s per cell
    python benchmarks/pcp_forms.py --time-limit 20        # a quick look
    python benchmarks/pcp_forms.py --save docs/results/pcp_forms.md
"""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import version
from pathlib import Path

import cvxlink as cl
from pages import bold_least, table, write_report

INSTANCES = {
    "iris75": "Every second point of Iris, 3 links per class and pair of classes",
    "iris": "Iris, 3 links per class and pair of classes",
}
HEAD = ("solver", "value", "gap", "s", "paper: value", "gap", "s", "ratio")
DISTRIBUTIONS = {"CLARABEL": "clarabel", "SCS": "scs", "CVXOPT": "cvxopt", "SDPA": "sdpa-python", "MOSEK": "mosek"}


def instance(name: str) -> cl.PCP:
    X, y = cl.datasets.load("iris")
    if name == "iris75":
        X, y = X[::2], y[::2]
    return cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0))


def cell(problem: cl.PCP, solver: str, reduced: bool, limit: float, accuracy: float | None) -> cl.Solution:
    form = {"form": "dual", "presolve": True} if reduced else {"form": "paper", "presolve": False}
    return problem.solve(solver=solver, time_limit=limit, accuracy=accuracy, strict=False, **form)


def shown(solution: cl.Solution) -> tuple[str, str, str]:
    """Value, certified gap and time of a cell."""
    seconds = f"{solution.timings.total:.2f}"
    if solution.certificate is None:
        return ("stopped", "", f">{seconds}") if solution.status is cl.Status.LIMIT else ("failed", "", seconds)
    return f"{solution.value:.6f}", f"{solution.certificate.relative_gap:.1e}", seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds per cell")
    parser.add_argument("--instances", nargs="+", choices=INSTANCES, default=list(INSTANCES))
    parser.add_argument("--solvers", nargs="+", default=[s for s in cl.installed_sdp_solvers() if s != "MOSEK"])
    parser.add_argument("--own-tolerances", action="store_true", help="leave tolerances to the solvers")
    parser.add_argument("--save", type=Path, help="write the table to this Markdown file too")
    arguments = parser.parse_args()
    accuracy = None if arguments.own_tolerances else 1e-4
    sections = []
    for name in arguments.instances:
        problem, rows = instance(name), []
        for solver in arguments.solvers:
            print(f"{name}, {solver}: reduced …", end=" ", flush=True)
            fast = cell(problem, solver, True, arguments.time_limit, accuracy)
            print(f"{fast.timings.total:.2f} s; as in the paper …", end=" ", flush=True)
            slow = cell(problem, solver, False, arguments.time_limit, accuracy)
            print(f"{slow.timings.total:.2f} s ({slow.status})", flush=True)
            ratio = f"{slow.timings.total / fast.timings.total:.0f}"
            if slow.certificate is None:
                ratio = f">{ratio}" if slow.status is cl.Status.LIMIT else "no answer"
            rows.append([solver, *shown(fast), *shown(slow), ratio])
        sections.append(f"## {INSTANCES[name]}\n\n{table(HEAD, bold_least(rows, 3))}\n")

    print("\n" + "\n".join(sections))
    if arguments.save:
        write_report(arguments.save, report(sections, arguments))
        print(f"written to {arguments.save}")


def report(sections: list[str], arguments: argparse.Namespace) -> str:
    versions = ", ".join(f"{s} {version(DISTRIBUTIONS[s])}" for s in arguments.solvers if s in DISTRIBUTIONS)
    tolerances = "the solvers' own" if arguments.own_tolerances else "`accuracy=1e-4` in both halves of the tables"
    return f"""# PCP: the paper's form against the reduced one

Made by `python benchmarks/pcp_forms.py --time-limit {arguments.time_limit:g}` on {os.cpu_count()} cores, Python
{platform.python_version()}, CVXPY {version("cvxpy")}, {versions}. Tolerances: {tolerances}.

Graph: 10 nearest neighbours, union, sigma "mean", connected; normalised Laplacian; links drawn with `random_state=0`.
The left columns are after contraction and dualisation, those from "paper: value" on are the program as the paper prints
it. Seconds include compiling by CVXPY and the reductions, not the certificate; the fastest is bold. A cell that was
stopped counts with the time limit. "gap" is certified: (upper bound − lower bound) / (1 + |value|), recomputed outside
the solver.

{chr(10).join(sections)}"""


if __name__ == "__main__":
    main()
