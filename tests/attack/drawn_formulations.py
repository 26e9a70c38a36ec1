"""Random formulations as a stranger would write them, of terms or of plain CVXPY, with what is true of them."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import linprog

from attack.drawn_methods import Drawn, blocks_of, on_blocks
from attack.instances import affinity, coin, links, order, pick
from attack.references import EPSILON, Correlations, Reference, laplacian
from cvxlink import terms
from helpers.written import Written


def draw(rng: np.random.Generator) -> Drawn:
    """Draw a formulation."""
    return pick(rng, (_soft_kernel, _soft_kernel, _linear, _contradictory_kernel))(rng)


def _soft_kernel(rng: np.random.Generator) -> Drawn:
    """A kernel with unit diagonal: smoothness, and links that are enforced, bounded, hinged or squared."""
    n = order(rng)
    W, hard, soft = affinity(rng, n), links(rng, n, consistent=True), links(rng, n, consistent=False)
    L, in_terms = laplacian(W, coin(rng)), coin(rng)
    weights = [10.0 ** rng.uniform(-2, 2) if coin(rng) else 1.0 for _ in range(4)]
    margin, bound = float(rng.uniform(0, 0.5)), float(rng.uniform(0, 0.5))
    with_must, with_hinge, with_squares, with_bound = (coin(rng) for _ in range(4))
    enforce = coin(rng, 0.6)

    def objective(K):
        total = terms.smoothness(K, L) if in_terms else cp.sum(cp.multiply(L, K))
        i, j = soft.must.T
        k, l = soft.cannot.T  # noqa: E741
        if with_must and len(soft.must):
            linear = terms.soft_must_links(K, soft, weights[0])
            total = total + (linear if in_terms else weights[0] * cp.sum(1 - K[i, j]))
        if with_hinge and len(soft.cannot):
            hinge = terms.soft_cannot_links(K, soft, weights[1], margin)
            total = total + (hinge if in_terms else weights[1] * cp.sum(cp.pos(K[k, l] - margin)))
        if with_squares and len(soft):
            total = total + terms.squared_links(K, soft, weights[2])
        return cp.Minimize(total)

    def constraints(K):
        found = {"unit": terms.unit_diagonal(K) if in_terms else cp.diag(K) == 1, "psd": terms.semidefinite(K)}
        if enforce:
            i, j = hard.must.T
            k, l = hard.cannot.T  # noqa: E741
            found["must"] = terms.must_links(K, hard) if in_terms else K[i, j] == 1
            found["cannot"] = terms.cannot_links(K, hard) if in_terms else K[k, l] == 0
        elif with_bound and len(hard.cannot):
            found["apart"] = terms.cannot_links_at_most(K, hard, bound)
        return found

    def reference(problem: Any) -> Reference:
        block = blocks_of(hard) if enforce else np.arange(n)
        program = Correlations(on_blocks(L, block))

        def on(pairs: np.ndarray):
            return [tuple(sorted((int(block[i]), int(block[j])))) for i, j in pairs.tolist()]

        if enforce:
            program.zeros = sorted(set(on(hard.cannot)))
        elif with_bound:
            program.tops = [(i, j, bound) for i, j in on(hard.cannot)]
        if with_must:
            for i, j in on(soft.must):
                program.constant += weights[0]
                program.C[i, j] -= weights[0] / 2
                program.C[j, i] -= weights[0] / 2
        if with_hinge:
            program.hinges = [(i, j, weights[1], margin) for i, j in on(soft.cannot)]
        if with_squares:
            program.squares = [(i, j, weights[2], 1.0) for i, j in on(soft.must)]
            program.squares += [(i, j, weights[2], 0.0) for i, j in on(soft.cannot)]
        low, high = program.bracket()
        declared = problem.to_cvxpy()

        def objective_at(values: Any) -> float:
            declared.variables()[0].save_value(values["K"])
            return float(declared.objective.value)

        rounding = 1e3 * EPSILON * program.weight
        # Where nearly all costs cancel on blocks, errors are judged against a share of those that are declared.
        left, given = program.largest_cost, float(abs(L).max(initial=0.0))
        size = max(left, 1e-6 * given) if left > 1e-12 * given else given
        return Reference(low, high, rounding, objective_at, size=min(1.0, size))

    variables = lambda: {"K": cp.Variable((n, n), symmetric=True, name="K")}  # noqa: E731
    return Drawn("a formulation on kernels", lambda: Written(variables, objective, constraints), reference)


def _contradictory_kernel(rng: np.random.Generator) -> Drawn:
    """Links that contradict one another, written by hand: infeasible, which nothing but a solver or a proof can see."""
    n = max(3, order(rng))
    i, j, k = rng.choice(n, 3, replace=False).tolist()
    L = laplacian(affinity(rng, n), coin(rng))
    near = float(pick(rng, (1.0, 0.95)))  # cos 18°: i and k are at most 36° apart

    def constraints(K):
        apart = K[i, k] == 0 if near == 1 else K[i, k] <= 0.5
        return {"unit": cp.diag(K) == 1, "near": [K[i, j] >= near, K[j, k] >= near], "apart": apart, "psd": K >> 0}

    return Drawn(
        "an infeasible formulation",
        lambda: Written(
            lambda: {"K": cp.Variable((n, n), symmetric=True, name="K")},
            lambda K: cp.Minimize(cp.sum(cp.multiply(L, K))),
            constraints,
        ),
        lambda problem: Reference(np.inf, np.inf, 0.0, status="INFEASIBLE"),
    )


def _linear(rng: np.random.Generator) -> Drawn:
    """A linear program: feasible, infeasible or unbounded, as HiGHS says."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    A, c = rng.integers(-3, 4, (m, n)).astype(float), rng.integers(-3, 4, n).astype(float)
    b = rng.integers(-2, 5, m).astype(float)
    scale = 10.0 ** (rng.uniform(-6, 6) if coin(rng, 0.3) else 0)
    signed = coin(rng)

    def constraints(x):
        return {"rows": A @ x <= b, **({"sign": x >= 0} if signed else {})}

    def reference(problem: Any) -> Reference:
        found = linprog(c, A, b, bounds=(0 if signed else None, None), method="highs")
        if found.status in (2, 4):  # HiGHS confuses infeasible with unbounded: ask again without an objective
            found.status = 3 if linprog(0 * c, A, b, bounds=(0 if signed else None, None)).status == 0 else 2
        status = {0: "OPTIMAL", 2: "INFEASIBLE", 3: "UNBOUNDED"}.get(found.status)
        if status != "OPTIMAL":
            return Reference(-np.inf, np.inf, 0.0, status=status or "unknown", checks_value=False)
        value = scale * float(found.fun)
        return Reference(
            value,
            value,
            1e-9 * scale * (1 + abs(found.fun)),
            lambda values: scale * float(c @ values["x"]),
            size=min(1.0, scale * float(abs(c).max())),
        )

    return Drawn(
        "a linear program",
        lambda: Written(lambda: {"x": cp.Variable(n, name="x")}, lambda x: cp.Minimize(scale * (c @ x)), constraints),
        reference,
    )
