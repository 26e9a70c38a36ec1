"""Formulations that a stranger might write."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import cvxlink as cl


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


@dataclass(frozen=True, eq=False)
class SoftCorrelation(cl.Problem):
    """Nearest correlation matrix to S in the Frobenius norm, with a hinge on cannot-links."""

    S: np.ndarray
    links: cl.Links
    weight: float = 1.0

    def variables(self):
        return {"K": cp.Variable(self.S.shape, symmetric=True)}

    def objective(self, K):
        i, j = self.links.cannot.T
        return cp.Minimize(cp.sum_squares(K - self.S) + self.weight * cp.sum(cp.pos(K[i, j])))

    def constraints(self, K):
        return {"unit": cp.diag(K) == 1, "psd": K >> 0}


class MaxCut(cl.Problem):
    def __init__(self, W):
        self.W = W

    def variables(self):
        return {"X": cp.Variable(self.W.shape, symmetric=True)}

    def objective(self, X):
        return cp.Minimize(cp.sum(cp.multiply(self.W, X)))

    def constraints(self, X):
        return {"diagonal": cp.diag(X) == 1, "cone": X >> 0}


@dataclass(frozen=True, eq=False)
class Boxed(cl.Problem):
    """Smoothest kernel with bounded entries on links; must-links are only a lower bound here."""

    L: np.ndarray
    must: np.ndarray
    cannot: np.ndarray

    def variables(self):
        return {"K": cp.Variable(self.L.shape, PSD=True)}

    def objective(self, K):
        return cp.Minimize(cp.trace(self.L @ K) + 3)

    def constraints(self, K):
        return {
            "unit": cp.diag(K) == 1,
            "near": K[self.must[:, 0], self.must[:, 1]] >= 0.9,
            "far": [K[i, j] <= 0.1 for i, j in self.cannot],
        }
