r"""Alternating directions for the Fantope with links: what a step costs does not depend on the number of links.

The iteration is that of :mod:`cvxlink.methods.partitions.splitting`. Here 𝓟 is all matrices with zeros at cannot-links
that must hold. Where a link may be broken at the price c, its entry goes towards zero by :math:`c/2\rho` at most: the
proximal mapping of c|·|, for an entry that counts twice. So multipliers are within their prices, and zero elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...numerics.matrices import Congruence
from ...numerics.threads import threads_for
from ...programs.status import Status
from ...solvers.route import Attempt, Route, Settings
from .dual_proof import disproof_of_fantope
from .dual_route import most_columns
from .exactly_feasible import clustering_nearby, feasible_nearby
from .fantope_projection import eigenpairs_beside
from .linked_fantope import LinkedFantope
from .routes import LARGEST, Disproof, iterated
from .splitting import Blocks, Multipliers

# How many steps of Newton's method the bundle takes, and how many steps are taken here; in each of these, the products
# that filter one eigenvector, and passes over all entries.
NEWTON_STEPS, STEPS = 60, 400
PRODUCTS, PASSES = 18, 100
# Up to this order its steps take no time to speak of.
TINY = 40
# An answer as near as this to the matrix of a clustering is that clustering.
SAME = 1e-4
# An exactly feasible point nearby costs little only if the entries at links are this much smaller than the gap.
CLOSER = 0.1


@dataclass(frozen=True, eq=False)
class LinkedBlocks(Blocks):
    """The program on blocks, ready to be iterated on: pairs of blocks, and what their entries cost."""

    pairs: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=int))
    prices: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def counted(self) -> np.ndarray:
        """How often the entry of each pair is in the matrix; once, if links within a block contradict it."""
        return np.where(self.pairs[:, 0] == self.pairs[:, 1], 1.0, 2.0)

    def value(self, Y: np.ndarray) -> float:
        """Return the objective; links that must hold cost nothing."""
        soft = np.isfinite(self.prices)
        a, b = self.pairs[soft].T
        return super().value(Y) + float(self.prices[soft] @ abs(Y[a, b]))

    def bound(self, entries: np.ndarray, nu: np.ndarray) -> float:
        """Return the lower bound that multipliers give, up to rounding; they are within their prices."""
        return self._least(entries, nu)

    def projection(self) -> Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]:
        """Return the step towards links that hold."""
        (a, b), prices = self.pairs.T, self.prices / self.counted

        def nearer(V: np.ndarray, nu: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
            X, entries = V.copy(), V[a, b]
            X[a, b] = X[b, a] = np.sign(entries) * np.maximum(abs(entries) - prices / rho, 0.0)
            return X, nu

        return nearer


class LinkedCutSplitting(Route):
    """Project in turn on the matrices with the right eigenvalues and on those that keep cannot-links."""

    name = "splitting"
    why = "there are many cannot-links for the number of blocks, and its steps do not depend on how many"
    iterates = True
    remedy = "raise the time limit, or ask for less accuracy"

    def refuses(self, data: LinkedFantope) -> str | None:
        """Return why it cannot solve the program."""
        order = data.partition.order
        if data.nonnegative:
            return "it cannot ask for Z ≥ 0"
        return f"{order} blocks are too many for dense eigendecompositions" if order > LARGEST else None

    def suits(self, data: LinkedFantope) -> bool:
        """Whether it is likely to be faster than the bundle, whose steps take the square of the number of links.

        On few blocks, many links may leave no room inside, on which the bundle relies.
        """
        m, c, k = int(data.counts.sum()), data.partition.order, data.k
        if k == 1 or m == 0:
            return False
        if c <= TINY and m >= c - 1:
            return True
        columns = min(most_columns(k, m), c)
        newton = NEWTON_STEPS * (m**2 * columns**2 / 2 + m**3 / 3)
        return bool(STEPS * c**2 * (PRODUCTS * (k + 10) + PASSES) < newton)

    def run(self, data: LinkedFantope, settings: Settings) -> Attempt:
        """Iterate until value and bound agree."""
        with threads_for(data.partition.order):
            return self._attempt(data, settings)

    def _attempt(self, data: LinkedFantope, settings: Settings) -> Attempt:
        blocks = LinkedBlocks(data.partition, pairs=data.block_pairs, prices=data.block_prices)

        def proves(found: Multipliers) -> str:
            z = blocks.counted * found.entries[*blocks.pairs.T]
            return disproof_of_fantope(data, {"cannot": data.on_links(z)})

        run = iterated(blocks, settings, Disproof(data.highest, proves), CLOSER)
        z = blocks.counted * run.found.multipliers.entries[*blocks.pairs.T]
        Y = run.found.Y
        if run.status is Status.OPTIMAL and np.isinf(data.block_prices).any():
            nearby = self._kept(data, Y)
            if nearby is not None and abs(blocks.value(nearby) - run.found.value) <= run.accuracy * (
                1 + run.found.value
            ):
                Y = nearby
        return run.attempt(self._values(data, Y), {"cannot": data.on_links(z)})

    @staticmethod
    def _kept(data: LinkedFantope, Y: np.ndarray) -> np.ndarray | None:
        """Return a matrix that keeps links up to rounding, not only up to the residual."""
        must_hold = np.isinf(data.block_prices)
        clustering = clustering_nearby(data, Y)
        if clustering is not None and np.linalg.norm(clustering[0] - Y) <= SAME:
            return clustering[0]
        found = feasible_nearby(data, *eigenpairs_beside(Y, data.block_w), must_hold) or clustering
        return None if found is None else found[0]

    @staticmethod
    def _values(data: LinkedFantope, Y: np.ndarray) -> dict:
        values: dict[str, Any] = {"Z": Congruence(data.partition.T, Y)}
        if data.is_soft:
            values["s"] = data.entries_on_links(Y)
        return values
