r"""The Fantope: projections of rank k and their convex combinations.

.. math:: \min_X\ c_0 + \langle C, X\rangle \quad\text{s.t.}\quad 0 \preceq X \preceq I,\quad \operatorname{tr} X = k .

Its extreme points are the orthogonal projections :math:`VV^\top` of rank k, so the optimum is c₀ plus the sum of the k
smallest eigenvalues of C (Ky Fan), at the projection on their eigenvectors; it is the only solution if the next
eigenvalue is larger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...numerics.matrices import Congruence, Matrix, inner


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

    @property
    def n(self) -> int:
        """The order of X."""
        return int(self.C.shape[0])

    def value(self, point: Mapping[str, Matrix]) -> float:
        """Return the objective."""
        return self.cost(point["X"])

    def cost(self, X: Matrix) -> float:
        """Return c₀ + ⟨C, X⟩."""
        return self.offset + inner(self.C, X)

    def violations(self, point: Mapping[str, Matrix]) -> dict[str, float]:
        """Return the largest violation of each constraint."""
        return self.violated(eigenvalues_of(point["X"])[0])

    def violated(self, eigenvalues: np.ndarray) -> dict[str, float]:
        """Return the same from the eigenvalues of X; where some are missing, they are zero."""
        return {
            "trace": abs(float(eigenvalues.sum()) - self.count),
            "psd": max(0.0, -self.smallest(eigenvalues)),
            "below": max(0.0, float(eigenvalues[-1]) - 1),
        }

    def smallest(self, eigenvalues: np.ndarray) -> float:
        """Return the least eigenvalue of X; a product of lower rank has zeros besides the given ones."""
        least = float(eigenvalues[0])
        return least if len(eigenvalues) == self.n else min(least, 0.0)


def eigenvalues_of(X: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of X; of a product, as many as it has columns."""
    if not isinstance(X, Congruence):
        return np.linalg.eigh((X + X.T) / 2)
    V, R = np.linalg.qr(X.T)
    small = R @ X.M @ R.T
    eigenvalues, turned = np.linalg.eigh((small + small.T) / 2)
    return eigenvalues, V @ turned
