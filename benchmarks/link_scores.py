"""CCSR, SRCP and MinKL on the UCI data of their papers: scores against the number of links.

    CVXLINK_DATA=… python benchmarks/link_scores.py --trials 10

Every finished cell is appended to docs/results/link_scores.jsonl at once: interrupt it when you like, and the same
command goes on where it stopped. The page and its picture are written at the end; --report writes them from the cells
that are there. (Ten trials take nine minutes, so the repository does not keep the cells.) A data set that cannot be
found is named and left out.

All data sets and methods share the SETTINGS below.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import cvxlink as cl
from panels import Line, draw
from resumable import RESULTS, Cells, bold_best, table, work_through, write_report

SETTINGS = {
    "scaling": "unit variance",
    "graph": {"n_neighbors": 20, "symmetrize": "mean", "connect": True},
    "ccsr": {"order": 15},
    "srcp": {"mu": 0.2, "scale": 1.0},
    "noise": 0.1,
    "bound": 0.1,
}
# The average distance to the neighbours, and 1 as in the paper on SRCP.
WIDTHS = {"mean": "σ the average distance to the neighbours", 1.0: "σ = 1"}
BASELINE = "no links"
DATA = ("iris", "wdbc", "sonar", "protein", "zoo", "ionosphere", "wine")
LINKS = (25, 50, 100, 200, 400)
METHODS = {
    BASELINE: lambda graph, links: cl.SRCP(graph, cl.Links(graph.n)),
    "CCSR": lambda graph, links: cl.CCSR(graph, links, **SETTINGS["ccsr"]),
    "SRCP": lambda graph, links: cl.SRCP(graph, links, **SETTINGS["srcp"]),
    "MinKL, noise": lambda graph, links: nearest(graph, links, "noise"),
    "MinKL, bounds": lambda graph, links: nearest(graph, links, "bound"),
}


def nearest(graph: cl.Graph, links: cl.Links, mode: str) -> cl.MinKL:
    said = {f"{kind}_{mode}": SETTINGS[mode] for kind in ("must", "cannot")}
    return cl.MinKL(graph.kernel(), links, jitter="smallest", **said)


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    try:
        X, y = cl.datasets.load(name)
    except cl.DataUnavailable as error:
        print(f"{name} is left out: {error}")
        return None
    return StandardScaler().fit_transform(X), y


def compute(name: str, sigma: str | float, method: str, count: int, trial: int, graph: cl.Graph, y: np.ndarray) -> dict:
    links = cl.Links.sample(y, n_links=count, random_state=1000 * trial + count)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.LinkWarning)  # the links may need more clusters than classes
        warnings.simplefilter("ignore", cl.ClippedWarning)
        solution = METHODS[method](graph, links).solve()
        seconds = time.perf_counter() - start
        labels = solution.cluster(len(np.unique(y)), random_state=trial)
    scores = cl.metrics.scores(y, labels, links)
    return {
        "data": name,
        "sigma": sigma,
        "method": method,
        "links": count,
        "trial": trial,
        **{key: round(scores[key], 4) for key in ("ari", "nmi", "error", "violated")},
        "gap": float(f"{solution.certificate.relative_gap:.2e}"),
        "seconds": round(seconds, 4),
    }


def run(cells: Cells, names: list[str], methods: list[str], trials: int) -> None:
    data = {name: found for name in names if (found := load(name)) is not None}
    graphs = {(name, s): cl.Graph.knn(data[name][0], sigma=s, **SETTINGS["graph"]) for name in data for s in WIDTHS}
    wanted = [
        (name, sigma, method, count, trial)
        for trial in range(trials)
        for name in data
        for sigma in WIDTHS
        for method in methods
        for count in LINKS
    ]
    todo = [key for key in wanted if key not in cells.done]

    def add(name: str, sigma: str | float, *rest: object) -> None:
        cells.add(compute(name, sigma, *rest, graphs[name, sigma], data[name][1]))

    work_through(todo, lambda name, _, method, count, k: f"{name}, {method}, {count} links, trial {k + 1}", add)


# ---------------------------------------------------------------------- the report


def mean_curve(cells: Cells, name: str, sigma: str | float, method: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    scores = [[cell[what] for cell in cells.of(name, sigma, method, count)] or [np.nan] for count in LINKS]
    return np.array([np.mean(s) for s in scores]), np.array([np.std(s) for s in scores])


def score_table(cells: Cells, name: str, sigma: str | float) -> str:
    methods = [method for method in METHODS if method != BASELINE]
    scores = {method: mean_curve(cells, name, sigma, method, "ari") for method in methods}
    errors = {method: mean_curve(cells, name, sigma, method, "error")[0] for method in methods}
    rows = []
    for k, count in enumerate(LINKS):
        means = [scores[method][0][k] for method in methods]
        shown = [f"{scores[m][0][k]:z.2f}±{scores[m][1][k]:.2f}, {errors[m][k]:.0%}" for m in methods]
        rows.append([str(count), *bold_best(shown, means)])
    return table(["links", *methods], rows)


def without_links(cells: Cells, name: str, sigma: str | float) -> str:
    """Say what the graph alone scores; the number of links does not matter."""
    found = [cell for cell in cells.of(name, sigma) if cell["method"] == BASELINE]
    return f"{np.mean([c['ari'] for c in found]):z.2f}, {np.mean([c['error'] for c in found]):.0%}" if found else "?"


def section(cells: Cells, name: str) -> str:
    found = load(name)
    size = f", {len(found[0])} points, {len(np.unique(found[1]))} classes" if found else ""
    parts = [f"## {name}{size}"]
    for sigma, width in WIDTHS.items():
        alone = without_links(cells, name, sigma)
        parts.append(f"{width}; without links {alone}:\n\n{score_table(cells, name, sigma)}")
    return "\n\n".join(parts)


def report(cells: Cells) -> None:
    names = [name for name in DATA if any(key[0] == name for key in cells.done)]
    trials = len({cell["trial"] for cell in cells.done.values()})
    seconds = {method: [c["seconds"] for c in cells.done.values() if c["method"] == method] for method in METHODS}
    spent = "; ".join(f"{method} {np.median(s):.3f}" for method, s in seconds.items() if s)
    worst = max(cell["gap"] for cell in cells.done.values())
    path = cells.path.with_suffix(".md")
    sections = "\n\n".join(section(cells, name) for name in names)
    noise, bound, mu, order = (SETTINGS["noise"], SETTINGS["bound"], SETTINGS["srcp"]["mu"], SETTINGS["ccsr"]["order"])
    neighbours = SETTINGS["graph"]["n_neighbors"]
    write_report(
        path,
        f"""# CCSR, SRCP and MinKL: scores against the number of links

Made by `CVXLINK_DATA=… python benchmarks/link_scores.py --trials {trials}` on {os.cpu_count()} cores, Python
{platform.python_version()}, scikit-learn {version("scikit-learn")}.

All data sets share one setting: features scaled to unit variance, {neighbours} nearest neighbours, the two directions
of an edge averaged, weights exp(−d²/2σ²), components joined. There are two widths σ: the average distance to the
neighbours, and 1, as in the paper on SRCP. CCSR has {order} eigenvectors, SRCP has μ = {mu}. MinKL takes the same
affinity with a unit diagonal and the smallest jitter, with noise ε = {noise} (the affinity propagation of Lu &
Carreira-Perpiñán) or with bounds {bound}, for both kinds of links; it uses algorithm A for two classes and B for more.
"Without links" is spectral clustering of the graph. Links are pairs drawn at random in each of {trials} trials,
must-links if their classes agree.

Each cell has the adjusted Rand index, mean ± standard deviation, and the clustering error. The best mean of a row is
bold. The largest certified relative gap of all answers is {worst:.0e}. Median seconds of `solve` with its certificate:
{spent}.

![Adjusted Rand index against the number of links]({path.with_suffix(".png").name})

{sections}
""",
    )
    plot(cells, names)
    print(f"written: {path} and the plot beside it")


def plot(cells: Cells, names: list[str]) -> None:
    def lines(sigma: str | float, name: str) -> list[Line]:
        curves = {method: mean_curve(cells, name, sigma, method, "ari") for method in METHODS}
        return [Line(m, LINKS, mean, spread, baseline=m == BASELINE) for m, (mean, spread) in curves.items()]

    draw(cells.path.with_suffix(".png"), WIDTHS, names, lines, "links", "adjusted Rand index", LINKS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, choices=range(1, 1001), metavar="N", default=10)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), metavar="NAME", help=", ".join(DATA))
    names = "; ".join(METHODS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME", help=names)
    parser.add_argument("--cells", type=Path, default=RESULTS / "link_scores.jsonl", help="where finished cells are")
    parser.add_argument("--report", action="store_true", help="compute nothing, write the page")
    arguments = parser.parse_args()
    cells = Cells(arguments.cells, SETTINGS, ("data", "sigma", "method", "links", "trial"))
    try:
        if not arguments.report:
            run(cells, arguments.data, arguments.methods, arguments.trials)
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on from here")
    if cells.done:
        report(cells)


if __name__ == "__main__":
    main()
