r"""Anderson's acceleration of an iteration x ← x + f(x), which keeps to it where the acceleration does not help.

From the last points and steps, the combination of points is taken whose combined step is the shortest, and that step
is made from there. Near a solution, where f is nearly linear, this is as good as a Krylov method. A proposal whose own
step turns out to be much longer than the one before is taken back.
"""

from __future__ import annotations

import numpy as np

# Points that are remembered, and how often a proposal is made.
MEMORY = 10
PROPOSED_EVERY = 5
# A proposal is taken back if its step is so many times as long as the one before.
LONGER = 2.0
# Coefficients beyond this come from steps that are nearly dependent.
LARGEST_COEFFICIENTS = 1e4
REGULARISATION = 1e-8


class Anderson:
    """The points and steps so far; ``after(x, step)`` returns the next point."""

    def __init__(self) -> None:
        self._calls = 0
        self._plain: np.ndarray | None = None  # where to go on if the proposal is taken back
        self._length = np.inf
        self.forget()

    def forget(self) -> None:
        """Begin anew, because the iteration changed."""
        self._points: list[np.ndarray] = []
        self._steps: list[np.ndarray] = []
        self._plain = None

    def after(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the point to go on from, given a point and its step."""
        length = float(np.linalg.norm(step))
        plain = self._plain
        if plain is not None and not length <= LONGER * self._length:
            self.forget()
            return plain
        self._plain = None
        self._points = [*self._points[-MEMORY:], x]
        self._steps = [*self._steps[-MEMORY:], step]
        self._calls += 1
        following = x + step
        proposal = self._proposal(following) if self._calls % PROPOSED_EVERY == 0 else None
        if proposal is None:
            return following
        self._plain, self._length = following, length
        return proposal

    def _proposal(self, following: np.ndarray) -> np.ndarray | None:
        """Return the step from the combination of points whose step is shortest, or None if there is none."""
        if len(self._points) < 4:
            return None
        differences = np.diff([step.ravel() for step in self._steps], axis=0)
        gram = differences @ differences.T
        gram[np.diag_indices(len(gram))] *= 1 + REGULARISATION
        try:
            coefficients = np.linalg.solve(gram, differences @ self._steps[-1].ravel())
        except np.linalg.LinAlgError:  # two steps were the same
            return None
        if not abs(coefficients).sum() < LARGEST_COEFFICIENTS:
            return None
        ends = np.diff([point.ravel() for point in self._points], axis=0) + differences
        return following - (coefficients @ ends).reshape(following.shape)
