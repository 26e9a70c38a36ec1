"""Constrained spectral clustering with propagated labels (Wang, Qian & Davidson 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...data.constraint_matrices import as_width, label_kernel, scaled_by
from ...engine.formulation import Learnt
from ...errors import InvalidInput
from ...model.about import About
from ...numerics.harmonic import require_reached
from ...numerics.matrices import Arrays
from ...programs.declared import SpecialProgram
from ..base import LabelledProblem
from ..label_propagation.gfhf import GFHF
from ..shared.solvable import AlwaysSolvable
from .proof import certify_stationary
from .routes import Stationary
from .stationary_cuts import StationaryCuts


@dataclass(frozen=True, eq=False)
class CSCGFHF(LabelledProblem):
    r"""Constrained spectral clustering with propagated labels.

    .. math:: \max_{f, \lambda}\ f^\top \bar Q f \quad\text{s.t.}\quad \bar L f = \lambda \bar Q f,\quad
              \bar Q f \perp D^{1/2} 1,\quad f^\top f = 1, \qquad
              Q_{ij} = \exp\Bigl(-\frac{\|y_i - y_j\|^2}{2\sigma^2}\Bigr) .

    The labels are propagated first (GFHF), to y on all points, and Q is a kernel on what they became: non-negative and
    positive semidefinite, as links from labels are not. :math:`\bar Q = D_Q^{-1/2} Q D_Q^{-1/2}` with its own degrees.
    Of the cuts that stand still under propagation by Q̄, the generalised eigenvectors, the one that satisfies Q̄ most is
    taken, and its sign tells two clusters apart; for K clusters the K − 1 that satisfy it most, with k-means on rows.

    Not convex, but all feasible f are known up to scale, and compared. (The second constraint says λ ≠ 0:
    multiply both sides of the first by :math:`D^{1/2}1`. With several columns, no two may be the same.)

    Parameters
    ----------
    graph : Graph
        Connected.
    labels : array of n
        Numbers or names; -1 (or None among names) for unknown.
    confidence : float or array of n
        How sure the given labels are, between 0 (all classes alike) and 1.
    sigma : float
        The width σ in Q. Labels are ±1 for two classes, and unit vectors for more.

    References
    ----------
    Wang, Qian & Davidson (2012), ICDM, equations (12), (15) and algorithm 4.
    """

    sigma: float = 1.0

    about = About(
        "wang2012",
        equation="12",
        program="eigenvectors, not convex",
        form="paper",
        takes="labels",
        yields="cut",
        kernel=False,
        embedding=True,
        cluster="cut",
    )
    convex = False

    def variables(self) -> dict[str, cp.Variable]:
        """The cuts, one column fewer than there are clusters, and the λ of each."""
        k = self.n_clusters - 1
        return {"f": cp.Variable((self.graph.n, k), name="f"), "rates": cp.Variable(k, name="rates")}

    def objective(self, f: cp.Variable, rates: cp.Variable) -> cp.Maximize:  # type: ignore[override]
        """Satisfaction of the propagated labels."""
        self.require_variables(f=f, rates=rates)
        return cp.Maximize(terms.quadratic_form(f, self.Q, r"\bar Q"))

    def constraints(self, f: cp.Variable, rates: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Nothing changes when labels are propagated once more."""
        self.require_variables(f=f, rates=rates)
        L, k, v = self.graph.laplacian(), self.n_clusters - 1, self.graph.trivial_cut
        constraints = {
            "stationary": L @ f == self.Q @ f @ cp.diag(rates),
            "nontrivial": (v @ self.Q) @ f == 0,  # λ ≠ 0 implies it, and D^{1/2}1 itself does not satisfy it
            "unit": cp.sum(cp.square(f), axis=0) == 1,
        }
        if k > 1:
            constraints["different"] = cp.multiply(f.T @ (L @ f), 1 - np.eye(k)) == 0
        return constraints

    @cached_property
    def program(self) -> SpecialProgram:
        """The generalised eigenproblem it comes down to."""
        cuts = StationaryCuts(self.graph.laplacian(), self.Q, self.graph.trivial_cut, self.n_clusters - 1)
        return SpecialProgram(
            self,
            cuts,
            (Stationary(),),
            certify_stationary,
            not_linear="it is not convex",
            suits_solvers=False,
            refutes=AlwaysSolvable(bound="labelings have unit length"),
        )

    # ------------------------------------------------------------------ what is given

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sigma", as_width(self.sigma))
        require_reached(self.graph.components, self.known)
        if self.graph.n_components > 1:
            raise InvalidInput(
                f"CSCGFHF needs a connected graph, and this one has {self.graph.n_components} components; "
                f"join them, as Graph.knn(connect=True) does",
                "graph",
            )

    @cached_property
    def y(self) -> np.ndarray:
        """The propagated labels, one row per point: between −1 and 1 for two classes, shares of each class for more."""
        problem = GFHF(self.graph, self.labels, self.confidence)
        scores = problem.program.data.extension(problem.Y[problem.known])
        return scores if self.n_clusters > 2 else scores[:, 1:] - scores[:, :1]

    @cached_property
    def Q(self) -> np.ndarray:
        """The kernel on propagated labels, scaled by its own degrees."""
        Q = label_kernel(self.y, self.sigma)
        return scaled_by(Q, Q.sum(axis=1))

    # ------------------------------------------------------------------ how it reads, and what is made of it

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX of the program."""
        several = self.n_clusters > 2
        return {
            "objective": (r"\operatorname{tr}(f^\top \bar Q f)" if several else r"f^\top \bar Q f")
            + rf" \quad \sigma = {self.sigma:g}",
            "stationary": r"\bar L f = \bar Q f \operatorname{diag}(\lambda)"
            if several
            else r"\bar L f = \lambda \bar Q f",
            "nontrivial": r"\bar Q f \perp D^{1/2} 1",
            "different": r"f_i^\top \bar L f_j = 0 \quad i \ne j",
            "unit": r"f_j^\top f_j = 1 \quad \forall j" if several else r"f^\top f = 1",
        }

    @property
    def remarks(self) -> tuple[str, ...]:
        """The width."""
        return (f"Q is a Gaussian kernel of width σ = {self.sigma:g} on labels propagated by GFHF",)

    def learnt(self, values: Arrays) -> Learnt:
        """The cuts themselves: clusters, not classes."""
        f = self.answer(values)["f"]
        return Learnt(
            embedding=f,
            measures=lambda: self._measures(f),
            propagation=lambda: (self.graph.S, self.Q, self.graph.free_cuts),
        )

    def _measures(self, f: np.ndarray) -> dict[str, float]:
        """What the cuts cost, and how well they satisfy the propagated labels."""
        cost = float(np.vdot(f, self.graph.laplacian() @ f))
        return {"cost": cost, "satisfaction": float(np.vdot(f, self.Q @ f)) / f.shape[1]}
