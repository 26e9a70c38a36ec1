r"""The face of one cone that a vector of its dual exposes, and what complementary vectors satisfy.

For w in the dual cone, :math:`\{s \in \mathcal{K} : \langle w, s\rangle = 0\}` is a face. Inequalities with
:math:`w_i > 0` are equations on it; a matrix is :math:`VS'V^\top` with the columns of V orthogonal to W; a vector of a
second-order, exponential or power cone is zero, on a ray, or on a flat part of the cone. Which of these it is, is
decided from w and from some s that should be there, both of which are known up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..reductions.cones import Block, packed, triangle, unpacked

# Multipliers smaller than this mark nothing; those of the search are off by the weight that it gives to nearness.
MARKED = 1e-5


def interior_of(block: Block, sizes: np.ndarray) -> np.ndarray:
    """Return a point inside a cone, in the units of its rows."""
    count = block.rows.stop - block.rows.start
    if block.kind == "nonnegative":
        return sizes
    e = np.zeros(count)
    if block.kind == "second-order":
        e[0] = 1.0
    elif block.kind == "semidefinite":
        e = packed(np.eye(block.order))
    else:
        e[:] = (-0.5, 1.0, 1.0) if block.kind == "exponential" else (1.0, 1.0, 0.0)
    return e * max(float(sizes.max()), 1e-300)


def is_marked(block: Block, s: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return which rows of a cone have multipliers that are not zero."""
    if block.kind == "nonnegative":
        return np.asarray(w > np.maximum(MARKED, s))
    return np.full(len(w), float(abs(w).max()) > max(MARKED, MARKED * float(abs(s).max())))


def parts_of_face(block: Block, s: np.ndarray, w: np.ndarray) -> Iterator[tuple[str, np.ndarray | None, int]]:
    """Yield the equations and cones of the face of a cone that multipliers expose; None stands for all rows."""
    every = np.eye(len(s))
    if block.kind == "nonnegative":
        tight = is_marked(block, s, w)
        if tight.any():
            yield "zero", every[tight], 0
        if not tight.all():
            yield "nonnegative", every[~tight], 0
    elif not is_marked(block, s, w).any():
        yield block.kind, None, block.order
    elif block.kind == "semidefinite":
        yield from _parts_of_matrix(block.order, s, w)
    elif float(abs(s).max()) <= float(abs(w).max()) and _is_inside(block, w):
        yield "zero", None, 0
    elif _is_on_ray(block, s, w):
        ray = _ray(block, s)
        yield "zero", np.linalg.svd(ray[None])[2][1:], 0
        yield "nonnegative", ray[None], 0
    elif not (w[1:] > np.maximum(MARKED, s[1:])).any() and not (w[:2] > np.maximum(MARKED, s[:2])).any():
        yield block.kind, None, block.order
    elif block.kind == "exponential":  # y = 0, so that −x and z are not negative
        yield "zero", every[[1, 2] if w[2] > max(MARKED, s[2]) else [1]], 0
        yield "nonnegative", (-every[[0]] if w[2] > max(MARKED, s[2]) else np.array([[-1.0, 0, 0], [0, 0, 1]])), 0
    else:  # x = 0 or y = 0, and therefore z = 0
        tight = np.append(w[:2] > np.maximum(MARKED, s[:2]), True)
        yield "zero", every[tight], 0
        if not tight.all():
            yield "nonnegative", every[~tight], 0


def _is_inside(block: Block, w: np.ndarray) -> bool:
    """Whether multipliers are well inside the dual cone."""
    size = float(abs(w).max())
    if block.kind == "second-order":
        return bool(w[0] - np.linalg.norm(w[1:]) > MARKED)
    if block.kind == "exponential":
        return bool(w[0] < -MARKED and w[2] + w[0] * np.exp(min(w[1] / w[0] - 1, 500.0)) > MARKED * size)
    most = np.prod((np.maximum(w[:2], 0) / (block.alpha, 1 - block.alpha)) ** (block.alpha, 1 - block.alpha))
    return bool(most - abs(w[2]) > MARKED * size)


def _is_on_ray(block: Block, s: np.ndarray, w: np.ndarray) -> bool:
    """Whether s and w are on curved parts of a cone and its dual, which leaves a ray."""
    if block.kind == "second-order":
        return True
    if block.kind == "exponential":
        return bool(w[0] < -MARKED and s[1] > MARKED * float(abs(s).max()))
    return bool(abs(w[2]) > MARKED and s[:2].min() > MARKED * float(abs(s).max()))


def _ray(block: Block, s: np.ndarray) -> np.ndarray:
    """Return the point of length one on the surface of a cone that is nearest to s, or nearly so."""
    if block.kind == "second-order":
        ray = np.append(np.linalg.norm(s[1:]), s[1:])
    elif block.kind == "exponential":
        ray = np.array([s[0] / s[1], 1.0, np.exp(s[0] / s[1])])
    else:
        ray = np.array([s[0], s[1], np.sign(s[2]) * s[0] ** block.alpha * s[1] ** (1 - block.alpha)])
    return np.asarray(ray / np.linalg.norm(ray))


def _parts_of_matrix(order: int, s: np.ndarray, w: np.ndarray) -> Iterator[tuple[str, np.ndarray | None, int]]:
    values, Q = np.linalg.eigh(unpacked(w, order))
    tight = values > np.maximum(MARKED, np.einsum("ij,ik,kj->j", Q, unpacked(s, order), Q))
    if not tight.any():
        yield "semidefinite", None, order
        return
    U, V = Q[:, tight], Q[:, ~tight]
    both = np.hstack([U, V])
    r, kept = U.shape[1], V.shape[1]
    pairs = [(i, j) for j in range(order) for i in range(min(j + 1, r))]
    yield "zero", np.array([_inner(both[:, i], both[:, j]) for i, j in pairs]), 0
    if kept:
        i, j = triangle(kept)
        yield "semidefinite", np.array([_inner(V[:, p], V[:, q]) for p, q in zip(i, j, strict=True)]), kept


def _inner(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the row that maps a packed matrix S to uᵀSv, times √2 if u and v differ."""
    row = packed((np.outer(u, v) + np.outer(v, u)) / 2)
    return row if u is v or np.array_equal(u, v) else np.sqrt(2) * row


# ---------------------------------------------------------------------- complementary vectors


def complementarity(
    block: Block, s: np.ndarray, w: np.ndarray, active: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return derivatives by s and by w of numbers that vanish where s and w are complementary, and these numbers."""
    size = len(s)
    if block.kind == "nonnegative":
        every = np.eye(size)[active]
        return every, np.zeros_like(every), s[active]
    if block.kind == "semidefinite":
        return (
            _symmetric_product(unpacked(w, block.order)),
            _symmetric_product(unpacked(s, block.order)),
            packed(_anticommutator(unpacked(s, block.order), unpacked(w, block.order))),
        )
    if block.kind == "second-order":
        return _arrow(w), _arrow(s), _arrow(s) @ w
    if not _is_on_ray(block, s, w):
        return np.zeros((0, size)), np.zeros((0, size)), np.zeros(0)
    if block.kind == "power":
        return _on_ray_of_power(block.alpha, s, w)
    # z = y exp(x/y), and w is a multiple of the gradient of z − y exp(x/y).
    ratio, e = s[0] / s[1], np.exp(s[0] / s[1])
    slopes = np.array([1 / s[1], -ratio / s[1], 0.0])  # of the ratio
    normal = np.array([-e, (ratio - 1) * e, 1.0])
    by_s = np.array([normal, w[2] * e * slopes, -w[2] * ratio * e * slopes])
    by_w = np.array([np.zeros(3), [1.0, 0.0, e], [0.0, 1.0, (1 - ratio) * e]])
    return by_s, by_w, np.append(s[2] - s[1] * e, by_w[1:] @ w)


def _on_ray_of_power(alpha: float, s: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same for |z| = x^α y^(1−α), where w is a multiple of (α/x, (1−α)/y, −1/z)."""
    most = s[0] ** alpha * s[1] ** (1 - alpha)
    gradient = np.array([alpha * most / s[0], (1 - alpha) * most / s[1], -np.sign(s[2])])
    by_s = np.array([gradient, [(1 - alpha) * w[0], -alpha * w[1], 0.0], [w[0], 0.0, alpha * w[2]]])
    by_w = np.array([np.zeros(3), [(1 - alpha) * s[0], -alpha * s[1], 0.0], [s[0], 0.0, alpha * s[2]]])
    return by_s, by_w, np.append(most - abs(s[2]), by_w[1:] @ w)


def _arrow(s: np.ndarray) -> np.ndarray:
    matrix = s[0] * np.eye(len(s))
    matrix[0], matrix[:, 0] = s, s
    return matrix


def _anticommutator(S: np.ndarray, W: np.ndarray) -> np.ndarray:
    return (S @ W + W @ S) / 2


def _symmetric_product(W: np.ndarray) -> np.ndarray:
    """Return the matrix of S ↦ (SW + WS)/2 on packed matrices."""
    order = len(W)
    size = order * (order + 1) // 2
    columns = [packed(_anticommutator(unpacked(unit, order), W)) for unit in np.eye(size)]
    return np.column_stack(columns)
