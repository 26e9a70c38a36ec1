r"""Faces of cones, and cones beyond them, that one vector exposes.

Let s be in the cone :math:`\mathcal{K}` and w in its dual. Two cones replace :math:`\mathcal{K}` in a proof of several
steps (facial reduction): :math:`\mathcal{K} \cap w^\perp`, its part where w vanishes, and the closure of
:math:`\mathcal{K} + \mathbb{R}s`, what :math:`\mathcal{K}` looks like from far away in the direction s. Both are made
of the same kinds of cones, over combinations of the rows.

What is small counts as zero. That makes the first cone larger and the second one smaller, so that proofs stay valid.
Where s or w is on a curved boundary, the new cone depends on where exactly, and rounding could change it by the root of
its size. So there they are refused, unless they are on an axis or on a face with a simple basis.

References
----------
Borwein & Wolkowicz (1981), Regularizing the abstract convex program, J. Math. Anal. Appl. 83.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..reductions.cones import Block, spanned, triangle, unpacked

# Smaller multipliers, relative to the largest, count as zero.
SMALL = 1e-6
# Null vectors are made of multiples of 1/12 where they nearly are anyway: those of links are, and rounding ends.
GRID, NEARLY = 12, 1e-5
# Numbers that differ by less, relative to their size, do so by rounding.
EQUAL = 1e-14


class Part(NamedTuple):
    """A cone over combinations of the rows of another one."""

    kind: str
    picks: np.ndarray
    order: int = 0
    alpha: float = 0.0


class _Inexact(Exception):
    """A vector is on a curved boundary, at a place that is known up to rounding only."""


def beyond(blocks: Sequence[Block], s: np.ndarray, least: float) -> tuple[sp.csr_array, tuple[Block, ...]] | None:
    """Return the closure of 𝒦 + ℝs, the combinations of rows and their cones; None if rounding could change it.

    What is at most ``least`` counts as zero.
    """
    try:
        return _joined(blocks, len(s), [list(_beyond(block, s[block.rows], least)) for block in blocks])
    except _Inexact:
        return None


def within(blocks: Sequence[Block], w: np.ndarray) -> tuple[sp.csr_array, tuple[Block, ...]] | None:
    """Return 𝒦 ∩ w⊥, the combinations of rows and their cones; None if rounding could change it."""
    least = SMALL * float(abs(w).max(initial=0.0))
    try:
        return _joined(blocks, len(w), [list(_within(block, w[block.rows], least)) for block in blocks])
    except _Inexact:
        return None


def null_vectors(S: np.ndarray, least: float) -> np.ndarray:
    """Return a basis of the vectors on which a semidefinite matrix nearly vanishes, as simple as possible."""
    eigenvalues, vectors = np.linalg.eigh(S)
    N = vectors[:, eigenvalues <= least]
    if not N.shape[1]:
        return N
    pivots = scipy.linalg.qr(N.T, pivoting=True, mode="r")[1][: N.shape[1]]
    B = N @ np.linalg.inv(N[pivots])
    simple = np.round(GRID * B) / GRID
    return np.where(abs(B - simple) < NEARLY, simple, B)


def products(N: np.ndarray) -> np.ndarray:
    """Return the matrix that turns a packed S into all entries of SN."""
    order, count = N.shape
    i, j = triangle(order)
    k, off = np.arange(len(i)), i != j
    share = np.where(off, np.sqrt(0.5), 1.0)
    found = np.zeros((count, order, len(i)))
    for v in range(count):
        found[v, i, k] = share * N[j, v]
        found[v, j[off], k[off]] = (share * N[i, v])[off]
    return found.reshape(count * order, len(i))


def _joined(blocks: Sequence[Block], count: int, parts: list[list[Part]]) -> tuple[sp.csr_array, tuple[Block, ...]]:
    picks, joined, top = [sp.csr_array((0, count))], [], 0
    for block, own in zip(blocks, parts, strict=True):
        for part in own:
            height, width = part.picks.shape
            if not height:
                continue
            before, after = sp.csr_array((height, block.rows.start)), sp.csr_array((height, count - block.rows.stop))
            picks.append(sp.hstack([before, sp.csr_array(part.picks.reshape(height, width)), after], format="csr"))
            joined.append(Block(part.kind, slice(top, top + height), part.order, part.alpha))
            top += height
    return sp.csr_array(sp.vstack(picks, format="csr")), tuple(joined)


def _whole(block: Block, count: int) -> Part:
    return Part(block.kind, np.eye(count), block.order, block.alpha)


def _axis(s: np.ndarray) -> np.ndarray:
    """Return s₁/s₀ for s on the boundary of a second-order cone, which must be the end of an axis."""
    inner = s[1:]
    if np.count_nonzero(inner) != 1 or abs(abs(inner).max() - s[0]) > EQUAL * s[0]:
        raise _Inexact
    return np.sign(inner)


def _simple(vectors: np.ndarray) -> np.ndarray:
    """Return vectors that must be made of multiples of 1/12."""
    if (np.round(GRID * vectors) != GRID * vectors).any():
        raise _Inexact
    return vectors


def _require_zero(N: np.ndarray, s: np.ndarray) -> None:
    """Require that a packed matrix vanishes on vectors, up to the rounding of the terms that cancel."""
    found = products(N)
    if (abs(found @ s) > EQUAL * (abs(found) @ abs(s))).any():
        raise _Inexact


# ---------------------------------------------------------------------- 𝒦 + ℝs


def _beyond(block: Block, s: np.ndarray, least: float) -> Iterator[Part]:
    every = np.eye(len(s))
    if block.kind == "zero" or abs(s).max() <= least:
        yield _whole(block, len(s))
    elif block.kind == "nonnegative":
        yield Part("nonnegative", every[s <= least])
    elif block.kind == "semidefinite":
        N = _simple(null_vectors(unpacked(s, block.order), least))
        _require_zero(N, s)
        if N.shape[1]:
            yield Part("semidefinite", spanned(N).T, N.shape[1])
    elif block.kind == "second-order":
        if s[0] - np.linalg.norm(s[1:]) <= least:
            yield Part("nonnegative", np.append(1.0, -_axis(s))[None, :])
    elif block.kind == "exponential":
        yield from _beyond_exponential(s, least)
    else:
        yield from _beyond_power(s, block.alpha, least)


def _beyond_exponential(s: np.ndarray, least: float) -> Iterator[Part]:
    """Yield what y exp(x/y) ≤ z looks like from far away."""
    x, y, z = s
    every = np.eye(3)
    if y == 0:
        yield Part("nonnegative", every[[1]] if z > least else every[[1, 2]])
    elif y <= least or z - y * np.exp(x / y) <= least:
        raise _Inexact


def _beyond_power(s: np.ndarray, alpha: float, least: float) -> Iterator[Part]:
    """Yield what x^α y^(1−α) ≥ |z| looks like from far away."""
    x, y, z = s
    every = np.eye(3)
    if min(x, y) == 0:
        yield Part("nonnegative", every[[1]] if x > y else every[[0]])
    elif x**alpha * y ** (1 - alpha) - abs(z) <= least:
        raise _Inexact


# ---------------------------------------------------------------------- 𝒦 ∩ w⊥


def _within(block: Block, w: np.ndarray, least: float) -> Iterator[Part]:
    every = np.eye(len(w))
    if block.kind == "zero" or abs(w).max() <= least:
        yield _whole(block, len(w))
    elif block.kind == "nonnegative":
        yield Part("zero", every[w > least])
        yield Part("nonnegative", every[w <= least])
    elif block.kind == "semidefinite":
        N = _simple(null_vectors(unpacked(w, block.order), least))
        _require_zero(N, w)
        V = _simple(null_vectors(N @ N.T, SMALL))
        yield Part("zero", products(V))
        if N.shape[1]:
            # S = NS'Nᵀ as SV = 0, so a congruence that S' has to itself is enough.
            yield Part("semidefinite", spanned(N).T, N.shape[1])
    elif block.kind == "second-order":
        if w[0] - np.linalg.norm(w[1:]) > least:
            yield Part("zero", every)
        else:
            yield Part("zero", np.hstack([_axis(w)[:, None], every[1:, 1:]]))
            yield Part("nonnegative", every[[0]])
    elif block.kind == "exponential":
        yield from _within_exponential(w, least)
    else:
        yield from _within_power(w, block.alpha, least)


def _within_exponential(w: np.ndarray, least: float) -> Iterator[Part]:
    """Yield the part of y exp(x/y) ≤ z on which w vanishes."""
    u, v, z = w
    every = np.eye(3)
    if u == 0:  # y = 0, and z = 0 if that has a price
        yield Part("zero", every[[1, 2]] if z > least else every[[1]])
        yield Part("nonnegative", -every[[0]] if z > least else np.array([[-1.0, 0, 0], [0, 0, 1.0]]))
    elif -u > least and v - u * (1 + np.log(z) - np.log(-u)) > least:
        yield Part("zero", every)
    else:
        raise _Inexact


def _within_power(w: np.ndarray, alpha: float, least: float) -> Iterator[Part]:
    """Yield the part of x^α y^(1−α) ≥ |z| on which w vanishes."""
    x, y, z = w
    every = np.eye(3)
    most = (max(x, 0.0) / alpha) ** alpha * (max(y, 0.0) / (1 - alpha)) ** (1 - alpha)
    if min(x, y) == 0:
        yield Part("zero", every[[0, 2]] if x > y else every[[1, 2]])
        yield Part("nonnegative", every[[1]] if x > y else every[[0]])
    elif most - abs(z) > least:
        yield Part("zero", every)
    else:
        raise _Inexact
