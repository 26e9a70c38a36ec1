"""CCSR, SRCP and MinKL on UCI data: what a cell of link_scores.toml computes."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache

import numpy as np
from sklearn.preprocessing import StandardScaler

import cvxlink as cl

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


@lru_cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = cl.datasets.load(name)
    return StandardScaler().fit_transform(X), y


def scored(data: str, sigma: str | float, links: int, trial: int, method: str) -> dict:
    """Cluster with one method; ``seconds`` are those of ``solve`` with its certificate."""
    X, y = load(data)
    graph = cl.Graph.knn(X, sigma=sigma, **SETTINGS["graph"])
    drawn = cl.Links.sample(y, n_links=links, random_state=1000 * trial + links)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.LinkWarning)  # the links may need more clusters than classes
        warnings.simplefilter("ignore", cl.ClippedWarning)
        solution = METHODS[method](graph, drawn).solve()
        seconds = time.perf_counter() - start
        labels = solution.cluster(len(np.unique(y)), random_state=trial)
    scores = cl.metrics.scores(y, labels, drawn)
    found = {key: round(scores[key], 4) for key in ("ari", "nmi", "error", "violated")}
    return found | {"gap": solution.certificate.relative_gap, "seconds": seconds}
