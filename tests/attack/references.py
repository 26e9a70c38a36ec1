"""What is true of a program, computed here: closed forms, and brackets of an optimum by weak duality.

Nothing in this module calls cvxlink's solvers, reductions or certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import clarabel
import mpmath
import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import minimize, nnls

EPSILON = float(np.finfo(float).eps)
DIGITS = 60


@dataclass(frozen=True)
class Reference:
    """An optimum in [low, high], up to ``rounding``.

    ``size`` is what gaps are relative to beside the value; ``objective`` and ``violation`` judge a point.
    """

    low: float
    high: float
    rounding: float
    objective: Callable[[Mapping[str, np.ndarray]], float] | None = None
    violation: Callable[[Mapping[str, np.ndarray]], float] | None = None
    size: float = 1.0
    status: str = "OPTIMAL"  # or INFEASIBLE, or UNBOUNDED: what is true
    checks_value: bool = True
    value_rounding: float = 0.0  # of the objective at a point with entries up to one

    @property
    def is_tight(self) -> bool:
        return bool(np.isfinite(self.high)) and self.high - self.low <= 1e-5 * (1 + abs(self.high)) + self.rounding


def laplacian(W: np.ndarray, normalized: bool) -> np.ndarray:
    degrees = W.sum(axis=1)
    L = np.diag(degrees) - W
    if not normalized:
        return L
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return scale[:, None] * L * scale


def schur_complement(W: np.ndarray, normalized: bool, kept: np.ndarray) -> np.ndarray:
    """Return L_ll − L_lu L_uu⁻¹ L_ul in many digits, so that weights 1e±10 do no harm; every piece has a kept point."""
    n, kept = len(W), [int(i) for i in kept]
    with mpmath.workdps(DIGITS):
        exact = [[mpmath.mpf(float(W[i, j])) for j in range(n)] for i in range(n)]
        degrees = [mpmath.fsum(row) for row in exact]
        L = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                entry = degrees[i] - exact[i][i] if i == j else -exact[i][j]
                if normalized:
                    both = degrees[i] * degrees[j]
                    entry = entry / mpmath.sqrt(both) if both else mpmath.mpf(0)
                L[i, j] = entry
        # Eliminate one point after another.
        alive = set(range(n))
        for u in sorted(alive - set(kept)):
            alive.discard(u)
            if L[u, u] == 0:
                continue
            for i in alive:
                if L[i, u]:
                    ratio = L[i, u] / L[u, u]
                    for j in alive:
                        L[i, j] -= ratio * L[u, j]
        return np.array([[float(L[i, j]) for j in kept] for i in kept])


# ---------------------------------------------------------------------- kernels with unit diagonal


@dataclass
class Correlations:
    """min f(K) over K ⪰ 0 with K_ii = 1, K_ij = 0 on ``zeros``, K_ij ≤ b on ``tops``.

    f is ⟨C, K⟩ + c + hinges + squares.

    ``hinges`` are (i, j, w, m) for w·max(0, K_ij − m); ``squares`` (i, j, w, t) for w·(K_ij − t)². K = I is feasible.
    """

    C: np.ndarray
    constant: float = 0.0
    zeros: list[tuple[int, int]] = field(default_factory=list)
    tops: list[tuple[int, int, float]] = field(default_factory=list)
    hinges: list[tuple[int, int, float, float]] = field(default_factory=list)
    squares: list[tuple[int, int, float, float]] = field(default_factory=list)

    def value(self, K: np.ndarray) -> float:
        """Return the objective."""
        hinges = sum(w * max(0.0, K[i, j] - m) for i, j, w, m in self.hinges)
        squares = sum(w * (K[i, j] - t) ** 2 for i, j, w, t in self.squares)
        return float(np.sum(self.C * K)) + self.constant + hinges + squares

    @property
    def weight(self) -> float:
        """The largest sum of absolute values that the objective can be made of."""
        hinges = sum(abs(w) * (1 + abs(m)) for _, _, w, m in self.hinges)
        return float(abs(self.C).sum()) + abs(self.constant) + hinges + sum(4 * w for _, _, w, _ in self.squares)

    @property
    def largest_cost(self) -> float:
        prices = [w for _, _, w, _ in self.hinges + self.squares]
        return float(max([abs(self.C).max(initial=0.0), *prices]))

    def bracket(self) -> tuple[float, float]:
        """Return bounds on the optimum: by an exactly feasible point, and by multipliers."""
        n = len(self.C)
        scale = max(self.weight / n, 1e-300)
        K, y, z = _solved(self, scale)
        return self._lower(K, y, z, n), self._upper(K)

    def _upper(self, K: np.ndarray) -> float:
        K = (K + K.T) / 2
        np.fill_diagonal(K, 1.0)
        for i, j in self.zeros:
            K[i, j] = K[j, i] = 0.0
        for i, j, b in self.tops:
            K[i, j] = K[j, i] = min(K[i, j], b)
        short = max(0.0, -float(np.linalg.eigvalsh(K)[0])) * (1 + 1e-9) + 1e-15
        return min(self.value((K + short * np.eye(len(K))) / (1 + short)), self.value(np.eye(len(K))))

    def _lower(self, K: np.ndarray, y: np.ndarray, z: np.ndarray, n: int) -> float:
        """For any y, and any z with the right signs: the trace of K is n, so S costs at least n λ_min(S)."""
        S, bound = self.C - np.diag(y), float(y.sum()) + self.constant
        z = iter(z)

        def add(i: int, j: int, amount: float) -> None:
            S[i, j] += amount / 2
            S[j, i] += amount / 2

        for i, j in self.zeros:
            add(i, j, next(z))
        for i, j, b in self.tops:
            price = max(next(z), 0.0)
            add(i, j, price)
            bound -= price * b
        for i, j, w, m in self.hinges:  # w·max(0, x − m) ≥ h·(x − m) for 0 ≤ h ≤ w
            price = float(np.clip(next(z), 0.0, w))
            add(i, j, price)
            bound -= price * m
        for i, j, w, t in self.squares:  # the tangent at K
            slope = 2 * w * (K[i, j] - t)
            add(i, j, slope)
            bound += w * (K[i, j] - t) ** 2 - slope * K[i, j]
        return bound + n * min(0.0, float(np.linalg.eigvalsh(S)[0]))


def _solved(program: Correlations, scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return K and multipliers from Clarabel, called directly; how good they are the bracket shows.

    Unknowns are the upper triangle of K, column by column, then a slack for each hinge.
    """
    n = len(program.C)
    rows, columns = np.triu_indices(n)
    place = {
        (int(i), int(j)): k for k, (i, j) in enumerate(sorted(zip(rows, columns, strict=True), key=lambda p: p[::-1]))
    }
    count, hinges = len(place), len(program.hinges)
    at = lambda i, j: place[min(i, j), max(i, j)]  # noqa: E731
    q, P = np.zeros(count + hinges), np.zeros(count + hinges)
    for (i, j), k in place.items():
        q[k] = (program.C[i, j] if i == j else program.C[i, j] + program.C[j, i]) / scale
    q[count:] = [w / scale for _, _, w, _ in program.hinges]
    for i, j, w, t in program.squares:
        P[at(i, j)] += 2 * w / scale
        q[at(i, j)] -= 2 * w * t / scale
    equations = [([at(i, i)], [1.0], 1.0) for i in range(n)] + [([at(i, j)], [1.0], 0.0) for i, j in program.zeros]
    bounds = [([at(i, j)], [1.0], b) for i, j, b in program.tops]
    bounds += [([at(i, j), count + k], [1.0, -1.0], m) for k, (i, j, _, m) in enumerate(program.hinges)]
    bounds += [([count + k], [-1.0], 0.0) for k in range(hinges)]
    A, b = np.zeros((len(equations) + len(bounds) + count, count + hinges)), []
    for row, (where, what, right) in enumerate(equations + bounds):
        A[row, where] = what
        b.append(right)
    for (i, j), k in place.items():
        A[len(b) + k, k] = -1.0 if i == j else -np.sqrt(2)
    b += [0.0] * count
    cones = [clarabel.ZeroConeT(len(equations))]
    cones += [clarabel.NonnegativeConeT(len(bounds))] if bounds else []
    cones += [clarabel.PSDTriangleConeT(n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(sp.diags(P).tocsc(), q, sp.csc_matrix(A), np.array(b), cones, settings)
    found = solver.solve()
    x, multipliers = np.nan_to_num(np.array(found.x)), np.nan_to_num(np.array(found.z)) * scale
    K = np.zeros((n, n))
    for (i, j), k in place.items():
        K[i, j] = K[j, i] = x[k]
    taken = n + len(program.zeros) + len(program.tops) + hinges
    return K, -multipliers[:n], multipliers[n:taken]


# ---------------------------------------------------------------------- others


def fitted_products(U: np.ndarray, pairs: np.ndarray, t: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Bracket min Σ w (u_iᵀMu_j − t)² over M ⪰ 0, where the first n pairs are (i, i) with weight 1 and UᵀU = I."""
    n, m = U.shape
    A = np.array([(np.outer(U[i], U[j]) + np.outer(U[j], U[i])) / 2 for i, j in pairs])

    def value(M: np.ndarray) -> float:
        return float(w @ (np.einsum("kab,ab->k", A, M) - t) ** 2)

    def through_factor(b: np.ndarray) -> tuple[float, np.ndarray]:
        B = b.reshape(m, m)
        r = np.einsum("kab,ab->k", A, B @ B.T) - t
        return float(w @ r**2), 4 * (np.einsum("k,kab->ab", w * r, A) @ B).ravel()

    # M = BBᵀ with a square factor has no local minima but the global ones.
    options = {"maxiter": 3000, "maxfun": 6000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(through_factor, np.eye(m).ravel(), jac=True, method="L-BFGS-B", options=options)
    B = found.x.reshape(m, m)
    M = B @ B.T
    r = np.einsum("kab,ab->k", A, M) - t
    slack = np.einsum("k,kab->ab", w * r, A)
    short = max(0.0, -float(np.linalg.eigvalsh(slack)[0]))
    r[:n] += short  # adds short · UᵀU = short · I to the slack
    return -float(w @ (2 * r * t + r**2)), value(M)


def nearness(K: np.ndarray, U: np.ndarray, bounds: np.ndarray) -> tuple[float, float]:
    """Bracket min −log|X|/|K| + tr K⁻¹X with u_rᵀXu_r ≤ b_r, by its concave dual in λ ≥ 0."""
    n, G = len(K), U.T @ K @ U
    if not len(bounds):
        return float(n), float(n)
    unit = 1 / bounds

    def dual(shares: np.ndarray) -> tuple[float, np.ndarray]:
        multipliers = shares * unit
        inner = np.eye(len(bounds)) + multipliers[:, None] * G
        inverse = np.linalg.inv(inner)
        left = np.diag(G @ inverse)  # u_rᵀXu_r
        return -(float(np.linalg.slogdet(inner)[1]) - float(shares.sum())), -(left * unit - 1)

    found = minimize(
        dual,
        np.ones(len(bounds)),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * len(bounds),
        options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10},
    )
    multipliers = np.maximum(found.x, 0) * unit
    inner = np.eye(len(bounds)) + multipliers[:, None] * G
    low = n + float(np.linalg.slogdet(inner)[1]) - float(multipliers @ bounds)
    X = K - K @ U @ np.linalg.solve(inner, multipliers[:, None] * (U.T @ K))
    reached = np.einsum("ir,ij,jr->r", U, X, U)
    share = min(1.0, float(np.min(bounds / np.maximum(reached, 1e-300))))
    trace = n - float(np.trace(np.linalg.solve(inner, multipliers[:, None] * G)))
    log = float(np.linalg.slogdet(inner)[1])  # −log|X|/|K|
    return low, log - n * np.log(share) + share * trace


def ordered_spectrum(a: np.ndarray, R: np.ndarray) -> tuple[float, float]:
    """Bracket max aᵀμ with ‖Rμ‖ ≤ 1, μ ≥ 0, μ_i ≥ μ_{i+1} for i ≥ 2: μ = Gc with c ≥ 0."""
    n = len(a)
    G = np.zeros((n, n))
    G[0, 0] = 1
    for k in range(1, n):
        G[1 : k + 1, k] = 1
    M, b = R @ G, G.T @ a
    sizes = np.linalg.norm(M, axis=0)
    kept = sizes > 1e-7 * sizes.max()
    if not kept.any():  # no linked point is in any of the eigenvectors
        return 0.0, 0.0 if not sizes.any() else np.inf
    M, b = M[:, kept] / sizes[kept], b[kept] / sizes[kept]
    # min ½‖Mc‖² − bᵀc over c ≥ 0 as least squares: b = Mᵀt has a solution t, since b is in the range of Mᵀ.
    t = np.linalg.lstsq(M.T, b, rcond=None)[0]
    c = nnls(M, t, maxiter=50 * n)[0]
    length = float(np.linalg.norm(M @ c))
    low = max(0.0, float(b @ c) / length) if length > 0 else 0.0
    u = M @ c  # Mᵀu ≥ b bounds bᵀc by ‖u‖‖Mc‖
    short = float(np.max(b - M.T @ u, initial=0.0))
    ones = np.linalg.lstsq(M.T, np.ones(len(b)), rcond=None)[0]
    if short > 0 and (M.T @ ones).min() > 0.5:
        u = u + short / (M.T @ ones).min() * ones
        short = 0.0
    return low, float(np.linalg.norm(u)) if short <= 1e-9 and kept.all() else np.inf


def constrained_cut(
    L: np.ndarray, Q: np.ndarray, beta: float, trivial: np.ndarray | None, k: int
) -> tuple[float, float]:
    """Bracket the cheapest cut: sup over λ ≥ 0 of the sum of k smallest eigenvalues of L − λ(Q − βI), which is it."""
    n = len(L)
    V = np.eye(n) if trivial is None else scipy.linalg.null_space(trivial[None, :])
    A, B = V.T @ L @ V, V.T @ (Q - beta * np.eye(n)) @ V

    def bound(multiplier: float) -> float:
        return float(np.linalg.eigvalsh(A - multiplier * B)[:k].sum())

    size = max(np.linalg.norm(A, 2), 1e-12) / max(np.linalg.norm(B, 2), 1e-300)
    grid = np.concatenate([[0.0], size * np.logspace(-8, 8, 65)])
    values = [bound(point) for point in grid]
    best = int(np.argmax(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    for _ in range(80):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (one, high) if bound(one) < bound(two) else (low, two)
    found = max(*values, bound((low + high) / 2))
    is_inside = best < len(grid) - 8
    return found, found if is_inside else np.inf


def stationary_cuts(L: np.ndarray, Q: np.ndarray, trivial: np.ndarray) -> float | None:
    """Return max fᵀQf over unit f with Lf = λQf, λ ≠ 0, for a connected graph; None where eigenvalues are too close."""
    V = scipy.linalg.null_space(trivial[None, :])
    Qv = Q @ trivial
    reduced = V.T @ (Q - np.outer(Qv, Qv) / (trivial @ Qv)) @ V
    try:
        eigenvalues, X = scipy.linalg.eigh((reduced + reduced.T) / 2, V.T @ L @ V)
    except np.linalg.LinAlgError:  # L is zero to all its digits beyond the trivial cut too
        return None
    x = V @ X
    f = x - np.outer(trivial, Qv @ x) / (trivial @ Qv)
    f /= np.linalg.norm(f, axis=0)
    size = abs(eigenvalues).max()
    if (np.diff(eigenvalues) < 1e-5 * size).any() or (abs(eigenvalues) < 1e-7 * size).any():
        return None
    return float(np.einsum("ij,ik,kj->j", f, Q, f).max())
