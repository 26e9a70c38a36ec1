r"""The projection on the matrices with the right eigenvalues.

.. math:: \mathcal{F} = \{ww^\top + UMU^\top : 0 \preceq M \preceq I,\ \operatorname{tr} M = k - 1\}

With eigenvalues :math:`\lambda_i` on the complement of w, the projection has the same eigenvectors and the eigenvalues
:math:`\min(1, \max(0, \lambda_i - \theta))` with the sum k − 1: only the largest ones count, hardly more than k. From
one step of an iteration to the next they change little, so they are followed: a Chebyshev polynomial that is small on
all other eigenvalues improves the eigenvectors of the step before. Whatever its accuracy, the result is in 𝓕. Where
more eigenvalues count than are followed, and from time to time, all are computed.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

# Below this order all eigenvalues are computed as quickly.
LEAST_ORDER = 60
# Eigenvectors beyond those that count, and the degree of the polynomial.
SPARE = 10
DEGREE = 8
# After so many steps all eigenvalues are computed again.
REFRESHED_EVERY = 50
# The smallest eigenvalue may fall by this share of the spread before all are computed again.
SLACK = 0.1


class FantopeProjection:
    """Projects the matrices of an iteration, one after the other."""

    def __init__(self, w: np.ndarray, k: int) -> None:
        self.w, self.k = w, k
        self.forget()

    def forget(self) -> None:
        """Compute all eigenvalues of the next matrix, because it is not near the last one."""
        self._followed: np.ndarray | None = None
        self._age = 0
        self._smallest = self._largest_other = 0.0

    def __call__(self, G: np.ndarray) -> np.ndarray:
        """Return the projection of a symmetric matrix, or nearly so."""
        if self.k == 1:  # there is one such matrix
            return np.outer(self.w, self.w)
        self._age += 1
        followed, found = self._followed, None
        if followed is not None and self._age <= REFRESHED_EVERY:
            found = self._by_following(G, followed)
        eigenvalues, V = self._by_all(G) if found is None else found
        x = shares(eigenvalues, self.k - 1)
        used = x > 0
        V = V[:, used]
        return np.outer(self.w, self.w) + (V * x[used]) @ V.T

    def _by_all(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all eigenpairs on the complement of w, and remember the largest ones."""
        eigenvalues, V = eigenpairs_beside(G, self.w)
        self.forget()
        if len(self.w) >= LEAST_ORDER:
            others = len(eigenvalues) - int((shares(eigenvalues, self.k - 1) > 0).sum()) - SPARE
            if others > 0:
                self._followed = V[:, others:]
                self._smallest = eigenvalues[0] - SLACK * (eigenvalues[others] - eigenvalues[0])
                self._largest_other = eigenvalues[others - 1]
        return eigenvalues, V

    def _by_following(self, G: np.ndarray, followed: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Improve the eigenvectors of the step before; None if others may count as well."""
        w, middle = self.w, (self._smallest + self._largest_other) / 2
        spread = self._largest_other - middle
        if not spread > 0:
            return None

        def beside(V: np.ndarray) -> np.ndarray:
            product = G @ V
            return product - np.outer(w, w @ product)

        before, now = followed, (beside(followed) - middle * followed) / spread
        for _ in range(DEGREE - 1):
            before, now = now, 2 * (beside(now) - middle * now) / spread - before
        Q = np.linalg.qr(now)[0]
        Q = np.linalg.qr(Q - np.outer(w, w @ Q))[0]
        inner = Q.T @ beside(Q)
        if not np.isfinite(inner).all():
            return None
        eigenvalues, turned = np.linalg.eigh((inner + inner.T) / 2)
        used = int((shares(eigenvalues, self.k - 1) > 0).sum()) if len(eigenvalues) >= self.k else len(eigenvalues)
        if len(eigenvalues) - used < SPARE // 3 or eigenvalues[0] < self._smallest:
            return None
        Q = Q @ turned
        first = max(len(eigenvalues) - used - SPARE, 0)
        self._followed, self._largest_other = Q[:, first:], eigenvalues[first]
        return eigenvalues, Q


def eigenpairs_beside(G: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenpairs of a symmetric matrix on the complement of a unit vector, smallest first."""
    g = G @ w
    G = G - np.outer(w, g) - np.outer(g, w)
    G += (w @ g) * np.outer(w, w)
    # The eigenvalue of w itself is moved below all others.
    below = 1 + 2 * abs(G).sum(axis=1).max()
    eigenvalues, V = scipy.linalg.eigh((G + G.T) / 2 - below * np.outer(w, w), driver="evd", overwrite_a=True)
    return eigenvalues[1:], V[:, 1:]


def shares(eigenvalues: np.ndarray, total: float) -> np.ndarray:
    """Return the nearest numbers between 0 and 1 with a given sum: all are shifted alike, then clipped."""
    ends = np.sort(np.concatenate([eigenvalues, eigenvalues - 1]))

    def clipped(shift: float) -> np.ndarray:
        return np.clip(eigenvalues - shift, 0, 1)

    low, high = 0, len(ends) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if clipped(ends[middle]).sum() >= total else (low, middle)
    above, below = clipped(ends[low]).sum(), clipped(ends[high]).sum()
    step = 0.0 if above == below else (above - total) / (above - below)
    return clipped(ends[low] + step * (ends[high] - ends[low]))
