"""Normalised cuts, relaxed (Shi & Malik 2000)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...data.graph import Graph
from ...data.links import Links
from ...engine.formulation import Learnt
from ...engine.problem import Problem
from ...errors import InvalidInput
from ...model.about import About
from ...numerics.checks import as_count
from ...numerics.matrices import Arrays
from ...programs.declared import SpecialProgram
from .fantope import Fantope
from .projections import embedded, projection_of, solved_by_eigenvectors


@dataclass(frozen=True, eq=False)
class NCuts(Problem):
    r"""Normalised cuts.

    .. math:: \min_X\ \langle \bar L, X\rangle \quad\text{s.t.}\quad 0 \preceq X \preceq I,\quad
              \operatorname{tr} X = k .

    A clustering with indicator matrix H has :math:`X = D^{1/2}H(H^\top D H)^{-1}H^\top D^{1/2}`, a projection of rank
    k, and :math:`\langle\bar L, X\rangle` is its normalised cut: the sum over clusters of the weight that leaves them,
    divided by their degrees. All projections of rank k and their convex combinations form the Fantope; the optimum is
    the sum of the k smallest eigenvalues of L̄, a lower bound on every normalised cut. The rows of
    :math:`D^{-1/2}V`, with the eigenvectors V, are clustered by k-means with the degrees as weights: it looks for
    the clustering whose X is nearest to :math:`VV^\top`. No links: the baseline of the other methods.

    Parameters
    ----------
    graph : Graph
    n_clusters : int
        The number k of clusters.

    References
    ----------
    Shi & Malik (2000), IEEE Transactions on Pattern Analysis and Machine Intelligence 22(8).
    """

    graph: Graph
    n_clusters: int = 2

    normalized = False  # of the Laplacian by which new points follow old ones

    about = About(
        "shi2000", program="semidefinite (Fantope)", form="fantope", takes="a graph only", yields="embedding, kernel"
    )

    def variables(self) -> dict[str, cp.Variable]:
        """X in place of the projection."""
        return {"X": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="X")}

    def objective(self, X: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The normalised cut."""
        return cp.Minimize(terms.smoothness(X, self.graph.laplacian(), r"\bar L"))

    def constraints(self, X: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """A convex combination of projections of rank k."""
        return terms.fantope(X, self.n_clusters)

    @cached_property
    def program(self) -> SpecialProgram:
        """The sum of smallest eigenvalues it is equal to."""
        eigenpairs = partial(self.graph.smoothest, self.n_clusters)
        said = f"the sum of the {self.n_clusters} smallest eigenvalues of L̄"
        return solved_by_eigenvectors(self, Fantope(self.graph.laplacian(), self.n_clusters, 0.0, eigenpairs, said))

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise InvalidInput("NCuts takes a Graph: NCuts(Graph.knn(X), n_clusters=3)", "graph")
        if isinstance(self.n_clusters, Links):
            raise InvalidInput(
                "NCuts takes no links: NCuts(graph, n_clusters=3); SL and SSKK are cuts with links", "n_clusters"
            )
        as_count(self.n_clusters, "n_clusters", 1, self.graph.n)

    @property
    def _degrees(self) -> np.ndarray:
        """The weights of points in k-means; points without neighbours have hardly any."""
        degrees = self.graph.degrees
        return np.maximum(degrees, 1e-12 * degrees.max()) if self.graph.n_edges else np.ones(self.graph.n)

    def learnt(self, values: Arrays) -> Learnt:
        """The rows of D^{-1/2}V; where V is known up to a rotation only, k-means does not mind."""
        values = self.answer(values)
        return Learnt(
            kernel=values.stored["X"],
            embedding=lambda: embedded(values, self.n_clusters, self.graph.degrees),
            affinity=lambda n_clusters: self.graph.W.toarray(),
            weights=self._degrees,
        )

    def point_of_clustering(self, labels: Any) -> dict[str, Any]:
        """The projection of a clustering, whose value is its normalised cut."""
        return projection_of(labels, self._degrees)
