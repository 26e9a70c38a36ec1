r"""Bounds for semidefinite programs with convex functions of single numbers in their objectives.

*Lower bound.* It holds for any multipliers y of the rows and any numbers :math:`s_l` with finite conjugates: by
:math:`\varphi_l(t) \ge s_lt - \varphi_l^*(s_l)`, every feasible K of trace at most τ costs

.. math:: \langle C, K\rangle + \sum_l \varphi_l(\langle A_l, K\rangle)
          \ \ge\ b^\top y - \sum_l \varphi_l^*(s_l) + \tau \min(0, \lambda_{\min}(S)), \qquad
          S = C + \sum_l s_lA_l - \sum_r y_rA_r .

Where the constraints force points together, the same is done on blocks, as for linear programs. If no :math:`s_l` are
given, they are subgradients at the point, chosen at kinks such that :math:`SK` is small.

*Upper bound.* The exactly feasible point near K that bounds linear programs from above does so here; the functions are
evaluated at its :math:`\langle A_l, \cdot\rangle`, as large as rounding allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..numerics.least_eigenvalue import least_eigenvalue
from ..numerics.matrices import Congruence, Matrix, Stiffened, diagonal, square_root
from ..numerics.rounding import Ball, gamma, row_sums_above, terms_per_row, total
from ..numerics.threads import threads_for
from ..programs.linear_sdp import LinearSDP
from ..programs.separable_sdp import SeparableSDP
from .certificate import Certificate
from .face import Bound, Face

# Subgradients may belong to numbers this far from those of the point.
NEARBY = 1e-5
# The most numbers in a system from which multipliers are fitted.
LARGEST_FIT = 20_000_000


def certify_separable_sdp(
    program: SeparableSDP, K: Matrix, duals: Mapping[str, Any], violations: dict[str, float]
) -> Certificate:
    """Certify a point, given the violations of the declared constraints as far as they are known.

    Raises :class:`ReductionRefused` where no single constraints bound the trace, which these bounds need.
    """
    trace = program.linear.trace_bound()
    if trace is None:
        raise ReductionRefused("no constraint bounds the trace")
    with threads_for(program.n):
        return _proven(program, K, duals, violations, trace)


def _proven(
    program: SeparableSDP, K: Matrix, duals: Mapping[str, Any], violations: dict[str, float], trace: float
) -> Certificate:
    sdp, eigenvalue = program.linear, least_eigenvalue(K)[0]
    residuals = sdp.split(sdp.residual(K))
    of_rows = {name: float(abs(residual).max(initial=0.0)) for name, residual in residuals.items()}
    found = {**program.violations(of_rows), sdp.cone: max(0.0, -eigenvalue)}
    violations = {name: max(violations.get(name, 0.0), found.get(name, 0.0)) for name in {**violations, **found}}
    y, s = _multipliers(program, K, duals)
    lower, sensitivity = _lower_bound(program, K, y, s, trace)
    upper = _upper_bound(program, K)
    value = program.value(K)
    scale = float(abs(K).max()) if isinstance(K, np.ndarray) else float(abs(diagonal(K)).max())
    costs = np.concatenate([abs(sdp.C.data), abs(s)])
    return Certificate(
        value,
        violations,
        lower.value,
        upper.value,
        eigenvalue,
        None,
        lower.basis,
        scale,
        min(1.0, float(costs.max(initial=0.0)) or 1.0),
        sensitivity,
        rounding=float(np.max([lower.rounding, upper.rounding, gamma(4 * program.n) * (1 + abs(value))])),
        rounding_is_proven=lower.is_proven and upper.is_proven,
    )


def _lower_bound(program: SeparableSDP, K: Matrix, y: np.ndarray, s: np.ndarray, trace: float) -> tuple[Bound, float]:
    """Return the bound, and what the violations of K are worth according to the multipliers.

    With the terms replaced by their tangents the program is linear, and its bounds hold for this one.
    """
    sdp, (conjugates, rounding) = program.linear, program.losses.conjugates(s)
    constant = sdp.offset - total(conjugates)
    C = sp.csr_array(sdp.C + program.terms.adjoint(s))
    tangent = replace(sdp, C=C, offset=constant.middle)
    face = Face.of(tangent)
    bound = face.lower_bound(y, face.least_of_slack(y, K))
    sensitivity = face.sensitivity(K, y, tangent.value(K))
    if bound.value is None:
        return bound, sensitivity
    # What rounding can change in the costs and in the constant of the linear program.
    sizes = abs(sdp.C) + _absolute(program.terms).adjoint(abs(s))
    terms = int(np.unique(program.A.indices, return_counts=True)[1].max(initial=0)) + 4
    off = Ball(gamma(2 * terms) * row_sums_above(sizes)) * max(trace, 0.0) + total(rounding) + constant.radius
    basis = f"{bound.basis}; terms by their conjugates"
    return Bound((Ball(bound.value) - off.upper).lower, basis, bound.rounding + off.upper, bound.is_proven), sensitivity


def _upper_bound(program: SeparableSDP, K: Matrix) -> Bound:
    """Return the value of an exactly feasible point near K, rounded up; None if there is none."""
    face = Face.of(program.linear)
    point = face.feasible_point(K)
    if point is None or face.seed is not face.original:
        return Bound(None)
    terms = program.terms
    if face.lift is not None:
        terms = program.on_blocks(face.lift.P, face.sdp).terms
    at, off = point.rows(terms)
    if (
        face.lift is not None
    ):  # coefficients on blocks are sums of others, and no entry exceeds the largest diagonal one
        sizes = replace(program, A=abs(program.A)).on_blocks(abs(face.lift.P), face.sdp).A
        share = gamma(2 * (terms_per_row(program.A) + 8))
        off = off + share * np.asarray(sizes.sum(axis=1)).ravel() * point.largest
    highest, rounding = program.losses.values_above(at, off)
    linear = face.upper_bound(K)
    if linear.value is None or not np.isfinite(highest).all():
        return Bound(None)
    value = Ball(linear.value) + total(highest)
    return Bound(value.upper, "", linear.rounding + total(rounding).upper + value.radius, point.is_proven)


def _multipliers(program: SeparableSDP, K: Matrix, duals: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers of rows and terms as given, with the right signs; what is missing is fitted to the point.

    At an optimum they make SK zero, and those of the terms are subgradients.
    """
    sdp, losses = program.linear, program.losses
    y, s = None, program.multipliers(duals)
    if all(g.name in duals for g in sdp.rows):
        # A stiffening adds nothing on blocks; leaving it out there avoids the loss of digits.
        y = sdp.joined({name: dual.base if isinstance(dual, Stiffened) else dual for name, dual in duals.items()})
        y = np.where(sdp.is_inequality, np.minimum(y, 0), y) if np.isfinite(y).all() else None
    if s is not None:
        s = np.clip(s, *losses.slopes) if np.isfinite(s).all() else None
    if y is not None and s is not None:
        return y, s
    face = Face.of(sdp)
    if face.lift is None:
        return _fitted(program, K, y, s)
    fitted, s = _fitted(program.on_blocks(face.lift.P, face.sdp), face.point(K), None, s)
    return face.lift.spread(fitted), s


def _fitted(
    program: SeparableSDP, K: Matrix, y: np.ndarray | None, s: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the missing multipliers by least squares on SB, with K = BBᵀ; those of terms are subgradients nearby."""
    sdp, losses = program.linear, program.losses
    B = K.factor() if isinstance(K, Congruence) else square_root(K)
    if (sdp.A.nnz + program.A.nnz) * B.shape[1] > LARGEST_FIT:
        raise ReductionRefused("there are no multipliers, and it is too large to fit some to the point")
    at = np.clip(program.terms.rows_of(K), *losses.domain)
    least, most = (s, s) if s is not None else losses.subgradients(at, NEARBY)
    inactive = sdp.is_inequality & (sdp.b - sdp.rows_of(K) > NEARBY)
    highest = np.where(inactive | sdp.is_inequality, 0.0, np.inf)
    lowest = np.where(inactive, 0.0, -np.inf)
    if y is not None:
        lowest = highest = y
    left, right = np.concatenate([lowest, -most]), np.concatenate([highest, -least])
    columns = sp.csc_array(sp.hstack([_times(sdp.A, B), _times(program.A, B)]))
    found, wanted = np.clip(np.zeros(len(left)), left, right), (sdp.C @ B).ravel()
    free = left < right
    for _ in range(3):  # those at their limits stay there, and the others are fitted again
        fit = sp.linalg.lsmr(columns[:, free], wanted - columns[:, ~free] @ found[~free], atol=1e-14, btol=1e-14)[0]
        found[free] = np.clip(fit, left[free], right[free])
        if (found[free] == fit).all():
            break
        free[free] = found[free] == fit
    return found[: len(sdp.b)], -found[len(sdp.b) :]


def _times(A: sp.csr_array, B: np.ndarray) -> sp.csc_array:
    """Return the products A_rB, one column per row r."""
    part, (n, p) = A.tocoo(), B.shape
    i, j = part.col // n, part.col % n
    places = (i[:, None] * p + np.arange(p)).ravel(), np.repeat(part.row, p)
    return sp.csc_array(((part.data[:, None] * B[j]).ravel(), places), shape=(n * p, A.shape[0]))


def _absolute(sdp: LinearSDP) -> LinearSDP:
    return replace(sdp, rows=tuple(replace(g, A=abs(g.A)) for g in sdp.rows))
