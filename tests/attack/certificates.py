"""Certificates with planted errors: arbitrary points and multipliers for programs whose optimum is known.

The optimum of each instance is bracketed once, in 50 digits, by formulas that share no code with the package. A case
spoils the answer of a route or solver, asks for its certificate, and compares every claim with the bracket.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

import cvxlink as cl
from cvxlink.numerics.matrices import Stiffened
from helpers import high_precision as hp
from helpers.programs import PROGRAMS

from .findings import FALSE_CLAIM, RAW_ERROR, Finding

INSTANCES = 6  # of each method
ACCURACY = 1e-4
# The share of cases on programs that only the general bound applies to: each takes a hundred times as long.
GENERAL = 0.02
NOTHING: dict[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Known:
    """A problem, an answer to spoil, and what is known: the optimum is between low and high."""

    problem: Any
    values: Mapping[str, np.ndarray]
    duals: Mapping[str, np.ndarray]
    low: Any
    high: Any
    value: Callable[[Mapping[str, np.ndarray]], Any]
    violation: Callable[[Mapping[str, np.ndarray]], float] = lambda point: 0.0
    slack: float = 0.0  # how much more than rounding the bracket leaves open


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    """Spoil one answer and hold its certificate against the known optimum."""
    names = list(METHODS)
    if rng.random() < GENERAL:
        which, number = "general", int(rng.integers(len(SOLVABLE)))
        known = _general(SOLVABLE[number])
    else:
        which, number = names[int(rng.integers(len(names)))], int(rng.integers(INSTANCES))
        known = _known(which, number)
    other = _known(names[int(rng.integers(len(names)))], int(rng.integers(INSTANCES)))
    values = {name: _spoiled(rng, np.asarray(array), other.values) for name, array in known.values.items()}
    duals = {name: _spoiled(rng, np.asarray(array), other.duals) for name, array in known.duals.items()}
    if rng.random() < 0.3:
        values = dict(known.values)
    elif rng.random() < 0.3:
        duals = dict(known.duals)
    if duals and rng.random() < 0.05:
        duals.pop(next(iter(duals)))
    what = f"{which} {number}"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            certificate = cl.certify(known.problem, values, duals)
    except cl.CvxlinkError:
        return []
    except Exception as error:
        return [Finding(RAW_ERROR, f"{what}: {type(error).__name__}: {str(error)[:200]}")]
    return [Finding(FALSE_CLAIM, f"{what}: {claim}") for claim in _false_claims(known, values, certificate)]


def _false_claims(known: Known, values: Mapping[str, np.ndarray], certificate: cl.Certificate) -> list[str]:
    """What a certificate says that is not so."""
    finite = np.isfinite(certificate.value)
    estimate = 0.0 if certificate.rounding_is_proven else certificate.rounding or 0.0
    allowed = mp.mpf(known.slack) + (mp.mpf(estimate) if np.isfinite(estimate) else mp.inf)
    found = []
    lower, upper = certificate.lower_bound, certificate.upper_bound
    limited = "for all points with" in certificate.basis
    if lower is not None and not limited and not mp.mpf(lower) <= known.high + allowed:
        found.append(f"lower bound {lower!r} above the optimum {mp.nstr(known.high, 20)}")
    if upper is not None and not mp.mpf(upper) >= known.low - allowed:
        found.append(f"upper bound {upper!r} below the optimum {mp.nstr(known.low, 20)}")
    if finite and all(np.isfinite(array).all() for array in values.values()):
        exact = known.value(values)
        rounding = certificate.rounding if certificate.rounding is not None else 1e-9 * (1 + abs(certificate.value))
        if np.isfinite(rounding) and abs(exact - certificate.value) > mp.mpf(rounding) * (1 if estimate == 0 else 2):
            found.append(f"value {certificate.value!r}, exactly {mp.nstr(exact, 20)}, rounding {rounding:.1e}")
    if certificate.holds(ACCURACY) and lower is not None:
        if not finite:
            found.append("holds for a value that is no number")
            return found
        size = certificate.cost_scale + abs(certificate.value)
        off = max(known.low - certificate.value, certificate.value - known.high)
        if off > 2 * ACCURACY * size + allowed:
            found.append(f"holds, but {certificate.value!r} is off by {mp.nstr(off, 5)}")
        if known.violation(values) > 2 * ACCURACY * max(certificate.scale, 1e-6):
            found.append(f"holds, but a constraint is violated by {known.violation(values):.2e}")
    return found


# ---------------------------------------------------------------------- planted errors


def _spoiled(rng: np.random.Generator, array: np.ndarray, others: Mapping[str, Any]) -> np.ndarray:
    """The array with an error of some kind, or as it is."""
    size = 10.0 ** rng.uniform(-18, 3)
    array = array.astype(float)
    spoilers: list[Callable[[], Any]] = [
        lambda: array,
        lambda: array * (1 + size),
        lambda: array * 10.0 ** rng.uniform(-170, 170),
        lambda: array + size * rng.standard_normal(array.shape),
        lambda: _symmetric(array + size * rng.standard_normal(array.shape)),
        lambda: array.astype(np.float16).astype(float),
        lambda: array.astype(np.float32).astype(float),
        lambda: rng.permutation(array.ravel()).reshape(array.shape),
        lambda: -array,
        lambda: _one_entry(rng, array, size),
        lambda: _one_entry(rng, array, rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])),
        lambda: rng.standard_normal(array.shape) * 10.0 ** rng.uniform(-10, 10),
        lambda: np.zeros_like(array),
        lambda: np.full_like(array, 10.0 ** rng.uniform(15, 17)) + array,
        lambda: _of_lower_rank(array),
        lambda: next((np.asarray(o, float) for o in others.values() if np.shape(o) == array.shape), array),
        lambda: next((np.asarray(o, float) for o in others.values()), array),
    ]
    weights = np.ones(len(spoilers))
    weights[0] = 4
    with np.errstate(all="ignore"):
        return np.asarray(spoilers[int(rng.choice(len(spoilers), p=weights / weights.sum()))]())


def _symmetric(array: Any) -> Any:
    if isinstance(array, mp.matrix):
        return (array + array.T) / 2
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    return (array + array.T) / 2 if square else array


def _one_entry(rng: np.random.Generator, array: np.ndarray, change: float) -> np.ndarray:
    flat = array.ravel().copy()
    if len(flat):
        flat[int(rng.integers(len(flat)))] += change
    return flat.reshape(array.shape)


def _of_lower_rank(array: np.ndarray) -> np.ndarray:
    if array.ndim != 2 or not np.isfinite(array).all():
        return array
    left, values, right = np.linalg.svd(array)
    return (left[:, : len(values) - 1] * values[:-1]) @ right[: len(values) - 1]


# ---------------------------------------------------------------------- instances whose optimum is known


def _graph(rng: np.random.Generator, n: int) -> cl.Graph:
    W = np.triu(10.0 ** rng.uniform(-2, 2, (n, n)) * 10.0 ** rng.choice([-12.0, 0.0, 0.0, 12.0]), 1)
    W[rng.random((n, n)) < 0.3] = 0
    W[np.arange(n - 1), np.arange(1, n)] += W.max() * 0.01 or 1.0
    return cl.Graph.from_affinity(W + W.T)


def _links(rng: np.random.Generator, n: int) -> cl.Links:
    return cl.Links.sample(np.arange(n) % 2, n_links=3, random_state=int(rng.integers(1000)))


def _solved(problem: Any, **options: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The values and multipliers of the most accurate answer, without the parts that only stiffen a slack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = problem.solve(strict=False, accuracy=1e-8, **options)
    duals = {n: d.base if isinstance(d, Stiffened) else d for n, d in solution.duals.stored.items()}
    dense = {n: np.asarray(d.toarray() if hasattr(d, "toarray") else d) for n, d in duals.items()}
    return {name: np.asarray(solution.values[name]) for name in solution.values}, dense


def _kernel(kind: Any, rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 6))
    problem = kind(_graph(rng, n), _links(rng, n), normalized=bool(rng.integers(2)))
    values, duals = _solved(problem)
    C, links = hp.exact(problem.L), problem.links
    kept = list(range(n)) if kind is cl.PCP else links.linked.tolist()
    place = {point: k for k, point in enumerate(kept)}
    must, cannot = ([(place[i], place[j]) for i, j in pairs.tolist()] for pairs in (links.must, links.cannot))
    costs, inside = hp.schur_complement(C, kept), cl.Links(len(kept), must=must, cannot=cannot)
    low = hp.kernel_dual(costs, inside, {name: np.ravel(duals[name]) for name in duals if name != "psd"})
    high = hp.kernel_feasible_value(costs, inside, hp.part(hp.exact(values["K"]), kept, kept))

    def violation(point: Mapping[str, np.ndarray]) -> float:
        K = (point["K"] + point["K"].T) / 2
        (a, b), (c, d) = links.must.T, links.cannot.T
        rows = [abs(np.diag(K)[kept] - 1), abs(K[a, b] - 1), abs(K[c, d])]
        return max(float(np.concatenate(rows).max()), -float(np.linalg.eigvalsh(K)[0]))

    return Known(problem, values, duals, low, high, _linear_value(C, "K"), violation)


def _linear_value(C: mp.matrix, name: str, offset: Any = 0) -> Callable[[Mapping[str, np.ndarray]], Any]:
    return lambda point: offset + hp.inner(C, _symmetric(hp.exact(point[name])))


def _gfhf(rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 6))
    problem = cl.GFHF(_graph(rng, n), np.array([0, 1, *[-1] * (n - 2)]))
    data, L = problem.program.data, hp.exact(problem.program.data.L)
    optimum = hp.harmonic(L, data.known.tolist(), hp.exact(data.given))

    def value(point: Mapping[str, np.ndarray]) -> Any:
        f = hp.exact(point["f"])
        return hp.inner(f, L * f)

    def violation(point: Mapping[str, np.ndarray]) -> float:
        return float(abs(point["f"][data.known] - data.given).max())

    return Known(problem, *_solved(problem), optimum, optimum, value, violation)


def _llgc(rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 6))
    problem = cl.LLGC(_graph(rng, n), np.array([0, 1, *[-1] * (n - 2)]), alpha=float(rng.uniform(0.05, 0.99)))
    L, Y = hp.exact(problem.graph.laplacian()), hp.exact(problem.Y)
    optimum = hp.smoothing(L, Y, problem.mu)
    values, _ = _solved(problem)
    return Known(
        problem, values, NOTHING, optimum, optimum, lambda p: hp.smoothing_value(L, Y, problem.mu, hp.exact(p["f"]))
    )


def _srcp(rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 5))
    problem = cl.SRCP(_graph(rng, n), _links(rng, n), bool(rng.integers(2)), mu=float(10 ** rng.uniform(-3, 1)))
    L, Y, mu = hp.exact(problem.graph.laplacian(problem.normalized)), hp.exact(problem.links.matrix), mp.mpf(problem.mu)
    optimum = hp.spread_links(L, Y, mu, lambda x, y: 2 * mu / (2 * mu + x + y))
    values, _ = _solved(problem, route="eigen")
    return Known(problem, values, NOTHING, optimum, optimum, lambda p: hp.srcp_value(L, Y, mu, hp.exact(p["F"])))


def _e2cp(rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 5))
    problem = cl.E2CP(_graph(rng, n), _links(rng, n), bool(rng.integers(2)), alpha=float(rng.uniform(0.05, 0.95)))
    mu = mp.mpf(problem.program.data.mu)
    L, Y = hp.exact(problem.graph.laplacian(problem.normalized)), hp.exact(problem.links.matrix)
    optimum = hp.spread_links(L, Y, mu, lambda x, y: mu**2 / ((mu + x) * (mu + y)))
    values, _ = _solved(problem, route=problem.routes[0])
    return Known(problem, values, NOTHING, optimum, optimum, lambda p: hp.e2cp_value(L, Y, mu, hp.exact(p["F"])))


def _sl(rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 6))
    graph = _graph(rng, n)
    problem = cl.SL(cl.Graph.from_affinity(graph.W / graph.W.max()), _links(rng, n))
    W, given = hp.exact(problem.graph.W), problem.program.data.given
    optimum = 2 * mp.fsum((mp.mpf(t) - W[i, j]) ** 2 for pairs, t in given.values() for i, j in pairs.tolist())

    def value(point: Mapping[str, np.ndarray]) -> Any:
        off = hp.exact(point["A"]) - W
        return hp.inner(off, off)

    def violation(point: Mapping[str, np.ndarray]) -> float:
        return max(float(abs(point["A"][tuple(pairs.T)] - t).max(initial=0)) for pairs, t in given.values())

    return Known(problem, _solved(problem)[0], NOTHING, optimum, optimum, value, violation)


def _fantope(rng: np.random.Generator) -> Known:
    n, k = int(rng.integers(3, 6)), int(rng.integers(1, 3))
    problem: Any = cl.NCuts(_graph(rng, n), k) if rng.random() < 0.5 else cl.SSKK(_graph(rng, n), _links(rng, n), k)
    is_cut = isinstance(problem, cl.NCuts)
    C = hp.exact(problem.graph.laplacian()) if is_cut else -hp.exact(problem.K)
    offset = mp.mpf(0) if is_cut else -hp.trace(C)
    optimum = offset + mp.fsum(hp.eigenvalues(C)[:k])

    def violation(point: Mapping[str, np.ndarray]) -> float:
        found = np.linalg.eigvalsh((point["X"] + point["X"].T) / 2)
        return float(max(abs(found.sum() - k), -found[0], found[-1] - 1))

    value = _linear_value(C, "X", offset)
    return Known(problem, _solved(problem)[0], NOTHING, optimum, optimum, value, violation)


def _cut(rng: np.random.Generator) -> Known:
    n = int(rng.integers(4, 6))
    problem = cl.CSC(_graph(rng, n), _links(rng, n), fraction=float(rng.uniform(0.2, 0.95)))
    values, duals = _solved(problem)
    data = problem.program.data
    L, Q, v = hp.exact(data.L), hp.exact(data.Q), hp.exact(data.trivial)
    multiplier = mp.mpf(max(0.0, -float(np.ravel(duals["satisfaction"])[0])))
    basis = hp.part(mp.qr(v)[0], list(range(n)), list(range(1, n)))
    low = hp.eigenvalues(basis.T * (L - multiplier * (Q - mp.eye(n) * mp.mpf(data.beta))) * basis)[0]
    f = values["f"]
    high = hp.inner(hp.exact(f), L * hp.exact(f))

    def value(point: Mapping[str, np.ndarray]) -> Any:
        return hp.inner(hp.exact(point["f"]), L * hp.exact(point["f"]))

    def violation(point: Mapping[str, np.ndarray]) -> float:
        return float(abs(np.linalg.norm(point["f"]) - 1))

    # The answer is feasible up to 1e-12 only.
    return Known(problem, values, duals, low, max(low, high), value, violation, slack=1e-9 * (1 + float(abs(high))))


def _nearness(rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 6))
    kernel = cl.Graph.rbf(rng.standard_normal((n, 2)), float(rng.uniform(0.5, 3))).kernel()
    links, prior = _links(rng, n), hp.exact(kernel)
    if rng.random() < 0.5:
        problem = cl.MinKL(
            kernel, links, must_noise=float(rng.uniform(0.1, 2)), cannot_noise=float(rng.uniform(0.1, 2))
        )
        data, (values, duals) = problem.program.data, _solved(problem)
        low = high = hp.nearness_dual(prior, data.U, data.weights, ())
        weights = data.weights
    else:
        bounds = rng.uniform(0.05, 1.5, 2)
        problem = cl.MinKL(kernel, links, must_bound=bounds[0], cannot_bound=bounds[1])
        data, (values, duals) = problem.program.data, _solved(problem)
        given = [np.ravel(-duals[name]) for name in data.groups if name in duals]
        low = hp.nearness_dual(prior, data.U, np.maximum(np.concatenate(given), 0), data.bounds)
        weights = np.zeros(len(data.bounds))
        K, columns = hp.exact(values["K"]), hp.exact(data.U)
        lengths = columns.T * K * columns
        share = min([mp.mpf(1), *(mp.mpf(float(a)) / lengths[r, r] for r, a in enumerate(data.bounds))])
        high = hp.nearness_value(prior, K * share, data.U, weights)

    def value(point: Mapping[str, np.ndarray]) -> Any:
        return hp.nearness_value(prior, _symmetric(hp.exact(point["K"])), data.U, weights)

    def violation(point: Mapping[str, np.ndarray]) -> float:
        return -float(np.linalg.eigvalsh((point["K"] + point["K"].T) / 2)[0])

    return Known(problem, values, duals, low, high, value, violation)


def _fitted(rng: np.random.Generator) -> Known:
    n = int(rng.integers(3, 6))
    problem = cl.CCSR(_graph(rng, n), _links(rng, n), order=int(rng.integers(1, 4)))
    data, (values, duals) = problem.program.data, _solved(problem)
    U = hp.exact(data.U)
    M = hp.exact((values["M"] + values["M"].T) / 2)
    eigenvalues, V = mp.eigsy(M)
    M = V * mp.diag([max(mp.mpf(0), x) for x in eigenvalues]) * V.T
    low, high = hp.fitted_dual(data, U, M), hp.fitted_value(data, U, M)

    def violation(point: Mapping[str, np.ndarray]) -> float:
        return -float(np.linalg.eigvalsh((point["M"] + point["M"].T) / 2)[0])

    def value(point: Mapping[str, np.ndarray]) -> Any:
        return hp.fitted_value(data, U, _symmetric(hp.exact(point["M"])))

    return Known(problem, values, duals, low, high, value, violation)


METHODS: dict[str, Callable[[np.random.Generator], Known]] = {
    "PCP": lambda rng: _kernel(cl.PCP, rng),
    "KP": lambda rng: _kernel(cl.KP, rng),
    "GFHF": _gfhf,
    "LLGC": _llgc,
    "SRCP": _srcp,
    "E2CP": _e2cp,
    "SL": _sl,
    "Fantope": _fantope,
    "CSC": _cut,
    "MinKL": _nearness,
    "CCSR": _fitted,
}
SOLVABLE = [name for name, (_, optimum) in PROGRAMS.items() if optimum is not None]


@cache
def _known(method: str, number: int) -> Known:
    """An instance, made once: which one it is follows from its name and number alone."""
    return METHODS[method](np.random.default_rng([number, *method.encode()]))


@cache
def _general(name: str) -> Known:
    """A program of some kind whose optimum is known by hand, to the accuracy of its digits."""
    problem, optimum = PROGRAMS[name]
    values, duals = _solved(problem, solver="CLARABEL")
    declaration = problem.declaration

    def value(point: Mapping[str, np.ndarray]) -> Any:
        for name, variable in declaration.variables.items():
            is_symmetric = variable.ndim == 2 and variable.is_symmetric()
            variable.save_value(_symmetric(point[name]) if is_symmetric else point[name])
        return mp.mpf(float(declaration.objective.value))

    return Known(problem, values, duals, mp.mpf(optimum), mp.mpf(optimum), value, slack=1e-9)
