"""How one's own terms are printed."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
from cvxpy.atoms.affine.add_expr import AddExpression

from ..numerics.arguments import as_instance, as_text


def stands_for(term: Any, tex: str, of: Any) -> Any:
    """Give a CVXPY expression or constraint its LaTeX, with @ for the variable ``of``, and return it.

    The LaTeX stays when the expression is negated, multiplied or divided by a number or a parameter, added to others,
    put into ``cp.maximum``, or bounded by ``<=``, ``>=`` and ``==``.
    """
    as_instance(term, (cp.Expression, cp.Constraint), "term", "a CVXPY expression or constraint")
    as_text(tex, "tex")
    as_instance(of, cp.Expression, "of", "a CVXPY variable or expression")
    if isinstance(term, AddExpression):
        term = cp.multiply(1.0, term)  # CVXPY flattens nested sums, and this one would lose its LaTeX
    term.stands_for = tex, of
    return term


def written_as(variable: Any, tex: str) -> Any:
    """Give a variable or parameter a LaTeX symbol other than its name, and return it."""
    as_instance(variable, (cp.Variable, cp.Parameter), "variable", "a CVXPY variable or parameter")
    variable.written_as = as_text(tex, "tex")
    return variable
