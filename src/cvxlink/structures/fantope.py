r"""The Fantope: projections of rank k, and what lies between them.

.. math:: \min_X\ c_0 + \langle C, X\rangle \quad\text{s.t.}\quad 0 \preceq X \preceq I,\quad \operatorname{tr} X = k .

Its extreme points are the orthogonal projections :math:`VV^\top` of rank k, so the optimum is c₀ plus the sum of the k
smallest eigenvalues of C (Ky Fan), at the projection on their eigenvectors; it is the only solution if the next
eigenvalue is larger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..matrices import Matrix, inner


@dataclass(frozen=True, eq=False)
class Fantope:
    """The program as data.

    Attributes
    ----------
    C : matrix
        Symmetric, dense or sparse.
    count : int
        The rank k.
    offset : float
        The constant c₀.
    eigenpairs : function
        Returns the k smallest eigenvalues of C and their eigenvectors as columns.
    said : str
        What the optimum is, in words.
    """

    C: Any
    count: int
    offset: float
    eigenpairs: Callable[[], tuple[np.ndarray, np.ndarray]]
    said: str

    described = "a sum of smallest eigenvalues"
    not_linear = "X is bounded by the identity as well"
    suits_solvers = False

    @property
    def n(self) -> int:
        """The order of X."""
        return int(self.C.shape[0])

    def value(self, X: Matrix) -> float:
        """Return the objective."""
        return self.offset + inner(self.C, X)
