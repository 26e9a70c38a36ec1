r"""Vectors v with Kv = 0 for every feasible K ⪰ 0, read from the linear constraints.

:math:`v^\top K v = 0` is enough, because K is semidefinite. The constraints that are recognised:

* :math:`K_{ii} \le 0`, or a row :math:`\langle A, K\rangle \le 0` whose A is semidefinite because it is diagonally
  dominant (squared distances, sums of them, traces) or a product :math:`vv^\top` (such as the sum of all entries);
* bounds :math:`K_{ii} \le a, K_{jj} \le b` and :math:`K_{ij}^2 \ge ab`, of which K_ij = K_ii = K_jj is one case;
* equations :math:`Kv = 0`, as far as they say something of :math:`v^\top Kv`: equal rows are one case;
* equations between two entries, or that fix entries at one value, if a chain of them says K_ij = K_ii = K_jj;
* whatever equations in K_ii, K_jj and K_ij alone imply about :math:`K_{ii} + K_{jj} \mp 2 K_{ij}`.

Everything is decided in exact arithmetic: 1 − 1e-13 instead of 1 would let two vectors differ by 4e-7.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..errors import InfeasibleProblem
from ..numerics.digits import shown, shown_apart
from .row_systems import CONTRADICTION, Limits, NullVector, RowSystem, quantum

# Products of integers below 2^26 are exact in floating point.
EXACT_FACTOR = 2.0**26
# Larger products vvᵀ of numbers that are not such integers are not recognised.
MOST_FRACTIONS = 40
# Equations in three entries are solved exactly for at most so many pairs.
MOST_PAIRS = 4000


def null_vectors(system: RowSystem) -> list[NullVector]:
    """Return vectors that every feasible matrix takes to zero; first those of one or two points, if there are any."""
    found = [*_tight_entries(system), *_tight_rows(system), *_equal_rows(system)]
    if not any(len(v.points) <= 2 for v in found):
        found += [*_equal_entries(system)] or [*_pairs_by_equations(system)]
    return found


# ---------------------------------------------------------------------- rows of one entry


def _tight_entries(system: RowSystem) -> Iterator[NullVector]:
    """Yield e_i for K_ii ≤ 0, and e_i − r e_j where bounds on K_ii, K_jj and K_ij leave no room."""
    upper, lower, n = system.single.upper, system.single.lower, system.n
    for k in np.flatnonzero((upper.keys % (n + 1) == 0) & (upper.values <= 0)).tolist():
        i, row, value = int(upper.keys[k] // n), int(upper.rows[k]), float(upper.values[k])
        if value < -CONTRADICTION:
            raise InfeasibleProblem(
                f"{system.named(row)} requires the diagonal entry {system.place(i, i)} of a semidefinite matrix to be "
                f"at most {shown(value)}"
            )
        if value == 0:
            yield NullVector((i,), (1.0,), (row,), (-1 / float(upper.weights[k]),))
    for bounds, sign in ((lower, -1.0), (upper, 1.0)):
        yield from _tight_pairs(system, bounds, sign)


def _tight_pairs(system: RowSystem, bounds: Limits, sign: float) -> Iterator[NullVector]:
    """Yield the pairs for which K_ij is bounded away from zero as far as K_ii and K_jj allow."""
    upper, n = system.single.upper, system.n
    i, j = np.divmod(bounds.keys, n)
    (ii, has_i), (jj, has_j) = upper.at(i * (n + 1)), upper.at(j * (n + 1))
    known = np.flatnonzero((i != j) & (bounds.values < 0) & has_i & has_j)
    if not len(known):
        return
    first, second = upper.values[ii[known]], upper.values[jj[known]]
    with np.errstate(over="ignore"):
        square, most = bounds.values[known] ** 2, np.maximum(first * second, 0.0)
        for k in np.flatnonzero(square > most * (1 + CONTRADICTION) + 1e-12)[:1].tolist():
            p, a, b = known[k], int(ii[known[k]]), int(jj[known[k]])
            value, rows = sign * float(bounds.values[p]), (int(bounds.rows[p]), int(upper.rows[a]), int(upper.rows[b]))
            wanted, allowed = shown_apart(value, float(np.copysign(np.sqrt(most[k]), value)))
            raise InfeasibleProblem(
                f"entry {system.place(int(i[p]), int(j[p]))} is required to be {wanted}, but the diagonal entries "
                f"{shown(first[k])} and {shown(second[k])} of a semidefinite matrix allow at "
                f"{'most' if value > 0 else 'least'} {allowed} "
                f"({', '.join(dict.fromkeys(map(system.named, rows)))})"
            )
        near = known[(most > 0) & (abs(square - most) <= 1e-9 * most)]
    for p in near.tolist():
        vector = _of_tight_pair(system, (int(i[p]), int(j[p])), bounds, p, int(ii[p]), int(jj[p]))
        if vector is not None:
            yield vector


def _of_tight_pair(
    system: RowSystem, pair: tuple[int, int], bounds: Limits, p: int, ii: int, jj: int
) -> NullVector | None:
    """Return e_i − r e_j for K_ij² = K_ii K_jj, if that holds exactly and r is a number of the machine."""
    upper = system.single.upper
    rows = [int(upper.rows[ii]), int(upper.rows[jj]), int(bounds.rows[p])]
    weights = [float(upper.weights[ii]), float(upper.weights[jj]), float(bounds.weights[p])]
    values = [system.exactly(r, w) for r, w in zip(rows, weights, strict=True)]
    if values[2] ** 2 != values[0] * values[1]:
        return None
    if values[0] > values[1]:  # the shorter vector is a multiple of the longer one, by a number of at most one
        pair, rows[:2], weights[:2], values[:2] = pair[::-1], rows[1::-1], weights[1::-1], values[1::-1]
    ratio = values[2] / values[1]
    r = float(ratio)
    if Fraction(r) != ratio:
        return None
    return NullVector(pair, (1.0, -r), tuple(rows), (-1 / weights[0], -(r**2) / weights[1], 2 * r / weights[2]))


# ---------------------------------------------------------------------- rows with a semidefinite matrix


def _tight_rows(system: RowSystem) -> Iterator[NullVector]:
    """Yield what rows ⟨A, K⟩ ≤ 0 with a semidefinite A imply."""
    row, i, j, u = system.entries
    m, diagonal = len(system.b), i == j
    counts, diagonals = np.bincount(row, minlength=m), np.bincount(row[diagonal], minlength=m)
    positive = np.bincount(row[diagonal & (u > 0)], minlength=m)
    signs = np.where(positive == diagonals, 1.0, np.where((positive == 0) & ~system.is_inequality, -1.0, 0.0))
    off = counts - diagonals
    possible = (counts >= 2) & (diagonals >= 1) & (off <= diagonals * (diagonals - 1) // 2) & (signs != 0)
    for r in np.flatnonzero(possible & system.is_exact & (signs * system.b <= 0)).tolist():
        yield from _of_tight_row(system, r, float(signs[r]))


def _of_tight_row(system: RowSystem, r: int, sign: float) -> Iterator[NullVector]:
    i, j, u = system.coefficients(r)
    u = sign * u
    if system.b[r] != 0:
        if sign * system.b[r] < -CONTRADICTION * u.max() and (_dominates(i, j, u) or _as_square(i, j, u) is not None):
            raise InfeasibleProblem(
                f"{system.named(r)} requires a sum of squared lengths to be {shown(sign * system.b[r])}"
            )
        return
    excess = _dominates(i, j, u)
    rows, multiples = (r,), (-sign / float(u.max()),)
    if excess is not None:
        vectors: list[tuple[tuple[int, ...], tuple[float, ...]]] = [
            ((a, b), (1.0, float(np.sign(w)))) for a, b, w in _triples(i, j, u) if a != b
        ]
        vectors += [((a,), (1.0,)) for a, w in excess.items() if w > 0]
        for number, (points, weights) in enumerate(vectors):
            yield NullVector(points, weights, *((rows, multiples) if number == 0 else ((), ())))
        return
    square = _as_square(i, j, u)
    if square is not None:
        yield NullVector(*square, rows, multiples)


def _triples(i: np.ndarray, j: np.ndarray, u: np.ndarray) -> Iterator[tuple[int, int, float]]:
    yield from zip(i.tolist(), j.tolist(), u.tolist(), strict=True)


def _dominates(i: np.ndarray, j: np.ndarray, u: np.ndarray) -> dict[int, float] | None:
    """Return by how much each diagonal entry exceeds the others of its row, or None if one does not."""
    parts: dict[int, list[float]] = {}
    for a, b, w in _triples(i, j, u):
        parts.setdefault(a, []).append(w if a == b else -abs(w) / 2)
        if a != b:
            parts.setdefault(b, []).append(-abs(w) / 2)
    excess = {point: fsum(numbers) for point, numbers in parts.items()}  # correctly rounded, so the sign is right
    return excess if min(excess.values()) >= 0 else None


def _as_square(i: np.ndarray, j: np.ndarray, u: np.ndarray) -> tuple[tuple[int, ...], tuple[float, ...]] | None:
    """Return the points and numbers of v if the matrix is exactly a multiple of vvᵀ, else None."""
    points = np.unique(np.concatenate([i, j]))
    d = len(points)
    if len(u) != d * (d + 1) // 2:
        return None
    A = np.zeros((d, d))
    a, b = np.searchsorted(points, i), np.searchsorted(points, j)
    A[a, b] = A[b, a] = np.where(a == b, u, u / 2)
    v = A[0]
    if (abs(A) == abs(v[0])).all():
        same = bool((np.sign(A) == np.sign(np.outer(v, v))).all())
    elif _are_small_integers(A):
        same = bool((A * v[0] == np.outer(v, v)).all())
    else:
        same = d <= MOST_FRACTIONS and _is_square_exactly(A)
    return (tuple(points.tolist()), tuple(v.tolist())) if same else None


def _are_small_integers(A: np.ndarray) -> bool:
    """Whether all numbers are small integers times one power of two."""
    scaled = A / quantum(A).min()
    return bool((abs(scaled) < EXACT_FACTOR).all())


def _is_square_exactly(A: np.ndarray) -> bool:
    exact = [[Fraction(x) for x in row] for row in A.tolist()]
    v = exact[0]
    return all(exact[k][m] * v[0] == v[k] * v[m] for k in range(len(v)) for m in range(k, len(v)))


# ---------------------------------------------------------------------- equations Kv = 0


def _equal_rows(system: RowSystem) -> Iterator[NullVector]:
    """Yield v where rows (Kv)_k = 0 are there for every k with v_k ≠ 0; for e_i ± e_j also as inequalities."""
    row, i, j, u = system.entries
    m, diagonal = len(system.b), i == j
    # Such a row has exactly one diagonal entry, K_kk, and all others are in row k of K.
    point = np.full(m, -1, dtype=np.int64)
    point[row[diagonal]] = i[diagonal]
    strange = np.bincount(row[(i != point[row]) & (j != point[row])], minlength=m)
    counts, diagonals = np.bincount(row, minlength=m), np.bincount(row[diagonal], minlength=m)
    own = np.zeros(m)
    own[row[diagonal]] = u[diagonal]
    one_way = ~system.is_inequality | ((counts == 2) & (own > 0))
    usable = (counts >= 2) & (diagonals == 1) & (strange == 0) & (system.b == 0) & system.is_exact & one_way
    groups: dict[Any, dict[int, tuple[int, float]]] = {}
    for r in np.flatnonzero(usable).tolist():
        k, (a, b, w) = int(point[r]), system.coefficients(r)
        others = np.where(a == k, b, a)
        order = np.argsort(others)
        points, weights = others[order], w[order]
        plain = len(w) == 2 and abs(w[0]) == abs(w[1])  # K_kk = ±K_kl, where any factor can be divided out
        if system.is_inequality[r] and not plain:
            continue
        scale = float(weights[0]) if plain else float(np.sign(weights[0]))
        groups.setdefault((points.tobytes(), (weights / scale).tobytes()), {}).setdefault(k, (r, scale))
    for (points_key, weights_key), rows in groups.items():
        points, v = np.frombuffer(points_key, dtype=np.int64).tolist(), np.frombuffer(weights_key).tolist()
        if all(k in rows for k in points):
            multiples = tuple(-value / rows[k][1] for k, value in zip(points, v, strict=True))
            yield NullVector(tuple(points), tuple(v), tuple(rows[k][0] for k in points), multiples)


# ---------------------------------------------------------------------- equal entries


def _equal_entries(system: RowSystem) -> Iterator[NullVector]:
    """Yield e_i − e_j where chains of equations between entries, or with the same value, say K_ii = K_ij = K_jj."""
    U, n = system.folded, system.n
    two = np.flatnonzero((np.diff(U.indptr) == 2) & ~system.is_inequality & system.is_exact & (system.b == 0))
    places = U.indptr[two][:, None] + np.arange(2)
    weights = U.data[places].reshape(-1, 2)
    two, places, weights = (part[weights[:, 0] == -weights[:, 1]] for part in (two, places, weights))
    if not len(two):
        return
    fixed = system.single.equations
    values = {key: system.exactly(r, float(system.coefficients(r)[2][0])) for key, r in fixed.items()}
    levels = {value: n * n + k for k, value in enumerate(dict.fromkeys(values.values()))}
    ends = [*map(tuple, U.indices[places].tolist()), *((key, levels[value]) for key, value in values.items())]
    rows = [*two.tolist(), *fixed.values()]
    factors = [*weights[:, 0].tolist(), *(float(system.coefficients(r)[2][0]) for r in fixed.values())]
    nodes, numbers = np.unique(np.array(ends), return_inverse=True)
    a, b = numbers.reshape(-1, 2).T
    graph = sp.csr_array((np.ones(len(a)), (a, b)), shape=(len(nodes), len(nodes)))
    graph = sp.csr_array(graph + graph.T)
    component = connected_components(graph, directed=False)[1]
    edges = {(p, q): (r, f) for p, q, r, f in zip(a.tolist(), b.tolist(), rows, factors, strict=True)}
    place = {key: k for k, key in enumerate(nodes.tolist())}
    for number, key in enumerate(nodes.tolist()):
        i, j = divmod(key, n)
        own = [place.get(p * (n + 1)) for p in (i, j)]
        if key < n * n and i != j and all(o is not None and component[o] == component[number] for o in own):
            before = breadth_first_order(graph, number, directed=False)[1]
            used: dict[int, float] = {}
            for end in own:
                assert end is not None
                for r, multiple in _chain(end, before, edges):
                    used[r] = used.get(r, 0.0) - multiple
            yield NullVector((i, j), (1.0, -1.0), tuple(used), tuple(used.values()))


def _chain(
    end: int, before: np.ndarray, edges: dict[tuple[int, int], tuple[int, float]]
) -> Iterator[tuple[int, float]]:
    """Yield multiples of rows that add up to K_end − K_start, from the tree of a search that began at the start."""
    while before[end] >= 0:
        other = int(before[end])
        r, factor = edges[end, other] if (end, other) in edges else edges[other, end]
        yield r, (1 if (end, other) in edges else -1) / factor
        end = other


# ---------------------------------------------------------------------- equations in three entries


def _pairs_by_equations(system: RowSystem) -> Iterator[NullVector]:
    """Yield e_i ∓ e_j where equations in K_ii, K_jj and K_ij together imply K_ii + K_jj ∓ 2 K_ij = 0."""
    counts = np.diff(system.folded.indptr)
    pairs: dict[tuple[int, int], list[int]] = {}
    for r in np.flatnonzero(np.isin(counts, (2, 3)) & ~system.is_inequality & system.is_exact).tolist():
        i, j, _ = system.coefficients(r)
        points = sorted({*i.tolist(), *j.tolist()})
        if len(points) == 2:
            pairs.setdefault((points[0], points[1]), []).append(r)
        if len(pairs) >= MOST_PAIRS:
            break
    fixed, n = system.single.equations, system.n
    for pair, rows in pairs.items():
        first, second = pair
        places = (first * (n + 1), second * (n + 1), first * n + second)
        rows = [*rows, *(fixed[place] for place in places if place in fixed)][:6]
        if len(rows) == 1:
            continue  # a squared distance of zero is seen in its row
        used_rows, equations = list[int](), list[list[Fraction]]()
        for r in rows:
            a, b, u = system.coefficients(r)
            known = {x * n + y: Fraction(w) for x, y, w in _triples(a, b, u)}
            sides = [known.get(place, Fraction(0)) for place in places]
            # A row that repeats others up to rounding in its right-hand side would prove anything, as 0 = 1e-16 does.
            if _combination([equation[:3] for equation in equations], sides) is None:
                used_rows.append(r)
                equations.append([*sides, Fraction(float(system.b[r]))])
        for sign in (1, -1):
            found = _combination(equations, [Fraction(1), Fraction(1), Fraction(-2 * sign), Fraction(0)])
            if found is not None:
                used = [(r, -float(x)) for r, x in zip(used_rows, found, strict=True) if x]
                yield NullVector(pair, (1.0, -float(sign)), tuple(r for r, _ in used), tuple(x for _, x in used))
                break


def _combination(vectors: list[list[Fraction]], target: list[Fraction]) -> list[Fraction] | None:
    """Return exact multiples of vectors that add up to a target, or None."""
    m = len(vectors)
    matrix = [[v[k] for v in vectors] + [target[k]] for k in range(len(target))]
    pivots, top = [], 0
    for column in range(m):
        found = next((k for k in range(top, len(matrix)) if matrix[k][column]), None)
        if found is None:
            continue
        matrix[top], matrix[found] = matrix[found], matrix[top]
        own = matrix[top][column]
        matrix[top] = [x / own for x in matrix[top]]
        for k in range(len(matrix)):
            if k != top and matrix[k][column]:
                factor = matrix[k][column]
                matrix[k] = [x - factor * y for x, y in zip(matrix[k], matrix[top], strict=True)]
        pivots.append(column)
        top += 1
    if any(line[m] for line in matrix[top:]):
        return None
    solution = [Fraction(0)] * m
    for line, column in zip(matrix, pivots, strict=False):
        solution[column] = line[m]
    return solution
