"""Quality against the number of links: all methods that take links, NCuts, which takes none, and installed peers.

    CVXLINK_DATA=… python benchmarks/few_links.py
    CVXLINK_DATA=… python benchmarks/few_links.py --draws 2 --sets iris wine --methods auto KP NCuts

Every finished cell is appended to docs/results/few_links.jsonl at once: interrupt it when you like, and the same
command goes on where it stopped. The page and its picture are written at the end; --report writes them from the cells
that are there. A data set that cannot be found is named and left out, and so is a peer that is not installed.

All data sets and methods share the SETTINGS below. Methods of the package run as the estimator runs them by default.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import cvxlink as cl
from cvxlink.studies.statistics import critical_difference, mean_ranks
from panels import Line, draw
from peers import PEERS, Task, why_missing
from resumable import RESULTS, Cells, bold_best, table, work_through, write_report

SETTINGS = {"scaling": "unit variance", "most points": 400, "wrong": 0.2}
DATA = [
    "iris",
    "wine",
    "wdbc",
    "digits",
    "glass",
    "hepatitis",
    "ionosphere",
    "sonar",
    "zoo",
    "protein",
    "synthetic_control",
    "usps0123",
    "mnist0123",
    "scene_gist",
]
LINKS = (0, 3, 10, 30, 60, 100, 150, 200)
WRONG = "150, a fifth wrong"
AUTO, ALONE, MIXTURE = "auto", "NCuts", "KP beside NCuts"
# The methods that the picture shows, besides the graph alone.
SHOWN = (AUTO, "LinkedCut", "KP", MIXTURE, "E2CP")


# ---------------------------------------------------------------------- methods


def ours(method: str, task: Task) -> np.ndarray:
    """Cluster as the estimator does; methods without links or labels get none."""
    estimator = cl.ConstrainedClustering(task.k, method=method, random_state=task.seed)
    return estimator.fit(task.X, links=task.links).labels_


def mixture(task: Task) -> np.ndarray:
    """Cluster KP's rows of unit length beside half of those of NCuts: what anyone could write in a few lines."""
    graph = cl.Graph.knn(task.X)
    parts = [0.5 * unit_rows(cl.NCuts(graph, task.k).solve().embedding)]
    if len(task.links):
        parts.append(unit_rows(cl.KP(graph, task.links).solve().factor))
    return cl.clustering.kmeans(np.hstack(parts), task.k, task.seed)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def own_methods() -> dict[str, Callable[[Task], np.ndarray]]:
    taking = [row.name for row in cl.methods() if "links" in row.needs and {"graph", "kernel"} & set(row.needs)]
    return {AUTO: partial(ours, AUTO), ALONE: partial(ours, ALONE)} | {name: partial(ours, name) for name in taking}


def all_methods() -> dict[str, Callable[[Task], np.ndarray]]:
    peers = {peer.name: peer.cluster for peer in PEERS if peer.package not in ("cvxlink", "scikit-learn")}
    return own_methods() | {MIXTURE: mixture} | peers


# ---------------------------------------------------------------------- data


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a data set, scaled; of a large one the same random points each time."""
    try:
        X, y = cl.datasets.load(name)
    except cl.DataUnavailable as error:
        print(f"{name} is left out: {error}")
        return None
    most = SETTINGS["most points"]
    if len(y) > most:
        chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
        X, y = X[chosen], y[chosen]
    return StandardScaler().fit_transform(X[:, np.ptp(X, axis=0) > 0]), y


def drawn_links(y: np.ndarray, links: int | str, seed: int) -> cl.Links:
    """Draw links at random; in the panel of wrong links, a fifth of 150 say the opposite."""
    if links != WRONG:
        return cl.Links.sample(y, n_links=links, random_state=seed)
    right = cl.Links.sample(y, n_links=150, random_state=seed)
    return turned(right, round(SETTINGS["wrong"] * len(right)), seed)


def turned(links: cl.Links, count: int, seed: int) -> cl.Links:
    """Return links of which ``count``, drawn at random, say the opposite."""
    pairs = np.vstack([links.must, links.cannot])
    is_must = np.arange(len(pairs)) < len(links.must)
    is_must[np.random.default_rng(seed).permutation(len(pairs))[:count]] ^= True
    return cl.Links(links.n, pairs[is_must], pairs[~is_must])


def consistent_part(links: cl.Links, seed: int) -> cl.Links:
    """Go through the links in random order, and leave out those that contradict the ones before."""
    kept = cl.Links(links.n)
    pairs = [(pair, True) for pair in links.must.tolist()] + [(pair, False) for pair in links.cannot.tolist()]
    for k in np.random.default_rng(seed).permutation(len(pairs)):
        pair, is_must = pairs[k]
        must = [*kept.must.tolist(), pair] if is_must else kept.must
        cannot = kept.cannot if is_must else [*kept.cannot.tolist(), pair]
        more = cl.Links(links.n, must, cannot)
        kept = kept if more.contradiction() else more
    return kept


# ---------------------------------------------------------------------- measuring


def compute(cluster: Callable[[Task], np.ndarray], X: np.ndarray, y: np.ndarray, links: cl.Links, seed: int) -> dict:
    """Return the scores of one clustering; where a method finds none, those of one cluster of all points."""
    start, failed = time.perf_counter(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels = cluster(Task(X, y, links, seed))
        except cl.InconsistentLinks:
            return compute(cluster, X, y, consistent_part(links, seed), seed) | {"left out": True}
        except Exception as error:  # peers raise whatever they like when they find no clustering
            labels, failed = np.zeros(len(y), dtype=int), type(error).__name__
    seconds = time.perf_counter() - start
    scores = cl.metrics.scores(y, labels, links)
    found = {key: round(float(scores[key]), 4) for key in ("ari", "nmi", "violated")}
    return found | {"seconds": round(seconds, 4), "failed": failed}


def run(cells: Cells, names: Iterable[str], methods: Iterable[str], draws: int) -> None:
    data = {name: found for name in names if (found := load(name)) is not None}
    known = all_methods()
    wanted = [
        (name, links, method, seed)
        for seed in range(draws)
        for name in data
        for links in (*LINKS, WRONG)
        for method in methods
        if seed == 0 or not independent(method, links)
    ]

    def add(name: str, links: int | str, method: str, seed: int) -> None:
        X, y = data[name]
        found = compute(known[method], X, y, drawn_links(y, links, seed), seed)
        cells.add({"data": name, "links": links, "method": method, "draw": seed, **found})

    todo = [key for key in wanted if key not in cells.done]
    work_through(todo, lambda name, links, method, seed: f"{name}, {method}, {links} links, draw {seed + 1}", add)


def independent(method: str, links: int | str) -> bool:
    """Whether the draw of links makes no difference."""
    return links == 0 or method == ALONE


# ---------------------------------------------------------------------- the report


def mean_scores(cells: Cells, names: list[str], methods: list[str], links: int | str, what: str) -> np.ndarray:
    """Return a row per data set and a column per method: means over the draws, NaN where there are none."""
    scores = np.full((len(names), len(methods)), np.nan)
    for i, name in enumerate(names):
        for j, method in enumerate(methods):
            same = 0 if method == ALONE and not cells.of(name, links, method) else links
            found = [cell[what] for cell in cells.of(name, same, method)]
            scores[i, j] = np.mean(found) if found else np.nan
    return scores


def columns(cells: Cells) -> list[int | str]:
    there = {key[1] for key in cells.done}
    return [links for links in (*LINKS, WRONG) if links in there]


def means_table(cells: Cells, names: list[str], methods: list[str], what: str) -> str:
    """Return the means over data sets: a row for each method, the best of each column bold."""
    marked = []
    for links in columns(cells):
        means = mean_scores(cells, names, methods, links, what).mean(axis=0)
        marked.append(bold_best([f"{mean:z.3f}" if np.isfinite(mean) else "" for mean in means], means))
    rows = [[method, *row] for method, row in zip(methods, zip(*marked, strict=True), strict=True)]
    return table(["", *map(str, columns(cells))], rows)


def ranks_table(cells: Cells, names: list[str], methods: list[str]) -> str:
    """Return mean ranks by the adjusted Rand index; methods within the critical difference of the best are bold."""
    marked, tail = [], []
    counted = [links for links in columns(cells) if links != 0]
    for links in counted:
        scores = mean_scores(cells, names, methods, links, "ari")
        whole = np.isfinite(scores).all(axis=0)
        ranks, far = np.full(len(methods), np.nan), critical_difference(max(int(whole.sum()), 2), len(names))
        ranks[whole] = mean_ranks(scores[:, whole])
        near = ranks <= np.nanmin(ranks) + far
        cell = ["" if np.isnan(r) else f"**{r:.1f}**" if n else f"{r:.1f}" for r, n in zip(ranks, near, strict=True)]
        marked.append(cell)
        tail.append(f"{far:.1f}")
    rows = [[method, *row] for method, row in zip(methods, zip(*marked, strict=True), strict=True)]
    return table(["", *map(str, counted)], [*rows, ["*critical difference*", *tail]])


def losses_table(cells: Cells, names: list[str]) -> str:
    """Return each data set's score of the default beside that of the graph alone."""
    rows = []
    for name in names:
        alone = mean_scores(cells, [name], [ALONE], 0, "ari")[0, 0]
        scores = [mean_scores(cells, [name], [AUTO], links, "ari")[0, 0] for links in columns(cells)]
        rows.append([name, f"{alone:z.2f}", *(f"{s:z.2f}" if np.isfinite(s) else "" for s in scores)])
    return table(["", ALONE, *map(str, columns(cells))], rows)


def failures(cells: Cells) -> str:
    found: dict[tuple[str, str], int] = {}
    for cell in cells.done.values():
        if cell["failed"]:
            key = cell["method"], cell["failed"]
            found[key] = found.get(key, 0) + 1
    said = [f"{method} found no clustering in {count} cells ({why})" for (method, why), count in sorted(found.items())]
    return "; ".join(said) + "." if said else "Every method found a clustering in every cell."


def report(cells: Cells, missing: list[str]) -> None:
    names = [name for name in DATA if any(key[0] == name for key in cells.done)]
    there = {key[2] for key in cells.done}
    methods = [method for method in all_methods() if method in there]
    draws = len({cell["draw"] for cell in cells.done.values()})
    path = cells.path.with_suffix(".md")
    left_out = "".join(f"\nLeft out: {reason}.\n" for reason in missing)
    default = f"\n## The default beside the graph alone\n\n{losses_table(cells, names)}\n" if AUTO in there else ""
    write_report(
        path,
        f"""# Quality against the number of links, from none to 200

Made by `CVXLINK_DATA=… python benchmarks/few_links.py --draws {draws}` on {os.cpu_count()} cores, Python
{platform.python_version()}, scikit-learn {version("scikit-learn")}, cvxlink {version("cvxlink")}.

Data sets: {", ".join(names)}; features are scaled to unit variance, and of a larger set
{SETTINGS["most points"]} points are drawn once. Links are pairs drawn at random, must-links if their classes agree,
the same for all methods; scores are
means of {draws} draws, then of the data sets. Methods of the package run with the estimator's defaults. "{AUTO}" is
the default method, "{ALONE}" clusters the same graph without links, "{MIXTURE}" is k-means on KP's rows of unit length
beside half of those of NCuts. In the last column 30 of 150 links say the opposite of what is true; methods that
enforce links get them without those that contradict others, which are found in random order. A method that finds no
clustering scores as one cluster of all points does.
{left_out}
![Adjusted Rand index against the number of links]({path.with_suffix(".png").name})

## Adjusted Rand index

{means_table(cells, names, methods, "ari")}

## Normalised mutual information

{means_table(cells, names, methods, "nmi")}

## Mean ranks

By the adjusted Rand index, 1 is the best. Two methods differ significantly at the level 0.05 if their mean ranks differ
by more than the critical difference (Nemenyi's test, Demšar 2006); ranks within it of the best are bold.

{ranks_table(cells, names, methods)}
{default}
{failures(cells)}
""",
    )
    plot(cells, names)
    print(f"written: {path} and the plot beside it")


def plot(cells: Cells, names: list[str]) -> None:
    counts = [links for links in columns(cells) if links not in (0, WRONG)]
    there = {key[2] for key in cells.done}

    def lines(setting: str, name: str) -> list[Line]:
        def curve(method: str) -> np.ndarray:
            return np.array([mean_scores(cells, [name], [method], links, "ari")[0, 0] for links in counts])

        curves = {method: curve(method) for method in (*SHOWN, ALONE) if method in there}
        return [Line(method, counts, means, baseline=method == ALONE) for method, means in curves.items()]

    draw(cells.path.with_suffix(".png"), {"": ""}, names, lines, "links", "adjusted Rand index", [3, 10, 30, 100])


def main() -> None:
    known = list(all_methods())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, choices=range(1, 1001), metavar="N", default=10)
    parser.add_argument("--sets", nargs="+", choices=DATA, default=DATA, metavar="NAME", help=", ".join(DATA))
    parser.add_argument("--methods", nargs="+", choices=known, default=known, metavar="NAME", help="; ".join(known))
    parser.add_argument("--cells", type=Path, default=RESULTS / "few_links.jsonl", help="where finished cells are")
    parser.add_argument("--report", action="store_true", help="compute nothing, write the page")
    arguments = parser.parse_args()
    reasons = {peer.name: why_missing(peer) for peer in PEERS if peer.name in arguments.methods}
    there = [method for method in arguments.methods if reasons.get(method) is None]
    cells = Cells(arguments.cells, SETTINGS, ("data", "links", "method", "draw"))
    try:
        if not arguments.report:
            run(cells, arguments.sets, there, arguments.draws)
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on from here")
    if cells.done:
        report(cells, list(dict.fromkeys(reason for reason in reasons.values() if reason)))


if __name__ == "__main__":
    main()
