"""Kernel propagation and normalised cuts with links, mixed: links lead where there are many, the graph elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...clustering import kernel_factor
from ...clustering.linked_kmeans import linked_kmeans
from ...data.links import Links
from ...engine.formulation import Learnt
from ...model.about import About
from ...numerics.checks import as_fraction
from ...numerics.matrices import Arrays, Congruence
from ...programs.declared import SpecialProgram
from ..base import LinkedProblem
from ..kernels.kp import KP
from ..shared.side_by_side import OneAfterTheOther, SideBySide, certify_side_by_side, refuted_by_parts
from .linked_cut import LinkedCut


@dataclass(frozen=True, eq=False)
class KPCut(LinkedProblem):
    r"""Kernel propagation beside normalised cuts with links.

    .. math:: \min_{K, Z}\ \langle \bar L, K\rangle + \langle \bar L, Z\rangle \quad\text{s.t.}\quad
              K \text{ feasible for KP},\quad Z \text{ feasible for LinkedCut} .

    Nothing joins the two programs, so each is solved and proven by itself. KP follows the links and does not know how
    many clusters there are; :class:`~cvxlink.LinkedCut` knows it and follows the graph, and a link changes little far
    from its points. What is clustered, by k-means, is a mixture of both kernels:

    .. math::

        (1 - \theta)\, \hat K + \theta\, \hat Z, \qquad \hat K_{ij} = \frac{K_{ij}}{\sqrt{K_{ii} K_{jj}}},\quad
        \hat Z_{ij} \propto \frac{Y_{ij}}{\sqrt[4]{Y_{ii} Y_{jj}}},\quad Y = D^{-1/2} Z D^{-1/2} .

    K has unit diagonal, as KP's paper has it. The rows of a factor of Y have the length 1/√V in a cluster of volume V;
    here they have the square root of that, half-way to unit length, so that small clusters count less. Ẑ has the mean
    diagonal 1. By default the cut weighs as much as one link per cluster, and counts only for points without links:
    :math:`\theta = \frac{u}{n} \cdot \frac{k}{k + m}` with m links, and u of the n points in none of them. With few
    links the graph decides, with many the links do. If the clusters that k-means finds break a link, it goes on with
    assignments that keep all of them.

    Parameters
    ----------
    graph : Graph
        Connected, or with a linked point in every component; no point may be isolated.
    links : Links
        At least one, and no contradictions.
    n_clusters : int
        The number k of clusters.
    share : float, optional
        The share θ of the cut, between 0 and 1.
    """

    n_clusters: int = 2
    share: float | None = None

    normalized = False  # of the Laplacian by which new points follow old ones

    about = About(
        program="semidefinite",
        form="declared",
        takes="hard links",
        yields="embedding, kernel",
        hard_links=True,
        embedding=True,
        cluster="partition",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share is not None:
            object.__setattr__(self, "share", as_fraction(self.share, "share"))
        _ = self.parts  # both check what they are given

    @cached_property
    def parts(self) -> dict[str, Any]:
        """The two problems, by the name of their variable."""
        return {"K": KP(self.graph, self.links), "Z": LinkedCut(self.graph, self.links, self.n_clusters)}

    def variables(self) -> dict[str, cp.Variable]:
        """The kernel K of KP, and Z in place of the projection of a clustering."""
        return {**self.parts["K"].variables(), **self.parts["Z"].variables()}

    def objective(self, K: cp.Variable, Z: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """How smooth both are over the graph."""
        L = self.graph.laplacian()
        return cp.Minimize(terms.smoothness(K, L, r"\bar L") + terms.smoothness(Z, L, r"\bar L"))

    def constraints(self, K: cp.Variable, Z: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Those of KP on K, and those of LinkedCut on Z."""
        of_K, of_Z = self.parts["K"].constraints(K), self.parts["Z"].constraints(Z)
        return {f"K {name}": c for name, c in of_K.items()} | {f"Z {name}": c for name, c in of_Z.items()}

    @cached_property
    def program(self) -> SpecialProgram:
        """Both programs, each with its own algorithm and proof."""
        return SpecialProgram(
            self,
            SideBySide(self.parts),
            (OneAfterTheOther(),),
            certify_side_by_side,
            not_linear="it consists of two programs",
            suits_solvers=False,
            refutes=refuted_by_parts,
        )

    @property
    def theta(self) -> float:
        """The share of the cut, as given or as it follows from the links."""
        return share_of_graph(self.links, self.n_clusters) if self.share is None else self.share

    def learnt(self, values: Arrays) -> Learnt:
        """The rows of both factors, side by side."""
        stored, theta = self.answer(values).stored, self.theta
        of_K, of_Z = kernel_factor(stored["K"]), kernel_factor(stored["Z"]) / self.parts["Z"].root_degrees[:, None]
        shorter = _divided_by_length(of_Z, 0.5)
        shorter = shorter / np.sqrt((shorter**2).sum(axis=1).mean())
        rows = np.hstack([np.sqrt(1 - theta) * _divided_by_length(of_K, 1.0), np.sqrt(theta) * shorter])
        return Learnt(
            kernel=Congruence(rows, np.eye(rows.shape[1])),
            embedding=rows,
            rounding=partial(linked_kmeans, rows, self.links, self.n_clusters),
        )

    def point_of_clustering(self, labels: Any) -> dict[str, Any]:
        """The kernel of a clustering, and its projection."""
        return {name: value for part in self.parts.values() for name, value in part.point_of_clustering(labels).items()}


def share_of_graph(links: Links, n_clusters: int) -> float:
    """Return how much the graph weighs beside the links: as much as one link per cluster, for points without links."""
    return (1 - len(links.linked) / links.n) * n_clusters / (n_clusters + len(links))


def _divided_by_length(rows: np.ndarray, power: float) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths**power, out=np.zeros_like(rows), where=lengths > 0)
