r"""Convex programs in the conic form CVXPY gives them, and the affine lower bounds that multipliers give.

.. math:: \min_{x, t}\ c^\top x + e^\top t + d \quad\text{s.t.}\quad Ax + Bt + a \in \mathcal{K}

Here x are the variables of the program and t those that CVXPY adds for what is not linear. For
:math:`w \in \mathcal{K}^*` with :math:`B^\top w = e` and every feasible x, the objective is at least
:math:`(c - A^\top w)^\top x + d - a^\top w`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.eval_params import EvalParams, replace_params_with_consts
from cvxpy.reductions.inverse_data import InverseData
from cvxpy.reductions.solvers.solving_chain_utils import get_canon_backend
from cvxpy.utilities.coeff_extractor import CoeffExtractor

from ..errors import ReductionRefused
from ..numerics.matrices import as_dense

# Smaller eigenvalues, relative to the largest, are rounding errors.
INDEFINITE = 1e-13


@dataclass(frozen=True, eq=False)
class Part:
    """An affine expression in a cone: Ax + Bt + a, with one block of A per variable and one of B per added variable."""

    shape: tuple[int, ...]
    A: dict[str, sp.csr_array]
    B: list[sp.csr_array]
    a: np.ndarray


@dataclass(frozen=True, eq=False)
class Cone:
    """Affine expressions that together lie in a cone."""

    kind: str
    parts: tuple[Part, ...]
    axis: int = 0
    alpha: Any = None

    def holds_dual(self, w: Sequence[Any]) -> list[Any]:
        """Return constraints that put w, one expression per part (symmetric for matrices), into the dual cone."""
        if self.kind == "zero":
            return []
        if self.kind == "nonnegative":
            return [w[0] >= 0]
        if self.kind == "second-order":
            return [cp.SOC(w[0], w[1], axis=self.axis)]
        if self.kind == "semidefinite":
            return [w[0] >> 0]
        if self.kind == "exponential":
            return [cp.ExpCone(w[0] - w[1], -w[0], w[2])]
        return [cp.PowCone3D(w[0] / self.alpha, w[1] / (1 - self.alpha), w[2], self.alpha)]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A convex program that CVXPY has written with cones, before it is turned into numbers.

    ``added`` are the variables that CVXPY introduced, ``read`` has the kind of cone of each constraint and the
    expressions in it, and ``owners`` maps the id of a declared constraint to the number of its cone.
    """

    problem: cp.Problem
    added: list[cp.Variable]
    read: list[tuple[str, list[Any]]]
    owners: dict[int, int]

    @classmethod
    def of(cls, objective: Any, variables: Mapping[str, cp.Variable], constraints: Sequence[Any] = ()) -> Compiled:
        """Let CVXPY write a convex expression and constraints with cones."""
        problem = cp.Problem(cp.Minimize(objective), list(constraints))
        if not problem.is_dcp():
            raise ReductionRefused("it is not convex")
        _refuse_approximations(problem)
        for variable in problem.variables():
            variable.save_value(None)  # CVXPY would start its own variables from it, which can fail
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CVXPY's warnings about its own forms are not for the user
            evaluated, _ = EvalParams().apply(problem)
            conic, back = Dcp2Cone().apply(evaluated)
        own = {variable.id for variable in variables.values()}
        numbers = {term.id: k for k, term in enumerate(conic.constraints)}
        owners = {
            constraint.id: numbers[back.cons_id_map[number.id]]
            for constraint, number in zip(constraints, evaluated.constraints, strict=True)
        }
        added = [variable for variable in conic.variables() if variable.id not in own]
        return cls(conic, added, [_read(term) for term in conic.constraints], owners)


@dataclass(frozen=True, eq=False)
class ConicForm:
    """A convex program as data.

    ``c`` and the blocks of A are keyed by the names of the variables in x. The variables t are those ``added`` by
    CVXPY; ``e`` and B have one block for each. ``owners`` maps the id of a constraint to the number of its cone.
    """

    c: dict[str, np.ndarray]
    e: list[np.ndarray]
    d: float
    cones: list[Cone]
    added: list[cp.Variable]
    owners: dict[int, int]

    @classmethod
    def of(cls, objective: Any, variables: Mapping[str, cp.Variable], constraints: Sequence[Any] = ()) -> ConicForm:
        """Let CVXPY write a convex expression and constraints with cones."""
        compiled = Compiled.of(objective, variables, constraints)
        conic, added, read = compiled.problem, compiled.added, compiled.read
        expressions = [conic.objective.args[0], *(e for _, inside in read for e in inside)]
        linear, *parts = affine_maps(expressions, variables, added)
        cones, places = [], iter(parts)
        for term, (kind, inside) in zip(conic.constraints, read, strict=True):
            alpha = term.alpha.value if kind == "power" else None
            cones.append(Cone(kind, tuple(next(places) for _ in inside), getattr(term, "axis", 0), alpha))
        c = {name: _row(block) for name, block in linear.A.items()}
        return cls(c, [_row(block) for block in linear.B], float(linear.a[0]), cones, added, compiled.owners)

    @property
    def size(self) -> int:
        """The number of multipliers."""
        return sum(len(part.a) for cone in self.cones for part in cone.parts)

    def minorant(self, w: Sequence[Sequence[Any]]) -> tuple[dict[str, Any], list[Any], Any]:
        """Return g, e − Bᵀw and d − aᵀw for multipliers of each part of each cone, numbers or CVXPY variables.

        If w is in the dual cone and e = Bᵀw, then gᵀx + d − aᵀw is at most Λ(x).
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


def _refuse_approximations(problem: cp.Problem) -> None:
    """Raise if CVXPY replaces a power by an approximation: a bound would hold for the approximation only."""
    for expression in [problem.objective, *problem.constraints]:
        if _is_approximated(expression):
            raise ReductionRefused(
                "CVXPY approximates one of its powers; write the power with approx=False to get a bound"
            )
        if _has_indefinite_form(expression):
            raise ReductionRefused("a matrix of its quadratic forms has an eigenvalue that CVXPY takes for zero")


def _is_approximated(expression: Any) -> bool:
    return getattr(expression, "approx_error", 0.0) > 0 or any(map(_is_approximated, getattr(expression, "args", ())))


def _has_indefinite_form(expression: Any) -> bool:
    """Whether the matrix of a quadratic form has eigenvalues of both signs beyond rounding; CVXPY drops small ones."""
    if isinstance(expression, cp.QuadForm) and expression.args[1].value is not None:
        eigenvalues = np.linalg.eigvalsh(as_dense(expression.args[1].value))
        if min(-eigenvalues[0], eigenvalues[-1]) > INDEFINITE * abs(eigenvalues).max():
            return True
    return any(map(_has_indefinite_form, getattr(expression, "args", ())))


def _read(term: Any) -> tuple[str, list[Any]]:
    """Return the kind of cone of a constraint, and the expressions in it."""
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
    raise ReductionRefused(
        f"CVXPY compiles it to a cone of type {type(term).__name__}, for which no bound is available"
    )


def whole_map(expressions: list[Any]) -> tuple[sp.csr_array, np.ndarray, dict[int, int]]:
    """Return affine expressions as one matrix and offsets, and the first column of each variable by its id."""
    inside = [replace_params_with_consts(expression) for expression in expressions]
    problem = cp.Problem(cp.Minimize(0), [cp.constraints.Zero(expression) for expression in inside])
    numbering = InverseData(problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        extractor = CoeffExtractor(numbering, get_canon_backend(problem, None))
        try:
            tensor = sp.coo_array(extractor.affine(inside))
        except NotImplementedError as error:  # such as 0 · x², which CVXPY calls affine
            raise ReductionRefused("CVXPY cannot write one of its affine expressions as a matrix") from error
    # There are no parameters left, so the tensor is one column: the matrix by columns, and then the offsets.
    count, width = sum(expression.size for expression in inside), extractor.x_length
    column, row = np.divmod(tensor.row.astype(np.int64), max(count, 1))
    is_offset = column == width
    offsets = np.zeros(count)
    np.add.at(offsets, row[is_offset], tensor.data[is_offset])
    places = row[~is_offset], column[~is_offset]
    return sp.csr_array((tensor.data[~is_offset], places), shape=(count, width)), offsets, numbering.var_offsets


def affine_maps(expressions: list[Any], variables: Mapping[str, cp.Variable], added: list[cp.Variable]) -> list[Part]:
    """Return affine expressions as matrices and offsets, using CVXPY's compiler."""
    whole, offsets, first = whole_map(expressions)
    ends = np.cumsum([expression.size for expression in expressions])
    parts = []
    for expression, end in zip(expressions, ends, strict=True):
        rows = slice(end - expression.size, end)
        matrix = whole[rows]
        A = {name: coefficients_of(variable, matrix, first.get(variable.id)) for name, variable in variables.items()}
        B = [coefficients_of(variable, matrix, first.get(variable.id)) for variable in added]
        parts.append(Part(expression.shape, A, B, offsets[rows]))
    return parts


def coefficients_of(variable: cp.Variable, matrix: sp.csr_array, start: int | None) -> sp.csr_array:
    """Return the columns of a variable, which begin at ``start``; those of equal entries share their coefficients."""
    if start is None:
        return sp.csr_array((matrix.shape[0], variable.size))
    J = matrix[:, start : start + variable.size]
    if variable.ndim == 2 and variable.is_symmetric():
        mirrored = np.arange(variable.size).reshape(variable.shape).T.ravel()
        J = (J + J[:, mirrored]) / 2
    if variable.attributes["diag"] or variable.sparse_idx is not None:
        J = J @ sp.diags_array(_pattern(variable))
    return sp.csr_array(J)


def _pattern(variable: cp.Variable) -> np.ndarray:
    """Return 1 for the entries, column by column, that a diagonal or sparse variable has, and 0 for the others."""
    pattern = np.zeros(variable.shape)
    pattern[np.diag_indices(variable.shape[0]) if variable.attributes["diag"] else variable.sparse_idx] = 1.0
    return pattern.ravel(order="F")


def _row(block: sp.csr_array) -> np.ndarray:
    return block.toarray().ravel()


def has_bounds(variable: cp.Variable) -> bool:
    """Whether a variable is declared with a sign or with bounds."""
    return any(np.isfinite(bound).any() for bound in variable.get_bounds())


def long_enough(lengths: np.ndarray, vectors: np.ndarray, axis: int) -> np.ndarray:
    """Return lengths raised to at least the norms of vectors: columns for axis 0, rows for axis 1."""
    return np.maximum(lengths, np.linalg.norm(np.atleast_1d(vectors), axis=axis if vectors.ndim > 1 else 0))


def misses_exponential(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Whether numbers are outside y exp(x/y) ≤ z, y ≥ 0."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        grown = np.where(x / y > 700.0, np.inf, y * np.exp(np.minimum(x / y, 700.0)))
        needed = np.where(y > 0, grown, np.where(x > 0, np.inf, 0.0))
    return ~((needed <= z) & (y >= 0))  # what is not a number is outside


def outside_exponential(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return how far numbers are from y exp(x/y) ≤ z, y ≥ 0: the least δ with x − δ, y + δ, z + δ in the cone.

    Near y = 0 the exponential function may be astronomical although the cone is near.
    """
    x, y, z = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (x, y, z)))
    low, high = np.zeros(x.shape), abs(x) + abs(y) + abs(z)
    outside = misses_exponential(x, y, z)
    for _ in range(60 if outside.any() else 0):
        # Between the geometric and the arithmetic mean, so that distances of any size are found.
        middle = np.where(low > 0, np.sqrt(low * high), np.where(high > 1e-12, 1e-6 * high, high / 2))
        too_little = misses_exponential(x - middle, y + middle, z + middle)
        low, high = np.where(too_little, middle, low), np.where(too_little, high, middle)
    return np.where(outside, high, 0.0)


def outside_power(x: np.ndarray, y: np.ndarray, z: np.ndarray, alpha: Any) -> np.ndarray:
    """Return how far numbers are from x^α y^(1−α) ≥ |z|, x, y ≥ 0."""
    reached = np.maximum(x, 0) ** alpha * np.maximum(y, 0) ** (1 - alpha)
    return np.maximum(np.maximum(abs(z) - reached, np.maximum(-x, -y)), 0)


def nearest_semidefinite(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest semidefinite matrix."""
    eigenvalues, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.maximum(eigenvalues, 0)) @ vectors.T
