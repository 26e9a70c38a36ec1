r"""Routes for constrained cuts.

*exact*: the bound g(λ), a sum of smallest eigenvalues of :math:`L - \lambda(Q - \beta I)`, is maximised on a growing
subspace. Within the span of all eigenvectors seen so far the program is solved exactly, by bisection on small matrices;
that gives a feasible f, whose cost is above the optimum, and a multiplier λ, for which g(λ) is below it. The
eigenvectors at λ join the span, until the two meet. On the span the bound agrees with g to first order at every λ
tried so far, so few are needed.

*paper*: the cheapest of the generalised eigenvectors of :math:`Lf = \lambda(Q - \beta I)f` that satisfy the
constraint. Each is feasible; none need be optimal.

*eigen*, for stationary labelings: all are computed, and the ones that agree most with Q are taken.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from ...errors import FormUnavailable
from ...numerics.threads import threads_for
from ...programs.status import Status
from ...solvers.route import Attempt, Iteration, Route, Settings
from .constrained_cut import ConstrainedCut, joined
from .generalised_eigenvectors import CLOSE, close_groups, generalised_eigenvectors
from .stationary_cuts import StationaryCuts

# The generalised eigenproblem is dense.
LARGEST = 10_000
# Eigenvectors beyond the wanted ones, for the eigenvalues that meet at the best multiplier.
SPARE = 3

DISCONNECTED = (
    "the generalised eigenproblem needs a connected graph, whose Laplacian has one null vector only; join the "
    "components, as Graph.knn(connect=True) does"
)
APART = (
    "up to rounding the graph falls into components, between which L̄ says nothing; join them by larger weights, such "
    "as those of Graph.knn or of a larger sigma"
)


class Exact(Route):
    """The one-dimensional concave search."""

    name = "exact"
    iterates = True
    why = "the dual is a concave function of one number, and its relaxation is exact"

    def refuses(self, cut: ConstrainedCut) -> str | None:
        """Return why the route does not apply, if it does not."""
        return cut.no_minimum or None

    def run(self, cut: ConstrainedCut, settings: Settings) -> Attempt:
        """Search until cost and bound meet, or no longer approach one another."""
        iteration = Iteration(settings, most=60, patience=10)
        with threads_for(cut.n):
            f, multiplier = _searched(cut, iteration)
        return iteration.attempt({"f": f}, {"satisfaction": np.array(-multiplier)})


def _searched(cut: ConstrainedCut, iteration: Iteration) -> tuple[np.ndarray, float]:
    """Return the best f and the best multiplier."""
    V = joined(cut.satisfying, cut.smallest(0.0, cut.count + SPARE)[1])
    least, bound, best = np.inf, -np.inf, (V[:, : cut.count], 0.0)
    while True:
        f, multiplier = cut.within(V)
        eigenvalues, vectors = cut.smallest(multiplier, cut.count + SPARE, f)
        cost, below = cut.cost(f), float(eigenvalues[: cut.count].sum())
        least = min(least, cost)
        if below > bound:
            bound, best = below, (best[0], multiplier)
        if cost <= least:
            best = (f, best[1])
        gap = max(least - bound, 0.0) / (1 + abs(least))
        if not iteration.goes_on(best, gap, f"cost {least:.10g}  bound {bound:.10g}  λ {multiplier:.4g}"):
            return best
        V = joined(V, vectors)


class Cheapest(Route):
    """The paper's procedure."""

    name = "paper"
    why = "the cheapest of the generalised eigenvectors that satisfy the constraint"
    remedy = "the paper's procedure promises no more; the route 'exact' is optimal"

    def refuses(self, cut: ConstrainedCut) -> str | None:
        """Return why the route does not apply, if it does not."""
        if cut.n > LARGEST:
            return f"{cut.n} points are too many for a dense generalised eigenproblem (at most {LARGEST})"
        return None

    def suits(self, cut: ConstrainedCut) -> bool:
        """Never unasked: it does not solve the program."""
        return False

    def run(self, cut: ConstrainedCut, settings: Settings) -> Attempt:
        """Compute them all; the multiplier that goes with the answer is that of the exact search, for comparison."""
        if cut.null_vector is None:
            raise FormUnavailable(
                f"the route 'paper' does not take this problem: {DISCONNECTED}, or take the route 'exact'"
            )
        start = perf_counter()
        with threads_for(cut.n):
            found = cheapest_feasible(cut, cut.null_vector)
            seconds = perf_counter() - start
            _, multiplier = _searched(cut, Iteration(replace(settings, verbose=False), most=60, patience=10))
        reason = f"the cheapest of {found[1]} generalised eigenvectors that satisfy the constraint"
        duals = {"satisfaction": np.array(-multiplier)}
        return Attempt(Status.INACCURATE, reason, {"f": found[0]}, duals, 0.0, seconds, is_heuristic=True)


def cheapest_feasible(cut: ConstrainedCut, trivial: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the cheapest feasible generalised eigenvectors, and how many were feasible.

    Several are replaced by the nearest orthonormal columns: in their span every vector satisfies the constraint.
    """
    B = cut.Q - cut.beta * np.eye(cut.n)
    pairs = generalised_eigenvectors(cut.L, B, trivial, orthogonal=cut.trivial is not None)
    if pairs is None:
        raise FormUnavailable(
            "the route 'paper' does not take this problem: the generalised eigenproblem is singular, as D^{1/2}1 "
            "itself satisfies the constraint with equality, or weights are too small; change beta a little, or take "
            "the route 'exact'"
        )
    inverses, vectors = pairs
    vectors = vectors[:, inverses > 0]  # fᵀ(Q − βI)f = fᵀLf/λ: feasible, with something to spare
    if vectors.shape[1] < cut.count:
        raise FormUnavailable(
            f"the route 'paper' does not take this problem: at beta = {cut.beta:.6g} it finds {vectors.shape[1]} "
            f"feasible eigenvectors, and {cut.count + 1} clusters need {cut.count}; "
            + (cut.no_minimum or "lower beta, or take the route 'exact'")
        )
    costs = np.einsum("ij,ij->j", vectors, cut.L @ vectors)
    f = vectors[:, np.argsort(costs)[: cut.count]]
    left, _, right = np.linalg.svd(f, full_matrices=False)
    return left @ right, vectors.shape[1]


class Stationary(Route):
    """Compute all stationary labelings, and take the ones that agree most with Q."""

    name = "eigen"
    why = "all generalised eigenvectors are computed, and those that satisfy Q most are taken"

    def refuses(self, cuts: StationaryCuts) -> str | None:
        """Return why the route does not apply, if it does not."""
        if cuts.n > LARGEST:
            return f"{cuts.n} points are too many for a dense generalised eigenproblem (at most {LARGEST})"
        return None

    def run(self, cuts: StationaryCuts, settings: Settings) -> Attempt:
        """Compute them."""
        start = perf_counter()
        with threads_for(cuts.n):
            pairs = generalised_eigenvectors(cuts.L, cuts.Q, cuts.trivial, orthogonal=False)
            if pairs is None:
                return Attempt(Status.ERROR, APART)
            inverses, vectors = pairs
            if len(inverses) < cuts.count:
                return Attempt(Status.ERROR, f"{len(inverses)} stationary labelings are told from zero; {APART}")
            vectors = _most_agreeing(inverses, vectors, cuts.Q)
            agreement = np.einsum("ij,ij->j", vectors, cuts.Q @ vectors)
        best = np.argsort(-agreement)[: cuts.count]
        f = vectors[:, best]
        values = {"f": f, "rates": np.einsum("ij,ij->j", f, cuts.L @ f) / agreement[best]}
        reason = f"the best of {len(inverses)} stationary labelings"
        return Attempt(Status.OPTIMAL, reason, values, solve_seconds=perf_counter() - start)


def _most_agreeing(inverses: np.ndarray, vectors: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return eigenvectors, those of a multiple eigenvalue combined so that the first ones agree with Q most."""
    combined = vectors.copy()
    for group in close_groups(inverses, CLOSE * float(abs(inverses).max(initial=0.0))):
        if len(group) > 1:
            basis = np.linalg.qr(vectors[:, group])[0]
            combined[:, group] = basis @ np.linalg.eigh(basis.T @ Q @ basis)[1]
    return combined
