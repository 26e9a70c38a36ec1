"""Values of expressions at points that may miss the domain by a rounding error."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np

from ..numerics.matrices import as_dense
from ..programs.conic_form import nearest_semidefinite

# An argument is moved into the domain over at most this distance, relative to its largest entry or to 1.
NEARLY_INSIDE = 1e-4
ROUNDING = 1e-15


def value_of(expression: Any) -> np.ndarray:
    """Return the value of an expression, with arguments moved into the domains of functions that they nearly meet.

    CVXPY says that −p log p is −∞ at p = −1e-11, where a solver means p = 0. Such an argument is replaced by the
    nearest one in the domain; the distance to it is a violation of its own.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of CVXPY's, about sparse values and logarithms of zero
        return _value(expression)


def _value(expression: Any) -> np.ndarray:
    try:
        value = np.asarray(as_dense(expression.value), dtype=float)
    except np.linalg.LinAlgError:  # CVXPY inverts a singular matrix
        value = np.full(expression.shape, np.inf)
    if np.isfinite(value).all() or not expression.args:
        return value
    inside = [_value(part) for part in expression.args]
    for limit in expression._domain() if hasattr(expression, "_domain") else ():
        for k, part in enumerate(expression.args):
            inside[k] = _moved(inside[k], part, limit)
    try:
        return np.asarray(as_dense(expression.numeric(inside)), dtype=float).reshape(expression.shape)
    except np.linalg.LinAlgError:
        return value


def _moved(value: np.ndarray, argument: Any, limit: Any) -> np.ndarray:
    """Return the value of an argument, moved a little if needed so that a limit on just this argument holds."""
    limited = limit.args[-1]
    if limited is not argument and not any(part is argument for part in limited.args):
        return value
    if isinstance(limit, cp.constraints.Inequality) and limit.args[0].is_constant():
        near = np.maximum(value, float(np.max(as_dense(limit.args[0].value))))
    elif isinstance(limit, cp.constraints.PSD) and np.isfinite(value).all():
        # A little inside, so that rounding does not put an eigenvalue of zero outside again.
        size = float(abs(value).max(initial=0.0))
        near = nearest_semidefinite(value) + ROUNDING * size * len(value) * np.eye(len(value))
    else:
        return value
    off, size = abs(near - value).max(initial=0.0), max(abs(value).max(initial=0.0), 1.0)
    return near if off <= NEARLY_INSIDE * size else value
