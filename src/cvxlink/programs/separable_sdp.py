"""Linear semidefinite programs whose objectives also have convex functions of single numbers, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput
from ..numerics.checks import real_array
from ..numerics.losses import Losses
from ..numerics.matrices import Matrix
from .linear_sdp import LinearSDP, Rows


@dataclass(frozen=True, eq=False)
class SeparableSDP:
    r"""A semidefinite program with convex functions of single numbers in its objective.

    .. math:: \min_K \langle C, K\rangle + c_0 + \sum_l \varphi_l(\langle A_l, K\rangle) \quad \text{s.t.}\quad
              \langle A_r, K\rangle = b_r \ (\text{or} \le b_r),\quad K \succeq 0.

    Parameters
    ----------
    linear : LinearSDP
        The linear costs, the constant and the constraints. A declared constraint |⟨A_r, K⟩ − c| ≤ d is two groups of
        rows here.
    A : sparse matrix, m × n²
        Row l is the symmetric matrix A_l, written out row by row.
    losses : Losses
        The functions φ_l.
    name : str
        The name of the multipliers of these terms, which are subgradients of the φ_l.
    both_sides : dict
        Declared constraints that are two groups of rows here, with the names of these groups.
    """

    linear: LinearSDP
    A: sp.csr_array
    losses: Losses
    name: str = "objective"
    both_sides: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """The order of K."""
        return self.linear.n

    @cached_property
    def terms(self) -> LinearSDP:
        """The rows of the terms, as a program without costs."""
        rows = (Rows(self.name, self.A, np.zeros(self.A.shape[0])),)
        return LinearSDP(sp.csr_array((self.n, self.n)), rows, variable=self.linear.variable)

    def value(self, K: Matrix) -> float:
        """Return the objective."""
        return self.linear.value(K) + float(self.losses.values(self.terms.rows_of(K)).sum())

    def multipliers(self, duals: Mapping[str, Any]) -> np.ndarray | None:
        """Return the multipliers of the terms among others by name, or None if there are none."""
        if self.name not in duals:
            return None
        s = real_array(duals[self.name], f"the multipliers of {self.name!r}", "duals").ravel(order="F")
        if len(s) != len(self.losses):
            raise InvalidInput(
                f"the objective has {len(self.losses)} nonlinear terms, but {len(s)} multipliers were given", "duals"
            )
        return s

    def violations(self, by_rows: Mapping[str, float]) -> dict[str, float]:
        """Return violations by the names of the declared constraints, from those of groups of rows."""
        parts = {part: name for name, both in self.both_sides.items() for part in both}
        found: dict[str, float] = {}
        for name, violation in by_rows.items():
            declared = parts.get(name, name)
            found[declared] = max(found.get(declared, 0.0), violation)
        return found

    def on_blocks(self, P: Any, linear: LinearSDP) -> SeparableSDP:
        """Return the program for K = PK'Pᵀ, given its linear part for K'."""
        part, P = self.A.tocoo(), sp.csr_array(P)
        counts, c = np.diff(P.indptr), P.shape[1]
        i, j = part.col // self.n, part.col % self.n
        # Each coefficient goes to all pairs of a block of i and a block of j; mostly there is one.
        pairs = counts[i] * counts[j]
        entry = np.repeat(np.arange(part.nnz), pairs)
        number = np.arange(len(entry)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        a, b = P.indptr[i[entry]] + number // counts[j[entry]], P.indptr[j[entry]] + number % counts[j[entry]]
        columns = P.indices[a].astype(np.int64) * c + P.indices[b]
        data = part.data[entry] * P.data[a] * P.data[b]
        A = sp.csr_array((data, (part.row[entry], columns)), shape=(self.A.shape[0], c * c))
        A.sum_duplicates()
        return replace(self, linear=linear, A=A)
