"""Programs without a strictly feasible point, for reasons that no single equation shows, and other traps."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from scipy.optimize import brentq

from .catalogue import Formulation, listed
from .kernels import inner, matrix


class Relation(Formulation):
    """One symmetric matrix K."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        return cp.Minimize(inner(self.world.L, K))

    def squared_distance(self, K, i, j):
        """Return K_ii + K_jj − 2K_ij."""
        return K[i, i] + K[j, j] - 2 * K[i, j]


@listed(is_limited=True)
class OneCluster(Relation):
    """k-means with k = 1, where 11ᵀ/n is the only feasible matrix: Z1 = 1, tr Z = 1, Z ≥ 0, Z ⪰ 0."""

    def objective(self, K):
        return cp.Minimize(inner(self.world.distances, K) / 2)

    def constraints(self, K):
        return {"rows": cp.sum(K, axis=1) == 1, "trace": cp.trace(K) == 1, "sign": K >= 0, "psd": K >> 0}


@listed(is_limited=True)
class ThreeCorners(Relation):
    """Three points as far apart as they can be: K_ii = 1 and K_ij ≤ −½ among them, so that they add up to zero."""

    def constraints(self, K):
        return {"unit": cp.diag(K) == 1, "apart": K[[0, 0, 1], [1, 2, 2]] <= -0.5, "psd": K >> 0}


@listed(is_limited=True)
class CloseOnAverage(Relation):
    """Three points with a mean similarity of one, which are therefore one point: Σ_{i, j < 3} K_ij ≥ 9, K_ii ≤ 1."""

    def objective(self, K):
        return cp.Minimize(inner(self.world.L - np.eye(self.world.n) / 2, K))

    def constraints(self, K):
        return {"length": cp.diag(K) <= 1, "mean": cp.sum(K[:3, :3]) >= 9, "apart": K[0, 4] <= -0.2, "psd": K >> 0}


@listed(points=7, is_limited=True)
class KnownDistances(Relation):
    """All distances of points in the plane are known, so K has rank 2 and is the only one: min tr K, Σ K = 0."""

    def objective(self, K):
        return cp.Minimize(cp.trace(K))

    def constraints(self, K):
        i, j = np.triu_indices(self.world.n, 1)
        told = cp.diag(K)[i] + cp.diag(K)[j] - 2 * K[i, j] == self.world.distances[i, j]
        return {"distances": told, "centred": cp.sum(K) == 0, "psd": K >> 0}


@listed(is_limited=True)
class PointsOnALine(Relation):
    """d_01 ≤ 1 and d_12 ≤ 1 but d_02 ≥ 4 for squared distances: the middle point is halfway."""

    def constraints(self, K):
        near = [self.squared_distance(K, *pair) <= 1 for pair in ((0, 1), (1, 2))]
        return {"near": near, "far": self.squared_distance(K, 0, 2) >= 4, "trace": cp.trace(K) <= 10, "psd": K >> 0}


@listed(points=6, is_limited=True)
class NothingButZero(Formulation):
    """min ⟨L, K⟩ + (t − 1)², tr K = 0, K ⪰ 0, t ≤ 3: zero is the only matrix."""

    def variables(self):
        return {**matrix(self.world.n), "t": cp.Variable()}

    def objective(self, K, t):
        return cp.Minimize(inner(self.world.L, K) + cp.square(t - 1))

    def constraints(self, K, t):
        return {"trace": cp.trace(K) == 0, "psd": K >> 0, "most": t <= 3, "least": t >= K[0, 1] - 3}


@listed(points=6, is_limited=True)
class WholeFantope(Relation):
    """0 ⪯ K ⪯ I with tr K = n, by the largest eigenvalue: the identity is the only matrix."""

    def constraints(self, K):
        return {"trace": cp.trace(K) == self.world.n, "most": cp.lambda_max(K) <= 1, "psd": K >> 0}


@listed(points=6, is_limited=True)
class PureState(Relation):
    """max the quantum entropy, tr K = 1, ⟨L, K⟩ ≤ 0 for a path: 11ᵀ/n is the only matrix, and its entropy is zero."""

    optimum = 0.0

    def objective(self, K):
        return cp.Maximize(cp.von_neumann_entr(K))

    def constraints(self, K):
        B = np.diff(np.eye(self.world.n), axis=0)
        return {"trace": cp.trace(K) == 1, "smooth": inner(B.T @ B, K) <= 0, "psd": K >> 0}


@listed(points=6, is_limited=True)
class Cardinality(Formulation):
    """Two points to choose: min ⟨L, X⟩, X_ii = x_i, Σ X − 4 Σ x + 4 = 0, [1, xᵀ; x, X] ⪰ 0, which is then singular."""

    def variables(self):
        return {"X": cp.Variable((self.world.n, self.world.n), symmetric=True), "x": cp.Variable((self.world.n, 1))}

    def objective(self, X, x):
        return cp.Minimize(inner(self.world.L + np.diag(self.world.X[:, 0]), X))

    def constraints(self, X, x):
        bordered = cp.bmat([[np.ones((1, 1)), x.T], [x, X]])
        return {"binary": cp.diag(X) == x[:, 0], "two": cp.sum(X) - 4 * cp.sum(x) + 4 == 0, "psd": bordered >> 0}


@listed(points=12, is_limited=True)
class ZeroMetric(Formulation):
    """max uᵀMu for one cannot-link, zero for one must-link, which is a direction in real numbers; tr M ≤ 3."""

    def variables(self):
        return {"M": cp.Variable((2, 2), PSD=True)}

    def objective(self, M):
        return cp.Maximize(self.squared(M, *self.world.links.cannot[0]))

    def constraints(self, M):
        return {"near": self.squared(M, *self.world.links.must[0]) <= 0, "trace": cp.trace(M) <= 3}

    def squared(self, M, i, j):
        """Return (x_i − x_j)ᵀM(x_i − x_j)."""
        u = self.world.X[i] - self.world.X[j]
        return u @ M @ u


@listed(points=6, is_limited=True)
class EmptyCluster(Formulation):
    """Transport to clusters of which one is empty: min ⟨C, P⟩ + ½ Σ P log P, P1 = 1, Pᵀ1 = (n/2, n/2, 0).

    With a_i = C_i0 and b_i = C_i1 it is P_i0 = 1/(1 + exp(2(a_i − b_i − t))), and t is such that they add up to n/2.
    """

    @property
    def optimum(self):
        """Found by bisection."""
        a, b = self.world.distances[:, 0], self.world.distances[:, 1]
        t = brentq(lambda t: np.sum(1 / (1 + np.exp(2 * (a - b - t)))) - self.world.n / 2, -50, 50, xtol=1e-14)
        p = 1 / (1 + np.exp(2 * (a - b - t)))
        return float(a @ p + b @ (1 - p) + (p @ np.log(p) + (1 - p) @ np.log(1 - p)) / 2)

    def variables(self):
        return {"P": cp.Variable((self.world.n, 3))}

    def objective(self, P):
        return cp.Minimize(inner(self.world.distances[:, :3], P) - cp.sum(cp.entr(P)) / 2)

    def constraints(self, P):
        return {"points": cp.sum(P, axis=1) == 1, "sizes": cp.sum(P, axis=0) == self.world.n * np.array([0.5, 0.5, 0])}


@listed(is_limited=True)
class LeastRisk(Formulation):
    """max μᵀx, Σ x = 1, ‖x‖² ≤ 1/n, the least possible: a ball that touches a plane at 1/n."""

    @property
    def optimum(self):
        """The mean of μ."""
        return float(self.world.X[:, 0].mean())

    def variables(self):
        return {"x": cp.Variable(self.world.n)}

    def objective(self, x):
        return cp.Maximize(self.world.X[:, 0] @ x)

    def constraints(self, x):
        return {"shares": cp.sum(x) == 1, "risk": cp.sum_squares(x) <= 1 / self.world.n}


@listed(points=6, is_limited=True)
class CutMetric(Formulation):
    """min ⟨W − ½, X⟩, 0 ≤ X ≤ 1 with triangle inequalities, X_ij = 0 on must-links and 1 on cannot-links."""

    def variables(self):
        return {"X": cp.Variable((self.world.n, self.world.n), symmetric=True, bounds=[0, 1])}

    def objective(self, X):
        return cp.Minimize(-inner(self.world.similarities - 0.5, X))

    def constraints(self, X):
        n, (i, j), (k, m) = self.world.n, self.world.must, self.world.cannot
        a, b, c = np.array([(a, b, c) for a in range(n) for b in range(a) for c in range(n) if c not in (a, b)]).T
        told = {"must": X[i, j] == 0, "cannot": X[k, m] == 1}
        return {"zero": cp.diag(X) == 0, "triangles": X[a, b] <= X[a, c] + X[c, b], **told}


@listed(points=10, is_limited=True)
class WorstDirection(Formulation):
    """max λ_min(Σ w_i z_i z_iᵀ), Σ w = 1, w ≥ 0: a matrix that is symmetric, but not to the last digit."""

    def variables(self):
        return {"w": cp.Variable(self.world.n, nonneg=True)}

    def objective(self, w):
        Z = np.hstack([self.world.X, np.sin(3 * self.world.X)]) @ np.linalg.qr(np.vander(np.arange(1.0, 5)))[0]
        return cp.Maximize(cp.lambda_min(Z.T @ cp.diag(w) @ Z))

    def constraints(self, w):
        return {"total": cp.sum(w) == 1}


@listed(points=9)
class SeparableLabels(Formulation):
    """min Σ log(1 + exp(−y_i f x_i)), where the sign of x_i is y_i: zero, which no f attains."""

    optimum = 0.0

    def variables(self):
        return {"f": cp.Variable()}

    def objective(self, f):
        x = self.world.X[:, 0] - 1
        return cp.Minimize(cp.sum(cp.logistic(-abs(x) * f)))

    def constraints(self, f):
        return {}
