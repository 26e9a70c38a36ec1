r"""Constraint matrices: how much every two points should be together (positive) or apart (negative)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ..errors import InvalidInput
from ..numerics.arguments import shown
from ..numerics.checks import as_positive, real_array
from ..numerics.matrices import inverse_root

LARGEST = 1e50


def label_kernel(labels: Any, sigma: float = 1.0) -> np.ndarray:
    r"""Return the kernel of equation (15) of Wang, Qian & Davidson (2012) on labels that are numbers.

    .. math:: Q_{ij} = \exp\Bigl(-\frac{\|y_i - y_j\|^2}{2\sigma^2}\Bigr)

    It is non-negative and positive semidefinite, so a constraint matrix under which labels can be propagated.

    Parameters
    ----------
    labels : array, n or n × classes
        One number per point, such as −1, 0 and 1, or a row of scores, such as ``GFHF(graph, labels).solve().scores``.
    sigma : float
        The width.
    """
    y = real_array(labels, "labels")
    y = y[:, None] if y.ndim == 1 else y
    if y.ndim != 2 or 0 in y.shape or not np.isfinite(y).all():
        raise InvalidInput(
            "labels must be finite numbers, one number or one row per point; for classes give indicators or scores",
            "labels",
        )
    width = as_width(sigma)
    return np.exp(-cdist(y / width, y / width, "sqeuclidean") / 2)


def as_width(sigma: Any) -> float:
    """Return the width of a kernel, within reason."""
    width = as_positive(sigma, "sigma")
    if not 1e-50 <= width <= 1e50:
        raise InvalidInput.about("sigma", f"must be a positive number between 1e-50 and 1e50, not {shown(sigma)}")
    return width


def as_constraint_matrix(values: Any, n: int) -> Any:
    """Return a symmetric matrix of order n, sparse if it was."""
    sparse = sp.issparse(values)
    Q = sp.csr_array(values) if sparse else real_array(values, "the constraint matrix", "links")
    if Q.dtype.kind not in "biuf":
        raise InvalidInput("links must be Links or a matrix of real numbers", "links")
    if Q.ndim == 1:
        raise InvalidInput(
            "the constraints must be Links or a matrix; Links.from_labels(labels) makes links of labels",
            "links",
        )
    if Q.shape != (n, n):
        raise InvalidInput(
            f"the constraint matrix must have the shape {(n, n)}, like the graph, not {Q.shape}", "links"
        )
    if not np.isfinite(Q.data if sparse else Q).all():
        raise InvalidInput("the constraint matrix has NaN or infinite entries; use 0 where nothing is known", "links")
    largest = float(abs(Q).max())
    if largest > LARGEST:
        raise InvalidInput(f"the constraint matrix has entries as large as {largest:.0e}; divide it by that", "links")
    asymmetry = float(abs(Q - Q.T).max())
    if asymmetry > 1e-8 * largest:
        raise InvalidInput(
            f"the constraint matrix is not symmetric (by {asymmetry:.3g}); use (Q + Q.T) / 2 if that is meant",
            "links",
        )
    return (Q.astype(float) + Q.T.astype(float)) / 2


def scaled_by(Q: Any, degrees: np.ndarray) -> Any:
    """Return D^{-1/2} Q D^{-1/2}; the rows of points without a degree become zero."""
    scale = inverse_root(degrees)
    if sp.issparse(Q):
        return sp.csr_array(sp.diags_array(scale) @ Q @ sp.diags_array(scale))
    return np.outer(scale, scale) * Q  # in this order it stays symmetric to the last digit
