"""The coefficients of affine expressions in one symmetric matrix.

Linear maps know their coefficients; those of CVXPY's selections, sums and multiples follow from their parts. For
anything else CVXPY's compiler is asked.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.diag import diag_mat
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.trace import Trace
from cvxpy.atoms.affine.transpose import transpose
from cvxpy.atoms.affine.unary_operators import NegExpression

from ..model.linear_maps import LinearMap, at_places
from ..numerics.matrices import as_dense
from .conic_form import coefficients_of, whole_map

Map = tuple[sp.csr_array, np.ndarray]  # A and a: the expression is A·vec(K) + a


def coefficients(expression: Any, K: cp.Variable) -> Map:
    """Return A, with one row for each entry of the expression, symmetrised, and a: expression = A·vec(K) + a."""
    known = known_coefficients(expression, K)
    return compiled_coefficients(expression, K) if known is None else known


def compiled_coefficients(expression: Any, K: cp.Variable) -> Map:
    """Return the same as CVXPY's compiler has them."""
    matrix, offsets, first = whole_map([expression])
    A = coefficients_of(K, matrix, first.get(K.id))
    A.eliminate_zeros()
    return A, offsets


def known_coefficients(expression: Any, K: cp.Variable) -> Map | None:
    """Return the same if they follow from those of the parts of the expression; else None."""
    known = _known_map(expression, K)
    return known if known is not None and known[0].shape[0] == len(known[1]) == expression.size else None


def _known_map(expression: Any, K: cp.Variable) -> Map | None:
    """Return the coefficients of an expression made of linear maps that know them, sums and multiples; else None."""
    if all(variable is not K for variable in expression.variables()):
        constant = np.asarray(as_dense(expression.value), dtype=float).ravel(order="F")
        return sp.csr_array((expression.size, K.size)), constant
    if isinstance(expression, LinearMap) and expression.args[0] is K:
        return expression.A, np.zeros(expression.size)
    places = _selected(expression, K)
    if places is not None:
        n, count = K.shape[0], len(places)
        return at_places(n, np.arange(count), places // n, places % n, np.ones(count), count), np.zeros(count)
    if isinstance(expression, Sum | Trace):
        return _known_sum(expression, K)
    if isinstance(expression, AddExpression):
        return _known_addition(expression, K)
    if isinstance(expression, NegExpression):
        return _times(-1.0, _known_map(expression.args[0], K))
    if isinstance(expression, DivExpression) and expression.args[1].size == 1:
        return _times(1 / float(np.sum(expression.args[1].value)), _known_map(expression.args[0], K))
    product = _known_matrix_product(expression, K)
    if product is not None:
        return product
    if isinstance(expression, MulExpression) and expression.args[0].is_constant():  # cp.multiply is one too
        return _known_product(expression, K)
    return None


def _times(factor: float, known: Map | None) -> Map | None:
    return None if known is None else (factor * known[0], factor * known[1])


def _known_addition(expression: Any, K: cp.Variable) -> Map | None:
    """Return the sum of parts, of which numbers are repeated for every entry."""
    parts = [part for part in (_known_map(part, K) for part in expression.args) if part is not None]
    if len(parts) < len(expression.args) or any(len(a) not in (1, expression.size) for _, a in parts):
        return None
    wide = [A if A.shape[0] == expression.size else _repeated(A, expression.size) for A, _ in parts]
    return sp.csr_array(sum(wide[1:], wide[0])), sum((a for _, a in parts), np.zeros(expression.size))


def _known_product(expression: Any, K: cp.Variable) -> Map | None:
    """Return a multiple, one multiple per entry, or a weighted sum."""
    factor, inside = expression.args[0], _known_map(expression.args[1], K)
    if inside is None:
        return None
    (A, a), entrywise = inside, isinstance(expression, cp.multiply)
    if len(a) == expression.size and (entrywise or factor.size == 1):
        value = as_dense(factor.value)
        if factor.size > 1 and factor.ndim > len(expression.shape):
            return None
        numbers = np.broadcast_to(value.item() if factor.size == 1 else value, expression.shape).ravel(order="F")
        return sp.csr_array(sp.diags_array(numbers) @ A), numbers * a
    if factor.ndim == 1 and len(a) == factor.size and expression.size == 1 and not entrywise:
        weights = sp.csr_array(np.atleast_2d(as_dense(factor.value)))
        return sp.csr_array(weights @ A), weights @ a
    return None


def _known_matrix_product(expression: Any, K: cp.Variable) -> Map | None:
    """Return the product of K with a constant vector or matrix B, from the left or from the right; else None."""
    if type(expression) is not MulExpression or not any(_is_matrix(arg, K) for arg in expression.args):
        return None
    from_left = _is_matrix(expression.args[1], K)
    factor = expression.args[0 if from_left else 1]
    if not factor.is_constant() or factor.ndim not in (1, 2):
        return None
    n, B = K.shape[0], as_dense(factor.value)
    B = B.T if from_left and B.ndim == 2 else B.reshape(n, -1)
    # Entry (r, c) of KB is the sum of K_rj B_jc over j; BK is the transpose of KBᵀ.
    j, c = np.nonzero(B)
    r = np.repeat(np.arange(n), len(j))
    j, c = np.tile(j, n), np.tile(c, n)
    row = c + r * B.shape[1] if from_left else r + c * n
    return at_places(n, row, r, j, B[j, c], expression.size), np.zeros(expression.size)


def _selected(expression: Any, K: cp.Variable) -> np.ndarray | None:
    """Return the places, row by row, of the entries of K that an expression selects, or None if it does more."""
    if not getattr(expression, "args", None) or expression.args[0] is not K:
        return None
    n = K.shape[0]
    if isinstance(expression, index | special_index):
        # The key as it was written: the normalised one of ``K[::-1]`` means nothing to NumPy.
        key = expression._orig_key if isinstance(expression, index) else expression.key
        return np.arange(n * n).reshape(n, n)[key].ravel(order="F")
    return np.arange(n) * (n + 1) if isinstance(expression, diag_mat) and expression.k == 0 else None


def _known_sum(expression: Any, K: cp.Variable) -> Map | None:
    """Return a trace, or sums of entries: of the rows of K, of C∘K for a constant C, or of maps that know theirs."""
    inside, n = expression.args[0], K.shape[0]
    if isinstance(expression, Trace):
        if inside is not K:
            return None
        inside = cp.diag(K)
    elif inside is K:  # over rows or columns, which are the same, or over all
        i, j = np.divmod(np.arange(n * n), n)
        row = i if expression.size == n else np.zeros(n * n, dtype=int)
        return at_places(n, row, i, j, np.ones(n * n), expression.size), np.zeros(expression.size)
    if expression.size != 1:
        return None
    if isinstance(inside, cp.multiply) and _is_matrix(inside.args[1], K) and inside.args[0].shape == K.shape:
        C = sp.coo_array(inside.args[0].value)
        place = C.row.astype(np.int64), C.col.astype(np.int64)
        return at_places(n, np.zeros(C.nnz, dtype=int), *place, C.data, 1), np.zeros(1)
    known = _known_map(inside, K)
    if known is None:
        return None
    ones = sp.csr_array(np.ones((1, len(known[1]))))
    return sp.csr_array(ones @ known[0]), ones @ known[1]


def _is_matrix(expression: Any, K: cp.Variable) -> bool:
    """Whether an expression is K or its transpose, which is the same matrix."""
    return expression is K or (isinstance(expression, transpose) and expression.args[0] is K)


def _repeated(A: sp.csr_array, times: int) -> sp.csr_array:
    return sp.csr_array(sp.vstack([A] * times, format="csr"))
