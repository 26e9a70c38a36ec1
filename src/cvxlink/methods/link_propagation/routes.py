r"""Routes to propagated links.

Three of them solve the Lyapunov equation :math:`(\mu I + L)F + F(\mu I + L) = 2\mu Y` of symmetric propagation (SRCP).

*eigen*: with :math:`L = V \Lambda V^\top` the equation splits into one scalar equation per entry,

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

from ...numerics.separable import (
    LARGEST_COMPONENT,
    MOST_PRODUCTS,
    PropagatedLinks,
    Separable,
    expected_degree,
    largest_component,
)
from ...numerics.threads import threads_for
from ...programs.status import DEFAULT_ACCURACY, Status
from ...solvers.route import Attempt, Route, Settings
from ..shared.routes import LinearEquation
from ..shared.spreading import spread
from .lyapunov import Lyapunov, chunks
from .two_sided import TwoSided

# F and V are dense: 1.8 GB each at this order.
LARGEST = 15_000
# Beyond this order they are formed only on request: half a minute, and a gigabyte.
LARGEST_BY_CHOICE = 5000
LARGEST_WRITTEN_OUT = 64
# The error allowed to the polynomials, as a share of the requested accuracy.
FAINTER = 1e-3


class DenseLinks(Route):
    """A route that holds the whole matrix of propagated links."""

    largest = LARGEST

    def refuses(self, equation: Any) -> str | None:
        """Return why the route does not apply, if it does not."""
        if equation.n > self.largest:
            return f"{equation.n} points are too many for a dense matrix of propagated links (at most {self.largest})"
        return None

    def suits(self, equation: Any) -> bool:
        """Whether the dense matrices are small enough to be chosen by default."""
        return equation.n <= LARGEST_BY_CHOICE


class LyapunovRoute(DenseLinks):
    """What the three have in common."""

    def run(self, equation: Lyapunov, settings: Settings) -> Attempt:
        """Solve the equation."""
        start = perf_counter()
        with threads_for(equation.n):
            attempt = self.solve(equation, settings)
        return replace(attempt, solve_seconds=perf_counter() - start)

    @abstractmethod
    def solve(self, equation: Lyapunov, settings: Settings) -> Attempt:
        """Solve the equation; the time is taken elsewhere."""


class Eigen(LyapunovRoute):
    """One eigendecomposition, then one division per entry."""

    name = "eigen"
    why = "one eigendecomposition of the Laplacian, which serves every mu and every set of links on the graph"

    def solve(self, equation: Lyapunov, settings: Settings) -> Attempt:
        """Go to the eigenvectors, divide, come back."""
        eigenvalues, V = equation.eigenpairs()
        linked = np.flatnonzero(np.diff(equation.Y.indptr))
        V_linked = V[linked]
        C = symmetric_product(V_linked.T, equation.Y[linked][:, linked] @ V_linked)
        shifted = equation.mu + eigenvalues
        for rows in chunks(equation.n):
            C[rows] *= 2 * equation.mu / (shifted[rows, None] + shifted)
        F = symmetric_product(V @ C, V.T)
        return Attempt(Status.OPTIMAL, "solved by eigenvectors", {"F": F})


class Spreading(LyapunovRoute):
    """Let information spread over the graph until it no longer moves."""

    name = "spreading"
    history = "distance"
    why = "information spreads over rows and columns until it no longer moves"

    def refuses(self, equation: Lyapunov) -> str | None:
        """Return why the route does not apply, if it does not."""
        refusal = super().refuses(equation)
        if refusal is None and not equation.is_contraction:
            return "it need not converge without the normalised Laplacian; use normalized=True"
        return refusal

    def solve(self, equation: Lyapunov, settings: Settings) -> Attempt:
        """Iterate ½α(SF + FS) + (1−α)Y with S = I − L; α/(1 − α) = 1/μ."""
        alpha = 1 / (1 + equation.mu)

        def following(F: np.ndarray) -> np.ndarray:
            return equation.add_links(alpha * F - alpha / 2 * equation.smoothed(F), alpha * equation.mu)

        begin = equation.add_links(np.zeros((equation.n, equation.n)), 1.0)
        return spread("F", begin, following, lambda step: float(np.linalg.norm(step)) / equation.mu, settings)


class Kronecker(LyapunovRoute):
    """Write the equation out as one linear system for all entries."""

    name = "kronecker"
    why = "one linear system for all entries of F"
    largest = LARGEST_WRITTEN_OUT

    def solve(self, equation: Lyapunov, settings: Settings) -> Attempt:
        """Solve [I ⊗ (μI + L) + (μI + L) ⊗ I] vec F = 2μ vec Y."""
        n, identity = equation.n, np.eye(equation.n)
        A = equation.mu * identity + equation.L.toarray()
        system = np.kron(identity, A) + np.kron(A, identity)
        F = np.linalg.solve(system, 2 * equation.mu * equation.Y.toarray().ravel()).reshape(n, n)
        return Attempt(Status.OPTIMAL, f"solved {n * n} linear equations", {"F": (F + F.T) / 2})


class TwoPasses(DenseLinks, LinearEquation):
    """Links: along columns, then along rows."""

    name = "two-passes"
    why = "one sparse system, solved for the columns and then for the rows"


class Factored(Route):
    """Links: the matrix as a short sum of products, of which only entries of near pairs are computed."""

    name = "factored"
    why = (
        "links spread by polynomials of the Laplacian; of the n × n matrix only the entries of neighbours, and the "
        "strongest pairs of each linked point, are ever computed"
    )

    def refuses(self, equation: Lyapunov | TwoSided) -> str | None:
        """Return why the route does not apply, if it does not."""
        if expected_degree(equation.high, equation.pole, self._wanted(equation, None)) > MOST_PRODUCTS / 2:
            return f"mu = {equation.mu:g} is too small against the Laplacian for polynomials of a moderate degree"
        largest = largest_component(equation.Y)
        if largest > LARGEST_COMPONENT:
            return (
                f"its links join {largest} points in one piece, and all eigenvectors of a piece are needed; "
                f"at most {LARGEST_COMPONENT} are possible, so give fewer links"
            )
        return None

    @staticmethod
    def _wanted(equation: Lyapunov | TwoSided, accuracy: float | None) -> float:
        # The certificate divides the residual by 2μ, which overstates the error by up to (μ + λ)/μ, and F may be
        # fainter than the links.
        return max(1e-13, FAINTER * min(1.0, equation.mu) * (DEFAULT_ACCURACY if accuracy is None else accuracy))

    def run(self, equation: Lyapunov | TwoSided, settings: Settings) -> Attempt:
        """Compute the entries of near pairs."""
        start = perf_counter()
        wanted = self._wanted(equation, settings.accuracy)
        terms = Separable.of(equation.response, equation.high, equation.pole, wanted)
        if terms is None:
            reason = "polynomials of a moderate degree are not accurate enough; ask for a larger accuracy"
            return Attempt(Status.ERROR, reason)
        F = PropagatedLinks(equation.L, equation.Y, terms)
        kept = F.nearby.nnz
        how = (
            f"{len(terms.coefficients)} terms of degree {terms.degree}, off by at most {terms.error:.1e} of the links; "
            f"{kept} entries computed"
        )
        return Attempt(Status.OPTIMAL, how, {equation.variable: F}, solve_seconds=perf_counter() - start)


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
