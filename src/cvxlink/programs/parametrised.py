"""Conic programs whose costs and offsets are CVXPY parameters: compiled once, solved for many numbers.

Reductions and duals are computed from numbers, so the parameters of a formulation do not survive them. What survives is
the shape: the dual of a program with another weight has other costs and offsets, and the same coefficients. A
program of affine expressions :math:`A_r x + a_r` in cones is therefore declared once more with parameters for the cost
and for each :math:`a_r`; another program with the same :math:`A_r` only sets their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import cvxpy.lin_ops.lin_utils as lin
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.expressions import is_linear
from .conic_form import Part, affine_maps
from .declared import body_of

ROWS = (cp.constraints.Equality, cp.constraints.Inequality, cp.constraints.Zero)
# A parameter has as many entries as the expression it stands in; compiling larger ones takes longer than it saves.
MOST_ENTRIES = 250_000


@dataclass(frozen=True, eq=False)
class Parametrised:
    """A program of affine expressions in cones, with parameters for its costs and offsets."""

    declaration: Declaration
    compiled: cp.Problem
    parts: list[Part]
    costs: dict[str, cp.Parameter]
    offsets: list[cp.Parameter]

    @classmethod
    def of(cls, declaration: Declaration) -> Parametrised:
        """Declare a program once more with parameters, or refuse if it is not made of affine expressions in cones."""
        parts = _read(declaration)
        variables = declaration.variables
        costs = {name: cp.Parameter(v.size, value=_cost(parts[0], name)) for name, v in variables.items()}
        offsets = [cp.Parameter(part.a.shape, value=part.a) for part in parts]
        flat = {name: cp.vec(variable, order="F") for name, variable in variables.items()}
        objective = type(declaration.objective)(sum((costs[n] @ flat[n] for n in variables), cp.sum(offsets[0])))
        made = (_made(part, flat, offset) for part, offset in zip(parts[1:], offsets[1:], strict=True))
        groups = {name: [_again(term, made) for term in group] for name, group in declaration.constraints.items()}
        again = Declaration(variables, objective, groups)
        return cls(again, again.to_cvxpy(), parts, costs, offsets)

    def takes(self, declaration: Declaration) -> bool:
        """Whether a program differs in costs and offsets only; if so, these become the values of the parameters."""
        parts = _read(declaration)
        if not self._has_shape_of(parts):
            return False
        for name, cost in self.costs.items():
            cost.value = _cost(parts[0], name)
        for offset, part in zip(self.offsets, parts, strict=True):
            offset.value = part.a
        return True

    def _has_shape_of(self, parts: list[Part]) -> bool:
        if [part.shape for part in parts] != [part.shape for part in self.parts]:
            return False
        pairs = zip(parts[1:], self.parts[1:], strict=True)
        return all(part.A.keys() == own.A.keys() and _same(part, own) for part, own in pairs)


def _same(part: Part, own: Part) -> bool:
    return all(
        block.shape == own.A[name].shape and (sp.csr_array(block) != own.A[name]).nnz == 0
        for name, block in part.A.items()
    )


def _read(declaration: Declaration) -> list[Part]:
    """Return the objective, and the arguments of each constraint, as matrices and offsets."""
    expressions = [declaration.objective.args[0]]
    for term in declaration.terms:
        expressions += _arguments(term)
    if not all(map(is_linear, expressions)):
        raise ReductionRefused("it is not linear, so its numbers cannot be told from its shape")
    if sum(expression.size for expression in expressions) > MOST_ENTRIES:
        raise ReductionRefused("it is too large for parameters in every expression")
    return affine_maps(expressions, declaration.variables, [])


def _arguments(term: Any) -> list[Any]:
    return [body_of(term)] if isinstance(term, ROWS) else list(term.args)


def _again(term: Any, made: Any) -> Any:
    """Return a constraint on the next expressions that were made for it."""
    arguments = [next(made) for _ in _arguments(term)]
    if isinstance(term, cp.constraints.Equality | cp.constraints.Inequality):
        arguments.append(cp.Constant(np.zeros(arguments[0].shape)))
    copied = term.copy(arguments)
    copied.id = lin.get_id()
    return copied


def _made(part: Part, flat: dict[str, Any], offset: cp.Parameter) -> Any:
    linear = (part.A[name] @ x for name, x in flat.items() if part.A[name].nnz)
    return cp.reshape(sum(linear, offset), part.shape, order="F")


def _cost(objective: Part, name: str) -> np.ndarray:
    return objective.A[name].toarray().ravel()
