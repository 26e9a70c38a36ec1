"""Formulations of one's own: as they are declared, and through the dual that is found for them.

    python benchmarks/own_formulations.py --limit 100
    python benchmarks/own_formulations.py --save docs/results/own_formulations.md
    CVXLINK_DATA=… python benchmarks/own_formulations.py --steps --large 3000 --solved 250 500 1000 --limit 300

Each cell is a solve in a process of its own, stopped after ``--limit`` seconds, at the accuracy 1e-4. "Declared" is the
program as one would type it into CVXPY. ``--large`` solves by the low-rank route at the accuracy 1e-5, on MNIST0123
from the folder that CVXLINK_DATA names, blobs otherwise, and compares with solvers on the dual, written down by
hand, at the orders ``--solved``.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import cvxlink as cl
from cvxlink import terms
from pages import bold_least, table, write_report

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


@dataclass(frozen=True, eq=False)
class ObtusePCP(SoftPCP):
    """PCP with cannot-links at right angles or further apart: a linear program with inequalities."""

    def objective(self, K):
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()))

    def constraints(self, K):
        obtuse = terms.cannot_links_at_most(K, self.links)
        return {**super().constraints(K), "must": terms.must_links(K, self.links), "cannot": obtuse}


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
    parser.add_argument("--steps", type=int, nargs="*", default=[2, 1], help="take every so many points of Iris")
    parser.add_argument("--large", type=int, nargs="*", default=[], help="numbers of points for the low-rank route")
    parser.add_argument("--solved", type=int, nargs="*", default=[], help="numbers of points for solvers, SoftPCP only")
    parser.add_argument("--links", type=int, default=300, help="links for --large and --solved")
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
    if arguments.large:
        sections.append(large_section(arguments))
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


def instance(n: int, n_links: int) -> tuple[str, cl.Graph, cl.Links]:
    """Return a graph of n points with links, and what the points are."""
    if "CVXLINK_DATA" in os.environ:
        name, (X, y) = "MNIST0123", cl.datasets.load("mnist0123")
        pick = np.sort(np.random.default_rng(0).permutation(len(X))[:n])
        X, y = X[pick], y[pick]
    else:
        name, (X, y) = "blobs", cl.datasets.blobs(n, 4, dimension=10, random_state=0)
    return name, cl.Graph.knn(X, n_neighbors=10), cl.Links.sample(y, n_links=n_links, random_state=0)


def large_section(arguments: argparse.Namespace) -> str:
    """Solve four programs by the route that is chosen for them, and SoftPCP by solvers where they can."""
    rows, reached = [], dict[int, float]()
    for n in arguments.large:
        name, graph, links = instance(n, arguments.links)
        for formulation in (SoftPCP, HalfSoftPCP, FittedPCP, ObtusePCP):
            found, seconds = timed(formulation(graph, links), accuracy=1e-5)
            if formulation is SoftPCP:
                reached[n] = seconds
            rows.append([formulation.__name__, str(n), *worded(found), f"{seconds:.2f}"])
            print(*rows[-1], flush=True)
    solved, known = [], []
    for n in arguments.solved:
        name, graph, links = instance(n, arguments.links)
        problem = SoftPCP(graph, links)
        ours, seconds = timed(problem, accuracy=1e-5, route="low-rank")
        for solver in arguments.solvers:
            value, theirs = by_dual(problem, solver)
            known.append((n, solver, theirs))
            off = f"{abs(value - ours.value) / (1 + abs(ours.value)):.0e}"
            solved.append([str(n), solver, f"{theirs:.1f}", off, f"{seconds:.2f}", f"{theirs / seconds:.0f}"])
            print(*solved[-1], flush=True)
    heads = (
        ("program", "points", "value", "certified gap", "s"),
        ("points", "solver", "s", "differs", "low-rank s", "ratio"),
    )
    text = f"## {name}, {arguments.links} links: the low-rank route\n\n{table(heads[0], rows)}\n"
    if solved:
        text += f"\n`SoftPCP` by solvers on its dual, written down by hand:\n\n{table(heads[1], solved)}\n"
        text += f"\n{extrapolated(known, reached)}\n"
    return text


def timed(problem: cl.Problem, **options: object) -> tuple[cl.Solution, float]:
    """Solve; the seconds are for everything, with the certificate."""
    solution = problem.solve(strict=False, **options)
    return solution, solution.timings.total + solution.timings.certify


def by_dual(problem: SoftPCP, solver: str) -> tuple[float, float]:
    """Solve the dual, written down for CVXPY by hand, and return its value and the seconds that CVXPY and it take.

    It is max 1ᵀy + c₀ with C − Diag(y) + Σ s_l A_l ⪰ 0 and 0 ≤ s_l ≤ w_l: the conjugate of a hinge at 0 is zero there.
    """
    program, n = problem.program.separable_sdp(), problem.graph.n
    y, s = cp.Variable(n), cp.Variable(len(program.losses))
    diagonal = sp.csr_array((np.ones(n), (np.arange(n) * (n + 1), np.arange(n))), shape=(n * n, n))
    entries = program.linear.C.toarray().ravel() - diagonal @ y + sp.csr_array(program.A.T) @ s
    slack = cp.reshape(entries, (n, n), order="C")
    limits = [s >= 0, s <= program.losses.slopes[1]]
    dual = cp.Problem(cp.Maximize(cp.sum(y) + program.linear.offset), [slack >> 0, *limits])
    start = time.perf_counter()
    return float(dual.solve(solver=solver)), time.perf_counter() - start


def worded(solution: cl.Solution) -> tuple[str, str]:
    assert solution.certificate is not None
    return f"{solution.value:.5f}", f"{solution.certificate.relative_gap:.0e}"


def extrapolated(known: list[tuple[int, str, float]], reached: dict[int, float]) -> str:
    """Return what the times of the fastest solver at its two largest orders suggest for larger ones."""
    orders = sorted({n for n, _, _ in known})[-2:]
    if len(orders) < 2:
        return ""
    (small, large), best = orders, {n: min((t, s) for m, s, t in known if m == n) for n in orders}
    power = np.log(best[large][0] / best[small][0]) / np.log(large / small)
    told = [f"From {small} to {large} points the time of the fastest solver grows like n^{power:.1f}."]
    for n, seconds in reached.items():
        guess = best[large][0] * (n / large) ** power
        told.append(f"At that rate it would take {guess:.0f} s at {n} points, {guess / seconds:.0f} times as long.")
    return " ".join(told)


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
