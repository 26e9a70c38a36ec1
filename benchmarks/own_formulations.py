"""Formulations of one's own: as they are declared, and through the dual that is found for them.

``python benchmarks/own_formulations.py`` prints docs/results/own_formulations.md. Each cell is a solve in a process of
its own, stopped after ``--limit`` seconds, at the accuracy 1e-4. What one types into CVXPY by hand is "declared".
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import cvxpy as cp

import cvxlink as cl
from cvxlink import terms


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
    return f"{solution.value:.5f}, {'no bound' if gap is None else f'gap {gap:.0e}'}", seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each solve")
    parser.add_argument("--steps", type=int, nargs="+", default=[2, 1], help="every so many points of Iris")
    parser.add_argument("--solvers", nargs="+", default=["SDPA", "CLARABEL", "SCS"])
    arguments = parser.parse_args()
    X, y = cl.datasets.load("iris")
    print("# Formulations of one's own\n")
    print(
        "Three programs that are in no paper, a dozen lines each (`benchmarks/own_formulations.py`), Iris, 60 links. "
        '"Declared" is the program as one would type it into CVXPY, "dual" what `solve` makes of it by itself. Seconds '
        f"without certifying, one run, two cores, accuracy 1e-4, stopped after {arguments.limit:g} s.\n"
    )
    print("| program | points | solver | dual | seconds | declared | seconds | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for step in arguments.steps:
        graph = cl.Graph.knn(X[::step], n_neighbors=10)
        links = cl.Links.sample(y[::step], n_links=60, random_state=0)
        for formulation in (SoftPCP, HalfSoftPCP, FittedPCP):
            problem = formulation(graph, links)
            for solver in arguments.solvers:
                (fast, t), (slow, T) = (cell(problem, solver, form, arguments.limit) for form in ("dual", "declared"))
                more = "> " if slow == "stopped" else ""
                ratio = f"{more}{T / t:.0f}" if fast not in ("stopped", "no answer") else ""
                cells = (formulation.__name__, graph.n, solver, fast, f"{t:.2f}", slow, f"{more}{T:.0f}", ratio)
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
