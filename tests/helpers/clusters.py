"""Clusters with links, and the projection of a clustering."""

from __future__ import annotations

import numpy as np

import cvxlink as cl

from .graphs import random_points


def blobs(n: int = 24, k: int = 3, seed: int = 2) -> tuple[cl.Graph, np.ndarray, cl.Links]:
    y = np.arange(n) % k
    X = random_points(n, 2, seed) + 3 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    return cl.Graph.rbf(X, 1.0), y, cl.Links.sample(y, n_links=12, random_state=seed)


def membership(labels: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """The projection of a clustering, weighted by degrees."""
    H = np.sqrt(degrees)[:, None] * (labels[:, None] == np.unique(labels))
    H = H / np.linalg.norm(H, axis=0)
    return H @ H.T
