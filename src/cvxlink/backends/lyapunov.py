r"""Three routes to the Lyapunov equation :math:`(\mu I + L)F + F(\mu I + L) = 2\mu Y` of symmetric propagation.

*eigen*: with :math:`L = V \Lambda V^\top` the equation falls apart into one scalar equation an entry,

.. math:: F = V \Bigl[ \frac{2\mu}{2\mu + \lambda_i + \lambda_j} (V^\top Y V)_{ij} \Bigr] V^\top .

*spreading* (equation (7) of Fu et al.): with α = 1/(1+μ) and S = I − L the map :math:`F \mapsto \tfrac\alpha2(SF +
FS) + (1-\alpha)Y` shrinks distances by α, and its fixed point is the solution. A step of length ‖ΔF‖ therefore ends
within ‖ΔF‖ α/(1−α) of it.

*kronecker* (equation (6)): the n² × n² linear system, written out.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from ..problem import Problem
from ..status import Status
from ..structures.lyapunov import Lyapunov, chunks
from ..threads import threads_for
from .base import Attempt, Settings, StructuredRoute

# F and V are dense: 1.8 GB each at this order.
LARGEST = 15_000
# Beyond this order they are taken only if they are asked for: half a minute, and a gigabyte.
LARGEST_BY_CHOICE = 5000
LARGEST_WRITTEN_OUT = 64
MOST_ITERATIONS = 100_000


class DenseLinks(StructuredRoute):
    """A route that holds the whole matrix of propagated links."""

    largest = LARGEST

    def cannot(self, structure: Any) -> str | None:
        """Return what is in the way."""
        if structure.n > self.largest:
            return f"{structure.n} points are too many for a dense matrix of propagated links (at most {self.largest})"
        return None

    def suits(self, problem: Problem) -> bool:
        """Whether dense matrices are no burden."""
        return problem.structure.n <= LARGEST_BY_CHOICE


class LyapunovRoute(DenseLinks):
    """What the three have in common."""

    kind = Lyapunov

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Solve the equation."""
        structure = problem.structure
        start = perf_counter()
        with threads_for(structure.n):
            attempt = self.solve(structure, settings)
        return replace(attempt, solve_seconds=perf_counter() - start)

    @abstractmethod
    def solve(self, structure: Lyapunov, settings: Settings) -> Attempt:
        """Solve the equation; the time is taken elsewhere."""


class Eigen(LyapunovRoute):
    """One eigendecomposition, then a division an entry."""

    name = "eigen"
    why = "one eigendecomposition of the Laplacian, which serves every mu and every set of links on the graph"

    def solve(self, structure: Lyapunov, settings: Settings) -> Attempt:
        """Go to the eigenvectors, divide, come back."""
        eigenvalues, V = structure.eigenpairs()
        linked = np.flatnonzero(np.diff(structure.Y.indptr))
        V_linked = V[linked]
        C = symmetric_product(V_linked.T, structure.Y[linked][:, linked] @ V_linked)
        shifted = structure.mu + eigenvalues
        for rows in chunks(structure.n):
            C[rows] *= 2 * structure.mu / (shifted[rows, None] + shifted)
        F = symmetric_product(V @ C, V.T)
        return Attempt(Status.OPTIMAL, "solved by eigenvectors", {"F": F})


class Spreading(LyapunovRoute):
    """Let information spread over the graph until it no longer moves."""

    name = "spreading"
    why = "information spreads over rows and columns until it no longer moves"

    def cannot(self, structure: Lyapunov) -> str | None:
        """Return what is in the way."""
        refusal = super().cannot(structure)
        if refusal is None and not structure.is_contraction:
            return "it need not converge without the normalised Laplacian; use normalized=True"
        return refusal

    def solve(self, structure: Lyapunov, settings: Settings) -> Attempt:
        """Iterate until F is as near to the solution, relative to its norm, as was asked for."""
        start = perf_counter()
        alpha = 1 / (1 + structure.mu)
        F = structure.add_links(np.zeros((structure.n, structure.n)), 1.0)
        history: list[float] = []
        status, reason = Status.INACCURATE, f"stopped after {MOST_ITERATIONS} iterations"
        while len(history) < MOST_ITERATIONS:
            # ½α(SF + FS) + (1−α)Y with S = I − L
            following = structure.add_links(alpha * F - alpha / 2 * structure.smoothed(F), alpha * structure.mu)
            step = float(np.linalg.norm(following - F))
            F = following
            history.append(step / structure.mu)  # α/(1 − α) = 1/μ
            if settings.verbose:
                print(f"{len(history):4d}  within {history[-1]:.2e} of the solution")
            if history[-1] <= settings.tolerance * float(np.linalg.norm(F)):
                status, reason = Status.OPTIMAL, f"converged in {len(history)} iterations"
                break
            if settings.time_limit is not None and perf_counter() - start > settings.time_limit:
                status, reason = Status.LIMIT, f"stopped after {settings.time_limit:g} s"
                break
        return Attempt(status, reason, {"F": F}, iterations=len(history), history=tuple(history))


class Kronecker(LyapunovRoute):
    """Write the equation out as one linear system for all entries."""

    name = "kronecker"
    why = "one linear system for all entries of F"
    largest = LARGEST_WRITTEN_OUT

    def solve(self, structure: Lyapunov, settings: Settings) -> Attempt:
        """Solve [I ⊗ (μI + L) + (μI + L) ⊗ I] vec F = 2μ vec Y."""
        n, identity = structure.n, np.eye(structure.n)
        A = structure.mu * identity + structure.L.toarray()
        system = np.kron(identity, A) + np.kron(A, identity)
        F = np.linalg.solve(system, 2 * structure.mu * structure.Y.toarray().ravel()).reshape(n, n)
        return Attempt(Status.OPTIMAL, f"solved {n * n} linear equations", {"F": (F + F.T) / 2})


def symmetric_product(A: np.ndarray, B: np.ndarray, blocks: int = 4) -> np.ndarray:
    """Return AB, known to be symmetric: a block below the diagonal is computed and copied above it."""
    n = A.shape[0]
    product = np.empty((n, n))
    edges = np.linspace(0, n, blocks + 1).astype(int)
    for first, last in pairwise(edges):
        rows = product[first:last]
        np.matmul(A[first:last], B[:, :last], out=rows[:, :last])
        product[:first, first:last] = rows[:, :first].T
        block = rows[:, first:last]
        block[:] = (block + block.T) / 2  # rounding differs on its two sides
    return product
