"""Semi-supervised kernel k-means (Kulis, Basu, Dhillon & Mooney 2005)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ... import terms
from ...data.constraint_matrices import scaled_by
from ...engine.formulation import Learnt
from ...errors import InvalidInput
from ...model.about import About
from ...numerics.arguments import as_choice
from ...numerics.checks import as_count, as_positive
from ...numerics.matrices import Arrays
from ...numerics.threads import threads_for
from ...programs.declared import SpecialProgram
from ..base import LinkedProblem
from .fantope import Fantope
from .projections import embedded, projection_of, solved_by_eigenvectors

PAPER = "paper"
# The norm of what links add by default, beside the norm 1 of D^{-1/2}WD^{-1/2}.
LARGEST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class SSKK(LinkedProblem):
    r"""Semi-supervised kernel k-means.

    .. math:: \min_X\ \langle K, I - X\rangle \quad\text{s.t.}\quad 0 \preceq X \preceq I,\quad \operatorname{tr} X = k,
              \qquad K = \sigma I + D^{-1/2}(W + P)D^{-1/2} .

    Links enter the affinity as penalties, :math:`P_{ij} = +p_{ij}` on must-links and :math:`-p_{ij}` on cannot-links,
    and a shift σ, as small as possible, makes it a kernel. Weighted kernel k-means with the kernel
    :math:`D^{-1/2}KD^{-1/2}` and the degrees as weights is then the normalised cut of the changed graph: a clustering
    with indicator matrix H has the distortion ⟨K, I − X⟩ with the projection :math:`X = D^{1/2}H(H^\top D
    H)^{-1}H^\top D^{1/2}`, and the program, also known as trace maximisation, is its relaxation: the optimum, the sum
    of the n − k smallest eigenvalues of K, is a lower bound on the distortion of every clustering. Kernel k-means
    starts from the eigenvectors and from random centres.

    Parameters
    ----------
    graph : Graph
        No point may be isolated.
    links : Links
        They may contradict one another: they are rewarded, not enforced.
    n_clusters : int
        The number k of clusters.
    penalty : None, "paper" or float
        None weighs links against the weights beside them: :math:`p_{ij} = \tau\sqrt{d_i d_j}` with
        :math:`\tau = 1/(2\|Y\|)`, so that K = σI + S + τY, in which the links are half as large as the graph, in the
        spectral norm. "paper" is n / (k · number of links) for all links, whatever the weights are. A number is the
        penalty of all links.

    Notes
    -----
    The penalty of the papers grows without limit as links become fewer. Once it reaches the degrees of the points, a
    single link has an eigenvector of its own among the first k, and its two points become a cluster. With the default
    an eigenvector x of S + τY for an eigenvalue λ satisfies :math:`x^\top S x \ge \lambda - 1/2`: none is large unless
    the graph agrees.

    References
    ----------
    Kulis, Basu, Dhillon & Mooney (2005), ICML; the normalised-cut version, with which Li, Liu & Tang (2009) compare.
    """

    n_clusters: int = 2
    penalty: float | str | None = None

    normalized = False  # of the Laplacian by which new points follow old ones

    about = About(
        "kulis2005",
        program="semidefinite (Fantope)",
        form="fantope",
        takes="soft links",
        cluster="kernel-kmeans",
    )

    def variables(self) -> dict[str, cp.Variable]:
        """X in place of the projection."""
        return {"X": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="X")}

    def objective(self, X: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The distortion: squared distances to the centres, weighted by degrees."""
        return cp.Minimize(terms.distortion(X, self.K))

    def constraints(self, X: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """A convex combination of projections of rank k."""
        return terms.fantope(X, self.n_clusters)

    @cached_property
    def program(self) -> SpecialProgram:
        """The sum of eigenvalues it is equal to."""
        said = f"the sum of all eigenvalues of K but the {self.n_clusters} largest"
        return solved_by_eigenvectors(
            self, Fantope(-self.K, self.n_clusters, math.fsum(np.diag(self.K)), self._smallest, said)
        )

    # ------------------------------------------------------------------ what is given

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.n_clusters, "n_clusters", 1, self.graph.n)
        if isinstance(self.penalty, str):
            as_choice(self.penalty, "penalty", (PAPER,))
        elif self.penalty is not None:
            object.__setattr__(self, "penalty", as_positive(self.penalty, "penalty", or_zero=True))
        if (self.graph.degrees == 0).any():
            isolated = int(np.flatnonzero(self.graph.degrees == 0)[0])
            raise InvalidInput(
                f"point {isolated} has no neighbours, so it has no weight in a normalised cut; "
                f"join it to others, as Graph.knn does, or leave it out",
                "graph",
            )

    @cached_property
    def K(self) -> np.ndarray:
        """The shifted affinity, D^{1/2} on either side of the kernel."""
        return self._changed + self.shift * np.eye(self.graph.n)

    @property
    def shift(self) -> float:
        """The smallest shift σ that makes the changed affinity a kernel."""
        return max(0.0, -float(self._spectrum[0][0]))

    @cached_property
    def strength(self) -> float:
        """What Y is multiplied by: the penalty p of every link, or τ by default; zero without links."""
        if not len(self.links):
            return 0.0
        if self.penalty is None:
            linked = self.links.linked
            largest = float(np.linalg.norm(self.links.matrix[linked][:, linked].toarray(), 2))
            return LARGEST_SHARE / largest if largest else 0.0  # zero if every link contradicts another one
        return self.graph.n / (self.n_clusters * len(self.links)) if self.penalty == PAPER else float(self.penalty)

    @cached_property
    def P(self) -> sp.csr_array:
        """The penalties: positive on must-links, negative on cannot-links."""
        P = self.strength * self.links.matrix
        if self.penalty is None:
            root = sp.diags_array(np.sqrt(self.graph.degrees))
            P = root @ P @ root
        return sp.csr_array(P)

    @cached_property
    def _changed(self) -> np.ndarray:
        """The affinity with its links, D^{-1/2}(W + P)D^{-1/2}."""
        return scaled_by((self.graph.W + self.P).toarray(), self.graph.degrees)

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        with threads_for(self.graph.n):
            return np.linalg.eigh(self._changed)

    def _smallest(self) -> tuple[np.ndarray, np.ndarray]:
        eigenvalues, vectors = self._spectrum
        largest = slice(None, -self.n_clusters - 1, -1)
        return -(eigenvalues[largest] + self.shift), vectors[:, largest]

    # ------------------------------------------------------------------ how it reads, and what is made of it

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the objective, with what K is."""
        links = rf"D^{{-1/2}}(W + {self.strength:.4g} Y)D^{{-1/2}}"
        if self.penalty is None:
            links = rf"D^{{-1/2}} W D^{{-1/2}} + {self.strength:.4g} Y"
        return {"objective": rf"\langle K, I - X \rangle \quad K = {self.shift:.4g} I + {links}"}

    @property
    def remarks(self) -> tuple[str, ...]:
        """The penalty and the shift."""
        penalty = f"penalty {self.strength:.4g} per link"
        if self.penalty is None:
            penalty = f"penalty {self.strength:.4g} √(d_i d_j) on a link of points i and j, by their degrees"
        return (f"{penalty}; shift {self.shift:.4g}, the least that makes the affinity a kernel",)

    def learnt(self, values: Arrays) -> Learnt:
        """The kernel of weighted kernel k-means, and the eigenvectors it starts from, as normalised cuts uses them."""
        values = self.answer(values)
        changed = self.graph.W + self.P
        return Learnt(
            kernel=lambda: scaled_by(self.K, self.graph.degrees),
            embedding=lambda: embedded(values, self.n_clusters, self.graph.degrees),
            affinity=lambda n_clusters: np.maximum(changed.toarray(), 0),  # without its negative entries
            weights=self.graph.degrees,
        )

    def point_of_clustering(self, labels: Any) -> dict[str, Any]:
        """The projection of a clustering, whose value is its distortion."""
        return projection_of(labels, self.graph.degrees)
