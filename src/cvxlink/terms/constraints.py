"""Terms that are constraints."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..data.links import Links
from ..errors import InvalidInput
from ..model.expressions import as_coefficients, as_expression, as_square_expression
from ..model.linear_maps import (
    at_least,
    at_most,
    entries,
    equal,
    inner_product,
    product_with,
    row_differences,
    squared_distances,
)
from ..numerics.arguments import as_text
from ..numerics.checks import as_count, as_number, as_positive, finite_array
from .arguments import about_links, as_points, like, link_pairs
from .writing import stands_for


def unit_diagonal(K: Any, points: Any = None, who: str = "") -> Any:
    """K_ii = 1 for all points, or for some, by number or by mask: images on the unit sphere.

    ``who`` is the LaTeX for these points.
    """
    n = as_square_expression(K, "K").shape[0]
    i = np.arange(n) if points is None else np.unique(as_points(points, n, like(K, "K")))
    who = as_text(who, "who") or (r"\forall i" if len(i) == n else rf"\text{{for }} {len(i)} \text{{ points }} i")
    return stands_for(equal(entries(K, i, i), 1), rf"@_{{ii}} = 1 \quad {who}", K)


@about_links("must")
def must_links(K: Any, links: Links) -> Any:
    """K_ij = 1 on 𝓜: with a unit diagonal, both points have the same image."""
    i, j = link_pairs(K, links, "must").T
    return stands_for(equal(entries(K, i, j), 1), r"@_{ij} = 1 \quad (i,j) \in \mathcal{M}", K)


@about_links("must")
def must_links_at_least(K: Any, links: Links, bound: float) -> Any:
    """K_ij ≥ bound on 𝓜: with a unit diagonal, images at an angle of at most arccos(bound)."""
    i, j = link_pairs(K, links, "must").T
    b = as_number(bound, "bound")
    return stands_for(at_least(entries(K, i, j), b), rf"@_{{ij}} \ge {b:g} \quad (i,j) \in \mathcal{{M}}", K)


@about_links("must")
def must_links_together(K: Any, links: Links) -> Any:
    """K_ii + K_jj − 2K_ij = 0 on 𝓜: both points have the same image, of any length."""
    i, j = link_pairs(K, links, "must").T
    tex = r"@_{ii} + @_{jj} - 2 @_{ij} = 0 \quad (i,j) \in \mathcal{M}"
    return stands_for(equal(squared_distances(K, i, j), 0), tex, K)


@about_links("must")
def must_distances_at_most(K: Any, links: Links, bound: Any, symbol: str = r"\alpha_{ij}") -> Any:
    """K_ii + K_jj − 2K_ij ≤ α on 𝓜: a bound on squared distances, one for all links or one per link."""
    i, j = link_pairs(K, links, "must").T
    bound, symbol = (
        as_coefficients(bound, "bound", i.shape, f"there are {len(i)} such links"),
        as_text(symbol, "symbol"),
    )
    tex = rf"@_{{ii}} + @_{{jj}} - 2 @_{{ij}} \le {symbol} \quad (i,j) \in \mathcal{{M}}"
    return stands_for(at_most(squared_distances(K, i, j), bound), tex, K)


@about_links("cannot")
def cannot_sums_at_most(K: Any, links: Links, bound: Any, symbol: str = r"\beta_{ij}") -> Any:
    """K_ii + K_jj + 2K_ij ≤ β on 𝓒: images are nearly opposite; one bound for all links or one per link."""
    i, j = link_pairs(K, links, "cannot").T
    bound, symbol = (
        as_coefficients(bound, "bound", i.shape, f"there are {len(i)} such links"),
        as_text(symbol, "symbol"),
    )
    tex = rf"@_{{ii}} + @_{{jj}} + 2 @_{{ij}} \le {symbol} \quad (i,j) \in \mathcal{{C}}"
    return stands_for(at_most(squared_distances(K, i, j, sign=-1.0), bound), tex, K)


@about_links("cannot")
def cannot_links(K: Any, links: Links, slack: Any = None) -> Any:
    """K_ij = 0 on 𝓒: images at right angles.

    With a slack s, a variable with one entry per cannot-link, K_ij = s_ij: what the objective has to keep small.
    """
    i, j = link_pairs(K, links, "cannot").T
    if slack is not None:
        s = as_expression(slack, "slack", (len(i),))
        return stands_for(entries(K, i, j) - s == 0, r"@_{ij} = s_{ij} \quad (i,j) \in \mathcal{C}", K)
    return stands_for(equal(entries(K, i, j), 0), r"@_{ij} = 0 \quad (i,j) \in \mathcal{C}", K)


@about_links("cannot")
def cannot_links_at_most(K: Any, links: Links, bound: float = 0.0) -> Any:
    """K_ij ≤ bound on 𝓒: images at right angles or further apart (for a bound of zero)."""
    i, j = link_pairs(K, links, "cannot").T
    b = as_number(bound, "bound")
    return stands_for(at_most(entries(K, i, j), b), rf"@_{{ij}} \le {b:g} \quad (i,j) \in \mathcal{{C}}", K)


@about_links("cannot")
def opposite(K: Any, links: Links) -> Any:
    """K_ij = −1 on 𝓒: with a unit diagonal, opposite images, as in a cut into two."""
    i, j = link_pairs(K, links, "cannot").T
    return stands_for(equal(entries(K, i, j), -1), r"@_{ij} = -1 \quad (i,j) \in \mathcal{C}", K)


def same_rows(Z: Any, links: Links, scale: Any = None, symbol: str = "d") -> Any:
    """Z_ik = Z_jk for all k on 𝓜: both points have the same row, of a kernel or of assignments to clusters.

    With a scale d > 0, a number for each point, the rows are equal after division: Z_ik / d_i = Z_jk / d_j. Each
    equation is divided by the size of its numbers, so that multiples of d say the same. ``symbol`` is how d is printed.
    """
    Z, symbol = as_expression(Z, "Z", (None,), (None, None)), as_text(symbol, "symbol")
    i, j = link_pairs(Z, links, "must", "Z").T
    a, b, division = np.ones(len(i)), np.ones(len(i)), ("", "")
    if scale is not None:
        d = _positive_numbers(scale, "scale", Z)
        size = np.hypot(d[i], d[j]) / np.sqrt(2)
        a, b, division = d[j] / size, d[i] / size, (f" / {symbol}_i", f" / {symbol}_j")
    one, other, who = (
        ("@_{ik}", "@_{jk}", r"\forall k, (i,j) \in \mathcal{M}")
        if Z.ndim > 1
        else ("@_i", "@_j", r"(i,j) \in \mathcal{M}")
    )
    tex = rf"{one}{division[0]} = {other}{division[1]} \quad {who}"
    if Z.is_symmetric() and Z.ndim > 1:
        return stands_for(equal(row_differences(Z, i, j, (a, b)), 0), tex, Z)
    if scale is not None:
        a, b = (weight if Z.ndim == 1 else weight[:, None] for weight in (a, b))
        return stands_for(cp.multiply(a, Z[i]) - cp.multiply(b, Z[j]) == 0, tex, Z)
    return stands_for(Z[i] - Z[j] == 0, tex, Z)


def keeps_vector(Z: Any, d: Any, symbol: str = "d") -> Any:
    """Zd = d: d is an eigenvector with eigenvalue 1, as are the root weights of points for the matrix of a clustering.

    For k-means d has equal entries, for normalised cuts the roots of the degrees. ``symbol`` is how d is printed.
    """
    Z, symbol = as_square_expression(Z, "Z"), as_text(symbol, "symbol")
    d = finite_array(d, "d", (Z.shape[0],), because=like(Z, "Z"))
    tex = rf"@ {symbol} = {symbol}"
    return stands_for(equal(product_with(Z, d), d) if Z.is_symmetric() else Z @ d == d, tex, Z)


def _positive_numbers(values: Any, name: str, Z: Any) -> np.ndarray:
    d = finite_array(values, name, (Z.shape[0],), because=like(Z, "Z"))
    if not (d > 0).all():
        raise InvalidInput.about(name, f"must be positive, but has {d.min():g}")
    return d


def nonnegative(K: Any) -> Any:
    """K ≥ 0, entry by entry: no two images at more than a right angle, as in the kernel of a clustering."""
    K = as_expression(K, "K")
    if K.ndim > 1 and K.is_symmetric():
        i, j = np.triu_indices(K.shape[0])
        return stands_for(at_least(entries(K, i, j), 0), r"@ \ge 0", K)
    return stands_for(K >= 0, r"@ \ge 0", K)


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


def fantope(X: Any, k: int) -> dict[str, Any]:
    """0 ⪯ X ⪯ I and tr X = k: X is an average of projections of rank k.

    These are three constraints by name: ``{**terms.fantope(X, 3), "must": …}``.
    """
    n = as_square_expression(X, "X").shape[0]
    k = as_count(k, "k", 1, n, f"X is of order {n}")
    return {"trace": trace_equals(X, k), "psd": semidefinite(X), "below": below_identity(X)}


def given_rows(f: Any, points: np.ndarray, values: np.ndarray) -> Any:
    """f_l = y_l: given rows for some points."""
    f = as_expression(f, "f", (None,), (None, None))
    points = as_points(points, f.shape[0], like(f, "f"))
    because = f"{like(f, 'f')}, and there are {len(points)} points"
    values = as_coefficients(values, "values", (len(points), *f.shape[1:]), because)
    return stands_for(f[points] == values, r"@_l = y_l", f)
