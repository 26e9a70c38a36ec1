r"""Bounds for the Fantope with links: the lower one is derived in :mod:`cvxlink.methods.partitions.linked_fantope`.

*The upper bound* is the value of an exactly feasible point near the answer. For a dense answer, and many links, see
:mod:`cvxlink.methods.partitions.exactly_feasible`. Otherwise the answer, on blocks and on the complement of w, has
eigenvectors V and eigenvalues x. On their span, the smallest change in Dikin's metric
(:mod:`cvxlink.methods.partitions.dual_barrier`) makes trace and cannot-links hold; it keeps 0 ⪯ X ⪯ I if its norm is
at most one. What rounding leaves, ρ, is removed by one more such change, of norm at most :math:`\|\rho\|/\sqrt g`
with the least eigenvalue g of the Gram matrix of the equations; that it exists is all the proof needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ...certificates.certificate import Certificate
from ...numerics.least_eigenvalue import sum_of_smallest
from ...numerics.matrices import Congruence, Matrix, as_dense
from ...numerics.rounding import (
    UNIT,
    UPWARDS,
    Ball,
    dot,
    gamma,
    inner_product,
    norm_above,
    row_sums_above,
    terms_per_row,
    total,
)
from ...numerics.threads import threads_for
from ..shared.shares import nearest_shares
from .dual_barrier import Pairs, dikin_weights
from .exactly_feasible import clustering_nearby, feasible_nearby
from .fantope_projection import eigenpairs_beside
from .linked_fantope import LinkedFantope
from .proof import contradicted

# Eigenvalues of the answer are kept this far from 0 and 1, so that there is room for changes.
ROOMS = (1e-13, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4)
# A multiplier below this share of its price shows that the link holds.
BELOW = 0.99
# Up to this order all eigenvectors of an answer may be computed.
DENSE = 3000
# Of so many, or more, all are used where the answer has all.
LEAST_DENSE = 40
# An answer as near as this to the matrix of a clustering is that clustering.
SAME = 1e-5
# The equations of a change are written out with at most this many numbers.
LARGEST = 2e7
# Changes of a larger norm are not made.
INSIDE = 0.9
# Columns are multiplied in pieces of this length or more, which makes rounding errors smaller.
PIECE = 32
# Up to this many products numbers are longer, where the machine has such.
LONGER = 5e7


def certify_linked_fantope(data: LinkedFantope, point: Mapping[str, Matrix], duals: Mapping[str, Any]) -> Certificate:
    """Compare the value with the bound at the multipliers that came with it, any numbers."""
    with threads_for(data.partition.order):
        multipliers = data.multipliers(duals)
        bound, basis, margin, how = _bound(data, multipliers)
        upper = _attained(data, point["Z"], data.on_blocks(multipliers))
        violations = data.violations(point)
    Z = point["Z"]
    value = data.value(point)
    if not isinstance(Z, Congruence):
        violations["Z domain"] = float(abs(Z - Z.T).max())
    return Certificate(
        value,
        violations,
        lower_bound=bound if np.isfinite(bound) else None,
        upper_bound=None if upper is None else upper.upper,
        basis=basis,
        sensitivity=float(abs(multipliers).sum()) * violations["cannot"] if upper is None else None,
        missing="no exactly feasible point was found near it" if upper is None else "",
        rounding=max(margin, 0.0 if upper is None else upper.radius),
        rounding_is_proven=not how,
    )


def disproof_of_fantope(data: LinkedFantope, duals: Mapping[str, Any]) -> str:
    """Return that no point is feasible, if the bound of multipliers is above all values there could be."""
    with threads_for(data.partition.order):
        lower, _, _, how = _bound(data, data.multipliers(duals))
    rounded = data.k * gamma(2 * terms_per_row(data.partition.C) + 2 * _largest_block(data) + 16)
    return contradicted(lower, (Ball(data.highest) * (1 + rounded)).upper) if not how else ""


def _bound(data: LinkedFantope, multipliers: np.ndarray) -> tuple[float, str, float, str]:
    """Return the bound, its basis, what rounding takes from it, and how it is known if not by arithmetic alone."""
    z, w, k = data.on_blocks(multipliers), data.block_w, data.k
    S = data.matrix(z)
    along = inner_product(S, Congruence(w[:, None], np.eye(1))) / dot(w, w)
    least, margin, how = sum_of_smallest(S, k - 1, v=w) if k > 1 else (0.0, 0.0, "")
    # The entries of S are rounded: sums over blocks, divided by their sizes.
    C = data.partition.block_C
    size = row_sums_above(C) + row_sums_above(C - S)
    lost = Ball(margin) + k * gamma(2 * terms_per_row(data.partition.C) + 2 * _largest_block(data) + 16) * Ball(size)
    lower = along + Ball(least) - lost
    what = {1: "", 2: " + the smallest eigenvalue"}.get(k, f" + the sum of the {k - 1} smallest eigenvalues")
    basis = f"wᵀSw{what} of S on w's complement, S = C − Σ z E{how}"
    nothing = -(k * gamma(2 * terms_per_row(data.partition.C) + 24) * Ball(row_sums_above(data.partition.C))).upper
    if lower.lower > nothing:
        return lower.lower, basis, (lower.radius + lost).upper, how
    return nothing, "no cut costs less than nothing", -nothing, ""


def _largest_block(data: LinkedFantope) -> int:
    return int(data.partition.block_sizes.max())


def _attained(data: LinkedFantope, Z: Matrix, z: np.ndarray) -> Ball | None:
    """Return the value of an exactly feasible point near Z: inside, or else a clustering; None if none is found."""
    if data.k == 1 or data.partition.order > DENSE:
        return _attained_inside(data, Z, z)
    # Where links leave hardly any room, what they leave is often a clustering.
    Y = _on_blocks(data, Z)
    found = clustering_nearby(data, Y) if np.isfinite(Y).all() else None
    if found is not None:
        value = _dense_value(data, found[0], np.isinf(data.block_prices), found[1])
        if np.linalg.norm(found[0] - Y) <= SAME:
            return value
    inside = _attained_inside(data, Z, z)
    return inside if inside is not None or found is None else value


def _on_blocks(data: LinkedFantope, Z: Matrix) -> np.ndarray:
    T = data.partition.T
    if isinstance(Z, Congruence):
        columns = as_dense(T.T @ Z.T)
        return columns @ Z.M @ columns.T
    return T.T @ (T.T @ Z).T


def _attained_inside(data: LinkedFantope, Z: Matrix, z: np.ndarray) -> Ball | None:
    """Return the value of an exactly feasible point near Z, or None if none is found.

    Links that must hold are equations. So are those whose multipliers are below their prices, if that is possible:
    at the optimum they hold.
    """
    if data.k == 1:
        hard = np.isinf(data.block_prices)
        return None if hard.any() else _value(data, np.zeros((data.partition.order, 0)), np.zeros((0, 0)), hard)
    must_hold = np.isinf(data.block_prices)
    with np.errstate(invalid="ignore"):
        held = must_hold | (abs(z) < BELOW * data.block_prices)
    choices = (held, must_hold) if (held != must_hold).any() else (held,)
    if data.k == data.partition.order:  # every block is a cluster
        return _dense_value(data, np.eye(data.k), np.zeros(len(held), dtype=bool), 0.0)
    x, V = _spectrum(data, Z)
    most = int(np.sqrt(2 * LARGEST / (len(data.block_pairs) + 1)))
    if len(x) < data.k - 1 or not np.isfinite(V).all():
        return None
    is_whole = len(x) == data.partition.order - 1
    if data.partition.order <= DENSE and len(x) > (LEAST_DENSE if is_whole else most):
        return _attained_densely(data, Z, choices)
    if most < len(x):
        x, V = x[-most:], V[:, -most:]
    best = None
    for equations in choices:
        for room in ROOMS:
            found = _made_feasible(data, x, V, room, equations)
            if found is not None and (best is None or found.upper < best.upper):
                best = found
            elif best is not None:  # more room only costs more
                break
    return best


def _attained_densely(data: LinkedFantope, Z: Matrix, choices: tuple[np.ndarray, ...]) -> Ball | None:
    """Return the same from all eigenvectors on blocks, whose number does not matter."""
    x, V = eigenpairs_beside(_on_blocks(data, Z), data.block_w)
    best = None
    for held in choices:
        found = feasible_nearby(data, x, V, held)
        if found is not None:
            value = _dense_value(data, found[0], held, found[1])
            best = value if best is None or value.upper < best.upper else best
    return best


def _dense_value(data: LinkedFantope, Y: np.ndarray, held: np.ndarray, off: float) -> Ball:
    """Return the value of the exactly feasible matrix that differs from Y by ``off`` at most."""
    C, size = data.partition.block_C, row_sums_above(data.partition.block_C)
    a, b = data.block_pairs[~held].T
    paid = dot(data.block_prices[~held], abs(Y[a, b]) + off) if len(a) else Ball(0.0)
    rounded = data.k * gamma(2 * terms_per_row(data.partition.C) + 2 * _largest_block(data) + 16)
    return inner_product(C, Y) + paid + Ball(0.0, (Ball(off + rounded) * size).upper)


def _spectrum(data: LinkedFantope, Z: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and eigenvectors of TᵀZT on the complement of w, in increasing order."""
    T, w = data.partition.T, data.block_w
    if isinstance(Z, Congruence):
        # w comes first, so that the others are orthogonal to it, even those that are lost in rounding.
        V, R = np.linalg.qr(np.column_stack([w, as_dense(T.T @ Z.T)]))
        small = R[1:, 1:] @ Z.M @ R[1:, 1:].T
        x, turned = np.linalg.eigh((small + small.T) / 2)
        return x, V[:, 1:] @ turned
    return eigenpairs_beside(_on_blocks(data, Z), w)


def _made_feasible(data: LinkedFantope, x: np.ndarray, V: np.ndarray, room: float, held: np.ndarray) -> Ball | None:
    k = data.k - 1
    if len(x) == k and not np.isinf(data.block_prices).any():
        return _value(data, V, np.eye(k), held)  # a projection, whatever was rounded
    x = nearest_shares(x, k, room)
    a, b = data.block_pairs[held].T
    w = data.block_w
    pairs = Pairs(V[a], V[b], w[a] * w[b])
    change, norm = _change(x, pairs, k)
    if not norm <= INSIDE:
        return None
    X = np.diag(x) + change
    # The nearest orthonormal columns on the complement of w are within this distance of V.
    off = _off(V, w)
    sizes = (abs(pairs.left) @ abs(X) * abs(pairs.right)).sum(axis=1)
    # Rows of V and w change in proportion to their lengths.
    lengths = (np.linalg.norm(np.column_stack([w, V])[end], axis=1) for end in (a, b))
    moved = 2.1 * off * np.prod(list(lengths), axis=0)
    rest = abs(pairs.products(X)) + gamma(2 * len(x) + 8) * (sizes + abs(pairs.a)) + 2 * moved
    rest = np.append(rest, (total(X.diagonal()) - k).magnitude)
    further = _norm_of_change(x, pairs, rest, np.append(moved, 0.0))
    if not further <= (1 - INSIDE) / 2 or not off < 1e-6:
        return None
    return _value(data, V, X, held, further, dikin_weights(x, 1 - x))


def _equations(x: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Return the equations of a change, in the numbers Δ_ij/√ω_ij, twice as much squared for i < j; trace last."""
    weight = dikin_weights(x, 1 - x)
    rows, columns = np.triu_indices(len(x))
    trace = np.where(rows == columns, np.sqrt(weight[rows, columns]), 0.0)
    return np.vstack([pairs.written(weight), trace])


def _change(x: np.ndarray, pairs: Pairs, k: int) -> tuple[np.ndarray, float]:
    """Return the smallest change in Dikin's metric that makes the equations hold, and its norm."""
    missing = np.append(-pairs.products(np.diag(x)), k - x.sum())
    scaled = np.linalg.lstsq(_equations(x, pairs), missing, rcond=None)[0]
    rows, columns = np.triu_indices(len(x))
    weight = np.where(rows == columns, 1.0, 0.5) * dikin_weights(x, 1 - x)[rows, columns]
    change = np.zeros((len(x), len(x)))
    change[rows, columns] = change[columns, rows] = scaled * np.sqrt(weight)
    return change, norm_above(scaled)


def _norm_of_change(x: np.ndarray, pairs: Pairs, rest: np.ndarray, moved: np.ndarray) -> float:
    r"""Return a bound on the norm of a change that removes what is left in the equations.

    With the equations Bt = ρ and any matrix P for which :math:`\|I - BP\| \le q < 1`, the change
    :math:`t = P(BP)^{-1}\rho` has a norm of at most :math:`\|P\|\|\rho\|/(1 - q)`.
    """
    B = _equations(x, pairs)
    lengths = np.linalg.norm(B, axis=1)
    if not (lengths > 0).all() or B.shape[0] > B.shape[1]:
        return np.inf
    B, rest = B / lengths[:, None], rest / lengths
    Q, R = np.linalg.qr(B.T)
    if not abs(R.diagonal()).min() > 1e-12:
        return np.inf
    P = solve_triangular(R, Q.T).T
    defect = norm_above(np.eye(len(B)) - B @ P) + gamma(B.shape[1] + 8) * norm_above(B) * norm_above(P)
    # B itself is rounded, and V is not orthonormal; weights are at most 1/8.
    defect += norm_above(P) * (gamma(16) * norm_above(B) + norm_above(moved / lengths))
    return UPWARDS * norm_above(P) * norm_above(rest) / (1 - defect) if defect < 0.5 else np.inf


def _off(V: np.ndarray, w: np.ndarray) -> float:
    """Return a bound on the distance of V from orthonormal columns on the complement of w."""
    joined = np.column_stack([w, V])
    kind: Any = float
    if joined.size * joined.shape[1] <= LONGER and np.finfo(np.longdouble).eps < UNIT / 256:
        kind = np.longdouble
    gram = -np.eye(joined.shape[1], dtype=kind)
    # Sums of sums of sums: each has at most so many terms.
    terms = max(PIECE, int(np.ceil(len(joined) ** (1 / 3))))
    for start in range(0, len(joined), terms**2):
        part = np.zeros_like(gram)
        for begin in range(start, min(start + terms**2, len(joined)), terms):
            piece = joined[begin : min(begin + terms, start + terms**2)].astype(kind)
            part += piece.T @ piece
        gram += part
    rounding = gamma((3 * terms + 8) * float(np.finfo(kind).eps) / UNIT)
    return 3 * (norm_above(gram) + rounding * norm_above(joined) ** 2)


def _value(
    data: LinkedFantope, V: np.ndarray, X: np.ndarray, held: np.ndarray, change: float = 0.0, weights: Any = 0.0
) -> Ball:
    """Return the value at wwᵀ + VXVᵀ, up to a change of X of that norm and what V lacks of being orthonormal.

    Links that are ``held`` cost nothing: the change makes them hold.
    """
    middle = np.zeros((len(X) + 1, len(X) + 1))
    middle[0, 0], middle[1:, 1:] = 1.0, X
    Y = Congruence(np.column_stack([data.block_w, V]), middle)
    C, w, off = data.partition.block_C, data.block_w, _off(V, data.block_w)
    value, moved = inner_product(C, Y), 6 * off * data.k
    a, b = data.block_pairs[~held].T
    if len(a):
        entries = (Y.T[a] @ Y.M * Y.T[b]).sum(axis=1)
        rounding = gamma(4 * len(X) + 16) * (abs(Y.T[a]) @ abs(Y.M) * abs(Y.T[b])).sum(axis=1)
        if change:
            rounding = rounding + 1.01 * change * np.linalg.norm(Pairs(V[a], V[b], w[a]).written(weights), axis=1)
        value = value + dot(data.block_prices[~held], abs(entries) + rounding + moved)
    if change:
        value = value + Ball(0.0, 1.01 * change * norm_above(np.sqrt(weights) * as_dense(V.T @ (C @ V))))
    rounded = data.k * gamma(2 * terms_per_row(data.partition.C) + 2 * _largest_block(data) + 16)
    return value + Ball(0.0, (Ball(moved + rounded) * row_sums_above(C)).upper)
