"""Points and graphs."""

from __future__ import annotations

import numpy as np

import cvxlink as cl


def random_points(n: int, dimension: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, dimension))


def path_graph(n: int) -> cl.Graph:
    W = np.diag(np.ones(n - 1), 1)
    return cl.Graph.from_affinity(W + W.T)


def star_graph(leaves: int) -> cl.Graph:
    W = np.zeros((leaves + 1, leaves + 1))
    W[0, 1:] = W[1:, 0] = 1
    return cl.Graph.from_affinity(W)


def random_graph(n, rng):
    W = rng.uniform(0.1, 1, (n, n)) * (rng.random((n, n)) < 0.7)
    return cl.Graph.from_affinity(np.triu(W, 1) + np.triu(W, 1).T)
