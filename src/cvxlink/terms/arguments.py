"""What terms are made of: points, links and their weights, checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import cvxpy as cp
import numpy as np

from ..data.link_weights import as_link_values, on_links
from ..data.links import Links
from ..errors import InvalidInput
from ..model.expressions import as_expression, as_square_expression
from ..numerics.arguments import as_instance, as_text
from ..numerics.checks import as_matrix, as_numbers_of_points


def like(expression: Any, name: str) -> str:
    """Return what an expression is like, for messages."""
    return f"{name} has the shape {expression.shape}"


def traced(f: Any, form: str) -> str:
    """Return the LaTeX of a quadratic form; for several columns, of its trace."""
    return form if f.ndim < 2 or f.shape[1] == 1 else rf"\operatorname{{tr}}({form})"


def link_pairs(K: Any, links: Any, kind: str, name: str = "K") -> np.ndarray:
    """Return the links of a kind; a kernel has to be on as many points, anything else to have as many rows."""
    order = (as_square_expression(K, name) if name == "K" else K).shape[0]
    as_instance(links, Links, "links", "a Links object: Links(n, must=…, cannot=…)")
    if order != links.n:
        raise InvalidInput(f"the links are on {links.n} points, but {like(K, name)}", "links")
    return getattr(links, kind)


def as_points(points: Any, n: int, because: str) -> np.ndarray:
    """Return numbers of points, from numbers or from a mask."""
    if isinstance(points, np.ndarray) and points.dtype == bool and points.shape == (n,):
        return np.flatnonzero(points)
    return np.atleast_1d(as_numbers_of_points(points, n, "points", because)).ravel()


def on_graph(F: Any, R: Any, symbol: Any, square: bool = False) -> tuple[Any, Any]:
    """Return values on the points of a graph, and its incidence matrix."""
    as_text(symbol, "symbol")
    F = as_square_expression(F, "F") if square else as_expression(F, "F", (None,), (None, None))
    return F, as_matrix(R, "R", (None, F.shape[0]), because=like(F, "F"))


def weighted(K: Any, links: Links, kind: str, weight: Any) -> tuple[np.ndarray, Any]:
    """Return the two ends of the links of a kind, and their weights."""
    pairs = link_pairs(K, links, kind)
    return pairs.T, link_weights(weight, links, pairs)


def link_weights(weight: Any, links: Links, pairs: np.ndarray) -> Any:
    """Return the weights of some links, in their order."""
    if isinstance(weight, cp.Expression):  # a parameter, in a program that is compiled once
        return as_expression(weight, "weight", (len(pairs),))
    return on_links(as_link_values(weight, pairs, links.n, "weight"), pairs, "weight", positive=False, default=1.0)


def about_links(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let the constraint that a function returns know that its rows are about links, so that messages can name them."""

    def decorate(term: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(term)
        def marked(K: Any, links: Links, *further: Any, **named: Any) -> Any:
            constraint = term(K, links, *further, **named)
            constraint.on_links = kind, getattr(links, kind)
            return constraint

        return marked

    return decorate
