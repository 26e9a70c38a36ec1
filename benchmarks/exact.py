"""The best clustering, proven: public instances of k-means with links, and the root bound against solvers.

    CVXLINK_DATA=… cvxlink study run studies/exact.toml
    python benchmarks/exact.py
    python benchmarks/exact.py --root                 # the bound at about 300 points against solvers too

The first computes what is missing, up to ten minutes for an instance; the second makes the page of what is there. The
instances are those of Piccialli, Russo Russo & Sudoso (2022): for each data set, X as they ship it, the number of
clusters and draws of must-links and cannot-links. They are looked for in the folder ``exact`` of CVXLINK_DATA, one .npz
per set with X, k and arrays must_NAME and cannot_NAME. The bound at the root is on generated points.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np

import cvxlink as cl
from pages import RESULTS, Finished, arguments_of, bold_least, made_by, require_cells, table, write_report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from cells.exact import GAP

FIELDS = ("set", "name")
BASELINE_LIMIT = 120.0
SOLVERS = ("CLARABEL", "SCS", "SDPA")
N_ROOT, N_ROOT_LINKS, N_ROOT_CLUSTERS = 300, 60, 4
WHOLE = ("n", "k", "must", "cannot", "order", "rounds", "nodes")


def cells_by_set(cells: Finished) -> dict[str, list[dict]]:
    """Return the cells of each data set, with whole numbers where they are."""
    return {
        name: [cell | {key: int(cell[key]) for key in WHOLE} for cell in cells.of(name)]
        for name in sorted({key[0] for key in cells.done})
    }


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


def more_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", action="store_true", help="the bound at the root against solvers, too")
    parser.add_argument("--baseline-limit", type=float, default=BASELINE_LIMIT, help="seconds per solver")


def main() -> None:
    asked = arguments_of(__doc__, RESULTS / "exact.md", more_arguments)
    warnings.simplefilter("ignore")
    cells = Finished.in_studies(["exact"], FIELDS, asked.folder)
    if not asked.root:
        require_cells(cells, "exact")
    done = cells_by_set(cells)
    sections = [f"{by_set(done)}\n{one_by_one(done)}"] if done else []
    sections += [root_bounds(asked.baseline_limit)] if asked.root else []
    write_report(
        asked.save,
        f"""# The best clustering of k-means with links, proven

{made_by("exact", "exact", packages=("numpy", "scipy", "cvxpy", "clarabel", "scs"))}

Instances of Piccialli, Russo Russo & Sudoso (2022), An exact algorithm for semi-supervised minimum sum-of-squares
clustering. Each is proven to a relative gap of {GAP:g} between the value of a clustering that keeps all links,
computed anew from the data, and a bound that no clustering is below.

"""
        + "\n".join(sections),
    )
    print(f"written: {asked.save}")


if __name__ == "__main__":
    main()
