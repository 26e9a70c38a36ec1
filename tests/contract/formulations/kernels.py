"""Kernels, partitions and other matrices that have to be semidefinite."""

from __future__ import annotations

from itertools import combinations

import cvxpy as cp
import numpy as np

from .catalogue import Formulation, listed


def inner(A, K):
    """Return ⟨A, K⟩."""
    return cp.sum(cp.multiply(A, K))


def matrix(n, name="K"):
    """Return a symmetric matrix."""
    return {name: cp.Variable((n, n), symmetric=True)}


@listed(moderate=60, has_hard_links=True, is_limited=True)
class KMeansRelaxation(Formulation):
    """Peng & Wei: min ⟨D, Z⟩/2, Z1 = 1, tr Z = 3, Z ≥ 0, Z ⪰ 0; Z_ik = Z_jk on must-links, Z_ij = 0 on cannot-links."""

    def variables(self):
        return matrix(self.world.n, "Z")

    def objective(self, Z):
        return cp.Minimize(inner(self.world.distances, Z) / 2)

    def constraints(self, Z):
        i, j = self.world.must
        return {
            "rows": cp.sum(Z, axis=1) == 1,
            "clusters": cp.trace(Z) == 3,
            "entries": Z >= 0,
            "must": Z[i, :] == Z[j, :],
            "cannot": Z[self.world.cannot[0], self.world.cannot[1]] == 0,
            "psd": Z >> 0,
        }


@listed(moderate=80, has_hard_links=True, is_limited=True)
class CorrelationClustering(Formulation):
    """Agreements of a signed graph: max ⟨A, K⟩, K_ii = 1, K ≥ 0, K ⪰ 0; K_ij = 1 or 0 on links."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        signed = self.world.similarities - 0.3 * (1 - np.eye(self.world.n))
        return cp.Maximize(inner(signed, K))

    def constraints(self, K):
        (i, j), (k, m) = self.world.must, self.world.cannot
        return {"unit": cp.diag(K) == 1, "entries": K >= 0, "must": K[i, j] == 1, "cannot": K[k, m] == 0, "psd": K >> 0}


@listed(moderate=100, has_hard_links=True, is_limited=True)
class SignedCut(Formulation):
    """Two sides ±1: min ⟨L, K⟩, K_ii = 1, K ⪰ 0; K_ij = 1 on must-links, K_ij = −1 on cannot-links (two groups)."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        return cp.Minimize(cp.trace(self.world.L @ K))

    def constraints(self, K):
        sides = (self.world.groups == 0).astype(int)
        i, j = np.concatenate([self.world.links.must, self.world.links.cannot]).T
        same = sides[i] == sides[j]
        return {
            "unit": cp.diag(K) == 1,
            "same side": K[i[same], j[same]] == 1,
            "other side": K[i[~same], j[~same]] == -1,
            "psd": K >> 0,
        }


@listed(points=7, is_limited=True)
class TriangleMaxCut(Formulation):
    """max ¼⟨L, K⟩, K_ii = 1, K ⪰ 0, and ±K_ij ± K_jk ± K_ik ≥ −1 on triangles (an even number of minus signs)."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        return cp.Maximize(inner(self.world.L, K) / 4)

    def constraints(self, K):
        i, j, k = np.array(list(combinations(range(self.world.n), 3))).T
        a, b, c = K[i, j], K[j, k], K[i, k]
        triangles = [a + b + c >= -1, a - b - c >= -1, -a + b - c >= -1, -a - b + c >= -1]
        return {"unit": cp.diag(K) == 1, "triangles": triangles, "psd": K >> 0}


@listed(moderate=60, has_hard_links=True, is_limited=True)
class LinkedFantope(Formulation):
    """Spectral clustering: min ⟨L, Y⟩, 0 ⪯ Y ⪯ I, tr Y = 3, Y1 = 1; Y_ik = Y_jk on must-links, 0 on cannot-links."""

    def variables(self):
        return matrix(self.world.n, "Y")

    def objective(self, Y):
        return cp.Minimize(inner(self.world.L, Y))

    def constraints(self, Y):
        (i, j), (k, m) = self.world.must, self.world.cannot
        return {
            "trace": cp.trace(Y) == 3,
            "constant": Y @ np.ones(self.world.n) == 1,
            "must": [Y[a] == Y[b] for a, b in zip(i, j, strict=True)],
            "cannot": Y[k, m] == 0,
            "psd": Y >> 0,
            "below": np.eye(self.world.n) >> Y,
        }


@listed()
class VarianceUnfolding(Formulation):
    """max tr K, ⟨11ᵀ, K⟩ = 0, K ⪰ 0; distances on the edges of the graph are kept."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        return cp.Maximize(cp.trace(K))

    def constraints(self, K):
        i, j = self.world.edges.T
        return {
            "centred": cp.sum(K) == 0,
            "distances": K[i, i] + K[j, j] - 2 * K[i, j] == self.world.distances[i, j],
            "psd": K >> 0,
        }


@listed(moderate=80, has_hard_links=True, is_limited=True)
class WorstOfGraphs(Formulation):
    """Views of the same points: min max_v ⟨L_v, K⟩, K_ii = 1, K_ij = 1 or 0 on links, K ⪰ 0."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        views = []
        for coordinate in self.world.X.T:
            W = np.exp(-((coordinate[:, None] - coordinate[None]) ** 2))
            views.append(inner(np.diag(W.sum(axis=1)) - W, K) / self.world.n)
        return cp.Minimize(cp.maximum(*views))

    def constraints(self, K):
        (i, j), (k, m) = self.world.must, self.world.cannot
        return {"unit": cp.diag(K) == 1, "must": K[i, j] == 1, "cannot": K[k, m] == 0, "psd": K >> 0}


@listed(points=7, is_limited=True)
class CoupledKernels(Formulation):
    """min ⟨L, K⟩ + ⟨L², M⟩ + ‖K − M‖², both with unit diagonal and semidefinite; K_ij = 1 on must-links."""

    def variables(self):
        return {**matrix(self.world.n), **matrix(self.world.n, "M")}

    def objective(self, K, M):
        L = self.world.L
        return cp.Minimize(inner(L, K) + inner(L @ L, M) / 10 + cp.sum_squares(K - M))

    def constraints(self, K, M):
        i, j = self.world.must
        return {"units": [cp.diag(K) == 1, cp.diag(M) == 1], "must": K[i, j] == 1, "K psd": K >> 0, "M psd": M >> 0}


@listed(is_limited=True)
class HuberLinks(Formulation):
    """min ⟨L, K⟩ + Σ huber(K_ij − t_ij), t = 1 on must-links and 0 on cannot-links; K_ii = 1, K ⪰ 0."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        (i, j), (k, m) = self.world.must, self.world.cannot
        wrong = cp.hstack([K[i, j] - 1, K[k, m]])
        return cp.Minimize(inner(self.world.L, K) + cp.sum(cp.huber(wrong, 0.2)))

    def constraints(self, K):
        return {"unit": cp.diag(K) == 1, "psd": K >> 0}


@listed()
class LinksAtRisk(Formulation):
    """Conditional value at risk over draws of links: min ⟨L, K⟩ + t + Σ_s max(0, loss_s(K) − t) / (0.3 S)."""

    def variables(self):
        return {**matrix(self.world.n), "t": cp.Variable()}

    def objective(self, K, t):
        rng, losses = np.random.default_rng(0), []
        for _ in range(6):
            (i, j), (k, m) = (
                pairs[rng.random(len(pairs)) < 0.6].T for pairs in (self.world.links.must, self.world.links.cannot)
            )
            losses.append(cp.sum(1 - K[i, j]) + cp.sum(cp.pos(K[k, m])))
        return cp.Minimize(inner(self.world.L, K) / 5 + t + cp.sum(cp.pos(cp.hstack(losses) - t)) / (0.3 * 6))

    def constraints(self, K, t):
        return {"unit": cp.diag(K) == 1, "psd": K >> 0}


@listed(moderate=60, is_limited=True)
class SquareRootFit(Formulation):
    """Nearest correlation matrix, not squared: min ‖K − S‖_F, K_ii = 1, K_ij = 0 on cannot-links, K ⪰ 0."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        return cp.Minimize(cp.norm(K - 1.5 * self.world.similarities, "fro"))

    def constraints(self, K):
        k, m = self.world.cannot
        return {"unit": cp.diag(K) == 1, "cannot": K[k, m] == 0, "psd": K >> 0}


@listed(points=6, is_limited=True)
class EntropicKernel(Formulation):
    """Quantum entropy: min ⟨L, K⟩ − S(K), tr K = 1, K_ij = 0 on cannot-links."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        return cp.Minimize(inner(self.world.L, K) - cp.von_neumann_entr(K))

    def constraints(self, K):
        k, m = self.world.cannot
        return {"trace": cp.trace(K) == 1, "cannot": K[k, m] == 0}


@listed()
class PartitionBound(Formulation):
    """Donath & Hoffman: min the sum of the 3 largest eigenvalues of W + diag(d), 1ᵀd = 0."""

    def variables(self):
        return {"d": cp.Variable(self.world.n)}

    def objective(self, d):
        return cp.Minimize(cp.lambda_sum_largest(self.world.similarities + cp.diag(d), 3))

    def constraints(self, d):
        return {"balance": cp.sum(d) == 0}


@listed(is_limited=True)
class FastestMixing(Formulation):
    """Weights of edges: min λ_max(I − L(w) − 11ᵀ/n), w ≥ 0, Σ_e w_e = 2; at least 0.05 on each."""

    def variables(self):
        return {"w": cp.Variable(len(self.world.edges), nonneg=True)}

    def objective(self, w):
        n, (i, j) = self.world.n, self.world.edges.T
        B = np.zeros((n, len(i)))
        B[i, np.arange(len(i))], B[j, np.arange(len(i))] = 1, -1
        return cp.Minimize(cp.lambda_max(np.eye(n) - B @ cp.diag(w) @ B.T - np.ones((n, n)) / n))

    def constraints(self, w):
        return {"total": cp.sum(w) == 2, "least": w >= 0.05}


@listed(points=7)
class RobustSimilarities(Formulation):
    """min ‖A‖_* + 0.3‖E‖₁, A + E = W; E_ij = 0 where there is a must-link."""

    def variables(self):
        shape = (self.world.n, self.world.n)
        return {"A": cp.Variable(shape), "E": cp.Variable(shape)}

    def objective(self, A, E):
        return cp.Minimize(cp.normNuc(A) + 0.3 * cp.sum(cp.abs(E)))

    def constraints(self, A, E):
        i, j = self.world.must
        return {"sum": self.world.similarities == A + E, "trusted": E[i, j] == 0}


@listed(moderate=60, has_hard_links=True, is_limited=True)
class AnyKernel(Formulation):
    """A feasibility problem: min 0, K_ii = 1, K_ij = 1 or 0 on links, K ⪰ 0."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        return cp.Minimize(0)

    def constraints(self, K):
        (i, j), (k, m) = self.world.must, self.world.cannot
        return {"unit": cp.diag(K) == 1, "must": K[i, j] == 1, "cannot": K[k, m] == 0, "psd": K >> 0}


@listed(moderate=80, has_hard_links=True, is_limited=True)
class HingedKernel(Formulation):
    """min ⟨L, K⟩ + Σ_𝒞 max(0, K_ij), K_ii = 1, K ⪰ 0; must-links have distance zero: K_ii + K_jj = 2K_ij."""

    def variables(self):
        return matrix(self.world.n)

    def objective(self, K):
        k, m = self.world.cannot
        return cp.Minimize(inner(self.world.L, K) + cp.sum(cp.pos(K[k, m])))

    def constraints(self, K):
        i, j = self.world.must
        return {"unit": cp.diag(K) == 1, "together": K[i, i] + K[j, j] - 2 * K[i, j] == 0, "psd": K >> 0}
