"""Spectral learning (Kamvar, Klein & Manning 2003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..adjustment import require_unit_weights
from ..citations import Citation
from ..declaration import Sizes
from ..errors import InconsistentLinks
from ..matrices import Arrays
from ..structures import FixedEntries
from .base import LinkedProblem


@dataclass(frozen=True, eq=False)
class SL(LinkedProblem):
    r"""Spectral learning.

    .. math:: \min_A\ \|A - W\|_F^2 \quad\text{s.t.}\quad A_{ij} = 1 \text{ on } \mathcal{M},\quad
              A_{ij} = 0 \text{ on } \mathcal{C} .

    The nearest affinity in which must-linked points are as alike as can be and cannot-linked ones not at all: those
    entries are put in their places, nothing is propagated. Spectral clustering of A follows, with the normalisation
    that all methods here share; Kamvar et al. add to the diagonal instead, which is that of L = D − A.

    Parameters
    ----------
    graph : Graph
        Weights between 0 and 1.
    links : Links
        No pair may be both; what follows from chains of links is not looked at.

    References
    ----------
    Kamvar, Klein & Manning (2003), IJCAI.
    """

    cites = Citation("kamvar2003")
    program = "projection"
    takes = "links, as entries"
    yields = "affinity"
    declared_form = "projection"
    cluster_method = "spectral"
    yields_kernel = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_unit_weights(self.graph, "SL sets affinities to 0 and 1")
        both = set(map(tuple, self.links.must.tolist())) & set(map(tuple, self.links.cannot.tolist()))
        if both:
            raise InconsistentLinks(min(both), min(both))

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\|A - W\|^2",
            "must": r"A_{ij} = 1 \quad (i,j) \in \mathcal{M}",
            "cannot": r"A_{ij} = 0 \quad (i,j) \in \mathcal{C}",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """The affinity."""
        return {"A": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="A")}

    def objective(self, A: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The distance from the graph's own."""
        return cp.Minimize(cp.sum_squares(A - self.graph.W))

    def constraints(self, A: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """What the links say."""
        must, cannot = self.links.must, self.links.cannot
        return {"must": A[must[:, 0], must[:, 1]] == 1, "cannot": A[cannot[:, 0], cannot[:, 1]] == 0}

    @property
    def sizes(self) -> Sizes:
        """Its sizes, known without asking CVXPY."""
        return Sizes(self.graph.n * (self.graph.n + 1) // 2, len(self.links), 0, ())

    @cached_property
    def structure(self) -> FixedEntries:
        """Entries that are given."""
        return FixedEntries(self.graph.W, {"must": (self.links.must, 1.0), "cannot": (self.links.cannot, 0.0)})

    def affinity_of(self, values: Arrays, n_clusters: int | None = None) -> np.ndarray:
        """The affinity that was found; what a solver left below zero counts as zero."""
        return np.maximum(values["A"], 0)
