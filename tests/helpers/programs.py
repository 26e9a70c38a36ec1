"""Convex programs of many kinds, with their optima."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import cvxlink as cl
from cvxlink import terms

LINKS = cl.Links(5, must=[(0, 1)], cannot=[(0, 2), (1, 4)])


W = np.array([[0, 1, 2, 0, 1], [1, 0, 1, 1, 0], [2, 1, 0, 1, 1], [0, 1, 1, 0, 2], [1, 0, 1, 2, 0]], dtype=float)


L = np.diag(W.sum(axis=1)) - W


class Program(cl.Problem):
    """Whatever is asked for, of whatever variables."""

    about = cl.About(kernel=False)

    def __init__(self, variables, objective, constraints=lambda **v: {}):
        self.written = variables, objective, constraints

    def variables(self):
        return self.written[0]()

    def objective(self, **variables):
        return cp.Minimize(self.written[1](**variables))

    def constraints(self, **variables):
        return self.written[2](**variables)


def kernel():
    return {"K": cp.Variable((5, 5), symmetric=True)}


def on_sphere(K):
    return {"unit": cp.diag(K) == 1, "psd": K >> 0}


A = np.array([1.0, -0.3, 2.5, 0.2])


P = np.array([0.1, 0.2, 0.3, 0.4])


# Each with its optimum, known by hand where a number stands there, otherwise from Clarabel at 1e-9.
PROGRAMS = {
    # soft thresholding: x = sign(a)(|a| − ½)₊
    "lasso": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: 0.5 * cp.sum_squares(x - A) + 0.5 * cp.norm1(x)),
        0.375 + 0.045 + 1.125 + 0.02,
    ),
    # the distribution nearest to nothing at all: uniform, −log 4; and to P: itself
    "entropy": (
        Program(
            lambda: {"x": cp.Variable(4, nonneg=True)},
            lambda x: -cp.sum(cp.entr(x)),
            lambda x: {"sum": cp.sum(x) == 1},
        ),
        -np.log(4),
    ),
    "divergence": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: cp.sum(cp.rel_entr(x, P)), lambda x: {"sum": cp.sum(x) == 1}),
        0.0,
    ),
    # the farthest point of a ball of radius 2
    "ball": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: A @ x, lambda x: {"ball": cp.SOC(cp.Constant(2.0), x)}),
        -2 * np.linalg.norm(A),
    ),
    "sphere": (
        Program(lambda: {"x": cp.Variable(4)}, lambda x: A @ x, lambda x: {"ball": cp.sum_squares(x) <= 4}),
        -2 * np.linalg.norm(A),
    ),
    # x + 1/x
    "power": (Program(lambda: {"x": cp.Variable()}, lambda x: x + cp.power(x, -1)), 2.0),
    "cube": (Program(lambda: {"x": cp.Variable(nonneg=True)}, lambda x: cp.power(x, 3) - 3 * x), -2.0),
    # two cones at once: the larger eigenvalue of [[x, 1], [1, −x]] is √(1 + x²)
    "eigenvalue": (
        Program(
            lambda: {"x": cp.Variable()},
            lambda x: cp.lambda_max(cp.bmat([[x, 1], [1, -x]])),
        ),
        1.0,
    ),
    "matrix inequality": (
        Program(lambda: {"x": cp.Variable()}, lambda x: x, lambda x: {"lmi": cp.bmat([[x, 1], [1, x]]) >> 0}),
        1.0,
    ),
    "hinge": (
        Program(kernel, lambda K: terms.smoothness(K, L) + 9 * terms.soft_cannot_links(K, LINKS), on_sphere),
        None,
    ),
    "squares": (Program(kernel, lambda K: terms.smoothness(K, L) + terms.squared_links(K, LINKS), on_sphere), None),
    "nuclear": (
        Program(
            kernel,
            lambda K: cp.sum_squares(K - np.diag([3.0, 2.0, 1.0, 0.5, -1.0])) + 2 * terms.nuclear_penalty(K),
            lambda K: {"psd": K >> 0},
        ),
        # eigenvalues d → (d − 1)₊: 1 + 4, 1 + 2, 1, ¼, 1
        (1 + 4) + (1 + 2) + 1 + 0.25 + 1,
    ),
    "two variables": (
        Program(
            lambda: {"x": cp.Variable(4), "t": cp.Variable()},
            lambda x, t: t + cp.sum_squares(x - A),
            lambda x, t: {"above": [cp.norm(x) <= t, t >= 1]},
        ),
        None,
    ),
}
