"""Programs with convex functions of single numbers in their objectives, on graphs of Iris."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

import cvxlink as cl
from cvxlink import terms


def _weights(links):
    return np.linspace(0.5, 2.0, len(links.cannot[:7]))


def _entries(K, links):
    i, j = links.cannot[:7].T
    return K[i, j]


# What is added to the smoothness of a kernel.
ADDED = {
    "hinge": lambda K, links: terms.soft_cannot_links(K, links, margin=-0.3) + terms.soft_must_links(K, links),
    "absolute": lambda K, links: _weights(links) @ cp.abs(_entries(K, links) + 0.25),
    "norm1": lambda K, links: 0.5 * cp.norm1(_entries(K, links)),
    "square": lambda K, links: terms.squared_links(K, links, weight=0.5),
    "huber": lambda K, links: cp.sum(cp.multiply(_weights(links), cp.huber(_entries(K, links) + 0.5, 0.2))),
    "squared hinge": lambda K, links: 2 * cp.sum_squares(cp.pos(_entries(K, links) + 0.2)),
    "pieces": lambda K, links: cp.sum(
        cp.maximum(_entries(K, links), 3 * _entries(K, links) - 0.2, -_entries(K, links) / 2)
    ),
    "of two entries": lambda K, links: cp.sum(cp.maximum(_entries(K, links), 0.5 - K[links.cannot[:7, 0], 0])),
    "of a sum": lambda K, links: 0.01 * cp.square(cp.sum(K) - 20) + cp.sum(cp.abs(cp.sum(K, axis=1) - 5)) / 50,
}
# Constraints beside the unit diagonal.
CONSTRAINTS = {
    "none": lambda K, links: {},
    "must-links": lambda K, links: {"must": terms.must_links(K, links)},
    "inequalities": lambda K, links: {"cannot": terms.cannot_links_at_most(K, links, 0.1)},
    "cannot-links": lambda K, links: {"cannot": terms.cannot_links(K, links)},
    "balance": lambda K, links: {"balance": terms.balance(K, 3)},
    "about balanced": lambda K, links: {"balance": terms.balance(K, 3, slack=0.25)},
}


@dataclass(frozen=True, eq=False)
class Separable(cl.Problem):
    """A smooth kernel with something added, under some constraints."""

    graph: cl.Graph
    links: cl.Links
    added: str = "hinge"
    constrained: str = "none"

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()) + ADDED[self.added](K, self.links))

    def constraints(self, K):
        more = CONSTRAINTS[self.constrained](K, self.links)
        return {"unit": terms.unit_diagonal(K), **more, "psd": terms.semidefinite(K)}


def separable(added: str = "hinge", constrained: str = "none", step: int = 6, n_links: int = 16) -> Separable:
    """Return such a problem on every so many points of Iris."""
    X, y = cl.datasets.load("iris")
    graph = cl.Graph.knn(X[::step], n_neighbors=5)
    return Separable(graph, cl.Links.sample(y[::step], n_links=n_links, random_state=0), added, constrained)


def by_plain_cvxpy(problem: Separable) -> float:
    """Return the optimum by CVXPY and Clarabel alone, with one variable for points that hard must-links join.

    Without that no feasible matrix is positive definite, and Clarabel's values are wrong in the sixth digit.
    """
    must = problem.links.must if problem.constrained == "must-links" else np.zeros((0, 2), dtype=int)
    n = problem.graph.n
    joined = sp.csr_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    count, block = connected_components(joined, directed=False)
    P = np.eye(count)[block]
    small = cp.Variable((count, count), symmetric=True)
    K = P @ small @ P.T
    more = {} if len(must) else CONSTRAINTS[problem.constrained](K, problem.links)
    program = cp.Problem(problem.objective(K), [cp.diag(small) == 1, small >> 0, *more.values()])
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)
    return float(program.solve(solver="CLARABEL", **tight))
