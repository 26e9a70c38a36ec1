"""Terms of objectives: values on the points of a graph."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from ..model.expressions import as_coefficients, as_expression
from ..numerics.arguments import as_text
from ..numerics.checks import as_matrix
from .arguments import like, on_graph, traced
from .writing import stands_for


def fit(F: Any, Y: Any, symbol: str = "Y") -> Any:
    r""":math:`\|F - Y\|^2`: F should be close to Y."""
    F, symbol = as_expression(F, "F"), as_text(symbol, "symbol")
    Y = as_coefficients(Y, "Y", F.shape, like(F, "F"))
    return stands_for(cp.sum_squares(F - Y), rf"\|@ - {symbol}\|^2", F)


def smooth_columns(F: Any, R: Any, symbol: str = "L") -> Any:
    r""":math:`\operatorname{tr}(F^\top L F) = \|RF\|^2` with :math:`L = R^\top R`: neighbours have similar rows."""
    F, R = on_graph(F, R, symbol)
    return stands_for(cp.sum_squares(R @ F), traced(F, rf"@^\top {symbol} @"), F)


def smooth_rows_and_columns(F: Any, R: Any, symbol: str = "L") -> Any:
    r""":math:`\operatorname{tr}(F^\top L F + F L F^\top)`: neighbours have similar rows, and similar columns."""
    F, R = on_graph(F, R, symbol, square=True)
    tex = rf"\operatorname{{tr}}(@^\top {symbol} @ + @ {symbol} @^\top)"
    return stands_for(cp.sum_squares(R @ F) + cp.sum_squares(F @ R.T), tex, F)


def smooth_on_both_sides(F: Any, R: Any, symbol: str = "L") -> Any:
    r""":math:`\operatorname{tr}(F^\top L F L) = \|RFR^\top\|^2`: pairs of neighbours have similar entries."""
    F, R = on_graph(F, R, symbol, square=True)
    return stands_for(cp.sum_squares(R @ F @ R.T), rf"\operatorname{{tr}}(@^\top {symbol} @ {symbol})", F)


def quadratic_form(f: Any, A: Any, symbol: str = "A") -> Any:
    r""":math:`\operatorname{tr}(f^\top A f)`, for any symmetric A: not convex unless A is semidefinite."""
    f, symbol = as_expression(f, "f", (None,), (None, None)), as_text(symbol, "symbol")
    A = as_matrix(A, "A", (f.shape[0], f.shape[0]), because=like(f, "f"))
    return stands_for(cp.sum(cp.multiply(f, A @ f)), traced(f, rf"@^\top {symbol} @"), f)
