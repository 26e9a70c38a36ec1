r"""The nearest matrix with some entries given.

.. math:: \min_A\ \|A - W\|_F^2 \quad\text{s.t.}\quad A_{ij} = t_{ij} \text{ on given pairs} .

The entries are independent of one another: the given ones are replaced and the others stay. No feasible A can avoid the
cost of the given ones, :math:`2\sum (t_{ij} - w_{ij})^2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...numerics.rounding import Ball, dot, gamma


@dataclass(frozen=True, eq=False)
class FixedEntries:
    """The program as data: a symmetric matrix, and for each constraint its pairs and the entry given for them."""

    W: sp.csr_array
    given: dict[str, tuple[np.ndarray, float]]

    def solution(self) -> sp.csr_array:
        """Return W with the given entries replaced."""
        return sp.csr_array(self.replaced(sp.lil_array(self.W)))

    def replaced(self, A: Any) -> Any:
        """Put the given entries into a matrix."""
        for pairs, entry in self.given.values():
            i, j = pairs.T
            A[i, j] = A[j, i] = entry
        return A

    def value(self, point: Mapping[str, np.ndarray]) -> float:
        """Return the objective."""
        return self.cost(point["A"])

    def violations(self, point: Mapping[str, np.ndarray]) -> dict[str, float]:
        """Return the largest violation of each constraint."""
        A = point["A"]
        return {
            name: float(abs(A[tuple(pairs.T)] - entry).max(initial=0.0)) for name, (pairs, entry) in self.given.items()
        }

    def cost(self, A: np.ndarray) -> float:
        """Return ‖A − W‖²."""
        return self.exact_cost(A).middle

    def exact_cost(self, A: np.ndarray) -> Ball:
        """Return ‖A − W‖², a sum of squares of differences that are each rounded once."""
        difference = A - self.W.toarray()
        return dot(difference, difference) * Ball(1.0, gamma(4))

    def least(self) -> Ball:
        """Return the optimum."""
        groups = [(pairs.T, entry) for pairs, entry in self.given.values() if len(pairs)]
        given = [np.ravel(entry - np.asarray(self.W[i, j])) for (i, j), entry in groups]
        difference = np.concatenate(given or [np.zeros(0)])
        return 2 * dot(difference, difference) * Ball(1.0, gamma(4))
