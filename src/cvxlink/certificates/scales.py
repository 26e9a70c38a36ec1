r"""The size of a constraint, against which its violation is judged.

A row :math:`\sum_i a_i x_i = b` has the size :math:`\sum_i |a_i x_i| + |b|` of its own terms. An off-diagonal entry of
a semidefinite matrix counts as :math:`\sqrt{K_{ii}K_{jj}}`, which it cannot exceed. So neither a large number elsewhere
nor the unit of a variable nor a factor in front of a constraint changes what is judged.

A row such as :math:`x_i = 0` has no size of its own: at a good answer its terms are rounding errors. It is judged
against the entries of the same variable that constraints connect with its own: their largest value, or the largest
:math:`|b_r|/|a_{ri}|` of their rows. A thousandth of this context also counts for rows whose right-hand side is small
but not zero, as :math:`x_i \ge 10^{-8}`, unless they are about a semidefinite matrix.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.concatenate import Concatenate
from cvxpy.atoms.affine.hstack import Hstack
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.affine.vstack import Vstack
from scipy.sparse.csgraph import connected_components

from ..model.declared import Declaration
from ..model.expressions import is_linear
from ..model.linear_maps import LinearMap
from ..numerics.matrices import as_dense
from ..programs.conic_form import Part
from ..programs.declared import semidefinite_variable
from ..programs.declared_rows import affine_parts
from ..programs.linear_sdp import Rows
from .evaluation import value_of

# A right-hand side that is smaller, relative to the context, is zero.
IS_ZERO = 1e-15
# The share of the context that counts for rows with a right-hand side.
SHARE = 1e-3
# No entry is smaller than this: an answer that is zero has no unit.
LEAST = 1e-6
# Violations below this share of a constraint's own terms need no context.
NEGLIGIBLE = 1e-9
# Programs with more unknowns are taken as connected.
LARGEST_CONNECTED = 40_000
# Coefficients within this factor of the largest one of a variable tell the unit of its entries.
COMPARABLE = 0.1
# Atoms whose constant arguments are added, not multiplied.
JOINING = (AddExpression, Hstack, Vstack, Concatenate)


class Scales:
    """The sizes of the constraints of a declaration at a point, which its variables have as their values."""

    def __init__(self, declaration: Declaration, point: Mapping[str, np.ndarray]) -> None:
        self.declaration, self.point = declaration, point
        owners = {semidefinite_variable(term, declaration.variables) for term in declaration.terms}
        signed = {n for n, v in declaration.variables.items() if v.attributes["PSD"] or v.attributes["NSD"]}
        self.semidefinite = {name for name in owners | signed if name is not None and point[name].ndim == 2}
        self.near = {
            variable.id: _cauchy(point[name]) if name in self.semidefinite else abs(point[name])
            for name, variable in declaration.variables.items()
        }

    def of_entries(self, name: str, violation: np.ndarray) -> np.ndarray:
        """Return the sizes of the entries of a variable, for violations of what its attributes say."""
        variable = self.declaration.variables[name]
        own = np.maximum(self.near[variable.id], LEAST)
        return own if np.all(violation <= NEGLIGIBLE * own) else np.maximum(own, self.far[variable.id])

    def of_constraint(self, term: Any, violation: np.ndarray) -> np.ndarray:
        """Return the sizes of the rows of a constraint, or of a cone as a whole, in the shape of its violations."""
        own = self._joined(term, self.near, constants=True)
        if np.all(violation <= NEGLIGIBLE * own):
            return _positive(own)
        right, context = self._joined(term, {}, constants=True), self._joined(term, self.far, constants=False)
        matrices = {self.declaration.variables[name].id for name in self.semidefinite}
        share = 0.0 if any(v.id in matrices for v in term.variables()) else SHARE
        return _positive(np.maximum(own, np.where(right <= IS_ZERO * context, 1.0, share) * context))

    def _joined(self, term: Any, leaves: Mapping[int, np.ndarray], constants: bool) -> np.ndarray:
        """Return the sizes of the rows of a constraint for given sizes of the entries."""
        kinds = cp.constraints
        if isinstance(term, kinds.Equality | kinds.Inequality):
            return _sum([_magnitude(arg, leaves, constants) for arg in term.args], term.shape)
        if isinstance(term, kinds.PSD):
            matrices = _magnitude(term.args[0], leaves, constants)
            return np.max(np.diagonal(matrices, axis1=-2, axis2=-1), initial=0.0)
        sizes = [_magnitude(arg, leaves, constants) for arg in term.args if isinstance(arg, cp.Expression)]
        if len(sizes) == 1:
            return sizes[0]
        if isinstance(term, kinds.SOC):
            axis = term.axis if sizes[1].ndim > 1 else None
            return sizes[0].ravel() + np.linalg.norm(sizes[1], axis=axis).ravel()
        return np.asarray(sum(size.max(initial=0.0) for size in sizes))

    # ------------------------------------------------------------------ what entries are connected with

    @cached_property
    def far(self) -> dict[int, np.ndarray]:
        """The largest entry of the same variable that is connected with each entry, by the id of the variable."""
        variables = self.declaration.variables
        if sum(variable.size for variable in variables.values()) > LARGEST_CONNECTED:
            return {v.id: np.full(v.shape, max(abs(self.point[n]).max(), LEAST)) for n, v in variables.items()}
        rows = self._rows()
        groups = self._groups(rows)
        far = {}
        for name, variable in variables.items():
            units = np.maximum(abs(self.point[name]).ravel(order="F"), LEAST)
            for bound in variable.get_bounds():
                sizes = np.broadcast_to(abs(as_dense(bound)), variable.shape).ravel(order="F")
                units = np.maximum(units, np.where(np.isfinite(sizes), sizes, 0.0))
            for part in rows:
                _raise_to_units(units, part.A[name], part.a)
            largest = np.zeros(int(groups[name].max(initial=-1)) + 1)
            np.maximum.at(largest, groups[name], units)
            far[variable.id] = largest[groups[name]].reshape(variable.shape, order="F")
        return far

    def _rows(self) -> list[Part]:
        """Return the affine equations and inequalities as matrices."""
        kinds = cp.constraints
        rows = kinds.Equality | kinds.Inequality | kinds.Zero | kinds.NonNeg | kinds.NonPos
        terms = [term for term in self.declaration.terms if isinstance(term, rows)]
        affine = [term for term in terms if all(map(is_linear, term.args)) and term.variables()]
        return affine_parts(self.declaration, affine)

    def _groups(self, rows: list[Part]) -> dict[str, np.ndarray]:
        """Return, for the entries of each variable, the number of the group that rows, cones and costs connect."""
        variables = self.declaration.variables
        blocks = [sp.hstack([abs(part.A[name]) for name in variables], format="csr") for part in rows]
        whole = [term for term in (self.declaration.objective.args[0], *self.declaration.terms) if _connects_all(term)]
        for term in whole:  # each as one row, with all entries of its variables
            used = {variable.id for variable in term.variables()}
            parts = [np.full(v.size, float(v.id in used)) for v in variables.values()]
            blocks.append(sp.csr_array(np.concatenate(parts)[None]))
        for k, variable in enumerate(variables.values()):
            if variable.attributes["PSD"] or variable.attributes["NSD"]:
                parts = [np.full(v.size, float(j == k)) for j, v in enumerate(variables.values())]
                blocks.append(sp.csr_array(np.concatenate(parts)[None]))
        total = sum(variable.size for variable in variables.values())
        pattern = sp.vstack(blocks, format="csr") if blocks else sp.csr_array((0, total))
        graph = sp.block_array([[None, pattern.T], [pattern, None]]) if blocks else sp.csr_array((total, total))
        labels = connected_components(graph, directed=False)[1][:total]
        ends = np.cumsum([variable.size for variable in variables.values()])[:-1]
        return dict(zip(variables, np.split(labels, ends), strict=True))


def row_sizes(rows: Rows, diagonal: np.ndarray, largest: float) -> np.ndarray:
    """Return the sizes of the rows of a linear semidefinite program, from the diagonal of K and its largest entry."""
    n, A = len(diagonal), sp.coo_array(rows.A)
    lengths = np.sqrt(diagonal)
    terms = abs(A.data) * lengths[A.col // n] * lengths[A.col % n]
    own = np.bincount(A.row, terms, len(rows)) + abs(rows.b)
    context = np.bincount(A.row, abs(A.data), len(rows)) * max(largest, LEAST)
    share = np.where(abs(rows.b) <= IS_ZERO * context, 1.0, 0.0)
    return _positive(np.maximum(own, share * context))


def _cauchy(K: np.ndarray) -> np.ndarray:
    """Return the larger of |K_ij| and √(K_ii K_jj)."""
    lengths = np.sqrt(abs(np.diag(K)))
    return np.maximum(abs(K), np.outer(lengths, lengths))


def _positive(sizes: np.ndarray) -> np.ndarray:
    return np.maximum(sizes, 1e-300)


def _sum(sizes: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(sum(np.broadcast_to(size, shape) for size in sizes))


def _raise_to_units(units: np.ndarray, A: sp.csr_array, a: np.ndarray) -> None:
    """Raise the sizes of entries to |a_r| / |A_ri| for rows in which their coefficients count."""
    entries = sp.coo_array(A)
    if not entries.nnz:
        return
    sizes = abs(entries.data)
    largest = np.zeros(A.shape[0])
    np.maximum.at(largest, entries.row, sizes)
    counts = (sizes >= COMPARABLE * largest[entries.row]) & (sizes > 0)
    np.maximum.at(units, entries.col[counts], abs(a)[entries.row[counts]] / sizes[counts])


def _connects_all(term: Any) -> bool:
    """Whether an objective or a constraint is not made of rows."""
    if isinstance(term, cp.Expression):
        return not is_linear(term)
    kinds = cp.constraints
    if isinstance(term, kinds.Equality | kinds.Inequality):
        return not is_linear(term.expr)
    return not isinstance(term, kinds.Zero | kinds.NonNeg | kinds.NonPos)


def _magnitude(expression: Any, leaves: Mapping[int, np.ndarray], constants: bool) -> np.ndarray:
    """Return the sum of the sizes of the terms of an expression, for sizes of the entries of variables.

    Terms that are not linear count with their values, or at the given sizes if constants do not count.
    """
    if isinstance(expression, cp.Variable):
        return leaves.get(expression.id, np.zeros(expression.shape))
    if expression.is_constant():
        size = abs(np.asarray(as_dense(expression.value), dtype=float))
        return size if constants else np.zeros(expression.shape)
    if isinstance(expression, NegExpression):
        return _magnitude(expression.args[0], leaves, constants)
    if isinstance(expression, AddExpression):
        return _sum([_magnitude(arg, leaves, constants) for arg in expression.args], expression.shape)
    if not isinstance(expression, AffAtom):
        return _magnitude_of_function(expression, leaves, constants)
    adds = isinstance(expression, JOINING)
    sizes = [
        _magnitude(arg, leaves, constants) if adds or not arg.is_constant() else abs(as_dense(arg.value))
        for arg in expression.args
    ]
    if isinstance(expression, LinearMap):
        found = abs(expression.A) @ sizes[0].ravel()
    else:
        found = abs(as_dense(expression.numeric(sizes)))
    return np.asarray(found, dtype=float).reshape(expression.shape)


def _magnitude_of_function(expression: Any, leaves: Mapping[int, np.ndarray], constants: bool) -> np.ndarray:
    if not leaves:
        return np.zeros(expression.shape)
    value = abs(value_of(expression))
    if constants:
        return np.where(np.isfinite(value), value, 0.0)
    sizes = [
        abs(as_dense(arg.value)) if arg.is_constant() else _magnitude(arg, leaves, constants) for arg in expression.args
    ]
    with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):  # the sizes of entries may make no matrix
        found = abs(np.asarray(as_dense(expression.numeric(sizes)), dtype=float)).reshape(expression.shape)
        return np.where(np.isfinite(found), found, np.where(np.isfinite(value), value, 0.0))
    return np.where(np.isfinite(value), value, 0.0)
