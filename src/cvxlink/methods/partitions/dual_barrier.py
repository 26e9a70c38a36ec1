r"""The dual of a Fantope with few equations, smoothed by a logarithmic barrier.

On the span of some orthonormal columns the program is, for matrices X of small order r,

.. math:: \min_X\ c_0 + \langle C, X\rangle + \sum_l c_l |a_l + \langle A_l, X\rangle|
          \quad\text{s.t.}\quad 0 \preceq X \preceq I,\quad \operatorname{tr} X = k,

where :math:`c_l = \infty` asks for :math:`a_l + \langle A_l, X\rangle = 0`. Its dual in :math:`|z_l| \le c_l` and θ is

.. math:: \max_{z,\theta}\ c_0 - a^\top z + k\theta + \sum_i \min(0, \lambda_i(S) - \theta), \qquad
          S = C - \sum_l z_l A_l .

With barriers :math:`-\mu\log x(1 - x)` for the eigenvalues of X and :math:`\mu\log(1 - z_l^2/c_l^2)`, an eigenvalue
:math:`s = \lambda_i - \theta` belongs to the eigenvalue x of X with :math:`s = \mu(1/x - 1/(1-x))`. In the common
eigenvectors of S and X, the second derivative is a sum over pairs of them with the weights

.. math:: \omega_{ij} = \frac{1}{1/(x_i x_j) + 1/((1 - x_i)(1 - x_j))},

divided by μ. A change Δ of X stays inside :math:`0 \preceq X \preceq I` if :math:`\sum \Delta_{ij}^2/\omega_{ij} \le 1`
(Dikin's ellipsoid). The function is self-concordant, so Newton's method converges from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg

# Newton's method has converged at this decrement, and takes at most so many steps.
CENTRED = 0.1
MOST_STEPS = 60
# Beyond this decrement a step may leave the Fantope.
FAR = 0.8
# Multipliers stay below this share of their limits.
INSIDE = 1 - 1e-13


class Pairs(NamedTuple):
    """Symmetric matrices A_l = (u vᵀ + v uᵀ)/2, with u and v the rows number l of two matrices, and numbers a_l."""

    left: np.ndarray
    right: np.ndarray
    a: np.ndarray

    def turned(self, Q: np.ndarray) -> Pairs:
        """Return the same matrices in another basis."""
        return Pairs(self.left @ Q, self.right @ Q, self.a)

    def products(self, X: np.ndarray) -> np.ndarray:
        """Return a_l + ⟨A_l, X⟩."""
        return self.a + np.einsum("li,li->l", self.left @ X, self.right)

    def added(self, z: np.ndarray) -> np.ndarray:
        """Return Σ z_l A_l."""
        half = (self.left * z[:, None]).T @ self.right
        return (half + half.T) / 2

    def written(self, weights: np.ndarray) -> np.ndarray:
        """Return √ω_ij (A_l)_ij for i ≤ j as the row number l, twice as much squared for i < j."""
        rows, columns = np.triu_indices(len(weights))
        share = np.sqrt(np.where(rows == columns, 1.0, 2.0) * weights[rows, columns]) / 2
        one, other = self.left[:, rows] * self.right[:, columns], self.left[:, columns] * self.right[:, rows]
        return (one + other) * share

    def gram(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ_ij ω_ij (A_l)_ij (A_m)_ij for all l and m, and Σ_i ω_ii (A_l)_ii."""
        written = self.written(weights)
        return written @ written.T, (self.left * self.right) @ weights.diagonal()


def dikin_weights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ω for eigenvalues x and y = 1 − x, either of which may be tiny."""
    inner, outer = np.outer(x, x), np.outer(y, y)
    return inner * outer / np.maximum(inner + outer, 1e-300)


def correction(x: np.ndarray, pairs: Pairs, missing: np.ndarray) -> tuple[np.ndarray, float]:
    r"""Return the smallest change Δ in Dikin's metric at diag(x) with ⟨A_l, Δ⟩ and the trace as wanted, and its norm.

    ``missing`` has a number for each pair, and the trace of Δ at the end. The pairs are in the basis in which X is
    diag(x). The norm is infinite if the equations are dependent.
    """
    m, weight = len(pairs.a), dikin_weights(x, 1 - x)
    G = np.zeros((m + 1, m + 1))
    G[:m, :m], G[:m, m] = pairs.gram(weight)
    G[m, :m], G[m, m] = G[:m, m], weight.trace()
    scale = 1 / np.sqrt(np.maximum(G.diagonal(), 1e-300))
    try:
        factors = scipy.linalg.cho_factor(G * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        return np.zeros_like(weight), np.inf
    u = scale * scipy.linalg.cho_solve(factors, scale * missing)
    change = weight * (pairs.added(u[:m]) + u[m] * np.eye(len(x)))
    return change, float(np.sqrt(max(u @ missing, 0.0)))


@dataclass(frozen=True, eq=False)
class Centre:
    """A point near the central path: multipliers, the eigenvalues x of X and those of S, and their common vectors Q.

    ``predicted`` is X after one more step of Newton's method, in the basis Q.
    """

    z: np.ndarray
    theta: float
    x: np.ndarray
    Q: np.ndarray
    eigenvalues: np.ndarray
    predicted: np.ndarray


@dataclass(frozen=True, eq=False)
class Model:
    """The program on a subspace; ``limits`` are the numbers c_l."""

    C: np.ndarray
    pairs: Pairs
    limits: np.ndarray
    k: int

    def centre(self, z: np.ndarray, theta: float, mu: float) -> Centre:
        """Maximise the smoothed dual by Newton's method, from any z within the limits."""
        here = _Smoothed(self, z, theta, mu)
        direction, decrement = here.newton()
        for _ in range(MOST_STEPS):
            if decrement <= CENTRED:
                break
            length = 1.0 if decrement < 0.25 else 1 / (1 + decrement)
            length = min(length, _longest(here.z, direction[:-1], self.limits))
            # A longer step than the theory allows is tried first.
            for tried in (*(min(1.0, t * length) for t in (16.0, 4.0) if length < 1), length):
                there = _Smoothed(self, here.z + tried * direction[:-1], here.theta + tried * direction[-1], mu)
                if tried <= length or there.value > here.value:
                    break
            here = there
            direction, decrement = here.newton()
        predicted = np.diag(here.x) + (here.change(direction) if decrement <= FAR else 0.0)
        return Centre(here.z, here.theta, here.x, here.Q, here.eigenvalues, predicted)


class _Smoothed:
    """The smoothed dual at a point."""

    def __init__(self, model: Model, z: np.ndarray, theta: float, mu: float) -> None:
        # Rounding must not put z on its limit.
        z = np.clip(z, -INSIDE * model.limits, INSIDE * model.limits)
        self.model, self.z, self.theta, self.mu = model, z, theta, mu
        self.eigenvalues, self.Q = np.linalg.eigh(model.C - model.pairs.added(z))
        s = self.eigenvalues - theta
        root = np.hypot(s, 2 * mu)
        y = np.where(s > 0, root + s, 4 * mu**2 / (root + abs(s)))
        self.x = 2 * mu / (2 * mu + y)
        self.s, self.y = s, y / (2 * mu + y)
        barrier = np.log1p(-((z / model.limits) ** 2)).sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            each = s * self.x - mu * (np.log(self.x) + np.log(self.y))
        self.value = float(-model.pairs.a @ z + model.k * theta + each.sum() + mu * barrier)

    def newton(self) -> tuple[np.ndarray, float]:
        """Return the step in z and θ, and the decrement."""
        model, mu, m = self.model, self.mu, len(self.z)
        turned = model.pairs.turned(self.Q)
        weights = dikin_weights(self.x, self.y)
        H = np.zeros((m + 1, m + 1))
        H[:m, :m], mixed = turned.gram(weights)
        H[:m, m] = H[m, :m] = mixed
        H[m, m] = weights.trace()
        H /= mu
        gradient = np.empty(m + 1)
        gradient[:m] = -turned.products(np.diag(self.x))
        gradient[m] = model.k - self.x.sum()
        bounded = np.isfinite(model.limits)
        z, c = self.z[bounded] / model.limits[bounded], model.limits[bounded]
        room = (1 - z) * (1 + z)
        places = np.flatnonzero(bounded)
        gradient[places] -= 2 * mu * z / room / c
        H[places, places] += 2 * mu * (1 + z**2) / room**2 / c**2
        scale = 1 / np.sqrt(np.maximum(H.diagonal(), 1e-300))
        scaled = H * np.outer(scale, scale)
        scaled[np.diag_indices(m + 1)] += 1e-13
        try:
            step = scale * scipy.linalg.cho_solve(scipy.linalg.cho_factor(scaled), scale * gradient)
        except np.linalg.LinAlgError:  # dependent equations, up to rounding
            step = scale * np.linalg.lstsq(scaled, scale * gradient, rcond=1e-12)[0]
        return step, float(np.sqrt(max(gradient @ step, 0.0) / mu))

    def change(self, step: np.ndarray) -> np.ndarray:
        """Return the change of X, in the basis Q, that belongs to a step; its norm is at most the decrement."""
        moved = self.model.pairs.turned(self.Q).added(step[:-1]) + step[-1] * np.eye(len(self.x))
        return dikin_weights(self.x, self.y) * moved / self.mu


def _longest(z: np.ndarray, direction: np.ndarray, limits: np.ndarray) -> float:
    """Return the longest step that stays well within the limits."""
    moving = direction != 0
    if not moving.any():
        return 1.0
    room = np.where(direction > 0, limits - z, limits + z)[moving] / abs(direction[moving])
    return float(min(1.0, 0.9 * room.min()))
