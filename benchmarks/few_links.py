"""Quality against the number of links: all methods that take links, NCuts, which takes none, and peers.

    CVXLINK_DATA=… cvxlink study run studies/few_links.toml
    python benchmarks/few_links.py

The first computes what is missing, and can be interrupted; the second makes the page and its picture of what is there.
A data set that cannot be found is left out, and so is a peer that is not installed.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from cvxlink.studies.statistics import critical_difference, mean_ranks
from pages import RESULTS, Finished, arguments_of, bold_best, made_by, require_cells, table, write_report
from panels import Line, draw

WRONG = "150, a fifth wrong"
AUTO, ALONE, MIXTURE = "auto", "NCuts", "KP beside NCuts"
# The methods that the picture shows, besides the graph alone.
SHOWN = (AUTO, "LinkedCut", "KP", MIXTURE, "E2CP")
# What a clustering into one cluster of all points scores, in place of one that was not found.
ONE_CLUSTER = {"ari": 0.0, "nmi": 0.0}


def cells_in(folder: Path) -> tuple[Finished, list[str]]:
    """Return the cells by data set, links, method and draw, and why data sets and peers are left out.

    A method that finds no clustering scores as one cluster does. One that never found any is left out.
    """
    found = Finished.in_studies(["few_links"], ("data", "links", "wrong", "configuration", "draw"), folder)
    done = {(key[0], counted(cell), *key[3:]): cell | {"failed": ""} for key, cell in found.done.items()}
    works = {key[2] for key in done}
    reasons = []
    for cell in found.lost:
        if cell["refused"] in ("DataUnavailable", "MissingDependency") or cell["configuration"] not in works:
            reasons.append(cell["reason"])
        else:
            key = (cell["data"], counted(cell), cell["configuration"], cell["draw"])
            done[key] = cell | ONE_CLUSTER | {"failed": cell["reason"].partition(":")[0]}
    return Finished(done), list(dict.fromkeys(reasons))


def counted(cell: dict) -> int | str:
    """Return how a cell's number of links is called."""
    return WRONG if cell["wrong"] else cell["links"]


def mean_scores(cells: Finished, names: list[str], methods: list[str], links: int | str, what: str) -> np.ndarray:
    """Return a row per data set and a column per method: means over the draws, NaN where there are none."""
    scores = np.full((len(names), len(methods)), np.nan)
    for i, name in enumerate(names):
        for j, method in enumerate(methods):
            found = [cell[what] for cell in cells.of(name, links, method)]
            scores[i, j] = np.mean(found) if found else np.nan
    return scores


def columns(cells: Finished) -> list[int | str]:
    """Return the numbers of links, those with wrong ones last."""
    there = {key[1] for key in cells.done}
    return [*sorted(there - {WRONG}), *([WRONG] if WRONG in there else [])]


def means_table(cells: Finished, names: list[str], methods: list[str], what: str) -> str:
    """Return the means over data sets: a row for each method, the best of each column bold."""
    marked = []
    for links in columns(cells):
        means = mean_scores(cells, names, methods, links, what).mean(axis=0)
        marked.append(bold_best([f"{mean:z.3f}" if np.isfinite(mean) else "" for mean in means], means))
    rows = [[method, *row] for method, row in zip(methods, zip(*marked, strict=True), strict=True)]
    return table(["", *map(str, columns(cells))], rows)


def ranks_table(cells: Finished, names: list[str], methods: list[str]) -> str:
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


def losses_table(cells: Finished, names: list[str]) -> str:
    """Return each data set's score of the default beside that of the graph alone."""
    rows = []
    for name in names:
        alone = mean_scores(cells, [name], [ALONE], 0, "ari")[0, 0]
        scores = [mean_scores(cells, [name], [AUTO], links, "ari")[0, 0] for links in columns(cells)]
        rows.append([name, f"{alone:z.2f}", *(f"{s:z.2f}" if np.isfinite(s) else "" for s in scores)])
    return table(["", ALONE, *map(str, columns(cells))], rows)


def failures(cells: Finished) -> str:
    found = Counter((key[2], cell["failed"]) for key, cell in cells.done.items() if cell["failed"])
    said = [f"{method} found no clustering in {count} cells ({why})" for (method, why), count in sorted(found.items())]
    return "; ".join(said) + "." if said else "Every method found a clustering in every cell."


def report(cells: Finished, missing: list[str], path: Path) -> None:
    names, methods = (list(dict.fromkeys(key[place] for key in sorted(cells.done, key=repr))) for place in (0, 2))
    draws = len({key[3] for key in cells.done})
    left_out = "".join(f"\nLeft out: {reason}.\n" for reason in missing)
    default = f"\n## The default beside the graph alone\n\n{losses_table(cells, names)}\n" if AUTO in methods else ""
    write_report(
        path,
        f"""# Quality against the number of links, from none to 200

{made_by("few_links", "few_links", packages=["scikit-learn", "cvxlink"])}

Data sets: {", ".join(names)}; features are scaled to unit variance, and of a larger set
400 points are drawn once. Links are pairs drawn at random, must-links if their classes agree,
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
    plot(cells, names, path)
    print(f"written: {path} and the plot beside it")


def plot(cells: Finished, names: list[str], path: Path) -> None:
    counts = [links for links in columns(cells) if links not in (0, WRONG)]
    there = {key[2] for key in cells.done}

    def lines(setting: str, name: str) -> list[Line]:
        def curve(method: str) -> np.ndarray:
            return np.array([mean_scores(cells, [name], [method], links, "ari")[0, 0] for links in counts])

        curves = {method: curve(method) for method in (*SHOWN, ALONE) if method in there}
        return [Line(method, counts, means, baseline=method == ALONE) for method, means in curves.items()]

    draw(path.with_suffix(".png"), {"": ""}, names, lines, "links", "adjusted Rand index", [3, 10, 30, 100])


def main() -> None:
    asked = arguments_of(__doc__, RESULTS / "few_links.md")
    cells, missing = cells_in(asked.folder)
    require_cells(cells, "few_links")
    report(cells, missing, asked.save)


if __name__ == "__main__":
    main()
