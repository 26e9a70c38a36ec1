"""Pairwise constraint propagation (Li, Liu & Tang 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from ... import terms
from ...model.about import About
from ..base import LinkedGraphProblem


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

    about = About(
        "li2008",
        equation="1",
        printed_in="hu2010",
        program="semidefinite",
        form="paper",
        takes="hard links",
        hard_links=True,
    )

    def variables(self) -> dict[str, cp.Variable]:
        """The kernel."""
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="K")}

    def objective(self, K: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """Smoothness over the graph."""
        return cp.Minimize(terms.smoothness(K, self.L, self.L_symbol))

    def constraints(self, K: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Unit length, must-links, cannot-links, semidefiniteness."""
        return {
            "unit": terms.unit_diagonal(K),
            "must": terms.must_links(K, self.links),
            "cannot": terms.cannot_links(K, self.links),
            "psd": terms.semidefinite(K),
        }

    def cautions(self, n_clusters: int | None = None) -> tuple[str, ...]:
        """Say if nothing keeps points apart."""
        return nothing_apart(self)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.links.require_consistent()


def nothing_apart(problem: PCP) -> tuple[str, ...]:
    """Return what follows if there are no cannot-links.

    Entries of L off the diagonal are not positive, nor are those that elimination leaves, and entries of K are at most
    one: ones are the solution, and the only one on a connected graph.
    """
    count = problem.graph.n_components
    if len(problem.links.cannot) or problem.graph.n == 1:
        return ()
    where = "all points" if count == 1 else f"all points of each of the {count} components of the graph"
    return (
        f"there are no cannot-links, so {type(problem).__name__} maps {where} to one place, where there are no "
        f"clusters to find; add cannot-links, or use LinkedCut or SRCP",
    )
