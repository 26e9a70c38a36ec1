from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import settings

import cvxlink as cl

# The same examples every time: a run that is red can be repeated.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# Installed by `make test`; a missing one is a failure of the set-up, not a reason to skip.
SOLVERS = ("CLARABEL", "SCS", "CVXOPT", "SDPA")


@pytest.fixture(scope="session")
def small_iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = cl.datasets.load("iris")
    return X[::5], y[::5]


@pytest.fixture(scope="session")
def small_pcp(small_iris) -> cl.PCP:
    X, y = small_iris
    return cl.PCP(cl.Graph.knn(X, n_neighbors=5), cl.Links.sample(y, per_class=2, random_state=1))


class RewrittenPCP(cl.Problem):
    """PCP with its constraints on links written some other way: a function of K and the two arrays of pairs."""

    def __init__(self, pcp: cl.PCP, constraints) -> None:
        self.pcp, self.written = pcp, constraints

    def variables(self):
        n = self.pcp.graph.n
        return {"K": cp.Variable((n, n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(cp.sum(cp.multiply(self.pcp.L, K)))

    def constraints(self, K):
        return {**self.written(K, self.pcp.links.must.T, self.pcp.links.cannot.T), "psd": K >> 0}


def random_points(n: int, dimension: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, dimension))


def path_graph(n: int) -> cl.Graph:
    W = np.diag(np.ones(n - 1), 1)
    return cl.Graph.from_affinity(W + W.T)


def star_graph(leaves: int) -> cl.Graph:
    W = np.zeros((leaves + 1, leaves + 1))
    W[0, 1:] = W[1:, 0] = 1
    return cl.Graph.from_affinity(W)
