"""What programs that propagate links have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...engine.formulation import Learnt
from ...model.about import About
from ...numerics.arguments import as_choice
from ...numerics.checks import as_positive
from ...numerics.matrices import Arrays
from ...programs.declared import SpecialProgram
from ...solvers.route import Route
from ..base import LinkedGraphProblem
from ..shared.solvable import FREE_SQUARES
from .adjusted_affinity import adjusted_affinity, size_on_links
from .proof import certify_propagated_links

BY_LINKS = "links"


@dataclass(frozen=True, eq=False)
class PropagatingProblem(LinkedGraphProblem):
    """A program whose variable F, n × n, holds what the links say about every pair of points."""

    scale: float | str = field(default=BY_LINKS, kw_only=True)

    about = About(takes="soft links", yields="spread links, affinity", kernel=False, cluster="spectral")

    def learnt(self, values: Arrays) -> Learnt:
        """The propagated links, and the affinity raised and lowered by them: equation (9) of Fu et al. (2011).

        Where links are kept as a sum of products, the affinity is sparse: the graph's edges, and the strongest pairs of
        each linked point.
        """
        F = self.answer(values).stored["F"]
        return Learnt(propagated=F, affinity=lambda n_clusters: self._adjusted(F))

    def _adjusted(self, F: Any) -> Any:
        scale = size_on_links(F, self.links) if isinstance(self.scale, str) else self.scale
        return adjusted_affinity(self.graph, F, scale).affinity

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.scale, str):
            as_choice(self.scale, "scale", (BY_LINKS,))
        else:
            object.__setattr__(self, "scale", as_positive(self.scale, "scale"))

    def propagating(self, data: Any, *routes: Route) -> SpecialProgram:
        """Return the matrix equation that the program is equal to, with its routes and its proof."""
        return SpecialProgram(
            self,
            data,
            routes,
            certify_propagated_links,
            not_linear="its objective is quadratic, and links are fitted, not enforced",
            suits_solvers=False,
            refutes=FREE_SQUARES,
        )
