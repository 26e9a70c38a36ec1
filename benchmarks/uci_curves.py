"""Scores against the number of labels, or links, on UCI data.

Figures 4 and 5 of Wang, Qian & Davidson (2012), on labels and constrained cuts, and figure 2 of Fu et al. (2011), on
the propagation of links.

    CVXLINK_DATA=… cvxlink study run studies/uci_curves_labels.toml
    CVXLINK_DATA=… cvxlink study run studies/uci_curves_links.toml
    python benchmarks/uci_curves.py

The first two compute what is missing, and can be interrupted; the third makes the pages and their pictures of what is
there. A data set that cannot be found is left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from pages import RESULTS, Finished, arguments_of, bold_best, made_by, require_cells, table, write_report
from panels import Line, draw

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from cells.uci_curves import BASELINE, FIGURES, LABELS, LINKS, SETTINGS, TITLES, Figure, load

FIELDS = ("figure", "data", "setting", "method", "amount", "trial")


def curve(cells: Finished, figure: Figure, name: str, setting: str, method: str) -> dict[int, dict[int, dict]]:
    """Return the cells of a curve by count and trial."""
    found: dict[int, dict[int, dict]] = {}
    for cell in cells.of(figure.name, name, setting, method):
        found.setdefault(int(cell["count"]), {})[cell["trial"]] = cell
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


def section(cells: Finished, figure: Figure, name: str) -> str:
    X, y = load(figure.name, name)
    shape = f", {X.shape[0]} points, {X.shape[1]} features, classes of {', '.join(map(str, np.bincount(y)))}"
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


def above_optimum(cells: Finished) -> str:
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


def report(cells: Finished, figure: Figure, path: Path) -> None:
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

{made_by("uci_curves", f"uci_curves_{figure.name}", packages=["scikit-learn"])}

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


def plot(cells: Finished, figure: Figure, names: list[str], path: Path) -> list[tuple[str, str]]:
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
    asked = arguments_of(__doc__, RESULTS / "uci_curves.md")
    studies = {name: f"uci_curves_{name}" for name in FIGURES}
    cells = Finished.in_studies(studies.values(), FIELDS, asked.folder)
    require_cells(cells, *studies.values())
    for name, study in studies.items():
        if cells.of(name):
            report(cells, FIGURES[name], asked.save.with_name(f"{study}.md"))


if __name__ == "__main__":
    main()
