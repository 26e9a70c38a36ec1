"""Eigenvalues of a matrix in the Fantope: numbers between 0 and 1 with a given sum."""

from __future__ import annotations

import numpy as np


def nearest_shares(numbers: np.ndarray, total: float, room: float = 0.0) -> np.ndarray:
    """Return the nearest numbers between ``room`` and 1 − ``room`` with a given sum: shifted alike, then clipped."""
    low, high = -float(numbers.max()) - 1, 1 - float(numbers.min())
    for _ in range(100):
        middle = (low + high) / 2
        if np.clip(numbers + middle, room, 1 - room).sum() < total:
            low = middle
        else:
            high = middle
    return np.clip(numbers + high, room, 1 - room)
