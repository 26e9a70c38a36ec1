"""Semi-supervised kernel k-means (Kulis, Basu, Dhillon & Mooney 2005)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..citations import Citation
from ..declaration import Sizes
from ..errors import InvalidInput
from ..matrices import Arrays
from ..soft_links import scaled_by
from ..structures import Fantope
from ..threads import threads_for
from ..validation import as_count, as_positive
from .base import LinkedProblem
from .ncuts import fantope_constraints, fantope_embedding, fantope_point, fantope_sizes, fantope_tex


@dataclass(frozen=True, eq=False)
class SSKK(LinkedProblem):
    r"""Semi-supervised kernel k-means.

    .. math:: \min_X\ \langle K, I - X\rangle \quad\text{s.t.}\quad 0 \preceq X \preceq I,\quad \operatorname{tr} X = k,
              \qquad K = \sigma I + D^{-1/2}(W + pY)D^{-1/2} .

    Links enter the affinity as a penalty p, +p on must-links and −p on cannot-links, and the smallest shift σ makes a
    kernel of it. Weighted kernel k-means with the kernel :math:`D^{-1/2}KD^{-1/2}` and the degrees as weights is then
    the normalised cut of the changed graph: a clustering with indicator matrix H has the distortion ⟨K, I − X⟩ with the
    projection :math:`X = D^{1/2}H(H^\top D H)^{-1}H^\top D^{1/2}`, and the program, trace maximisation in other words,
    is its relaxation: the optimum, the sum of the n − k smallest eigenvalues of K, is below every clustering's.
    Kernel k-means starts from what the eigenvectors say, and from random centres.

    Parameters
    ----------
    graph : Graph
        No point may be isolated.
    links : Links
        They may contradict one another: they are rewarded, not enforced.
    n_clusters : int
        The number k of clusters.
    penalty : float, optional
        The penalty p; by default n / (k · number of links), as in the papers.

    References
    ----------
    Kulis, Basu, Dhillon & Mooney (2005), ICML; the normalised-cut version, with which Li, Liu & Tang (2009) compare.
    """

    n_clusters: int = 2
    penalty: float | None = None

    normalized = False  # of the Laplacian by which new points follow old ones

    cites = Citation("kulis2005")
    program = "semidefinite (Fantope)"
    takes = "soft links"
    declared_form = "fantope"
    cluster_method = "kernel-kmeans"

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.n_clusters, "n_clusters", 1, self.graph.n)
        if self.penalty is not None:
            object.__setattr__(self, "penalty", as_positive(self.penalty, "penalty", or_zero=True))
        if (self.graph.degrees == 0).any():
            isolated = int(np.flatnonzero(self.graph.degrees == 0)[0])
            raise InvalidInput(
                f"point {isolated} has no neighbours, so it has no weight in a normalised cut; "
                f"join it to others, as Graph.knn does, or leave it out"
            )

    @property
    def reward(self) -> float:
        """The penalty p: what a broken link costs."""
        if self.penalty is not None:
            return self.penalty
        return self.graph.n / (self.n_clusters * len(self.links)) if len(self.links) else 0.0

    @cached_property
    def _changed(self) -> np.ndarray:
        """The affinity with its links, D^{-1/2}(W + pY)D^{-1/2}."""
        return scaled_by((self.graph.W + self.reward * self.links.matrix).toarray(), self.graph.degrees)

    @cached_property
    def _spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        with threads_for(self.graph.n):
            return np.linalg.eigh(self._changed)

    @property
    def shift(self) -> float:
        """The smallest shift σ that makes a kernel of the changed affinity."""
        return max(0.0, -float(self._spectrum[0][0]))

    @cached_property
    def K(self) -> np.ndarray:
        """The shifted affinity, D^{1/2} on either side of the kernel."""
        return self._changed + self.shift * np.eye(self.graph.n)

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        kernel = rf"K = {self.shift:.4g} I + D^{{-1/2}}(W + {self.reward:.4g} Y)D^{{-1/2}}"
        return {"objective": rf"\langle K, I - X \rangle \quad {kernel}", **fantope_tex(self.n_clusters)}

    def variables(self) -> dict[str, cp.Variable]:
        """What stands for the projection."""
        return {"X": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="X")}

    def objective(self, X: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The distortion: squared distances to the centres, weighted by degrees."""
        return cp.Minimize(cp.sum(cp.multiply(self.K, np.eye(self.graph.n) - X)))

    def constraints(self, X: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Between the projections of rank k."""
        return fantope_constraints(X, self.n_clusters)

    @property
    def sizes(self) -> Sizes:
        """Its sizes, known without asking CVXPY."""
        return fantope_sizes(self.graph.n)

    @cached_property
    def structure(self) -> Fantope:
        """The sum of eigenvalues it is equal to."""
        said = f"the sum of all eigenvalues of K but the {self.n_clusters} largest"
        return Fantope(-self.K, self.n_clusters, float(np.trace(self.K)), self._smallest, said)

    def _smallest(self) -> tuple[np.ndarray, np.ndarray]:
        eigenvalues, vectors = self._spectrum
        largest = slice(None, -self.n_clusters - 1, -1)
        return -(eigenvalues[largest] + self.shift), vectors[:, largest]

    @property
    def remarks(self) -> tuple[str, ...]:
        """The shift and the penalty."""
        return (f"penalty {self.reward:.4g} a link, shift {self.shift:.4g}: the least that makes a kernel",)

    @property
    def point_weights(self) -> np.ndarray:
        """Points weigh their degrees."""
        return self.graph.degrees

    def point_of_clustering(self, labels: Any) -> dict[str, Any]:
        """The projection of a clustering, whose value is its distortion."""
        return fantope_point(labels, self.graph.degrees)

    def kernel_of(self, values: Arrays) -> np.ndarray:
        """The kernel of weighted kernel k-means."""
        return scaled_by(self.K, self.graph.degrees)

    def embedding_of(self, values: Arrays) -> np.ndarray:
        """The eigenvectors that solve the program, as normalised cuts uses them: where kernel k-means starts."""
        return fantope_embedding(values, self.n_clusters, self.graph.degrees)

    def affinity_of(self, values: Arrays, n_clusters: int | None = None) -> np.ndarray:
        """The changed affinity, without its negative entries."""
        return np.maximum((self.graph.W + self.reward * self.links.matrix).toarray(), 0)
