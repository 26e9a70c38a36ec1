"""A random instance of each method, with what is true of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import cvxlink as cl
from attack import references
from attack.instances import affinity, coin, kernel, labels, links, order, pick
from attack.references import EPSILON, Reference, laplacian


@dataclass(frozen=True)
class Drawn:
    """An instance: how to declare it, and what is true of it, which is computed only if it can be declared."""

    name: str
    problem: Callable[[], Any]
    reference: Callable[[Any], Reference]


def draw(rng: np.random.Generator) -> Drawn:
    """Draw an instance of a method."""
    return pick(rng, tuple(DRAWN.values()))(rng)


# ---------------------------------------------------------------------- kernels


def blocks_of(given: cl.Links) -> np.ndarray:
    """Return the block of each point under the must-links, by repeated relabelling."""
    block = np.arange(given.n)
    for _ in range(given.n):
        for i, j in given.must.tolist():
            block[[i, j]] = min(block[i], block[j])
    return np.unique(block, return_inverse=True)[1]


def on_blocks(C: np.ndarray, block: np.ndarray) -> np.ndarray:
    H = np.eye(block.max() + 1)[block]
    return H.T @ C @ H


def kernel_violation(K: np.ndarray, unit: np.ndarray, given: cl.Links) -> float:
    """Return the largest violation of unit length, links and semidefiniteness."""
    off = [abs(np.diag(K)[unit] - 1).max(initial=0.0), -float(np.linalg.eigvalsh((K + K.T) / 2)[0])]
    off += [abs(K[i, j] - 1) for i, j in given.must.tolist()] + [abs(K[i, j]) for i, j in given.cannot.tolist()]
    return float(max(off))


def _propagated(rng: np.random.Generator, method: type) -> Drawn:
    n = order(rng)
    W, given, normalized = affinity(rng, n), links(rng, n, consistent=True), coin(rng, 0.6)
    graph = cl.Graph.from_affinity(W)

    def reference(problem: Any) -> Reference:
        everyone, L = np.arange(n), laplacian(W, normalized)
        kept = everyone if method is cl.PCP else given.linked
        kept = everyone[kept] if np.asarray(kept).dtype == bool else np.asarray(kept)
        C = L if method is cl.PCP else references.schur_complement(W, normalized, kept)
        block = blocks_of(given)[kept]
        block = np.unique(block, return_inverse=True)[1]
        where = {int(point): int(b) for point, b in zip(kept, block, strict=True)}
        zeros = sorted({tuple(sorted((where[i], where[j]))) for i, j in given.cannot.tolist()})
        program = references.Correlations(on_blocks(C, block), zeros=zeros)
        low, high = program.bracket()
        return Reference(
            low,
            high,
            1e3 * EPSILON * program.weight,
            lambda values: float(np.sum(L * values["K"])),
            lambda values: kernel_violation(values["K"], kept, given),
            size=min(1.0, abs(L).max(initial=0.0)),
            value_rounding=1e3 * EPSILON * float(abs(L).sum()),
        )

    return Drawn(method.__name__, lambda: method(graph, given, normalized), reference)


def _improved_order(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    graph, given, normalized = cl.Graph.from_affinity(affinity(rng, n)), links(rng, n, False), coin(rng)
    count = int(rng.integers(1, n + 2))

    def reference(problem: Any) -> Reference:
        a, R = problem.agreement, problem.norm_root  # eigenvectors are part of what is declared
        low, high = references.ordered_spectrum(a, R)
        return Reference(low, high, 1e-7 * (1 + low), lambda values: float(a @ values["mu"]))

    return Drawn("ImprovedOrder", lambda: cl.ImprovedOrder(graph, given, normalized, order=count), reference)


def _gaussian_field(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    graph, given, normalized = cl.Graph.from_affinity(affinity(rng, n)), links(rng, n, False), coin(rng)

    def reference(problem: Any) -> Reference:
        eigenvalues, a, R = problem.spectrum[0], problem.agreement, problem.norm_root

        def alignment(shifts: np.ndarray) -> np.ndarray:
            mu = 1 / (eigenvalues[:, None] + shifts)
            return (a @ mu) / np.linalg.norm(R @ mu, axis=0)

        positive = eigenvalues[eigenvalues > 0]
        least, most = (positive.min(), positive.max()) if len(positive) else (1.0, 1.0)
        first, last = np.log10(least) - 6, np.log10(most) + 6
        with np.errstate(all="ignore"):
            found = alignment(np.logspace(first, last, int(400 * (last - first))))
        best = float(np.max(found, where=np.isfinite(found), initial=-np.inf))
        # Between the points of the grid it may be better: only what is reached here refutes a claim.
        return Reference(best, np.inf, 1e-6, lambda values: float(alignment(np.atleast_1d(values["epsilon"]))[0]))

    return Drawn("GaussianField", lambda: cl.GaussianField(graph, given, normalized), reference)


def _ccsr(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    graph, given, normalized = cl.Graph.from_affinity(affinity(rng, n)), links(rng, n, False), coin(rng)
    m = int(rng.integers(1, min(n, 5) + 1))
    must, cannot = (10.0 ** rng.uniform(-3, 3) if coin(rng, 0.3) else 1.0 for _ in range(2))

    def reference(problem: Any) -> Reference:
        U = problem.spectrum[1]
        everyone = np.arange(n)
        pairs = np.vstack([np.column_stack([everyone, everyone]), given.must, given.cannot]).astype(int)
        sizes = [n, len(given.must), len(given.cannot)]
        t, w = np.repeat([1.0, 1.0, 0.0], sizes), np.repeat([1.0, must, cannot], sizes)
        low, high = references.fitted_products(U, pairs, t, w)

        def objective(values: Any) -> float:
            products = np.einsum("ka,ab,kb->k", U[pairs[:, 0]], values["M"], U[pairs[:, 1]])
            return float(w @ (products - t) ** 2)

        return Reference(low, high, 1e-9 * float(w.sum()), objective)

    return Drawn(
        "CCSR", lambda: cl.CCSR(graph, given, normalized, order=m, must_weight=must, cannot_weight=cannot), reference
    )


def _minkl(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    K, given, soft = kernel(rng, n), links(rng, n, False), coin(rng)
    level = float(np.diag(K).mean()) * 10.0 ** rng.uniform(-6 if coin(rng, 0.3) else -3, 2)
    mode = "noise" if soft else "bound"
    options = {f"{kind}_{mode}": np.sqrt(level) if soft else level for kind in ("must", "cannot")}

    def reference(problem: Any) -> Reference:
        U = np.zeros((n, len(given)))
        for r, (i, j) in enumerate(given.must.tolist()):
            U[[i, j], r] = 1, -1
        for r, (i, j) in enumerate(given.cannot.tolist(), len(given.must)):
            U[[i, j], r] = 1, 1
        if soft:
            low = high = n + float(np.linalg.slogdet(np.eye(len(given)) + U.T @ K @ U / level)[1])
        else:
            low, high = references.nearness(K, U, np.full(len(given), level))

        def objective(values: Any) -> float:
            X = values["K"]
            divergence = -np.linalg.slogdet(np.linalg.solve(K, X))[1] + np.trace(np.linalg.solve(K, X))
            return float(divergence + (np.einsum("ir,ij,jr->", U, X, U) / level if soft else 0))

        return Reference(low, high, 1e-9 * n * np.linalg.cond(K), objective)

    return Drawn(f"MinKL, {mode}", lambda: cl.MinKL(K, given, **options), reference)


# ---------------------------------------------------------------------- closed forms


def _link_propagation(rng: np.random.Generator, method: type) -> Drawn:
    n = order(rng)
    unit = coin(rng, 0.8)
    W, given, normalized = affinity(rng, n, unit), links(rng, n, False), coin(rng)
    graph, mu = cl.Graph.from_affinity(W), 10.0 ** rng.uniform(-3, 2)
    options = {"mu": mu} if method is cl.SRCP else {"alpha": 1 / (1 + mu)}

    def reference(problem: Any) -> Reference:
        L, Y = laplacian(W, normalized), given.matrix.toarray()
        eigenvalues, V = np.linalg.eigh(L)
        one, other = eigenvalues[:, None], eigenvalues[None, :]
        spring = (one + other) / 2 if method is cl.SRCP else one + other + one * other / mu
        best = float(np.sum(mu * spring / (mu + spring) * (V.T @ Y @ V) ** 2))

        def objective(values: Any) -> float:
            F = values["F"]
            both = float(np.sum(F * (L @ F)) + np.sum(F * (F @ L)))
            if method is cl.SRCP:
                return mu * float(np.sum((F - Y) ** 2)) + both / 2
            return mu * float(np.sum((F - Y) ** 2)) + both + float(np.sum(F * (L @ F @ L))) / mu

        size = abs(L).max(initial=0.0) * (1 + abs(L).max(initial=0.0) / mu)
        rounding = 1e3 * EPSILON * n * (mu + size) * (1 + float((Y**2).sum()))
        return Reference(best, best, rounding, objective)

    return Drawn(method.__name__, lambda: method(graph, given, normalized, **options), reference)


def _gfhf(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    W, y = affinity(rng, n), labels(rng, n)

    def reference(problem: Any) -> Reference:
        L, known, Y = laplacian(W, False), problem.known, problem.Y
        C = references.schur_complement(W, False, known)
        best = float(np.sum(Y[known] * (C @ Y[known])))
        return Reference(
            best,
            best,
            1e3 * EPSILON * float(abs(L).sum()),
            lambda values: float(np.sum(values["f"] * (L @ values["f"]))),
            lambda values: float(abs(values["f"][known] - Y[known]).max()),
            size=min(1.0, abs(L).max(initial=0.0)),
        )

    return Drawn("GFHF", lambda: cl.GFHF(cl.Graph.from_affinity(W), y), reference)


def _llgc(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    W, y, alpha = affinity(rng, n), labels(rng, n), float(rng.uniform(0.01, 0.99))

    def reference(problem: Any) -> Reference:
        L, Y, mu = laplacian(W, True), problem.Y, (1 - alpha) / alpha
        eigenvalues, V = np.linalg.eigh(L)
        best = float(np.sum((mu * eigenvalues / (mu + eigenvalues))[:, None] * (V.T @ Y) ** 2))

        def objective(values: Any) -> float:
            f = values["f"]
            return float(np.sum(f * (L @ f)) + mu * np.sum((f - Y) ** 2))

        return Reference(best, best, 1e4 * EPSILON * n * (1 + mu), objective)

    return Drawn("LLGC", lambda: cl.LLGC(cl.Graph.from_affinity(W), y, alpha=alpha), reference)


def _sl(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    W, given = affinity(rng, n, unit=True), links(rng, n, coin(rng))

    def reference(problem: Any) -> Reference:
        must, cannot = given.must.T, given.cannot.T
        best = 2 * float(np.sum((1 - W[must[0], must[1]]) ** 2) + np.sum(W[cannot[0], cannot[1]] ** 2))
        return Reference(best, best, 1e-12 * (1 + best), lambda values: float(np.sum((values["A"] - W) ** 2)))

    return Drawn("SL", lambda: cl.SL(cl.Graph.from_affinity(W), given), reference)


def _sskk(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    W, given, k = affinity(rng, n), links(rng, n, False), int(rng.integers(1, n + 1))
    penalty = pick(rng, (None, "paper", 0.0, 10.0 ** rng.uniform(-3, 3)))

    def reference(problem: Any) -> Reference:
        root, Y = 1 / np.sqrt(W.sum(axis=1)), given.matrix.toarray()
        if penalty is None:  # half of the norm of the normalised affinity
            changed = root[:, None] * W * root + (Y / (2 * np.linalg.norm(Y, 2)) if len(given) else 0.0)
        else:
            p = penalty if penalty != "paper" else (n / (k * len(given)) if len(given) else 0.0)
            changed = root[:, None] * (W + p * Y) * root
        eigenvalues = np.linalg.eigvalsh(changed)
        shifted = eigenvalues + max(0.0, -eigenvalues[0])
        K = changed + max(0.0, -eigenvalues[0]) * np.eye(n)
        return Reference(
            float(shifted[: n - k].sum()),
            float(shifted[: n - k].sum()),
            1e3 * EPSILON * n * abs(changed).sum(),
            lambda values: float(np.sum(K * (np.eye(n) - values["X"]))),
        )

    return Drawn("SSKK", lambda: cl.SSKK(cl.Graph.from_affinity(W), given, k, penalty), reference)


def _ncuts(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    W, k = affinity(rng, n), int(rng.integers(1, n + 1))

    def reference(problem: Any) -> Reference:
        L = laplacian(W, True)
        best = float(np.linalg.eigvalsh(L)[:k].sum())
        return Reference(best, best, 1e-11 * n, lambda values: float(np.sum(L * values["X"])))

    return Drawn("NCuts", lambda: cl.NCuts(cl.Graph.from_affinity(W), k), reference)


def _linked_cut(rng: np.random.Generator) -> Drawn:
    n = order(rng)
    W, given, k = affinity(rng, n), links(rng, n, False), int(rng.integers(1, n + 1))
    must, cannot = (pick(rng, (0.0, 1.0, 10.0 ** rng.uniform(-3, 3))) for _ in range(2))

    def reference(problem: Any) -> Reference:
        degrees = W.sum(axis=1)
        C, mean = laplacian(W, True), degrees.mean()
        for i, j in given.must.tolist():
            step = np.zeros(n)
            step[i], step[j] = degrees[i] ** -0.5, -(degrees[j] ** -0.5)
            C = C + must * mean * np.outer(step, step)
        prices = {(i, j): 2 * cannot * mean / np.sqrt(degrees[i] * degrees[j]) for i, j in given.cannot.tolist()}

        def value(Z: np.ndarray) -> float:
            return float(np.sum(C * Z) + sum(price * abs(Z[pair]) for pair, price in prices.items()))

        # Without its cannot-links it is a sum of eigenvalues, at a projection that keeps w, which costs nothing.
        w = np.sqrt(degrees / degrees.sum())
        vectors = np.linalg.eigh(C - 3 * abs(C).sum() * np.outer(w, w))[1]
        Z = vectors[:, :k] @ vectors[:, :k].T
        low = float(np.sum(C * Z))
        return Reference(low, value(Z), 1e-10 * (1 + abs(C).sum()), lambda values: value(values["Z"]))

    graph = cl.Graph.from_affinity(W)
    return Drawn("LinkedCut", lambda: cl.LinkedCut(graph, given, k, False, must, cannot), reference)


# ---------------------------------------------------------------------- cuts


def _csc(rng: np.random.Generator) -> Drawn:
    n = max(2, order(rng))
    W, given = affinity(rng, n), links(rng, n, False)
    k, orthogonal, scaled = int(rng.integers(2, max(3, min(n - 1, 4)))), coin(rng, 0.7), coin(rng, 0.8)
    fraction = pick(rng, (0.0, 0.3, 0.5, 0.9, 0.99))

    def build() -> Any:
        return cl.CSC(cl.Graph.from_affinity(W), given, k, fraction=fraction, orthogonal=orthogonal, scaled=scaled)

    def reference(problem: Any) -> Reference:
        L = laplacian(W, True)
        Q, v = np.asarray(problem.Q.toarray()), problem.graph.trivial_cut if orthogonal else None
        low, high = references.constrained_cut(L, Q, problem.threshold, v, k - 1)
        rounding = 1e-9 * (1 + abs(Q).sum())
        return Reference(
            low,
            high,
            rounding,
            lambda values: float(np.sum(values["f"] * (L @ values["f"]))),
            checks_value=high < np.inf,
        )

    return Drawn("CSC", build, reference)


def _cscgfhf(rng: np.random.Generator) -> Drawn:
    n = max(3, order(rng))
    W, y, sigma = affinity(rng, n), labels(rng, n), 10.0 ** rng.uniform(-1, 1)

    def reference(problem: Any) -> Reference:
        L, Q = laplacian(W, True), np.asarray(problem.Q)
        best = references.stationary_cuts(L, Q, problem.graph.trivial_cut) if problem.n_clusters == 2 else None
        return Reference(
            -np.inf if best is None else best,
            np.inf if best is None else best,
            1e-6,
            lambda values: float(np.sum(values["f"] * (Q @ values["f"]))),
            checks_value=best is not None,
        )

    return Drawn("CSCGFHF", lambda: cl.CSCGFHF(cl.Graph.from_affinity(W), y, sigma=sigma), reference)


DRAWN = {
    "PCP": lambda rng: _propagated(rng, cl.PCP),
    "KP": lambda rng: _propagated(rng, cl.KP),
    "CCSR": _ccsr,
    "SRCP": lambda rng: _link_propagation(rng, cl.SRCP),
    "E2CP": lambda rng: _link_propagation(rng, cl.E2CP),
    "MinKL": _minkl,
    "CSC": _csc,
    "CSCGFHF": _cscgfhf,
    "GFHF": _gfhf,
    "LLGC": _llgc,
    "SL": _sl,
    "SSKK": _sskk,
    "NCuts": _ncuts,
    "LinkedCut": _linked_cut,
    "ImprovedOrder": _improved_order,
    "GaussianField": _gaussian_field,
}
