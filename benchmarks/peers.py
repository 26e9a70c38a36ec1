"""What people use today for clustering with must-links and cannot-links, and cvxlink, on the same points and links.

    pip install . active-semi-supervised-clustering metric-learn constrained-linkage "scikit-learn<1.8"
    python benchmarks/peers.py
    python benchmarks/peers.py --data iris --links 20 60 --draws 3
    python benchmarks/peers.py --save docs/results/peers.md        # keeps what is written by hand at its end

The three packages besides cvxlink are optional: one that cannot be imported, or does not run with the installed
scikit-learn, is left out, and the page says so. (metric-learn 0.7 needs a scikit-learn before 1.8, hence the last
requirement.)
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

import cvxlink as cl
from cvxlink.studies import Task
from pages import bold_best, table, write_report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from cells import peers

PACKAGES = ("scikit-learn", "active-semi-supervised-clustering", "metric-learn", "constrained-linkage", "cvxlink")
DATA = {"iris": "Iris", "wine": "Wine", "digits": "Digits 0–3, the first 100 of each"}


@dataclass(frozen=True)
class Peer:
    """A row of the tables."""

    name: str
    package: str
    cluster: Callable[[Task], np.ndarray]
    most_features: float = np.inf
    takes_links: bool = True


# ---------------------------------------------------------------------- cvxlink


def ours(method: str, **options: str) -> Callable[[Task], np.ndarray]:
    def cluster(task: Task) -> np.ndarray:
        estimator = cl.ConstrainedClustering(task.n_clusters, method=method, random_state=task.random_state, **options)
        return estimator.fit(task.X, links=task.links).labels_

    return cluster


PEERS = (
    Peer("KMeans (no links)", "scikit-learn", peers.kmeans, takes_links=False),
    Peer("SpectralClustering (no links)", "scikit-learn", peers.spectral, takes_links=False),
    Peer("LabelSpreading (true classes)", "scikit-learn", peers.spread_labels, takes_links=False),
    Peer("COP-KMeans", "active-semi-supervised-clustering", peers.cop_kmeans),
    Peer("PCKMeans", "active-semi-supervised-clustering", peers.pck_means),
    Peer("MPCKMeans", "active-semi-supervised-clustering", peers.mpck_means),
    Peer("ITML, then KMeans", "metric-learn", peers.itml),
    Peer("MMC, then KMeans", "metric-learn", peers.mmc, most_features=10),
    Peer("average linkage with penalties", "constrained-linkage", peers.average_linkage),
    Peer("KP", "cvxlink", ours("kp")),
    Peer('KP, symmetrize="mutual"', "cvxlink", ours("kp", symmetrize="mutual")),
    Peer("PCP", "cvxlink", ours("pcp")),
    Peer("CCSR", "cvxlink", ours("ccsr")),
    Peer("SRCP", "cvxlink", ours("srcp")),
)


# ---------------------------------------------------------------------- measuring


def points(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a data set: lengths as they are, pixels as shares of full ink, and mixed units standardised."""
    X, y = cl.datasets.load(name)
    if name == "wine":
        return StandardScaler().fit_transform(X), y
    if name == "digits":
        chosen = np.concatenate([np.flatnonzero(y == digit)[:100] for digit in range(4)])
        X, y = X[chosen] / 16, y[chosen]
        return X[:, np.ptp(X, axis=0) > 0], y
    return X, y


def why_missing(peer: Peer) -> str | None:
    """Try a peer on a small task, which also loads its libraries, and return why it cannot be had."""
    try:
        version(peer.package)
    except PackageNotFoundError:
        return f"{peer.package} is not installed; `pip install {peer.package}` adds it"
    X, y = points("iris")
    try:
        peer.cluster(Task(X, y, cl.Links.sample(y, n_links=20, random_state=99)))
    except (ImportError, TypeError) as error:  # written for another version of what it builds on
        return f"{peer.package} {version(peer.package)} does not run in this environment ({error})"
    except Exception:  # its failures on single tasks are counted, not fatal
        return None
    return None


@dataclass(frozen=True)
class Run:
    """How good one clustering is, and how long it took."""

    nmi: float
    broken: float
    seconds: float


def run(peer: Peer, task: Task) -> Run | str:
    """Return scores and wall time, or the name of the error."""
    start = time.perf_counter()
    try:
        labels = peer.cluster(task)
    except Exception as error:  # peers raise whatever they like when they find no clustering
        return type(error).__name__
    seconds = time.perf_counter() - start
    return Run(cl.metrics.nmi(task.y, labels), task.links.violated(labels), seconds)


@dataclass(frozen=True)
class Row:
    """A peer's row: a cell for each number of links, their scores, and seconds."""

    peer: Peer
    cells: list[str]
    scores: list[float]
    seconds: str


def row(peer: Peer, tasks: dict[int, list[Task]], failures: list[str]) -> Row:
    cells, scores, times = [], [], []
    for count, draws in tasks.items():
        results = [run(peer, task) for task in draws]
        good = [result for result in results if isinstance(result, Run)]
        errors = sorted({result for result in results if isinstance(result, str)})
        if errors:
            what = f"{peer.name} found no clustering in {len(results) - len(good)} of {len(results)} draws"
            failures.append(f"{what} of {count} links ({', '.join(errors)}).")
        times += [result.seconds for result in good]
        scores.append(float(np.mean([result.nmi for result in good])) if good else np.nan)
        broken = f"{np.mean([result.broken for result in good]):.0%}" if good else ""
        cells.append(f"{scores[-1]:.2f}{'*' * bool(errors)}, {broken}" if good else "none")
    return Row(peer, cells, scores, f"{np.mean(times):.2g}" if times else "")


def marked(rows: list[Row]) -> list[list[str]]:
    """Return the cells of a table: the best score of those that take links is bold."""
    columns = []
    for k in range(len(rows[0].cells)):
        compared = [row.scores[k] if row.peer.takes_links else np.nan for row in rows]
        columns.append(bold_best([row.cells[k] for row in rows], compared))
    names = [f"cvxlink: {row.peer.name}" if row.peer.package == "cvxlink" else row.peer.name for row in rows]
    return [list(cells) for cells in zip(names, *columns, [row.seconds for row in rows], strict=True)]


def section(name: str, peers: list[Peer], arguments: argparse.Namespace) -> str:
    X, y = points(name)
    counts, seeds = arguments.links, range(arguments.draws)
    tasks = {
        count: [Task(X, y, cl.Links.sample(y, n_links=count, random_state=seed), random_state=seed) for seed in seeds]
        for count in counts
    }
    failures: list[str] = []
    head = ["", *(f"{count} links" for count in counts), "seconds"]
    quick_enough = [peer for peer in peers if arguments.slow or X.shape[1] <= peer.most_features]
    rows = marked([row(peer, tasks, failures) for peer in quick_enough])
    text = f"## {DATA[name]}: {X.shape[0]} points, {X.shape[1]} features, {len(np.unique(y))} classes\n\n"
    return text + table(head, rows) + "\n" + "".join(f"\n\\* {failure}" for failure in failures) + "\n" * bool(failures)


def introduction(missing: list[str], n_draws: int) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in (*PACKAGES, "numpy", "cvxpy") if _has(name))
    left_out = "".join(f"\nLeft out: {reason}.\n" for reason in missing)
    return f"""# cvxlink beside what people use today: NMI, broken links and seconds

Made by `python benchmarks/peers.py` on {os.cpu_count()} cores, Python {platform.python_version()}, {versions}.
To install all of them: `pip install . {" ".join(PACKAGES[1:-1])} "scikit-learn<1.8"`.
metric-learn 0.7 does not run with a later scikit-learn; cvxlink needs none of the others except scikit-learn.

All methods get the same points and links, and the settings they ship with. A cell has the NMI and the share of the
given links that the clusters break, means of {n_draws} draws of links; the best NMI among the methods that take links
is bold. Seconds are the wall time of one clustering from points to labels, over all columns, good for orders of
magnitude only. Wine is standardised, pixels are divided by 16 (without those that are always empty), Iris is as it is.

Exceptions: SpectralClustering uses its graph of nearest neighbours, which is no worse here than its default kernel and
much better on Wine. LabelSpreading cannot take links: it is given the true classes of all points that occur in a link,
which is **more than the links say**, so its row is a reference, not a competitor. constrained-linkage has no default
weight for a link, so it has that of its own example, 0.6, with average linkage. ITML and MMC learn a metric from the
pairs, and k-means follows; MMC took about 20 seconds per run on Wine, so it is measured on Iris only (`--slow` for the
others).
{left_out}"""


def _has(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--links", nargs="+", type=int, default=[20, 60, 150])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--slow", action="store_true", help="MMC also on Wine and digits, 20 s and more per run")
    parser.add_argument("--save", type=Path, help="write the page to this Markdown file too")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of peers about their own use of scikit-learn, thousands of them
    reasons = {peer: why_missing(peer) for peer in PEERS}
    there = [peer for peer, reason in reasons.items() if reason is None]
    missing = list(dict.fromkeys(reason for reason in reasons.values() if reason))
    parts = [introduction(missing, arguments.draws)]
    print(parts[0], flush=True)
    for name in arguments.data:
        parts.append(section(name, there, arguments))
        print(parts[-1], flush=True)
    if arguments.save:
        write_report(arguments.save, "\n".join(parts))


if __name__ == "__main__":
    main()
