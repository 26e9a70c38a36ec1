"""Random graphs, links, labels and kernels: mostly tiny, often degenerate, sometimes with absurd weights."""

from __future__ import annotations

import numpy as np

import cvxlink as cl


def coin(rng: np.random.Generator, chance: float = 0.5) -> bool:
    return bool(rng.random() < chance)


def pick(rng: np.random.Generator, choices):
    return choices[int(rng.integers(len(choices)))]


def order(rng: np.random.Generator) -> int:
    """Draw a number of points: 1 to 12, mostly small."""
    return int(rng.integers(1, 3)) if coin(rng, 0.05) else int(rng.integers(3, 13 if coin(rng, 0.3) else 8))


def affinity(rng: np.random.Generator, n: int, unit: bool = False) -> np.ndarray:
    """Draw weights: dense or sparse, in pieces, with isolated and duplicated points, scaled by 1e-8 to 1e8.

    With ``unit`` they are at most one.
    """
    if not unit and n > 1 and coin(rng, 0.25):
        return _tree(rng, n)
    W = rng.random((n, n)) ** pick(rng, (1, 1, 4))
    W *= rng.random((n, n)) < pick(rng, (1.0, 0.7, 0.4, 0.2))
    W = np.triu(W, 1)
    if n > 2 and coin(rng, 0.3):  # a duplicated point
        i, j = rng.choice(n, 2, replace=False)
        W = W + W.T
        W[i], W[:, i] = W[j], W[:, j]
        W[i, j] = W[j, i] = 1.0
        W = np.triu(W, 1)
    if n > 2 and coin(rng, 0.15):  # an isolated point
        i = int(rng.integers(n))
        W[i] = W[:, i] = 0
    if n > 3 and coin(rng, 0.15):  # two pieces
        W[: n // 2, n // 2 :] = 0
    if not unit and n > 1 and coin(rng, 0.25):  # single extreme weights
        for _ in range(int(rng.integers(1, 4))):
            i, j = np.sort(rng.choice(n, 2, replace=False))
            W[i, j] = 10.0 ** pick(rng, (-10, -10, -6, 6, 8, 10))
    if coin(rng, 0.3):
        W *= 10.0 ** (rng.uniform(-8, 0) if unit else rng.uniform(-8, 8))
    return W + W.T


def _tree(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw a tree whose weights are of all sizes: heavy pieces that hang by a thread."""
    W = np.zeros((n, n))
    for j in range(1, n):
        W[int(rng.integers(j)), j] = 10.0 ** (0 if coin(rng, 0.3) else pick(rng, (-10, -8, -4, 4, 8, 10)))
    turned = rng.permutation(n)
    return (W + W.T)[np.ix_(turned, turned)]


def pairs(rng: np.random.Generator, n: int, most: int) -> list[tuple[int, int]]:
    if n < 2:
        return []
    drawn = [tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(int(rng.integers(0, most + 1)))]
    return sorted(set(drawn))


def links(rng: np.random.Generator, n: int, consistent: bool) -> cl.Links:
    """Draw links: of a hidden partition if they must not contradict one another, or of any pairs."""
    found = pairs(rng, n, min(6, n + 1))
    if not consistent:
        kinds = rng.random(len(found)) < 0.5
        must = [pair for pair, kind in zip(found, kinds, strict=True) if kind]
        cannot = [pair for pair, kind in zip(found, kinds, strict=True) if not kind]
        if found and coin(rng, 0.2):
            must, cannot = found, found[:1]
        return cl.Links(n, must, cannot)
    hidden = rng.integers(0, int(rng.integers(1, 4)) + 1, n)
    return cl.Links(
        n, [(i, j) for i, j in found if hidden[i] == hidden[j]], [(i, j) for i, j in found if hidden[i] != hidden[j]]
    )


def labels(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw labels, -1 for unknown; two classes or three."""
    found = rng.integers(0, pick(rng, (2, 2, 3)), n)
    found[rng.random(n) < pick(rng, (0.3, 0.6))] = -1
    if n > 1:
        found[:2] = rng.permutation(2)
    return found


def kernel(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw a positive definite matrix, well conditioned or not, of any size."""
    X = rng.standard_normal((n, n + 2))
    K = X @ X.T / n + 10.0 ** rng.uniform(-4, 0) * np.eye(n)
    if coin(rng, 0.3):
        scale = 10.0 ** rng.uniform(-4, 4, n)
        K = scale[:, None] * K * scale
    return K * 10.0 ** (rng.uniform(-8, 8) if coin(rng, 0.4) else 0)
