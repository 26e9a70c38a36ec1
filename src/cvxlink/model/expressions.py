"""Checks on what terms and formulations are made of: CVXPY expressions, and the numbers that go with them."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput
from ..numerics.arguments import shown
from ..numerics.checks import as_matrix, real_array

Shape = tuple[int | None, ...]


def as_expression(value: Any, name: str, *shapes: Shape) -> cp.Expression:
    """Return a real CVXPY expression of one of some shapes, in which None stands for any length."""
    if not isinstance(value, cp.Expression):
        raise InvalidInput.about(name, f"must be a CVXPY variable or expression, not {shown(value)}")
    if value.is_complex():
        raise InvalidInput.about(name, "is complex; use a real variable")
    if shapes and not any(_fits(value.shape, shape) for shape in shapes):
        raise InvalidInput.about(name, f"must be {_said(shapes)}; its shape is {value.shape}")
    return value


def as_square_expression(value: Any, name: str) -> cp.Expression:
    """Return an expression that is a square matrix."""
    expression = as_expression(value, name, (None, None))
    if expression.shape[0] != expression.shape[1] or not expression.shape[0]:
        raise InvalidInput.about(name, f"must be square and not empty; its shape is {expression.shape}")
    return expression


def as_coefficients(value: Any, name: str, shape: tuple[int, ...], because: str) -> Any:
    """Return numbers of a given shape, or one for all: an array, a sparse matrix, or an expression of CVXPY.

    ``because`` says in messages why they have to be of that shape.
    """
    if isinstance(value, cp.Expression):
        return as_expression(value, name, shape, ())
    array = as_matrix(value, name, (None, None)) if sp.issparse(value) else real_array(value, name)
    if array.shape not in (shape, ()):
        raise InvalidInput.about(name, f"must be {_said((shape, ()))}, because {because}; its shape is {array.shape}")
    if sp.issparse(array):
        return array
    if not np.isfinite(array).all():
        raise InvalidInput.about(name, "has NaN or infinite entries; remove them first")
    return array


def _fits(found: tuple[int, ...], wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(w in (None, f) for f, w in zip(found, wanted, strict=True))


def _said(shapes: tuple[Shape, ...]) -> str:
    words = {0: "a number", 1: "a vector", 2: "a matrix"}
    parts = []
    for shape in dict.fromkeys(shapes):
        sizes = " × ".join("any number" if size is None else str(size) for size in shape)
        parts.append(f"{words.get(len(shape), 'an array')}{f' of {sizes}' if sizes else ''}")
    return " or ".join(parts)


def is_linear(expression: Any) -> bool:
    """Whether an expression is affine, and so are its parts; CVXPY also calls 0 · x² affine."""
    return bool(expression.is_affine()) and all(map(is_linear, expression.args))
