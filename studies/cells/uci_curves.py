"""Scores against labels and links on UCI data: what a cell of uci_curves_labels.toml, or of the other, computes."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.preprocessing import StandardScaler

import cvxlink as cl

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

    def count(self, amount: float, n: int) -> int:
        """Return how many labels or links an amount is: labels are given as shares of the points."""
        return max(2, round(amount * n)) if self.counted == "labels" else int(amount)

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


@lru_cache
def load(figure: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the data; for labels with two classes, as the paper prepares them."""
    X, y = cl.datasets.load(name.partition("-")[0])
    if figure == LABELS.name:
        classes = np.unique(y)
        if name in ("iris", "wine-119"):  # without setosa; of wine, without the class of 59
            X, y = X[y != classes[0]], y[y != classes[0]]
        elif name == "wine":  # without its third class
            X, y = X[y != classes[2]], y[y != classes[2]]
        elif name == "glass":  # window glass or not
            y = (y >= classes[3]).astype(int)
    return X, np.unique(y, return_inverse=True)[1]


def scored(figure: str, data: str, setting: str, amount: float, trial: int, method: str) -> dict:
    """Cluster with one method from some labels or links; ``seconds`` are those of ``solve``."""
    about = FIGURES[figure]
    X, y = load(figure, data)
    graph = about.graph(X, setting)
    count = about.count(amount, len(y))
    seed, k = 1000 * trial + count, len(np.unique(y))
    if about is LABELS:
        known = cl.sample_labels(y, n_labels=count, random_state=seed)
    else:
        known = cl.Links.sample(y, n_links=count, random_state=seed)
    build, route = about.methods[method]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the paper's procedure is not optimal, that links need more clusters …
        solution = build(graph, known, k).solve(route=route)
        seconds = time.perf_counter() - start
        labels = solution.cluster(k, random_state=trial)
    return {
        "count": count,
        "ari": round(cl.metrics.scores(y, labels)["ari"], 4),
        "value": solution.value,
        "bound": solution.certificate.lower_bound,
        "seconds": seconds,
    }
