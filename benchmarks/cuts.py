"""Constrained cuts and label propagation: the shortcut against CVXPY's solvers and scikit-learn, as ratios of one run.

    python benchmarks/cuts.py                                    # up to 120 s per cell
    python benchmarks/cuts.py --save docs/results/cuts.md

All data are generated. Seconds are wall time and include building the problem, compiling and the certificate; for the
shortcuts they are the median of three fresh runs. A solver that was stopped counts with the limit, and its ratio is
marked ">".
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.semi_supervised import LabelSpreading

import cvxlink as cl
from fast_paths import SOLVERS, seconds
from pages import bold_least, table, write_report


def data(n: int, kind: str = "neighbours") -> tuple[cl.Graph, np.ndarray, np.ndarray]:
    X, y = cl.datasets.blobs(n, 4, spread=2.0, dimension=10, random_state=0)
    graph = cl.Graph.knn(X) if kind == "neighbours" else cl.Graph.rbf(X, "mean")
    return graph, y, cl.sample_labels(y, n_labels=max(8, n // 20), random_state=0)


def against_solvers(limit: float) -> str:
    everything = []
    for n in (50, 100, 200):
        rows = []
        graph, _, labels = data(n)
        links = cl.Links.from_labels(labels)
        fast, best = seconds(lambda graph=graph, links=links: cl.CSC(graph, links).solve(), 3)
        rows.append([str(n), "route exact (default)", f"{fast:.3f}", "1", f"{best.certificate.relative_gap:.0e}", ""])
        for solver in SOLVERS:
            print(f"  CSC, n = {n}, {solver} …", end=" ", flush=True)
            solution = cl.CSC(graph, links).solve(form="sdp", solver=solver, time_limit=limit, strict=False)
            stopped = solution.status is cl.Status.LIMIT
            taken = limit if stopped else solution.timings.total + solution.timings.certify
            print(f"{taken:.2f} s, {solution.status}")
            mark, gap, off = ("> " if stopped else ""), "", ""
            if solution.certificate is not None:
                gap, off = f"{solution.certificate.relative_gap:.0e}", f"{solution.value - best.value:.0e}"
            rows.append([str(n), f"form sdp, {solver}", f"{mark}{taken:.2f}", f"{mark}{taken / fast:.0f}", gap, off])
        everything += bold_least(rows, 2)
    head = ("n", "how", "seconds", "ratio", "certified gap", "value − exact value")
    return f"""## CSC on solvers: two clusters, links between all labelled points

The fastest of each size is bold, and ratios are to the route "exact".

{table(head, everything)}
"""


def at_size(limit: float) -> str:
    rows = []
    for n in (500, 1000, 2000, 4000):
        for kind in ("neighbours", "all pairs"):
            graph, y, labels = data(n, kind)
            noise = np.random.default_rng(0).standard_normal((n, n))
            constraints = {
                "n/4 links": cl.Links.sample(y, n_links=n // 4, random_state=0),
                "kernel on labels": cl.label_kernel(cl.GFHF(graph, labels).solve().scores),
                "random matrix": noise + noise.T,
            }
            for what, Q in constraints.items():
                for k in (2, 4):

                    def solve(graph=graph, Q=Q, k=k) -> cl.Solution:
                        return cl.CSC(graph, Q, n_clusters=k, fraction=0.95).solve()

                    taken, solution = seconds(solve, 3 if n <= 2000 else 1)
                    print(f"  CSC, n = {n}, {kind}, {what}, {k} clusters: {taken:.2f} s", flush=True)
                    gap = f"{solution.certificate.relative_gap:.0e}"
                    rows.append([str(n), kind, what, str(k), f"{taken:.2f}", str(solution.iterations), gap])
    head = ("n", "graph", "constraints", "clusters", "seconds", "rounds", "certified gap")
    return f"""## Exact CSC up to 4000 points, β 95 % of the largest feasible

The constraints are n/4 links, a dense kernel on labels propagated by GFHF, or a dense random matrix.

{table(head, rows)}
"""


def labels(limit: float) -> str:
    rows = []
    for n in (300, 1000, 3000):
        graph, _, partial = data(n)
        W = graph.W.toarray()
        fast, best = seconds(lambda graph=graph, partial=partial: cl.LLGC(graph, partial).solve(), 3)
        harmonic, _ = seconds(lambda graph=graph, partial=partial: cl.GFHF(graph, partial).solve(), 3)

        def spreading(graph=graph, partial=partial, W=W) -> LabelSpreading:
            # As many iterations as it takes to agree with the solution to six digits.
            return LabelSpreading(kernel=lambda a, b: W, alpha=0.5, max_iter=100, tol=1e-6).fit(graph.points, partial)

        theirs, fitted = seconds(spreading, 3)
        shares = best.scores / best.scores.sum(axis=1, keepdims=True)
        off = float(abs(shares - fitted.label_distributions_).max())
        print(f"  LLGC, n = {n}: {fast:.3f} s, scikit-learn {theirs:.3f} s", flush=True)
        clarabel = cl.LLGC(graph, partial).solve(solver="CLARABEL", time_limit=limit, strict=False)
        slow = clarabel.timings.total
        ours = [str(n), f"{fast:.3f}", f"{harmonic:.3f}"]
        rows.append([*ours, f"{theirs:.3f}", f"{theirs / fast:.1f}", f"{off:.0e}", f"{slow:.2f}", f"{slow / fast:.0f}"])
    head = ("n", "LLGC s", "GFHF s", "LabelSpreading s", "ratio", "off by", "Clarabel s", "ratio")
    return f"""## Label propagation, ten neighbours, 5 % of the labels

LabelSpreading is scikit-learn's LLGC, and "off by" its largest difference from ours. Clarabel solves LLGC's program as
it is declared. Ratios are to LLGC.

{table(head, rows)}
"""


PARTS = {"solvers": against_solvers, "size": at_size, "labels": labels}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds per cell")
    parser.add_argument("--save", type=Path, help="write the tables to this Markdown file too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", cl.LinkWarning)
    sections = [PARTS[name](arguments.time_limit) for name in arguments.only]
    print("\n".join(sections))
    if arguments.save:
        packages = ("numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "scs", "cvxopt", "sdpa-python")
        versions = ", ".join(f"{name} {version(name)}" for name in packages)
        write_report(
            arguments.save,
            f"""# Constrained cuts and label propagation, timed against solvers and scikit-learn

Made by `python benchmarks/cuts.py --time-limit {arguments.time_limit:g}` on {os.cpu_count()} cores, Python
{platform.python_version()}, {versions}.

The points are blobs in 10 dimensions, in four classes. Seconds are wall time and include building the problem,
compiling and the certificate; up to 2000 points our own are the median of three fresh runs. The certified gap is
relative.

"""
            + "\n".join(sections),
        )
        print(f"written to {arguments.save}")


if __name__ == "__main__":
    main()
