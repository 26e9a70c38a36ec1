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
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InfeasibleProblem, InvalidInput, ReductionRefused
from ..numerics.checks import real_array
from ..numerics.eigenpairs import norm_bound
from ..numerics.least_eigenvalue import DENSE_EIGENVALUES, Least, least_eigenvalue
from ..numerics.matrices import Congruence, Matrix, Stiffened, congruent, diagonal, inner
from ..numerics.threads import threads_for
from ..programs.linear_sdp import LinearSDP
from ..reductions import Contraction, Elimination
from ..reductions.contraction import ContractionLift
from .certificate import Certificate


def certify_linear_sdp(
    sdp: LinearSDP, K: Matrix, duals: Mapping[str, Any], value: float, violations: dict[str, float]
) -> Certificate:
    """Certify a point of a linear semidefinite program, given its declared value and violations.

    For a point kept as a product the rows stand for the constraints, so no n × n array is built.
    """
    face = Face.of(sdp)
    with threads_for(face.seed.n):
        return _proven(face, K, duals, value, violations)


def _proven(face: Face, K: Matrix, duals: Mapping[str, Any], value: float, violations: dict[str, float]) -> Certificate:
    sdp = face.original
    # CVXPY evaluates some expressions with shapes other than those it compiles, so the rows are always checked.
    for name, residual in sdp.split(sdp.residual(K)).items():
        violations[name] = max(violations.get(name, 0.0), float(abs(residual).max(initial=0.0)))
    eigenvalue = least_eigenvalue(K)[0]
    violations[sdp.cone] = max(violations.get(sdp.cone, 0.0), -eigenvalue, 0.0)
    upper = face.upper_bound(K)
    lower, basis, dimacs, sensitivity = None, "there are no multipliers", None, None
    y = _multipliers(sdp, duals)
    if y is not None:
        # A stiffening adds nothing on blocks; leaving it out there avoids the loss of digits.
        bases = {name: dual.base if isinstance(dual, Stiffened) else dual for name, dual in duals.items()}
        base = _multipliers(sdp, bases)
        assert base is not None
        least = face.least_of_slack(base, K)
        lower, basis = face.lower_bound(base, least)
        sensitivity = face.sensitivity(K, base, value)
        dimacs = _dimacs_errors(face, K, eigenvalue, y, _slack_multiplier(sdp, duals), least)
    # Where only small costs are left on blocks the gap is judged against them, unless they are less than a millionth of
    # the original ones, which rounding comes near.
    left, given = _largest(face.sdp.C), _largest(sdp.C)
    cost_scale = min(1.0, max(left, 1e-6 * given) if left > 1e-12 * given else given or 1.0)
    # The largest entry of a semidefinite matrix is on its diagonal.
    scale = float(abs(K).max()) if isinstance(K, np.ndarray) else float(abs(diagonal(K)).max())
    return Certificate(value, violations, lower, upper, eigenvalue, dimacs, basis, scale, cost_scale, sensitivity)


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


@dataclass(frozen=True, eq=False)
class Face:
    """The program on which proofs are done: without the points that no constraint mentions, and on blocks.

    ``original`` becomes ``seed`` by elimination and ``sdp`` by contraction; a reduction that does not apply changes
    nothing.
    """

    original: LinearSDP
    seed: LinearSDP
    sdp: LinearSDP
    lift: ContractionLift | None

    @classmethod
    def of(cls, sdp: LinearSDP) -> Face:
        """Eliminate, then contract."""
        seed = sdp
        with suppress(ReductionRefused):
            seed = Elimination().reduce(sdp).program.linear_sdp()
        try:
            lift = Contraction().reduce(seed).lift
        except (ReductionRefused, InfeasibleProblem):
            return cls(sdp, seed, seed, None)
        assert isinstance(lift, ContractionLift)
        return cls(sdp, seed, lift.contracted, lift)

    def lower_bound(self, y: np.ndarray, least: Least) -> tuple[float | None, str]:
        """Return a lower bound on the optimum, from any multipliers y, and what it is based on.

        ``least`` is the least eigenvalue of the slack on blocks.
        """
        sdp, y = self.sdp, self.multipliers(y)
        where = "" if self.lift is None else f" on {sdp.n} blocks"
        if self.seed is not self.original:
            where += f" of the {self.seed.n} constrained points"
        # Rounding in S(y) and bᵀy, which matters where large multipliers cancel.
        margin = least.margin + self.cost_rounding
        terms = (len(y) + 1) * float(np.finfo(float).eps)
        magnitudes = replace(sdp, rows=tuple(replace(g, A=abs(g.A)) for g in sdp.rows)).adjoint(abs(y))
        margin += terms * float(np.max((abs(sdp.C) + magnitudes).sum(axis=1)))
        deficit = min(0.0, least.value - margin) if np.isfinite(least.value) else -np.inf
        value = float(sdp.b @ y) + sdp.offset - terms * float(abs(sdp.b) @ abs(y))
        if deficit == 0:
            return value, f"dual value{where}, slack positive definite{least.basis}"
        trace = sdp.trace_bound()
        if trace is None:
            return None, (
                f"the slack has the eigenvalue {least.value:.1e}{where}, "
                f"and no constraint bounds the trace of {sdp.variable}"
            )
        bound = value + trace * deficit
        return bound, f"dual value {value:.10g}{where}, trace {trace:g}, λmin of the slack {deficit:.1e}{least.basis}"

    def upper_bound(self, K: Matrix) -> float | None:
        """Return the value of an exactly feasible point near K, or None if this construction fails."""
        sdp = self.sdp
        if not len(sdp.b):
            return None
        near = self.point(K)
        at = sdp.rows_of(near)
        interior, v = sdp.interior_point, sdp.onto_equations(at - sdp.b)
        if interior is None or v is None:
            return None
        correction = sdp.adjoint(-v)
        room, inside = sdp.room, sdp.rows_of(interior)
        if isinstance(near, Congruence):
            # TMTᵀ is semidefinite if M is; the correction, which is sparse, lowers no eigenvalue by more than its norm.
            middle = least_eigenvalue(near.M)
            least = least_eigenvalue(near)
            short = 0.0 if middle.value >= middle.margin else max(0.0, least.margin - least.value)
            lack = short + norm_bound(correction)
        else:
            least = least_eigenvalue(near + correction.toarray())
            lack = max(0.0, least.margin - least.value)
        at = at - sdp.gram @ v
        share = max(lack / (lack + room), sdp.share_for_inequalities(at, inside))
        if share > 1:  # an inequality that the interior point only touches
            return None
        if not sdp.inequalities_hold((1 - share) * at + share * inside):
            return None
        trace = (1 - share) * float(diagonal(near).sum() + correction.trace()) + share * float(interior.trace())
        moved = (1 - share) * (inner(sdp.C, near) + inner(sdp.C, correction)) + share * inner(sdp.C, interior)
        return moved + sdp.offset + self.cost_rounding * trace

    @cached_property
    def cost_rounding(self) -> float:
        """How much rounding can change the costs on blocks, in the spectral norm.

        These costs are sums over blocks and eliminated points, of at most n terms each, in which large terms cancel
        where points are tightly joined. Errors grow like the square root of the number of terms.
        """
        if self.sdp is self.original:
            return 0.0
        ones = np.ones(self.sdp.n)
        spread = ones if self.lift is None else ones[self.lift.blocks]
        if self.seed is not self.original:
            Q = abs(self.original.extension.matrix)
            summed = Q.T @ (abs(self.original.C) @ (Q @ spread))
        else:
            summed = abs(self.original.C) @ spread
        if self.lift is not None:
            summed = np.bincount(self.lift.blocks, summed, self.sdp.n)
        return 4 * float(np.finfo(float).eps) * float(np.sqrt(self.original.n)) * float(summed.max())

    def sensitivity(self, K: Matrix, y: np.ndarray, value: float) -> float:
        """Return what the violations of K are worth according to the multipliers."""
        near, y = self.point(K), self.multipliers(y)
        averaging, trace = abs(self.sdp.value(near) - value), max(0.0, float(self.sdp.slack(y).trace()))
        return averaging + float(abs(y) @ abs(self.sdp.residual(near))) - min(0.0, least_eigenvalue(near)[0]) * trace

    def slack_deficit(self, y: np.ndarray, least: Least) -> float:
        """Return how far below zero the eigenvalues of S(y) go, or an upper bound on it after elimination.

        By the Schur complement xᵀSx ≥ x_lᵀ S_l x_l, with S_l the slack on the constrained points. If S_l is large, the
        slack on blocks is used instead, to which it tends as the forced pairs are stiffened.
        """
        if self.seed.n > DENSE_EIGENVALUES:
            return max(0.0, -least.value)
        return max(0.0, -least_eigenvalue(self.seed.slack(y))[0])

    def least_of_slack(self, y: np.ndarray, K: Matrix) -> Least:
        """Return the least eigenvalue of the slack on blocks; for a solution K, the range of K is its eigenspace."""
        columns = None
        if isinstance(K, Congruence) and isinstance(near := self.point(K), Congruence):
            columns = near.factor()
        return least_eigenvalue(self.sdp.slack(self.multipliers(y)), columns)

    def point(self, K: Matrix) -> Matrix:
        """Return a matrix on the constrained points, averaged over blocks; a matrix of low rank stays a product."""
        kept = np.arange(K.shape[0]) if self.seed is self.original else self.original.constrained_points
        blocks = np.arange(len(kept)) if self.lift is None else self.lift.blocks
        if len(blocks) == K.shape[0] == self.sdp.n and isinstance(K, np.ndarray):
            return K
        average = sp.csr_array((1 / np.bincount(blocks)[blocks], (blocks, kept)), shape=(self.sdp.n, K.shape[0]))
        averaged = congruent(average, K)
        return averaged if averaged.is_thin else averaged.toarray()

    def multipliers(self, y: np.ndarray) -> np.ndarray:
        """Return the multipliers of the rows on blocks."""
        return y if self.lift is None else self.lift.restrict(y)


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
