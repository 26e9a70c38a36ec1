r"""Terms to build formulations from: each is one equation, one CVXPY expression and, if it is linear, rows as data.

K is the kernel, a symmetric CVXPY variable or any affine expression; 𝓜 are the must-links, 𝓒 the cannot-links. Terms
of an objective are expressions to add up and weight; the others are constraints to name. For example, PCP is

.. code-block:: python

    cp.Minimize(terms.smoothness(K, L))
    {
        "unit": terms.unit_diagonal(K),
        "must": terms.must_links(K, links),
        "cannot": terms.cannot_links(K, links),
        "psd": terms.semidefinite(K),
    }

A formulation made of terms prints itself as mathematics, and its linear terms are read as data without CVXPY.
``stands_for`` gives your own expression its LaTeX, with @ for its variable. Terms with a ``weight`` take one number for
all links, a dictionary ``{(0, 1): 2.0}`` of numbers by pair, or an array in the order of the links; pairs that are not
in the dictionary have weight 1.
"""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression

from .data.link_weights import as_link_values, on_links
from .data.links import Links
from .errors import InvalidInput
from .model.expressions import as_coefficients, as_expression, as_square_expression
from .model.linear_maps import at_most, entries, equal, inner_product, squared_distances
from .numerics.arguments import as_instance, as_text
from .numerics.checks import (
    as_count,
    as_matrix,
    as_number,
    as_numbers_of_points,
    as_pairs_of_points,
    as_positive,
    finite_array,
)

__all__ = [
    "balance",
    "below_identity",
    "cannot_links",
    "cannot_links_at_most",
    "cannot_sums",
    "cannot_sums_at_most",
    "distortion",
    "divergence",
    "entropy_penalty",
    "fit",
    "fitted_products",
    "given_rows",
    "must_distances",
    "must_distances_at_most",
    "must_links",
    "must_links_together",
    "nuclear_penalty",
    "quadratic_form",
    "semidefinite",
    "smooth_columns",
    "smooth_on_both_sides",
    "smooth_rows_and_columns",
    "smoothness",
    "soft_cannot_links",
    "soft_must_links",
    "squared_links",
    "stands_for",
    "trace_equals",
    "trace_penalty",
    "unit_diagonal",
    "written_as",
]


def stands_for(term: Any, tex: str, of: Any) -> Any:
    """Give a CVXPY expression or constraint its LaTeX, with @ for the variable ``of``, and return it."""
    as_instance(term, (cp.Expression, cp.Constraint), "term", "a CVXPY expression or constraint")
    as_text(tex, "tex")
    as_instance(of, cp.Expression, "of", "a CVXPY variable or expression")
    if isinstance(term, AddExpression):
        term = cp.multiply(1.0, term)  # CVXPY flattens nested sums, and this one would lose its LaTeX
    term.stands_for = tex, of
    return term


def written_as(variable: cp.Variable, tex: str) -> cp.Variable:
    """Give a variable a LaTeX symbol other than its name, and return it."""
    as_instance(variable, cp.Variable, "variable", "a CVXPY variable").written_as = as_text(tex, "tex")
    return variable


# ---------------------------------------------------------------------- for objectives: kernels


def smoothness(K: Any, L: Any, symbol: str = "L") -> Any:
    r""":math:`\langle L, K \rangle = \tfrac12 \sum_{ij} w_{ij} \|\phi_i - \phi_j\|^2`: neighbours should be close.

    ``symbol`` is how L is printed.
    """
    K, symbol = as_square_expression(K, "K"), as_text(symbol, "symbol")
    L = as_matrix(L, "L", K.shape, because=_like(K, "K"))
    return stands_for(inner_product(L, K), rf"\langle {symbol}, @ \rangle", K)


def distortion(X: Any, K: Any, symbol: str = "K") -> Any:
    r""":math:`\langle K, I - X \rangle`: squared distances to cluster centres, for the projection X of a clustering."""
    X, symbol = as_square_expression(X, "X"), as_text(symbol, "symbol")
    K = finite_array(K, "K", X.shape, because=_like(X, "X"))
    return stands_for(float(np.trace(K)) - inner_product(K, X), rf"\langle {symbol}, I - @ \rangle", X)


def soft_must_links(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{M}} w_{ij} (1 - K_{ij})`: on the unit sphere, half the squared distances."""
    (i, j), w = _weighted(K, links, "must", weight)
    return stands_for(w @ (1 - entries(K, i, j)), r"\sum_{\mathcal{M}} w_{ij} (1 - @_{ij})", K)


def must_distances(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{M}} w_{ij} (K_{ii} + K_{jj} - 2K_{ij})`: squared distances, any length."""
    (i, j), w = _weighted(K, links, "must", weight)
    tex = r"\sum_{\mathcal{M}} w_{ij} (@_{ii} + @_{jj} - 2 @_{ij})"
    return stands_for(w @ squared_distances(K, i, j), tex, K)


def cannot_sums(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{C}} w_{ij} (K_{ii} + K_{jj} + 2K_{ij})`: zero if images are opposite."""
    (i, j), w = _weighted(K, links, "cannot", weight)
    tex = r"\sum_{\mathcal{C}} w_{ij} (@_{ii} + @_{jj} + 2 @_{ij})"
    return stands_for(w @ squared_distances(K, i, j, sign=-1.0), tex, K)


def soft_cannot_links(K: Any, links: Links, weight: Any = 1.0, margin: float = 0.0) -> Any:
    r""":math:`\sum_{(i,j) \in \mathcal{C}} w_{ij} \max(0, K_{ij} - m)`: a hinge, zero for images at right angles."""
    ((i, j), w), m = _weighted(K, links, "cannot", weight), as_number(margin, "margin")
    tex = rf"\sum_{{\mathcal{{C}}}} w_{{ij}} \max(0, @_{{ij}}{f' - {m:g}' if m else ''})"
    return stands_for(w @ cp.pos(entries(K, i, j) - m), tex, K)


def squared_links(K: Any, links: Links, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{\mathcal{M}} w_{ij} (K_{ij} - 1)^2 + \sum_{\mathcal{C}} w_{ij} K_{ij}^2`: least squares."""
    pairs = np.vstack([_pairs(K, links, "must"), links.cannot])
    wanted = np.repeat([1.0, 0.0], [len(links.must), len(links.cannot)])
    w = _weights(weight, links, pairs)
    tex = r"\sum_{\mathcal{M}} w_{ij} (@_{ij} - 1)^2 + \sum_{\mathcal{C}} w_{ij} @_{ij}^2"
    return stands_for(cp.sum_squares(cp.multiply(np.sqrt(w), entries(K, *pairs.T) - wanted)), tex, K)


def fitted_products(M: Any, U: np.ndarray, pairs: np.ndarray, targets: np.ndarray, weight: Any = 1.0) -> Any:
    r""":math:`\sum_{ij} w_{ij} (u_i^\top M u_j - t_{ij})^2` over pairs: row products of U should equal t."""
    M = as_square_expression(M, "M")
    u = finite_array(U, "U", (None, M.shape[0]), because=_like(M, "M"))
    i, j = as_pairs_of_points(pairs, len(u), "pairs", f"U has {len(u)} rows").T
    targets, weight = (
        as_coefficients(values, name, (len(i),), f"there are {len(i)} pairs")
        for values, name in ((targets, "targets"), (weight, "weight"))
    )
    found = cp.sum(cp.multiply(u[i] @ M, u[j]), axis=1)
    tex = r"\sum_{ij} w_{ij} (u_i^\top @ u_j - t_{ij})^2"
    return stands_for(cp.sum(cp.multiply(weight, cp.square(found - targets))), tex, M)


def divergence(K: Any, prior: np.ndarray, inverse: np.ndarray, symbol: str = "P") -> Any:
    r""":math:`-\log |K|/|P| + \operatorname{tr}(P^{-1} K)`: twice the divergence of K from the prior P, plus n."""
    K, symbol = as_square_expression(K, "K"), as_text(symbol, "symbol")
    prior, inverse = (
        finite_array(matrix, name, K.shape, because=_like(K, "K"))
        for matrix, name in ((prior, "prior"), (inverse, "inverse"))
    )
    sign, log_prior = np.linalg.slogdet(prior)
    if sign <= 0 or not np.isfinite(log_prior):
        raise InvalidInput.about("prior", "must be positive definite; add a multiple of the identity")
    tex = rf"-\log |@|/|{symbol}| + \operatorname{{tr}}({symbol}^{{-1}} @)"
    return stands_for(-cp.log_det(K) + float(log_prior) + inner_product(inverse, K), tex, K)


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


# ---------------------------------------------------------------------- for objectives: values on a graph


def fit(F: Any, Y: Any, symbol: str = "Y") -> Any:
    r""":math:`\|F - Y\|^2`: F should be close to Y."""
    F, symbol = as_expression(F, "F"), as_text(symbol, "symbol")
    Y = as_coefficients(Y, "Y", F.shape, _like(F, "F"))
    return stands_for(cp.sum_squares(F - Y), rf"\|@ - {symbol}\|^2", F)


def smooth_columns(F: Any, R: Any, symbol: str = "L") -> Any:
    r""":math:`\operatorname{tr}(F^\top L F) = \|RF\|^2` with :math:`L = R^\top R`: neighbours have similar rows."""
    F, R = _on_graph(F, R, symbol)
    return stands_for(cp.sum_squares(R @ F), _traced(F, rf"@^\top {symbol} @"), F)


def smooth_rows_and_columns(F: Any, R: Any, symbol: str = "L") -> Any:
    r""":math:`\operatorname{tr}(F^\top L F + F L F^\top)`: neighbours have similar rows, and similar columns."""
    F, R = _on_graph(F, R, symbol, square=True)
    tex = rf"\operatorname{{tr}}(@^\top {symbol} @ + @ {symbol} @^\top)"
    return stands_for(cp.sum_squares(R @ F) + cp.sum_squares(F @ R.T), tex, F)


def smooth_on_both_sides(F: Any, R: Any, symbol: str = "L") -> Any:
    r""":math:`\operatorname{tr}(F^\top L F L) = \|RFR^\top\|^2`: pairs of neighbours have similar entries."""
    F, R = _on_graph(F, R, symbol, square=True)
    return stands_for(cp.sum_squares(R @ F @ R.T), rf"\operatorname{{tr}}(@^\top {symbol} @ {symbol})", F)


def quadratic_form(f: Any, A: Any, symbol: str = "A") -> Any:
    r""":math:`\operatorname{tr}(f^\top A f)`, for any symmetric A: not convex unless A is semidefinite."""
    f, symbol = as_expression(f, "f", (None,), (None, None)), as_text(symbol, "symbol")
    A = as_matrix(A, "A", (f.shape[0], f.shape[0]), because=_like(f, "f"))
    return stands_for(cp.sum(cp.multiply(f, A @ f)), _traced(f, rf"@^\top {symbol} @"), f)


# ---------------------------------------------------------------------- for constraints


def unit_diagonal(K: Any, points: Any = None, who: str = "") -> Any:
    """K_ii = 1 for all points, or for some, by number or by mask: images on the unit sphere.

    ``who`` is the LaTeX for these points.
    """
    n = as_square_expression(K, "K").shape[0]
    i = np.arange(n) if points is None else np.unique(_as_points(points, n, _like(K, "K")))
    who = as_text(who, "who") or (r"\forall i" if len(i) == n else rf"\text{{for }} {len(i)} \text{{ points }} i")
    return stands_for(equal(entries(K, i, i), 1), rf"@_{{ii}} = 1 \quad {who}", K)


def must_links(K: Any, links: Links) -> Any:
    """K_ij = 1 on 𝓜: with a unit diagonal, both points have the same image."""
    i, j = _pairs(K, links, "must").T
    return stands_for(equal(entries(K, i, j), 1), r"@_{ij} = 1 \quad (i,j) \in \mathcal{M}", K)


def must_links_together(K: Any, links: Links) -> Any:
    """K_ii + K_jj − 2K_ij = 0 on 𝓜: both points have the same image, of any length."""
    i, j = _pairs(K, links, "must").T
    tex = r"@_{ii} + @_{jj} - 2 @_{ij} = 0 \quad (i,j) \in \mathcal{M}"
    return stands_for(equal(squared_distances(K, i, j), 0), tex, K)


def must_distances_at_most(K: Any, links: Links, bound: Any, symbol: str = r"\alpha_{ij}") -> Any:
    """K_ii + K_jj − 2K_ij ≤ α on 𝓜: a bound on squared distances, one for all links or one per link."""
    i, j = _pairs(K, links, "must").T
    bound, symbol = (
        as_coefficients(bound, "bound", i.shape, f"there are {len(i)} such links"),
        as_text(symbol, "symbol"),
    )
    tex = rf"@_{{ii}} + @_{{jj}} - 2 @_{{ij}} \le {symbol} \quad (i,j) \in \mathcal{{M}}"
    return stands_for(at_most(squared_distances(K, i, j), bound), tex, K)


def cannot_sums_at_most(K: Any, links: Links, bound: Any, symbol: str = r"\beta_{ij}") -> Any:
    """K_ii + K_jj + 2K_ij ≤ β on 𝓒: images are nearly opposite; one bound for all links or one per link."""
    i, j = _pairs(K, links, "cannot").T
    bound, symbol = (
        as_coefficients(bound, "bound", i.shape, f"there are {len(i)} such links"),
        as_text(symbol, "symbol"),
    )
    tex = rf"@_{{ii}} + @_{{jj}} + 2 @_{{ij}} \le {symbol} \quad (i,j) \in \mathcal{{C}}"
    return stands_for(at_most(squared_distances(K, i, j, sign=-1.0), bound), tex, K)


def cannot_links(K: Any, links: Links) -> Any:
    """K_ij = 0 on 𝓒: images at right angles."""
    i, j = _pairs(K, links, "cannot").T
    return stands_for(equal(entries(K, i, j), 0), r"@_{ij} = 0 \quad (i,j) \in \mathcal{C}", K)


def cannot_links_at_most(K: Any, links: Links, bound: float = 0.0) -> Any:
    """K_ij ≤ bound on 𝓒: images at right angles or further apart (for a bound of zero)."""
    i, j = _pairs(K, links, "cannot").T
    b = as_number(bound, "bound")
    return stands_for(at_most(entries(K, i, j), b), rf"@_{{ij}} \le {b:g} \quad (i,j) \in \mathcal{{C}}", K)


def balance(K: Any, n_clusters: int, slack: float = 0.0) -> Any:
    r""":math:`|\sum_j K_{ij} - n/k| \le s\, n/k` for all i: clusters of about n/k points.

    In the kernel of a clustering, 1 within clusters and 0 between, a row sums to the size of its cluster.
    """
    n = as_square_expression(K, "K").shape[0]
    k = as_count(n_clusters, "n_clusters", 1, n)
    s = as_positive(slack, "slack", or_zero=True)
    sizes = cp.sum(K, axis=1) - n / k
    if not s:
        return stands_for(sizes == 0, rf"\sum_j @_{{ij}} = {n / k:g} \quad \forall i", K)
    tex = rf"|\sum_j @_{{ij}} - {n / k:g}| \le {s * n / k:g} \quad \forall i"
    return stands_for(cp.abs(sizes) <= s * n / k, tex, K)


def trace_equals(X: Any, total: float) -> Any:
    """Tr X = total: for a projection, its rank."""
    n, total = as_square_expression(X, "X").shape[0], as_number(total, "total")
    return stands_for(equal(inner_product(sp.eye_array(n), X), total), rf"\operatorname{{tr}} @ = {total:g}", X)


def semidefinite(K: Any) -> Any:
    """K ⪰ 0: K is a matrix of inner products."""
    return stands_for(as_square_expression(K, "K") >> 0, r"@ \succeq 0", K)


def below_identity(X: Any) -> Any:
    """X ⪯ I: no eigenvalue exceeds one, as for a projection."""
    n = as_square_expression(X, "X").shape[0]
    return stands_for(sp.eye_array(n) - X >> 0, r"@ \preceq I", X)


def given_rows(f: Any, points: np.ndarray, values: np.ndarray) -> Any:
    """f_l = y_l: given rows for some points."""
    f = as_expression(f, "f", (None,), (None, None))
    points = _as_points(points, f.shape[0], _like(f, "f"))
    because = f"{_like(f, 'f')}, and there are {len(points)} points"
    values = as_coefficients(values, "values", (len(points), *f.shape[1:]), because)
    return stands_for(f[points] == values, r"@_l = y_l", f)


def _like(expression: Any, name: str) -> str:
    return f"{name} has the shape {expression.shape}"


def _traced(f: Any, form: str) -> str:
    """Return the LaTeX of a quadratic form; for several columns, of its trace."""
    return form if f.ndim < 2 or f.shape[1] == 1 else rf"\operatorname{{tr}}({form})"


def _pairs(K: Any, links: Any, kind: str) -> np.ndarray:
    order = as_square_expression(K, "K").shape[0]
    as_instance(links, Links, "links", "a Links object: Links(n, must=…, cannot=…)")
    if order != links.n:
        raise InvalidInput(f"the links are on {links.n} points, but K has the shape {K.shape}", "links")
    return getattr(links, kind)


def _as_points(points: Any, n: int, because: str) -> np.ndarray:
    """Return numbers of points, from numbers or from a mask."""
    if isinstance(points, np.ndarray) and points.dtype == bool and points.shape == (n,):
        return np.flatnonzero(points)
    return np.atleast_1d(as_numbers_of_points(points, n, "points", because)).ravel()


def _on_graph(F: Any, R: Any, symbol: Any, square: bool = False) -> tuple[Any, Any]:
    """Return values on the points of a graph, and its incidence matrix."""
    as_text(symbol, "symbol")
    F = as_square_expression(F, "F") if square else as_expression(F, "F", (None,), (None, None))
    return F, as_matrix(R, "R", (None, F.shape[0]), because=_like(F, "F"))


def _weighted(K: Any, links: Links, kind: str, weight: Any) -> tuple[np.ndarray, Any]:
    """Return the two ends of the links of a kind, and their weights."""
    pairs = _pairs(K, links, kind)
    return pairs.T, _weights(weight, links, pairs)


def _weights(weight: Any, links: Links, pairs: np.ndarray) -> Any:
    if isinstance(weight, cp.Expression):  # a parameter, in a program that is compiled once
        return as_expression(weight, "weight", (len(pairs),))
    return on_links(as_link_values(weight, pairs, links.n, "weight"), pairs, "weight", positive=False, default=1.0)
