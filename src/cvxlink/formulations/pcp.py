"""Pairwise constraint propagation (Li, Liu & Tang 2008)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from .. import terms
from ..citations import Citation
from ..declaration import Sizes
from ..linear_sdp import LinearSDP
from .base import LinkedGraphProblem


@dataclass(frozen=True, eq=False)
class PCP(LinkedGraphProblem):
    r"""Pairwise constraint propagation.

    .. math::

        \min_K \langle \bar L, K\rangle \quad\text{s.t.}\quad K_{ii} = 1,\quad
        K_{ij} = 1 \text{ on } \mathcal{M},\quad K_{ij} = 0 \text{ on } \mathcal{C},\quad K \succeq 0.

    The smoothest kernel over the graph that maps every point to the unit sphere, must-linked points to the same
    place and cannot-linked points at right angles.

    Parameters
    ----------
    graph : Graph
    links : Links
    normalized : bool
        Use the normalised Laplacian L̄ (the papers' choice) or L = D − W.

    References
    ----------
    Li, Liu & Tang (2008), ICML; equation (1) of Hu, Chen, Zhang & Yin (2010).
    """

    cites = Citation("li2008", equation="1", printed_in="hu2010")
    declared_form = "paper"
    program = "semidefinite"
    takes = "hard links"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.links.require_consistent()

    @property
    def unit_points(self) -> np.ndarray:
        """The points whose images have unit length: all."""
        return np.arange(self.graph.n)

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\langle \bar L, K \rangle" if self.normalized else r"\langle L, K \rangle",
            "unit": r"K_{ii} = 1 \quad \forall i",
            "must": r"K_{ij} = 1 \quad (i,j) \in \mathcal{M}",
            "cannot": r"K_{ij} = 0 \quad (i,j) \in \mathcal{C}",
            "psd": r"K \succeq 0",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """The kernel."""
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="K")}

    def objective(self, K: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Smoothness over the graph."""
        return cp.Minimize(terms.smoothness(K, self.L))

    def constraints(self, K: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Unit length, must-links, cannot-links, semidefiniteness."""
        return {
            "unit": terms.unit_diagonal(K, self.unit_points),
            "must": terms.must_links(K, self.links),
            "cannot": terms.cannot_links(K, self.links),
            "psd": terms.semidefinite(K),
        }

    def linear_sdp(self) -> LinearSDP:
        """Return the same program as data."""
        return self._as_data

    @property
    def sizes(self) -> Sizes:
        """Its sizes, known without asking CVXPY."""
        return self._as_data.sizes

    @cached_property
    def _as_data(self) -> LinearSDP:
        entries = {
            "unit": (np.column_stack([self.unit_points, self.unit_points]), 1.0),
            "must": (self.links.must, 1.0),
            "cannot": (self.links.cannot, 0.0),
        }
        return LinearSDP.with_fixed_entries(self.L, entries)
