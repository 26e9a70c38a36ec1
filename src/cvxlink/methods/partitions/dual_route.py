r"""Solve the Fantope with links by its dual: one multiplier for each pair of blocks that is kept apart.

Columns V are collected that contain the eigenvectors of S(z) for the z seen so far (a spectral bundle, Helmberg &
Rendl 2000). On their span the dual is small and smooth (:mod:`cvxlink.methods.partitions.dual_barrier`); its centre is
the next z. Eigenvectors of S(z) either improve the columns or show that they are good enough for a smaller μ.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ...numerics.matrices import as_dense
from ...numerics.rounding import row_sums_above
from ...numerics.threads import threads_for
from ...programs.status import DEFAULT_ACCURACY, Status
from ...solvers.route import Attempt, Iteration, Route, Settings
from .dual_barrier import Centre, Model, Pairs, correction
from .dual_eigenvectors import smallest
from .linked_fantope import LinkedFantope

# The gap at which it stops, as a share of the accuracy asked for.
SHARE = 0.01
MOST_ROUNDS = 200
# More eigenvectors than the dual needs are computed, as later ones may need them.
EXTRA = 4
# The first μ, relative to the norm of the cost, and how fast it falls at most.
FIRST = 0.01
FALL = 0.1
# The first limit on multipliers of links that must hold, relative to the norm of the cost; it grows when it is met.
LIMIT = 0.5
LARGEST_LIMIT = 1e7
# It grows only where the columns contain the eigenvectors up to this, relative to the norm of the cost.
TRUSTED = 0.01
# Changes of a larger norm, in Dikin's metric, may leave the Fantope.
INSIDE = 0.9
# The most columns: these, and some for each cluster and for the root of the number of links.
COLUMNS, PER_CLUSTER, PER_ROOT = 60, 4, 6.0


@dataclass(frozen=True, eq=False)
class _Point:
    """Multipliers with their bound; columns and the matrix X on their span, with its value."""

    bound: float
    z: np.ndarray
    value: float
    V: np.ndarray
    X: np.ndarray


class LinkedCutDual(Route):
    """Maximise a sum of smallest eigenvalues over one multiplier for each cannot-link between blocks."""

    name = "dual"
    why = "the dual has one unknown per cannot-link, and is a sum of smallest eigenvalues"
    iterates = True

    def refuses(self, data: LinkedFantope) -> str | None:
        """Refuse Z ≥ 0."""
        return "it cannot ask for Z ≥ 0" if data.nonnegative else None

    def run(self, data: LinkedFantope, settings: Settings) -> Attempt:
        """Solve it."""
        with threads_for(data.partition.order):
            if data.k == 1 or not len(data.block_pairs):
                return _by_eigenvectors(data)
            return _Bundle(data, settings).attempt()


def _by_eigenvectors(data: LinkedFantope) -> Attempt:
    """Solve a program without cannot-links: the projection on the eigenvectors of the smallest eigenvalues."""
    start = perf_counter()
    V = np.zeros((data.partition.order, 0))
    if data.k > 1:
        V = smallest(data, np.zeros(len(data.block_pairs)), data.k - 1)[1]
    values = _values(data, V, np.eye(data.k - 1))
    duals = {"cannot": np.zeros(len(data.pairs))}
    return Attempt(Status.OPTIMAL, "solved by eigenvectors", values, duals, solve_seconds=perf_counter() - start)


def _values(data: LinkedFantope, V: np.ndarray, X: np.ndarray) -> dict:
    Z = data.lifted(V, X)
    if not data.is_soft:
        return {"Z": Z}
    i, j = data.pairs.T
    return {"Z": Z, "s": np.einsum("ij,ij->i", as_dense(Z.T[i]) @ Z.M, as_dense(Z.T[j]))}


class _Bundle:
    """The rounds: a model on some columns, its centre, eigenvectors there."""

    def __init__(self, data: LinkedFantope, settings: Settings) -> None:
        self.data, self.k = data, data.k - 1
        self.a, self.b = data.block_pairs.T
        self.along = data.block_w[self.a] * data.block_w[self.b]
        C, w = data.partition.block_C, data.block_w
        self.C, self.constant, self.size = C, float(w @ (C @ w)), row_sums_above(C)
        accuracy = DEFAULT_ACCURACY if settings.accuracy is None else settings.accuracy
        self.iteration = Iteration(settings, MOST_ROUNDS, 30, max(SHARE * accuracy, 1e-9))
        m = len(self.a)
        self.most = COLUMNS + PER_CLUSTER * self.k + int(PER_ROOT * np.sqrt(m))
        self.limits = np.minimum(data.block_prices, LIMIT * self.size)
        self.z = np.zeros(m)
        self.bound, self.best_z = -np.inf, self.z

    def attempt(self) -> Attempt:
        """Return the best point after all rounds."""
        data, iteration, mu = self.data, self.iteration, FIRST * self.size
        count = min(self.k + EXTRA, data.partition.order - 1)
        eigenvalues, V = smallest(data, self.z, count)
        theta = float(eigenvalues[self.k - 1])
        while True:
            model = self._model(V)
            centre = model.centre(self.z, theta, mu)
            self.z, theta = centre.z, centre.theta
            eigenvalues, vectors = smallest(data, self.z, count, V @ centre.Q[:, :count])
            found = float(eigenvalues[: self.k].sum())
            bound = self.constant - float(self.along @ self.z) + found
            if bound > self.bound:
                self.bound, self.best_z = bound, self.z
            hoped = np.linalg.eigvalsh(model.C - model.pairs.added(self.z))[: self.k].sum()
            lacking = max(float(hoped) - found, 0.0)
            value, X = self._feasible(model, centre)
            point = _Point(self.bound, self.best_z, value, V, X)
            gap = (value - self.bound) / (1 + abs(value)) if np.isfinite(value) else np.inf
            said = f"value {value:.8g}  bound {self.bound:.8g}  gap {gap:.1e}  μ {mu:.1e}  columns {V.shape[1]}"
            if not iteration.goes_on(point, gap, said, objective=value, bound=self.bound, rank=V.shape[1]):
                break
            if lacking <= TRUSTED * self.size:
                self._widen()
            V = self._columns(V @ centre.Q, vectors)
            mu = min(mu, max(0.3 * lacking / (V.shape[1] + len(self.z)), FALL * mu))
        best = iteration.best
        return iteration.attempt(_values(data, best.V, best.X), {"cannot": data.on_links(self.best_z)})

    def _model(self, V: np.ndarray) -> Model:
        C = V.T @ (self.C @ V)
        return Model((C + C.T) / 2, Pairs(V[self.a], V[self.b], self.along), self.limits, self.k)

    def _feasible(self, model: Model, centre: Centre) -> tuple[float, np.ndarray]:
        """Return the value of a feasible matrix near the centre, and the matrix; infinity if there is none."""
        must_hold = np.isinf(self.data.block_prices)
        turned = model.pairs.turned(centre.Q)
        hard = Pairs(turned.left[must_hold], turned.right[must_hold], turned.a[must_hold])
        missing = np.append(-hard.products(np.diag(centre.x)), self.k - centre.x.sum())
        change, norm = correction(centre.x, hard, missing)
        if not norm <= INSIDE:
            return np.inf, centre.X
        X = centre.Q @ (np.diag(centre.x) + change) @ centre.Q.T
        X = (X + X.T) / 2
        paid = abs(model.pairs.products(X)) * np.where(must_hold, 0.0, self.data.block_prices)
        return self.constant + float(np.vdot(model.C, X)) + float(paid.sum()), X

    def _columns(self, V: np.ndarray, more: np.ndarray) -> np.ndarray:
        """Return the columns with the largest eigenvalues of X, and what is new in others."""
        V = V[:, : self.most]
        more = more - V @ (V.T @ more)
        more -= V @ (V.T @ more)
        new, lengths, _ = np.linalg.svd(more, full_matrices=False)
        joined = np.column_stack([self.data.block_w, V, new[:, lengths > 1e-7]])
        return np.linalg.qr(joined)[0][:, 1:]

    def _widen(self) -> None:
        """Raise limits that only stand in for infinity, where multipliers come near them."""
        near = (abs(self.z) > 0.5 * self.limits) & (self.limits < LARGEST_LIMIT * self.size)
        self.limits = np.where(near, np.minimum(4 * self.limits, self.data.block_prices), self.limits)
