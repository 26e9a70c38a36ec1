"""Kernels that must be positive definite, and the jitter that makes them so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InvalidInput
from ...numerics.arguments import shown
from ...numerics.checks import as_positive

# A kernel counts as positive definite if its least eigenvalue is above this fraction of its largest: less is rounding.
LEAST_EIGENVALUE = 1e-10


@dataclass(frozen=True, eq=False)
class DefiniteKernel:
    """A positive definite kernel: a given one with ``jitter`` on its diagonal, whose least eigenvalue was ``least``."""

    matrix: np.ndarray
    jitter: float
    least: float

    @classmethod
    def of(cls, kernel: np.ndarray, jitter: Any) -> DefiniteKernel:
        """Add to the diagonal nothing (None), the least that makes the kernel definite ("smallest"), or a number.

        Raise, and say how much is missing, where that is not enough.
        """
        smallest = isinstance(jitter, str) and jitter == "smallest"
        if isinstance(jitter, str) and not smallest:
            raise InvalidInput.about("jitter", f"must be None, 'smallest' or a number, not {shown(jitter)}")
        if not kernel.any():
            raise InvalidInput("the kernel is zero everywhere, so there is nothing to be near to", "kernel")
        eigenvalues = np.linalg.eigvalsh(kernel)
        least, most = float(eigenvalues[0]), float(eigenvalues[-1])
        lack = max(0.0, LEAST_EIGENVALUE * max(most, -least) - least)
        asked = 0.0 if jitter is None else jitter
        added = lack if smallest else as_positive(asked, "jitter", or_zero=True)
        if added < lack:
            raise InvalidInput(
                f"the kernel is not positive definite: its least eigenvalue is {least:.3g}, its largest {most:.3g}, "
                f"so add at least {lack:.3g} to its diagonal, as jitter='smallest' does",
                "kernel",
            )
        return cls(kernel + added * np.eye(len(kernel)), added, least)
