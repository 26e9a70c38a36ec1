"""Scores, assignments and regressions: linear, second-order, exponential and power cones."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from .catalogue import Formulation, listed


class Assignment(Formulation):
    """Probabilities P of three clusters for each point."""

    @property
    def costs(self) -> np.ndarray:
        """Squared distances from three of the points."""
        return self.world.distances[:, :3]

    def variables(self):
        return {"P": cp.Variable((self.world.n, 3), nonneg=True)}


@listed(moderate=100, is_limited=True)
class EntropicAssignment(Assignment):
    """min ⟨C, P⟩ + ½ Σ P log P, P1 = 1; P_i = P_j on must-links."""

    def objective(self, P):
        return cp.Minimize(cp.sum(cp.multiply(self.costs, P)) - cp.sum(cp.entr(P)) / 2)

    def constraints(self, P):
        i, j = self.world.must
        return {"simplex": cp.sum(P, axis=1) == 1, "must": P[i, :] == P[j, :]}


@listed(points=12, moderate=100, is_limited=True)
class BalancedAssignment(Assignment):
    """A linear program: min ⟨C, P⟩, P1 = 1, at least n/4 in each cluster; P_i + P_j ≤ 1 on cannot-links."""

    def objective(self, P):
        return cp.Minimize(cp.sum(cp.multiply(self.costs, P)))

    def constraints(self, P):
        (i, j), (k, m) = self.world.must, self.world.cannot
        return {
            "simplex": cp.sum(P, axis=1) == 1,
            "balance": cp.sum(P, axis=0) >= self.world.n / 4,
            "must": P[i, :] == P[j, :],
            "cannot": P[k, :] + P[m, :] <= 1,
        }


@listed(is_limited=True)
class FairAssignment(Assignment):
    """max the geometric mean of the sizes of clusters − ⟨C, P⟩/n, P1 = 1."""

    def objective(self, P):
        cost = cp.sum(cp.multiply(self.costs, P)) / self.world.n
        return cp.Maximize(cp.geo_mean(cp.sum(P, axis=0)) - cost)

    def constraints(self, P):
        return {"simplex": cp.sum(P, axis=1) == 1}


class Scored(Formulation):
    """One number for each point, and groups 0 and 1 of a few of them as labels −1 and 1."""

    def variables(self):
        return {"f": cp.Variable(self.world.n)}

    @property
    def differences(self) -> np.ndarray:
        """The matrix that maps f to f_i − f_j on edges."""
        (i, j), rows = self.world.edges.T, np.arange(len(self.world.edges))
        B = np.zeros((len(rows), self.world.n))
        B[rows, i], B[rows, j] = 1, -1
        return B

    @property
    def targets(self) -> np.ndarray:
        """A noisy score for each point."""
        return self.world.X[:, 0] - 1

    def constraints(self, f):
        i, j = self.world.must
        return {"must": f[i] == f[j]}


@listed(moderate=100)
class FusedLasso(Scored):
    """min ½‖f − y‖² + ¼ Σ_E |f_i − f_j|, f_i = f_j on must-links."""

    def objective(self, f):
        return cp.Minimize(cp.sum_squares(f - self.targets) / 2 + cp.norm1(self.differences @ f) / 4)


@listed()
class TotalVariation(Scored):
    """Labels spread along a graph: min Σ_E |f_i − f_j|, f = −1 at the first point and 1 at the second."""

    def objective(self, f):
        return cp.Minimize(cp.norm1(self.differences @ f))

    def constraints(self, f):
        return {"labels": f[:2] == np.array([-1.0, 1.0])}


@listed()
class CubicFit(Scored):
    """min ‖f − y‖₃ + ½ Σ_E |f_i − f_j|^1.5, f_i = f_j on must-links."""

    def objective(self, f):
        return cp.Minimize(cp.pnorm(f - self.targets, 3) + cp.sum(cp.power(cp.abs(self.differences @ f), 1.5)) / 2)


@listed()
class TrimmedFit(Scored):
    """min the sum of the 3 largest |f_i − y_i|, |f_i − f_j| ≤ 0.4 on edges."""

    def objective(self, f):
        return cp.Minimize(cp.sum_largest(cp.abs(f - self.targets), 3))

    def constraints(self, f):
        return {"smooth": cp.abs(self.differences @ f) <= 0.4}


@listed(is_limited=True)
class ChanceLinks(Scored):
    """min Σ f, f_i − f_j + 1.6‖Σ^½ (f_i, f_j)‖ ≤ 0.5 on cannot-links, −1 ≤ f ≤ 1."""

    def variables(self):
        return {"f": cp.Variable(self.world.n, bounds=[-1, 1])}

    def objective(self, f):
        return cp.Minimize(cp.sum(f) + self.targets @ f)

    def constraints(self, f):
        root = np.array([[0.5, 0.1], [0.1, 0.3]])
        return {"likely": [f[i] - f[j] + 1.6 * cp.norm(root @ f[[i, j]]) <= 0.5 for i, j in self.world.links.cannot]}


@listed(points=10)
class LogisticLinks(Formulation):
    """min Σ log(1 + exp(−y_i xᵢᵀw)) + ½‖w‖² + Σ_ℳ |(x_i − x_j)ᵀw|."""

    def variables(self):
        return {"w": cp.Variable(2), "b": cp.Variable()}

    def objective(self, w, b):
        X, y = self.world.X, np.where(self.world.groups == 0, 1.0, -1.0)
        i, j = self.world.must
        loss = cp.sum(cp.logistic(-cp.multiply(y, X @ w + b)))
        return cp.Minimize(loss + cp.sum_squares(w) / 2 + cp.norm1((X[i] - X[j]) @ w))

    def constraints(self, w, b):
        return {}


@listed(points=6)
class SoftmaxLabels(Formulation):
    """min Σ_i log Σ_c exp F_ic − F_{i, c(i)} over labelled points + ½ tr FᵀLF + 0.1‖F‖²."""

    def variables(self):
        return {"F": cp.Variable((self.world.n, 3))}

    def objective(self, F):
        labelled, R = np.arange(3), np.linalg.cholesky(self.world.L + 0.2 * np.eye(self.world.n)).T
        loss = cp.sum(cp.log_sum_exp(F[labelled], axis=1)) - cp.sum(F[labelled, self.world.groups[labelled]])
        return cp.Minimize(loss + cp.sum_squares(R @ F) / 2)

    def constraints(self, F):
        return {"centred": cp.sum(F, axis=1) == 0}


@listed(points=6)
class Medians(Formulation):
    """Fermat's point by cones: min Σ t_i, (t_i, c − x_i) in second-order cones."""

    def variables(self):
        return {"c": cp.Variable(2), "t": cp.Variable(self.world.n)}

    def objective(self, c, t):
        return cp.Minimize(cp.sum(t))

    def constraints(self, c, t):
        return {"distances": [cp.SOC(t[i], c - x) for i, x in enumerate(self.world.X)]}


@listed(points=6)
class PowerShares(Formulation):
    """max Σ z_i, |z_i| ≤ x_i^0.4 y_i^0.6, Σ x_i ≤ 1, y_i ≤ i + 1."""

    def variables(self):
        return {name: cp.Variable(self.world.n) for name in "xyz"}

    def objective(self, x, y, z):
        return cp.Maximize(cp.sum(z))

    def constraints(self, x, y, z):
        return {
            "powers": cp.PowCone3D(x, y, z, 0.4 * np.ones(self.world.n)),
            "budget": cp.sum(x) <= 1,
            "caps": y <= 1 + np.arange(self.world.n),
        }


@listed(points=6)
class ExponentialPrices(Formulation):
    """min Σ z_i, z_i ≥ exp(x_i), x_i − x_{i+1} = 0.3 (a zero cone), Σ x = 1; all by objects."""

    def variables(self):
        return {"x": cp.Variable(self.world.n), "z": cp.Variable(self.world.n)}

    def objective(self, x, z):
        return cp.Minimize(cp.sum(z))

    def constraints(self, x, z):
        one = cp.Constant(np.ones(self.world.n))
        return {
            "prices": cp.constraints.ExpCone(x, one, z),
            "steps": cp.constraints.Zero(x[:-1] - x[1:] - 0.3),
            "total": cp.sum(x) == 1,
        }


@listed()
class ConeObjects(Scored):
    """A linear program of objects: min yᵀf + Σ t, t ≥ f and t ≥ −f as NonNeg, f ≤ 1 as NonPos, f_0 = f_3 as Zero."""

    def variables(self):
        return {"f": cp.Variable(self.world.n), "t": cp.Variable(self.world.n)}

    def objective(self, f, t):
        return cp.Minimize(2 * self.targets @ f + cp.sum(t))

    def constraints(self, f, t):
        return {
            "absolute": [cp.constraints.NonNeg(t - f), cp.constraints.NonNeg(t + f)],
            "cap": [cp.constraints.NonPos(f - 1), cp.constraints.NonNeg(f + 1)],
            "tied": cp.constraints.Zero(f[0] - f[3]),
        }


@listed()
class LooseOptimum(Scored):
    """A linear program with an unbounded optimal set: min max(0, f_0 − f_1) + f_2, f_2 ≥ 1; all may shift together."""

    def objective(self, f):
        return cp.Minimize(cp.pos(f[0] - f[1]) + f[2])

    def constraints(self, f):
        return {"least": f[2] >= 1, "above": f[3:] >= f[2]}
