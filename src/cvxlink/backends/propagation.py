"""Routes for labels and links that spread over a graph: linear equations with one sparse matrix."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from ..problem import Problem
from ..propagated import (
    LARGEST_COMPONENT,
    MOST_PRODUCTS,
    PropagatedLinks,
    Separable,
    expected_degree,
    largest_component,
)
from ..status import DEFAULT_ACCURACY, Status
from ..structures import Harmonic, Lyapunov, Smoothing, TwoSided
from .base import Attempt, Settings, StructuredRoute
from .lyapunov import DenseLinks

# What the polynomials may be off, as a share of the accuracy asked for.
FAINTER = 1e-3


class Extending(StructuredRoute):
    """Extend known values harmonically."""

    name = "harmonic"
    why = "one sparse system for all classes"
    kind = Harmonic

    def cannot(self, structure: Harmonic) -> str | None:
        """Return that nothing is in the way."""
        return None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Solve the system; the multipliers of the known values are the derivatives of the optimum."""
        structure: Harmonic = problem.structure
        start = perf_counter()
        f = structure.extension(structure.given)
        duals = {"labels": 2 * (structure.L @ f)[structure.known]}
        seconds = perf_counter() - start
        return Attempt(Status.OPTIMAL, f"solved by {structure.extension.method}", {"f": f}, duals, 0.0, seconds)


class Spread(StructuredRoute):
    """Solve the equation the quadratic is equal to."""

    def cannot(self, structure: Any) -> str | None:
        """Return that nothing is in the way."""
        return None

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Solve it."""
        structure = problem.structure
        start = perf_counter()
        values = {structure.variable: structure.solution()}
        return Attempt(Status.OPTIMAL, "solved a linear system", values, solve_seconds=perf_counter() - start)


class OneSolve(Spread):
    """Labels: one sparse solve."""

    name = "sparse-solve"
    why = "one sparse system for all classes"
    kind = Smoothing


class TwoPasses(DenseLinks, Spread):
    """Links: along columns, then along rows."""

    name = "two-passes"
    why = "one sparse system, solved for the columns and then for the rows"
    kind = TwoSided


class Factored(StructuredRoute):
    """Links: the matrix as a short sum of products, of which only what is near is looked at."""

    name = "factored"
    why = (
        "links spread by polynomials of the Laplacian; of the n × n matrix only the entries of neighbours, and the "
        "strongest pairs of each linked point, are ever computed"
    )
    kind = (Lyapunov, TwoSided)

    def cannot(self, structure: Lyapunov | TwoSided) -> str | None:
        """Return what is in the way."""
        if expected_degree(structure.high, structure.pole, self._wanted(structure, None)) > MOST_PRODUCTS / 2:
            return f"mu = {structure.mu:g} is too small against the Laplacian for polynomials of a moderate degree"
        largest = largest_component(structure.Y)
        if largest > LARGEST_COMPONENT:
            return (
                f"its links join {largest} points in one piece, and all eigenvectors of a piece are needed; up to "
                f"{LARGEST_COMPONENT} can be taken, so give fewer links"
            )
        return None

    @staticmethod
    def _wanted(structure: Lyapunov | TwoSided, accuracy: float | None) -> float:
        # The certificate divides the residual by 2μ, which overstates the error by up to (μ + λ)/μ, and F may be
        # fainter than the links.
        return max(1e-13, FAINTER * min(1.0, structure.mu) * (DEFAULT_ACCURACY if accuracy is None else accuracy))

    def run(self, problem: Problem, settings: Settings) -> Attempt:
        """Compute what is near."""
        structure = problem.structure
        start = perf_counter()
        wanted = self._wanted(structure, settings.accuracy)
        terms = Separable.of(structure.response, structure.high, structure.pole, wanted)
        if terms is None:
            reason = "polynomials of a moderate degree are not accurate enough; ask for a larger accuracy"
            return Attempt(Status.ERROR, reason)
        F = PropagatedLinks(structure.L, structure.Y, terms)
        kept = F.nearby.nnz
        how = (
            f"{len(terms.coefficients)} terms of degree {terms.degree}, off by at most {terms.error:.1e} of the links; "
            f"{kept} entries computed"
        )
        return Attempt(Status.OPTIMAL, how, {structure.variable: F}, solve_seconds=perf_counter() - start)
