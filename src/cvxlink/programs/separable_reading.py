"""Reading a declaration as a semidefinite program with convex functions of single numbers in its objective.

The objective is followed down its tree: sums, multiples and weighted sums lead to affine expressions, which are costs,
and to hinges, absolute values, squares and Huber's functions of affine expressions, which are terms. Anything else is
refused. What was read is compared with the declared objective at sampled points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.elementwise.power import Power

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.losses import Losses
from ..numerics.matrices import as_dense
from .coefficients import Map, coefficients
from .linear_sdp import LinearSDP
from .separable_sdp import SeparableSDP

# Up to this order what was read is compared with the declaration at sampled points.
LARGEST_COMPARED = 200
SAME_NUMBER = 1e-9
# More terms than this are not a program of low rank, and take long to read.
MOST_TERMS = 50_000


def read_separable_sdp(declaration: Declaration, read_linear: Any) -> SeparableSDP:
    """Read a program from a declaration, or refuse with the reason.

    ``read_linear(declaration)`` reads a linear semidefinite program.
    """
    if isinstance(declaration.objective, cp.Maximize):
        raise ReductionRefused("it maximises; minimise the negative objective instead")
    if any(part.parameters() for part in (declaration.objective, *declaration.terms)):
        raise ReductionRefused("it has parameters, whose values may change")
    constraints, both_sides = _without_absolute_values(declaration)
    empty = Declaration(declaration.variables, cp.Minimize(0), constraints)
    linear = read_linear(empty)
    ((_, K),) = declaration.variables.items()
    objective = _Objective(K)
    objective.add(declaration.objective.args[0], np.ones(1))
    C, offset, A, losses = objective.parts()
    read = LinearSDP(C, linear.rows, offset, linear.variable, linear.cone)
    name = next(word for word in ("objective", "terms of the objective") if word not in declaration.constraints)
    program = SeparableSDP(read, A, losses, name, both_sides)
    _require_agreement(program, declaration, K)
    return program


def _without_absolute_values(declaration: Declaration) -> tuple[dict[str, list], dict[str, tuple[str, str]]]:
    """Return constraints with |x| ≤ d written as x ≤ d and −x ≤ d, and the names of the groups that these are."""
    constraints, both_sides = dict[str, list](), dict[str, tuple[str, str]]()
    for key, group in declaration.constraints.items():
        bounded = [_absolute_value(term) for term in group]
        if None in bounded or not bounded:
            constraints[key] = group
            continue
        above, below = f"{key} from above", f"{key} from below"
        if {above, below} & declaration.constraints.keys():
            raise ReductionRefused(f"its constraint {key!r} bounds an absolute value")
        constraints[above] = [x <= limit for x, limit in filter(None, bounded)]
        constraints[below] = [-x <= limit for x, limit in filter(None, bounded)]
        both_sides[key] = above, below
    return constraints, both_sides


def _absolute_value(term: Any) -> tuple[Any, Any] | None:
    """Return x and d of a constraint |x| ≤ d with an affine x and a constant d, or None."""
    if not isinstance(term, cp.constraints.Inequality):
        return None
    left, right = term.args
    if isinstance(left, cp.abs) and left.args[0].is_affine() and right.is_constant():
        return left.args[0], right
    return None


@dataclass
class _Objective:
    """What was read of an objective so far: linear costs, a constant, and terms with their rows."""

    K: cp.Variable
    cost: Any = 0.0
    offset: float = 0.0
    rows: list[sp.csr_array] = field(default_factory=list)
    losses: list[Losses] = field(default_factory=list)

    def add(self, expression: Any, weights: np.ndarray) -> None:
        """Add the weighted sum of the entries of an expression, which are counted column by column."""
        if expression.is_affine():
            self._add_linear(coefficients(expression, self.K), weights)
        elif expression.size > MOST_TERMS:
            raise ReductionRefused(
                f"its objective has {expression.size} nonlinear terms, and up to {MOST_TERMS} are read"
            )
        elif isinstance(expression, AddExpression):
            for part in expression.args:
                if part.size not in (1, expression.size):
                    raise ReductionRefused("its objective adds up arrays of different shapes")
                self.add(part, weights if part.size == expression.size else weights.sum(keepdims=True))
        elif isinstance(expression, AffAtom):
            self.add(*_spread(expression, weights))
        elif isinstance(expression, cp.maximum | cp.minimum):
            sign = 1.0 if isinstance(expression, cp.maximum) else -1.0
            parts = [self._map(part, expression.size, sign) for part in expression.args]
            self._add_largest(parts, _checked(sign * weights, expression))
        else:
            self._add_losses(expression, weights)

    def _add_linear(self, known: Map, weights: np.ndarray) -> None:
        self.cost = self.cost + sp.csr_array(weights[None]) @ known[0]
        self.offset += float(weights @ known[1])

    def _add_terms(self, A: sp.csr_array, losses: Losses) -> None:
        self.rows.append(A)
        self.losses.append(losses)

    def _add_losses(self, expression: Any, weights: np.ndarray) -> None:
        """Add absolute values, squares or Huber's functions."""
        inside = expression.args[0]
        if isinstance(expression, cp.norm1 | cp.quad_over_lin):  # one number from many
            if expression.size != 1 or inside.size > MOST_TERMS:
                raise _refused(expression)
            weights = np.full(inside.size, weights[0])
        weights = _checked(weights, expression)
        if isinstance(expression, cp.abs | cp.norm1):
            A, a = self._map(inside)
            self._add_terms(A, Losses.absolute(weights, 0.0 - a))
        elif isinstance(expression, cp.huber):
            A, a = self._map(inside)
            self._add_terms(A, Losses.huber(weights, 0.0 - a, float(expression.M.value)))
        elif isinstance(expression, Power) and expression.p.value == 2:
            self._add_squares(inside, weights)
        elif isinstance(expression, cp.quad_over_lin) and expression.args[1].is_constant():
            self._add_squares(inside, weights / float(expression.args[1].value))
        else:
            raise _refused(expression)

    def _add_squares(self, inside: Any, weights: np.ndarray) -> None:
        if isinstance(inside, cp.maximum) and len(inside.args) == 2 and _is_zero(inside.args[1]):
            A, a = self._map(inside.args[0])
            self._add_terms(A, Losses.squared_hinge(weights, 0.0 - a))
        else:
            A, a = self._map(inside)
            self._add_terms(A, Losses.square(weights, 0.0 - a))

    def _add_largest(self, parts: list[Map], weights: np.ndarray) -> None:
        """Add the largest of affine expressions: base + max(0, other − base), or a function of one number."""
        constant = [part for part in parts if not part[0].nnz]
        parts = [part for part in parts if part[0].nnz]
        if constant:
            parts = [*parts, (constant[0][0], np.max([a for _, a in constant], axis=0))]
        (base, b), *others = parts[::-1]
        self._add_linear((base, b), weights)
        if len(others) == 1:
            A, a = others[0]
            self._add_terms(sp.csr_array(A - base), Losses.hinge(weights, b - a))
            return
        slopes, R = _multiples([sp.csr_array(A - base) for A, _ in others])
        offsets = np.column_stack([0 * b, *(a - b for _, a in others)])
        slopes = np.column_stack([0 * b, slopes])
        self._add_terms(R, Losses.largest(weights[:, None] * slopes, weights[:, None] * offsets))

    def _map(self, expression: Any, size: int | None = None, sign: float = 1.0) -> Map:
        """Return the coefficients of an affine expression, repeated if it is one number."""
        if not expression.is_affine():
            raise _refused(expression)
        A, a = coefficients(expression, self.K)
        if size is not None and len(a) == 1 < size:
            A, a = sp.csr_array(sp.vstack([A] * size, format="csr")), np.repeat(a, size)
        if size is not None and len(a) != size:
            raise ReductionRefused("its objective compares arrays of different shapes")
        return sp.csr_array(sign * A), sign * a

    def parts(self) -> tuple[sp.csr_array, float, sp.csr_array, Losses]:
        """Return the costs, the constant, the rows of the terms and their functions."""
        n = self.K.shape[0]
        cost = self.cost if sp.issparse(self.cost) else sp.csr_array((1, n * n))
        losses = Losses.stacked(self.losses)
        A = sp.csr_array(sp.vstack([sp.csr_array((0, n * n)), *self.rows], format="csr"))
        A.eliminate_zeros()
        return sp.csr_array(cost.reshape((n, n))), self.offset, A, losses


def _spread(expression: Any, weights: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the argument of an affine expression that is not constant, and the weights of its entries."""
    (inside, *more) = [part for part in expression.args if not part.is_constant()]
    if more:
        raise _refused(expression)
    stand_in = cp.Variable(inside.shape)
    stand_in.save_value(np.zeros(inside.shape))
    gradient = expression.copy([stand_in if part is inside else part for part in expression.args]).grad[stand_in]
    spread = gradient @ weights if sp.issparse(gradient) else np.reshape(gradient, (inside.size, -1)) @ weights
    return inside, np.asarray(spread, dtype=float).ravel()


def _checked(weights: np.ndarray, expression: Any) -> np.ndarray:
    if not (weights >= 0).all():
        raise ReductionRefused(f"its objective has a negative multiple of {type(expression).__name__}(…)")
    return weights


def _refused(expression: Any) -> ReductionRefused:
    name = type(expression).__name__.removesuffix("Approx").lower()
    return ReductionRefused(
        f"its objective has {name}(…), and only hinges, absolute values, squares and Huber's functions of linear "
        f"expressions are read as functions of single numbers"
    )


def _is_zero(expression: Any) -> bool:
    return expression.is_constant() and not np.any(as_dense(expression.value))


def _multiples(maps: list[sp.csr_array]) -> tuple[np.ndarray, sp.csr_array]:
    """Return numbers α and rows R such that row l of the k-th map is α_lk R_l, or refuse."""
    norms = np.column_stack([sp.linalg.norm(A, axis=1) for A in maps])
    longest = norms.argmax(axis=1)
    R = sp.csr_array(sp.vstack([maps[k][[r]] for r, k in enumerate(longest)], format="csr"))
    products = np.column_stack([np.asarray(A.multiply(R).sum(axis=1)).ravel() for A in maps])
    squares = np.maximum(norms.max(axis=1) ** 2, np.finfo(float).tiny)
    slopes = products / squares[:, None]
    for k, A in enumerate(maps):
        slopes[:, k] = np.where(
            abs(slopes[:, k] - np.round(slopes[:, k])) < 1e-12, np.round(slopes[:, k]), slopes[:, k]
        )
        if abs(sp.csr_array(sp.diags_array(slopes[:, k]) @ R) - A).max() > 4 * np.finfo(float).eps * abs(A).max():
            raise ReductionRefused("its objective has a maximum of more than two different linear expressions")
    return slopes, R


def _require_agreement(program: SeparableSDP, declaration: Declaration, K: cp.Variable) -> None:
    """Refuse what was read if it differs from the declared objective at a sampled point."""
    if program.n > LARGEST_COMPARED:
        return
    rng = np.random.default_rng(0)
    for size in (1.0, 0.05, 20.0):
        point = size * rng.standard_normal(K.shape)
        point = (point + point.T) / 2
        K.save_value(point)
        declared, read = float(declaration.objective.value), program.value(point)
        if not abs(declared - read) <= SAME_NUMBER * (1 + abs(declared) + abs(read)):
            raise ReductionRefused("its objective could not be read as a sum of functions of single numbers")
