"""Constrained clustering via spectral regularization (Li, Liu & Tang 2009)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...data.link_weights import as_link_values, on_links
from ...engine.formulation import Learnt
from ...engine.problem import Problem
from ...model.about import About
from ...numerics.checks import as_count
from ...numerics.matrices import Arrays, Congruence, square_root
from ...programs.declared import SpecialProgram
from ..base import LinkedGraphProblem
from ..shared.solvable import AlwaysSolvable
from .equivalents import CompactCCSR, SchurCCSR
from .few_columns import few_columns
from .fitted_products import FittedProducts
from .proof import certify_fitted_products
from .routes import InteriorLeastSquares

MOST_SHOWN = 20
PAPERS_ORDER = 15
# A linear rule separates up to twice as many random pairs as it has unknowns (Cover 1965); to fit fewer proves nothing.
LINKS_PER_UNKNOWN = 2


@dataclass(frozen=True, eq=False)
class CCSR(LinkedGraphProblem):
    r"""Constrained clustering via spectral regularization.

    .. math::

        \min_{M \succeq 0}\ \sum_{(i,j,t)\in\mathcal S} (u_i^\top M u_j - t_{ij})^2, \qquad
        t_{ii} = 1,\quad t_{ij} = 1 \text{ on } \mathcal{M},\quad t_{ij} = 0 \text{ on } \mathcal{C},

    with :math:`u_i^\top` the rows of :math:`F_m`, the m smoothest eigenvectors of :math:`\bar L`. Among all smooth
    representations :math:`F_m A`, :math:`M = AA^\top`, it is the one that comes nearest to unit length, must-linked
    points together and cannot-linked points at right angles. The program has m(m+1)/2 unknowns, however many points
    and links there are; k-means on the rows of :math:`F_m M^{1/2}` clusters them.

    Forms: "paper", the sum as it stands; "compact", :math:`\|R\operatorname{svec}(M) - d\|^2 + c_0` over M ⪰ 0, which
    is solved unless another is asked for; and "schur", equation (20) as printed, whose second matrix inequality has
    order m² + 1.

    Parameters
    ----------
    graph : Graph
    links : Links
        They may contradict one another: they are fitted, not enforced.
    normalized : bool
        Use the normalised Laplacian L̄ (the paper's choice) or L = D − W.
    order : int, optional
        The number m of eigenvectors. By default the largest for which there are two links for each of the m(m+1)/2
        unknowns, but at least one eigenvector per cluster, and otherwise at most 15: so the paper's 15 with 240 links
        and more. ``order=15`` is the paper's whatever the number of links. With fewer than m points, all eigenvectors
        are used.
    must_weight, cannot_weight : number, mapping, matrix or array
        How much a link counts, against 1 for the unit length of a point: one number for all; by pair
        ``{(0, 1): 5.0}``, the others 1; a symmetric matrix; or an array in the order of ``links.must`` and
        ``links.cannot``, which are sorted.
    n_clusters : int, optional
        The number of clusters, for the default order: k clusters at right angles need k eigenvectors. Without it the
        order is at least the number of clusters that the cannot-links need.
    dimension : int, optional
        The number d of columns of the representation :math:`F_m A`; m by default. With fewer, equation (16) is not
        convex: the program and its certificate stay those of the relaxation, and the embedding and the kernel come
        from a local minimum A that starts at the leading eigenvectors of M. ``solution.measures`` has its cost, and by
        how much that exceeds the certified bound at most.

    Notes
    -----
    Unit length says nothing about which points belong together, so links alone have to determine M. A linear rule with
    N unknowns reproduces any yes or no on up to N pairs, and on 2N random pairs still with probability ½ (Cover 1965):
    with fewer than two links per unknown a good fit is no evidence, and M spreads the points over m dimensions to make
    all lengths one.

    References
    ----------
    Li, Liu & Tang (2009), CVPR, equations (17) to (20), Algorithm 1; there all weights are 1.
    """

    order: int | None = None
    must_weight: Any = 1.0
    cannot_weight: Any = 1.0
    n_clusters: int | None = None
    dimension: int | None = None

    about = About(
        "li2009",
        equation="17",
        program="least squares, semidefinite",
        form="paper",
        takes="soft links",
        yields="embedding, kernel",
        embedding=True,
    )
    prefers = "compact"
    adjustable = ("must_weight", "cannot_weight")

    def variables(self) -> dict[str, cp.Variable]:
        """The matrix M = AAᵀ of the representation F_m A."""
        return {"M": cp.Variable((self.m, self.m), symmetric=True, name="M")}

    def objective(self, M: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Unit length of all points, and the products that the links want."""
        F_m, everyone = self.spectrum[1], np.arange(self.graph.n)
        lengths = terms.fitted_products(M, F_m, np.column_stack([everyone, everyone]), np.ones(self.graph.n))
        if not len(self.links):
            return cp.Minimize(lengths)
        wanted = np.repeat([1.0, 0.0], [len(self.links.must), len(self.links.cannot)])
        links = np.vstack([self.links.must, self.links.cannot])
        return cp.Minimize(lengths + terms.fitted_products(M, F_m, links, wanted, self.parameter("link_weights")))

    def constraints(self, M: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Semidefiniteness."""
        return {"psd": terms.semidefinite(M)}

    @cached_property
    def program(self) -> SpecialProgram:
        """Least squares over a small cone."""
        return SpecialProgram(
            self,
            self.products,
            (InteriorLeastSquares(),),
            certify_fitted_products,
            not_linear="its objective is quadratic, and links are fitted, not enforced",
            refutes=AlwaysSolvable("M = 0 is feasible", "its objective is a sum of squares"),
        )

    @property
    def equivalents(self) -> Mapping[str, Problem]:
        """The sum of squares as one norm, and equation (20) of the paper."""
        return {"compact": CompactCCSR(self), "schur": SchurCCSR(self)}

    # ------------------------------------------------------------------ what is given

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            as_count(self.order, "order", 1)
        if self.n_clusters is not None:
            as_count(self.n_clusters, "n_clusters", 1, self.graph.n)
        if self.dimension is not None:
            as_count(self.dimension, "dimension", 1)
        for name, pairs in (("must_weight", self.links.must), ("cannot_weight", self.links.cannot)):
            weights = as_link_values(getattr(self, name), pairs, self.links.n, name)
            on_links(weights, pairs, name, positive=False, default=1.0)
            object.__setattr__(self, name, weights)

    @cached_property
    def m(self) -> int:
        """The number of eigenvectors: the order, as given or by default, or all there are."""
        return min(max(self._by_links, self._by_clusters) if self.order is None else self.order, self.graph.n)

    @property
    def _by_links(self) -> int:
        """The largest m up to the paper's for which there are LINKS_PER_UNKNOWN links for each unknown."""
        return min((math.isqrt(1 + 8 * (len(self.links) // LINKS_PER_UNKNOWN)) - 1) // 2, PAPERS_ORDER)

    @cached_property
    def _by_clusters(self) -> int:
        """One eigenvector per cluster, as far as it is known how many there are; at least two."""
        return max(self.links.least_clusters() if self.n_clusters is None else self.n_clusters, 2)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """The m smallest eigenvalues of the Laplacian, and F_m."""
        return self.graph.smoothest(self.m, self.normalized)

    @cached_property
    def link_weights(self) -> np.ndarray:
        """What each link weighs, must-links first."""
        must = on_links(self.must_weight, self.links.must, "must_weight", positive=False, default=1.0)
        cannot = on_links(self.cannot_weight, self.links.cannot, "cannot_weight", positive=False, default=1.0)
        return np.concatenate([must, cannot])

    @cached_property
    def products(self) -> FittedProducts:
        """The wanted products: of each point with itself, of must-linked and of cannot-linked points."""
        everyone = np.arange(self.graph.n)
        must, cannot = self.links.must, self.links.cannot
        sizes = [len(everyone), len(must), len(cannot)]
        return FittedProducts(
            self.spectrum[1],
            np.vstack([np.column_stack([everyone, everyone]), must, cannot]),
            np.repeat([1.0, 1.0, 0.0], sizes),
            np.concatenate([np.ones(len(everyone)), self.link_weights]),
        )

    # ------------------------------------------------------------------ how it reads, and what is made of it

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the objective, as one sum over points and links."""
        weight = "w_{ij} " if (self.must_weight, self.cannot_weight) != (1.0, 1.0) else ""
        rows = r"u_i^\top \text{ row of } F_m"
        return {"objective": rf"\sum_{{ij}} {weight}(u_i^\top M u_j - t_{{ij}})^2 \quad {rows}"}

    @property
    def remarks(self) -> tuple[str, ...]:
        """The order, why it was chosen, and the eigenvalues it takes."""
        eigenvalues = self.spectrum[0]
        L = "L̄" if self.normalized else "L"
        shown = ", ".join(f"{value:.3g}" if value > 1e-12 else "0" for value in eigenvalues[:MOST_SHOWN])
        if self.m > MOST_SHOWN:
            shown += f", … {eigenvalues[-1]:.3g}"
        return (f"order {self.m}{self._why}: the smoothest eigenvectors of {L}, with the eigenvalues {shown}",)

    @property
    def _why(self) -> str:
        """Why the order is what it is, in brackets; empty if it was given."""
        if self.order is not None:
            return f" ({self.order} asked for, only {self.m} exist)" if self.m < self.order else ""
        if self.m == self.graph.n:
            return " (one per point)"
        if self._by_links == PAPERS_ORDER >= self._by_clusters:
            return " (the paper's)"
        if self._by_clusters > self._by_links:
            known = "the cannot-links need" if self.n_clusters is None else "there are"
            return f" (as many as {known} clusters, at least two; {len(self.links)} links are too few for more)"
        return f" ({LINKS_PER_UNKNOWN} links for each of its {self.m * (self.m + 1) // 2} unknowns)"

    def cautions(self, n_clusters: int | None = None) -> tuple[str, ...]:
        """Say if the order, chosen without knowing the number of clusters, is too small for it."""
        if n_clusters is None or self.order is not None or as_count(n_clusters, "n_clusters") <= self.m:
            return ()
        return (
            f"CCSR chose {self.m} eigenvectors by its {len(self.links)} links alone, and {n_clusters} clusters at "
            f"right angles need {n_clusters}; declare it with n_clusters={n_clusters}",
        )

    def learnt(self, values: Arrays) -> Learnt:
        """The representation F_m M^½, or F_m A with fewer columns, and its kernel, kept as a product."""
        F_m, M = self.spectrum[1], self.answer(values)["M"]
        if self.dimension is None or self.dimension >= self.m:
            return Learnt(kernel=Congruence(F_m, M), embedding=lambda: F_m @ square_root(M))
        d = self.dimension
        columns = cache(lambda: few_columns(self.products, M, d))
        return Learnt(
            kernel=lambda: Congruence(F_m, columns() @ columns().T),
            embedding=lambda: F_m @ columns(),
            measures=lambda: {"cost": self.products.misfit(columns() @ columns().T)},
        )
