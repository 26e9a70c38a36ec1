"""The best clustering, proven: public instances of k-means with links, and the root bound against solvers.

    CVXLINK_DATA=… python benchmarks/exact.py                        # all instances, up to 600 s each
    CVXLINK_DATA=… python benchmarks/exact.py --sets iris --instances 3
    CVXLINK_DATA=… python benchmarks/exact.py --root                 # the bound at about 300 points against solvers too

The instances are those of Piccialli, Russo Russo & Sudoso (2022): for each data set, X as they ship it, the number of
clusters and draws of must-links and cannot-links. They are looked for in the folder ``exact`` of CVXLINK_DATA, one .npz
per set with X, k and arrays must_NAME and cannot_NAME. Without them only ``--root`` runs, on generated points. Finished
instances are kept in a file, so a run can be interrupted.
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from importlib.metadata import version
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np

import cvxlink as cl
from resumable import RESULTS, Cells, bold_least, table, work_through, write_report

CELLS = RESULTS / "exact.jsonl"
FIELDS = ("set", "name")
GAP = 1e-4
LIMIT, JOBS, BASELINE_LIMIT = 600.0, 2, 120.0
SOLVERS = ("CLARABEL", "SCS", "SDPA")
N_ROOT, N_ROOT_LINKS, N_ROOT_CLUSTERS = 300, 60, 4


def folder() -> Path | None:
    """Where the instances are, or None."""
    home = os.environ.get("CVXLINK_DATA")
    path = Path(home) / "exact" if home else None
    return path if path is not None and path.is_dir() else None


def instances(path: Path) -> dict[str, cl.KMeans]:
    """The problems of one data set, by name."""
    with np.load(path, allow_pickle=False) as file:
        X, k = file["X"], int(file["k"])
        names = sorted(name.removeprefix("must_") for name in file.files if name.startswith("must_"))
        return {
            name: cl.KMeans(X, cl.Links(len(X), must=file[f"must_{name}"], cannot=file[f"cannot_{name}"]), k)
            for name in names
        }


def squared_distances(X: np.ndarray, labels: np.ndarray) -> float:
    """The value of a clustering, by its definition."""
    return float(sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels)))


def measured(problem: cl.KMeans, limit: float, jobs: int, gap: float = GAP) -> dict:
    """Search for the best clustering, and return what came out, with the value computed anew."""
    found = cl.optimal_clustering(problem, gap=gap, time_limit=limit, n_jobs=jobs)
    value = squared_distances(problem.X, found.labels)
    root = found.tree[0]
    return {
        "n": problem.links.n,
        "k": problem.n_clusters,
        "must": len(problem.links.must),
        "cannot": len(problem.links.cannot),
        "order": problem.links.n_blocks,
        "status": str(found.status),
        "value": value,
        "bound": found.bound,
        "gap": (value - found.bound) / value,
        "relaxation_gap": (value - found.history[0].bound) / value if found.history else None,
        "root_gap": max(value - root.bound, 0.0) / value,
        "rounds": max(len(found.history) - 1, 0),
        "nodes": len(found.tree),
        "kept": not problem.links.violated(found.labels),
        "seconds": found.seconds,
    }


def solved_instances(path: Path, arguments: argparse.Namespace) -> str:
    """Solve the instances that are asked for, and return their tables."""
    settings = {"gap": GAP, "limit": arguments.limit, "jobs": arguments.jobs}
    cells = Cells(arguments.cells, settings, FIELDS)
    sets = {file.stem: instances(file) for file in sorted(path.glob("*.npz"))}
    unknown = set(arguments.sets or ()) - set(sets)
    if unknown:
        raise SystemExit(f"there are no sets {', '.join(sorted(unknown))} in {path}; there are {', '.join(sets)}")
    chosen = {name: sets[name] for name in arguments.sets or sets}
    todo = [(name, one) for name, several in chosen.items() for one in list(several)[: arguments.instances]]

    def compute(name: str, one: str) -> None:
        cells.add({"set": name, "name": one, **measured(sets[name][one], arguments.limit, arguments.jobs)})

    work_through([key for key in todo if key not in cells.done], lambda name, one: f"{name} {one}", compute)
    done = {name: cells.of(name) for name in sets if cells.of(name)}
    return f"{by_set(done)}\n{one_by_one(done)}"


def by_set(done: dict[str, list[dict]]) -> str:
    """A table with one row per data set."""
    rows = []
    for name, several in done.items():
        proven = [cell for cell in several if cell["status"] == "OPTIMAL"]
        at_root = sum(cell["nodes"] == 1 for cell in proven)
        seconds, nodes = ([cell[what] for cell in several] for what in ("seconds", "nodes"))
        sizes = f"{several[0]['n']}, {several[0]['k']}"
        gaps = f"{np.median([cell['root_gap'] for cell in several]):.1e}, {max(c['root_gap'] for c in several):.1e}"
        row = [name, sizes, str(len(several)), f"{len(proven)}", f"{at_root}", gaps]
        rows.append([*row, f"{np.median(nodes):.0f}, {max(nodes)}", f"{np.median(seconds):.1f}, {max(seconds):.1f}"])
    head = ("set", "n, k", "instances", "proven", "at the root", "root gap", "nodes", "seconds")
    return f"""## By data set

Root gaps, nodes and seconds are the median and the largest. "At the root" counts the instances without any branching.

{table(head, rows)}
"""


def one_by_one(done: dict[str, list[dict]]) -> str:
    """Tables with one row per instance."""
    text = """## One by one

The order is that of the matrix, which has one row per block of must-linked points; the gap of the relaxation is the one
without cuts.
"""
    for name, several in done.items():
        rows = []
        for cell in sorted(several, key=lambda cell: cell["name"]):
            numbers = f"{cell['must']}, {cell['cannot']}"
            relaxed = "" if cell["relaxation_gap"] is None else f"{cell['relaxation_gap']:.1e}"
            gaps = [relaxed, f"{cell['root_gap']:.1e}", f"{cell['gap']:.1e}"]
            search = [str(cell["rounds"]), str(cell["nodes"]), f"{cell['seconds']:.1f}"]
            values = [f"{cell['value']:.6f}", f"{cell['bound']:.6f}", cell["status"]]
            rows.append([cell["name"], numbers, str(cell["order"]), *gaps, *search, *values])
        head = ("instance", "must, cannot", "order", "relaxation gap", "root gap", "gap", "rounds", "nodes", "seconds")
        text += f"\n### {name}\n\n{table((*head, 'value', 'bound', 'status'), rows)}\n"
    return text


def root_problems(n: int = N_ROOT) -> dict[str, cl.Problem]:
    """k-means and the normalised cut on generated points."""
    X, y = cl.datasets.blobs(n, N_ROOT_CLUSTERS, spread=2.0, dimension=5, random_state=0)
    links = cl.Links.sample(y, n_links=min(N_ROOT_LINKS, n // 2), random_state=0)
    return {
        "KMeans": cl.KMeans(X, links, N_ROOT_CLUSTERS),
        "LinkedCut": cl.LinkedCut(cl.Graph.knn(X), links, N_ROOT_CLUSTERS),
    }


def against_solvers(problem: cl.Problem, limit: float, solvers: tuple[str, ...] = SOLVERS) -> list[list[str]]:
    """Rows: our route, then each solver on the declared and on the reduced form, with the ratio of the seconds."""
    began = perf_counter()
    ours = problem.solve()
    fast = perf_counter() - began
    rows = [_row(f"route {ours.plan.route.name} (default)" if ours.plan.route else "default", ours, fast, "", 1.0)]
    forms: dict[str, dict] = {"declared": {"form": problem.about.form, "presolve": False}, "reduced": {}}
    for solver, (how, form) in product(solvers, forms.items()):
        name, began = f"{solver}, {how}", perf_counter()
        try:
            solution = problem.solve(solver=solver, time_limit=limit, strict=False, **form)
        except cl.CvxlinkError as error:  # not installed, or more memory than there is
            print(f"  {type(problem).__name__}, {name}: {error}", flush=True)
            rows.append([name, "—", "—", "", "", f"refused: {str(error).partition(';')[0]}"])
            continue
        taken = perf_counter() - began
        answered = solution.status in (cl.Status.OPTIMAL, cl.Status.INACCURATE, cl.Status.UNPROVEN)
        mark = "" if answered else "> "
        print(f"  {type(problem).__name__}, {name}: {mark}{taken:.1f} s, {solution.status}", flush=True)
        rows.append(_row(name, solution, taken, mark, taken / fast))
    return bold_least(rows, 1)


def _row(how: str, solution: cl.Solution, seconds: float, mark: str, ratio: float) -> list[str]:
    certificate = solution.certificate
    bound = certificate.lower_bound if certificate is not None else None
    gap = "" if certificate is None or bound is None else f"{certificate.relative_gap:.0e}"
    times = [f"{mark}{seconds:.2f}", f"{mark}{ratio:.0f}"]
    return [how, *times, "" if bound is None else f"{bound:.6g}", gap, str(solution.status)]


def root_bounds(limit: float, n: int = N_ROOT) -> str:
    """The section on the bound at the root."""
    head = ("how", "seconds", "ratio", "proven bound", "certified gap", "status")
    sections = [
        f"### {name}\n\n{table(head, against_solvers(problem, limit))}\n" for name, problem in root_problems(n).items()
    ]
    return f"""## The bound at the root, against solvers

{n} points in {N_ROOT_CLUSTERS} blobs in 5 dimensions, {min(N_ROOT_LINKS, n // 2)} links. Every solver gets the program
twice, as it is declared and as cvxlink reduces it, and at most {limit:g} s for each. A solver that was stopped counts
with its time, and its ratio is marked ">": it is at least that. One that would need more memory than there is has no
time.

{chr(10).join(sections)}"""


def command(arguments: argparse.Namespace) -> str:
    """The command that makes the page."""
    some = f" --sets {' '.join(arguments.sets)}" if arguments.sets else ""
    some += f" --instances {arguments.instances}" if arguments.instances else ""
    root = f" --root --baseline-limit {arguments.baseline_limit:g}" if arguments.root else ""
    return f"python benchmarks/exact.py{some} --limit {arguments.limit:g} --jobs {arguments.jobs}{root}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", help="some of the data sets")
    parser.add_argument("--instances", type=int, help="only the first so many of each set")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds per instance")
    parser.add_argument("--jobs", type=int, default=JOBS, help="processes")
    parser.add_argument("--root", action="store_true", help="the bound at the root against solvers, too")
    parser.add_argument("--baseline-limit", type=float, default=BASELINE_LIMIT, help="seconds per solver")
    parser.add_argument("--cells", type=Path, default=CELLS, help="where finished instances are kept")
    parser.add_argument("--save", type=Path, default=RESULTS / "exact.md")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path = folder()
    sections = []
    if path is None:
        print("CVXLINK_DATA names no folder with exact/*.npz in it, so the public instances are left out")
    else:
        sections.append(solved_instances(path, arguments))
    if arguments.root:
        sections.append(root_bounds(arguments.baseline_limit))
    if not sections:
        return
    print("\n".join(sections))
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "cvxpy", "clarabel", "scs"))
    write_report(
        arguments.save,
        f"""# The best clustering of k-means with links, proven

Made by `{command(arguments)}` on {os.cpu_count()} cores, Python {platform.python_version()}, {versions}.

Instances of Piccialli, Russo Russo & Sudoso (2022), An exact algorithm for semi-supervised minimum sum-of-squares
clustering. Each is proven to a relative gap of {GAP:g} between the value of a clustering that keeps all links,
computed anew from the data, and a bound that no clustering is below.

"""
        + "\n".join(sections),
    )
    print(f"written to {arguments.save}")


if __name__ == "__main__":
    main()
