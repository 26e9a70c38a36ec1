r"""How much stationary labelings can agree with Q at most, from approximate eigenvectors, whatever they come from.

Let v be the null vector of L and :math:`Lf = \lambda Qf` with λ ≠ 0. Then :math:`v^\top Qf = 0`, so f = Jy for its part
y orthogonal to v, and y is an eigenvector of a pencil, :math:`By = \theta Cy`, with θ = 1/λ, C the matrix L on the
complement of v, which is positive definite, and :math:`B = J^\top QJ`.

*Approximate eigenvectors as coordinates.* For any square matrix Y, :math:`Y^\top CY = I + E` and
:math:`Y^\top BY = \Theta + H` with a diagonal Θ; if :math:`\|E\| < 1`, then y = Yx with
:math:`(\Theta + H)x = \theta(I + E)x`. By Weyl and Ostrowski the eigenvalues are within
:math:`\eta_i = (\|H\| + |\Theta_i|\|E\|)/(1 - \|E\|)` of the entries of Θ. Divide these into groups whose errors do not
overlap. Let the columns of X be eigenvectors x of a group with :math:`X^\top(I + E)X = I`. Each row of X outside of the
group's coordinates, times the distance :math:`\gamma_i` of its entry to the group's eigenvalues, is bounded by a row of
:math:`EX\Lambda - HX`, whose norm is at most :math:`\rho = (\|H\| + \theta\|E\|)/\sqrt{1 - \|E\|}` with θ the largest
eigenvalue of the group. So the norm of these rows is at most :math:`\delta = \rho/\min_i\gamma_i`, and their share of
JYX at most :math:`\rho\|JY\Gamma^{-1}\|`.

*Agreement.* :math:`f^\top Qf = \theta f^\top Lf`, and different labelings have :math:`f_i^\top Lf_j = 0`, so
:math:`f_j = JYXy_j` with orthogonal unit vectors :math:`y_j`, up to their lengths, for those of a group. With
:math:`M = (JYX)^\top JYX` the sum of their agreements is at most
:math:`\theta\sum_j 1/y_j^\top My_j \le \theta\sum_j y_j^\top M^{-1}y_j` by Cauchy, and at most the sum of the largest
eigenvalues of :math:`\theta M^{-1}` (Ky Fan). Those are :math:`\theta/\sigma_i^2` with the singular values of JYX,
which are at least :math:`\sigma_i\sqrt{1/(1 + \|E\|) - \delta^2} - \rho\|JY\Gamma^{-1}\|` with :math:`\sigma_i` those
of JY on the group. So the sum of the k largest of these numbers, over all groups, is an upper bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...numerics.eigenpairs import Complement, norm_bound
from .generalised_eigenvectors import CLOSE
from .stationary_cuts import StationaryCuts

EPSILON = float(np.finfo(float).eps)
# The proof takes a dozen dense matrices.
LARGEST_PROVEN = 6000
# How close members of a group are, relative to their size.
DIVISIONS = (CLOSE, 1e-7, 1e-5, 1e-3)


class Perturbed(NamedTuple):
    """The pencil in coordinates of approximate eigenvectors: Θ, the norms of E and H, and the labelings JY.

    ``rounding`` is the error of the labelings and ``norm`` a bound on that of L, in the spectral norm.
    """

    theta: np.ndarray
    off_identity: float
    off_diagonal: float
    labelings: np.ndarray
    rounding: float
    norm: float


def largest_agreement(cuts: StationaryCuts) -> tuple[float, str]:
    """Return an upper bound on the agreement of ``cuts.count`` different labelings; infinity, and why, without one."""
    if cuts.n > LARGEST_PROVEN:
        return np.inf, f"{cuts.n} points are too many for a proof by dense matrices (at most {LARGEST_PROVEN})"
    pencil = _perturbed(cuts)
    if pencil is None or pencil.off_identity >= 0.5:
        return np.inf, "weights are too small for the eigenproblem in double precision"
    # Every division into groups gives a bound: larger groups are farther apart, and contain more.
    bound = min(_bound_by_groups(pencil, close, cuts.count) for close in DIVISIONS)
    return bound, f"agreement of all {len(pencil.theta)} stationary labelings, from residuals of the eigenproblem"


def _bound_by_groups(pencil: Perturbed, close: float, count: int) -> float:
    r"""Return the sum of the largest possible agreements over all groups.

    Where nothing better is known, :math:`f^\top Qf = \theta f^\top Lf \le \theta\|L\|`.
    """
    theta, E, H, F = pencil.theta, pencil.off_identity, pencil.off_diagonal, pencil.labelings
    eta = (H + abs(theta) * E) / (1 - E)
    agreements = [np.zeros(0)]
    for group in _apart(theta, eta, close):
        low, high = float((theta - eta)[group].min()), float((theta + eta)[group].max())
        if high <= 0:
            continue
        outside = np.delete(np.arange(len(theta)), group)
        distances = np.maximum(low - theta[outside], theta[outside] - high)
        residual = (H + max(abs(low), abs(high)) * E) / np.sqrt(1 - E)
        share = residual / float(distances.min(initial=np.inf))
        if not 0 <= share < 0.5:
            agreements.append(np.full(len(group), high * pencil.norm))
            continue
        spill = residual * float(np.linalg.norm(F[:, outside] / distances)) if len(outside) else 0.0
        sizes = np.linalg.svd(F[:, group], compute_uv=False) - pencil.rounding
        least = np.maximum(sizes * np.sqrt(1 / (1 + E) - share**2) - spill, 1e-150)
        agreements.append(np.minimum(high / least**2, high * pencil.norm))
    ordered = np.sort(np.concatenate(agreements))[::-1]
    return float(ordered[:count].sum()) * (1 + 8 * EPSILON)


def _apart(theta: np.ndarray, eta: np.ndarray, close: float) -> list[np.ndarray]:
    """Return the positions of eigenvalues in groups; between groups there is room for the errors of both."""
    order = np.argsort(theta)
    lower, upper = (theta - eta)[order], np.maximum.accumulate((theta + eta)[order])
    gaps = lower[1:] - upper[:-1]
    return np.split(order, np.flatnonzero(gaps > close * abs(theta[order])[1:]) + 1)


def _perturbed(cuts: StationaryCuts) -> Perturbed | None:
    """Return the pencil in coordinates of eigenvectors by LAPACK, which are checked, not believed."""
    space = Complement(cuts.n, cuts.trivial)
    Qv = cuts.Q @ cuts.trivial
    own = float(cuts.trivial @ Qv)
    if not own > 0:
        return None
    basis = space.lift(np.eye(space.dimension))
    J = basis - np.outer(cuts.trivial, (Qv @ basis) / own)
    L = cuts.L.toarray()
    B, C = J.T @ cuts.Q @ J, basis.T @ L @ basis
    try:
        Y = scipy.linalg.eigh((B + B.T) / 2, (C + C.T) / 2)[1]
    except np.linalg.LinAlgError:
        return None
    # From here on U is what it is, up to its products with v.
    U = basis @ Y
    along = (Qv @ U) / own
    F = U - np.outer(cuts.trivial, along)
    near_identity, near_diagonal = U.T @ (L @ U), F.T @ (cuts.Q @ F)
    # Errors of the products themselves.
    rounding, size = (cuts.n + 8) * EPSILON, abs(U) + np.outer(abs(cuts.trivial), (abs(Qv) @ abs(U)) / own)
    E_rounding = rounding * float(np.linalg.norm(abs(U).T @ (abs(L) @ abs(U))))
    H_rounding = rounding * float(np.linalg.norm((abs(F) + 2 * size).T @ (abs(cuts.Q) @ abs(F))))
    theta = np.diag(near_diagonal).copy()
    E = float(np.linalg.norm(near_identity - np.eye(len(theta)))) + E_rounding
    H = float(np.linalg.norm(near_diagonal - np.diag(theta))) + H_rounding
    return Perturbed(theta, E, H, F, rounding * float(np.linalg.norm(size)), norm_bound(cuts.L))
