"""Cuts between clusters that overlap."""

from __future__ import annotations

import warnings

import numpy as np

import cvxlink as cl

from .graphs import random_points


def cut_instance(n: int = 12, seed: int = 0, k: int = 2) -> tuple[cl.Graph, np.ndarray, cl.Links]:
    y = np.arange(n) % k
    X = random_points(n, 2, seed) + 1.5 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    return cl.Graph.rbf(X, 1.0), y, cl.Links.sample(y, n_links=n, random_state=seed)


def paper(problem: cl.Problem) -> cl.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.InaccurateWarning)
        return problem.solve(route="paper")
