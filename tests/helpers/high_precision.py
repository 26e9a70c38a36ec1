"""References in 50 digits, written down from the papers' formulas: nothing here calls the code that is tested."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import scipy.sparse as sp

mp.mp.dps = 50


def exact(array: Any) -> mp.matrix:
    """Floating-point numbers as they are; vectors become columns."""
    dense = array.toarray() if hasattr(array, "toarray") else np.asarray(array, dtype=float)
    return mp.matrix(dense.tolist() if dense.ndim == 2 else [[float(x)] for x in np.ravel(dense)])


def inner(A: mp.matrix, B: mp.matrix) -> Any:
    """The inner product of two matrices."""
    return mp.fsum(A[i, j] * B[i, j] for i in range(A.rows) for j in range(A.cols))


def trace(A: mp.matrix) -> Any:
    """The sum of the diagonal."""
    return mp.fsum(A[i, i] for i in range(A.rows))


def eigenvalues(A: mp.matrix) -> list[Any]:
    """Eigenvalues of a symmetric matrix in increasing order."""
    return sorted(mp.eigsy(A, eigvals_only=True))


def part(A: mp.matrix, rows: list[int], columns: list[int]) -> mp.matrix:
    """Rows and columns of a matrix."""
    return mp.matrix([[A[i, j] for j in columns] for i in rows])


def solved(A: mp.matrix, B: mp.matrix) -> mp.matrix:
    """A⁻¹B, column by column."""
    inverse = mp.inverse(A)
    return inverse * B


# ---------------------------------------------------------------------- optima of quadratic programs


def harmonic(L: mp.matrix, known: list[int], given: mp.matrix) -> Any:
    """min tr fᵀLf with the known rows given: the Schur complement on the known points."""
    unknown = [i for i in range(L.rows) if i not in known]
    complement = part(L, known, known)
    if unknown:
        across = part(L, unknown, known)
        complement = complement - across.T * solved(part(L, unknown, unknown), across)
    return inner(given, complement * given)


def smoothing(L: mp.matrix, Y: mp.matrix, mu: float) -> Any:
    """min μ‖f − y‖² + tr fᵀLf, at f = μ(μI + L)⁻¹y: the optimum is μ⟨y, y − f⟩."""
    f = solved(mp.eye(L.rows) * mp.mpf(mu) + L, Y * mp.mpf(mu))
    return mp.mpf(mu) * inner(Y, Y - f)


def smoothing_value(L: mp.matrix, Y: mp.matrix, mu: float, f: mp.matrix) -> Any:
    """μ‖f − y‖² + tr fᵀLf."""
    return mp.mpf(mu) * inner(f - Y, f - Y) + inner(f, L * f)


def spread_links(L: mp.matrix, Y: mp.matrix, mu: float, response: Any) -> Any:
    """The optimum μ⟨Y, Y − F⟩, where F has entries response(x_i, x_j) times those of Y between eigenvectors of L."""
    x, V = mp.eigsy(L)
    inside = V.T * Y * V
    kept = mp.matrix(L.rows, L.rows)
    for i in range(L.rows):
        for j in range(L.rows):
            kept[i, j] = inside[i, j] * response(x[i], x[j])
    return mp.mpf(mu) * inner(inside, inside - kept)


def srcp_value(L: mp.matrix, Y: mp.matrix, mu: float, F: mp.matrix) -> Any:
    """μ‖F − Y‖² + ½ tr(FᵀLF + FLFᵀ)."""
    return mp.mpf(mu) * inner(F - Y, F - Y) + (inner(F, L * F) + inner(F, F * L)) / 2


def e2cp_value(L: mp.matrix, Y: mp.matrix, mu: float, F: mp.matrix) -> Any:
    """μ‖F − Y‖² + tr(FᵀLF + FLFᵀ) + tr(FᵀLFL)/μ."""
    LF = L * F
    return mp.mpf(mu) * inner(F - Y, F - Y) + inner(F, LF) + inner(F, F * L) + inner(F, LF * L) / mp.mpf(mu)


# ---------------------------------------------------------------------- bounds from multipliers


def kernel_dual(C: mp.matrix, links: Any, multipliers: dict[str, np.ndarray]) -> Any:
    """Σ unit + Σ must + c·min(0, λ_min) of the slack on the c blocks of must-linked points, all points constrained.

    Points that no link mentions have a unit diagonal too (PCP).
    """
    n = C.rows
    S = C.copy()
    for i in range(n):
        S[i, i] -= mp.mpf(float(multipliers["unit"][i]))
    value = mp.fsum(mp.mpf(float(y)) for y in multipliers["unit"])
    for name, pairs in (("must", links.must), ("cannot", links.cannot)):
        for (i, j), y in zip(pairs.tolist(), np.ravel(multipliers.get(name, ())), strict=True):
            S[i, j] -= mp.mpf(float(y)) / 2
            S[j, i] -= mp.mpf(float(y)) / 2
            value += mp.mpf(float(y)) if name == "must" else 0
    blocks = blocks_of(n, links.must)
    c = max(blocks) + 1
    merged = mp.matrix(c, c)
    for i in range(n):
        for j in range(n):
            merged[blocks[i], blocks[j]] += S[i, j]
    return value + c * min(mp.mpf(0), eigenvalues(merged)[0])


def blocks_of(n: int, must: np.ndarray) -> list[int]:
    """The number of the block of each point, by following must-links."""
    label = list(range(n))
    for _ in range(n):
        for i, j in must.tolist():
            label[i] = label[j] = min(label[i], label[j])
    names = sorted(set(label))
    return [names.index(x) for x in label]


def schur_complement(C: mp.matrix, kept: list[int]) -> mp.matrix:
    """C on the kept points, with the others minimised over."""
    others = [i for i in range(C.rows) if i not in kept]
    if not others:
        return part(C, kept, kept)
    across = part(C, others, kept)
    return part(C, kept, kept) - across.T * solved(part(C, others, others), across)


def nearness_dual(prior: mp.matrix, U: Any, weights: Any, bounds: Any) -> Any:
    """n + log det(I + KUΛUᵀ) − aᵀλ, for λ ≥ 0."""
    columns = exact(sp.csc_array(U))
    scaled = columns.copy()
    for r, weight in enumerate(weights):
        for i in range(scaled.rows):
            scaled[i, r] *= mp.mpf(float(weight))
    M = mp.eye(prior.rows) + prior * (scaled * columns.T)
    cost = (
        mp.fsum(mp.mpf(float(a)) * mp.mpf(float(y)) for a, y in zip(bounds, weights, strict=True)) if len(bounds) else 0
    )
    return prior.rows + mp.log(mp.det(M)) - cost


def nearness_value(prior: mp.matrix, kernel: mp.matrix, U: Any, weights: Any) -> Any:
    """−log(|K̄|/|K|) + tr K⁻¹K̄ + Σ w uᵀK̄u."""
    divergence = -mp.log(mp.det(kernel) / mp.det(prior)) + trace(solved(prior, kernel))
    columns = exact(sp.csc_array(U))
    lengths = columns.T * kernel * columns
    return divergence + mp.fsum(mp.mpf(float(w)) * lengths[r, r] for r, w in enumerate(weights))


def kernel_feasible_value(C: mp.matrix, links: Any, K: mp.matrix) -> Any:
    """The value of a kernel averaged over blocks, with the entries that are given, made definite by the identity."""
    blocks = blocks_of(C.rows, links.must)
    c = max(blocks) + 1
    sizes = [blocks.count(b) for b in range(c)]
    small, cost = mp.matrix(c, c), mp.matrix(c, c)
    for i in range(C.rows):
        for j in range(C.rows):
            small[blocks[i], blocks[j]] += (K[i, j] + K[j, i]) / (2 * sizes[blocks[i]] * sizes[blocks[j]])
            cost[blocks[i], blocks[j]] += C[i, j]
    for b in range(c):
        small[b, b] = mp.mpf(1)
    for i, j in links.cannot.tolist():
        small[blocks[i], blocks[j]] = small[blocks[j], blocks[i]] = mp.mpf(0)
    lack = max(mp.mpf(0), -eigenvalues(small)[0])
    share = lack / (1 + lack)
    return inner(cost, small * (1 - share) + mp.eye(c) * share)


def fitted_value(data: Any, U: mp.matrix, M: mp.matrix) -> Any:
    """Σ w (u_iᵀMu_j − t)²."""
    products = U * M * U.T
    pairs = zip(data.pairs.tolist(), data.targets.tolist(), data.weights.tolist(), strict=True)
    return mp.fsum(mp.mpf(w) * (products[i, j] - mp.mpf(t)) ** 2 for (i, j), t, w in pairs)


def fitted_dual(data: Any, U: mp.matrix, M: mp.matrix) -> Any:
    """f(M) − ⟨G + δN, M⟩ − nδ²/4 with the gradient G, N = UᵀU and δ such that G + δN is semidefinite."""
    products, half = U * M * U.T, mp.matrix(U.rows, U.rows)
    for (i, j), t, w in zip(data.pairs.tolist(), data.targets.tolist(), data.weights.tolist(), strict=True):
        half[i, j] += 2 * mp.mpf(w) * (products[i, j] - mp.mpf(t))
    G, N = U.T * half * U, U.T * U
    G = (G + G.T) / 2
    delta = max(mp.mpf(0), -eigenvalues(G)[0]) / eigenvalues(N)[0]
    return fitted_value(data, U, M) - inner(G + delta * N, M) - U.rows * delta**2 / 4
