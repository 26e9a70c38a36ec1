r"""A convex program as cones over one vector of unknowns, :math:`\min c^\top z + d,\ Mz + a \in \mathcal{K}`.

CVXPY writes it (see :mod:`cvxlink.programs.conic_form`); z has the declared variables first, then those it adds. What a
solver finds about such a system is moved onto its face of the cone, where equations can be met to the last digits.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.rounding import gamma
from ..programs.conic_form import Cone, ConicForm, Part, long_enough, outside_exponential, outside_power
from ..programs.declared import semidefinite_variable
from ..programs.declared_rows import linear_rows
from ..programs.linear_sdp import LinearSDP

# Smaller numbers, relative to the largest, count as zero when a solver's answer is made exact.
INACTIVE = 1e-6
# How often rows and columns are scaled in turn.
SCALINGS = 10
# Tolerances of searches; what they find is checked.
TOLERANCES = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


@dataclass(frozen=True, eq=False)
class ConicSystem:
    """A convex program as cones over one vector of unknowns.

    ``reach`` bounds the norm of each variable where the constraints do. Rows are scaled to unit length, and so are the
    columns of other variables: whether a point is far away does not depend on the units of its entries.
    """

    cones: list[Cone]
    matrices: list[sp.csr_array]
    offsets: list[np.ndarray]
    cost: np.ndarray
    constant: float
    units: np.ndarray  # what 1 is in each entry of z, in the units of the program
    widths: list[int]
    reach: list[float]
    scales: list[np.ndarray] = field(default_factory=list)  # what the declared rows were divided by
    owners: dict[int, int] = field(default_factory=dict)  # from the id of a constraint to the number of its cone
    implied: dict[str, list[Any]] = field(default_factory=dict)  # what variables declare by themselves

    @classmethod
    def of(cls, declaration: Declaration, most: int) -> ConicSystem:
        """Read a declaration as a minimisation; refuse it if it has more unknowns or rows than ``most``."""
        if sum(variable.size for variable in declaration.variables.values()) > most:
            raise ReductionRefused(f"it has more than {most} unknowns")
        objective = declaration.objective.args[0]
        objective = -objective if isinstance(declaration.objective, cp.Maximize) else objective
        implied = {name: _attributes(variable) for name, variable in declaration.variables.items()}
        terms = [*declaration.terms, *(term for own in implied.values() for term in own)]
        form = ConicForm.of(objective, declaration.variables, terms)
        cones = [*form.cones, *_attributes_of_added(form)]
        reach = [_reach(declaration, name) for name in declaration.variables] + [np.inf] * len(form.added)
        widths = [variable.size for variable in (*declaration.variables.values(), *form.added)]
        matrices = [
            sp.csr_array(sp.vstack([sp.hstack([*part.A.values(), *part.B]) for part in cone.parts])) for cone in cones
        ]
        offsets = [np.concatenate([np.ravel(part.a) for part in cone.parts]) for cone in cones]
        units, divided = np.ones(sum(widths)), [np.ones(len(a)) for a in offsets]
        for _ in range(SCALINGS):
            scales = [_row_scales(cone, M) for cone, M in zip(cones, matrices, strict=True)]
            matrices = [sp.csr_array(sp.diags_array(1 / s) @ M) for s, M in zip(scales, matrices, strict=True)]
            offsets = [a / s for s, a in zip(scales, offsets, strict=True)]
            divided = [by * s for s, by in zip(scales, divided, strict=True)]
            by = _column_scales(matrices, reach, widths)
            matrices = [sp.csr_array(M @ sp.diags_array(1 / by)) for M in matrices]
            units = units / by
        cost = units * np.concatenate([*form.c.values(), *form.e])
        if sum(map(len, offsets)) > most:
            raise ReductionRefused(f"its conic form has more than {most} rows")
        return cls(cones, matrices, offsets, cost, form.d, units, widths, reach, divided, form.owners, implied)

    @cached_property
    def M(self) -> sp.csr_array:
        """All rows."""
        empty = sp.csr_array((0, len(self.cost)))
        return sp.csr_array(sp.vstack([empty, *self.matrices], format="csr"))

    @cached_property
    def a(self) -> np.ndarray:
        """All offsets."""
        return np.concatenate(self.offsets) if self.offsets else np.zeros(0)

    def split(self, w: np.ndarray) -> list[np.ndarray]:
        """Split one number per row by cone."""
        return np.split(w, np.cumsum([len(a) for a in self.offsets])[:-1]) if self.offsets else []

    def by_variable(self, z: np.ndarray) -> list[np.ndarray]:
        """Split one number per unknown by variable."""
        return np.split(z, np.cumsum(self.widths)[:-1])

    # ------------------------------------------------------------------ multipliers

    def multipliers(self) -> tuple[Any, list[Any]]:
        """Return unknown multipliers, one per row, and the constraints that put them into the dual cone."""
        w = [cone.multipliers() for cone in self.cones]
        flat = cp.hstack([cp.vec(part, order="F") for parts in w for part in parts])
        return flat, [held for cone, parts in zip(self.cones, w, strict=True) for held in cone.holds_dual(parts)]

    def candidates(self, w: np.ndarray, slope: np.ndarray) -> list[np.ndarray]:
        """Return multipliers in the dual cone: the given ones, and ones on their face with Mᵀw nearer to a slope."""
        faces = [_face(cone, part) for cone, part in zip(self.cones, self.split(w), strict=True)]
        ways = sp.csr_array(sp.block_diag(faces, format="csr"))
        return [self._into_dual(each) for each in (w, _corrected(w, ways, sp.csr_array(self.M.T), slope))]

    def _into_dual(self, w: np.ndarray) -> np.ndarray:
        moved = []
        for cone, part in zip(self.cones, self.split(w), strict=True):
            moved += [np.ravel(piece, order="F") for piece in cone.into_dual(_shaped(cone, part))]
        return np.concatenate(moved)

    def gain(self, w: np.ndarray) -> float:
        """Return −aᵀw, rounded down."""
        return -float(self.a @ w) - gamma(2 * len(w) + 4) * float(abs(self.a) @ abs(w))

    def lengths(self, w: np.ndarray, slope: np.ndarray, units: Any = 1.0) -> list[float]:
        """Return the norms of Mᵀw − slope, variable by variable, in certain units and rounded up."""
        off = abs(self.M.T @ w - slope) + gamma(2 * len(w) + 8) * (abs(self.M).T @ abs(w) + abs(slope))
        off = off / units
        return [float(np.linalg.norm(part)) * (1 + gamma(len(off) + 4)) for part in self.by_variable(off)]

    # ------------------------------------------------------------------ points

    def holds(self, z: cp.Variable, share: float) -> list[Any]:
        """Return the constraints Mz + share · a ∈ 𝒦."""
        held: list[Any] = []
        for cone, M, a in zip(self.cones, self.matrices, self.offsets, strict=True):
            held += cone.holds(_pieces(cone, M @ z + share * a))
        return held

    def exact(self, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a point near z that satisfies equations and active constraints as exactly as rounding allows."""
        if not self.cones:
            return z
        reached = self.split(np.asarray(self.M @ z + a))
        active = [_active(cone, part) for cone, part in zip(self.cones, reached, strict=True)]
        rows = sp.csr_array(sp.block_diag(active, format="csr"))
        if not rows.shape[0]:
            return z
        identity = sp.eye_array(len(z), format="csr")
        return _corrected(z, identity, sp.csr_array(rows @ self.M), rows @ -a)

    def violation(self, z: np.ndarray, a: np.ndarray, of_rows_only: bool = False) -> float:
        """Return the largest violation, of all cones or linear rows, relative to the size of z and of the offsets."""
        size = max(float(np.linalg.norm(z)), float(abs(a).max(initial=0.0)), 1e-300)
        reached = self.split(np.asarray(self.M @ z + a))
        pairs = zip(self.cones, reached, strict=True)
        kinds = ("zero", "nonnegative")
        off = [_outside(cone, _shaped(cone, part)) for cone, part in pairs if not of_rows_only or cone.kind in kinds]
        return max([0.0, *off]) / size


def solved(problem: cp.Problem) -> bool:
    """Solve as accurately as possible; return whether there is an answer, which has to be checked."""
    with warnings.catch_warnings(), suppress(cp.SolverError, ValueError):
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, accept_unknown=True, **TOLERANCES)
    values = [variable.value for variable in problem.variables()]
    has_answer = problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    return has_answer and all(value is not None and np.isfinite(value).all() for value in values)


# ---------------------------------------------------------------------- the parts of a system


def _attributes(variable: cp.Variable) -> list[Any]:
    """Return what a variable declares by itself, as constraints."""
    terms: list[Any] = []
    if variable.attributes["PSD"]:
        terms.append(variable >> 0)
    if variable.attributes["NSD"]:
        terms.append(-variable >> 0)
    for bound, sign in zip(variable.get_bounds(), (1.0, -1.0), strict=True):
        limits = np.broadcast_to(bound, variable.shape).ravel(order="F")
        finite = np.flatnonzero(np.isfinite(limits))
        if len(finite):
            terms.append(sign * cp.vec(variable, order="F")[finite] >= sign * limits[finite])
    return terms


def _attributes_of_added(form: ConicForm) -> list[Cone]:
    """Return what CVXPY declares of the variables it adds, bounds and semidefinite matrices, as cones."""
    cones = []

    def cone(kind: str, k: int, shape: tuple[int, ...], rows: sp.csr_array, a: np.ndarray) -> Cone:
        A = {name: sp.csr_array((rows.shape[0], len(c))) for name, c in form.c.items()}
        B = [sp.csr_array((rows.shape[0], variable.size)) for variable in form.added]
        B[k] = rows
        return Cone(kind, (Part(shape, A, B, a),))

    for k, variable in enumerate(form.added):
        every = sp.eye_array(variable.size, format="csr")
        for attribute, sign in (("PSD", 1.0), ("NSD", -1.0)):
            if variable.attributes[attribute]:
                cones.append(cone("semidefinite", k, variable.shape, sign * every, np.zeros(variable.size)))
        for bound, sign in zip(variable.get_bounds(), (1.0, -1.0), strict=True):
            limits = np.broadcast_to(bound, variable.shape).ravel(order="F")
            finite = np.flatnonzero(np.isfinite(limits))
            if len(finite):
                rows = sp.csr_array(sign * every[finite])
                cones.append(cone("nonnegative", k, (len(finite),), rows, -sign * limits[finite]))
    return cones


def _row_scales(cone: Cone, M: sp.csr_array) -> np.ndarray:
    """Return what to divide the rows by so that they have unit length; only where that leaves the cone as it is."""
    lengths = np.sqrt(np.asarray(M.multiply(M).sum(axis=1)).ravel())
    if cone.kind in ("zero", "nonnegative"):
        return np.where(lengths > 0, lengths, 1.0)
    if cone.kind == "semidefinite":  # a congruence, by the diagonal
        order = cone.parts[0].shape[0]
        own = np.sqrt(np.maximum(lengths.reshape(order, order).diagonal(), 0))
        own = np.where(own > 0, own, 1.0)
        return np.outer(own, own).ravel()
    return np.full(len(lengths), max(float(lengths.max(initial=0.0)), 1e-300) if lengths.any() else 1.0)


def _column_scales(matrices: list[sp.csr_array], reach: list[float], widths: list[int]) -> np.ndarray:
    """Return what to divide the columns of unlimited variables by so that they approach unit length."""
    squares = np.sum([np.asarray(M.multiply(M).sum(axis=0)).ravel() for M in matrices], axis=0) if matrices else 0.0
    lengths = np.sqrt(squares) * np.ones(sum(widths))
    scaled = np.repeat(np.isinf(reach), widths) & (lengths > 0)
    return np.where(scaled, np.sqrt(np.where(lengths > 0, lengths, 1.0)), 1.0)


def _reach(declaration: Declaration, name: str) -> float:
    """Return a bound on the norm of a variable that its own bounds or single constraints give, or infinity."""
    variable = declaration.variables[name]
    lower, upper = (np.broadcast_to(bound, variable.shape) for bound in variable.get_bounds())
    within = float(np.linalg.norm(np.maximum(abs(lower), abs(upper))))
    declared = [semidefinite_variable(t, {name: variable}) for group in declaration.constraints.values() for t in group]
    if np.isfinite(within) or not (variable.attributes["PSD"] or name in declared):
        return within
    trace = LinearSDP(sp.csr_array(variable.shape), tuple(linear_rows(declaration, variable)[0])).trace_bound()
    return np.inf if trace is None else max(trace, 0.0)


def _pieces(cone: Cone, flat: Any) -> list[Any]:
    """Split a CVXPY expression into the parts of a cone."""
    ends = np.cumsum([0, *(int(np.prod(part.shape)) for part in cone.parts)])
    parts = zip(cone.parts, ends[:-1], ends[1:], strict=True)
    return [cp.reshape(flat[start:end], part.shape, order="F") for part, start, end in parts]


def _shaped(cone: Cone, flat: np.ndarray) -> list[np.ndarray]:
    """Split numbers into the parts of a cone."""
    ends = np.cumsum([int(np.prod(part.shape)) for part in cone.parts])[:-1]
    return [piece.reshape(part.shape, order="F") for piece, part in zip(np.split(flat, ends), cone.parts, strict=True)]


# ---------------------------------------------------------------------- from a solver's answer to an exact one


def _face(cone: Cone, w: np.ndarray) -> sp.csr_array:
    """Return directions in which multipliers can move a little without leaving the dual cone, as columns."""
    if cone.kind == "zero":
        return sp.eye_array(len(w), format="csr")
    if cone.kind == "nonnegative":
        positive = np.flatnonzero(w > INACTIVE * max(float(w.max(initial=0.0)), 1e-300))
        return sp.csr_array(sp.eye_array(len(w), format="csr")[:, positive])
    if cone.kind == "semidefinite":
        order = cone.parts[0].shape[0]
        eigenvalues, vectors = np.linalg.eigh(w.reshape(order, order))
        V = vectors[:, eigenvalues > INACTIVE * max(eigenvalues[-1], 1e-300)]
        return sp.csr_array(np.kron(V, V))
    units = cone.units  # each can be longer or shorter
    return sp.csr_array((w, (np.arange(len(w)), units)), shape=(len(w), int(units.max()) + 1))


def _active(cone: Cone, reached: np.ndarray) -> sp.csr_array:
    """Return which linear combinations of the rows of a cone have to vanish at a point near its boundary."""
    every = sp.eye_array(len(reached), format="csr")
    if cone.kind == "zero":
        return every
    if cone.kind == "nonnegative":
        return sp.csr_array(every[np.flatnonzero(reached <= INACTIVE * max(1.0, float(reached.max(initial=0.0))))])
    if cone.kind == "semidefinite":
        order = cone.parts[0].shape[0]
        eigenvalues, vectors = np.linalg.eigh(reached.reshape(order, order))
        N = vectors[:, eigenvalues <= INACTIVE * max(1.0, eigenvalues[-1])]
        return sp.csr_array(np.kron(N.T, np.eye(order)))
    return sp.csr_array((0, len(reached)))


def _corrected(x: np.ndarray, ways: sp.csr_array, rows: sp.csr_array, sides: np.ndarray) -> np.ndarray:
    """Return x moved as little as possible along ``ways`` so that ``rows @ x`` comes to ``sides``."""
    for _ in range(3):  # each pass removes most of the rounding of the one before
        step = sp.linalg.lsmr(rows @ ways, sides - rows @ x, atol=1e-15, btol=1e-15, conlim=0, maxiter=5 * len(x))[0]
        x = x + ways @ step
    return x


def _outside(cone: Cone, parts: list[np.ndarray]) -> float:
    """Return how far numbers are outside a cone."""
    if cone.kind == "zero":
        return float(abs(parts[0]).max(initial=0.0))
    if cone.kind == "nonnegative":
        return -float(parts[0].min(initial=0.0))
    if cone.kind == "semidefinite":
        return max(0.0, -float(np.linalg.eigvalsh((parts[0] + parts[0].T) / 2)[0]))
    if cone.kind == "second-order":
        return float(np.max(long_enough(parts[0], parts[1], cone.axis) - parts[0], initial=0.0))
    x, y, z = parts
    outside = outside_exponential(x, y, z) if cone.kind == "exponential" else outside_power(x, y, z, cone.alpha)
    return float(np.max(outside, initial=0.0))
