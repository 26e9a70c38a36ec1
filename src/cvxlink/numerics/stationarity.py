r"""Stationary labelings, which do not change when they are propagated (Wang, Qian & Davidson 2012, definition 1).

Labels y on a latent copy H of the points spread into the graph G, by :math:`P_{GH}`, and within it, by
:math:`P_{GG}`, until they converge to :math:`(I - P_{GG})^{-1} P_{GH}\, y`. A labeling is stationary if this
reproduces it up to a factor λ ≠ 0:

.. math:: f = \lambda (I - P_{GG})^{-1} P_{GH} f \quad\Longleftrightarrow\quad (I - P_{GG}) f = \lambda P_{GH} f .

For the normalised affinity :math:`P_{GG} = S` the matrix I − S is singular: it maps :math:`D^{1/2}1` to zero. The
equation is then taken on its range: both sides without their components along the null vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..errors import InvalidInput
from .checks import LARGEST_COORDINATE, as_matrix, finite_array, real_array
from .eigenpairs import norm_bound
from .matrices import as_dense

# The pencil is dense: minutes at this order.
LARGEST_PENCIL = 5000
# Numbers below this share of the norm are not told from zero.
TOLD = 1e-10


def stationarity(f: Any, within: Any, into: Any, null: np.ndarray | None = None) -> float:
    r"""Return how far a labeling is from stationary: 0 if it is, at most 1.

    It is the sine of the angle between :math:`(I - P_{GG})f` and :math:`P_{GH}f`, without their components along the
    null vectors of I − P_GG: the smallest residual over all λ, relative to the length of the former. A labeling that
    :math:`I - P_{GG}` maps to zero is not stationary, because λ would be zero.

    Parameters
    ----------
    f : array, n or n × k
        A labeling, or several as columns; the largest result is returned.
    within, into : matrices, n × n
        Propagation within the graph, P_GG, and into it, P_GH.
    null : array, n × m, optional
        Orthonormal null vectors of I − P_GG. By default they are computed by a dense decomposition.
    """
    columns = real_array(f, "f")
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or 0 in columns.shape or not np.isfinite(columns).all() or not columns.any(axis=0).all():
        raise InvalidInput(
            "f must be one labeling or several as columns, with finite numbers and no column of zeros", "f"
        )
    if max(abs(columns).max(), 1 / abs(columns).max(axis=0).min()) > LARGEST_COORDINATE:
        raise InvalidInput(f"f has columns beyond {LARGEST_COORDINATE:g} in size; rescale it", "f")
    n = len(columns)
    within, into = _propagation(within, n, "within"), _propagation(into, n, "into")
    null = _null_vectors(within) if null is None else finite_array(null, "null", (n, None))
    if abs(null).max(initial=0.0) > 1 + 1e-6:
        raise InvalidInput("null must hold null vectors as columns, orthonormal ones", "null")
    columns = columns / np.linalg.norm(columns, axis=0)

    def on_range(x: np.ndarray) -> np.ndarray:
        return x - null @ (null.T @ x)

    left, right = on_range(columns - within @ columns), on_range(into @ columns)
    lengths, others = np.linalg.norm(left, axis=0), np.linalg.norm(right, axis=0)
    size = norm_bound(into)
    worst = 0.0
    for a, b, length, other in zip(left.T, right.T, lengths, others, strict=True):
        if length <= 1e-12 or other <= 1e-12 * size:
            return 1.0
        a, b = a / length, b / other
        worst = max(worst, min(1.0, float(np.linalg.norm(a - b * (a @ b)))))
    return worst


def stationary_labelings(within: Any, into: Any) -> tuple[np.ndarray, np.ndarray]:
    r"""Return all stationary labelings, which satisfy :math:`(I - P_{GG})f = \lambda P_{GH}f` with λ ≠ 0.

    Parameters
    ----------
    within, into : matrices, n × n
        Propagation within the graph, P_GG, and into it, P_GH.

    Returns
    -------
    rates, labelings : arrays
        The real λ by increasing size, and a unit labeling for each as a column. Zero and infinity are left out, and so
        are complex numbers, which only matrices that are not symmetric have.

    References
    ----------
    Wang, Qian & Davidson (2012), equation (11); for their claims 1 to 3, P_GG = S with P_GH = Q̄, and αS with I.
    """
    shape = getattr(within, "shape", (None, None))
    within = as_matrix(within, "within", (shape[0], shape[0]) if len(shape) == 2 else (None, None))
    n = within.shape[0]
    if not 1 <= n <= LARGEST_PENCIL:
        raise InvalidInput.about("within", f"must have between 1 and {LARGEST_PENCIL} rows, not {n}")
    within, into = _propagation(within, n, "within"), _propagation(into, n, "into")
    left, right = np.eye(n) - as_dense(within), as_dense(into).astype(float)
    (alpha, beta), F = scipy.linalg.eig(left, right, homogeneous_eigvals=True)
    told = abs(alpha) > TOLD * np.linalg.norm(left, 2) if left.any() else np.zeros(n, dtype=bool)
    told &= abs(beta) > TOLD * max(float(np.linalg.norm(right, 2)), 1e-300)
    rates = alpha[told] / beta[told]
    real = abs(rates.imag) <= TOLD * abs(rates)
    rates, F = rates[real].real, F[:, told][:, real].real
    order = np.argsort(abs(rates), kind="stable")
    lengths = np.linalg.norm(F, axis=0)
    return rates[order], (F / np.where(lengths > 0, lengths, 1.0))[:, order]


def _propagation(matrix: Any, n: int, name: str) -> Any:
    matrix = as_matrix(matrix, name, (n, n), because=f"f has {n} rows")
    if norm_bound(matrix) > LARGEST_COORDINATE:
        raise InvalidInput(f"{name} has entries beyond {LARGEST_COORDINATE:g}; rescale it", name)
    return matrix


def _null_vectors(within: Any) -> np.ndarray:
    matrix = within.toarray() if sp.issparse(within) else np.asarray(within, dtype=float)
    left, singular, _ = np.linalg.svd(np.eye(len(matrix)) - matrix)
    return left[:, singular <= 1e-12 * max(float(singular[0]), 1.0)]
