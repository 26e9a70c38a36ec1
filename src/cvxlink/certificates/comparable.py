r"""Errors of an answer that mean the same for every solver and every kind of program.

The DIMACS errors are defined for linear semidefinite programs. For :math:`\min f(x)` with constraints
:math:`g_i(x) \in \mathcal K_i` and multipliers :math:`w_i` the same four quantities are read off the Lagrangian
:math:`f - \sum_i w_i^\top g_i` of the declared program, with the norms of DIMACS: Euclidean in the numerators, largest
absolute entries in the denominators. For a linear semidefinite program they are its DIMACS errors, two by two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.elementwise.power import Power
from cvxpy.atoms.matrix_frac import MatrixFrac

from ..errors import CvxlinkError, ReductionRefused
from ..model.declared import Declaration, declared_variables
from ..model.expressions import is_linear
from ..numerics.matrices import Arrays, as_dense
from ..programs.base import Program
from ..programs.conic_form import has_bounds
from ..programs.declared import SpecialProgram, body_of, name_of_cone
from .certificate import Certificate
from .certify import ONE_AT_A_TIME
from .evaluation import value_of
from .general import gradient_at
from .multipliers import split_multipliers
from .violations import checked_point, judged_violations

# The Lagrangian of programs with more unknowns is not written down.
LARGEST = 250_000
# Functions with a gradient wherever they are finite, beside those that are affine. At a kink there are many
# subgradients, and the one that CVXPY picks says nothing about optimality.
SMOOTH = (
    cp.quad_over_lin,
    cp.QuadForm,
    cp.log_det,
    cp.log,
    cp.exp,
    cp.entr,
    cp.kl_div,
    cp.rel_entr,
    cp.logistic,
    Power,
    MatrixFrac,
    cp.tr_inv,
    cp.log_sum_exp,
)


@dataclass(frozen=True)
class Errors:
    """Four errors of an answer, each relative; None where nothing is known.

    Attributes
    ----------
    primal : float
        How far the constraints are violated: the larger of DIMACS 1 and 2, divided by 1 + the largest constant.
    dual : float or None
        How far the multipliers are from their cones, and the gradient of the Lagrangian from vanishing: the larger of
        DIMACS 3 and 4, divided by 1 + the largest entry of the gradient of the objective.
    gap : float or None
        ``|value − bound| / (1 + |value| + |bound|)``, DIMACS 5, with the certified bound unless the program is linear.
    complementarity : float or None
        What the multipliers pay for constraints that are not tight, divided by the same, DIMACS 6.
    basis : str
        "DIMACS" or "Lagrangian"; or why there are no errors of the multipliers.
    """

    primal: float
    dual: float | None = None
    gap: float | None = None
    complementarity: float | None = None
    basis: str = ""

    def __str__(self) -> str:
        named = {"primal": self.primal, "dual": self.dual, "gap": self.gap, "complementarity": self.complementarity}
        return ", ".join(f"{name} {'–' if size is None else f'{size:.1e}'}" for name, size in named.items())


def comparable_errors(
    program: Program, values: Mapping[str, Any], duals: Mapping[str, Any], certificate: Certificate
) -> Errors:
    """Return the errors of a certified answer."""
    if certificate.dimacs is not None:
        one, two, three, four, five, six = certificate.dimacs
        return Errors(max(one, two), max(three, four), abs(five), abs(six), "DIMACS")
    coarse = Errors(certificate.largest_relative_violation, gap=_gap(certificate))
    stored = values.stored if isinstance(values, Arrays) else values
    size = sum(variable.size for variable in _variables(program).values())
    if size > LARGEST or not program.convex:
        words = "the program is not convex" if size <= LARGEST else f"it has more than {LARGEST} unknowns"
        return Errors(coarse.primal, gap=coarse.gap, basis=words)
    with ONE_AT_A_TIME:
        try:
            return _of_lagrangian(program.declaration, stored, duals, certificate)
        except CvxlinkError as refusal:
            return Errors(coarse.primal, gap=coarse.gap, basis=str(refusal))


def _variables(program: Program) -> Mapping[str, cp.Variable]:
    if isinstance(program, SpecialProgram):
        return declared_variables(program.problem)
    return program.declaration.variables


def _gap(certificate: Certificate) -> float | None:
    bound, value = certificate.bound, certificate.value
    return None if bound is None else abs(value - bound) / (1 + abs(value) + abs(bound))


def _of_lagrangian(
    declaration: Declaration, values: Mapping[str, Any], duals: Mapping[str, Any], certificate: Certificate
) -> Errors:
    point = checked_point(declaration.variables, values)
    constants = _largest_constant(declaration)
    violations = judged_violations(declaration, point).absolute  # it also puts the point into CVXPY's variables
    size = 1 + constants
    rows = [float(np.linalg.norm(_miss(term))) for term in declaration.terms if _is_row(term)]
    primal = max([float(np.linalg.norm(rows)), *violations.values()]) / size
    gap = _gap(certificate)
    sign = -1.0 if isinstance(declaration.objective, cp.Maximize) else 1.0
    try:
        tangent = _gradient(sign * declaration.objective.args[0], declaration)
        slope, outside, paid = tangent.copy(), 0.0, 0.0
        for price, body, is_equation, slip in _priced(declaration, duals, sign):
            slope += _gradient(price @ cp.vec(body, order="F"), declaration)
            outside = max(outside, slip)
            paid += 0.0 if is_equation else -float(price @ np.ravel(value_of(body), order="F"))
        left, slip, more = _left(declaration, slope, duals)
    except ReductionRefused as refusal:
        return Errors(primal, gap=gap, basis=str(refusal))
    scale = 1 + float(abs(tangent).max(initial=0.0))
    other = certificate.value if certificate.bound is None else certificate.bound
    dual = max(left, outside, slip) / scale
    return Errors(primal, dual, gap, abs(paid + more) / (1 + abs(certificate.value) + abs(other)), "Lagrangian")


def _is_row(term: Any) -> bool:
    return isinstance(term, cp.constraints.Equality | cp.constraints.Zero | cp.constraints.Inequality)


def _miss(term: Any) -> np.ndarray:
    """Return by how much rows are violated."""
    value = np.ravel(value_of(body_of(term)))
    return np.maximum(value, 0.0) if isinstance(term, cp.constraints.Inequality) else value


def _largest_constant(declaration: Declaration) -> float:
    """Return the largest constant in the constraints that are affine: their values at zero."""
    for variable in declaration.variables.values():
        variable.save_value(np.zeros(variable.shape))
    bodies = [body_of(term) for term in declaration.terms if _is_row(term)]
    return max([0.0, *(float(abs(value_of(body)).max(initial=0.0)) for body in bodies if is_linear(body))])


def _gradient(expression: Any, declaration: Declaration) -> np.ndarray:
    """Return the gradient over the entries of all variables, or refuse where there may be none."""
    kinks = [atom for atom in expression.atoms() if not issubclass(atom, (AffAtom, *SMOOTH))]
    if kinks:
        raise ReductionRefused(f"{kinks[0].__name__} has kinks, where the gradient says nothing")
    found = gradient_at(expression, declaration)
    if found is None or not np.isfinite(found).all():
        raise ReductionRefused("the objective or a constraint has no gradient at the answer")
    return found


def _priced(
    declaration: Declaration, duals: Mapping[str, Any], sign: float
) -> Iterator[tuple[np.ndarray, Any, bool, float]]:
    """Yield what multiplies each expression in the Lagrangian, whether it is an equation, and the slip of its sign."""
    kinds = cp.constraints
    for name, group in declaration.constraints.items():
        if name not in duals:
            raise ReductionRefused(f"there are no multipliers for {name!r}")
        for term, dual in zip(group, split_multipliers(name, group, duals[name], sign), strict=True):
            if isinstance(term, kinds.Equality | kinds.Zero):
                yield -dual, body_of(term), True, 0.0
            elif isinstance(term, kinds.Inequality):
                yield dual, body_of(term), False, float(np.maximum(-dual, 0.0).max(initial=0.0))
            elif isinstance(term, kinds.PSD) and len(term.shape) == 2:
                Z = dual.reshape(term.shape, order="F")
                slip = max(0.0, -float(np.linalg.eigvalsh((Z + Z.T) / 2)[0])) if Z.size else 0.0
                yield -dual, term.args[0], False, slip
            else:
                raise ReductionRefused(f"errors of multipliers of {type(term).__name__} are not defined here")


def _left(declaration: Declaration, slope: np.ndarray, duals: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return what is left of the slopes, how far those that may have a sign miss it, and what these pay.

    Variables may declare what constraints would: a slope is then the multiplier of that.
    """
    squares, outside, paid, start = 0.0, 0.0, 0.0, 0
    for name, variable in declaration.variables.items():
        G = slope[start : start + variable.size].reshape(variable.shape, order="F")
        start += variable.size
        x = np.asarray(variable.value, dtype=float)
        G = (G + G.T) / 2 if variable.ndim == 2 and variable.is_symmetric() else G
        if variable.attributes["PSD"] and name_of_cone(name, declaration) not in duals:
            outside, paid = max(outside, -float(np.linalg.eigvalsh(G)[0])), paid + float(np.vdot(G, x))
        elif variable.attributes["PSD"]:
            Z = np.asarray(as_dense(duals[name_of_cone(name, declaration)]), dtype=float)
            squares += float(np.linalg.norm(G - Z)) ** 2
            outside, paid = max(outside, -float(np.linalg.eigvalsh((Z + Z.T) / 2)[0])), paid + float(np.vdot(Z, x))
        elif variable.attributes["nonneg"]:
            outside, paid = max(outside, -float(G.min(initial=0.0))), paid + float(np.vdot(G, x))
        elif has_bounds(variable) or variable.attributes["nonpos"] or variable.attributes["NSD"]:
            raise ReductionRefused(f"the bounds that {name} declares have no multipliers of their own")
        else:
            squares += float(np.linalg.norm(G)) ** 2
    return squares**0.5, outside, paid
