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

from .constraints import (
    balance,
    below_identity,
    cannot_links,
    cannot_links_at_most,
    cannot_sums_at_most,
    fantope,
    given_rows,
    keeps_vector,
    must_distances_at_most,
    must_links,
    must_links_at_least,
    must_links_together,
    nonnegative,
    opposite,
    same_rows,
    semidefinite,
    trace_equals,
    unit_diagonal,
)
from .of_kernels import (
    cannot_sums,
    distortion,
    divergence,
    entropy_penalty,
    fitted_products,
    log_det,
    mahalanobis,
    must_distances,
    nuclear_penalty,
    smoothness,
    soft_cannot_links,
    soft_must_links,
    squared_links,
    trace_penalty,
    worst_of_graphs,
)
from .of_values import (
    fit,
    quadratic_form,
    smooth_columns,
    smooth_on_both_sides,
    smooth_rows_and_columns,
)
from .writing import (
    stands_for,
    written_as,
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
    "fantope",
    "fit",
    "fitted_products",
    "given_rows",
    "keeps_vector",
    "log_det",
    "mahalanobis",
    "must_distances",
    "must_distances_at_most",
    "must_links",
    "must_links_at_least",
    "must_links_together",
    "nonnegative",
    "nuclear_penalty",
    "opposite",
    "quadratic_form",
    "same_rows",
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
    "worst_of_graphs",
    "written_as",
]
