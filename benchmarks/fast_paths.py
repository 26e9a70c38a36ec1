"""CCSR, SRCP and MinKL: the textbook program on CVXPY's solvers against the exact shortcut, as ratios of one run.

    CVXLINK_DATA=… python benchmarks/fast_paths.py                 # all three, up to 300 s per cell
    python benchmarks/fast_paths.py --only srcp minkl --time-limit 20
    python benchmarks/fast_paths.py --save docs/results/fast_paths.md

CCSR is timed on USPS (from the folder that CVXLINK_DATA names, or OpenML), the others on generated data. Seconds are
the wall time of ``solve`` with compiling, reductions and certificate, on a fresh problem and a fresh graph; for the
shortcuts they are the median of several runs. A solver that was stopped counts with the limit, and its ratio is marked
">".
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.linalg

import cvxlink as cl
from pages import bold_least, table, write_report

SOLVERS = ("CLARABEL", "SCS", "CVXOPT", "SDPA")


def seconds(call: Callable, repeat: int = 1) -> tuple[float, object]:
    """Return the median wall time of a call, and what it returned last."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def cvxpy_row(problem: cl.Problem, best: cl.Solution, fast: float, what: str, limit: float, **asked: str) -> list[str]:
    """Time one form on one solver, and compare with the shortcut."""
    print(f"  {what} …", end=" ", flush=True)
    try:
        taken, solution = seconds(lambda: problem.solve(**asked, time_limit=limit, strict=False))
    except cl.SolverUnavailable as error:
        print("not possible")
        return [what, "", "", "", str(error).split(";")[0]]
    stopped = solution.status is cl.Status.LIMIT
    # A limit runs the solver in a child process, whose start is not the solver's fault.
    taken = limit if stopped else solution.timings.total + solution.timings.certify
    print(f"{taken:.2f} s, {solution.status}", flush=True)
    if solution.certificate is None:
        return [
            what,
            f"{'> ' if stopped else ''}{taken:.2f}",
            f"> {taken / fast:.0f}" if stopped else "",
            "",
            "stopped",
        ]
    (name,) = solution.values
    off = float(abs(solution.values[name] - best.values[name]).max() / abs(best.values[name]).max())
    gap = solution.certificate.relative_gap
    return [what, f"{taken:.2f}", f"{taken / fast:.0f}", f"{gap:.0e}", f"{off:.0e}"]


HEAD = ("how", "seconds", "ratio", "certified gap", "off by")


def ccsr(limit: float) -> str:
    X, y = cl.datasets.load("usps")
    graph, links = cl.Graph.knn(X, n_neighbors=20), cl.Links.sample(y, n_links=11_000, random_state=0)
    eigenvectors, _ = seconds(lambda: cl.Graph(graph.W).smoothest(15), 3)
    graph.smoothest(15)
    fast, best = seconds(lambda: cl.CCSR(graph, links).solve(), 5)
    print(f"CCSR: eigenvectors {eigenvectors:.3f} s, shortcut {fast:.3f} s")
    rows = [
        ["route interior-point (default)", f"{fast:.3f}", "1", f"{best.certificate.relative_gap:.0e}", ""],
    ]
    for form in ("compact", "schur"):
        for solver in SOLVERS:
            what = f"form {form}, {solver}"
            rows.append(cvxpy_row(cl.CCSR(graph, links), best, fast, what, limit, form=form, solver=solver))
    return f"""## CCSR on USPS, {graph.n} points, {len(links)} links, order 15

Every row needs the 15 eigenvectors, which are not counted: they take {eigenvectors:.3f} s,
{eigenvectors / fast:.1f} times the shortcut. The paper reports 52 s for the program.

{table(HEAD, bold_least(rows, 1))}
"""


def srcp(limit: float) -> str:
    rows, ratios = [], []
    for n in (500, 1000, 2000):
        X, y = cl.datasets.blobs(n, 5, spread=2.0, dimension=10, random_state=0)
        W, links = cl.Graph.knn(X, n_neighbors=20).W, cl.Links.sample(y, n_links=n // 5, random_state=0)
        L, Y = cl.Graph(W).laplacian().toarray(), links.matrix.toarray()
        cl.SRCP(cl.Graph(W), links).solve()  # the first call of a process also loads libraries
        numpy_eigh, _ = seconds(lambda L=L: np.linalg.eigh(L), 7)
        scipy_eigh, _ = seconds(lambda L=L: scipy.linalg.eigh(L), 5)
        solutions = []
        whole, _ = seconds(lambda W=W, links=links, s=solutions: s.append(cl.SRCP(cl.Graph(W), links).solve()), 7)
        best, solve = solutions[-1], statistics.median(solution.timings.total for solution in solutions)
        graph = cl.Graph(W)
        graph.smoothest(n)
        again, _ = seconds(lambda graph=graph, links=links: cl.SRCP(graph, links, mu=0.5).solve(), 3)
        spreading, _ = seconds(lambda W=W, links=links: cl.SRCP(cl.Graph(W), links).solve(route="spreading"))
        print(f"SRCP, n = {n}: eigen {whole:.2f} s; scipy.linalg.solve_continuous_lyapunov …", end=" ", flush=True)
        A = 0.2 * np.eye(n) + L
        lyapunov, F = seconds(lambda A=A, Y=Y: scipy.linalg.solve_continuous_lyapunov(A, 0.4 * Y))
        print(f"{lyapunov:.1f} s")
        off = float(abs(F - best.propagated).max() / abs(best.propagated).max())
        rows.append(
            [
                str(n),
                f"{whole:.2f}",
                f"{solve:.2f}",
                f"{again:.2f}",
                f"{spreading:.2f}",
                f"{lyapunov:.1f}",
                f"{lyapunov / whole:.0f}",
                f"{off:.0e}",
            ]
        )
        ratios.append(
            [
                str(n),
                f"{numpy_eigh:.2f}",
                f"{solve / numpy_eigh:.2f}",
                f"{whole / numpy_eigh:.2f}",
                f"{whole / scipy_eigh:.2f}",
            ]
        )
    head = ("n", "eigen s", "uncertified s", "again s", "spreading s", "Lyapunov s", "ratio", "off by")
    parts = [
        f"""Seconds of the route "eigen" with and without its certificate, and again with another μ; of the route
"spreading"; and of `scipy.linalg.solve_continuous_lyapunov`, with its ratio to "eigen" and how far the two are apart:

{table(head, rows)}""",
        f"""The work is one eigendecomposition. In units of NumPy's and SciPy's `eigh` of the same Laplacian:

{table(("n", "numpy eigh s", "uncertified ÷ numpy", "eigen ÷ numpy", "eigen ÷ scipy"), ratios)}""",
    ]
    for n in (50, 100):
        X, y = cl.datasets.blobs(n, 3, spread=2.0, dimension=5, random_state=0)
        W, links = cl.Graph.knn(X, n_neighbors=10).W, cl.Links.sample(y, n_links=n // 2, random_state=0)
        fast, best = seconds(lambda W=W, links=links: cl.SRCP(cl.Graph(W), links).solve(), 20)
        rows = [["route eigen (default)", f"{fast:.4f}", "1", "0", ""]]
        for solver in ("OSQP", "CLARABEL", "SCS"):
            problem = cl.SRCP(cl.Graph(W), links)
            rows.append(cvxpy_row(problem, best, fast, f"as declared, {solver}", limit, solver=solver))
        said = f"Against the declared program on CVXPY's solvers, n = {n}, {len(links)} links:"
        parts.append(f"{said}\n\n{table(HEAD, bold_least(rows, 1))}")
    return "## SRCP, blobs in 10 dimensions, 20 neighbours, n/5 links\n\n" + "\n\n".join(parts) + "\n"


def minkl(limit: float) -> str:
    parts = []
    for n in (30, 50, 80):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 3))
        links = cl.Links.sample(X[:, 0] > 0, n_links=20, random_state=0)
        kernel = cl.Graph.rbf(X, 1.0).kernel()

        def problem(kernel=kernel, links=links) -> cl.MinKL:
            return cl.MinKL(kernel, links, must_bound=0.1, cannot_bound=0.2, jitter="smallest")

        fast, best = seconds(lambda problem=problem: problem().solve(), 20)
        print(f"MinKL, n = {n}: dual {1000 * fast:.1f} ms")
        rows = [["route dual (default)", f"{fast:.4f}", "1", f"{best.certificate.relative_gap:.0e}", ""]]
        for solver in ("CLARABEL", "SCS"):
            what = f"form logdet, {solver}"
            rows.append(cvxpy_row(problem(), best, fast, what, limit, form="logdet", solver=solver))
        parts.append(f"n = {n}, {len(links)} links:\n\n{table(HEAD, bold_least(rows, 1))}")
    return "## MinKL, Gaussian kernel on points in three dimensions, bounds 0.1 and 0.2\n\n" + "\n\n".join(parts) + "\n"


PARTS = {"ccsr": ccsr, "srcp": srcp, "minkl": minkl}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds per cell")
    parser.add_argument("--save", type=Path, help="write the tables to this Markdown file too")
    arguments = parser.parse_args()
    sections = []
    for name in arguments.only:
        try:
            sections.append(PARTS[name](arguments.time_limit))
        except cl.DataUnavailable as error:
            sections.append(f"## {name}: left out, {error}\n")
        print(sections[-1])
    if arguments.save:
        packages = ("numpy", "scipy", "cvxpy", "clarabel", "scs", "cvxopt", "sdpa-python", "osqp")
        versions = ", ".join(f"{name} {version(name)}" for name in packages)
        write_report(
            arguments.save,
            f"""# The shortcuts of CCSR, SRCP and MinKL against the textbook programs

Made by `CVXLINK_DATA=… python benchmarks/fast_paths.py --time-limit {arguments.time_limit:g}` on {os.cpu_count()}
cores, Python {platform.python_version()}, {versions}.

Seconds are wall time with compiling and certificate; for the shortcuts they are the median of several fresh runs.
Solvers have the tolerances that `accuracy=1e-4` translates to. A cell that was stopped counts with the limit. Ratios
are to the shortcut, the certified gap is relative, and "off by" is the largest difference from the shortcut's solution,
relative to its largest entry. The fastest is bold.

"""
            + "\n".join(sections),
        )
        print(f"written to {arguments.save}")


if __name__ == "__main__":
    main()
