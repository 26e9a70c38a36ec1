"""CVXPY expressions and constraints with other variables in the place of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cvxpy as cp
import cvxpy.lin_ops.lin_utils as lin
from cvxpy.atoms.perspective import perspective
from cvxpy.atoms.suppfunc import SuppFuncAtom
from cvxpy.transforms.indicator import indicator
from cvxpy.transforms.partial_optimize import PartialProblem

from ..errors import InvalidProblem

# They keep expressions, variables or whole problems outside their arguments, where nothing can be replaced.
CLOSED = (perspective, SuppFuncAtom, indicator, PartialProblem)


class Substitution:
    """Puts other expressions in the place of some, wherever they occur.

    An expression that occurs in several places is copied once. Copies of constraints are constraints of their own, with
    multipliers of their own.

    Parameters
    ----------
    replaced : pairs
        Variables or parameters, and what comes in their place.
    """

    def __init__(self, replaced: Iterable[tuple[Any, Any]]) -> None:
        # The originals are kept as well: ``id()`` of something that is gone may become that of something else.
        self._copies = {id(original): (original, other) for original, other in replaced}

    def __call__(self, node: Any) -> Any:
        """Return an expression, objective or constraint with its replacements."""
        if id(node) in self._copies:
            return self._copies[id(node)][1]
        if isinstance(node, CLOSED):
            raise InvalidProblem(
                f"the atom {type(node).__name__} holds variables that cannot be replaced; write it with other atoms"
            )
        arguments = getattr(node, "args", None)
        if not arguments:  # constants, and variables that stay
            return node
        copied = node.copy([[self(p) for p in part] if isinstance(part, list) else self(part) for part in arguments])
        if isinstance(copied, cp.Constraint):
            copied.id = lin.get_id()
        if hasattr(node, "stands_for"):
            tex, of = node.stands_for
            copied.stands_for = tex, self(of)
        self._copies[id(node)] = node, copied
        return copied
