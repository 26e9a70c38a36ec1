r"""Solve the Fantope with links by its dual: one multiplier for each pair of blocks that is kept apart.

Columns V are collected that contain the eigenvectors of S(z) for the z seen so far (a spectral bundle, Helmberg &
Rendl 2000). On their span the dual is small and smooth (:mod:`cvxlink.methods.partitions.dual_barrier`); its centre is
the next z. Eigenvectors of S(z) either improve the columns or show that they are good enough for a smaller μ.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ...numerics.eigenpairs import norm_bound
from ...numerics.matrices import as_dense
from ...numerics.threads import threads_for
from ...programs.status import DEFAULT_ACCURACY, Status
from ...solvers.route import Attempt, Iteration, Route, Settings
from .dual_barrier import Centre, Model, Pairs, correction
from .dual_eigenvectors import Eigenvectors
from .dual_proof import disproof_of_fantope
from .linked_fantope import LinkedFantope

# The gap at which it stops, as a share of the accuracy asked for; the least that rounding allows.
SHARE = 0.03
LEAST = 1e-9
MOST_ROUNDS, PATIENCE = 200, 30
# More eigenvectors than the dual needs are computed, as later ones may need them: these, and some for the root of the
# number of links.
EXTRA, PER_LINKS = 4, 0.5
# The first μ, relative to the norm of the cost, how fast it falls at most, and where it ends.
FIRST = 0.01
FALL = 0.1
SMALLEST = 1e-13
# The first limit on multipliers of links that must hold, relative to the norm of the cost; it grows when it is met.
LIMIT = 0.5
LARGEST_LIMIT = 1e7
# It grows only where the columns contain the eigenvectors up to this, relative to the norm of the cost.
TRUSTED = 0.01
# Changes of a larger norm, in Dikin's metric, may leave the Fantope; Newton's step before has at most 0.8.
INSIDE = 0.2
# The most columns: these, and some for each cluster and for the root of the number of links.
COLUMNS, PER_CLUSTER, PER_ROOT = 60, 4, 8.0
# With more, this share of them is kept, those with the largest eigenvalues of X.
KEPT = 0.8
# What is new in a column is used if it is longer than this.
NEW = 1e-7


def most_columns(n_clusters: int, n_pairs: int) -> int:
    """Return the most columns that a bundle for so many clusters and cannot-links has."""
    return COLUMNS + PER_CLUSTER * (n_clusters - 1) + int(PER_ROOT * np.sqrt(n_pairs))


class LinkedCutDual(Route):
    """Maximise a sum of smallest eigenvalues over one multiplier for each cannot-link between blocks."""

    name = "dual"
    why = "the dual has one unknown per cannot-link, and is a sum of smallest eigenvalues"
    iterates = True
    remedy = 'solve with route="splitting" if there are up to a few thousand blocks, or ask for less accuracy'

    def refuses(self, data: LinkedFantope) -> str | None:
        """Refuse Z ≥ 0."""
        return "it cannot ask for Z ≥ 0" if data.nonnegative else None

    def run(self, data: LinkedFantope, settings: Settings) -> Attempt:
        """Solve it."""
        with threads_for(data.partition.order):
            if data.k == 1 or not data.counts.any():
                return _by_eigenvectors(data)
            return _Bundle(data, settings).attempt()


def _by_eigenvectors(data: LinkedFantope) -> Attempt:
    """Solve a program without cannot-links: the projection on the eigenvectors of the smallest eigenvalues."""
    start = perf_counter()
    V = np.zeros((data.partition.order, 0))
    if data.k > 1:
        eigenvectors = Eigenvectors(data)
        V = eigenvectors.outer(eigenvectors.smallest(np.zeros(len(eigenvectors.a)), data.k - 1)[1])
    values = _values(data, V, np.eye(data.k - 1))
    # Where Z = wwᵀ is all there is, no entry is negative: what a broken link costs is linear.
    duals = {
        "cannot": -np.where(np.isfinite(data.prices), data.prices, 0.0) if data.k == 1 else np.zeros(len(data.pairs))
    }
    return Attempt(Status.OPTIMAL, "solved by eigenvectors", values, duals, solve_seconds=perf_counter() - start)


def _values(data: LinkedFantope, V: np.ndarray, X: np.ndarray) -> dict:
    Z = data.lifted(V, X)
    if not data.is_soft:
        return {"Z": Z}
    i, j = data.pairs.T
    return {"Z": Z, "s": np.einsum("ij,ij->i", as_dense(Z.T[i]) @ Z.M, as_dense(Z.T[j]))}


class _Columns:
    """Orthonormal columns V on the complement of w, with CV and VᵀCV."""

    def __init__(self, C: Any, V: np.ndarray) -> None:
        self.C, self.V, self.image = C, V, C @ V
        self.small = _symmetric(V.T @ self.image)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.V.shape[1]

    def join(self, more: np.ndarray) -> None:
        """Add what is new in other columns."""
        for _ in range(2):
            more = more - self.V @ (self.V.T @ more)
        squares, turned = np.linalg.eigh(more.T @ more)
        more = more @ turned[:, squares > NEW**2] / np.sqrt(squares[squares > NEW**2])
        more = np.linalg.qr(more - self.V @ (self.V.T @ more))[0]
        image = self.C @ more
        beside = self.V.T @ image
        self.small = np.block([[self.small, beside], [beside.T, _symmetric(more.T @ image)]])
        self.V, self.image = np.hstack([self.V, more]), np.hstack([self.image, image])

    def turn(self, Q: np.ndarray) -> None:
        """Replace them by orthonormal combinations."""
        self.V, self.image, self.small = self.V @ Q, self.image @ Q, _symmetric(Q.T @ self.small @ Q)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2


class _Bundle:
    """The rounds: a model on some columns, its centre, eigenvectors there."""

    def __init__(self, data: LinkedFantope, settings: Settings) -> None:
        self.data, self.k, self.eigenvectors = data, data.k - 1, Eigenvectors(data)
        w, C = self.eigenvectors.w, self.eigenvectors.C
        self.a, self.b = self.eigenvectors.a, self.eigenvectors.b
        self.along = w[self.a] * w[self.b]
        self.constant, self.size = float(w @ (C @ w)), norm_bound(C)
        self.prices = data.block_prices[data.counts]
        self.highest = data.highest
        accuracy = DEFAULT_ACCURACY if settings.accuracy is None else settings.accuracy
        self.iteration = Iteration(settings, MOST_ROUNDS, PATIENCE, max(SHARE * accuracy, LEAST))
        self.most = most_columns(data.k, len(self.a))
        self.limits = np.minimum(self.prices, LIMIT * self.size)
        self.z = np.zeros(len(self.a))
        self.bound, self.best_z = -np.inf, self.z

    def attempt(self) -> Attempt:
        """Return the best point after all rounds."""
        data, iteration, mu = self.data, self.iteration, FIRST * self.size
        count = min(self.k + EXTRA + int(PER_LINKS * np.sqrt(len(self.a))), data.partition.order - 1)
        eigenvalues, V = self.eigenvectors.smallest(self.z, count)
        theta, columns = float(eigenvalues[self.k - 1]), _Columns(self.eigenvectors.C, V)
        while True:
            model = self._model(columns)
            centre = model.centre(self.z, theta, mu)
            self.z, theta = centre.z, centre.theta
            eigenvalues, vectors = self.eigenvectors.smallest(self.z, count, columns.V @ centre.Q[:, :count])
            found = float(eigenvalues[: self.k].sum())
            self._improve(self.constant - float(self.along @ self.z) + found)
            value, X = self._feasible(model, centre)
            gap = (value - self.bound) / (1 + abs(value)) if np.isfinite(value) else np.inf
            said = f"value {value:.8g}  bound {self.bound:.8g}  gap {gap:.1e}  μ {mu:.1e}  columns {columns.count}"
            numbers = {"objective": value, "bound": self.bound, "rank": columns.count}
            if self.bound > self.highest and disproof_of_fantope(data, self._duals()):
                return self._infeasible()
            if not iteration.goes_on((columns.V, X), gap, said, **numbers):
                break
            # How much better the columns look than all of the space.
            lacking = max(float(centre.eigenvalues[: self.k].sum()) - found, 0.0)
            if lacking <= TRUSTED * self.size:
                self._widen()
            if columns.count > self.most:
                columns.turn(centre.Q[:, : int(KEPT * self.most)])
            columns.join(vectors)
            if mu <= SMALLEST * self.size:
                iteration.stalls()
                break
            mu = min(mu, max(0.3 * lacking / (columns.count + len(self.z)), FALL * mu))
        V, X = iteration.best
        values = _values(data, self.eigenvectors.outer(V), X)
        return iteration.attempt(values, self._duals())

    def _improve(self, bound: float) -> None:
        if bound > self.bound:
            self.bound, self.best_z = bound, self.z

    def _duals(self) -> dict[str, np.ndarray]:
        z = np.zeros(len(self.data.block_pairs))
        z[self.data.counts] = self.best_z
        return {"cannot": self.data.on_links(z)}

    def _infeasible(self) -> Attempt:
        reason = f"multipliers have the bound {self.bound:.4g}, and no point has a value above {self.highest:.4g}"
        return Attempt(Status.INFEASIBLE, reason, {}, self._duals(), solve_seconds=self.iteration.seconds)

    def _model(self, columns: _Columns) -> Model:
        pairs = Pairs(columns.V[self.a], columns.V[self.b], self.along)
        return Model(columns.small, pairs, self.limits, self.k)

    def _feasible(self, model: Model, centre: Centre) -> tuple[float, np.ndarray]:
        """Return the value of a feasible matrix near the centre, and the matrix; infinity if there is none."""
        must_hold = np.isinf(self.prices)
        turned = model.pairs.turned(centre.Q)
        hard = Pairs(turned.left[must_hold], turned.right[must_hold], turned.a[must_hold])
        missing = np.append(-hard.products(centre.predicted), self.k - np.trace(centre.predicted))
        change, norm = correction(centre.x, hard, missing)
        # The prediction takes up part of the room.
        if not norm <= INSIDE:
            return np.inf, centre.Q @ centre.predicted @ centre.Q.T
        X = _symmetric(centre.Q @ (centre.predicted + change) @ centre.Q.T)
        paid = abs(model.pairs.products(X)) * np.where(must_hold, 0.0, self.prices)
        return self.constant + float(np.vdot(model.C, X)) + float(paid.sum()), X

    def _widen(self) -> None:
        """Raise limits that only stand in for infinity, where multipliers come near them."""
        near = (abs(self.z) > 0.5 * self.limits) & (self.limits < LARGEST_LIMIT * self.size)
        self.limits = np.where(near, np.minimum(4 * self.limits, self.prices), self.limits)
