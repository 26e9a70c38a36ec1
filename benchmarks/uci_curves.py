"""Scores against the number of labels, or links, on UCI data.

Figures 4 and 5 of Wang, Qian & Davidson (2012), on labels and constrained cuts, and figure 2 of Fu et al. (2011), on
the propagation of links.

    CVXLINK_DATA=… python benchmarks/uci_curves.py --trials 50

Every finished cell is appended to docs/results/uci_curves.jsonl at once: interrupt it when you like, and the same
command goes on where it stopped, also with more trials or methods. The pages and their pictures are written at the end;
--report writes them from the cells that are there. (The repository does not keep the cells.) A data set that cannot be
found is named and left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import cvxlink as cl
from panels import Line, draw
from resumable import RESULTS, Cells, bold_best, table, work_through, write_report

SETTINGS = {
    "labels": {"graph": "rbf", "sigma": "mean"},
    "links": {"graph": "knn", "n_neighbors": 20, "symmetrize": "mean"},
    "llgc": {"alpha": 0.5},
    "csc": {"fraction": 0.5},
    "cscgfhf": {"sigma": 1.0},
    "srcp": {"mu": 0.2, "scale": 1.0},
    "e2cp": {"alpha": 5 / 6, "scale": 1.0},
    "ap noise": 0.1,
}
FRACTIONS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
LINKS = (25, 50, 100, 200, 400)
BASELINE = "NCuts"


@dataclass(frozen=True)
class Figure:
    """A figure: its data sets, how they are prepared, its methods, and what it counts."""

    name: str
    title: str
    data: tuple[str, ...]
    settings: tuple[str, ...]
    methods: dict
    counted: str

    def counts(self, n: int) -> tuple[int, ...]:
        return tuple(max(2, round(f * n)) for f in FRACTIONS) if self.counted == "labels" else LINKS

    def graph(self, X: np.ndarray, setting: str) -> cl.Graph:
        if setting != "as they are":
            X = StandardScaler().fit_transform(X)
        if self.counted == "labels":
            return cl.Graph.rbf(X, SETTINGS["labels"]["sigma"])
        options = {key: SETTINGS["links"][key] for key in ("n_neighbors", "symmetrize")}
        return cl.Graph.knn(X, sigma=1.0 if setting == "σ = 1" else "mean", **options)


def affinity_propagation(graph: cl.Graph, links: cl.Links, k: int) -> cl.MinKL:
    noise = SETTINGS["ap noise"]
    return cl.MinKL(graph.kernel(), links, must_noise=noise, cannot_noise=noise, jitter="smallest")


def constrained_cut(graph: cl.Graph, labels: np.ndarray, k: int, orthogonal: bool = True) -> cl.CSC:
    return cl.CSC(graph, cl.Links.from_labels(labels), n_clusters=k, orthogonal=orthogonal, **SETTINGS["csc"])


# By name: the problem on a graph, what is known and the number of clusters; and the route, where it is not the default.
LABELS = Figure(
    "labels",
    "Scores against the number of labels: figures 4 and 5 of Wang, Qian & Davidson (2012)",
    ("hepatitis", "iris", "wine", "wine-119", "glass", "ionosphere", "wdbc"),
    ("unit variance", "as they are"),
    {
        BASELINE: (lambda graph, labels, k: cl.NCuts(graph, k), None),
        "GFHF": (lambda graph, labels, k: cl.GFHF(graph, labels), None),
        "LLGC": (lambda graph, labels, k: cl.LLGC(graph, labels, **SETTINGS["llgc"]), None),
        "CSC, paper": (constrained_cut, "paper"),
        "CSC, leaning": (lambda graph, labels, k: constrained_cut(graph, labels, k, False), "paper"),
        "CSC, exact": (constrained_cut, None),
        "CSC+GFHF": (lambda graph, labels, k: cl.CSCGFHF(graph, labels, **SETTINGS["cscgfhf"]), None),
    },
    "labels",
)
PAIRS = Figure(
    "links",
    "Scores against the number of links: figure 2 of Fu et al. (2011)",
    ("zoo", "wdbc", "ionosphere", "wine"),
    ("σ = 1", "σ average"),
    {
        BASELINE: (lambda graph, links, k: cl.NCuts(graph, k), None),
        "SL": (lambda graph, links, k: cl.SL(graph, links), None),
        "SSKK": (lambda graph, links, k: cl.SSKK(graph, links, n_clusters=k, penalty="paper"), None),
        "AP": (affinity_propagation, None),
        "SRCP": (lambda graph, links, k: cl.SRCP(graph, links, **SETTINGS["srcp"]), None),
        "E2CP": (lambda graph, links, k: cl.E2CP(graph, links, **SETTINGS["e2cp"]), None),
        "CSC, exact": (lambda graph, links, k: cl.CSC(graph, links, n_clusters=k, **SETTINGS["csc"]), None),
    },
    "links",
)
TITLES = {
    "unit variance": "Features scaled to unit variance",
    "as they are": "Features as they are",
    "σ = 1": "σ = 1",
    "σ average": "σ the average distance to the neighbours",
}
FIGURES = {figure.name: figure for figure in (LABELS, PAIRS)}


def load(figure: Figure, name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the data; for labels with two classes, as the paper prepares them."""
    try:
        X, y = cl.datasets.load(name.partition("-")[0])
    except cl.DataUnavailable as error:
        print(f"{name} is left out: {error}")
        return None
    if figure is LABELS:
        classes = np.unique(y)
        if name in ("iris", "wine-119"):  # without setosa; of wine, without the class of 59
            X, y = X[y != classes[0]], y[y != classes[0]]
        elif name == "wine":  # without its third class
            X, y = X[y != classes[2]], y[y != classes[2]]
        elif name == "glass":  # window glass or not
            y = (y >= classes[3]).astype(int)
    return X, np.unique(y, return_inverse=True)[1]


def compute(
    figure: Figure, name: str, setting: str, method: str, count: int, trial: int, graph: cl.Graph, y: np.ndarray
) -> dict:
    seed, k = 1000 * trial + count, len(np.unique(y))
    if figure is LABELS:
        known = cl.sample_labels(y, n_labels=count, random_state=seed)
    else:
        known = cl.Links.sample(y, n_links=count, random_state=seed)
    build, route = figure.methods[method]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the paper's procedure is not optimal, that links need more clusters …
        solution = build(graph, known, k).solve(route=route)
        seconds = time.perf_counter() - start
        labels = solution.cluster(k, random_state=trial)
    certificate = solution.certificate
    return {
        "figure": figure.name,
        "data": name,
        "setting": setting,
        "method": method,
        "count": count,
        "trial": trial,
        "ari": round(cl.metrics.scores(y, labels)["ari"], 4),
        "value": float(f"{solution.value:.6g}"),
        "bound": None if certificate.lower_bound is None else float(f"{certificate.lower_bound:.6g}"),
        "seconds": round(seconds, 4),
    }


def run(cells: Cells, figure: Figure, names: list[str], settings: list[str], methods: list[str], trials: int) -> None:
    data = {name: found for name in names if (found := load(figure, name)) is not None}
    graphs = {}
    for name, (X, _) in data.items():
        for setting in settings:
            graphs[name, setting] = figure.graph(X, setting)
    wanted = [
        (figure.name, name, setting, method, count, trial)
        for trial in range(trials)
        for name in data
        for setting in settings
        for method in methods
        for count in figure.counts(len(data[name][1]))
    ]
    todo = [key for key in wanted if key not in cells.done]

    def add(_: str, name: str, setting: str, *rest: object) -> None:
        cells.add(compute(figure, name, setting, *rest, graphs[name, setting], data[name][1]))

    def described(kind: str, name: str, setting: str, method: str, count: int, trial: int) -> str:
        return f"{name}, {setting}, {method}, {count} {kind}, trial {trial + 1}"

    work_through(todo, described, add)


# ---------------------------------------------------------------------- the report


def curve(cells: Cells, figure: Figure, name: str, setting: str, method: str) -> dict[int, dict[int, dict]]:
    """Return the cells of a curve by count and trial."""
    found: dict[int, dict[int, dict]] = {}
    for cell in cells.of(figure.name, name, setting, method):
        found.setdefault(cell["count"], {})[cell["trial"]] = cell
    return dict(sorted(found.items()))


def scores(points: dict[int, dict[int, dict]]) -> dict[int, tuple[float, float]]:
    """Return mean and standard deviation of the adjusted Rand index by count."""
    return {c: (np.mean(s), np.std(s)) for c, t in points.items() if (s := [cell["ari"] for cell in t.values()])}


def gains(points: dict, baseline: dict) -> dict[int, float]:
    """Return in how many trials a method scores higher than the baseline, by count."""
    found = {}
    for count, trials in points.items():
        pairs = [(c["ari"], baseline[count][t]["ari"]) for t, c in trials.items() if t in baseline.get(count, {})]
        if pairs:
            found[count] = float(np.mean([ours > theirs for ours, theirs in pairs]))
    return found


def section(cells: Cells, figure: Figure, name: str) -> str:
    found = load(figure, name)
    sizes = ", ".join(map(str, np.bincount(found[1]))) if found else ""
    shape = f", {found[0].shape[0]} points, {found[0].shape[1]} features, classes of {sizes}" if found else ""
    parts = [f"### {name}{shape}"]
    for setting in figure.settings:
        curves = {method: curve(cells, figure, name, setting, method) for method in figure.methods}
        curves = {method: points for method, points in curves.items() if points}
        if not curves:
            continue
        baseline = curves.pop(BASELINE, {})
        known = [cell["ari"] for trials in baseline.values() for cell in trials.values()]
        alone = f"; {BASELINE} has {np.mean(known):z.2f}±{np.std(known):.2f}" if known else ""
        parts.append(f"{TITLES[setting]}{alone}:\n\n{score_table(figure, curves)}")
        if known and curves:
            parts.append(f"Share of trials above {BASELINE}:\n\n{gain_table(figure, curves, baseline)}")
    return "\n\n".join(parts)


def score_table(figure: Figure, curves: dict[str, dict]) -> str:
    means = {method: scores(points) for method, points in curves.items()}
    rows = []
    for count in next(iter(means.values()), ()):
        found = [means[method].get(count, (np.nan, np.nan)) for method in curves]
        shown = [f"{mean:z.2f}±{spread:.2f}" for mean, spread in found]
        rows.append([str(count), *bold_best(shown, [mean for mean, _ in found])])
    return table([figure.counted, *curves], rows)


def gain_table(figure: Figure, curves: dict[str, dict], baseline: dict) -> str:
    shares = {method: gains(points, baseline) for method, points in curves.items()}
    counts = next(iter(shares.values()))
    rows = [[str(count), *(f"{shares[m].get(count, np.nan):.0%}" for m in curves)] for count in counts]
    return table([figure.counted, *curves], rows)


def above_optimum(cells: Cells) -> str:
    """Return how far the paper's procedure is from the optimum of its program."""
    pairs = [(c["value"], c["bound"]) for c in cells.of(LABELS.name) if c["method"] == "CSC, paper"]
    if not pairs:
        return ""
    ratios = np.array([value / bound for value, bound in pairs if bound > 1e-9])
    optimal = np.mean(ratios < 1 + 1e-4)
    return (
        f"Of {len(ratios)} answers of the paper's procedure for CSC, {optimal:.0%} are optimal; the cut costs "
        f"{np.median(ratios):.2f} times the optimum in the median, and up to {ratios.max():.3g} times."
    )


def report(cells: Cells, figure: Figure) -> None:
    path = cells.path.with_name(f"uci_curves_{figure.name}.md")
    mine = cells.of(figure.name)
    names = [name for name in figure.data if any(cell["data"] == name for cell in mine)]
    trials = len({cell["trial"] for cell in mine})
    about = ABOUT[figure.name].format(**{key.replace(" ", "_"): value for key, value in SETTINGS.items()})
    pictures = "\n\n".join(f"![{title}]({picture})" for title, picture in plot(cells, figure, names, path))
    extra = f"\n\n{above_optimum(cells)}" if figure is LABELS else ""
    sections = "\n\n".join(section(cells, figure, name) for name in names)
    write_report(
        path,
        f"""# {figure.title}

Made by `CVXLINK_DATA=… python benchmarks/uci_curves.py --figures {figure.name} --trials {trials}` on
{os.cpu_count()} cores, Python {platform.python_version()}, scikit-learn {version("scikit-learn")}.

{about}

The tables have the adjusted Rand index, mean ± standard deviation over {trials} trials, with the best mean of a row in
bold, and the share of trials in which a method scores higher than {BASELINE}, spectral clustering that knows
nothing.{extra}

{pictures}

## Numbers

{sections}
""",
    )
    print(f"written: {path} and the plots beside it")


ABOUT = {
    "labels": """The data are prepared as in the paper: iris without setosa, wine without one class, hepatitis without
incomplete rows, and two classes each (for glass: window glass or not, which the paper does not say). The paper removes
"class 3" of wine but counts 119 points, which are left when class 1, with 59 points, is removed: both are here, as wine
and wine-119. The graph joins all points by exp(−d²/2σ²), with σ the average distance. The paper gives neither σ nor a
scaling of the features, so there are two: unit variance, and as they are. Labels are drawn at random, from 5 % to 50 %
of the points, at least one of each class. LLGC has α = {llgc[alpha]}. CSC has links from all pairs of labels, and β
{csc[fraction]} of the largest feasible one (the paper does not say). It is solved by the paper's procedure with
f ⊥ D^½1 as printed, by the same without that condition ("leaning"), and exactly. CSC+GFHF has σ = {cscgfhf[sigma]:g} in
equation (15).""",
    "links": """All data sets share one setting: features scaled to unit variance (the paper does not say), weights
exp(−d²/2σ²) to the {links[n_neighbors]} nearest neighbours, averaged over the two directions, components joined. There
are two widths: σ = 1, as in the paper, and the average distance to the neighbours. SRCP has μ = {srcp[mu]}, as in the
paper, and E2CP the same μ. AP is the affinity propagation of Lu & Carreira-Perpiñán on the same affinity, with a unit
diagonal, the smallest jitter and noise {ap_noise}. SSKK has the penalty of the papers. CSC is solved exactly, with β
{csc[fraction]} of the largest feasible one. The paper compares SRCP, AP, SL, SSKK and NCuts. Links are pairs drawn at
random.""",
}


def plot(cells: Cells, figure: Figure, names: list[str], path: Path) -> list[tuple[str, str]]:
    """Draw scores, and shares of trials above the baseline; return titles and names of the files."""

    def score_lines(setting: str, name: str) -> list[Line]:
        found = {method: scores(curve(cells, figure, name, setting, method)) for method in figure.methods}
        return [
            Line(method, list(points), [mean for mean, _ in points.values()], baseline=method == BASELINE)
            for method, points in found.items()
        ]

    def gain_lines(setting: str, name: str) -> list[Line]:
        baseline = curve(cells, figure, name, setting, BASELINE)
        found = {m: gains(curve(cells, figure, name, setting, m), baseline) for m in figure.methods if m != BASELINE}
        return [Line(method, list(shares), list(shares.values())) for method, shares in found.items()]

    drawn = []
    settings = {setting: TITLES[setting] for setting in figure.settings}
    ticks = LINKS if figure.counted == "links" else ()
    for what, title, lines in (
        ("ari", "adjusted Rand index", score_lines),
        ("gain", f"share of trials above {BASELINE}", gain_lines),
    ):
        picture = path.with_name(f"{path.stem}_{what}.png")
        draw(picture, settings, names, lines, figure.counted, title, ticks)
        drawn.append((title[:1].upper() + title[1:], picture.name))
    return drawn


def main() -> None:
    everything = [name for figure in FIGURES.values() for name in figure.data]
    methods = {method for figure in FIGURES.values() for method in figure.methods}
    every = [setting for figure in FIGURES.values() for setting in figure.settings]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, choices=range(1, 1001), metavar="N", default=20)
    parser.add_argument("--figures", nargs="+", choices=FIGURES, default=list(FIGURES))
    names = sorted(set(everything))
    parser.add_argument("--data", nargs="+", choices=names, default=everything, metavar="NAME", help=", ".join(names))
    parser.add_argument("--settings", nargs="+", choices=every, default=every, metavar="NAME", help="; ".join(every))
    chosen = sorted(methods)
    parser.add_argument("--methods", nargs="+", choices=chosen, default=chosen, metavar="NAME", help="; ".join(chosen))
    parser.add_argument("--cells", type=Path, default=RESULTS / "uci_curves.jsonl", help="where finished cells are")
    parser.add_argument("--report", action="store_true", help="compute nothing, write the pages")
    arguments = parser.parse_args()
    cells = Cells(arguments.cells, SETTINGS, ("figure", "data", "setting", "method", "count", "trial"))
    try:
        for figure in [] if arguments.report else [FIGURES[name] for name in arguments.figures]:
            names = [name for name in figure.data if name in arguments.data]
            settings = [setting for setting in figure.settings if setting in arguments.settings]
            chosen = [method for method in figure.methods if method in arguments.methods]
            run(cells, figure, names, settings, chosen, arguments.trials)
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on from here")
    for figure in (FIGURES[name] for name in arguments.figures):
        if cells.of(figure.name):
            report(cells, figure)


if __name__ == "__main__":
    main()
