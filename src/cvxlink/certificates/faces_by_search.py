r"""Faces of cones that contain all feasible points, found by a search, for programs without a strictly feasible point.

The search for the roomiest point, :math:`\max t` with :math:`Mz + a - te \in \mathcal{K}`, ends at t = 0 if there is no
room, and its multipliers w then say why: :math:`M^\top w = 0` and :math:`a^\top w = 0`, so that
:math:`\langle w, s\rangle = 0` for every feasible :math:`s = Mz + a`. Hence s lies in the face
:math:`\mathcal{K} \cap w^\perp` (Borwein & Wolkowicz 1981), which :mod:`cvxlink.certificates.cone_faces` writes as
equations and smaller cones. The equations are solved for, and the search is repeated with what is left, until there is
room.

What is found is exact up to rounding, after Newton's method on z and w together; whoever uses a face has to check that
its equations hold as exactly as that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as dense
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..reductions.cones import Block, outside
from ..reductions.standard_form import StandardForm
from .cone_faces import complementarity, interior_of, is_marked, parts_of_face
from .search import Budget, Found, search

# Room smaller than this, relative to the size of the rows, is none.
NO_ROOM = 1e-7
# Less than that, but more than this, counts if there are no smaller faces.
LEAST_ROOM = 1e-12
# Larger programs are left alone: everything here is dense.
MOST_UNKNOWNS, MOST_ROWS = 600, 1500
MOST_ROUNDS = 6
# Rows that others imply up to this share of their size add no equation.
IMPLIED = 1e-9
# Coefficients smaller than this share of the terms that cancel in them are zero.
CANCELLED = 1e-12
# How exactly equations must hold, relative to the sizes of their terms.
EXACTLY = 1e-13
# An answer that is zero has no unit.
LEAST_UNIT = 1e-6
# Programs with larger offsets are also scaled.
LARGE = 1e3
# How strongly the roomiest point is drawn towards the answer.
NEARNESS = 1e-6
NEWTON_STEPS, MOST_IN_NEWTON = 6, 900


@dataclass(frozen=True, eq=False)
class Faces:
    """All feasible points as z = origin + ways · y with some rows in cones, and a y with room in all of them."""

    form: StandardForm
    origin: np.ndarray
    ways: np.ndarray  # orthonormal columns
    T: sp.csr_array  # from the rows of the form to those of the faces, equations first
    blocks: tuple[Block, ...]  # the cones of the others
    y: np.ndarray | None = None
    is_smaller: bool = False  # whether they are not the whole cones
    is_curved: bool = False  # whether cones other than inequalities have faces
    scale: float = 1.0  # by which the points of the form are to be multiplied

    @classmethod
    def of(
        cls, form: StandardForm, equations: sp.csr_array, T: sp.csr_array, blocks: tuple[Block, ...]
    ) -> Faces | None:
        """Solve equations between rows, or return None if they contradict one another."""
        sizes = abs(equations) @ (abs(form.M) @ np.ones(form.M.shape[1]))
        solved = _solved(sp.csr_array(equations @ form.M), -(equations @ form.a), sizes)
        faces = cls(form, *solved, sp.csr_array(sp.vstack([equations, T], format="csr")), blocks)
        return faces if faces.meets_equations(faces.origin) else None

    @property
    def n_equations(self) -> int:
        """The number of equations, which come first in T."""
        return self.T.shape[0] - sum(b.rows.stop - b.rows.start for b in self.blocks)

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of the cones as functions of y."""
        T = self.T[self.n_equations :]
        return T @ (self.form.M @ self.ways), T @ (self.form.M @ self.origin + self.form.a)

    def at(self, y: np.ndarray) -> np.ndarray:
        """Return the unknowns."""
        return self.origin + self.ways @ y

    def meets_equations(self, z: np.ndarray) -> bool:
        """Whether the equations hold up to rounding."""
        form, T = self.form, abs(self.T[: self.n_equations])
        reached = self.T[: self.n_equations] @ (form.M @ z + form.a)
        # Unknowns that equations connect are mixed, so each is rounded like the largest of them.
        largest = np.maximum(largest_connected(z, self._connected), LEAST_UNIT)
        sizes = T @ (abs(form.M) @ (abs(z) + largest) + abs(form.a))
        return bool((abs(reached) <= EXACTLY * sizes).all())

    @cached_property
    def _connected(self) -> np.ndarray:
        return connected_unknowns(sp.csr_array(self.T[: self.n_equations] @ self.form.M))

    def holds(self, y: np.ndarray) -> bool:
        """Whether a point is in all cones, and meets the equations."""
        z = self.at(y)
        s = self.T[self.n_equations :] @ (self.form.M @ z + self.form.a)
        return all(outside(block, s[block.rows]) <= 0 for block in self.blocks) and self.meets_equations(z)


def connected_unknowns(E: sp.csr_array) -> np.ndarray:
    """Return a number for each unknown; those that equations connect have the same."""
    return _connected_with_rows(E)[: E.shape[1]]


def _connected_with_rows(E: sp.csr_array) -> np.ndarray:
    """Return these numbers, and after them those of the equations; without any there are none."""
    graph = sp.block_array([[None, E.T], [E, None]]) if E.nnz else sp.csr_array((E.shape[1], E.shape[1]))
    return connected_components(graph, directed=False)[1]


def largest_connected(z: np.ndarray, connected: np.ndarray) -> np.ndarray:
    """Return the largest of the unknowns that equations connect with each."""
    largest = np.zeros(int(connected.max(initial=-1)) + 1)
    np.maximum.at(largest, connected, abs(z))
    return largest[connected]


def _solved(E: sp.csr_array, right: np.ndarray, terms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one solution of equations and an orthonormal basis of the differences of solutions.

    Equations whose terms cancel up to rounding are left out. Unknowns that no equation connects are treated apart, so
    that those of which nothing is said stay as they are.
    """
    n = E.shape[1]
    sizes = np.sqrt(np.asarray(E.multiply(E).sum(axis=1)).ravel())
    used = np.flatnonzero(sizes > CANCELLED * terms)
    E = sp.csr_array(sp.diags_array(1 / sizes[used]) @ E[used])
    E.data[abs(E.data) <= CANCELLED] = 0.0
    E.eliminate_zeros()
    right = right[used] / sizes[used]
    labels = _connected_with_rows(E)
    z, ways = np.zeros(n), []
    rows_of, columns_of = _members(labels[n:]), _members(labels[:n])
    for label, columns in columns_of.items():
        rows = rows_of.get(label)
        basis = np.eye(len(columns))
        if rows is not None:
            z[columns], basis = _solved_densely(E[rows][:, columns].toarray(), right[rows])
        part = np.zeros((n, basis.shape[1]))
        part[columns] = basis
        ways.append(part)
    return z, np.hstack(ways) if ways else np.zeros((n, 0))


def _members(labels: np.ndarray) -> dict[int, np.ndarray]:
    """Return the places of each label."""
    order = np.argsort(labels, kind="stable")
    values, starts = np.unique(labels[order], return_index=True)
    return dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True)) if len(labels) else {}


def _solved_densely(E: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    U, values, V = np.linalg.svd(E)
    rank = int((values > IMPLIED * values[0]).sum())
    pseudo = V[:rank].T / values[:rank]
    z = pseudo @ (U[:, :rank].T @ right)
    for _ in range(2):  # each pass removes most of the rounding of the one before
        z = z + pseudo @ (U[:, :rank].T @ (right - E @ z))
    return z, V[rank:].T


def has_small_faces(form: StandardForm) -> bool:
    """Whether a program is small enough for a search for faces."""
    return form.M.shape[1] <= MOST_UNKNOWNS and form.M.shape[0] <= MOST_ROWS


def scales_of(form: StandardForm) -> tuple[float, ...]:
    """Return the scales that are worth trying: a search has absolute tolerances."""
    largest = float(abs(form.a).max(initial=0.0))
    return (1.0, largest) if largest > LARGE else (1.0,)


def faces_of(
    form: StandardForm, z: np.ndarray, budget: Budget, known: Found | None = None, scale: float = 1.0
) -> Faces | None:
    """Return the faces of the cones that contain all feasible points, with a point that has room; None if not found.

    ``known`` is the roomiest point of the form, followed by its room, and its multipliers. All points are divided by
    the scale: cones stay as they are if everything in them is scaled.
    """
    form, z = replace(form, a=form.a / scale), z / scale
    every = sp.eye_array(len(form.a), format="csr")
    free = np.flatnonzero(form.is_free)
    kept = [block for block in form.blocks if block.kind != "zero"]
    rows = np.concatenate([np.arange(b.rows.start, b.rows.stop) for b in kept] or [np.zeros(0, dtype=int)])
    faces = Faces.of(form, sp.csr_array(every[free]), sp.csr_array(every[rows]), _renumbered(kept))
    for number in range(MOST_ROUNDS):
        if faces is None:
            return None
        if not faces.blocks:
            return replace(faces, y=np.zeros(faces.ways.shape[1]), scale=scale)
        found: _Found | None
        if number == 0 and known is not None:
            found = _Found(faces.ways.T @ (known.z[:-1] / scale - faces.origin), float(known.z[-1]), known.w[rows])
        else:
            found = _roomiest(faces, z, budget, NEARNESS)
        if found is None or (found.room > NO_ROOM and not faces.holds(found.y)):
            found = _roomiest(faces, z, budget, 0.0)
        if found is None:
            return None
        if found.room > NO_ROOM:
            return replace(faces, y=found.y, scale=scale)
        smaller = _smaller(faces, _refined(faces, found))
        if smaller is None and found.room > LEAST_ROOM and faces.holds(found.y):
            return replace(faces, y=found.y, scale=scale)
        faces = smaller
    return None


def best_point(faces: Faces, budget: Budget) -> np.ndarray | None:
    """Return the y that minimises the cost on the faces, as far as a search finds it."""
    M, a = faces.rows()
    cost = faces.ways.T @ faces.form.cost
    if not M.size or not cost.any():
        return faces.y
    found = search(cost, sp.csr_array(M), a, faces.blocks, budget)
    return None if found is None else found.z


# ---------------------------------------------------------------------- the roomiest point


class _Found(NamedTuple):
    """A point, the room that it has, and the multipliers of the rows of the cones."""

    y: np.ndarray
    room: float
    w: np.ndarray


def _roomiest(faces: Faces, z: np.ndarray, budget: Budget, nearness: float) -> _Found | None:
    """Maximise the room t ≤ 1, near a given point."""
    M, a = faces.rows()
    k = M.shape[1]
    T, squares = faces.T[faces.n_equations :], faces.form.M.multiply(faces.form.M).sum(axis=1)
    sizes = np.sqrt(np.asarray(T.multiply(T) @ np.ravel(squares)))
    e = np.concatenate([interior_of(block, sizes[block.rows]) for block in faces.blocks])
    rows = np.column_stack([M, -e])
    whole = np.vstack([np.append(np.zeros(k), -1.0)[None], rows])
    blocks = [Block("nonnegative", slice(0, 1)), *_shifted(faces.blocks, 1)]
    nearness /= 1 + float(z @ z)
    near = faces.ways.T @ (z - faces.origin)
    cost, squares = np.append(-nearness * near, -1.0), np.append(np.full(k, nearness), 0.0)
    found = search(cost, sp.csr_array(whole), np.append(1.0, a), blocks, budget, squares)
    return None if found is None else _Found(found.z[:-1], float(found.z[-1]), found.w[1:])


# ---------------------------------------------------------------------- smaller cones


def _smaller(faces: Faces, found: _Found) -> Faces | None:
    """Return the faces that multipliers expose; None if they expose none."""
    M, a = faces.rows()
    s, w = M @ found.y + a, found.w
    equations, rows, blocks, is_curved = [], [], [], faces.is_curved
    for block in faces.blocks:
        size = block.rows.stop - block.rows.start
        here = sp.csr_array(sp.eye_array(faces.T.shape[0], format="csr")[faces.n_equations :])[block.rows]
        for kind, part, order in parts_of_face(block, s[block.rows], w[block.rows]):
            own = sp.csr_array(part if part is not None else np.eye(size)) @ here
            if kind == "zero":
                equations.append(own)
                is_curved |= block.kind != "nonnegative"
            else:
                rows.append(own)
                blocks.append(Block(kind, slice(0, own.shape[0]), order, block.alpha))
    if not equations:
        return None
    known = sp.csr_array(faces.T[: faces.n_equations])
    more = sp.csr_array(sp.vstack(equations, format="csr") @ faces.T)
    left = sp.vstack(rows, format="csr") @ faces.T if rows else sp.csr_array((0, faces.T.shape[1]))
    together = sp.csr_array(sp.vstack([known, more], format="csr"))
    smaller = Faces.of(faces.form, together, sp.csr_array(left), _renumbered(blocks))
    return None if smaller is None else replace(smaller, is_smaller=True, is_curved=is_curved)


def _shifted(blocks: tuple[Block, ...], by: int) -> Iterator[Block]:
    return (replace(block, rows=slice(block.rows.start + by, block.rows.stop + by)) for block in blocks)


def _renumbered(blocks: list[Block]) -> tuple[Block, ...]:
    """Return cones in consecutive rows from the first on."""
    placed, start = [], 0
    for block in blocks:
        count = block.rows.stop - block.rows.start
        placed.append(replace(block, rows=slice(start, start + count)))
        start += count
    return tuple(placed)


# ---------------------------------------------------------------------- Newton's method


def _refined(faces: Faces, found: _Found) -> _Found:
    """Return a point and multipliers with Mᵀw = 0 and complementary s and w as exactly as rounding allows."""
    M, a = faces.rows()
    y, w, s = found.y, found.w, M @ found.y + a
    marked = [is_marked(block, s[block.rows], w[block.rows]) for block in faces.blocks]
    places = np.flatnonzero(np.concatenate(marked))
    w = np.where(np.concatenate(marked), w, 0.0)
    best, least = found._replace(w=w), np.inf
    if not len(places) or len(y) + len(places) > MOST_IN_NEWTON:
        return best
    for _ in range(NEWTON_STEPS):
        jacobian, rest = _newton(faces, M, M @ y + a, w, places)
        size = float(np.linalg.norm(rest))
        if not size < least:
            break
        best, least = _Found(y, found.room, w), size
        step = dense.lstsq(jacobian, -rest, cond=1e-10)[0]
        y, w = y + step[: len(y)], w.copy()
        w[places] += step[len(y) :]
    return best


def _newton(
    faces: Faces, M: np.ndarray, s: np.ndarray, w: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives by y and by the multipliers that are not zero of what should vanish, and its value.

    The multipliers keep their size: a multiple of them would do as well.
    """
    k, count = M.shape[1], len(places)
    column = np.full(len(w), -1)
    column[places] = k + np.arange(count)
    slopes = np.hstack([np.zeros((k, k)), M[places].T])
    size = np.append(np.zeros(k), w[places] / np.linalg.norm(w))
    jacobian, rest = [slopes, size[None]], [M[places].T @ w[places], np.zeros(1)]
    for block in faces.blocks:
        here = column[block.rows]
        if (here < 0).all():
            continue
        by_s, by_w, value = complementarity(block, s[block.rows], w[block.rows], here >= 0)
        part = np.zeros((len(value), k + count))
        part[:, :k] = by_s @ M[block.rows]
        part[:, here[here >= 0]] = by_w[:, here >= 0]
        jacobian.append(part)
        rest.append(value)
    return np.vstack(jacobian), np.concatenate(rest)
