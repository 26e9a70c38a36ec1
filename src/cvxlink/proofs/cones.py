"""Convex functions in the conic form CVXPY gives them, and the affine functions below them that multipliers make."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone

from ..errors import ReductionRefused


@dataclass(frozen=True, eq=False)
class Part:
    """An affine expression in a cone: Ax + Bt + a, with a block of A for each variable and of B for each added one."""

    shape: tuple[int, ...]
    A: dict[str, sp.csr_array]
    B: list[sp.csr_array]
    a: np.ndarray


@dataclass(frozen=True, eq=False)
class Cone:
    """Affine expressions that are in a cone together."""

    kind: str
    parts: tuple[Part, ...]
    axis: int = 0
    alpha: Any = None

    def holds_dual(self, w: Sequence[cp.Variable]) -> list[Any]:
        """Return the constraints that w, a variable for each part, is in the dual cone."""
        if self.kind == "zero":
            return []
        if self.kind == "nonnegative":
            return [w[0] >= 0]
        if self.kind == "second-order":
            return [cp.SOC(w[0], w[1], axis=self.axis)]
        if self.kind == "semidefinite":
            return [w[0] == w[0].T, w[0] >> 0]
        if self.kind == "exponential":
            return [cp.ExpCone(w[0] - w[1], -w[0], w[2])]
        return [cp.PowCone3D(w[0] / self.alpha, w[1] / (1 - self.alpha), w[2], self.alpha)]

    def into_dual(self, w: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Return w moved into the dual cone, which it misses by rounding."""
        if self.kind == "nonnegative":
            return [np.maximum(w[0], 0)]
        if self.kind == "second-order":
            return [long_enough(w[0], w[1], self.axis), w[1]]
        if self.kind == "semidefinite":
            return [nearest_semidefinite(w[0])]
        if self.kind == "exponential":  # −u exp(v/u − 1) ≤ w for u < 0
            u = np.minimum(w[0], -1e-300)
            return [u, w[1], np.maximum(w[2], -u * np.exp(np.minimum(w[1] / u - 1, 700)))]
        if self.kind == "power":
            x, y = np.maximum(w[0], 0), np.maximum(w[1], 0)
            most = (x / self.alpha) ** self.alpha * (y / (1 - self.alpha)) ** (1 - self.alpha)
            return [x, y, np.clip(w[2], -most, most)]
        return w


@dataclass(frozen=True, eq=False)
class ConicForm:
    r"""A convex function, :math:`\min_t\, c^\top x + e^\top t + d` s.t. :math:`Ax + Bt + a \in \mathcal{K}`.

    ``c`` and the blocks of A are by the names of the variables that x is made of; t are variables that CVXPY added, of
    which ``e`` and B have a block each.
    """

    c: dict[str, np.ndarray]
    e: list[np.ndarray]
    d: float
    cones: list[Cone]
    added: list[cp.Variable]

    @classmethod
    def of(cls, function: Any, variables: Mapping[str, cp.Variable]) -> ConicForm:
        """Let CVXPY write a convex expression with cones."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what CVXPY has to say about its own forms is not for the user
            conic, _ = Dcp2Cone().apply(cp.Problem(cp.Minimize(function)))
        for variable in conic.variables():  # everything is affine now: offsets are the values at zero
            variable.save_value(np.zeros(variable.shape))
        own = {variable.id for variable in variables.values()}
        added = [variable for variable in conic.variables() if variable.id not in own]

        def part(expression: Any) -> Part:
            A = {name: _derivative(expression, variable) for name, variable in variables.items()}
            B = [_derivative(expression, variable) for variable in added]
            return Part(expression.shape, A, B, np.ravel(expression.value, order="F"))

        linear = part(conic.objective.args[0])
        cones = []
        for term in conic.constraints:
            kind, expressions = _read(term)
            alpha = term.alpha.value if kind == "power" else None
            cones.append(Cone(kind, tuple(map(part, expressions)), getattr(term, "axis", 0), alpha))
        c = {name: _row(block) for name, block in linear.A.items()}
        return cls(c, [_row(block) for block in linear.B], float(linear.a[0]), cones, added)

    @property
    def size(self) -> int:
        """How many multipliers there are."""
        return sum(len(part.a) for cone in self.cones for part in cone.parts)

    def minorant(self, w: Sequence[Sequence[Any]]) -> tuple[dict[str, Any], list[Any], Any]:
        """Return g, e − Bᵀw and d − aᵀw, for multipliers of each part of each cone, numbers or CVXPY variables.

        Where w is in the dual cone and e = Bᵀw, gᵀx + d − aᵀw is at most Λ(x).
        """
        gradient: dict[str, Any] = dict(self.c)
        left: list[Any] = list(self.e)
        constant: Any = self.d
        for cone, multipliers in zip(self.cones, w, strict=True):
            for part, multiplier in zip(cone.parts, multipliers, strict=True):
                symbolic = isinstance(multiplier, cp.Expression)
                flat = cp.vec(multiplier, order="F") if symbolic else np.ravel(multiplier, order="F")
                gradient = {name: g - part.A[name].T @ flat for name, g in gradient.items()}
                left = [e - B.T @ flat for e, B in zip(left, part.B, strict=True)]
                constant = constant - part.a @ flat
        return gradient, left, constant


def _read(term: Any) -> tuple[str, list[Any]]:
    """Return which cone a constraint is about, and the expressions that are in it."""
    constraints = cp.constraints
    if isinstance(term, constraints.Zero | constraints.NonNeg | constraints.PSD):
        kinds = {constraints.Zero: "zero", constraints.NonNeg: "nonnegative", constraints.PSD: "semidefinite"}
        return kinds[type(term)], [term.args[0]]
    if isinstance(term, constraints.Equality):
        return "zero", [term.expr]
    if isinstance(term, constraints.Inequality):
        return "nonnegative", [-term.expr]
    if isinstance(term, constraints.NonPos):
        return "nonnegative", [-term.args[0]]
    if isinstance(term, constraints.SOC):
        return "second-order", term.args[:2]
    if isinstance(term, constraints.ExpCone):
        return "exponential", term.args
    if isinstance(term, constraints.PowCone3D):
        return "power", term.args[:3]
    raise ReductionRefused(f"CVXPY makes a cone of the kind {type(term).__name__} of it, for which there is no bound")


def _derivative(expression: Any, variable: cp.Variable) -> sp.csr_array:
    """Return the derivative of an affine expression, a row an entry; symmetrised where the variable is symmetric."""
    if variable.id not in {v.id for v in expression.variables()}:
        return sp.csr_array((expression.size, variable.size))
    found = expression.grad[variable]
    J = sp.csr_array(found if sp.issparse(found) else np.atleast_2d(found)).T
    if variable.ndim == 2 and variable.is_symmetric():
        mirrored = np.arange(variable.size).reshape(variable.shape).T.ravel()
        J = (J + J[:, mirrored]) / 2
    return sp.csr_array(J)


def _row(block: sp.csr_array) -> np.ndarray:
    return block.toarray().ravel()


def long_enough(lengths: np.ndarray, vectors: np.ndarray, axis: int) -> np.ndarray:
    """Return lengths of at least the norms of vectors, which are columns for the axis 0 and rows for 1."""
    return np.maximum(lengths, np.linalg.norm(vectors, axis=axis if vectors.ndim > 1 else 0))


def nearest_semidefinite(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest semidefinite matrix."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.maximum(eigenvalues, 0)) @ vectors.T
