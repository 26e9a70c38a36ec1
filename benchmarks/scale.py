"""How far it goes: PCP by the low-rank route against solvers, and all methods for many points.

    CVXLINK_DATA=… python benchmarks/scale.py                        # both parts; cells that are done are kept
    python benchmarks/scale.py --part pcp --sizes 300 1000 --time-limit 60
    python benchmarks/scale.py --part methods --sizes 1000 10000

Every cell runs in a process of its own, so that peak memory is its own. PCP: MNIST0123 (300, 1000 and all 3000 points)
and USPS (9298) from the folder that CVXLINK_DATA names, blobs otherwise; 10 nearest neighbours, 50 links. Methods: five
blobs, 10 nearest neighbours, 300 links (100 labels for label propagation); seconds are split into graph, solve (with
reductions and certificate) and clustering.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

import cvxlink as cl
from resumable import RESULTS, Cells, bold_least, save_figure, table, work_through, write_report

PCP_SIZES = (300, 1000, 3000, 9298)
LOW_RANK = "low-rank"
SOLVERS = ("SDPA", "CLARABEL", "CVXOPT", "SCS")
# Beyond, CVXPY needs more memory to write the program down than this machine has.
LARGEST_FOR_SOLVERS = 3000
METHOD_SIZES = (1000, 10_000, 100_000)
METHODS = ("KP", "CCSR", "SRCP", "GFHF", "LLGC", "NCuts", "PCP")
# What a solver may take.
MEMORY = "16GB"
CLASSES, DIMENSION, LINKS, LABELS = 5, 8, 300, 100


def megabytes() -> float:
    """The peak memory of this process and of those it started."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1e3


def pcp_instance(n: int) -> tuple[str, cl.PCP]:
    """Return a PCP on n points, and what they are."""
    if "CVXLINK_DATA" in os.environ:
        name = "usps" if n > 3000 else "mnist0123"
        X, y = cl.datasets.load(name)
        pick = np.sort(np.random.default_rng(0).permutation(len(X))[:n])
        X, y = X[pick], y[pick]
    else:
        name = "blobs"
        X, y = cl.datasets.blobs(n, 4, dimension=10, random_state=0)
    return name, cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, n_links=50, random_state=0))


def pcp_cell(n: int, how: str, limit: float) -> dict:
    """Solve a PCP one way."""
    name, problem = pcp_instance(n)
    options = (
        {"accuracy": 1e-5}
        if how == LOW_RANK
        else {"solver": how, "form": "dual", "time_limit": limit, "memory_limit": MEMORY}
    )
    start = time.perf_counter()
    solution = problem.solve(strict=False, **options)
    seconds = time.perf_counter() - start
    cell = {"data": name, "seconds": seconds, "status": str(solution.status), "megabytes": megabytes()}
    if solution.status in (cl.Status.LIMIT, cl.Status.ERROR):
        cell["status"] = f"{solution.status}: {solution.reason.splitlines()[0][:80]}"
    elif solution.certificate is not None:
        cell["gap"], cell["value"] = solution.certificate.relative_gap, solution.value
    if how == LOW_RANK:
        V, L = solution.values.stored["K"].T, problem.L
        start = time.perf_counter()
        for _ in range(20):
            L @ V
        cell["product"] = (time.perf_counter() - start) / 20
        cell["rank"], cell["products"] = solution.rank, int(solution.reason.split(" products")[0].split()[-1])
    return cell


def method_cell(n: int, how: str, limit: float) -> dict:
    """Cluster n points from end to end."""
    X, y = cl.datasets.blobs(n, CLASSES, dimension=DIMENSION, random_state=0)
    times = [time.perf_counter()]
    graph = cl.Graph.knn(X)
    times.append(time.perf_counter())
    links = cl.Links.sample(y, n_links=LINKS, random_state=0)
    labels = cl.sample_labels(y, n_labels=LABELS, random_state=0) if how in ("GFHF", "LLGC") else None
    problem = cl.methods()[how].make(graph, links, labels, CLASSES)
    solution = problem.solve(strict=False)
    times.append(time.perf_counter())
    found = solution.cluster(CLASSES, random_state=0)
    times.append(time.perf_counter())
    graph_s, solve_s, cluster_s = np.diff(times)
    certificate = solution.certificate
    return {
        "graph": graph_s,
        "solve": solve_s,
        "cluster": cluster_s,
        "megabytes": megabytes(),
        "status": str(solution.status),
        "gap": None if certificate is None else certificate.relative_gap,
        "nmi": cl.metrics.scores(y, found)["nmi"],
    }


CELLS = {"pcp": pcp_cell, "methods": method_cell}


def in_a_process(part: str, n: int, how: str, limit: float) -> dict:
    """Compute a cell in a process of its own."""
    asked = [sys.executable, __file__, "--cell", json.dumps([part, n, how, limit])]
    done = subprocess.run(asked, capture_output=True, text=True)
    key = {"part": part, "n": n, "how": how}
    if done.returncode:
        words = done.stderr.strip().splitlines()
        return {**key, "status": f"failed: {words[-1][:200] if words else done.returncode}"}
    return {**key, **json.loads(done.stdout.splitlines()[-1])}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log(seconds) over log(n) between the last two sizes."""
    return float(np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2]))


def ended(cell: dict) -> str:
    """Return how a solve ended, without the name of the solver."""
    status, _, reason = cell["status"].partition(": ")
    reason = re.sub(rf"^(the process of )?{cell['how']}(:| was) ", "", reason)
    return reason.partition(":")[0] if reason else status


def pcp_tables(cells: Cells) -> str:
    """Return the table of all ways, and what the low-rank route needed."""
    rows, details = [], []
    for n in sorted({cell["n"] for cell in cells.of("pcp")}):
        fast = cells.done.get(("pcp", n, LOW_RANK))
        of_size = []
        for cell in sorted(cells.of("pcp", n), key=lambda cell: (LOW_RANK, *SOLVERS).index(cell["how"])):
            stopped = "> " if cell["status"].startswith("LIMIT") else ""
            known = "seconds" in cell and "ERROR" not in cell["status"]
            ratio = known and fast and f"{stopped}{cell['seconds'] / fast['seconds']:.0f}"
            of_size.append(
                [
                    f"{n}",
                    cell["how"],
                    f"{stopped}{cell['seconds']:.2f}" if known else "",
                    ratio or "",
                    f"{cell['gap']:.0e}" if cell.get("gap") is not None else "",
                    f"{cell['megabytes']:.0f}" if "megabytes" in cell else "",
                    ended(cell),
                ]
            )
        rows += bold_least(of_size, 2)
        if fast is not None and "product" in fast:
            per = f"{fast['seconds'] / fast['product']:.0f}"
            details.append([f"{n}", fast["data"], f"{fast['rank']}", f"{fast['products']}", per])
    head = ("n", "how", "seconds", "ratio", "certified gap", "peak MB", "ended")
    return f"""{table(head, rows)}

What the low-rank route found and needed; "seconds ÷ one product" is the time divided by that of one sparse product L·V
with as many columns as the answer has:

{table(("n", "data", "rank", "products L·V", "seconds ÷ one product"), details)}"""


def method_table(cells: Cells) -> str:
    """Return the table of methods."""
    rows = []
    for how in METHODS:
        done = sorted(cells.of("methods"), key=lambda cell: cell["n"])
        mine = [cell for cell in done if cell["how"] == how]
        whole = [cell for cell in mine if "solve" in cell]
        for cell in mine:
            last = len(whole) > 1 and cell is whole[-1]
            grown = f"{exponent([c['n'] for c in whole], [c['solve'] for c in whole]):.2f}" if last else ""
            split = [f"{cell[stage]:.1f}" if stage in cell else "" for stage in ("graph", "solve", "cluster")]
            gap = f"{cell['gap']:.0e}" if cell.get("gap") is not None else ""
            rest = [f"{cell['megabytes']:.0f}", f"{cell['nmi']:.3f}"] if "solve" in cell else ["", ""]
            rows.append([how, f"{cell['n']:,}", *split, *rest, gap, grown, cell["status"]])
    head = ("method", "n", "graph s", "solve s", "cluster s", "peak MB", "NMI", "gap", "growth", "status")
    return table(head, rows)


def plots(cells: Cells) -> None:
    """Draw seconds over n for both parts."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for part, key, names in (("pcp", "seconds", (LOW_RANK, *SOLVERS)), ("methods", "solve", METHODS)):
        figure, axes = plt.subplots(figsize=(7, 4.5))
        for name in names:
            mine = sorted(
                (c for c in cells.of(part) if c["how"] == name and key in c and "ERROR" not in c["status"]),
                key=lambda c: c["n"],
            )
            if not mine:
                continue
            n, seconds = [c["n"] for c in mine], [c[key] for c in mine]
            (line,) = axes.loglog(n, seconds, "o-", label=name)
            stopped = [c["status"].startswith("LIMIT") for c in mine]
            axes.plot(np.array(n)[stopped], np.array(seconds)[stopped], "^", color=line.get_color(), markersize=10)
        axes.set_xlabel("points")
        axes.set_ylabel("seconds" if part == "pcp" else "seconds to solve and certify")
        axes.set_title("PCP (triangles: stopped for time or memory)" if part == "pcp" else "Methods at many points")
        axes.grid(True, which="both", alpha=0.3)
        if axes.lines:
            axes.legend()
        figure.tight_layout()
        save_figure(figure, cells.path.with_name(f"{cells.path.stem}_{part}.png"), dpi=110)
        plt.close(figure)


def report(cells: Cells, limit: float) -> str:
    """Return the page."""
    packages = ("numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "scs", "cvxopt", "sdpa-python")
    made = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"""# How far it goes: up to 100 000 points, in seconds and memory

Made by `CVXLINK_DATA=… python benchmarks/scale.py --time-limit {limit:g}` on {os.cpu_count()} cores, Python
{platform.python_version()}, {made}.
Every cell ran in a process of its own; its peak memory includes about 200 MB of imported packages.

## PCP: the low-rank route and the dual form on solvers

10 nearest neighbours, 50 links; the low-rank route was asked for a certified relative gap of 1e-5. Seconds are the wall
time of `solve` with reductions, compiling and certificate; a solver that was stopped counts with the limit. Ratios are
to the low-rank route. The fastest of each size is bold.

{pcp_tables(cells)}

![Seconds to solve PCP against the number of points]({cells.path.stem}_pcp.png)

## Methods at many points

{CLASSES} blobs in {DIMENSION} dimensions, 10 nearest neighbours, {LINKS} links ({LABELS} labels for GFHF and LLGC).
Solving includes reductions and certificate. The gap is certified and relative. "Growth" is the slope of log(seconds)
over log(n) between the two largest sizes, for solving.

{method_table(cells)}

![Seconds to solve and certify against the number of points]({cells.path.stem}_methods.png)
"""


def main() -> None:
    """Work through the cells, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=tuple(CELLS), help="only this part")
    parser.add_argument("--sizes", type=int, nargs="+", help="only these numbers of points")
    parser.add_argument("--how", nargs="+", help="only these solvers or methods")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds for a solver")
    parser.add_argument(
        "--cells", type=Path, default=RESULTS / "scale.jsonl", help="where finished cells are kept, and the page"
    )
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cell:
        part, n, how, limit = json.loads(asked.cell)
        print(json.dumps(CELLS[part](n, how, limit)))
        return
    cells = Cells(asked.cells, {"limit": asked.time_limit}, ("part", "n", "how"))
    todo = [
        ("pcp", n, how)
        for n in PCP_SIZES
        for how in (LOW_RANK, *SOLVERS)
        if how == LOW_RANK or n <= LARGEST_FOR_SOLVERS
    ]
    todo += [("methods", n, how) for n in METHOD_SIZES for how in METHODS]
    todo = [
        (part, n, how)
        for part, n, how in todo
        if asked.part in (None, part) and (not asked.sizes or n in asked.sizes) and (not asked.how or how in asked.how)
    ]
    todo = [key for key in todo if key not in cells.done]
    work_through(
        todo,
        lambda part, n, how: f"{part} {n} {how}",
        lambda part, n, how: cells.add(in_a_process(part, n, how, asked.time_limit)),
    )
    plots(cells)
    write_report(asked.cells.with_suffix(".md"), report(cells, asked.time_limit))


if __name__ == "__main__":
    main()
