"""All clusterings of a few points, for comparison with what programs and searches claim."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import cvxlink as cl


def partitions(n: int, k: int) -> Iterator[np.ndarray]:
    """Yield every partition of n points into exactly k clusters once, as labels."""

    def extended(labels: list[int], used: int) -> Iterator[np.ndarray]:
        if len(labels) == n:
            if used == k:
                yield np.array(labels)
            return
        for label in range(min(used + 1, k)):
            yield from extended([*labels, label], max(used, label + 1))

    yield from extended([], 0)


def squared_distances_to_means(X: np.ndarray, labels: np.ndarray) -> float:
    """The objective of k-means, from its definition."""
    return float(sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels)))


def normalised_cut(W: np.ndarray, labels: np.ndarray) -> float:
    """The sum over clusters of the weight that leaves them divided by their volume, from its definition."""
    inside = [labels == c for c in np.unique(labels)]
    return float(sum(W[one][:, ~one].sum() / W[one].sum() for one in inside))


def keep(links: cl.Links, labels: np.ndarray) -> bool:
    """Whether a clustering keeps all links."""
    return links.violated(labels) == 0.0


def drawn(seed: int, n: int = 8, k: int = 3, n_links: int = 4) -> tuple[np.ndarray, cl.Links]:
    """Points around k centres, and links from hidden classes that some clustering keeps."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    X = 2.0 * rng.standard_normal((k, 2))[y] + rng.standard_normal((n, 2))
    return X, cl.Links.sample(rng.permutation(y), n_links=n_links, random_state=seed)
