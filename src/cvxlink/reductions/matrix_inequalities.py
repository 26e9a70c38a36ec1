r"""Faces for matrix inequalities E(x) ⪰ 0 in an affine expression, such as I − Y ⪰ 0 beside Yd = d.

The matrix W = E(x) satisfies linear equations: where an entry of E is a constant or repeats another, and where the
declared constraints are about numbers that are entries of E. These are the rows in which
:mod:`cvxlink.reductions.null_vectors` looks for vectors v with Wv = 0. Then a principal submatrix of E(x) ⪰ 0, together
with the equations E(x)v = 0, says the same; of these equations only those are added that do not follow from others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..model.declared import Declaration
from ..model.expressions import is_linear
from ..model.keeping import once
from ..model.linear_maps import at_places
from ..programs.conic_form import Part
from ..programs.declared import body_of, semidefinite_variable
from ..programs.declared_rows import affine_parts
from ..programs.linear_sdp import Rows, Sense
from .faces import STIFFNESS, Blocks, face_of

# Larger expressions are left as they are; reading them would take longer than solving.
MOST_ENTRIES = 1_000_000
# Equations whose rest after subtracting others is smaller than this follow from them.
DEPENDENT = 1e-10
MOST_COMPARED = 1500
# So many known rows with the same projection are looked at.
MOST_ALIKE = 8
# A multiplier of a matrix inequality counts as semidefinite down to this, relative to its size.
NEARLY_SEMIDEFINITE = 1e-9


# A declared linear constraint: its group, its number there, its sense, coefficients A and constants a of Ax + a.
Known = tuple[str, int, Sense, sp.csr_array, np.ndarray]


@dataclass(frozen=True, eq=False)
class InequalityFace:
    """A matrix inequality on its face: the submatrix that is left, and the equations to be added."""

    face: Blocks
    kept: np.ndarray  # the points whose submatrix of E(x) must be semidefinite
    vectors: np.ndarray  # null vectors, as columns
    added: tuple[tuple[int, int], ...]  # the equations (Ev)_k = 0 that do not follow: number of v, and k
    rows: tuple[tuple[str, int, int], ...]  # for each row on W: group, number in it and row of a declared constraint

    def submatrix(self, E: Any) -> Any:
        """Return the part of the expression that must be semidefinite."""
        return E[self.kept, :][:, self.kept]

    def equations(self, E: Any) -> Any:
        """Return the added equations, or None."""
        if not self.added:
            return None
        used, rows = zip(*self.added, strict=True)
        numbers = sorted(set(used))
        product = E @ self.vectors[:, numbers]
        return cp.hstack([product[k, numbers.index(v)] for v, k in zip(used, rows, strict=True)]) == 0

    def multiplier(self, S: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the multiplier of E(x) ⪰ 0 from those of the submatrix and of the added equations, in two parts.

        Those of equations have any sign, so a multiple of vvᵀ is added: as little as makes the sum semidefinite.
        This is the second part, and the number returned is the stiffness.
        """
        n = self.face.P.shape[0]
        Z = np.zeros((n, n))
        Z[np.ix_(self.kept, self.kept)] = S
        if not self.added:
            return Z, np.zeros((n, n)), 0.0
        for (v, k), value in zip(self.added, y, strict=True):
            Z[k] += value * self.vectors[:, v] / 2
            Z[:, k] += value * self.vectors[:, v] / 2
        size = max(1.0, float(abs(Z).max()))
        for stiffness in size * 10.0 ** np.arange(np.log10(STIFFNESS)):
            if np.linalg.eigvalsh(Z + stiffness * self._stiffened)[0] >= -NEARLY_SEMIDEFINITE * size:
                break
        return Z, stiffness * self._stiffened, float(stiffness)

    @property
    def _stiffened(self) -> np.ndarray:
        """The semidefinite matrix −A*(v) that the face does not see."""
        A, n = self.face.given, self.face.P.shape[0]
        return -np.asarray(A.T @ self.face.stiffening).reshape(n, n)


def faces_of_inequalities(declaration: Declaration) -> dict[tuple[str, int], InequalityFace]:
    """Return the matrix inequalities that can be made smaller, by group and number in it; they are found once."""
    return once(declaration, "faces of inequalities", lambda: _faces_of_inequalities(declaration))


def _faces_of_inequalities(declaration: Declaration) -> dict[tuple[str, int], InequalityFace]:
    found: dict[tuple[str, int], InequalityFace] = {}
    places = [
        (key, k)
        for key, group in declaration.constraints.items()
        for k, term in enumerate(group)
        if isinstance(term, cp.constraints.PSD)
        and len(term.shape) == 2
        and term.size <= MOST_ENTRIES
        and semidefinite_variable(term, declaration.variables) is None
    ]
    if not places:
        return found
    linear = [
        (key, k, term)
        for key, group in declaration.constraints.items()
        for k, term in enumerate(group)
        if isinstance(term, cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero)
        and is_linear(body_of(term))
    ]
    matrices = [declaration.constraints[key][k] for key, k in places]
    maps = affine_parts(declaration, [*matrices, *(term for *_, term in linear)])
    unknowns = Unknowns.of(declaration.variables)
    known: list[Known] = []
    for (key, k, term), part in zip(linear, maps[len(matrices) :], strict=True):
        sense: Sense = "<=" if isinstance(term, cp.constraints.Inequality) else "=="
        known.append((key, k, sense, *unknowns.read(part)))
    for (key, k), part in zip(places, maps, strict=False):
        face = _face(key, part.shape[0], *unknowns.read(part), known)
        if face is not None:
            found[key, k] = face
    return found


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Numbers for the entries of all variables, of which symmetric ones have those above the diagonal only."""

    columns: Mapping[str, sp.csr_array]

    @classmethod
    def of(cls, variables: Mapping[str, cp.Variable]) -> Unknowns:
        """Number the entries."""
        columns, start = {}, 0
        total = sum(variable.size for variable in variables.values())
        for name, variable in variables.items():
            number = np.arange(variable.size)
            if variable.ndim == 2 and variable.is_symmetric():
                square = number.reshape(variable.shape, order="F")
                number = np.minimum(square, square.T).ravel(order="F")
            place = (np.arange(variable.size), start + number)
            columns[name] = sp.csr_array((np.ones(variable.size), place), shape=(variable.size, total))
            start += variable.size
        return cls(columns)

    def read(self, part: Part) -> tuple[sp.csr_array, np.ndarray]:
        """Return the coefficients and the constants of an affine expression."""
        whole = sp.csr_array(sum(part.A[name] @ fold for name, fold in self.columns.items()))
        whole.sum_duplicates()
        whole.eliminate_zeros()
        return whole, part.a


def _face(key: str, n: int, M: sp.csr_array, D: np.ndarray, known: list[Known]) -> InequalityFace | None:
    """Return the face of W = Mx + D ⪰ 0, or None if it is the whole cone."""
    mirrored = np.arange(n * n).reshape(n, n).T.ravel()
    if abs(M - M[mirrored]).nnz or not np.array_equal(D, D[mirrored]):
        return None  # CVXPY takes the symmetric part of such an expression
    entries = _Entries.of(n, M, D)
    groups, origins = [entries.structure(key)], []
    origins += [("", 0, 0)] * len(groups[0])
    for name, k, sense, A, a in known:
        rows, places = entries.rows(name, sense, A, a)
        groups.append(rows)
        origins += [(name, k, int(r)) for r in places]
    face = face_of([g for g in groups if len(g)], n)
    if not face.is_smaller or not face.P.shape[1]:
        return None
    kept = _representatives(face.P)
    others = np.setdiff1d(np.arange(n), kept)
    vectors = np.zeros((n, len(others)))
    vectors[others, np.arange(len(others))] = 1.0
    vectors[kept] -= face.P[others].toarray().T
    equations = [A for _, _, sense, A, _ in known if sense == "=="]
    return InequalityFace(face, kept, vectors, tuple(_independent(M, vectors, equations)), tuple(origins))


@dataclass(frozen=True, eq=False)
class _Entries:
    """Which unknowns are entries of W, up to sign and a constant: unknown = sign · (W_place − constant)."""

    n: int
    M: sp.csr_array
    D: np.ndarray
    place: np.ndarray  # of each unknown, −1 if it is none
    sign: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, n: int, M: sp.csr_array, D: np.ndarray) -> _Entries:
        upper = np.flatnonzero(np.arange(n * n) // n <= np.arange(n * n) % n)
        counts = np.diff(M.indptr)
        alone = upper[counts[upper] == 1]
        alone = alone[abs(M.data[M.indptr[alone]]) == 1]
        column = M.indices[M.indptr[alone]]
        place, sign, constant = np.full(M.shape[1], -1), np.ones(M.shape[1]), np.zeros(M.shape[1])
        used, first = np.unique(column, return_index=True)
        place[used], sign[used] = alone[first], M.data[M.indptr[alone[first]]]
        constant[used] = D[alone[first]]
        return cls(n, M, D, place, sign, constant)

    def structure(self, key: str) -> Rows:
        """Return the equations that hold because entries are constant, or made of others."""
        n = self.n
        upper = np.flatnonzero(np.arange(n * n) // n <= np.arange(n * n) % n)
        upper = np.setdiff1d(upper, self.place[self.place >= 0])
        rows, places = self.rows(key, "==", sp.csr_array(self.M[upper]), self.D[upper])
        i, j = np.divmod(upper[places], n)
        own = at_places(n, np.arange(len(places)), i, j, np.ones(len(places)), len(places))
        # W_place = (Mx + D)_place, where rows() has −(Mx) = D.
        return Rows(key, sp.csr_array(own - rows.A), rows.b * -1.0 + 0.0, "==")

    def rows(self, name: str, sense: Sense, A: sp.csr_array, a: np.ndarray) -> tuple[Rows, np.ndarray]:
        """Return those rows Ax + a = 0 (or ≤ 0) that are about entries of W, in terms of these, and which they are."""
        strange = np.bincount(
            np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), self.place[A.indices] < 0, minlength=A.shape[0]
        )
        usable, sides = [], []
        for r in np.flatnonzero(strange == 0).tolist():
            where = slice(A.indptr[r], A.indptr[r + 1])
            side = self._side(A.indices[where], A.data[where], float(a[r]))
            if side is not None:
                usable.append(r)
                sides.append(side)
        part = sp.csr_array(A[usable]).tocoo()
        i, j = np.divmod(self.place[part.col], self.n)
        on_entries = at_places(self.n, part.row, i, j, part.data * self.sign[part.col], len(usable))
        return Rows(name, on_entries, np.array(sides, dtype=float), sense), np.array(usable, dtype=int)

    def _side(self, columns: np.ndarray, data: np.ndarray, a: float) -> float | None:
        """Return the right-hand side, or None if it cannot be written without rounding."""
        shifted = np.flatnonzero(self.constant[columns])
        if not len(shifted):
            return 0.0 - a
        terms = zip(data[shifted].tolist(), (self.sign * self.constant)[columns[shifted]].tolist(), strict=True)
        exact = -Fraction(a) + sum(Fraction(x) * Fraction(y) for x, y in terms)
        return float(exact) if Fraction(float(exact)) == exact else None


def _representatives(P: sp.csr_array) -> np.ndarray:
    """Return a point for each block whose row of P has a one there and nothing else."""
    alone = np.flatnonzero(np.diff(P.indptr) == 1)
    alone = alone[P.data[P.indptr[alone]] == 1]
    _, first = np.unique(P.indices[P.indptr[alone]], return_index=True)
    return alone[first]


def _independent(M: sp.csr_array, vectors: np.ndarray, equations: list[sp.csr_array]) -> list[tuple[int, int]]:
    """Return which equations (E(x)v)_k = 0 do not follow from others, up to rounding."""
    n, count = vectors.shape
    known = sp.csr_array(sp.vstack([sp.csr_array((0, M.shape[1])), *equations], format="csr"))
    # Row k + nv is that of (E(x)v)_k.
    rows = sp.csr_array(sp.kron(vectors.T, sp.eye_array(n), format="csr") @ M)
    repeated = _are_among(rows, known)
    everything = [(v, k) for v in range(count) for k in range(n) if not repeated[k + n * v]]
    if not everything or known.shape[0] + len(everything) > MOST_COMPARED:
        return everything
    span = _orthonormal(known.toarray())
    added = []
    for v, k in everything:
        row = rows[[k + n * v]].toarray().ravel()
        rest = row - span.T @ (span @ row)
        rest -= span.T @ (span @ rest)
        size = np.linalg.norm(rest)
        if size > DEPENDENT * (1 + np.linalg.norm(row)):
            span = np.concatenate([span, rest[None] / size])
            added.append((v, k))
    return added


def _are_among(rows: sp.csr_array, known: sp.csr_array) -> np.ndarray:
    """Return which rows are multiples of known ones, up to rounding: their projections onto random vectors agree."""
    chance = np.random.default_rng(0).standard_normal((rows.shape[1], 2))

    def projected(A: sp.csr_array) -> np.ndarray:
        lengths = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
        onto = (A @ chance) / np.where(lengths > 0, lengths, 1.0)[:, None]
        return onto * np.where(onto[:, :1] < 0, -1.0, 1.0)

    own, others = projected(rows), projected(known)
    others = others[np.argsort(others[:, 0])]
    first = np.searchsorted(others[:, 0], own[:, 0] - DEPENDENT)
    found = np.zeros(len(own), dtype=bool)
    for k in np.flatnonzero(first < len(others)).tolist():
        near = others[first[k] : first[k] + MOST_ALIKE]
        found[k] = bool((abs(near - own[k]) <= DEPENDENT).all(axis=1).any())
    return found


def _orthonormal(rows: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the space that rows span."""
    if not len(rows):
        return rows
    basis, triangle, _ = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)
    sizes = abs(np.diag(triangle))
    return np.ascontiguousarray(basis.T[sizes > DEPENDENT * max(float(sizes[0]), 1.0)])
