"""Spectral learning (Kamvar, Klein & Manning 2003)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...engine.formulation import Learnt
from ...errors import InconsistentLinks
from ...model.about import About
from ...numerics.matrices import Arrays
from ...programs.declared import SpecialProgram
from ..base import LinkedProblem
from ..shared.solvable import AlwaysSolvable
from .fixed_entries import FixedEntries
from .proof import certify_fixed_entries
from .routes import Replacement


@dataclass(frozen=True, eq=False)
class SL(LinkedProblem):
    r"""Spectral learning.

    .. math:: \min_A\ \|A - W\|_F^2 \quad\text{s.t.}\quad A_{ij} = 1 \text{ on } \mathcal{M},\quad
              A_{ij} = 0 \text{ on } \mathcal{C} .

    The nearest affinity in which must-linked points are as similar as possible and cannot-linked points not at all:
    those entries are replaced, and nothing is propagated. Spectral clustering of A follows, with the normalisation that
    all methods here share; Kamvar et al. add to the diagonal instead, which corresponds to L = D − A.

    Parameters
    ----------
    graph : Graph
        Weights between 0 and 1.
    links : Links
        No pair may be both; what follows from chains of links is ignored.

    References
    ----------
    Kamvar, Klein & Manning (2003), IJCAI.
    """

    about = About(
        "kamvar2003",
        program="projection",
        form="projection",
        takes="links, as entries",
        yields="affinity",
        kernel=False,
        cluster="spectral",
    )

    def variables(self) -> dict[str, cp.Variable]:
        """The affinity."""
        return {"A": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="A")}

    def objective(self, A: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The distance from the graph's own."""
        return cp.Minimize(terms.fit(A, self.graph.W, "W"))

    def constraints(self, A: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """What the links say."""
        return {"must": terms.must_links(A, self.links), "cannot": terms.cannot_links(A, self.links)}

    @cached_property
    def program(self) -> SpecialProgram:
        """Given entries, which are replaced."""
        given = {"must": (self.links.must, 1.0), "cannot": (self.links.cannot, 0.0)}
        return SpecialProgram(
            self,
            FixedEntries(self.graph.W, given),
            (Replacement(),),
            certify_fixed_entries,
            not_linear="its objective is quadratic",
            suits_solvers=False,
            refutes=AlwaysSolvable(
                "the given entries and zeros elsewhere are feasible", "its objective is not negative"
            ),
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.graph.require_unit_weights("SL sets affinities to 0 and 1")
        both = set(map(tuple, self.links.must.tolist())) & set(map(tuple, self.links.cannot.tolist()))
        if both:
            raise InconsistentLinks(min(both), min(both))

    def learnt(self, values: Arrays) -> Learnt:
        """The affinity that was found; what a solver left below zero counts as zero."""
        A = self.answer(values)["A"]
        return Learnt(affinity=lambda n_clusters: np.maximum(A, 0))
