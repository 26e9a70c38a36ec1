"""Whether links can be trusted: links that are right help to predict one another, wrong ones do not."""

from __future__ import annotations

import warnings

import numpy as np

from ..data.graph import Graph
from ..data.links import Links
from ..errors import CvxlinkError
from ..methods.fantope.ncuts import NCuts
from ..methods.kernels.kp import KP

# If the graph alone breaks at most this share of the links, they agree with it and are not doubted.
BROKEN = 0.2
# Of fewer links, too few of each kind are set aside: right ones would be doubted by chance.
FEWEST = 100
# How many times some links are set aside, and predicted from the others.
FOLDS = 3
# With more points, it would take minutes.
MOST_POINTS = 20_000


def why_doubtful(graph: Graph, links: Links, n_clusters: int) -> str:
    """Return why links look wrong, or an empty string.

    They do if two things come together. The clusters of the graph alone (NCuts) break more than a fifth of the links.
    And clusters that KP learns from two thirds of the links keep fewer of the others than the graph alone does, where
    must-links and cannot-links count alike. Nothing here depends on chance that is not fixed.
    """
    if graph.n > MOST_POINTS or len(links) < FEWEST:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            alone = NCuts(graph, n_clusters).solve().cluster(n_clusters, random_state=0)
            broken = links.violated(alone)
            if broken <= BROKEN:
                return ""
            predicted = predicted_share(graph, links, n_clusters)
    except CvxlinkError:  # for example because two thirds of the links do not reach every component of the graph
        return ""
    if predicted >= kept_share(links, alone):
        return ""
    return (
        f"the graph alone breaks {broken:.0%} of the links, and clusters learnt from some of them keep fewer of the "
        f"others than it does ({predicted:.0%} against {kept_share(links, alone):.0%}), so some look wrong"
    )


def kept_share(links: Links, labels: np.ndarray) -> float:
    """Return the share of links that a clustering keeps, the mean of must-links and cannot-links."""
    return _mean_of_kinds(*_kept(links, labels))


def predicted_share(graph: Graph, links: Links, n_clusters: int) -> float:
    """Return the share of links that are kept when they are set aside, and KP learns from the others."""
    rng = np.random.default_rng(0)
    folds = [rng.permutation(np.arange(len(pairs)) % FOLDS) for pairs in (links.must, links.cannot)]
    kept: list[list[np.ndarray]] = [[], []]
    for fold in range(FOLDS):
        aside = [which == fold for which in folds]
        rest = Links(links.n, links.must[~aside[0]], links.cannot[~aside[1]])
        labels = KP(graph, rest).solve().cluster(n_clusters, random_state=0)
        test = Links(links.n, links.must[aside[0]], links.cannot[aside[1]])
        for found, one in zip(kept, _kept(test, labels), strict=True):
            found.append(one)
    return _mean_of_kinds(*(np.concatenate(found) for found in kept))


def _kept(links: Links, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    together = labels[links.must[:, 0]] == labels[links.must[:, 1]]
    apart = labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]]
    return together, apart


def _mean_of_kinds(together: np.ndarray, apart: np.ndarray) -> float:
    return float(np.mean([kept.mean() for kept in (together, apart) if len(kept)]))
