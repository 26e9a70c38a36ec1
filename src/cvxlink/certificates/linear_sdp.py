r"""Bounds for linear semidefinite programs.

*Lower bound.* It holds for any multipliers: with :math:`S = C - \sum_r y_r A_r`, for every feasible K of trace at
most τ,

.. math:: \langle C, K\rangle = b^\top y + \langle S, K\rangle
          \ \ge\ b^\top y + \tau \min(0, \lambda_{\min}(S)).

Where the constraints force points together, the feasible K are the :math:`P K' P^\top` (see
:mod:`cvxlink.reductions.contraction`), and the same argument with :math:`P^\top S P` and the trace of K' is
sharper; it does not need strict feasibility of the original program.

*Upper bound.* A solver's K violates the constraints a little, and where strict feasibility fails a violation of
1e-8 can hide an error of 1e-4 in the value. So K is repaired: averaged over blocks, projected onto
:math:`\mathcal{A}(K') = b`, and mixed with a strictly feasible matrix (the least-norm solution of the equations,
if that is positive definite; the identity for kernels with unit diagonal) until it is semidefinite. The value
of that exactly feasible point bounds the optimum from above, and the gap between the bounds is a proof.

*Rounding.* The numbers of the program are exact as they are stored, and so are those of the point and the multipliers.
All that is computed from them is known up to errors that are bounded (:mod:`cvxlink.numerics.rounding`) and taken off
the lower bound, or added to the upper one. That holds for the exactly feasible point as well: a matrix X with residual
:math:`r = \mathcal{A}(X) - b` is within :math:`\|r\|/\sigma_{\min}(\mathcal{A})` of one that satisfies the equations,
which costs so much semidefiniteness and so much of the value (as in VSDP, Jansson, Chaykin & Keil 2008).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput
from ..numerics.checks import real_array
from ..numerics.least_eigenvalue import Least, least_eigenvalue
from ..numerics.matrices import Matrix, Stiffened, diagonal, inner
from ..numerics.rounding import inner_product
from ..numerics.threads import threads_for
from ..programs.linear_sdp import LinearSDP
from .certificate import Certificate
from .face import Bound, Face
from .scales import LEAST, row_sizes


def certify_linear_sdp(
    sdp: LinearSDP,
    K: Matrix,
    duals: Mapping[str, Any],
    value: float,
    violations: dict[str, float],
    relative: dict[str, float] | None = None,
) -> Certificate:
    """Certify a point of a linear semidefinite program, given its declared value and violations.

    For a point kept as a product the rows stand for the constraints, so no n × n array is built.
    """
    face = Face.of(sdp)
    with threads_for(face.seed.n):
        return _proven(face, K, duals, value, dict(violations), dict(relative or {}))


def _proven(
    face: Face,
    K: Matrix,
    duals: Mapping[str, Any],
    value: float,
    violations: dict[str, float],
    relative: dict[str, float],
) -> Certificate:
    sdp = face.original
    eigenvalue, diagonals = least_eigenvalue(K)[0], abs(diagonal(K))
    # The largest entry of a semidefinite matrix is on its diagonal.
    scale = float(abs(K).max()) if isinstance(K, np.ndarray) else float(diagonals.max())
    # CVXPY evaluates some expressions with shapes other than those it compiles, so the rows are always checked.
    sizes = {rows.name: row_sizes(rows, diagonals, scale) for rows in sdp.rows}
    for name, residual in sdp.split(sdp.residual(K)).items():
        violations[name] = max(violations.get(name, 0.0), float(abs(residual).max(initial=0.0)))
        relative[name] = max(relative.get(name, 0.0), float((abs(residual) / sizes[name]).max(initial=0.0)))
    violations[sdp.cone] = max(violations.get(sdp.cone, 0.0), -eigenvalue, 0.0)
    relative[sdp.cone] = max(relative.get(sdp.cone, 0.0), max(-eigenvalue, 0.0) / max(scale, LEAST))
    upper, lower = face.upper_bound(K), Bound(None, "there are no multipliers")
    dimacs, sensitivity = None, None
    y = _multipliers(sdp, duals)
    if y is not None:
        # A stiffening adds nothing on blocks; leaving it out there avoids the loss of digits.
        bases = {name: dual.base if isinstance(dual, Stiffened) else dual for name, dual in duals.items()}
        base = _multipliers(sdp, bases)
        assert base is not None
        least = face.least_of_slack(base, K)
        lower = face.lower_bound(base, least)
        sensitivity = face.sensitivity(K, base, value)
        dimacs = _dimacs_errors(face, K, eigenvalue, y, _slack_multiplier(sdp, duals), least)
    # Where only small costs are left on blocks the gap is judged against them, unless they are less than a millionth of
    # the original ones, which rounding comes near.
    left, given = _largest(face.sdp.C), _largest(sdp.C)
    cost_scale = min(1.0, max(left, 1e-6 * given) if left > 1e-12 * given else given or 1.0)
    exact = inner_product(sdp.C, K) + sdp.offset
    off = (exact - value).magnitude
    return Certificate(
        value,
        violations,
        lower.value,
        upper.value,
        eigenvalue,
        dimacs,
        lower.basis,
        scale,
        cost_scale,
        sensitivity,
        rounding=float(np.max([off, lower.rounding, upper.rounding])),
        rounding_is_proven=lower.is_proven and upper.is_proven,
        relative_violations=relative,
    )


def _largest(C: sp.csr_array) -> float:
    return float(abs(C.data).max(initial=0.0))


def _multipliers(sdp: LinearSDP, duals: Mapping[str, Any]) -> np.ndarray | None:
    """Return the multipliers of all rows, with the right sign for inequalities; None if any is missing."""
    if not all(g.name in duals for g in sdp.rows):
        return None
    y = sdp.joined(duals)
    if not np.isfinite(y).all():
        return None
    return np.where(sdp.is_inequality, np.minimum(y, 0), y)


def _slack_multiplier(sdp: LinearSDP, duals: Mapping[str, Any]) -> sp.csr_array | None:
    """Return the given multiplier of K ⪰ 0, or None if there is none."""
    if sdp.cone not in duals:
        return None
    given = duals[sdp.cone]
    try:
        Z = sp.csr_array(given if sp.issparse(given) else real_array(given, "it"), dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the multiplier of {sdp.cone!r} must be a matrix of numbers", "duals") from error
    if Z.shape != (sdp.n, sdp.n):
        problem = f"the multiplier of {sdp.cone!r} must have the shape {(sdp.n, sdp.n)}, not {Z.shape}"
        raise InvalidInput(problem, "duals")
    return Z if np.isfinite(Z.data).all() else None


def _dimacs_errors(
    face: Face, K: Matrix, eigenvalue: float, y: np.ndarray, Z: sp.csr_array | None, least: Least
) -> tuple[float, ...]:
    """Return the six DIMACS errors of a primal-dual pair, with largest absolute entries in the denominators.

    ``eigenvalue`` is the least eigenvalue of K and Z the given multiplier of K ⪰ 0; if it is None, S(y) is used.
    """
    sdp, slack = face.original, face.original.slack(y)
    size_b = 1 + float(abs(sdp.b).max(initial=0))
    size_C = 1 + float(abs(sdp.C).max())
    primal, dual = sdp.value(K) - sdp.offset, float(sdp.b @ y)
    size_value = 1 + abs(primal) + abs(dual)
    off = 0.0 if Z is None else float(sp.linalg.norm(sp.csr_array(Z - slack)))
    deficit = face.slack_deficit(y, least) if Z is None or off == 0 else max(0.0, -least_eigenvalue(Z)[0])
    return (
        float(np.linalg.norm(sdp.residual(K))) / size_b,
        max(0.0, -eigenvalue) / size_b,
        off / size_C,
        deficit / size_C,
        (primal - dual) / size_value,
        inner(slack if Z is None else Z, K) / size_value,
    )
