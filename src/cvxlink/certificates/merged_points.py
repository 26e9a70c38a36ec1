"""Contradictions that are seen when points are merged, for any subset of the constraints, in exact arithmetic.

K₀₀ = 0 and K₀₁ = 1 contradict K ⪰ 0, but points violate them as little as one likes, so no multipliers prove it.
:mod:`cvxlink.reductions.faces` does.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from ..errors import InfeasibleProblem, ReductionRefused
from ..model.declared import Declaration
from ..programs.declared import semidefinite_names, semidefinite_variable
from ..programs.declared_rows import linear_rows
from ..programs.linear_sdp import Rows
from ..reductions.faces import face_of
from .ownership import Item


class MergedPoints:
    """The linear constraints on each semidefinite matrix of a declaration, to be merged with some of them only."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.rows: dict[str, dict[int, Rows]] = {}  # by variable and by the id of the constraint
        for name in semidefinite_names(declaration):
            try:
                rows, terms = linear_rows(declaration, declaration.variables[name])
            except ReductionRefused:
                continue
            self.rows[name] = {term.id: own for term, own in zip(terms, rows, strict=True)}

    def contradict(self, items: Iterable[Item]) -> bool:
        """Whether some items contradict one another, which is exact; otherwise nothing is known."""
        places: dict[int, list[int]] = {}
        cones = set()
        for item in items:
            if item.kind == "semidefinite":
                own = None if item.term is None else semidefinite_variable(item.term, self.declaration.variables)
                cones.add(item.group.removesuffix(" domain") if item.term is None else own)
            elif item.term is not None:
                places.setdefault(item.term.id, []).append(item.place)
        return any(self._contradict(name, places) for name in self.rows if name in cones)

    def _contradict(self, name: str, places: dict[int, list[int]]) -> bool:
        kept = []
        for key, rows in self.rows[name].items():
            own = np.array(sorted(place for place in places.get(key, ()) if place < len(rows)), dtype=int)
            if len(own):
                kept.append(Rows(rows.name, sp.csr_array(rows.A[own]), rows.b[own], rows.sense))
        try:
            face_of(kept, self.declaration.variables[name].shape[0])
        except InfeasibleProblem:
            return True
        return False
