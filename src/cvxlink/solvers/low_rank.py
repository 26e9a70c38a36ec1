r"""Kernels of low rank: K = VVᵀ, with the rows of V on spheres.

For the program :math:`\min \langle C, K\rangle` over :math:`K_{aa} = d_a`, further rows :math:`\mathcal{A}(K) = b`
(or ≤) and :math:`K \succeq 0`, solutions have a rank of about the number of clusters. With :math:`K = VV^\top`, V of
n rows and p columns, semidefiniteness and diagonal hold by themselves, and what is left is smooth: minimise

.. math:: \langle C, VV^\top\rangle - z^\top g + \tfrac\sigma2 \|g\|^2, \qquad g = \mathcal{A}(VV^\top) - b,

over rows of length :math:`\sqrt{d_a}` by L-BFGS, with one product :math:`CV` per step, and follow
:math:`z \leftarrow z - \sigma g` (Burer & Monteiro 2003). That program is not convex; the answer is proven afterwards
by convex duality. With

.. math:: y_a = \bigl((C - \mathcal{A}^*(z))V\bigr)_a \cdot V_a / d_a, \qquad
          S = C - \mathrm{Diag}(y) - \mathcal{A}^*(z),

every feasible K costs at least :math:`d^\top y + b^\top z + \min(0, \lambda_{\min}(S)) \sum_a d_a`. The value is that
of V moved onto :math:`g = 0` (Gauss & Newton), so the gap between the two is a proof, and the method stops when that
gap is small. Where :math:`\lambda_{\min}(S) < 0`, its eigenvector, put into an empty column of V, leads downhill
(Boumal's staircase): columns that are not needed are dropped, and one is added if all are needed.

Convex functions of single numbers in the objective, :math:`\sum_l \varphi_l(\langle A_l, K\rangle)`, have the same
shape: with :math:`g_l = \langle A_l, VV^\top\rangle - t_l` the augmented Lagrangian is minimised over :math:`t_l` by a
proximal step, and the bound has :math:`-\varphi_l^*(-z_l)` in place of :math:`b_lz_l`. A constraint is a function that
is zero where it holds and infinite elsewhere, so rows and terms are treated alike
(:mod:`cvxlink.numerics.losses`). Points that hard must-links join are merged first.

References
----------
Burer & Monteiro (2003); Boumal, Voroninski & Bandeira (2016).
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..numerics.checks import as_generator
from ..numerics.matrices import Congruence
from ..numerics.threads import threads_for
from ..programs.linear_sdp import LinearSDP
from ..programs.separable_sdp import SeparableSDP
from .merging import merged, with_terms
from .route import Attempt, Iteration, Route, Settings
from .spheres import Curvature, Proof, Spheres, Value, linear_part, row_products, squared_lengths, unit_rows

# The target gap, unless a smaller one is requested.
DEFAULT_GAP = 1e-5
# Below this order the interior-point method is as fast.
LEAST_ORDER = 250
# With more terms per point than this, answers are rarely of low rank.
MOST_TERMS = 5
# Columns at first: solutions for a few clusters have rank 3 to 6.
COLUMNS = 8
# A column that holds less than this share of all squared lengths is empty.
EMPTY = 1e-6
# If rows cannot be satisfied better than this, more columns are needed; many orthogonal points are an example.
TOO_FEW_COLUMNS = 1e-3
# Pairs of steps and gradients that L-BFGS remembers.
MEMORY = 10
MOST_ROUNDS = 60
PATIENCE = 12
MOST_STEPS = 500
# How far a step along an eigenvector may go, in units of the lengths of the rows; long rows allow short steps only.
REACHES = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3)
# Steps after which the curvature is recomputed.
REFRESH = 20
# The target for the first gradient, per point and in units of the costs; each round's target is a fifth of the last.
FIRST_GRADIENT = 1e-2
SMALLER_GRADIENT = 0.2
# The first weight of violations, in units of the costs, and its growth if they do not shrink to a quarter.
FIRST_PENALTY = 5.0
MORE_PENALTY = 4.0
MOST_PENALTY = 1e5


class LowRank(Route):
    """Minimise over a factor with few columns; the multipliers prove the answer."""

    name = "low-rank"
    iterates = True
    why = "the kernel has low rank: steps multiply the sparse cost by a few columns, and the multipliers prove the gap"
    remedy = (
        "look at the certificate; use a lower accuracy such as accuracy=1e-3, or, up to order 5000, "
        "route='interior-point'"
    )
    starts_warm = True
    least_order = LEAST_ORDER

    def refuses(self, data: LinearSDP | SeparableSDP) -> str | None:
        """Return what is missing."""
        lengths = squared_lengths(linear_part(data))[0]
        loose = np.flatnonzero(~(lengths > 0))
        if len(loose):
            return f"no single equation fixes the diagonal entry of point {loose[0]} to a positive value"
        return None

    def suits(self, data: LinearSDP | SeparableSDP) -> bool:
        """Whether the program is strictly feasible, so that the gap closes, and has few terms per point."""
        if isinstance(data, SeparableSDP):
            if len(data.losses) > MOST_TERMS * data.n:
                return False
            data = merged(data)[0]
        return linear_part(data).interior_point is not None

    def run(self, data: LinearSDP | SeparableSDP, settings: Settings) -> Attempt:
        """Solve until the proven gap is below the accuracy, and at least below 1e-5, relative to 1 + |value|."""
        if not isinstance(data, SeparableSDP):
            return _solved(data, settings)
        small, lift = merged(data)
        if lift is None:
            return with_terms(data, _solved(data, settings))
        start = None if settings.start is None else lift.start(settings.start)
        attempt = _solved(small, replace(settings, start=start))
        values, duals = lift.point(attempt.values, attempt.duals)
        duals[data.name] = attempt.duals[data.name]
        return with_terms(data, replace(attempt, values=values, duals=duals))


def _solved(data: LinearSDP | SeparableSDP, settings: Settings) -> Attempt:
    wanted = DEFAULT_GAP if settings.accuracy is None else min(settings.accuracy, DEFAULT_GAP)
    spheres = Spheres(data)
    # Columns are few, so threads have nothing to do unless the costs are dense.
    with threads_for(1 if sp.issparse(spheres.C) else data.n):
        return _Rounds(spheres, Iteration(settings, MOST_ROUNDS, PATIENCE, 0.9 * wanted)).run()


class _Rounds:
    """Rounds of minimising over V and updating the multipliers, until the gap is proven to be small."""

    def __init__(self, spheres: Spheres, iteration: Iteration) -> None:
        self.spheres, self.iteration = spheres, iteration
        self.rng = as_generator(iteration.settings.random_state)
        self.V, self.z = self._random(), np.zeros(len(spheres.losses))
        self.penalty = FIRST_PENALTY * spheres.cost
        self.wanted = FIRST_GRADIENT * spheres.cost * np.sqrt(spheres.n)
        self.remark = ""
        if iteration.settings.start is not None:
            self._start_from(iteration.settings.start / spheres.lengths[:, None])

    def _random(self) -> np.ndarray:
        columns = max(1, min(COLUMNS, self.spheres.enough_columns))
        return unit_rows(self.rng.standard_normal((self.spheres.n, columns)))

    def _start_from(self, given: np.ndarray) -> None:
        """Start from an earlier answer and the multipliers that fit it best."""
        spheres = self.spheres
        shares = (given**2).sum(axis=0)
        given = given[:, shares > EMPTY * shares.sum()]
        # Some noise, so that no row is zero and empty columns can be used.
        V = 1e-6 * self.rng.standard_normal((spheres.n, given.shape[1] + 1))
        V[:, :-1] += given
        V = spheres.feasible(unit_rows(V))
        if spheres.violation(spheres.forms.values(V)) > TOO_FEW_COLUMNS:
            self.remark = ", from a random start, because the given one cannot be made to satisfy the links"
            return
        self.V = V
        self.z = spheres.fitting_multipliers(self.V)
        gradient = spheres.lagrangian(self.V, self.z, self.penalty).gradient
        self.wanted = min(self.wanted, SMALLER_GRADIENT * float(np.linalg.norm(gradient)))

    def run(self) -> Attempt:
        """Go on until the gap is small, or nothing helps."""
        spheres = self.spheres
        worst = np.inf
        while True:
            at = self._descend()
            moved = spheres.multipliers(self.z, at.at, self.penalty)
            # How far ⟨A_l, K⟩ is from the number at which its function is taken; for constraints, their violation.
            violation = float(abs(moved - self.z).max(initial=0.0)) / self.penalty
            self.z = moved
            proof = spheres.proof(self.V, self.z)
            if not self._goes_on(proof):
                break
            if np.linalg.norm(at.gradient) <= self.wanted:  # otherwise the next round keeps the same targets
                if violation > worst / 4:
                    self.penalty = min(MORE_PENALTY * self.penalty, MOST_PENALTY * spheres.cost)
                worst = violation
                self.wanted *= SMALLER_GRADIENT
            self._fit_columns(proof)
        return self._attempt(self.iteration.best)

    def _goes_on(self, proof: Proof) -> bool:
        columns = self.V.shape[1]
        numbers = {"objective": proof.value, "bound": proof.bound, "rank": columns}
        words = "  ".join(f"{name} {number:.10g}" for name, number in numbers.items())
        progress = f"{words}  gap {proof.gap:.1e}  {self.spheres.products:.0f} products"
        return self.iteration.goes_on(proof, proof.off, progress, **numbers)

    def _attempt(self, best: Proof) -> Attempt:
        spheres, sdp = self.spheres, self.spheres.sdp
        y, z = np.zeros(len(sdp.b)), best.z / spheres.units
        hard = len(spheres.others)
        y[spheres.others] = z[:hard]
        y[spheres.diagonal_rows] = best.y / sdp.b[spheres.diagonal_rows]
        K = Congruence(spheres.lengths[:, None] * best.V, np.eye(best.V.shape[1]))
        duals: dict[str, Any] = {**sdp.split(y), sdp.cone: sdp.slack(y)}
        if isinstance(program := spheres.program, SeparableSDP):
            duals[program.name] = np.clip(-z[hard:], *program.losses.slopes)
        attempt = self.iteration.attempt({sdp.variable: K}, duals)
        how = (
            f"{attempt.reason}, {spheres.products:.0f} products with the costs, {best.V.shape[1]} columns{self.remark}"
        )
        return replace(attempt, reason=how)

    # ------------------------------------------------------------------ columns

    def _fit_columns(self, proof: Proof) -> None:
        """Rotate V so that its columns are sorted, drop all empty ones except one, and move that one downhill."""
        if proof.violation > TOO_FEW_COLUMNS and self.V.shape[1] < self.spheres.enough_columns:
            more = min(self.V.shape[1], self.spheres.enough_columns - self.V.shape[1])
            self.V = unit_rows(np.hstack([self.V, 0.1 * self.rng.standard_normal((len(self.V), more))]))
            return
        shares, turn = np.linalg.eigh(self.V.T @ self.V)
        V = self.V @ turn[:, ::-1]
        used = int((shares > EMPTY * self.spheres.n).sum())
        kept = min(used + 1, max(self.spheres.enough_columns, V.shape[1]))
        V = np.column_stack([V, np.zeros(len(V))])[:, :kept] if kept > V.shape[1] else V[:, :kept]
        self.V = unit_rows(V)
        if proof.eigenvalue < 0:
            before = self.spheres.lagrangian(self.V, self.z, self.penalty).total
            for reach in REACHES:
                moved = self.V.copy()
                moved[:, -1] += reach * np.sqrt(self.spheres.n) * proof.direction
                moved = unit_rows(moved)
                if self.spheres.lagrangian(moved, self.z, self.penalty).total < before:
                    self.V = moved
                    break

    # ------------------------------------------------------------------ L-BFGS

    def _descend(self) -> Value:
        """Minimise over V until the gradient is as small as wanted."""
        spheres, V = self.spheres, self.V
        at = spheres.lagrangian(V, self.z, self.penalty)
        memory: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=MEMORY)
        for step in range(MOST_STEPS):
            if np.linalg.norm(at.gradient) <= self.wanted or self.iteration.is_late:
                break
            if step % REFRESH == 0:
                curvature = Curvature(spheres, V, at, self.penalty)
            way = _quasi_newton(memory, at.gradient, curvature)
            way -= row_products(way, V)[:, None] * V
            slope = float(np.vdot(at.gradient, way))
            if not slope > 0:
                memory.clear()
                way = curvature.solve(at.gradient)
                way -= row_products(way, V)[:, None] * V
                slope = float(np.vdot(at.gradient, way))
            moved = self._along(V, way, slope, at)
            if moved is None:
                break
            V_new, new = moved
            moved_by, change = V_new - V, new.gradient - at.gradient
            product = float(np.vdot(moved_by, change))
            if product > 1e-10 * np.linalg.norm(moved_by) * np.linalg.norm(change):
                memory.append((moved_by, change, product))
            V, at = V_new, new
        self.V = V
        return at

    def _along(self, V: np.ndarray, way: np.ndarray, slope: float, at: Value) -> tuple[np.ndarray, Value] | None:
        """Return the first point along the way that decreases enough, or None if rounding prevents it."""
        length = 1.0
        while length > 1e-8:
            moved = unit_rows(V - length * way)
            new = self.spheres.lagrangian(moved, self.z, self.penalty)
            if new.total <= at.total - 1e-4 * length * slope + 1e-14 * abs(at.total):
                return moved, new
            length *= 0.4
        return None


def _quasi_newton(memory: Any, gradient: np.ndarray, curvature: Curvature) -> np.ndarray:
    """Return the inverse Hessian times the gradient, by L-BFGS from the last steps and a block diagonal."""
    way, shares = gradient.copy(), []
    for step, change, product in reversed(memory):
        share = float(np.vdot(step, way)) / product
        shares.append(share)
        way -= share * change
    way = curvature.solve(way)
    if memory:
        _, change, product = memory[-1]
        way *= product / float(np.vdot(change, curvature.solve(change)))
    for (step, change, product), share in zip(memory, reversed(shares), strict=True):
        way += (share - float(np.vdot(change, way)) / product) * step
    return way
