"""Attacks on bounds: methods whose optimum another computation knows, extreme data, and planted wrong answers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

import cvxlink as cl

from .findings import FALSE_CLAIM, RAW_ERROR, Finding

ACCURACY = 1e-4
# Rounding of the references.
SLACK = 1e-9


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    """Solve one random instance of a method, and compare status, bounds and planted answers with a reference."""
    case = CASES[int(rng.integers(len(CASES)))]
    seed = int(rng.integers(2**31))
    label = f"{case.__name__}, seed {seed}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [Finding(FALSE_CLAIM, f"{label}: {what}") for what in case(np.random.default_rng(seed))]
    except cl.CvxlinkError:
        return []  # refused, with a sentence
    except Exception as error:
        return [Finding(RAW_ERROR, f"{label}: {type(error).__name__}: {error}")]


def weights(rng: np.random.Generator, n: int, connected: bool = False) -> np.ndarray:
    """Return weights: moderate, of all sizes, equal or sparse; all multiplied by a number."""
    kind = int(rng.integers(4))
    W = rng.random((n, n)) if kind != 2 else np.ones((n, n))
    if kind == 1:
        W = 10.0 ** rng.uniform(-10, 4, (n, n))
    if kind == 3:
        W = W * (rng.random((n, n)) < 0.5)
    if connected:
        W = W + 0.1 * W.max() * np.eye(n, k=1)
    W = np.triu(W, 1) * 10.0 ** float(rng.choice([0, 0, -8, 8, -100]))
    return W + W.T


def some_links(rng: np.random.Generator, n: int) -> cl.Links:
    pairs = rng.permutation([(i, j) for i in range(n) for j in range(i)])[: int(rng.integers(1, 6))]
    must = rng.random(len(pairs)) < 0.5
    return cl.Links(n, must=pairs[must], cannot=pairs[~must])


def objections(solution: cl.Solution, best: float, exact: bool = True) -> list[str]:
    """Return which claims a known value refutes: the optimum, or, unless ``exact``, the value of a feasible point."""
    certificate = solution.certificate
    if certificate is None:
        return []
    size, found = 1 + abs(best), []
    maximises = certificate.maximises
    bound = certificate.bound
    if bound is not None and (best - bound if maximises else bound - best) > SLACK * size:
        found.append(f"the bound {bound:.12g} is refuted by {best:.12g}")
    worse = best - solution.value if maximises else solution.value - best
    if solution.status is cl.Status.OPTIMAL and (abs(worse) if exact else worse) > 3 * ACCURACY * size:
        found.append(f"OPTIMAL with {solution.value:.12g} where {best:.12g} is the best")
    if solution.status is cl.Status.OPTIMAL and not certificate.has_bound:
        found.append("OPTIMAL without a bound")
    return found


def planted(problem: cl.Problem, values: dict[str, Any], duals: Any, best: float) -> list[str]:
    """Return an objection if a point whose value is off holds all the same."""
    certificate = cl.certify(problem, values, duals)
    off = abs(certificate.value - best) > 3 * ACCURACY * (1 + abs(best))
    claims = certificate.has_bound and certificate.holds(ACCURACY)
    return (
        [f"a planted point of value {certificate.value:.8g} holds, and {best:.8g} is the best"]
        if off and claims
        else []
    )


def shifts(rng: np.random.Generator) -> list[str]:
    """GaussianField, against a grid in extended precision."""
    n = int(rng.integers(2, 14))
    graph, links = cl.Graph.from_affinity(weights(rng, n)), some_links(rng, n)
    problem = cl.GaussianField(graph, links, bool(rng.integers(2)), order=int(rng.choice([2, 5, 200])))
    solution = problem.solve(strict=False)
    eigenvalues = problem.spectrum[0].astype(np.longdouble)
    positive = eigenvalues[eigenvalues > 0]
    if not len(positive) or not solution.values:
        return []
    grid = np.exp(np.linspace(float(np.log(positive.min())) - 30, float(np.log(positive.max())) + 30, 3000))
    nu = grid[:, None].astype(np.longdouble) / (eigenvalues + grid[:, None])
    sizes = np.sqrt(((nu @ problem.norm_root.T) ** 2).sum(axis=1))
    best = float(np.max((nu @ problem.agreement)[sizes > 0] / sizes[sizes > 0], initial=-np.inf))
    wrong = {"epsilon": np.array(float(solution.values["epsilon"]) * 10.0 ** rng.uniform(-6, 6))}
    return objections(solution, best, exact=False) + planted(problem, wrong, {}, max(best, solution.value))


def spectra(rng: np.random.Generator) -> list[str]:
    """ImprovedOrder, against random ordered spectra and the vertices of their cone."""
    n = int(rng.integers(2, 12))
    graph, links = cl.Graph.from_affinity(weights(rng, n)), some_links(rng, n)
    problem = cl.ImprovedOrder(graph, links, bool(rng.integers(2)), order=int(rng.choice([2, 5, 200])))
    solution = problem.solve(solver=str(rng.choice(["CLARABEL", "SCS", "CVXOPT"])), strict=False)
    a, R = problem.agreement, problem.norm_root
    tried = [np.zeros(len(a)), *np.tril(np.ones((len(a), len(a)))), *np.eye(len(a))[:1]]
    tried += [np.sort(rng.exponential(size=len(a)) ** rng.uniform(0.5, 6))[::-1] for _ in range(50)]
    best = max(float(a @ mu) / max(float(np.linalg.norm(R @ mu)), 1e-300) for mu in tried)
    found = objections(solution, max(best, 0.0), exact=False)
    if solution.values:
        wrong = {"mu": solution.values["mu"] * rng.uniform(0, 1.5)}
        found += planted(problem, wrong, dict(solution.duals), solution.value)
    return found


def labelings(rng: np.random.Generator) -> list[str]:
    """CSC+GFHF with two classes, against all generalised eigenvectors by the QZ algorithm."""
    n = int(rng.integers(3, 14))
    labels = np.full(n, -1)
    labels[rng.permutation(n)[: int(rng.integers(2, n + 1))]] = 0
    labels[rng.permutation(np.flatnonzero(labels == 0))[:1]] = 1
    problem = cl.CSCGFHF(cl.Graph.from_affinity(weights(rng, n, True)), labels, sigma=float(10 ** rng.uniform(-0.5, 1)))
    solution = problem.solve(strict=False)
    L = problem.graph.laplacian().toarray()
    rates, F = scipy.linalg.eig(L, problem.Q)
    kept = np.isfinite(rates) & (abs(rates) > 1e-6) & (abs(rates) < 1e6) & (abs(rates.imag) < 1e-12 * abs(rates))
    rates, F = rates[kept].real, F[:, kept].real
    F = F / np.linalg.norm(F, axis=0)
    clean = np.linalg.norm(L @ F - problem.Q @ F * rates, axis=0) < 1e-12 * np.linalg.norm(L @ F, axis=0)
    if not clean.any():
        return []
    agreement = np.einsum("ij,ij->j", F, problem.Q @ F)
    best = float(agreement[clean].max())
    found = objections(solution, best, exact=False)
    column = int(rng.choice(np.flatnonzero(clean)))
    wrong = {"f": F[:, [column]], "rates": rates[[column]]}
    return found + planted(problem, wrong, {}, max(best, solution.value if solution.values else best))


def followers(rng: np.random.Generator) -> list[str]:
    """KP with a single cannot-link: the optimum is the trace of the Schur complement, in exact arithmetic."""
    n = int(rng.integers(3, 9))
    W = np.triu(10.0 ** rng.uniform(-14, 10, (n, n)) * (rng.random((n, n)) < 0.8), 1)
    W = W + W.T
    graph = cl.Graph.from_affinity(W)
    problem = cl.KP(graph, cl.Links(n, cannot=[(0, 1)]), normalized=bool(rng.integers(2)))
    solution = problem.solve(strict=False)
    left = [[Fraction(float(w)) for w in row] for row in W]
    for k in range(n - 1, 1, -1):
        total = sum(left[k][:k])
        for i in range(k):
            for j in range(k):
                if i != j and total:
                    left[i][j] += left[k][i] * left[k][j] / total
    joint = float(left[0][1])
    best = joint * float((1 / graph.degrees[:2]).sum()) if problem.normalized else 2 * joint
    found = objections(solution, best)
    if solution.values:
        K = np.array(solution.values["K"])
        K[2:, 2:] += float(rng.exponential()) * np.eye(n - 2)
        found += planted(problem, {"K": K}, dict(solution.duals), best)
    return found


def strictest_cuts(rng: np.random.Generator) -> list[str]:
    """CSC at the largest threshold, where only the leading eigenvectors of Q̄ are feasible."""
    n, k = int(rng.integers(4, 11)), int(rng.integers(2, 4))
    graph = cl.Graph.from_affinity(weights(rng, n, True))
    problem = cl.CSC(graph, some_links(rng, n), n_clusters=k, fraction=1.0)
    way = {"form": "sdp", "solver": "CLARABEL"} if rng.random() < 0.5 else {}
    solution = problem.solve(strict=False, **way)
    U = np.linalg.svd(graph.trivial_cut[None, :])[2][1:].T
    eigenvalues, V = np.linalg.eigh(U.T @ problem.Q @ U)
    if eigenvalues[1 - k] - eigenvalues[-k] < 1e-3 * abs(eigenvalues).max():
        return []  # a tie: other cuts are feasible, too
    f = U @ V[:, 1 - k :]
    return objections(solution, float(np.vdot(f, graph.laplacian() @ f)))


CASES: tuple[Callable[[np.random.Generator], list[str]], ...] = (shifts, spectra, labelings, followers, strictest_cuts)
