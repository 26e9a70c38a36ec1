"""Normalised cuts, relaxed (Shi & Malik 2000)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..citations import Citation
from ..clustering import kernel_factor
from ..declaration import Sizes
from ..errors import InvalidInput
from ..graph import Graph
from ..links import Links
from ..matrices import Arrays, Congruence, indicators
from ..problem import Problem
from ..structures import Fantope
from ..validation import as_count, as_labels


@dataclass(frozen=True, eq=False)
class NCuts(Problem):
    r"""Normalised cuts.

    .. math:: \min_X\ \langle \bar L, X\rangle \quad\text{s.t.}\quad 0 \preceq X \preceq I,\quad
              \operatorname{tr} X = k .

    A clustering with indicator matrix H has :math:`X = D^{1/2}H(H^\top D H)^{-1}H^\top D^{1/2}`, a projection of rank
    k, and :math:`\langle\bar L, X\rangle` is its normalised cut: the sum over clusters of the weight that leaves them,
    divided by their degrees. All projections of rank k, and what lies between them, make the Fantope; the optimum is
    the sum of the k smallest eigenvalues of L̄, a lower bound on every normalised cut. The rows of
    :math:`D^{-1/2}V`, with the eigenvectors V, are clustered by k-means, in which points weigh their degrees: it looks
    for the clustering whose X is nearest to :math:`VV^\top`. No links: the baseline of the other methods.

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

    cites = Citation("shi2000")
    program = "semidefinite (Fantope)"
    declared_form = "fantope"
    takes = "a graph only"
    yields = "embedding, kernel"

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise InvalidInput("NCuts takes a Graph: NCuts(Graph.knn(X), n_clusters=3)")
        if isinstance(self.n_clusters, Links):
            raise InvalidInput("NCuts takes no links: NCuts(graph, n_clusters=3); SL and SSKK are cuts with links")
        as_count(self.n_clusters, "n_clusters", 1, self.graph.n)

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {"objective": r"\langle \bar L, X \rangle", **fantope_tex(self.n_clusters)}

    def variables(self) -> dict[str, cp.Variable]:
        """What stands for the projection."""
        return {"X": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="X")}

    def objective(self, X: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The normalised cut."""
        return cp.Minimize(cp.sum(cp.multiply(self.graph.laplacian(), X)))

    def constraints(self, X: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Between the projections of rank k."""
        return fantope_constraints(X, self.n_clusters)

    @property
    def sizes(self) -> Sizes:
        """Its sizes, known without asking CVXPY."""
        return fantope_sizes(self.graph.n)

    @cached_property
    def structure(self) -> Fantope:
        """The sum of smallest eigenvalues it is equal to."""
        eigenpairs = partial(self.graph.smoothest, self.n_clusters)
        said = f"the sum of the {self.n_clusters} smallest eigenvalues of L̄"
        return Fantope(self.graph.laplacian(), self.n_clusters, 0.0, eigenpairs, said)

    def embedding_of(self, values: Arrays) -> np.ndarray:
        """The rows of D^{-1/2}V; where V is known up to a rotation only, k-means does not mind."""
        return fantope_embedding(values, self.n_clusters, self.graph.degrees)

    def point_of_clustering(self, labels: Any) -> dict[str, Any]:
        """The projection of a clustering, whose value is its normalised cut."""
        return fantope_point(labels, self.point_weights)

    @property
    def point_weights(self) -> np.ndarray:
        """Points weigh their degrees."""
        return self.graph.degrees if self.graph.n_edges else np.ones(self.graph.n)

    def affinity_of(self, values: Arrays, n_clusters: int | None = None) -> np.ndarray:
        """The graph's own."""
        return self.graph.W.toarray()


def fantope_constraints(X: cp.Variable, rank: int) -> dict[str, Any]:
    """Return what makes X lie between the projections of that rank."""
    return {"trace": cp.trace(X) == rank, "psd": X >> 0, "below": sp.eye_array(X.shape[0]) - X >> 0}


def fantope_sizes(n: int) -> Sizes:
    """Return the sizes of a program over the Fantope, known without asking CVXPY."""
    return Sizes(n * (n + 1) // 2, 1, 0, (n, n))


def fantope_embedding(values: Arrays, rank: int, degrees: np.ndarray) -> np.ndarray:
    """Return D^{-1/2}V for the leading eigenvectors V of X; the rows of points without a degree are zero."""
    V = kernel_factor(values.stored["X"])[:, :rank]
    return np.divide(V, np.sqrt(degrees)[:, None], out=np.zeros_like(V), where=degrees[:, None] > 0)


def fantope_point(labels: Any, degrees: np.ndarray) -> dict[str, Congruence]:
    """Return X = D^{1/2}H(HᵀDH)⁻¹HᵀD^{1/2} for a clustering with indicators H."""
    H = np.sqrt(degrees)[:, None] * indicators(as_labels(labels, len(degrees)))
    return {"X": Congruence(H / np.linalg.norm(H, axis=0), np.eye(H.shape[1]))}


def fantope_tex(rank: int) -> dict[str, str]:
    """Return LaTeX for the constraints of a Fantope."""
    return {"trace": rf"\operatorname{{tr}} X = {rank}", "psd": r"X \succeq 0", "below": r"X \preceq I"}
