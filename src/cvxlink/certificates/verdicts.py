r"""Proofs that a program has no feasible point, or no finite optimum.

CVXPY writes a convex program as :math:`\min c^\top z,\ Mz + a \in \mathcal{K}` (see
:mod:`cvxlink.programs.conic_form`; z are all its unknowns). A solver's word for "infeasible" or "unbounded" is not a
proof. These are:

*No feasible point.* By Farkas, any :math:`w \in \mathcal{K}^*` with :math:`M^\top w = 0` and :math:`a^\top w < 0`:
a feasible z would give :math:`0 \le w^\top(Mz + a) = a^\top w < 0`. Rounding leaves a small slope
:math:`s = M^\top w`, and then no feasible z satisfies :math:`s^\top z < -a^\top w`. Where the constraints bound z,
that is a proof without any proviso; elsewhere it excludes all points up to the size :math:`-a^\top w / \|s\|`, which
must be astronomical to count.

*No finite optimum.* A feasible point, and a direction d with :math:`Md \in \mathcal{K}` and :math:`c^\top d < 0`:
along it every point is feasible, and the objective falls without limit. Both hold up to rounding, row by row and
relative to the size of the row.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..programs.conic_form import Cone, ConicForm, Part, has_bounds, long_enough, outside_exponential, outside_power
from ..programs.declared import linear_rows, semidefinite_variable
from ..programs.linear_sdp import LinearSDP
from ..programs.status import Status
from .lagrangian import TOLERANCES

# Larger programs, in unknowns or rows of their conic form, are not searched: it would take longer than solving them.
LARGEST = 5000
# A contradiction must exclude all points up to this many times the distance of the constraints from the origin.
ASTRONOMICAL = 1e10
# How exactly a point and a direction must satisfy the constraints, relative to each row.
EXACTLY = 1e-11
# Smaller numbers, relative to the largest, count as zero when a solver's answer is made exact.
INACTIVE = 1e-6
ROUNDING = float(np.finfo(float).eps)


def proven_verdict(declaration: Declaration, claimed: Status) -> tuple[Status, str] | None:
    """Return a proven verdict on a program without an answer and its proof in words, or None.

    The claimed verdict is tried first, then the other one.
    """
    if sum(variable.size for variable in declaration.variables.values()) > LARGEST:
        return None
    try:
        system = _System.of(declaration)
    except ReductionRefused:
        return None
    if len(system.a) > LARGEST:
        return None
    proofs = {Status.INFEASIBLE: system.contradiction, Status.UNBOUNDED: system.ray}
    for verdict in sorted(proofs, key=lambda verdict: verdict is not claimed):
        words = proofs[verdict]()
        if words is not None:
            return verdict, words
    return None


@dataclass(frozen=True, eq=False)
class _System:
    """A convex program as cones over one vector of unknowns: those declared come first, then those CVXPY adds.

    ``reach`` bounds the norm of each declared variable, where the constraints do; each row is scaled to unit length.
    """

    cones: list[Cone]
    matrices: list[sp.csr_array]
    offsets: list[np.ndarray]
    cost: np.ndarray
    widths: list[int]
    reach: list[float]

    @classmethod
    def of(cls, declaration: Declaration) -> _System:
        objective = declaration.objective.args[0]
        objective = -objective if isinstance(declaration.objective, cp.Maximize) else objective
        declared = [term for group in declaration.constraints.values() for term in group]
        implied = [term for variable in declaration.variables.values() for term in _attributes(variable)]
        form = ConicForm.of(objective, declaration.variables, [*declared, *implied])
        cones = [*form.cones, *_bounds_of_added(form)]
        matrices, offsets = [], []
        for cone in cones:
            blocks = [sp.hstack([*part.A.values(), *part.B], format="csr") for part in cone.parts]
            M, a = sp.vstack(blocks, format="csr"), np.concatenate([np.ravel(part.a) for part in cone.parts])
            scale = _row_scales(cone, M)
            matrices.append(sp.csr_array(sp.diags_array(1 / scale) @ M))
            offsets.append(a / scale)
        reach = [_reach(declaration, name) for name in declaration.variables] + [np.inf] * len(form.added)
        widths = [variable.size for variable in (*declaration.variables.values(), *form.added)]
        cost = np.concatenate([*form.c.values(), *form.e])
        return cls(cones, matrices, offsets, cost, widths, reach)

    @cached_property
    def M(self) -> sp.csr_array:
        return sp.csr_array(sp.vstack(self.matrices, format="csr"))

    @cached_property
    def a(self) -> np.ndarray:
        return np.concatenate(self.offsets)

    @property
    def distance(self) -> float:
        """How far from the origin the constraints are."""
        return float(abs(self.a).max(initial=0.0))

    def split(self, w: np.ndarray) -> list[np.ndarray]:
        return np.split(w, np.cumsum([len(a) for a in self.offsets])[:-1])

    # ------------------------------------------------------------------ no feasible point

    def contradiction(self) -> str | None:
        """Return a checked contradiction in words, or None."""
        if not len(self.a):
            return None
        w = [cone.multipliers() for cone in self.cones]
        flat = cp.hstack([cp.vec(part, order="F") for parts in w for part in parts])
        inside = [held for cone, parts in zip(self.cones, w, strict=True) for held in cone.holds_dual(parts)]
        balance = cp.Problem(cp.Minimize(cp.norm(self.M.T @ flat)), [self.a @ flat == -self.distance, *inside])
        if not self.distance or not _solved(balance):
            return None
        found = np.concatenate([np.ravel(part.value, order="F") for parts in w for part in parts])
        far = max(self._excluded(self._into_dual(w)) for w in (found, self._balanced(found)))
        if far < ASTRONOMICAL * self.distance:
            return None
        proviso = "" if np.isinf(far) else f" for all points up to the size {far:.0e}"
        return f"proven: a combination of the constraints contradicts itself{proviso}"

    def _excluded(self, w: np.ndarray) -> float:
        """Return up to which size of the unknowns multipliers in the dual cone exclude feasible points."""
        slope = self.M.T @ w
        # Rounding in aᵀw and in Mᵀw, each a sum of products.
        terms = (len(w) + 2) * ROUNDING
        gain = -float(self.a @ w) - terms * float(abs(self.a) @ abs(w))
        roughness = terms * (abs(self.M).T @ abs(w))
        free = 0.0
        for reach, part, rough in zip(
            self.reach, _parts(slope, self.widths), _parts(roughness, self.widths), strict=True
        ):
            length = float(np.linalg.norm(part) + np.linalg.norm(rough))
            if np.isfinite(reach):
                gain -= reach * length
            else:
                free += length
        if gain <= 0:
            return 0.0
        return gain / free if free else np.inf

    def _balanced(self, w: np.ndarray) -> np.ndarray:
        """Return multipliers on the same face of the dual cone with a smaller slope."""
        faces = [_face(cone, part) for cone, part in zip(self.cones, self.split(w), strict=True)]
        return _corrected(
            w, sp.csr_array(sp.block_diag(faces, format="csr")), sp.csr_array(self.M.T), np.zeros(self.M.shape[1])
        )

    def _into_dual(self, w: np.ndarray) -> np.ndarray:
        moved = []
        for cone, part in zip(self.cones, self.split(w), strict=True):
            shaped = _shaped(cone, part)
            moved += [np.ravel(piece, order="F") for piece in cone.into_dual(shaped)]
        return np.concatenate(moved)

    # ------------------------------------------------------------------ no finite optimum

    def ray(self) -> str | None:
        """Return in words that the objective falls without limit along a checked ray, or None."""
        size = float(np.linalg.norm(self.cost))
        if not size:
            return None
        d = cp.Variable(self.M.shape[1])
        falling = cp.Problem(cp.Minimize(cp.norm(d)), [self.cost @ d == -size, *self._holds(d, 0.0)])
        z = cp.Variable(self.M.shape[1])
        anywhere = cp.Problem(cp.Minimize(cp.norm(z)), self._holds(z, 1.0))
        if not (_solved(falling) and _solved(anywhere)):
            return None
        direction = self._exact(np.asarray(d.value), np.zeros_like(self.a))
        points = (self._exact(np.asarray(z.value), self.a), np.zeros(len(self.cost)))
        if float(self.cost @ direction) > -1e-3 * size * max(float(np.linalg.norm(direction)), 1e-300):
            return None
        feasible = min(self._violation(point, self.a) for point in points)
        off = max(self._violation(direction, np.zeros_like(self.a)), feasible)
        if not off <= EXACTLY:
            return None
        rounding = max(off, ROUNDING)
        return f"proven up to rounding of {rounding:.0e}: the objective falls without limit along a feasible ray"

    def _holds(self, z: cp.Variable, share: float) -> list[Any]:
        held: list[Any] = []
        for cone, M, a in zip(self.cones, self.matrices, self.offsets, strict=True):
            held += cone.holds(_pieces(cone, M @ z + share * a))
        return held

    def _exact(self, z: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return a point near z that satisfies equations and active constraints as exactly as rounding allows."""
        reached = self.split(np.asarray(self.M @ z + a))
        active = [_active(cone, part) for cone, part in zip(self.cones, reached, strict=True)]
        rows = sp.csr_array(sp.block_diag(active, format="csr"))
        if not rows.shape[0]:
            return z
        identity = sp.eye_array(len(z), format="csr")
        return _corrected(z, identity, sp.csr_array(rows @ self.M), rows @ -a)

    def _violation(self, z: np.ndarray, a: np.ndarray) -> float:
        """Return the largest violation, relative to the size of z and of the offsets."""
        size = max(float(np.linalg.norm(z)), float(abs(a).max(initial=0.0)), 1e-300)
        reached = self.split(np.asarray(self.M @ z + a))
        off = [_outside(cone, _shaped(cone, part)) for cone, part in zip(self.cones, reached, strict=True)]
        return max([0.0, *off]) / size


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


def _bounds_of_added(form: ConicForm) -> list[Cone]:
    """Return the bounds that CVXPY declares on the variables it adds, as cones."""
    cones = []
    for k, variable in enumerate(form.added):
        if not has_bounds(variable):
            continue
        for bound, sign in zip(variable.get_bounds(), (1.0, -1.0), strict=True):
            limits = np.broadcast_to(bound, variable.shape).ravel(order="F")
            finite = np.flatnonzero(np.isfinite(limits))
            if len(finite):
                A = {name: sp.csr_array((len(finite), len(c))) for name, c in form.c.items()}
                B = [sp.csr_array((len(finite), v.size)) for v in form.added]
                B[k] = sp.csr_array(sign * sp.eye_array(variable.size, format="csr")[finite])
                cones.append(Cone("nonnegative", (Part((len(finite),), A, B, -sign * limits[finite]),)))
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


def _parts(vector: np.ndarray, widths: Sequence[int]) -> list[np.ndarray]:
    return np.split(vector, np.cumsum(widths)[:-1])


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


def _solved(problem: cp.Problem) -> bool:
    with warnings.catch_warnings(), suppress(cp.SolverError):
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, accept_unknown=True, **TOLERANCES)
    values = [variable.value for variable in problem.variables()]
    return all(value is not None and np.isfinite(value).all() for value in values)


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
    return sp.csr_array(w[:, None])  # longer or shorter


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
