"""Certificates against 50 digits: bounds hold without any tolerance, values are as exact as they say.

Each instance is solved in every way its method has. From the numbers that were returned, the objective and a bound, or
the optimum itself, are computed anew in high precision by formulas that share no code with the package.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.numerics.matrices import Stiffened
from helpers import high_precision as hp

SEEDS = range(20)


def instance(seed: int) -> tuple[cl.Graph, cl.Links, np.ndarray, np.random.Generator]:
    """A connected graph of four to six points with weights of many sizes, links that agree, and labels."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 7))
    W = np.triu(10.0 ** rng.uniform(-1, 1, (n, n)) * 10.0 ** (rng.uniform(-4, 4) * (seed % 3 == 0)), 1)
    W *= rng.random((n, n)) < 0.7
    W[np.arange(n - 1), np.arange(1, n)] += 0.1 * W[W > 0].mean() if W.any() else 1.0
    y = rng.permutation(np.arange(n) % 2)
    links = cl.Links.sample(y, n_links=int(rng.integers(2, 4)), random_state=seed)
    labels = np.where(rng.random(n) < 0.5, y, -1)
    labels[:2] = 0, 1
    return cl.Graph.from_affinity(W + W.T), links, labels, rng


def answers(problem: cl.Problem, seed: int, solvers: tuple[str, ...] = ("CLARABEL", "CVXOPT", "SCS")):
    """The problem, solved by every route, and every third time by one of the solvers."""
    chosen = [{"solver": solvers[seed // 3 % len(solvers)]}] if seed % 3 == 0 and solvers else []
    for way in [{"route": route} for route in problem.routes] + chosen:
        solution = problem.solve(**way, strict=False)
        assert solution.status.has_answer or "solver" in way, (way, solution.reason)
        if solution.status.has_answer:
            yield way, solution


def check(way, solution, value, low, high=None) -> None:
    """The optimum is between low and high (the same, if it is known); the certificate says nothing else."""
    certificate = solution.certificate
    high = low if high is None else high
    assert certificate.lower_bound is not None, way
    assert mp.mpf(certificate.lower_bound) <= high, (way, float(certificate.lower_bound - high))
    if certificate.upper_bound is not None:
        assert mp.mpf(certificate.upper_bound) >= low, (way, float(certificate.upper_bound - low))
    assert abs(mp.mpf(certificate.value) - value) <= mp.mpf(certificate.rounding), way
    if solution.status is cl.Status.OPTIMAL:
        size = certificate.cost_scale + abs(certificate.value)
        assert low - 1e-4 * size <= certificate.value <= high + 1e-4 * size, way


def exact_of(solution, name):
    return hp.exact(solution.values[name])


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_kernels(seed):
    graph, links, _, _ = instance(seed)
    for kind in (cl.PCP, cl.KP):
        problem = kind(graph, links, normalized=bool(seed % 2))
        C = hp.exact(problem.L)
        kept = list(range(graph.n)) if kind is cl.PCP else links.linked.tolist()
        costs, place = hp.schur_complement(C, kept), {point: k for k, point in enumerate(kept)}
        inside = cl.Links(
            len(kept),
            must=[(place[i], place[j]) for i, j in links.must.tolist()],
            cannot=[(place[i], place[j]) for i, j in links.cannot.tolist()],
        )
        for way, solution in answers(problem, seed):
            stored = {n: d.base if isinstance(d, Stiffened) else d for n, d in solution.duals.stored.items()}
            dual = hp.kernel_dual(costs, inside, {name: np.ravel(stored[name]) for name in stored if name != "psd"})
            K = solution.values.stored["K"]
            value = (
                hp.inner(C, exact_of(solution, "K"))
                if isinstance(K, np.ndarray)
                else hp.inner(hp.exact(K.T).T * C * hp.exact(K.T), hp.exact(K.M))
            )
            primal = hp.kernel_feasible_value(costs, inside, hp.part(exact_of(solution, "K"), kept, kept))
            assert mp.mpf(solution.certificate.lower_bound) <= dual, way
            check(way, solution, value, dual, primal)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_labels(seed):
    graph, _, labels, rng = instance(seed)
    confidence = 1.0 if seed % 2 else float(rng.uniform(0.3, 1))
    gfhf = cl.GFHF(graph, labels, confidence=confidence)
    data = gfhf.program.data
    L = hp.exact(data.L)
    optimum = hp.harmonic(L, data.known.tolist(), hp.exact(data.given))
    for way, solution in answers(gfhf, seed):
        f = exact_of(solution, "f")
        check(way, solution, hp.inner(f, L * f), optimum)
    llgc = cl.LLGC(graph, labels, alpha=float(rng.uniform(0.1, 0.95)))
    L, Y = hp.exact(graph.laplacian()), hp.exact(llgc.Y)
    optimum = hp.smoothing(L, Y, llgc.mu)
    for way, solution in answers(llgc, seed):
        check(way, solution, hp.smoothing_value(L, Y, llgc.mu, exact_of(solution, "f")), optimum)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_links_that_spread(seed):
    graph, links, _, rng = instance(seed)
    normalized = bool(seed % 2)
    L, Y = hp.exact(graph.laplacian(normalized)), hp.exact(links.matrix)
    srcp = cl.SRCP(graph, links, normalized, mu=float(rng.uniform(0.05, 2)))
    mu = mp.mpf(srcp.mu)
    optimum = hp.spread_links(L, Y, srcp.mu, lambda x, y: 2 * mu / (2 * mu + x + y))
    for way, solution in answers(srcp, seed):
        if solution.certificate.rounding_is_proven:  # products by random vectors prove nothing for certain
            check(way, solution, hp.srcp_value(L, Y, srcp.mu, exact_of(solution, "F")), optimum)
    e2cp = cl.E2CP(graph, links, normalized, alpha=float(rng.uniform(0.1, 0.9)))
    strength = mp.mpf(e2cp.program.data.mu)
    optimum = hp.spread_links(L, Y, strength, lambda x, y: strength**2 / ((strength + x) * (strength + y)))
    for way, solution in answers(e2cp, seed):
        if solution.certificate.rounding_is_proven:
            check(way, solution, hp.e2cp_value(L, Y, strength, exact_of(solution, "F")), optimum)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_cuts_and_entries(seed):
    graph, links, _, rng = instance(seed)
    k = int(rng.integers(1, 4))
    L = hp.exact(graph.laplacian())
    optimum = mp.fsum(hp.eigenvalues(L)[:k])
    for way, solution in answers(cl.NCuts(graph, k), seed):
        check(way, solution, hp.inner(L, exact_of(solution, "X")), optimum)
    sskk = cl.SSKK(graph, links, k)
    K = hp.exact(sskk.K)
    optimum = hp.trace(K) - mp.fsum(hp.eigenvalues(K)[-k:])
    for way, solution in answers(sskk, seed):
        check(way, solution, hp.trace(K) - hp.inner(K, exact_of(solution, "X")), optimum)
    sl = cl.SL(cl.Graph.from_affinity(graph.W / graph.W.max()), links)
    W, given = hp.exact(sl.graph.W), sl.program.data.given
    optimum = 2 * mp.fsum((mp.mpf(t) - W[i, j]) ** 2 for pairs, t in given.values() for i, j in pairs.tolist())
    for way, solution in answers(sl, seed):
        off = exact_of(solution, "A") - W
        check(way, solution, hp.inner(off, off), optimum)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_constrained_cuts(seed):
    graph, links, _, rng = instance(seed)
    problem = cl.CSC(graph, links, fraction=float(rng.uniform(0.2, 0.95)))
    data = problem.program.data
    L, Q, v = hp.exact(data.L), hp.exact(data.Q), hp.exact(data.trivial)
    P = mp.eye(graph.n) - v * v.T / hp.inner(v, v)
    for way, solution in answers(problem, seed, ()):
        multiplier = max(0.0, -float(np.ravel(solution.duals.get("satisfaction", 0.0))[0]))
        M = L - (Q - mp.eye(graph.n) * mp.mpf(data.beta)) * mp.mpf(multiplier)
        # The vector v is left out by raising its eigenvalue.
        low = hp.eigenvalues(P * M * P + v * v.T * 1e6 * (1 + abs(M[0, 0])))[0]
        f = exact_of(solution, "f")
        certificate = solution.certificate
        assert mp.mpf(certificate.lower_bound) <= max(low, mp.mpf(0)), way
        assert certificate.upper_bound is None or mp.mpf(certificate.upper_bound) >= low, way
        assert abs(certificate.value - hp.inner(f, L * f)) <= certificate.rounding, way


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_nearness(seed):
    graph, links, _, rng = instance(seed)
    kernel = cl.Graph.rbf(rng.standard_normal((graph.n, 2)), float(rng.uniform(0.3, 3))).kernel()
    prior = hp.exact(kernel)
    noise, bound = rng.uniform(0.1, 2, 2), rng.uniform(0.05, 1.5, 2)
    soft = cl.MinKL(kernel, links, must_noise=noise[0], cannot_noise=noise[1])
    data = soft.program.data
    optimum = hp.nearness_dual(prior, data.U, data.weights, ())
    for way, solution in answers(soft, seed, ("CLARABEL", "SCS")):
        check(way, solution, hp.nearness_value(prior, exact_of(solution, "K"), data.U, data.weights), optimum)
    hard = cl.MinKL(kernel, links, must_bound=bound[0], cannot_bound=bound[1])
    data = hard.program.data
    for way, solution in answers(hard, seed, ("CLARABEL", "SCS")):
        given = [-solution.duals[name] for name in data.groups if len(links.must if name == "must" else links.cannot)]
        multipliers = np.maximum(np.concatenate(given), 0)
        low = hp.nearness_dual(prior, data.U, multipliers, data.bounds)
        K = exact_of(solution, "K")
        columns = hp.exact(data.U)
        lengths = columns.T * K * columns
        share = min([mp.mpf(1), *(mp.mpf(float(a)) / lengths[r, r] for r, a in enumerate(data.bounds))])
        none = np.zeros(len(data.bounds))
        high = hp.nearness_value(prior, K * share, data.U, none)
        assert mp.mpf(solution.certificate.lower_bound) <= low, way
        check(way, solution, hp.nearness_value(prior, K, data.U, none), low, high)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_fitted_products(seed):
    graph, links, _, rng = instance(seed)
    problem = cl.CCSR(graph, links, order=int(rng.integers(1, 4)))
    data = problem.program.data
    U = hp.exact(data.U)

    for way, solution in answers(problem, seed):
        M = exact_of(solution, "M")
        M = (M + M.T) / 2
        values, V = mp.eigsy(M)
        clipped = V * mp.diag([max(mp.mpf(0), x) for x in values]) * V.T
        low, high = hp.fitted_dual(data, U, clipped), hp.fitted_value(data, U, clipped)
        check(way, solution, hp.fitted_value(data, U, M), low, high)
        assert mp.mpf(solution.certificate.lower_bound) <= high, way


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_spectral_transforms_have_the_value_they_say(seed):
    graph, links, _, _ = instance(seed)
    for problem, variable in ((cl.ImprovedOrder(graph, links), "mu"), (cl.GaussianField(graph, links), "epsilon")):
        solution = problem.solve(strict=False)
        if not solution.status.has_answer:
            continue
        given = np.asarray(solution.values[variable])
        x = [mp.mpf(float(e)) for e in problem.spectrum[0]]
        mu = hp.exact(given) if variable == "mu" else mp.matrix([1 / (e + mp.mpf(float(given))) for e in x])
        value = hp.inner(hp.exact(problem.agreement), mu)
        if variable == "epsilon":
            value /= mp.norm(hp.exact(problem.norm_root) * mu)
        assert abs(mp.mpf(solution.value) - value) <= mp.mpf(1e-12) * (1 + abs(value))
