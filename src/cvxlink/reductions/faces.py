r"""The face of the semidefinite cone in which linear constraints put a matrix: K = PK'Pᵀ with a sparse P.

Every feasible K takes the vectors that :mod:`cvxlink.reductions.null_vectors` finds to zero. A vector :math:`e_i` puts
a point at zero, :math:`e_i - e_j` merges two points, :math:`e_i + e_j` makes them opposite: P then has one column per
block of points, with entries 0, 1 and −1 (others for proportional rows). For a vector with more points, its largest
entry is solved for: the row of that point in P is minus the others. Rows become others on the way (K_00 = 0 leaves
nothing of K_01), so the search is repeated until it finds nothing more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..numerics.matrices import Matrix, as_dense
from ..programs.linear_sdp import LinearSDP, Rows
from .null_vectors import null_vectors
from .row_systems import NullVector, RowSystem, quantum
from .rows_on_faces import RowsOnFace, rows_on_face

# Sums of coefficients count as zero below this share of their sizes.
CANCELLED = 4 * float(np.finfo(float).eps)
# So many entries of a null vector are tried as the one to divide by.
MOST_PIVOTS = 5

# Multipliers lifted to the original problem add STIFFNESS times the Laplacian of the forced pairs to the
# slack S. No finite multiple makes S exactly semidefinite there (the dual optimum is not attained without
# Slater's condition); this one leaves an error near the square root of machine precision.
STIFFNESS = 1e7


@dataclass(frozen=True, eq=False)
class Blocks:
    """K = PK'Pᵀ for every feasible K, the constraints on K', and why."""

    P: sp.csr_array
    rows: LinearSDP  # the constraints on K', without costs
    merging: RowsOnFace
    is_exact: bool  # whether P is free of rounding
    given: sp.csr_array  # the coefficients of the constraints on K
    stiffening: np.ndarray  # multipliers v with −A*(v) ⪰ 0, which PᵀA*(v)P does not see, and bᵀv = 0
    reasons: tuple[Reason, ...]

    @property
    def is_smaller(self) -> bool:
        """Whether the face is not the whole cone."""
        return self.P.shape[1] < self.P.shape[0]

    @cached_property
    def inverse(self) -> sp.csr_array:
        """The pseudo-inverse of P, c × n."""
        gram = sp.csr_array(self.P.T @ self.P)
        if gram.nnz == gram.shape[0] == np.count_nonzero(gram.diagonal()):
            return sp.csr_array(sp.diags_array(1 / gram.diagonal()) @ self.P.T)
        return sp.csr_array(np.linalg.solve(gram.toarray(), self.P.T.toarray()))

    def restrict(self, K: Matrix) -> np.ndarray:
        """Return the K' for which PK'Pᵀ is nearest to K."""
        inverse = self.inverse
        restricted = as_dense(inverse @ as_dense(K) @ inverse.T)
        return (restricted + restricted.T) / 2


@dataclass(frozen=True)
class Reason:
    """A null vector in words: the numbers of its points, their weights, and the names of the constraints."""

    points: tuple[int, ...]
    weights: tuple[float, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True)
class _State:
    """How far the search has come."""

    P: sp.csr_array
    A: sp.csr_array
    is_exact: np.ndarray
    P_is_exact: bool = True
    reasons: tuple[Reason, ...] = field(default=())


def blocks_of(rows: Sequence[Rows]) -> Blocks | None:
    """Return the face that linear constraints on a semidefinite matrix imply, or None if they leave all as it is."""
    if not rows:
        return None
    found = face_of(rows, int(np.sqrt(rows[0].A.shape[1])))
    is_other = found.is_smaller or found.merging.changes
    return found if is_other and found.P.shape[1] else None  # a matrix that must be zero is left to the solver


def face_of(rows: Sequence[Rows], n: int) -> Blocks:
    """Return the face, which may be the whole cone; raise :class:`InfeasibleProblem` if rows contradict each other."""
    A = sp.csr_array(sp.vstack([g.A for g in rows], format="csr")) if rows else sp.csr_array((0, n * n))
    b = np.concatenate([g.b for g in rows]) if rows else np.zeros(0)
    is_inequality = np.concatenate([np.full(len(g), g.sense == "<=") for g in rows] or [np.zeros(0, bool)])
    owners = np.concatenate([np.full(len(g), k) for k, g in enumerate(rows)] or [np.zeros(0, int)])
    starts = np.cumsum([0, *(len(g) for g in rows)])
    state = _State(sp.csr_array(sp.eye_array(n)), A, np.ones(len(b), dtype=bool))
    stiffening = np.zeros(len(b))

    def named(r: int) -> str:
        k = int(owners[r])
        return f"row {r - starts[k]} of {rows[k].name!r}" if len(rows[k]) > 1 else repr(rows[k].name)

    while True:
        first = _first_points(state.P)

        def place(i: int, j: int, first: np.ndarray = first) -> str:
            return f"({first[i]}, {first[j]}){' of merged points' if len(first) < n else ''}"

        order = state.P.shape[1]
        found = null_vectors(RowSystem(order, state.A, b, is_inequality, state.is_exact, named, place))
        if not found:
            break
        simple = [v for v in found if len(v.points) <= 2 and _ratio(v) is not None]
        chosen = simple or found[:1]
        for v in chosen:
            np.add.at(stiffening, list(v.rows), v.multiples)
        reasons = tuple(
            Reason(
                tuple(int(first[p]) for p in v.points),
                v.weights,
                tuple(dict.fromkeys(rows[int(owners[r])].name for r in v.rows)),
            )
            for v in chosen
        )
        step, is_exact = _merged(simple, order) if simple else _solved_for(chosen[0], order)
        reduced, stays_exact = congruent_rows(state.A, step)
        P = sp.csr_array(state.P @ step)
        state = _State(P, reduced, state.is_exact & stays_exact, state.P_is_exact and is_exact, state.reasons + reasons)
    merging = rows_on_face(rows, state.A, state.P.shape[1], named)
    c = state.P.shape[1]
    program = LinearSDP(sp.csr_array((c, c)), merging.rows)
    return Blocks(state.P, program, merging, state.P_is_exact, A, stiffening, state.reasons)


def _first_points(P: sp.csr_array) -> np.ndarray:
    """Return the first point of each block."""
    by_column = P.tocsc()
    return np.minimum.reduceat(by_column.indices, by_column.indptr[:-1]) if P.shape[1] else np.zeros(0, dtype=int)


def _ratio(v: NullVector) -> Fraction | None:
    """Return r with row i = r · row j for the two points of v, if it is a number of the machine; 0 for one point."""
    if len(v.points) == 1:
        return Fraction(0)
    ratio = -Fraction(v.weights[1]) / Fraction(v.weights[0])
    return ratio if Fraction(float(ratio)) == ratio else None


def _merged(vectors: Sequence[NullVector], n: int) -> tuple[sp.csr_array, bool]:
    """Return P for null vectors of one or two points, and whether it is free of rounding."""
    parent, ratio, at_zero = list(range(n)), [Fraction(1)] * n, set[int]()

    def root(i: int) -> tuple[int, Fraction]:
        """Return the first point of the block, and by which number its row is multiplied for row i."""
        path = []
        while parent[i] != i:
            path.append(i)
            i = parent[i]
        total = Fraction(1)
        for p in reversed(path):
            total = total * ratio[p]
            parent[p], ratio[p] = i, total
        return i, total

    for v in vectors:
        (i, r_i), (j, r_j) = root(v.points[0]), root(v.points[-1])
        between = _ratio(v)
        assert between is not None
        if between == 0:
            at_zero.add(i)
        elif i == j:
            if r_i != between * r_j:  # a row is two different multiples of another
                at_zero.add(i)
        else:
            factor = between * r_j / r_i  # row i = factor · row j
            i, j, factor = (i, j, factor) if j < i else (j, i, 1 / factor)
            parent[i], ratio[i] = j, factor
            if i in at_zero:
                at_zero.add(j)
    roots = [root(i) for i in range(n)]
    kept = [i for i in range(n) if roots[i][0] not in at_zero]
    blocks = {r: k for k, r in enumerate(dict.fromkeys(roots[i][0] for i in kept))}
    numbers = [float(roots[i][1]) for i in kept]
    is_exact = all(Fraction(x) == roots[i][1] for i, x in zip(kept, numbers, strict=True))
    columns = [blocks[roots[i][0]] for i in kept]
    return sp.csr_array((numbers, (kept, columns)), shape=(n, len(blocks))), is_exact


def _solved_for(v: NullVector, n: int) -> tuple[sp.csr_array, bool]:
    """Return P for a null vector of many points: a large entry is solved for, without rounding if one allows that."""
    points, weights = np.array(v.points), np.array(v.weights)
    sizes, first = np.unique(abs(weights), return_index=True)
    large = first[sizes >= sizes[-1] / 4][::-1][:MOST_PIVOTS]
    is_exact, p = next(((True, int(k)) for k in large if _divides(weights[k], weights)), (False, int(large[0])))
    others = np.delete(np.arange(n), points[p])
    quotients = np.delete(-weights / weights[p], p)
    column = np.searchsorted(others, np.delete(points, p))
    row = np.concatenate([others, np.full(len(column), points[p])])
    columns = np.concatenate([np.arange(n - 1), column])
    return sp.csr_array((np.concatenate([np.ones(n - 1), quotients]), (row, columns)), shape=(n, n - 1)), is_exact


def _divides(divisor: float, numbers: np.ndarray) -> bool:
    """Whether all quotients are numbers of the machine."""
    if (abs(numbers) == abs(divisor)).all():
        return True
    whole = Fraction(float(divisor))
    return all(Fraction(x / float(divisor)) * whole == Fraction(x) for x in set(numbers.tolist()))


def congruent_rows(A: sp.csr_array, P: sp.csr_array) -> tuple[sp.csr_array, np.ndarray]:
    """Return the rows PᵀA_rP, without coefficients that cancel up to rounding, and which rows are free of rounding."""
    found, sizes = _congruent(A, P), _congruent(abs(A), abs(P))
    ones = [sp.csr_array((np.ones(M.nnz), M.indices, M.indptr), shape=M.shape) for M in (A, P)]
    alone = (_congruent(*ones).data == 1) & bool((abs(P.data) == 1).all())
    # Sums are exact where all their terms are multiples of one number, and not too large for it.
    least, row = np.full(A.shape[0], np.inf), np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    np.minimum.at(least, row, quantum(A.data))
    least *= float(quantum(P.data).min(initial=1.0)) ** 2
    row = np.repeat(np.arange(A.shape[0]), np.diff(found.indptr))
    is_exact = np.ones(A.shape[0], dtype=bool)
    is_exact[row[~alone & (sizes.data >= 2.0**53 * least[row])]] = False
    found.data[abs(found.data) <= CANCELLED * sizes.data] = 0
    found.eliminate_zeros()
    return found, is_exact


def _congruent(A: sp.csr_array, P: sp.csr_array) -> sp.csr_array:
    n, c = P.shape
    part = A.tocoo()
    row, (i, j), data = part.row.astype(np.int64), np.divmod(part.col.astype(np.int64), n), part.data
    counts = np.diff(P.indptr)
    if counts.max(initial=0) <= 1:  # every point is a multiple of one block, or at zero
        block, weight = np.zeros(n, dtype=np.int64), np.zeros(n)
        block[counts == 1], weight[counts == 1] = P.indices, P.data
        kept = (counts[i] == 1) & (counts[j] == 1)
        row, i, j, data = row[kept], i[kept], j[kept], data[kept]
        values, columns = data * weight[i] * weight[j], block[i] * c + block[j]
    else:
        row, i, j, data = _times(row, i, j, data, P)
        row, j, i, values = _times(row, j, i, data, P)
        columns = i * c + j
    found = sp.csr_array((values, (row, columns)), shape=(A.shape[0], c * c))
    found.sum_duplicates()  # the same places in the same order for numbers and for their sizes
    return found


def _times(
    row: np.ndarray, i: np.ndarray, j: np.ndarray, data: np.ndarray, P: sp.csr_array
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Multiply by P on the side of i; nothing is dropped, so places do not depend on the numbers."""
    counts = np.diff(P.indptr)[i]
    source = np.repeat(np.arange(len(i)), counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    place = P.indptr[i][source] + within
    row, columns, j, data = row[source], P.indices[place].astype(np.int64), j[source], data[source] * P.data[place]
    order = np.lexsort((columns, j, row))
    row, columns, j, data = row[order], columns[order], j[order], data[order]
    new = np.ones(len(row), dtype=bool)
    new[1:] = (row[1:] != row[:-1]) | (columns[1:] != columns[:-1]) | (j[1:] != j[:-1])
    starts = np.flatnonzero(new)
    return row[starts], columns[starts], j[starts], np.add.reduceat(data, starts) if len(starts) else data
