"""Terms of objectives: kernels and other symmetric matrices."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from ..data.links import Links
from ..errors import InvalidInput
from ..model.expressions import as_coefficients, as_expression, as_square_expression
from ..model.linear_maps import entries, inner_product, inner_products, squared_distances
from ..numerics.arguments import as_list, as_text
from ..numerics.checks import as_matrix, as_number, as_pairs_of_points, finite_array
from .arguments import like, link_pairs, link_weights, weighted
from .writing import stands_for


def smoothness(K: Any, L: Any, symbol: str = "L") -> Any:
    r""":math:`\langle L, K \rangle = \tfrac12 \sum_{ij} w_{ij} \|\phi_i - \phi_j\|^2`: neighbours should be close.

    ``symbol`` is how L is printed.
    """
    K, symbol = as_square_expression(K, "K"), as_text(symbol, "symbol")
    L = as_matrix(L, "L", K.shape, because=like(K, "K"))
    return stands_for(inner_product(L, K), rf"\langle {symbol}, @ \rangle", K)


def worst_of_graphs(K: Any, laplacians: Any, symbol: str = "L") -> Any:
    r""":math:`\max_v \langle L_v, K \rangle`: neighbours should be close in every one of several graphs.

    ``laplacians`` is a list of matrices, one for each graph, and ``symbol`` how they are printed.
    """
    K, symbol = as_square_expression(K, "K"), as_text(symbol, "symbol")
    matrices = as_list(laplacians, "laplacians", "matrices")
    if not matrices:
        raise InvalidInput.about("laplacians", "must have at least one matrix")
    checked = [as_matrix(L, "laplacians", K.shape, because=like(K, "K")) for L in matrices]
    symmetric = [(L + L.T) / 2 for L in checked]  # ⟨L, K⟩ sees nothing else of L
    return stands_for(cp.max(inner_products(symmetric, K)), rf"\max_v \langle {symbol}_v, @ \rangle", K)


def distortion(X: Any, K: Any, symbol: str = "K") -> Any:
    r""":math:`\langle K, I - X \rangle`: squared distances to cluster centres, for the projection X of a clustering."""
    X, symbol = as_square_expression(X, "X"), as_text(symbol, "symbol")
    K = finite_array(K, "K", X.shape, because=like(X, "X"))
    return stands_for(float(np.trace(K)) - inner_product(K, X), rf"\langle {symbol}, I - @ \rangle", X)


def soft_must_links(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{M}} w_{ij} (1 - K_{ij})`: on the unit sphere, half the squared distances."""
    (i, j), w = weighted(K, links, "must", weight)
    return stands_for(w @ (1 - entries(K, i, j)), r"\sum_{\mathcal{M}} w_{ij} (1 - @_{ij})", K)


def must_distances(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{M}} w_{ij} (K_{ii} + K_{jj} - 2K_{ij})`: squared distances, any length."""
    (i, j), w = weighted(K, links, "must", weight)
    tex = r"\sum_{\mathcal{M}} w_{ij} (@_{ii} + @_{jj} - 2 @_{ij})"
    return stands_for(w @ squared_distances(K, i, j), tex, K)


def cannot_sums(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{C}} w_{ij} (K_{ii} + K_{jj} + 2K_{ij})`: zero if images are opposite."""
    (i, j), w = weighted(K, links, "cannot", weight)
    tex = r"\sum_{\mathcal{C}} w_{ij} (@_{ii} + @_{jj} + 2 @_{ij})"
    return stands_for(w @ squared_distances(K, i, j, sign=-1.0), tex, K)


def soft_cannot_links(K: Any, links: Links, weight: Any = 1.0, margin: float = 0.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{C}} w_{ij} \max(0, K_{ij} - m)`: a hinge, zero for images at right angles."""
    ((i, j), w), m = weighted(K, links, "cannot", weight), as_number(margin, "margin")
    tex = rf"\sum_{{\mathcal{{C}}}} w_{{ij}} \max(0, @_{{ij}}{f' - {m:g}' if m else ''})"
    return stands_for(w @ cp.pos(entries(K, i, j) - m), tex, K)


def squared_links(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{\mathcal{M}} w_{ij} (K_{ij} - 1)^2 + \sum_{\mathcal{C}} w_{ij} K_{ij}^2`: least squares."""
    pairs = np.vstack([link_pairs(K, links, "must"), links.cannot])
    wanted = np.repeat([1.0, 0.0], [len(links.must), len(links.cannot)])
    w = link_weights(weight, links, pairs)
    tex = r"\sum_{\mathcal{M}} w_{ij} (@_{ij} - 1)^2 + \sum_{\mathcal{C}} w_{ij} @_{ij}^2"
    return stands_for(cp.sum_squares(cp.multiply(np.sqrt(w), entries(K, *pairs.T) - wanted)), tex, K)


def fitted_products(M: Any, U: np.ndarray, pairs: np.ndarray, targets: np.ndarray, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{ij} w_{ij} (u_i^\top M u_j - t_{ij})^2` over pairs: row products of U should equal t."""
    M = as_square_expression(M, "M")
    u = finite_array(U, "U", (None, M.shape[0]), because=like(M, "M"))
    i, j = as_pairs_of_points(pairs, len(u), "pairs", f"U has {len(u)} rows").T
    targets, weight = (
        as_coefficients(values, name, (len(i),), f"there are {len(i)} pairs")
        for values, name in ((targets, "targets"), (weight, "weight"))
    )
    found = cp.sum(cp.multiply(u[i] @ M, u[j]), axis=1)
    tex = r"\sum_{ij} w_{ij} (u_i^\top @ u_j - t_{ij})^2"
    return stands_for(cp.sum(cp.multiply(weight, cp.square(found - targets))), tex, M)


def mahalanobis(M: Any, X: Any, pairs: Any, weight: Any = 1.0, symbol: str = "ij") -> Any:
    r""":math:`\sum_{ij} w_{ij} (x_i - x_j)^\top M (x_i - x_j)` over pairs: squared distances in the metric M.

    X has the points as rows; ``pairs`` are any pairs of points, such as ``links.must``. ``symbol`` is how they are
    printed below the sum: ``r"\mathcal{M}"`` for must-links, for example.
    """
    M, symbol = as_square_expression(M, "M"), as_text(symbol, "symbol")
    X = finite_array(X, "X", (None, M.shape[0]), because=like(M, "M"))
    i, j = as_pairs_of_points(pairs, len(X), "pairs", f"X has {len(X)} rows").T
    weight = as_coefficients(weight, "weight", (len(i),), f"there are {len(i)} pairs")
    tex = rf"\sum_{{{symbol}}} w_{{ij}} (x_i - x_j)^\top @ (x_i - x_j)"
    steps = X[i] - X[j]
    if isinstance(weight, cp.Expression):  # a parameter, in a program that is compiled once
        each = cp.sum(cp.multiply(steps @ M, steps), axis=1)
        return stands_for(cp.sum(cp.multiply(weight, each)), tex, M)
    weight = np.broadcast_to(weight, len(i))
    return stands_for(inner_product(steps.T @ (weight[:, None] * steps), M), tex, M)


def divergence(K: Any, prior: np.ndarray, inverse: np.ndarray, symbol: str = "P") -> Any:
    r""":math:`-\log |K|/|P| + \operatorname{tr}(P^{-1} K)`: twice the divergence of K from the prior P, plus n."""
    K, symbol = as_square_expression(K, "K"), as_text(symbol, "symbol")
    prior, inverse = (
        finite_array(matrix, name, K.shape, because=like(K, "K"))
        for matrix, name in ((prior, "prior"), (inverse, "inverse"))
    )
    sign, log_prior = np.linalg.slogdet(prior)
    if sign <= 0 or not np.isfinite(log_prior):
        raise InvalidInput.about("prior", "must be positive definite; add a multiple of the identity")
    tex = rf"-\log |@|/|{symbol}| + \operatorname{{tr}}({symbol}^{{-1}} @)"
    return stands_for(-cp.log_det(K) + float(log_prior) + inner_product(inverse, K), tex, K)


def log_det(K: Any) -> Any:
    r""":math:`-\log \det K`: a barrier that keeps K positive definite; the smaller it is, the larger the volume."""
    if not as_square_expression(K, "K").is_symmetric():
        raise InvalidInput.about("K", "must be symmetric; declare it with symmetric=True or PSD=True")
    return stands_for(-cp.log_det(K), r"-\log \det @", K)


def trace_penalty(K: Any) -> Any:
    r""":math:`\operatorname{tr} K`: the sum of the eigenvalues of a semidefinite matrix, which favours low rank."""
    return stands_for(cp.trace(as_square_expression(K, "K")), r"\operatorname{tr} @", K)


def nuclear_penalty(F: Any) -> Any:
    r""":math:`\|F\|_*`: the sum of the singular values; for a semidefinite matrix the trace."""
    return stands_for(cp.normNuc(as_expression(F, "F", (None, None))), r"\|@\|_*", F)


def entropy_penalty(M: Any) -> Any:
    r""":math:`\operatorname{tr}(M \log M)`: for a given trace, smallest if all eigenvalues are equal."""
    if not as_square_expression(M, "M").is_symmetric():
        raise InvalidInput.about("M", "must be symmetric; declare it with symmetric=True or PSD=True")
    return stands_for(-cp.von_neumann_entr(M), r"\operatorname{tr}(@ \log @)", M)
