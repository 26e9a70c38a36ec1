"""Kernel propagation (Hu, Chen, Zhang & Yin 2010)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...engine.formulation import Learnt
from ...errors import InvalidInput
from ...model.about import About
from ...numerics.checks import as_flag
from ...numerics.harmonic import require_reached
from ...numerics.matrices import Arrays, unit_diagonal
from ...programs.declared import DeclaredProgram
from ...programs.linear_sdp import LinearSDP
from .pcp import PCP, nothing_apart


@dataclass(frozen=True, eq=False)
class WithNullVector(DeclaredProgram):
    """A declared program whose cost is a Laplacian, and a positive vector that this takes to zero."""

    null_vector: np.ndarray

    def linear_sdp(self) -> LinearSDP:
        """Return the linear SDP with the vector."""
        return self._with_vector

    @cached_property
    def _with_vector(self) -> LinearSDP:
        return replace(super().linear_sdp(), null_vector=self.null_vector)


@dataclass(frozen=True, eq=False)
class KP(PCP):
    r"""Kernel propagation.

    .. math::

        \min_K \langle \bar L, K\rangle \quad\text{s.t.}\quad K_{ii} = 1 \text{ for linked } i,\quad
        K_{ij} = 1 \text{ on } \mathcal{M},\quad K_{ij} = 0 \text{ on } \mathcal{C},\quad K \succeq 0.

    PCP with unit length asked of the linked points only. The others are then in no constraint, and elimination leaves
    a program on the linked points l alone, equation (8) of the paper:

    .. math:: \min_{K_{ll}} \langle \bar L_{ll} - \bar L_{lu} \bar L_{uu}^{-1} \bar L_{ul},\ K_{ll}\rangle,
              \qquad K = Q K_{ll} Q^\top,\quad Q = \begin{pmatrix} I \\ -\bar L_{uu}^{-1} \bar L_{ul} \end{pmatrix}.

    The seed kernel :math:`K_{ll}` is learnt, and propagated as labels would be. So rank K is at most the number of
    blocks of linked points, and a solution is kept as its factor :math:`Q B_l`, n × r.

    Parameters
    ----------
    graph : Graph
        Every connected component must hold a linked point.
    links : Links
    normalized : bool
        Use the normalised Laplacian L̄ (the paper's choice) or L = D − W.
    unit_length : bool
        Scale the propagated kernel to unit diagonal before clustering, step 4 of Table I. ``values["K"]`` is always
        the solution of the program, ``kernel`` and ``factor`` are scaled.

    References
    ----------
    Hu, Chen, Zhang & Yin (2010), IEEE Transactions on Neural Networks 21(11), equations (3) to (8), Table I.
    """

    unit_length: bool = True

    about = About("hu2010", equation="7", program="semidefinite", form="paper", takes="hard links", hard_links=True)

    def constraints(self, K: cp.Variable) -> dict[str, Any]:  # type: ignore[override]
        """Unit length of linked points, must-links, cannot-links, semidefiniteness."""
        return {
            "unit": terms.unit_diagonal(K, self.links.linked, r"\text{for linked }i"),
            "must": terms.must_links(K, self.links),
            "cannot": terms.cannot_links(K, self.links),
            "psd": terms.semidefinite(K),
        }

    @cached_property
    def program(self) -> DeclaredProgram:
        """The declared program; it also knows the vector without cost, which survives weights of all sizes."""
        return WithNullVector(self, self.graph.null_vector(self.normalized))

    def cautions(self, n_clusters: int | None = None) -> tuple[str, ...]:
        """Say if nothing keeps points apart."""
        return nothing_apart(self)

    def __post_init__(self) -> None:
        super().__post_init__()
        as_flag(self.unit_length, "unit_length")
        if not len(self.links):
            raise InvalidInput("KP propagates from linked points, and there are no links; give at least one", "links")
        require_reached(self.graph.components, self.links.linked)

    def learnt(self, values: Arrays) -> Learnt:
        """The propagated kernel, scaled to unit diagonal unless that is off."""
        K = self.answer(values).stored["K"]
        return Learnt(kernel=lambda: unit_diagonal(K) if self.unit_length else K)
