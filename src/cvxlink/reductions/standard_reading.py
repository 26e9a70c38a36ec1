"""Reading a declaration in standard form: the rows that CVXPY makes of it, sorted by cone, over the free unknowns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.matrices import as_dense
from ..programs.declared import semidefinite_names
from ..programs.declared_rows import DeclaredRows
from .cones import KINDS, Block, triangle
from .declared_faces import faces_of_variables
from .matrix_inequalities import InequalityFace

# Equations with smaller coefficients, relative to the largest of all, are rounding errors.
NOISE = 2e-15


class Triples(NamedTuple):
    """A sparse matrix as places and numbers; with many small ones this takes less time than SciPy's classes."""

    rows: np.ndarray
    columns: np.ndarray
    numbers: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def picking(cls, columns: np.ndarray, width: int, numbers: Any = 1.0) -> Triples:
        """Return a matrix with one entry per row."""
        count = len(columns)
        return cls(np.arange(count), columns, np.broadcast_to(numbers, count), (count, width))

    @classmethod
    def below(cls, parts: list[tuple[Triples, int]], height: int) -> Triples:
        """Return a matrix of some height from parts of the same width, each with its first row."""
        rows = np.concatenate([part.rows + top for part, top in parts])
        columns, numbers = (np.concatenate([part[k] for part, _ in parts]) for k in (1, 2))
        return cls(rows, columns, numbers, (height, parts[0][0].shape[1]))

    def times(self, x: np.ndarray) -> np.ndarray:
        """Return the matrix times a vector."""
        return np.bincount(self.rows, self.numbers * x[self.columns], self.shape[0])

    def transposed_times(self, y: np.ndarray) -> np.ndarray:
        """Return the transposed matrix times a vector."""
        return np.bincount(self.columns, self.numbers * y[self.rows], self.shape[1])

    @classmethod
    def of(cls, matrix: Any) -> Triples:
        """Return the entries of a matrix."""
        entries = sp.coo_array(matrix)
        return cls(entries.row, entries.col, entries.data, entries.shape)


def _without_noise(M: sp.csr_array, a: np.ndarray, count: int) -> tuple[sp.csr_array, np.ndarray]:
    """Return rows without those of the first ``count``, which are equations, that are zero up to rounding.

    CVXPY adds A = Aᵀ where it does not see that A is symmetric, and substitution leaves equations between nothing:
    their coefficients are what rounding leaves of others that cancel. As equations they would mean something.
    """
    sizes = abs(M[:count])
    most = sizes.max(axis=1).toarray().ravel() if sizes.nnz else np.zeros(count)
    unit = float(abs(M).max()) if M.nnz else 0.0
    is_noise = (most <= NOISE * unit) & (abs(a[:count]) <= NOISE * unit)
    if not (is_noise & (np.diff(sizes.indptr) > 0)).any():
        return M, a
    kept = np.append(~is_noise, np.ones(M.shape[0] - count, dtype=bool)).astype(float)
    clean = sp.csr_array(sp.diags_array(kept) @ M)
    clean.eliminate_zeros()
    return clean, a * kept


def _put_together(parts: Iterable[tuple[Triples, int, int]], shape: tuple[int, int]) -> sp.csr_array:
    """Return a matrix from parts that begin at given rows and columns."""
    numbers, rows, columns = [np.zeros(0)], [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    for part, top, left in parts:
        numbers.append(part.numbers)
        rows.append(part.rows + top)
        columns.append(part.columns + left)
    return sp.csr_array((np.concatenate(numbers), (np.concatenate(rows), np.concatenate(columns))), shape=shape)


@dataclass(frozen=True, eq=False)
class _Piece:
    """A cone whose rows are combinations of compiled rows from ``start`` on, or, with offsets, of the unknowns."""

    kind: str
    picks: Triples
    start: int
    order: int = 0
    alpha: float = 0.0
    number: int = -1  # of the compiled constraint
    matrix: str = ""  # the name of the variable that is semidefinite
    replaces: int | None = None  # the id of the matrix inequality that it is instead of
    domain: str = ""  # the name of the declared variable that requires it by itself
    offsets: np.ndarray | None = None


class Reading:
    """Compiled rows in the order in which CVXPY has them, and what makes sorted rows of them."""

    def __init__(
        self,
        declaration: Declaration,
        most: int,
        inequalities: Mapping[tuple[str, int], InequalityFace] | None = None,
        is_merged: bool = True,
    ) -> None:
        self.most = most
        self.inequalities = {
            declaration.constraints[key][k].id: face for (key, k), face in (inequalities or {}).items()
        }
        self.variables = declaration.variables
        names = semidefinite_names(declaration)
        self.faces = faces_of_variables(declaration) if is_merged else dict.fromkeys(names)
        self.compiled = DeclaredRows.of(declaration)
        added = (("", variable) for variable in self.compiled.compiled.added)
        self.named = [*self.variables.items(), *added]
        self.spreads = [_spread(variable, self.faces.get(name)) for name, variable in self.named]
        self.ends = np.cumsum([0, *(D.shape[1] for D in self.spreads)]).tolist()

    def fields(self) -> dict[str, Any]:
        """Return the fields of a standard form."""
        pieces = sorted([*self._of_constraints(), *self._of_attributes()], key=lambda piece: KINDS.index(piece.kind))
        tops = np.cumsum([0, *(piece.picks.shape[0] for piece in pieces)]).tolist()
        if tops[-1] > self.most:
            raise ReductionRefused(f"its conic form has more than {self.most} rows")
        blocks = [
            Block(piece.kind, slice(top, top + piece.picks.shape[0]), piece.order, piece.alpha)
            for piece, top in zip(pieces, tops, strict=False)
        ]
        spread, rows = self._over_unknowns()
        placed = list(zip(pieces, tops, strict=False))
        sorts = _put_together(
            ((piece.picks, top, piece.start) for piece, top in placed if piece.offsets is None),
            (tops[-1], rows.shape[0]),
        )
        M, a = sorts @ rows, sorts @ self.compiled.offsets
        if pieces and pieces[0].kind == "zero":
            count = sum(piece.picks.shape[0] for piece in pieces if piece.kind == "zero")
            M, a = _without_noise(sp.csr_array(M), a, count)
        own = [(piece, top) for piece, top in placed if piece.offsets is not None]
        if own:
            M = M + _put_together(((piece.picks, top, piece.start) for piece, top in own), M.shape)
        for piece, top in own:
            a[top : top + piece.picks.shape[0]] = piece.offsets
        columns = [slice(*ends) for ends in pairwise(self.ends)]
        domains: dict[str, tuple[slice, ...]] = {}
        for piece, block in zip(pieces, blocks, strict=True):
            if piece.domain:
                domains[piece.domain] = (*domains.get(piece.domain, ()), block.rows)
        return {
            "M": sp.csr_array(M),
            "a": a,
            "cost": rows[[0]].toarray().ravel(),
            "constant": float(self.compiled.offsets[0]),
            "blocks": _merged(blocks),
            "spread": spread,
            "columns": dict(zip(self.variables, columns, strict=False)),
            "matrices": {piece.matrix: block for piece, block in zip(pieces, blocks, strict=True) if piece.matrix},
            "owners": self._owners(placed, tops[-1]),
            "shapes": {name: variable.shape for name, variable in self.variables.items()},
            "faces": {name: None if face is None else face.P for name, face in self.faces.items()},
            "domains": domains,
            "replaced": {p.replaces: block for p, block in zip(pieces, blocks, strict=True) if p.replaces is not None},
        }

    def _over_unknowns(self) -> tuple[sp.csr_array, sp.csr_array]:
        """Return the matrix from the unknowns to the entries of all variables, and compiled rows over the unknowns."""
        first, matrix, tops = self.compiled.first, self.compiled.matrix, [0]
        for _, variable in self.named:
            tops.append(tops[-1] + variable.size)
        count = self.ends[-1]
        spread = _put_together(zip(self.spreads, tops, self.ends, strict=False), (tops[-1], count))
        there = [
            (D, first[variable.id], left)
            for (_, variable), D, left in zip(self.named, self.spreads, self.ends, strict=False)
            if variable.id in first
        ]
        return spread, sp.csr_array(matrix @ _put_together(there, (matrix.shape[1], count)))

    def _owners(self, placed: list[tuple[_Piece, int]], count: int) -> dict[int, Triples]:
        """Return the matrices from the multipliers of each declared constraint to those of all sorted rows."""
        parts: dict[int, list[tuple[Triples, int]]] = {}
        for piece, top in placed:
            parts.setdefault(piece.number, []).append((piece.picks, top))
        return {
            term_id: Triples.below(parts[number], count)
            for term_id, number in self.compiled.compiled.owners.items()
            if term_id not in self.inequalities
        }

    def _of_constraints(self) -> Iterator[_Piece]:
        """Yield the cones of CVXPY's constraints; their rows are those of the expressions, one after another."""
        compiled = self.compiled.compiled
        owned = {number: term_id for term_id, number in compiled.owners.items()}
        terms = zip(compiled.problem.constraints, compiled.read, self.compiled.starts, strict=False)
        for number, (term, (kind, inside), start) in enumerate(terms):
            owner = owned.get(number)
            if owner is not None and owner in self.inequalities:
                yield from _on_face(self.inequalities[owner], inside[0].shape[0], int(start), owner)
            else:
                yield from _pieces_of(term, kind, [e.shape for e in inside], int(start), number)

    def _of_attributes(self) -> Iterator[_Piece]:
        """Yield the cones that variables declare by themselves."""
        for (name, variable), left, D in zip(self.named, self.ends, self.spreads, strict=False):
            size, attributes = D.shape[1], variable.attributes
            if name in self.faces or attributes["PSD"] or attributes["NSD"]:
                order = int((np.sqrt(8 * size + 1) - 1) / 2)
                i, j = triangle(order)
                sign = -1.0 if attributes["NSD"] else 1.0
                picks = Triples.picking(np.arange(size), size, sign * np.where(i == j, 1.0, np.sqrt(2)))
                matrix = name if sign > 0 else ""
                domain = name if attributes["PSD"] or attributes["NSD"] else ""
                yield _Piece("semidefinite", picks, left, order, matrix=matrix, offsets=np.zeros(size), domain=domain)
            for bound, way in zip(variable.get_bounds(), (1.0, -1.0), strict=True):
                if np.isinf(bound).all():
                    continue
                limits = np.broadcast_to(as_dense(bound), variable.shape).ravel(order="F")
                is_used = np.isfinite(limits)
                is_used[np.setdiff1d(np.arange(len(limits)), D.rows)] = False  # entries that are always zero
                if is_used.any():
                    number, here = np.cumsum(is_used) - 1, is_used[D.rows]
                    count = int(is_used.sum())
                    picks = Triples(number[D.rows[here]], D.columns[here], way * D.numbers[here], (count, size))
                    yield _Piece("nonnegative", picks, left, offsets=-way * limits[is_used], domain=name)


def _on_face(inequality: InequalityFace, order: int, start: int, owner: int) -> Iterator[_Piece]:
    """Yield a matrix inequality as that of a submatrix, and the equations that are added."""
    kept = inequality.kept
    yield _Piece("semidefinite", _symmetric(len(kept), order, kept), start, len(kept), replaces=owner)
    if inequality.added:
        rows = np.zeros((len(inequality.added), order * order))
        for r, (v, point) in enumerate(inequality.added):
            rows[r, point + np.arange(order) * order] = inequality.vectors[:, v]
        yield _Piece("zero", Triples.of(rows), start)


def _symmetric(order: int, whole: int, kept: np.ndarray | None = None) -> Triples:
    """Return the upper triangle of the symmetric part of a matrix, or of a principal submatrix, from all entries."""
    i, j = triangle(order)
    row, column = (i, j) if kept is None else (kept[i], kept[j])
    k, share = np.arange(len(i)), np.where(i == j, 0.5, np.sqrt(0.5))
    places = np.concatenate([row + column * whole, column + row * whole])
    return Triples(np.concatenate([k, k]), places, np.concatenate([share, share]), (len(i), whole * whole))


def _pieces_of(term: Any, kind: str, shapes: list[tuple[int, ...]], start: int, number: int) -> Iterator[_Piece]:
    """Yield the cones of one constraint of CVXPY."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    count, total = sizes[0], sum(sizes)
    if kind in ("zero", "nonnegative"):
        yield _Piece(kind, Triples.picking(np.arange(total), total), start, number=number)
    elif kind == "semidefinite":
        order = shapes[0][-1]
        yield _Piece(kind, _symmetric(order, order), start, order, number=number)
    elif kind == "second-order":
        inside = np.arange(count, total)
        within = inside.reshape(-1, count, order="F") if term.axis == 0 else inside.reshape(count, -1, order="F").T
        for cone in range(count):
            yield _Piece(kind, Triples.picking(np.append(cone, within[:, cone]), total), start, number=number)
    else:
        alphas = np.broadcast_to(term.alpha.value, (count,)) if kind == "power" else np.zeros(count)
        for cone in range(count):
            picks = Triples.picking(np.array([cone, count + cone, 2 * count + cone]), total)
            yield _Piece(kind, picks, start, alpha=float(alphas[cone]), number=number)


def _merged(blocks: list[Block]) -> tuple[Block, ...]:
    """Return the cones with all equations in one, and all inequalities in one."""
    merged: list[Block] = []
    for block in blocks:
        if merged and block.kind == merged[-1].kind and block.kind in ("zero", "nonnegative"):
            merged[-1] = Block(block.kind, slice(merged[-1].rows.start, block.rows.stop))
        elif block.rows.stop > block.rows.start:
            merged.append(block)
    return tuple(merged)


def _spread(variable: cp.Variable, face: Any) -> Triples:
    """Return the matrix from the unknowns of a variable to its entries, by columns."""
    size = variable.size
    if variable.ndim == 2 and variable.is_symmetric() and variable.shape[0] > 1 and not variable.attributes["diag"]:
        order = variable.shape[0] if face is None else face.P.shape[1]
        i, j = triangle(order)
        k, off = np.arange(len(i)), i != j
        places = np.concatenate([i + j * order, (j + i * order)[off]])
        D = Triples(places, np.concatenate([k, k[off]]), np.ones(len(places)), (order * order, len(i)))
        if face is None:
            return D
        return Triples.of(sp.kron(face.P, face.P, format="csr") @ _put_together([(D, 0, 0)], D.shape))
    if variable.attributes["diag"]:
        order = variable.shape[0]
        return Triples(np.arange(order) * (order + 1), np.arange(order), np.ones(order), (size, order))
    if variable.sparse_idx is not None:
        places = np.ravel_multi_index(variable.sparse_idx, variable.shape, order="F")
        return Triples(places, np.arange(len(places)), np.ones(len(places)), (size, len(places)))
    return Triples.picking(np.arange(size), size)
