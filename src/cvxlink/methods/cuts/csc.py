"""Constrained spectral clustering (Wang & Davidson 2010)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ... import terms
from ...data.constraint_matrices import as_constraint_matrix, scaled_by
from ...data.graph import Graph
from ...data.links import Links
from ...engine.formulation import Learnt
from ...engine.problem import Problem
from ...errors import InfeasibleProblem, InvalidInput
from ...model.about import About
from ...numerics.arguments import as_choice, as_mapping
from ...numerics.checks import as_count, as_flag, as_number, as_positive
from ...numerics.eigenpairs import Pairs, norm_bound
from ...numerics.matrices import Arrays
from ...programs.declared import SpecialProgram
from ..shared.solvable import AlwaysSolvable
from .constrained_cut import ConstrainedCut, largest_satisfaction, multiplier_of
from .proof import certify_cut
from .relaxation import CutRelaxation
from .routes import Cheapest, Exact


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

    The papers' own procedure (route "paper") takes the cheapest of the generalised eigenvectors of
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
        Ask for f ⊥ D^{1/2}1, as Wang, Qian & Davidson (2012) print it. Otherwise f may lean to one side, as in Wang &
        Davidson (2010), who ask only that f is not D^{1/2}1 itself. Then there is a cheapest cut of two clusters only
        if D^{1/2}1 does not satisfy the constraint: where it does, cuts near it cost as little as one likes, and only
        the papers' procedure gives an answer. For more clusters than two, D^{1/2}1 may be in the span of the columns.
    diagonal : float
        What Q has on the diagonal at linked points; other matrices bring their own. With 1, links from labels of two
        classes make Q positive semidefinite, the condition of claim 1 of Wang, Qian & Davidson (2012). It rewards cuts
        that set linked points apart from the others, whatever the links say.

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
    diagonal: float = 0.0

    about = About(
        "wang2010",
        equation="7",
        printed_in="wang2012",
        program="quadratic, exactly relaxed",
        form="paper",
        takes="soft links or matrix",
        yields="cut",
        kernel=False,
        embedding=True,
        cluster="cut",
    )
    convex = False

    def variables(self) -> dict[str, cp.Variable]:
        """The cut, one column fewer than there are clusters."""
        return {"f": cp.Variable((self.graph.n, self.n_clusters - 1), name="f")}

    def objective(self, f: cp.Variable) -> cp.Minimize:  # type: ignore[override]
        """The cost of the cut."""
        return cp.Minimize(terms.quadratic_form(f, self.graph.laplacian(), r"\bar L"))

    def constraints(self, f: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Satisfaction, unit length, no trivial cut."""
        self.require_variables(f=f)
        k = self.n_clusters - 1
        constraints = {
            "satisfaction": terms.quadratic_form(f, self.Q, r"\bar Q") >= k * self.threshold,
            "unit": f.T @ f == np.eye(k),
        }
        if self.orthogonal:
            constraints["orthogonal"] = self.graph.trivial_cut @ f == 0
        return constraints

    @cached_property
    def program(self) -> SpecialProgram:
        """A constrained cut, solved exactly by a search for one multiplier."""
        return SpecialProgram(
            self,
            self.cut,
            (Exact(), Cheapest()),
            certify_cut,
            not_linear="it is not convex; its relaxation is the form 'sdp'",
            suits_solvers=False,
            refutes=AlwaysSolvable(
                "the threshold is at most the largest feasible one", "no cut costs less than nothing"
            ),
        )

    @property
    def equivalents(self) -> Mapping[str, Problem]:
        """The relaxation, unless its optimum is the cut that is excluded."""
        return {} if self.cut.no_minimum else {"sdp": CutRelaxation(self.cut)}

    def point_from(self, form: str, values: Mapping[str, Any], duals: Mapping[str, Any]) -> tuple[dict, dict]:
        """Return the cut in the relaxation's X: its leading eigenvectors, combined where there are more than needed."""
        form = as_choice(form, "form", tuple(self.equivalents))
        X, duals = self.equivalents[form].answer(values)["X"], as_mapping(duals, "duals", "multipliers by name")
        eigenvalues, vectors = np.linalg.eigh(X)
        count = max(self.n_clusters - 1, int((eigenvalues > 1e-4 * eigenvalues[-1]).sum()))
        leading = self.cut.space.lift(vectors[:, -min(count, self.n_clusters + 9) :])
        f, multiplier = self.cut.near(leading)
        # Near the largest feasible threshold solvers lose the multiplier; the better bound counts.
        candidates = (max(multiplier, 0.0), multiplier_of(duals))
        best = max(candidates, key=lambda m: float(self.cut.smallest(m, self.cut.count)[0].sum()))
        return {"f": f}, {"satisfaction": np.array(-best)}

    # ------------------------------------------------------------------ what is given

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise InvalidInput("CSC takes a Graph and Links or a matrix: CSC(Graph.knn(X), links, beta=0.1)", "graph")
        if self.graph.n < 2:
            raise InvalidInput("there is nothing to cut in a single point; CSC needs at least two", "graph")
        for name in ("scaled", "orthogonal"):
            as_flag(getattr(self, name), name)
        as_count(self.n_clusters, "n_clusters", 2, max(2, self.graph.n - 1))
        if as_number(self.diagonal, "diagonal") and not isinstance(self.links, Links):
            raise InvalidInput.about("diagonal", "is for Links; give a matrix the diagonal that it should have")
        if not isinstance(self.links, Links):
            matrix = as_constraint_matrix(self.links, self.graph.n)
            object.__setattr__(self, "links", matrix)
        elif self.links.n != self.graph.n:
            raise InvalidInput(f"the graph has {self.graph.n} points, but the links are on {self.links.n}", "links")
        if self.beta is not None and self.fraction is not None:
            raise InvalidInput(
                "give beta or fraction, not both: fraction is beta divided by the largest feasible beta", "beta"
            )
        if self.beta is None:
            fraction = as_positive(self._share, "fraction", or_zero=True)
            if self.largest_beta <= 0:
                raise InfeasibleProblem(
                    f"the largest feasible beta is {self.largest_beta:.6g}, so a fraction of it means nothing; "
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
        if self.diagonal:
            Q = sp.csr_array(Q + sp.diags_array(self.diagonal * np.isin(np.arange(self.graph.n), self.links.linked)))
        return scaled_by(Q, self.graph.degrees) if self.scaled else Q

    @cached_property
    def threshold(self) -> float:
        """The threshold β, as a number."""
        return self._share * self.largest_beta if self.beta is None else float(self.beta)

    @cached_property
    def largest_beta(self) -> float:
        """The largest feasible threshold: the mean of the K − 1 largest eigenvalues of Q̄ on the subspace of f."""
        largest = float(self._satisfying[0].mean())
        rounding = 1e-14 * norm_bound(self.Q)
        return largest if abs(largest) > rounding else 0.0

    @cached_property
    def cut(self) -> ConstrainedCut:
        """The program as data."""
        null_vector = self.graph.trivial_cut if self.graph.n_components == 1 else None
        return ConstrainedCut(
            self.graph.laplacian(),
            self.Q,
            self.threshold,
            self._trivial,
            self.n_clusters - 1,
            self._satisfying[1],
            null_vector,
            None if self.orthogonal or self.n_clusters > 2 else self.graph.trivial_cut,
        )

    @cached_property
    def _satisfying(self) -> Pairs:
        return largest_satisfaction(self.Q, self._trivial, self.n_clusters - 1)

    @property
    def _trivial(self) -> np.ndarray | None:
        return self.graph.trivial_cut if self.orthogonal else None

    @property
    def _share(self) -> float:
        return 0.5 if self.fraction is None else self.fraction

    # ------------------------------------------------------------------ how it reads, and what is made of it

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the constraints, with the threshold as a number."""
        k = self.n_clusters - 1
        satisfied = r"f^\top \bar Q f" if k == 1 else r"\operatorname{tr}(f^\top \bar Q f)"
        return {
            "satisfaction": rf"{satisfied} \ge {'' if k == 1 else k}\beta \quad \beta = {self.threshold:.6g}",
            "unit": r"f^\top f = 1" if k == 1 else r"f^\top f = I",
            "orthogonal": r"f \perp D^{1/2} 1",
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        """The threshold, the largest there could be, and whether some cut is the cheapest."""
        threshold = f"β = {self.threshold:.6g}; the largest feasible one is {self.largest_beta:.6g}"
        return (threshold, self.cut.no_minimum) if self.cut.no_minimum else (threshold,)

    def learnt(self, values: Arrays) -> Learnt:
        """The cut itself; propagation by S and Q̄ is claim 1 of Wang, Qian & Davidson (2012)."""
        f = self.answer(values)["f"]
        return Learnt(
            embedding=f,
            measures=lambda: self._measures(f),
            propagation=lambda: (self.graph.S, self.Q, self.graph.free_cuts),
        )

    def _measures(self, f: np.ndarray) -> dict[str, float]:
        """The total cost of the cut, and how well it satisfies the constraints, the mean over its columns."""
        return {
            "cost": self.cut.cost(f),
            "satisfaction": self.cut.satisfaction(f),
            "beta": self.threshold,
            "largest_beta": self.largest_beta,
        }
