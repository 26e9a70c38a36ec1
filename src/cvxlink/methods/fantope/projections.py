"""What programs over projections of rank k share: their algorithm, and what is made of a solution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...clustering import kernel_factor
from ...numerics.checks import as_labels
from ...numerics.matrices import Arrays, Congruence, indicators
from ...programs.declared import SpecialProgram
from ..shared.solvable import AlwaysSolvable
from .fantope import Fantope
from .proof import certify_fantope
from .routes import Eigenvectors


def solved_by_eigenvectors(problem: Any, data: Fantope) -> SpecialProgram:
    """Return a program over the Fantope with its route and its proof."""
    return SpecialProgram(
        problem,
        data,
        (Eigenvectors(),),
        certify_fantope,
        not_linear="X is bounded by the identity as well",
        suits_solvers=False,
        refutes=AlwaysSolvable("X = (k/n) I is feasible", "all feasible X are between 0 and I"),
    )


def embedded(values: Arrays, rank: int, degrees: np.ndarray) -> np.ndarray:
    """Return D^{-1/2}V for the leading eigenvectors V of X; the rows of points without a degree are zero."""
    V = kernel_factor(values.stored["X"])[:, :rank]
    return np.divide(V, np.sqrt(degrees)[:, None], out=np.zeros_like(V), where=degrees[:, None] > 0)


def projection_of(labels: Any, degrees: np.ndarray) -> dict[str, Congruence]:
    """Return X = D^{1/2}H(HᵀDH)⁻¹HᵀD^{1/2} for a clustering with indicators H."""
    H = np.sqrt(degrees)[:, None] * indicators(as_labels(labels, len(degrees)))
    return {"X": Congruence(H / np.linalg.norm(H, axis=0), np.eye(H.shape[1]))}
