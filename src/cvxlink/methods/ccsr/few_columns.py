r"""Representations with few columns: the program of equation (16), before it is relaxed.

.. math:: \min_{A \in \mathbb{R}^{m \times d}}\ f(AA^\top), \qquad \nabla_A f(AA^\top) = 2\,G(AA^\top)\,A ,

with f the sum of squares and G its gradient in M. With d = m every semidefinite M is some :math:`AA^\top`, and the
program is the semidefinite one. With fewer columns it is not convex: A begins at the d leading eigenvectors of the
solution M of the relaxation, the nearest matrix of that rank, and descends to a local minimum. The optimum of the
relaxation, which is certified, bounds its cost from below.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from .fitted_products import FittedProducts

# Relative to the largest entries of the gradient at the start.
STATIONARY = 1e-9
MOST_STEPS = 2000


def leading_columns(M: np.ndarray, d: int) -> np.ndarray:
    """Return A, m × d, whose AAᵀ is the nearest semidefinite matrix of rank d."""
    eigenvalues, vectors = np.linalg.eigh((M + M.T) / 2)
    return vectors[:, ::-1][:, :d] * np.sqrt(np.maximum(eigenvalues[::-1][:d], 0.0))


def few_columns(products: FittedProducts, M: np.ndarray, d: int) -> np.ndarray:
    """Return a local minimum A, m × d, that costs at most what the leading eigenvectors of M do."""
    first = leading_columns(M, d)

    def cost(a: np.ndarray) -> tuple[float, np.ndarray]:
        A = a.reshape(first.shape)
        G, _ = products.gradient(A @ A.T)
        return products.misfit(A @ A.T), (2 * G @ A).ravel()

    size = max(float(abs(cost(first.ravel())[1]).max()), float(products.weights.sum()) * 1e-6)
    options = {"maxiter": MOST_STEPS, "gtol": STATIONARY * size, "ftol": 0.0}
    found = minimize(cost, first.ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.x.reshape(first.shape) if found.fun <= products.misfit(first @ first.T) else first
