"""Ten solves with other numbers: a new problem each time, a program compiled once, and our own routes.

    python benchmarks/resolves.py             # a minute or two; writes docs/results/resolves.md
    python benchmarks/resolves.py --points 50 --save other.md

Every way solves the same ten problems in one process, so that times can be compared. Certifying is not counted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import cvxlink as cl
from pages import RESULTS, bold_best, table, write_report

TEN = np.geomspace(0.2, 2.0, 10)


def cases(n: int) -> dict[str, tuple[cl.Problem, str, list[str], Callable[[float], dict]]]:
    """Return problems by name, with what changes, the solvers and how a number changes them."""
    X, y = cl.datasets.blobs(n, 3, dimension=4, random_state=0)
    graph, links = cl.Graph.knn(X), cl.Links.sample(y, n_links=n // 2, random_state=0)
    labels = cl.sample_labels(y, n_labels=n // 10, random_state=0)
    few = cl.Graph.rbf(X[:15], "mean").kernel() + 0.1 * np.eye(15)
    some = cl.Links.sample(y[:15], n_links=8, random_state=0)
    return {
        "SRCP": (cl.SRCP(graph, links), "mu", ["OSQP", "CLARABEL", "SCS"], lambda x: {"mu": x}),
        "LLGC": (cl.LLGC(graph, labels), "alpha", ["OSQP", "CLARABEL", "SCS"], lambda x: {"alpha": 1 / (1 + x)}),
        "E2CP": (cl.E2CP(graph, links), "alpha", ["OSQP", "CLARABEL"], lambda x: {"alpha": 1 / (1 + x)}),
        "CCSR": (cl.CCSR(graph, links, order=15), "must_weight", ["CLARABEL", "SCS"], lambda x: {"must_weight": x}),
        "MinKL, 15 points": (
            cl.MinKL(few, some, must_bound=0.2, cannot_bound=1.0),
            "must_bound",
            ["CLARABEL", "SCS"],
            lambda x: {"must_bound": 0.2 * x},
        ),
    }


def seconds(solve: Callable[[dict], cl.Solution], changes: list[dict]) -> tuple[float, list[float]]:
    """Return what ten solves take without their certificates, and their values."""
    start, certifying, values = time.perf_counter(), 0.0, []
    for change in changes:
        solution = solve(change)
        certifying += solution.timings.certify
        values.append(solution.value)
    return time.perf_counter() - start - certifying, values


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=40)
    parser.add_argument("--save", type=Path, default=RESULTS / "resolves.md", help="where the page is written")
    asked = parser.parse_args()
    rows = []
    for name, (problem, field, solvers, change) in cases(asked.points).items():
        changes = [change(float(x)) for x in TEN]
        route, best = seconds(lambda c, p=problem: replace(p, **c).solve(strict=False), changes)
        for solver in solvers:
            prepared = problem.prepare(solver=solver)
            options = {"solver": solver, "strict": False}
            fresh, values = seconds(lambda c, p=problem, o=options: replace(p, **c).solve(**o), changes)
            again, others = seconds(lambda c, p=prepared: p.solve(strict=False, **c), changes)
            off = max(abs(v - b) / (1 + abs(b)) for part in (values, others) for v, b in zip(part, best, strict=True))
            times = [f"{t:.2f}" for t in (fresh, again, route)]
            times = bold_best(times, [-fresh, -again, -route])
            rows.append([name, field, solver, *times, f"{fresh / again:.1f}", f"{off:.0e}"])
            print(*rows[-1])
    head = ("method", "changes", "solver", "new s", "compiled s", "route s", "ratio", "off by")
    write_report(
        asked.save,
        f"""# Ten solves with other numbers: compiled each time, compiled once, and by our own routes

Made by `python benchmarks/resolves.py --points {asked.points}`: blobs of {asked.points} points, half as many links, ten
values of one number. "New" makes and compiles a problem for each value; "compiled" is `problem.prepare(solver)` once
and `prepared.solve(…)` for each, with a warm start where the solver has one; "ratio" is new ÷ compiled. "Route" is
`solve()` without a solver. "Off by" is the largest difference between a value and that of the route, relative to
1 + |value|. The fastest way of each row is bold.

{table(head, rows)}
""",
    )


if __name__ == "__main__":
    main()
