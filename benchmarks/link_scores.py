"""CCSR, SRCP and MinKL on the papers' UCI data: scores against the number of links.

    CVXLINK_DATA=… python benchmarks/link_scores.py --trials 10

Every finished cell is appended to docs/results/link_scores.jsonl at once: interrupt it when you like, and the same
command goes on where it stopped. The report and the plot are written at the end, and with --report from the cells there
are. (Ten trials take nine minutes, so the cells themselves are not kept in the repository.) A data set that is not at
hand is left out, and said so.

One setting for all data sets and methods, SETTINGS below.
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
from resumable import RESULTS, Cells, table, work_through, write_report

SETTINGS = {
    "scaling": "unit variance",
    "graph": {"n_neighbors": 20, "symmetrize": "mean", "connect": True},
    "ccsr": {"order": 15},
    "srcp": {"mu": 0.2},
    "noise": 0.1,
    "bound": 0.1,
}
# The average distance to the neighbours, and 1 as in the paper on SRCP.
WIDTHS = ("mean", 1.0)
DATA = ("iris", "wdbc", "sonar", "protein", "zoo", "ionosphere", "wine")
LINKS = (25, 50, 100, 200, 400)
METHODS = {
    "no links": lambda graph, links: cl.SRCP(graph, cl.Links(graph.n)),
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
        warnings.simplefilter("ignore", cl.LinkWarning)  # so few clusters as there are classes may be too few for links
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
    columns = []
    for method in METHODS:
        (ari, spread), (error, _) = (mean_curve(cells, name, sigma, method, what) for what in ("ari", "error"))
        columns.append([f"{a:.2f} ± {s:.2f}, {e:.0%}" for a, s, e in zip(ari, spread, error, strict=True)])
    return table(["links", *METHODS], zip(map(str, LINKS), *columns, strict=True))


def section(cells: Cells, name: str) -> str:
    found = load(name)
    size = f", {len(found[0])} points, {len(np.unique(found[1]))} classes" if found else ""
    parts = [f"## {name}{size}"]
    for sigma in WIDTHS:
        width = "σ the average distance to the neighbours" if sigma == "mean" else f"σ = {sigma:g}"
        parts.append(f"{width}:\n\n{score_table(cells, name, sigma)}")
    return "\n\n".join(parts)


def report(cells: Cells) -> None:
    names = [name for name in DATA if any(key[0] == name for key in cells.done)]
    trials = len({cell["trial"] for cell in cells.done.values()})
    seconds = {method: [c["seconds"] for c in cells.done.values() if c["method"] == method] for method in METHODS}
    spent = ", ".join(f"{method} {np.median(s):.3f} s" for method, s in seconds.items() if s)
    worst = max(cell["gap"] for cell in cells.done.values())
    path = cells.path.with_suffix(".md")
    sections = "\n\n".join(section(cells, name) for name in names)
    noise, bound, mu, order = (SETTINGS["noise"], SETTINGS["bound"], SETTINGS["srcp"]["mu"], SETTINGS["ccsr"]["order"])
    write_report(
        path,
        f"""# CCSR, SRCP and MinKL: scores against the number of links

Made by `python benchmarks/link_scores.py --trials {trials}` on {os.cpu_count()} cores, Python
{platform.python_version()}, scikit-learn {version("scikit-learn")}.

The same for all data sets: features scaled to unit variance; {SETTINGS["graph"]["n_neighbors"]} nearest neighbours,
the two directions of an edge averaged, weights exp(−d²/2σ²), components joined. Two widths σ: the average distance to
the neighbours, and 1, as in the paper on SRCP. CCSR with {order} eigenvectors, SRCP with μ = {mu}. MinKL on the same
affinity with a unit diagonal and the smallest jitter, with noise ε = {noise} (the affinity propagation of Lu &
Carreira-Perpiñán) or with bounds {bound}, for both kinds of links; algorithm A for two classes and B for more.
"no links" is spectral clustering of the graph. Links are pairs drawn at random, must-links if their classes agree,
anew in each of {trials} trials.

In each cell: adjusted Rand index, mean ± standard deviation, and clustering error. Median time of `solve` with its
certificate: {spent}. The largest certified relative gap of all answers is {worst:.0e}.

![Adjusted Rand index against the number of links]({path.with_suffix(".png").name})

{sections}
""",
    )
    plot(cells, names)
    print(f"written: {path} and the plot beside it")


def plot(cells: Cells, names: list[str]) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(names), figsize=(2.5 * len(names), 5.6), layout="constrained", squeeze=False)
    for row, sigma in enumerate(WIDTHS):
        for axis, name in zip(axes[row], names, strict=True):
            for k, method in enumerate(METHODS):
                mean, spread = mean_curve(cells, name, sigma, method, "ari")
                colour = "#555555" if method == "no links" else cl.plotting.COLOURS[k - 1]
                axis.plot(LINKS, mean, color=colour, label=method, linestyle="--" if method == "no links" else "-")
                axis.fill_between(LINKS, mean - spread, mean + spread, color=colour, alpha=0.13, linewidth=0)
            axis.set(xscale="log", xticks=LINKS, xticklabels=LINKS, ylim=(-0.1, 1.02))
            axis.minorticks_off()
            axis.tick_params(labelsize=8)
        axes[row, 0].set_ylabel(f"adjusted Rand index, σ {'the mean' if sigma == 'mean' else f'= {sigma:g}'}")
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(name)
    figure.supxlabel("number of links")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=len(METHODS), frameon=False)
    figure.savefig(cells.path.with_suffix(".png"), dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, choices=range(1, 1001), metavar="N", default=10)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--cells", type=Path, default=RESULTS / "link_scores.jsonl", help="where finished cells are")
    parser.add_argument("--report", action="store_true", help="compute nothing, write the report")
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
