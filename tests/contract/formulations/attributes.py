"""What CVXPY lets one say about variables, and metrics to learn."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import cvxlink as cl

from .catalogue import Formulation, listed
from .kernels import inner


class Metric(Formulation):
    """A matrix M for the distances d_ij = (x_i − x_j)ᵀM(x_i − x_j) in four dimensions."""

    def variables(self):
        return {"M": cp.Variable((4, 4), PSD=True)}

    def far(self, M, pairs):
        """Return the distances of pairs."""
        Z = np.hstack([self.world.X, np.sin(3 * self.world.X)])
        i, j = np.transpose(pairs)
        U = Z[i] - Z[j]
        return cp.sum(cp.multiply(U @ M, U), axis=1)


@listed(points=12)
class LogDetMetric(Metric):
    """min tr M − log det M, d_ij ≤ 1.5 on must-links, d_ij ≥ 1 on cannot-links."""

    def objective(self, M):
        return cp.Minimize(cp.trace(M) - cp.log_det(M))

    def constraints(self, M):
        links = self.world.links
        return {"near": self.far(M, links.must) <= 1.5, "apart": self.far(M, links.cannot) >= 1}


@listed(points=12, is_limited=True)
class RootMetric(Metric):
    """Xing et al.: max Σ_𝒞 √d_ij, Σ_ℳ d_ij ≤ 1, tr M ≤ 5."""

    def objective(self, M):
        return cp.Maximize(cp.sum(cp.sqrt(self.far(M, self.world.links.cannot))))

    def constraints(self, M):
        return {"near": cp.sum(self.far(M, self.world.links.must)) <= 1, "trace": cp.trace(M) <= 5}


@listed(points=12)
class MarginMetric(Metric):
    """Large margins: min Σ_ℳ d_ij + Σ max(0, 1 + d_ij − d_kl) over pairs of links."""

    def objective(self, M):
        near, apart = self.far(M, self.world.links.must), self.far(M, self.world.links.cannot)
        k = min(near.size, apart.size)
        return cp.Minimize(cp.sum(near) / 2 + cp.sum(cp.pos(1 + near[:k] - apart[:k])))

    def constraints(self, M):
        return {}


@listed(points=12, is_limited=True)
class BoundedMetric(Metric):
    """min Σ_ℳ d_ij − Σ_𝒞 d_ij, tr M = 2, M ⪯ I: a Fantope."""

    def objective(self, M):
        links = self.world.links
        return cp.Minimize(cp.sum(self.far(M, links.must)) - cp.sum(self.far(M, links.cannot)))

    def constraints(self, M):
        return {"trace": cp.trace(M) == 2, "below": M << np.eye(4)}


@listed(is_limited=True)
class NonnegativeKernel(Formulation):
    """A completely positive relaxation: min ⟨L, K⟩ + ‖K‖², K ⪰ 0 by attribute, 0 ≤ K_ij ≤ 1, K1 = 1."""

    def variables(self):
        return {"K": cp.Variable((self.world.n, self.world.n), PSD=True)}

    def objective(self, K):
        return cp.Minimize(inner(self.world.L, K) + cp.sum_squares(K))

    def constraints(self, K):
        return {"entries": [K >= 0, K <= 1], "rows": cp.sum(K, axis=0) == 1}


@listed(points=7)
class NegativeKernel(Formulation):
    """min ‖G + S‖², G ⪯ 0 by attribute, G_ij = 0 on cannot-links."""

    def variables(self):
        return {"G": cp.Variable((self.world.n, self.world.n), NSD=True)}

    def objective(self, G):
        return cp.Minimize(cp.sum_squares(G + self.world.similarities))

    def constraints(self, G):
        k, m = self.world.cannot
        return {"cannot": G[k, m] == 0}


@listed(points=7)
class FactorAnalysis(Formulation):
    """Minimum-trace factors: max tr D, D diagonal by attribute, 0 ≤ D, S − D ⪰ 0."""

    def variables(self):
        return {"D": cp.Variable((self.world.n, self.world.n), diag=True)}

    def objective(self, D):
        return cp.Maximize(cp.trace(D))

    def constraints(self, D):
        S = self.world.similarities + np.eye(self.world.n)
        return {"rest": S - D >> 0, "variances": cp.diag(D) >= 0}


@listed(points=7)
class SparseAffinity(Formulation):
    """min ‖A − W‖², A zero but on edges and the diagonal by attribute, A1 = 1, A_ij ≥ 0.1 on edges."""

    def variables(self):
        (i, j), d = self.world.edges.T, np.arange(self.world.n)
        places = (np.concatenate([i, j, d]), np.concatenate([j, i, d]))
        return {"A": cp.Variable((self.world.n, self.world.n), sparsity=places)}

    def objective(self, A):
        return cp.Minimize(cp.sum_squares(A - self.world.similarities))

    def constraints(self, A):
        i, j = self.world.edges.T
        return {"rows": cp.sum(A, axis=1) == 1, "edges": A[i, j] >= 0.1}


@listed(moderate=60, is_limited=True)
class WithoutLinks(Formulation):
    """An empty set of links: min ⟨L, K⟩ + 1ᵀs, K_ii = 1, K_ij ≤ s on no pair, K ⪰ 0; u is used by nothing."""

    def variables(self):
        n = self.world.n
        return {"K": cp.Variable((n, n), symmetric=True), "s": cp.Variable(0), "u": cp.Variable(3, nonneg=True)}

    def objective(self, K, s, u):
        return cp.Minimize(inner(self.world.L, K) + cp.sum(s))

    def constraints(self, K, s, u):
        i, j = cl.Links(self.world.n).cannot.T
        return {"unit": cp.diag(K) == 1, "cannot": K[i, j] <= s, "nothing": [], "psd": K >> 0}


@listed(points=6)
class SignsOfVariables(Formulation):
    """min Σ(a + b² + 1/c) − Σd, with a ≥ 0, b ≤ 0, c > 0, d < 0 by attributes, a + b + c + d = x_i, c ≤ 3."""

    def variables(self):
        n = self.world.n
        return {
            "a": cp.Variable(n, nonneg=True),
            "b": cp.Variable(n, nonpos=True),
            "c": cp.Variable(n, pos=True),
            "d": cp.Variable(n, neg=True),
        }

    def objective(self, a, b, c, d):
        return cp.Minimize(cp.sum(a) + cp.sum_squares(b) + cp.sum(cp.inv_pos(c)) - cp.sum(d))

    def constraints(self, a, b, c, d):
        return {"sum": a + b + c + d == self.world.X[:, 0], "cap": c <= 3}


# ---------------------------------------------------------------------- without an answer


class Correlation(Formulation):
    """min ⟨L, K⟩, K_ii = 1, K ⪰ 0, and more."""

    def variables(self):
        return {"K": cp.Variable((self.world.n, self.world.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(inner(self.world.L, K))

    def constraints(self, K):
        return {"unit": cp.diag(K) == 1, "psd": K >> 0}


@listed(status=cl.Status.INFEASIBLE)
class ContradictoryLinks(Correlation):
    """K_01 = K_12 = 1 but K_02 = 0."""

    def constraints(self, K):
        return {**super().constraints(K), "must": [K[0, 1] == 1, K[1, 2] == 1], "cannot": K[0, 2] == 0}


@listed(status=cl.Status.INFEASIBLE)
class ThreeOpposites(Correlation):
    """K_01, K_12, K_02 ≤ −0.6: three unit vectors cannot be that far apart."""

    def constraints(self, K):
        return {**super().constraints(K), "opposite": K[[0, 1, 0], [1, 2, 2]] <= -0.6}


class Free(Formulation):
    """One number for each point."""

    def variables(self):
        return {"f": cp.Variable(self.world.n)}

    def objective(self, f):
        return cp.Minimize(cp.sum(f))


@listed(status=cl.Status.INFEASIBLE)
class TooFewPlaces(Free):
    """Σ f = n, 0 ≤ f ≤ 0.9."""

    def constraints(self, f):
        return {"total": cp.sum(f) == self.world.n, "places": f <= 0.9, "least": f >= 0}


@listed(status=cl.Status.INFEASIBLE)
class TooFarForBall(Free):
    """‖f‖ ≤ 1, f_0 − f_1 ≥ 3."""

    def constraints(self, f):
        return {"ball": cp.norm(f) <= 1, "apart": f[0] - f[1] >= 3}


@listed(status=cl.Status.UNBOUNDED)
class LooseVariance(Formulation):
    """max tr K, distances within the halves are kept: nothing holds the halves together."""

    def variables(self):
        return {"K": cp.Variable((self.world.n, self.world.n), symmetric=True)}

    def objective(self, K):
        return cp.Maximize(cp.trace(K))

    def constraints(self, K):
        half = self.world.n // 2
        i, j = np.array([(a, a + 1) for a in range(self.world.n - 1) if a != half]).T
        return {
            "centred": cp.sum(K) == 0,
            "distances": K[i, i] + K[j, j] - 2 * K[i, j] == self.world.distances[i, j],
            "psd": K >> 0,
        }


@listed(status=cl.Status.UNBOUNDED)
class Downhill(Free):
    """min Σ f, f ≤ 1, f_0 ≥ 0."""

    def constraints(self, f):
        return {"cap": f <= 1, "first": f[0] >= 0}


@listed(status=cl.Status.UNBOUNDED)
class SteepCone(Free):
    """min ‖(f_1, f_2)‖ − 2f_1, f ≥ −1: steeper than the cone."""

    def objective(self, f):
        return cp.Minimize(cp.norm(f[1:3]) - 2 * f[1])

    def constraints(self, f):
        return {"least": f >= -1}
