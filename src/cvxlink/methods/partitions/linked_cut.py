"""Normalised cuts with links: the relaxation that knows the number of clusters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ... import terms
from ...clustering import kernel_factor
from ...data.constraint_matrices import scaled_by
from ...data.link_weights import as_link_values, on_links
from ...data.links import Links
from ...engine.formulation import Learnt
from ...errors import InvalidInput
from ...model.about import About
from ...model.expressions import as_expression
from ...numerics.arguments import as_choice, as_mapping
from ...numerics.checks import as_count, as_flag, as_labels
from ...numerics.matrices import Arrays, Congruence, entries
from ...programs.base import Program
from ...programs.declared import DeclaredProgram, SpecialProgram
from ..base import LinkedProblem
from .block_form import BlockForm
from .dual_proof import certify_linked_fantope, disproof_of_fantope
from .dual_route import LinkedCutDual
from .linked_fantope import LinkedFantope
from .linked_splitting import LinkedCutSplitting
from .partition import Partition, refuted, require_enough_clusters
from .proof import certify_relaxation, disproof
from .relaxation import Relaxation
from .rounding import rounded_answer
from .routes import Splitting


@dataclass(frozen=True, eq=False)
class LinkedCut(LinkedProblem):
    r"""Normalised cuts with must-links and cannot-links.

    .. math::

        \min_Z\ \langle \bar L, Z\rangle \quad\text{s.t.}\quad Zw = w,\quad \operatorname{tr} Z = k,\quad
        0 \preceq Z \preceq I,\quad \frac{Z_{i\cdot}}{d_i} = \frac{Z_{j\cdot}}{d_j} \text{ on } \mathcal{M},\quad
        Z_{ij} = 0 \text{ on } \mathcal{C},

    where :math:`d_i` is the root of the degree of point i, and w is d scaled to length one. A clustering with indicator
    matrix H has :math:`Z = D^{1/2}H(H^\top D H)^{-1}H^\top D^{1/2}`, and :math:`\langle\bar L, Z\rangle` is its
    normalised cut; if it keeps the links, its Z is feasible. So the optimum is a lower bound on the normalised cut of
    every clustering into k clusters that keeps them. Without links it is that of :class:`~cvxlink.NCuts`. The rows of
    :math:`D^{-1/2}Z^{1/2}` are clustered by k-means with the degrees as weights.

    *Soft links.* With ``must_weight`` or ``cannot_weight``, links of that kind may be broken at a price, and may
    contradict one another:

    .. math::

        \min_{Z,s}\ \langle \bar L, Z\rangle
        + \sum_{\mathcal{M}} \omega_{ij}\, \bar\delta\, \Bigl\|\frac{z_i}{d_i} - \frac{z_j}{d_j}\Bigr\|^2
        + 2\sum_{\mathcal{C}} \omega_{ij}\, \bar\delta\, \frac{|s_{ij}|}{d_i d_j}
        \quad\text{s.t.}\quad Z_{ij} = s_{ij} \text{ on } \mathcal{C},\ \ldots

    Here :math:`Z_{ij} = z_i^\top z_j`, and :math:`\bar\delta` is the mean degree: a must-link of weight 1 pulls as
    strongly as all edges of a typical point together. It is an edge added to the graph, at unchanged degrees. In a
    clustering, a must-link between clusters of volumes U and V costs :math:`\omega\bar\delta(1/U + 1/V)`, and a
    cannot-link within a cluster of volume V costs :math:`2\omega\bar\delta/V`. The absolute value does not reward
    points for being further apart than orthogonal. As a weight grows, the program becomes the one with hard links of
    that kind; in the dual, weights are bounds on the multipliers.

    Parameters
    ----------
    graph : Graph
        No point may be isolated.
    links : Links
        Hard must-links and hard cannot-links must not contradict one another.
    n_clusters : int
        The number k of clusters.
    nonnegative : bool
        Ask for Z ≥ 0 as well: a tighter bound, which takes longer.
    must_weight, cannot_weight : number, mapping, matrix or array, optional
        The weights ω: one number for all links; by pair ``{(0, 1): 2.0}``, 1 for others; a symmetric matrix; or an
        array in the order of ``links.must`` and ``links.cannot``. Without them, or if infinite, links hold exactly.

    References
    ----------
    Shi & Malik (2000), whose relaxation it is without links; Helmberg & Rendl (2000) for the spectral bundle by which
    it is solved.
    """

    n_clusters: int = 2
    nonnegative: bool = False
    must_weight: Any = None
    cannot_weight: Any = None

    normalized = False  # of the Laplacian by which new points follow old ones

    about = About(
        "shi2000",
        program="semidefinite (Fantope)",
        form="declared",
        takes="hard or soft links",
        yields="embedding, kernel",
        embedding=True,
        cluster="kmeans",
    )

    def variables(self) -> dict[str, cp.Variable]:
        """Z in place of the projection; where cannot-links are soft, what is left of each."""
        variables = {"Z": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="Z")}
        if self._pays_for_cannot:
            variables["s"] = cp.Variable(len(self.links.cannot), name="s")
        return variables

    def objective(self, Z: cp.Variable, s: cp.Variable | None = None) -> cp.Minimize:  # type: ignore[override]
        """The normalised cut, and what broken links cost."""
        self.require_variables(Z=Z, s=s)
        cost = terms.smoothness(Z, self.graph.laplacian(), r"\bar L")
        if self._must_is_soft and len(self.links.must):
            cost = cost + terms.smoothness(Z, self.must_laplacian, r"\bar L_{\mathcal{M}}")
        if self._pays_for_cannot:
            s = as_expression(s, "s", (len(self.links.cannot),))
            cost = cost + terms.stands_for(self.prices @ cp.abs(s), r"\sum_{\mathcal{C}} c_{ij} |@_{ij}|", s)
        return cp.Minimize(cost)

    def constraints(self, Z: cp.Variable, s: cp.Variable | None = None) -> dict[str, Any]:  # type: ignore[override]
        """A convex combination of projections of rank k that keeps w and the links."""
        self.require_variables(Z=Z, s=s)
        constraints = {"keeps": terms.keeps_vector(Z, self.graph.trivial_cut, "w"), **terms.fantope(Z, self.n_clusters)}
        if not self._must_is_soft:
            constraints["must"] = terms.same_rows(Z, self.links, self.root_degrees)
        if not self._cannot_is_soft:
            constraints["cannot"] = terms.cannot_links(Z, self.links)
        elif self._pays_for_cannot:
            constraints["cannot"] = terms.cannot_links(Z, self.links, s)
        if self.nonnegative:
            constraints["nonnegative"] = terms.nonnegative(Z)
        return constraints

    @cached_property
    def program(self) -> Program:
        """A Fantope with links, solved by its dual."""
        if self.nonnegative and self._pays_for_cannot:
            return DeclaredProgram(self)
        if self.nonnegative:
            return SpecialProgram(
                self,
                Relaxation(self.partition, has_upper=True),
                (Splitting(),),
                certify_relaxation,
                not_linear="Z is bounded by the identity as well",
                refutes=refuted,
                disproves=disproof,
            )
        return SpecialProgram(
            self,
            self.data,
            (LinkedCutSplitting(), LinkedCutDual()),
            certify_linked_fantope,
            not_linear="Z is bounded by the identity as well",
            suits_solvers=False,
            refutes=refuted,
            disproves=disproof_of_fantope,
        )

    @property
    def equivalents(self) -> Mapping[str, BlockForm]:
        """The program on blocks, which has an interior."""
        return {"blocks": BlockForm(self.data)} if self.n_clusters > 1 else {}

    @property
    def prefers(self) -> str | None:  # type: ignore[override]
        """Solvers get the program on blocks unless they are told otherwise."""
        return "blocks" if self.n_clusters > 1 else None

    def point_from(self, form: str, values: Mapping[str, Any], duals: Mapping[str, Any]) -> tuple[dict, dict]:
        """Return Z, with the multipliers of cannot-links."""
        equivalent = self.equivalents[as_choice(form, "form", tuple(self.equivalents))]
        Z = equivalent.lifted(equivalent.answer(values)["M"])
        z = np.ravel(as_mapping(duals, "duals", "multipliers by name").get("cannot", np.zeros(0)))
        point = {"Z": Z, "s": entries(Z, *self.links.cannot.T)} if self._pays_for_cannot else {"Z": Z}
        return point, {"cannot": self.data.on_links(z)} if len(z) == len(self.data.block_pairs) else {}

    # ------------------------------------------------------------------ what is given

    def __post_init__(self) -> None:
        super().__post_init__()
        as_flag(self.nonnegative, "nonnegative")
        self._require_degrees()
        for kind, pairs in (("must", self.links.must), ("cannot", self.links.cannot)):
            name = f"{kind}_weight"
            given = getattr(self, name)
            if isinstance(given, float | np.floating) and given == math.inf:
                given = None
            if given is not None:
                given = as_link_values(given, pairs, self.graph.n, name)
                on_links(given, pairs, name, positive=False, default=1.0)
            object.__setattr__(self, name, given)
        if not self._must_is_soft and not self._cannot_is_soft:
            self.links.require_consistent()
        because = "" if self._must_is_soft else f"must-links leave {self.links.n_blocks} blocks of points"
        most = self.graph.n if self._must_is_soft else self.links.n_blocks
        as_count(self.n_clusters, "n_clusters", 1, most, because)
        self._require_enough_clusters()

    def _require_degrees(self) -> None:
        if (self.graph.degrees == 0).any():
            isolated = int(np.flatnonzero(self.graph.degrees == 0)[0])
            raise InvalidInput(
                f"point {isolated} has no neighbours, so it has no weight in a normalised cut; "
                f"join it to others, as Graph.knn does, or leave it out",
                "graph",
            )

    def _require_enough_clusters(self) -> None:
        """Raise if cannot-links that must hold need more clusters: some points are pairwise cannot-linked."""
        if self._cannot_is_soft:
            return
        remedy = "Raise it, or make cannot-links soft by cannot_weight"
        require_enough_clusters(self.kept_links, self.n_clusters, remedy)

    @property
    def _must_is_soft(self) -> bool:
        return self.must_weight is not None

    @property
    def _cannot_is_soft(self) -> bool:
        return self.cannot_weight is not None

    @property
    def _pays_for_cannot(self) -> bool:
        """Whether there are cannot-links that may be broken."""
        return self._cannot_is_soft and len(self.links.cannot) > 0

    @property
    def root_degrees(self) -> np.ndarray:
        """The numbers d_i, roots of the degrees."""
        return np.sqrt(self.graph.degrees)

    @cached_property
    def kept_links(self) -> Links:
        """The links that every answer keeps."""
        must = () if self._must_is_soft else self.links.must
        cannot = () if self._cannot_is_soft else self.links.cannot
        return Links(self.links.n, must, cannot)

    @cached_property
    def partition(self) -> Partition:
        """Cost, root weights and the links that every answer keeps."""
        C = self.graph.laplacian()
        if self._must_is_soft and len(self.links.must):
            C = sp.csr_array(C + self.must_laplacian)
        return Partition(C, self.root_degrees, self.kept_links, self.n_clusters)

    @property
    def clusterings(self) -> Partition:
        """The same for clusterings, whose entries are never negative, so that soft cannot-links have a linear cost."""
        if not self._pays_for_cannot:
            return self.partition
        i, j = self.links.cannot.T
        half = sp.csr_array((self.prices / 2, (i, j)), shape=self.partition.C.shape)
        return replace(self.partition, C=sp.csr_array(self.partition.C + half + half.T))

    @cached_property
    def data(self) -> LinkedFantope:
        """The program as data."""
        return LinkedFantope(self.partition, self.links.cannot, self.prices, self._pays_for_cannot, self.nonnegative)

    @cached_property
    def must_laplacian(self) -> sp.csr_array:
        """The Laplacian of soft must-links, D^{-1/2} on either side."""
        i, j = self.links.must.T
        weight = self._weights("must") * float(self.graph.degrees.mean())
        half = sp.csr_array((weight, (i, j)), shape=(self.graph.n, self.graph.n))
        W = half + half.T
        return sp.csr_array(scaled_by(sp.csr_array(sp.diags_array(W.sum(axis=1)) - W), self.graph.degrees))

    @cached_property
    def prices(self) -> np.ndarray:
        """What the absolute value of s_ij costs, one number per cannot-link; infinity if links hold exactly."""
        if not self._cannot_is_soft:
            return np.full(len(self.links.cannot), np.inf)
        i, j = self.links.cannot.T
        d = self.root_degrees
        return 2 * self._weights("cannot") * float(self.graph.degrees.mean()) / (d[i] * d[j])

    def _weights(self, kind: str) -> np.ndarray:
        name = f"{kind}_weight"
        return on_links(getattr(self, name), getattr(self.links, kind), name, positive=False, default=1.0)

    # ------------------------------------------------------------------ how it reads, and what is made of it

    def learnt(self, values: Arrays) -> Learnt:
        """The rows of D^{-1/2} times a factor of Z; without links they are those of normalised cuts, rotated."""
        values = self.answer(values)
        Z = values.stored["Z"]
        return Learnt(
            kernel=Z,
            embedding=lambda: kernel_factor(Z) / self.root_degrees[:, None],
            weights=self.graph.degrees,
            rounding=partial(rounded_answer, self.clusterings, Z),
        )

    def point_of_clustering(self, labels: Any) -> dict[str, Any]:
        """The projection of a clustering, whose value is its normalised cut and the price of the links it breaks."""
        H = self.partition.columns(as_labels(labels, self.graph.n))
        Z = Congruence(H, np.eye(H.shape[1]))
        return {"Z": Z, "s": entries(Z, *self.links.cannot.T)} if self._pays_for_cannot else {"Z": Z}
