r"""A bound for linear programs with logarithms of determinants in the objective, from the conjugate of the latter.

For multipliers λ of the constraints, the rest of the Lagrangian is linear in each variable, with the slope S in K. Then

.. math:: \min_{K \succ 0}\ \langle S, K\rangle - w \log\det K \ =\ w\,(n + \log\det(S/w)), \qquad S \succ 0 .

No slope is left in K, so nothing has to limit it. The other variables must be limited by their own bounds, unless
their slopes vanish. CVXPY's form of log det has a block of twice the order; this needs one factorisation of S.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.unary_operators import NegExpression

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.expressions import is_linear
from ..numerics.matrices import as_dense
from ..numerics.rounding import gamma
from ..programs.conic_form import affine_maps
from ..programs.declared import body_of, semidefinite_variable
from .multipliers import split_multipliers

ROWS = cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero


def log_det_bound(declaration: Declaration, duals: Mapping[str, Any], sign: float) -> tuple[float, float]:
    """Return a lower bound on sign times the objective, and an estimate of its rounding; or refuse."""
    linear, weights = _parts_of_objective(declaration, sign)
    terms = [(name, k, term) for name, group in declaration.constraints.items() for k, term in enumerate(group)]
    rows = [(name, k, term) for name, k, term in terms if not _is_domain(term, declaration, weights)]
    if not all(isinstance(term, ROWS) and is_linear(body_of(term)) for _, _, term in rows):
        raise ReductionRefused("not all of its constraints are linear")
    maps = affine_maps([linear, *(body_of(term) for *_, term in rows)], declaration.variables, [])
    total, size = float(maps[0].a.sum()), float(abs(maps[0].a).sum())
    slopes = {name: np.asarray(block.sum(axis=0)).ravel() for name, block in maps[0].A.items()}
    for (name, k, term), part in zip(rows, maps[1:], strict=True):
        price = _price(declaration, name, k, term, duals, sign)
        total, size = total + float(price @ part.a), size + float(abs(price) @ abs(part.a))
        slopes = {variable: slope + part.A[variable].T @ price for variable, slope in slopes.items()}
    for name, slope in slopes.items():
        least = _least(declaration.variables[name], slope, weights.get(name))
        total, size = total + least, size + abs(least) + float(abs(slope).sum())
    return total, gamma(8 * sum(map(len, slopes.values())) + 64) * size


def _parts_of_objective(declaration: Declaration, sign: float) -> tuple[Any, dict[str, float]]:
    """Return the linear part of sign times the objective, and the weights w of −w log det K by the names of K."""
    linear: list[Any] = [cp.Constant(0.0)]
    weights: dict[str, float] = {}
    names = {variable.id: name for name, variable in declaration.variables.items()}
    for weight, part in _terms(declaration.objective.args[0], sign):
        if is_linear(part):
            linear.append(weight * part)
        elif weight < 0 and isinstance(part, cp.log_det) and _is_symmetric_variable(part.args[0]):
            name = names[part.args[0].id]
            weights[name] = weights.get(name, 0.0) - weight
        else:
            raise ReductionRefused("its objective has parts that are not linear, other than log det of a variable")
    if not weights:
        raise ReductionRefused("its objective has no log det")
    return cp.sum(cp.hstack([cp.sum(part) for part in linear])), weights


def _is_symmetric_variable(expression: Any) -> bool:
    return isinstance(expression, cp.Variable) and expression.is_symmetric()


def _terms(expression: Any, weight: float) -> Iterator[tuple[float, Any]]:
    """Yield the terms of a sum with their weights."""
    if isinstance(expression, AddExpression) and all(arg.size == 1 for arg in expression.args):
        for part in expression.args:
            yield from _terms(part, weight)
    elif isinstance(expression, NegExpression):
        yield from _terms(expression.args[0], -weight)
    elif isinstance(expression, DivExpression) and expression.args[1].is_constant():
        yield from _terms(expression.args[0], weight / float(np.sum(expression.args[1].value)))
    elif isinstance(expression, MulExpression) and expression.args[0].is_constant() and expression.args[0].size == 1:
        yield from _terms(expression.args[1], weight * float(np.sum(as_dense(expression.args[0].value))))
    else:
        yield weight, expression


def _is_domain(term: Any, declaration: Declaration, weights: Mapping[str, float]) -> bool:
    """Whether a constraint says that K ⪰ 0, which log det says anyway."""
    return semidefinite_variable(term, declaration.variables) in weights


def _price(declaration: Declaration, name: str, k: int, term: Any, duals: Mapping[str, Any], sign: float) -> np.ndarray:
    """Return what multiplies lhs − rhs of a constraint in the Lagrangian."""
    if name not in duals:
        raise ReductionRefused(f"there are no multipliers for {name!r}")
    dual = list(split_multipliers(name, declaration.constraints[name], duals[name], sign))[k]
    return np.maximum(dual, 0.0) if isinstance(term, cp.constraints.Inequality) else -dual


def _least(variable: cp.Variable, slope: np.ndarray, weight: float | None) -> float:
    """Return the least value of slope · x, with −w log det of it if there is a weight."""
    if weight is not None:
        n = variable.shape[0]
        S = slope.reshape(n, n) / weight
        try:
            factor = np.linalg.cholesky((S + S.T) / 2)
        except np.linalg.LinAlgError as error:
            raise ReductionRefused("its multipliers leave a slope that is not positive definite") from error
        return weight * (n + 2 * float(np.log(np.diag(factor)).sum()))
    lower, upper = (np.broadcast_to(as_dense(b), variable.shape).ravel(order="F") for b in variable.get_bounds())
    used = slope != 0
    where = np.where(slope > 0, lower, upper)[used]
    if not np.isfinite(where).all():
        raise ReductionRefused("nothing limits one of its variables")
    return float(slope[used] @ where)
