"""CCSR, SRCP and MinKL on the UCI data of their papers: scores against the number of links.

    CVXLINK_DATA=… cvxlink study run studies/link_scores.toml
    python benchmarks/link_scores.py

The first computes what is missing, about nine minutes in all; the second makes the page and its picture of what is
there. A data set that cannot be found is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from pages import RESULTS, Finished, arguments_of, bold_best, made_by, require_cells, table, write_report
from panels import Line, draw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from cells.link_scores import BASELINE, DATA, LINKS, METHODS, SETTINGS, WIDTHS, load

FIELDS = ("data", "sigma", "method", "links", "trial")


def mean_curve(cells: Finished, name: str, sigma: str | float, method: str, what: str) -> tuple[np.ndarray, np.ndarray]:
    scores = [[cell[what] for cell in cells.of(name, sigma, method, count)] or [np.nan] for count in LINKS]
    return np.array([np.mean(s) for s in scores]), np.array([np.std(s) for s in scores])


def score_table(cells: Finished, name: str, sigma: str | float) -> str:
    methods = [method for method in METHODS if method != BASELINE]
    scores = {method: mean_curve(cells, name, sigma, method, "ari") for method in methods}
    errors = {method: mean_curve(cells, name, sigma, method, "error")[0] for method in methods}
    rows = []
    for k, count in enumerate(LINKS):
        means = [scores[method][0][k] for method in methods]
        shown = [f"{scores[m][0][k]:z.2f}±{scores[m][1][k]:.2f}, {errors[m][k]:.0%}" for m in methods]
        rows.append([str(count), *bold_best(shown, means)])
    return table(["links", *methods], rows)


def without_links(cells: Finished, name: str, sigma: str | float) -> str:
    """Say what the graph alone scores; the number of links does not matter."""
    found = [cell for cell in cells.of(name, sigma) if cell["method"] == BASELINE]
    return f"{np.mean([c['ari'] for c in found]):z.2f}, {np.mean([c['error'] for c in found]):.0%}" if found else "?"


def section(cells: Finished, name: str) -> str:
    X, y = load(name)
    parts = [f"## {name}, {len(X)} points, {len(np.unique(y))} classes"]
    for sigma, width in WIDTHS.items():
        alone = without_links(cells, name, sigma)
        parts.append(f"{width}; without links {alone}:\n\n{score_table(cells, name, sigma)}")
    return "\n\n".join(parts)


def report(cells: Finished, path: Path) -> None:
    names = [name for name in DATA if any(key[0] == name for key in cells.done)]
    trials = len({cell["trial"] for cell in cells.done.values()})
    seconds = {method: [c["seconds"] for c in cells.done.values() if c["method"] == method] for method in METHODS}
    spent = "; ".join(f"{method} {np.median(s):.3f}" for method, s in seconds.items() if s)
    worst = max(cell["gap"] for cell in cells.done.values())
    sections = "\n\n".join(section(cells, name) for name in names)
    noise, bound, mu, order = (SETTINGS["noise"], SETTINGS["bound"], SETTINGS["srcp"]["mu"], SETTINGS["ccsr"]["order"])
    neighbours = SETTINGS["graph"]["n_neighbors"]
    write_report(
        path,
        f"""# CCSR, SRCP and MinKL: scores against the number of links

{made_by("link_scores", "link_scores", packages=["scikit-learn"])}

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
    plot(cells, names, path)
    print(f"written: {path} and the plot beside it")


def plot(cells: Finished, names: list[str], path: Path) -> None:
    def lines(sigma: str | float, name: str) -> list[Line]:
        curves = {method: mean_curve(cells, name, sigma, method, "ari") for method in METHODS}
        return [Line(m, LINKS, mean, spread, baseline=m == BASELINE) for m, (mean, spread) in curves.items()]

    draw(path.with_suffix(".png"), WIDTHS, names, lines, "links", "adjusted Rand index", LINKS)


def main() -> None:
    asked = arguments_of(__doc__, RESULTS / "link_scores.md")
    cells = Finished.in_studies(["link_scores"], FIELDS, asked.folder)
    require_cells(cells, "link_scores")
    report(cells, asked.save)


if __name__ == "__main__":
    main()
