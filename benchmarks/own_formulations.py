"""Formulations of one's own: as they are declared, and through the dual that is found for them.

    python benchmarks/own_formulations.py --limit 100
    python benchmarks/own_formulations.py --save docs/results/own_formulations.md

Each cell is a solve in a process of its own, stopped after ``--limit`` seconds, at the accuracy 1e-4. "Declared" is the
program as one would type it into CVXPY.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import cvxpy as cp

import cvxlink as cl
from cvxlink import terms
from resumable import bold_least, table, write_report

HEAD = ("program", "solver", "dual (gap)", "s", "declared (gap)", "s", "ratio")


@dataclass(frozen=True, eq=False)
class SoftPCP(cl.Problem):
    """Links rewarded instead of enforced."""

    graph: cl.Graph
    links: cl.Links

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(
            terms.smoothness(K, self.graph.laplacian())
            + terms.soft_must_links(K, self.links)
            + terms.soft_cannot_links(K, self.links)
        )

    def constraints(self, K):
        return {"unit": terms.unit_diagonal(K), "psd": terms.semidefinite(K)}


@dataclass(frozen=True, eq=False)
class HalfSoftPCP(SoftPCP):
    """Must-links enforced, cannot-links by a hinge."""

    def objective(self, K):
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()) + terms.soft_cannot_links(K, self.links))

    def constraints(self, K):
        return {**super().constraints(K), "must": terms.must_links(K, self.links)}


@dataclass(frozen=True, eq=False)
class FittedPCP(SoftPCP):
    """All links by squares."""

    def objective(self, K):
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()) + terms.squared_links(K, self.links))


def cell(problem: cl.Problem, solver: str, form: str, limit: float) -> tuple[str, float]:
    solution = problem.solve(solver=solver, form=form, time_limit=limit, strict=False)
    seconds = solution.timings.total
    if not solution.status.has_answer or solution.certificate is None:
        return ("stopped" if solution.status is cl.Status.LIMIT else "no answer"), seconds
    gap = solution.certificate.relative_gap
    return f"{solution.value:.5f} ({'no bound' if gap is None else f'{gap:.0e}'})", seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each solve")
    parser.add_argument("--steps", type=int, nargs="+", default=[2, 1], help="take every so many points of Iris")
    parser.add_argument("--solvers", nargs="+", default=["SDPA", "CLARABEL", "SCS"])
    parser.add_argument("--save", type=Path, help="write the page to this Markdown file too")
    arguments = parser.parse_args()
    X, y = cl.datasets.load("iris")
    sections = []
    for step in arguments.steps:
        graph = cl.Graph.knn(X[::step], n_neighbors=10)
        links = cl.Links.sample(y[::step], n_links=60, random_state=0)
        rows = [
            row
            for formulation in (SoftPCP, HalfSoftPCP, FittedPCP)
            for row in program_rows(formulation(graph, links), arguments.solvers, arguments.limit)
        ]
        sections.append(f"## {graph.n} points\n\n{table(HEAD, rows)}\n")
        print("\n" + sections[-1])
    if arguments.save:
        write_report(arguments.save, report(sections, arguments.limit))


def program_rows(problem: cl.Problem, solvers: list[str], limit: float) -> list[list[str]]:
    """Solve one program by its dual and as it is declared, on each solver."""
    rows = []
    for solver in solvers:
        (fast, t), (slow, T) = (cell(problem, solver, form, limit) for form in ("dual", "declared"))
        more = "> " if slow == "stopped" else ""
        ratio = f"{more}{T / t:.0f}" if fast not in ("stopped", "no answer") else ""
        rows.append([type(problem).__name__, solver, fast, f"{t:.2f}", slow, f"{more}{T:.0f}", ratio])
        print(*rows[-1], flush=True)
    return bold_least(rows, 3)


def report(sections: list[str], limit: float) -> str:
    return f"""# Formulations of one's own: as declared, and through their dual

Made by `python benchmarks/own_formulations.py --limit {limit:g}` on two cores.

Three programs that are in no paper, a dozen lines each, on Iris with 60 links: `SoftPCP` rewards links, `HalfSoftPCP`
enforces must-links and has a hinge for cannot-links, `FittedPCP` fits all links by squares. "Declared" is the program
as one would type it into CVXPY, "dual" is what `solve` makes of it by itself. Seconds are without certifying, at the
accuracy 1e-4; each solve is stopped after {limit:g} s, and the fastest solver of a program is bold. The gap is
certified: (value − lower bound) / (1 + |value|), with the bound from the multipliers of the declared constraints.

{chr(10).join(sections)}"""


if __name__ == "__main__":
    main()
