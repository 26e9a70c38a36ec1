r"""Contradictions that are seen without any solver: among equations, and between bounds on the same expression.

Equations :math:`Ax = b` have no solution exactly if some y has :math:`A^\top y = 0` and :math:`b^\top y \ne 0`. The
residual of least squares is such a y, so solving :math:`\min \|Ax - b\|` decides. A row that has an unknown of its own
has :math:`y_r = 0` and is left out before; in most programs that leaves nothing. Among all y, one with few rows is
picked: a vertex of :math:`\{y: A^\top y = 0,\ b^\top y = 1\}` in the sense of linear programming, so none of its rows
can be left out. Rounding leaves :math:`s = A^\top y` small instead of zero; a contradiction counts if it excludes all
points up to an astronomical size, :math:`|b^\top y| / \|s\|`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from ..errors import ReductionRefused
from ..numerics.rounding import dot, gamma
from ..programs.affine_rows import AffineRows, term_at
from ..programs.base import Program
from .alternatives import ASTRONOMICAL
from .diagnosis import BlamedRow
from .row_words import in_words

# Larger systems are left to the solver: reading them would be felt in every solve.
MOST_ROWS = 5000
MOST_UNKNOWNS = 20_000
# Iterations of least squares; a system that needs more is left to the solver.
MOST_ITERATIONS = 300
# Residuals below this share of the right-hand sides count as rounding.
CONSISTENT = 1e-7
# How exactly the residual must be orthogonal to the columns.
ORTHOGONAL = 1e-4
# Rows are compared as directions if a random projection of them differs by less.
SAME = 1e-12
# Smaller contradictions, relative to the sides that they add up, are taken for rounding in the data.
MEANT = 1e-5
# What is left of the coefficients of an unknown, relative to their sizes, is rounding up to this.
CANCELLED = 1e-13
# An empty row 0 = b, or 0 ≤ b, is a contradiction beyond this.
NOT_ZERO = 1e-9
# A message lists this many rows.
MOST_NAMED = 6


@dataclass(frozen=True)
class PlainContradiction:
    """Rows that add up, with weights, to something like 0 = 1 or 0 ≤ −1."""

    rows: tuple[BlamedRow, ...]
    weights: tuple[float, ...]  # in the units of the rows; the largest is 1
    gap: float
    are_equations: bool

    @property
    def heaviest(self) -> BlamedRow:
        """A row with the largest weight, where the least change removes the contradiction; of several, the last."""
        k = max(range(len(self.rows)), key=lambda k: (abs(round(self.weights[k], 9)), k))
        return self.rows[k]

    def __str__(self) -> str:
        shown = "; ".join(f"{row.words} ({row.group!r})" for row in self.rows[:MOST_NAMED])
        more = f"; … ({len(self.rows)} rows)" if len(self.rows) > MOST_NAMED else ""
        if len(self.rows) == 1:
            return f"this constraint can never hold: {shown}"
        sense = f"0 == {self.gap:.4g}" if self.are_equations else f"0 <= {-abs(self.gap):.4g}"
        weights = ", ".join(f"{weight:.4g}" for weight in self.weights[:MOST_NAMED])
        kind = "equations" if self.are_equations else "constraints"
        added = f"; weighted by {weights} they add up to {sense}" if not more else ""
        return f"these {kind} contradict one another: {shown}{more}{added}"


def plain_contradiction(program: Program) -> PlainContradiction | None:
    """Return a contradiction among the affine rows of a program that needs no solver to be seen, or None."""
    try:
        declared = AffineRows.of(program, MOST_ROWS, MOST_UNKNOWNS)
    except ReductionRefused:
        return None
    if not len(declared.b):
        return None
    # A matrix of ten thousand points has more entries than can be counted here; rows use few of them.
    used, places = np.unique(declared.A.indices, return_inverse=True)
    narrow = sp.csr_array((declared.A.data, places, declared.A.indptr), shape=(len(declared.b), len(used)))
    rows = replace(declared, A=narrow)
    lengths = np.sqrt(np.asarray(rows.A.multiply(rows.A).sum(axis=1)).ravel())
    y = _empty(rows, lengths)
    if y is None:
        with np.errstate(all="ignore"):
            y = _parallel(rows, lengths)
    if y is None:
        y = _among_equations(rows, lengths)
    return None if y is None else _told(program, declared, y)


def _empty(rows: AffineRows, lengths: np.ndarray) -> np.ndarray | None:
    """Return multipliers of a row without unknowns that cannot hold, or None."""
    off = np.where(rows.is_equation, abs(rows.b), -rows.b)
    wrong = np.flatnonzero((lengths == 0) & (off > NOT_ZERO * max(1.0, float(abs(rows.b).max()))))
    return _only(rows, wrong[:1], [1.0]) if len(wrong) else None


def _parallel(rows: AffineRows, lengths: np.ndarray) -> np.ndarray | None:
    """Return multipliers of two rows with the same expression that contradict each other, or None."""
    full = np.flatnonzero(lengths > 0)
    A = rows.A[full]
    by_chance = np.random.default_rng(0).standard_normal(rows.A.shape[1])
    projected = (A @ by_chance) / lengths[full]
    signs = np.where(projected < 0, -1.0, 1.0)
    sides = signs * rows.b[full] / lengths[full]
    equation = rows.is_equation[full]
    lower = np.where(equation | (signs < 0), sides, -np.inf)
    upper = np.where(equation | (signs > 0), sides, np.inf)
    order = np.argsort(abs(projected), kind="stable")
    starts = np.flatnonzero(np.diff(abs(projected)[order], prepend=-1.0) > SAME)
    most, least = np.maximum.reduceat(lower[order], starts), np.minimum.reduceat(upper[order], starts)
    ends = np.append(starts[1:], len(order))
    for k in np.flatnonzero(most > least):
        together = order[starts[k] : ends[k]]
        low, high = together[np.argmax(lower[together])], together[np.argmin(upper[together])]
        y = _only(rows, full[[low, high]], [-signs[low] / lengths[full[low]], signs[high] / lengths[full[high]]])
        if _is_proven(rows, lengths, y):
            return y
    return None


def _among_equations(rows: AffineRows, lengths: np.ndarray) -> np.ndarray | None:
    """Return multipliers of equations that contradict one another, or None."""
    left = np.flatnonzero(rows.is_equation & (lengths > 0))
    A = sp.csr_array(rows.A[left])
    while len(left):
        per_column = np.bincount(A.indices[A.data != 0], minlength=A.shape[1])
        alone = np.zeros(len(left), dtype=bool)
        alone[np.repeat(np.arange(len(left)), np.diff(A.indptr))[per_column[A.indices] == 1]] = True
        if not alone.any():
            break
        left = left[~alone]
        A = sp.csr_array(A[~alone])
    if len(left) < 2:
        return None
    used = np.unique(A.indices)
    A = sp.csr_array(sp.diags_array(1 / lengths[left]) @ A[:, used])
    b = rows.b[left] / lengths[left]
    size = float(np.linalg.norm(b))
    if not size:
        return None
    x = sp.linalg.lsmr(A, b, atol=ORTHOGONAL / 1000, btol=CONSISTENT / 10, conlim=0, maxiter=MOST_ITERATIONS)[0]
    residual = b - A @ x
    if np.linalg.norm(residual) <= CONSISTENT * size:
        return None
    if np.linalg.norm(A.T @ residual) > ORTHOGONAL * np.linalg.norm(residual):
        return None
    y = _few(A, b, residual)
    if y is None:
        return None
    found = _only(rows, left, y / lengths[left])
    return found if _is_proven(rows, lengths, found) else None


def _few(A: sp.csr_array, b: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return multipliers with few rows, from ones with many that are known up to the tolerance of least squares."""
    for negligible in (10 * ORTHOGONAL, CONSISTENT):
        support = np.flatnonzero(abs(y) > negligible * abs(y).max())
        equations = sp.vstack([A[support].T, sp.csr_array(b[None, support])], format="csr")
        sides = np.append(np.zeros(A.shape[1]), 1.0)
        both = sp.hstack([equations, -equations], format="csr")
        found = linprog(np.ones(2 * len(support)), A_eq=both, b_eq=sides, bounds=(0, None), method="highs-ds").x
        if found is not None:
            least = found[: len(support)] - found[len(support) :]
            kept = np.flatnonzero(abs(least) > CONSISTENT * abs(least).max())
            exact = np.zeros(len(y))
            matrix, own = equations[:, kept].toarray(), np.zeros(len(kept))
            for _ in range(2):  # the second time removes most of the rounding of the first
                own = own + np.linalg.lstsq(matrix, sides - matrix @ own, rcond=None)[0]
            exact[support[kept]] = own
            return exact
    return None


def _only(rows: AffineRows, which: np.ndarray, y: Any) -> np.ndarray:
    whole = np.zeros(len(rows.b))
    whole[which] = y
    return whole


def _is_proven(rows: AffineRows, lengths: np.ndarray, y: np.ndarray) -> bool:
    """Whether multipliers exclude all points up to an astronomical size, by more than rounding in the data."""
    own = np.flatnonzero(y)
    A, b, y = rows.A[own], rows.b[own], y[own]
    gained, columns = dot(b, y), sp.csc_array(A)
    gain = max(gained.lower, -gained.upper)
    if gain <= MEANT * float(abs(b) @ abs(y)):
        return False
    ends = zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    parts = [slice(start, end) for start, end in ends if end > start]
    slopes = [dot(columns.data[part], y[columns.indices[part]]).magnitude for part in parts]
    sizes = [float(abs(columns.data[part]) @ abs(y[columns.indices[part]])) for part in parts]
    if any(slope > CANCELLED * size for slope, size in zip(slopes, sizes, strict=True)):
        return False  # a small coefficient is one that was meant
    slope = float(np.linalg.norm(slopes))
    distance = float((abs(b) / np.where(lengths[own] > 0, lengths[own], 1.0)).max())
    return gain > ASTRONOMICAL * distance * slope * (1 + gamma(A.shape[1] + 8))


def _told(program: Program, rows: AffineRows, y: np.ndarray) -> PlainContradiction:
    """Return a contradiction with its rows in words."""
    own = np.flatnonzero(y)
    y = y / abs(y).max()
    if rows.is_equation[own].all() and y[own[0]] < 0:
        y = -y
    declaration = program.declaration
    blamed = []
    for r in own:
        group, place = rows.groups[rows.group_of[r]], int(rows.place_of[r])
        term, within = term_at(declaration, group, place)
        row = sp.coo_array(rows.A[[int(r)]])
        affine = row.col, row.data, -float(rows.b[r])
        words = in_words(term, within, declaration, affine, bool(rows.is_equation[r]))
        number = next((k for k, own in enumerate(declaration.constraints.get(group, ())) if own is term), 0)
        blamed.append(BlamedRow(group, words, number, within))
    gap = float(rows.b[own] @ y[own])
    return PlainContradiction(tuple(blamed), tuple(y[own].tolist()), gap, bool(rows.is_equation[own].all()))
