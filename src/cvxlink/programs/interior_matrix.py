"""Strictly feasible matrices of linear semidefinite programs, as far as they are easily found.

The first that is tried is the least-norm solution of the equations, moved away from the inequalities that it touches;
for kernels with unit diagonal that is the identity. If it is not positive definite, and the order is moderate, it is
projected in turn onto matrices with larger eigenvalues and onto the equations. Where points count with weights in a
constraint on the diagonal, as blocks of several points do, that is done for √wᵢ√wⱼKᵢⱼ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..numerics.least_eigenvalue import least_eigenvalue
from ..numerics.rounding import gamma, row_sums_above, terms_per_row

# Projections are tried up to this order, at most so many, onto eigenvalues of at least this share of their mean.
LARGEST, MOST_TURNS, RAISED_TO = 120, 30, 0.05
# A matrix with a smaller eigenvalue is not inside.
INSIDE = 1e-9


def interior_matrix(sdp: Any) -> sp.csr_array | None:
    """Return a strictly feasible matrix of a :class:`~cvxlink.LinearSDP`, or None."""
    K = _moved_inside(sdp)
    if K is not None or sdp.n > LARGEST:
        return K
    weights = next((abs(weights) for _, weights in sdp.diagonal_rows), np.ones(sdp.n))
    units = sp.diags_array(1 / np.sqrt(weights), format="csr")
    both = sp.kron(units, units, format="csr")
    weighted = replace(sdp, rows=tuple(replace(g, A=sp.csr_array(g.A @ both)) for g in sdp.rows))
    raised = _raised(weighted)
    return None if raised is None else _if_inside(sdp, sp.csr_array(units @ raised @ units))


def _moved_inside(sdp: Any) -> sp.csr_array | None:
    K = sdp.least_norm_solution()
    if K is None:
        return None
    least = least_at_most(K)
    touching = sdp.is_inequality & (sdp.b - sdp.rows_of(K) < 0.1 * least)
    if least > 0 and touching.any():
        v = sdp.onto_equations(-sdp.b, touching, 0.1 * least)
        K = None if v is None else sdp.adjoint(-v)
    return None if K is None else _if_inside(sdp, K)


def _raised(sdp: Any) -> np.ndarray | None:
    """Return the least-norm solution, projected in turn onto large eigenvalues and onto the equations; or None."""
    least_norm = sdp.least_norm_solution()
    if least_norm is None:
        return None
    K = least_norm.toarray()
    floor, before = RAISED_TO * float(np.trace(K)) / sdp.n, -np.inf
    for turn in range(MOST_TURNS if floor > 0 else 0):
        values, vectors = np.linalg.eigh(K)
        if turn % 2 == 0:
            if values[0] < before / 2:
                return None  # it would take hundreds of turns
            before = values[0]
        if values[0] > floor / 2 and (sdp.rows_of(K) < sdp.b)[sdp.is_inequality].all():
            return K
        K = (vectors * np.maximum(values, floor)) @ vectors.T
        at = sdp.rows_of(K)
        v = sdp.onto_equations(at - sdp.b, sdp.is_inequality & (sdp.b - at < floor), floor)
        if v is None:
            return None
        K = K - sdp.adjoint(v).toarray()
    return None


def _if_inside(sdp: Any, K: sp.csr_array) -> sp.csr_array | None:
    return K if least_at_most(K) > INSIDE and sdp.inequalities_hold(sdp.rows_of(K)) else None


def least_at_most(K: sp.csr_array) -> float:
    """Return a proven lower bound on the least eigenvalue: Gershgorin's if it is positive, otherwise by factors."""
    diagonal = K.diagonal()
    discs = float((diagonal - (np.asarray(abs(K).sum(axis=1)).ravel() - abs(diagonal))).min())
    discs -= gamma(2 * terms_per_row(K) + 4) * row_sums_above(K) if K.nnz > len(diagonal) else 0.0
    return discs if discs > 0 else least_eigenvalue(K).lower
