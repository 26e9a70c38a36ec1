"""Constrained spectral clustering (Wang & Davidson 2010)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ..citations import Citation
from ..errors import InfeasibleProblem, InvalidInput
from ..graph import Graph
from ..links import Links
from ..matrices import Arrays
from ..problem import Problem
from ..soft_links import as_constraint_matrix, scaled_by
from ..spectrum import Pairs, norm_bound
from ..structures import ConstrainedCut
from ..structures.cut import largest_satisfaction
from ..validation import as_count, as_flag, as_number, as_positive


@dataclass(frozen=True, eq=False)
class CSC(Problem):
    r"""Constrained spectral clustering.

    .. math:: \min_f\ f^\top \bar L f \quad\text{s.t.}\quad f^\top \bar Q f \ge \beta,\quad f^\top f = 1,\quad
              f \perp D^{1/2} 1 .

    The cheapest cut that satisfies the constraints in Q to the degree β; Q is +1 on must-links and −1 on cannot-links,
    or any symmetric matrix of degrees, and :math:`\bar Q = D^{-1/2} Q D^{-1/2}`. Not convex, but its semidefinite
    relaxation (form "sdp") is exact, and so is the search over one multiplier (route "exact"):

    .. math:: \max_{\lambda \ge 0}\ \lambda_{\min}\bigl(\bar L - \lambda(\bar Q - \beta I)\bigr)
              \quad\text{on the complement of } D^{1/2} 1 .

    The papers' own procedure (route "paper") takes the cheapest of those generalised eigenvectors of
    :math:`\bar L f = \lambda(\bar Q - \beta I)f` that satisfy the constraint. Its answer is feasible and usually not
    optimal; its certificate says by how much.

    More than two clusters need K − 1 columns: f has orthonormal columns, and cost and satisfaction are sums over them,
    the latter at least (K − 1)β (a rotation then makes it at least β in each column). Two clusters are told apart by
    the sign of f, more by k-means on its rows.

    Parameters
    ----------
    graph : Graph
    links : Links or symmetric matrix, dense or sparse
        Must-links and cannot-links, or what should be together (positive) and apart (negative), and how much.
    n_clusters : int
        The number K of clusters.
    beta : float, optional
        The threshold. It must not exceed ``largest_beta``, the mean of the K − 1 largest eigenvalues of Q̄ (on the
        complement of D^{1/2}1); larger ones are refused at once.
    fraction : float, optional
        The threshold as a fraction of ``largest_beta`` instead; without either it is 0.5.
    scaled : bool
        Scale Q by the degrees; otherwise it is taken for Q̄ as it is.
    orthogonal : bool
        Ask for f ⊥ D^{1/2}1, as Wang, Qian & Davidson (2012) print it. Without, f may lean to one side, as in Wang &
        Davidson (2010), who ask only that f is not D^{1/2}1 itself.

    References
    ----------
    Wang & Davidson (2010), KDD; equations (7), (8) and algorithm 3 of Wang, Qian & Davidson (2012).
    """

    graph: Graph
    links: Any
    n_clusters: int = 2
    beta: float | None = None
    fraction: float | None = None
    scaled: bool = True
    orthogonal: bool = True

    cites = Citation("wang2010", equation="7", printed_in="wang2012")
    program = "quadratic, exactly relaxed"
    takes = "soft links or matrix"
    yields = "cut"
    declared_form = "paper"
    convex = False
    cluster_method = "cut"
    yields_kernel = False

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise InvalidInput("CSC takes a Graph and Links or a matrix: CSC(Graph.knn(X), links, beta=0.1)")
        if self.graph.n < 2:
            raise InvalidInput("there is nothing to cut in a single point; CSC needs at least two")
        for name in ("scaled", "orthogonal"):
            as_flag(getattr(self, name), name)
        as_count(self.n_clusters, "n_clusters", 2, max(2, self.graph.n - 1))
        if not isinstance(self.links, Links):
            matrix = as_constraint_matrix(self.links, self.graph.n)
            object.__setattr__(self, "links", matrix)
        elif self.links.n != self.graph.n:
            raise InvalidInput(f"the graph has {self.graph.n} points, but the links are on {self.links.n}")
        if self.beta is not None and self.fraction is not None:
            raise InvalidInput("give beta or fraction, not both: fraction is beta divided by the largest feasible beta")
        if self.beta is None:
            fraction = as_positive(self._share, "fraction", or_zero=True)
            if self.largest_beta <= 0:
                raise InfeasibleProblem(
                    f"the largest feasible beta is {self.largest_beta:.6g}, which has no fractions to choose; "
                    f"give beta itself, or links that can be satisfied"
                )
            if fraction > 1:
                raise InfeasibleProblem(
                    f"the largest feasible beta is {self.largest_beta:.6g}: give a fraction of it that is at most 1"
                )
        elif as_number(self.beta, "beta") > self.largest_beta:
            raise InfeasibleProblem(
                f"no f satisfies the constraints to the degree beta = {self.beta:.6g}; "
                f"the largest feasible beta is {self.largest_beta:.10g}"
            )

    @cached_property
    def Q(self) -> Any:
        """The constraint matrix Q̄, scaled unless that is off."""
        Q = self.links.matrix if isinstance(self.links, Links) else self.links
        return scaled_by(Q, self.graph.degrees) if self.scaled else Q

    @cached_property
    def largest_beta(self) -> float:
        """The largest threshold that some f satisfies: the mean of the K − 1 largest eigenvalues of Q̄ where f lives."""
        largest = float(self._satisfying[0].mean())
        rounding = 1e-14 * norm_bound(self.Q)
        return largest if abs(largest) > rounding else 0.0

    @cached_property
    def _satisfying(self) -> Pairs:
        return largest_satisfaction(self.Q, self._trivial, self.n_clusters - 1)

    @property
    def _trivial(self) -> np.ndarray | None:
        return self.graph.trivial_cut if self.orthogonal else None

    @cached_property
    def threshold(self) -> float:
        """The threshold β, as a number."""
        return self._share * self.largest_beta if self.beta is None else float(self.beta)

    @property
    def _share(self) -> float:
        return 0.5 if self.fraction is None else self.fraction

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        k = self.n_clusters - 1
        cost, satisfied, unit = r"f^\top \bar L f", r"f^\top \bar Q f", r"f^\top f = 1"
        if k > 1:
            cost, satisfied = (rf"\operatorname{{tr}}({form})" for form in (cost, satisfied))
            unit = r"f^\top f = I"
        return {
            "objective": cost,
            "satisfaction": rf"{satisfied} \ge {'' if k == 1 else k}\beta \quad \beta = {self.threshold:.6g}",
            "unit": unit,
            "orthogonal": r"f \perp D^{1/2} 1",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """The cut, a column for each cluster but one."""
        return {"f": cp.Variable((self.graph.n, self.n_clusters - 1), name="f")}

    def objective(self, f: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """What the cut costs."""
        return cp.Minimize(cp.sum(cp.multiply(f, self.graph.laplacian() @ f)))

    def constraints(self, f: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Satisfaction, unit length, no trivial cut."""
        k = self.n_clusters - 1
        constraints = {
            "satisfaction": cp.sum(cp.multiply(f, self.Q @ f)) >= k * self.threshold,
            "unit": f.T @ f == np.eye(k),
        }
        if self.orthogonal:
            constraints["orthogonal"] = self.graph.trivial_cut @ f == 0
        return constraints

    @property
    def remarks(self) -> tuple[str, ...]:
        """The threshold, and the largest there could be."""
        return (f"β = {self.threshold:.6g}; the largest feasible one is {self.largest_beta:.6g}",)

    @cached_property
    def structure(self) -> ConstrainedCut:
        """The two forms it is about."""
        L, satisfying = self.graph.laplacian(), self._satisfying[1]
        return ConstrainedCut(L, self.Q, self.threshold, self._trivial, self.n_clusters - 1, satisfying)

    @property
    def equivalents(self) -> Mapping[str, Problem]:
        """The relaxation."""
        return {"sdp": CutRelaxation(self.structure)}

    def point_from(self, form: str, values: Mapping[str, Any], duals: Mapping[str, Any]) -> tuple[dict, dict]:
        """Return the cut in the relaxation's X: its leading eigenvectors, combined where there are more than needed."""
        eigenvalues, vectors = np.linalg.eigh(values["X"])
        count = max(self.n_clusters - 1, int((eigenvalues > 1e-4 * eigenvalues[-1]).sum()))
        leading = self.structure.space.lift(vectors[:, -min(count, self.n_clusters + 9) :])
        f, _ = self.structure.within(leading)
        return {"f": f}, {name: duals[name] for name in ("satisfaction",) if name in duals}

    def embedding_of(self, values: Arrays) -> np.ndarray:
        """The cut itself."""
        return values["f"]

    def measures_of(self, values: Arrays) -> dict[str, float]:
        """What the cut costs in all, and how well it satisfies the constraints, the mean over its columns."""
        f = values["f"]
        return {
            "cost": self.structure.cost(f),
            "satisfaction": self.structure.satisfaction(f),
            "beta": self.threshold,
            "largest_beta": self.largest_beta,
        }

    @property
    def propagation(self) -> tuple[Any, Any, np.ndarray]:
        """Propagation within the graph and into it, S and Q̄: claim 1 of Wang, Qian & Davidson (2012)."""
        return self.graph.S, self.Q, self.graph.free_cuts


@dataclass(frozen=True, eq=False)
class CutRelaxation(Problem):
    r"""The relaxation of constrained spectral clustering.

    .. math:: \min_X\ \langle \bar L, X\rangle \quad\text{s.t.}\quad \langle \bar Q, X\rangle \ge (K-1)\beta,\quad
              \operatorname{tr} X = K - 1,\quad 0 \preceq X \preceq I

    over matrices on the complement of :math:`D^{1/2}1`, of order n − 1. With two scalar constraints an extreme point is
    a projection, of rank K − 1, so an optimal cut can be read off it. For two clusters X ⪯ I follows from the trace.
    """

    cut: ConstrainedCut

    cites = Citation("wang2010", printed_in="wang2012")
    declared_form = "sdp"

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        return {
            "objective": r"\langle \bar L, X \rangle",
            "satisfaction": rf"\langle \bar Q, X \rangle \ge {self.cut.count * self.cut.beta:.6g}",
            "trace": rf"\operatorname{{tr}} X = {self.cut.count}",
            "psd": r"X \succeq 0",
            "below": r"X \preceq I",
        }

    def variables(self) -> dict[str, cp.Variable]:
        """What stands for ffᵀ, on the complement of the trivial cut."""
        order = self.cut.space.dimension
        return {"X": cp.Variable((order, order), symmetric=True, name="X")}

    def objective(self, X: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """What the cut costs."""
        return cp.Minimize(cp.sum(cp.multiply(self.cut.space.restrict(self.cut.L), X)))

    def constraints(self, X: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Satisfaction, and between the projections of rank K − 1."""
        k = self.cut.count
        constraints = {
            "satisfaction": cp.sum(cp.multiply(self.cut.space.restrict(self.cut.Q), X)) >= k * self.cut.beta,
            "trace": cp.trace(X) == k,
            "psd": X >> 0,
        }
        if k > 1:
            constraints["below"] = np.eye(self.cut.space.dimension) - X >> 0
        return constraints
