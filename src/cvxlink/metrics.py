"""Scores of a clustering against known classes and links."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from .data.links import Links
from .errors import InvalidInput
from .numerics.checks import as_labels


def _both(y: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    y = as_labels(y, argument="y")
    if not len(y):
        raise InvalidInput("there are no points to score; y must hold at least one class", "y")
    labels = as_labels(labels)
    if len(labels) != len(y):
        raise InvalidInput(f"there are {len(labels)} labels for {len(y)} points in y", "labels")
    return y, labels


def _check_links(links: Any, n: int) -> None:
    if not isinstance(links, Links) or links.n != n:
        raise InvalidInput.about("links", f"must be a Links object on the same {n} points")


def nmi(y: Any, labels: Any) -> float:
    """Normalised mutual information with the geometric mean, as in the KP paper."""
    y, labels = _both(y, labels)
    return float(normalized_mutual_info_score(y, labels, average_method="geometric"))


def error(y: Any, labels: Any) -> float:
    """Fraction of points misplaced under the best matching of clusters to classes (CCSR paper, eq. 21)."""
    table = contingency_matrix(*_both(y, labels))
    rows, columns = linear_sum_assignment(-table)
    return float(1 - table[rows, columns].sum() / table.sum())


def pairwise_accuracy(y: Any, labels: Any, links: Links | None = None) -> float:
    """Fraction of pairs correctly put together or apart; with links, over the pairs not linked (NaN if all are)."""
    y, labels = _both(y, labels)
    (apart, false_together), (false_apart, together) = pair_confusion_matrix(y, labels)
    right, total = (apart + together) / 2, (apart + together + false_together + false_apart) / 2
    if links is not None:
        _check_links(links, len(y))
        pairs = np.unique(np.vstack([links.must, links.cannot]), axis=0)
        i, j = pairs.T
        right -= ((y[i] == y[j]) == (labels[i] == labels[j])).sum()
        total -= len(pairs)
    return float(right / total) if total else float("nan")


def scores(y: Any, labels: Any, links: Links | None = None) -> dict[str, float]:
    """Return nmi, ari, error, pairwise accuracy and, with links, the fraction of violated links."""
    y, labels = _both(y, labels)
    if links is not None:
        _check_links(links, len(y))
    result = {
        "nmi": nmi(y, labels),
        "ari": float(adjusted_rand_score(y, labels)),
        "error": error(y, labels),
        "pairwise": pairwise_accuracy(y, labels, links),
    }
    if links is not None:
        result["violated"] = links.violated(labels)
    return result
