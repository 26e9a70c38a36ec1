"""Instances on which floating point would prove what is false: every bound holds for the exact numbers."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.model.linear_maps import at_places
from cvxlink.programs.linear_sdp import LinearSDP, Rows
from helpers import high_precision as hp


def row(name: str, n: int, entries: dict[tuple[int, int], float], right: float) -> Rows:
    i, j = np.array(list(entries)).T
    A = at_places(n, np.zeros(len(i), dtype=int), i, j, np.array(list(entries.values())), 1)
    return Rows(name, A, np.array([right]))


def test_multipliers_of_1e16_that_cancel_prove_nothing_false():
    # Nothing costs anything, so the optimum is 0. The four rows depend on one another: multipliers along
    # trace = first + second and both = first + 2 second cancel, and leave what is below their last digit.
    rows = (
        row("first", 2, {(0, 0): 1.0}, 1.0),
        row("trace", 2, {(0, 0): 1.0, (1, 1): 1.0}, 2.0),
        row("both", 2, {(0, 0): 1.0, (1, 1): 2.0}, 3.0),
        row("second", 2, {(1, 1): 1.0}, 1.0),
    )
    sdp = LinearSDP(sp.csr_array((2, 2)), rows)
    rng = np.random.default_rng(0)
    fooled = 0
    for _ in range(200):
        s, t = np.round(10.0 ** rng.uniform(14, 17, 2))
        small = np.round(rng.uniform(-4, 4, 4))
        y = np.array([s - t, -s, t, s - 2 * t]) + small
        naive = float(sdp.b @ y) + 2 * min(0.0, float(np.linalg.eigvalsh(sdp.slack(y).toarray())[0]))
        fooled += naive > 0
        certificate = cl.certify(sdp, {"K": np.eye(2)}, {g.name: y[[k]] for k, g in enumerate(rows)})
        assert certificate.lower_bound <= 0 <= certificate.upper_bound
    assert fooled  # otherwise these instances would be too easy


@pytest.mark.parametrize("size", [1e-300, 1e-140, 1e-8, 1.0, 1e8, 1e140])
def test_a_known_optimum_is_never_outside_the_bounds(size):
    # Triangle, two corners apart: the optimum is 6 − 2√2 times the weights, which no floating-point number is.
    W = size * (np.ones((3, 3)) - np.eye(3))
    problem = cl.PCP(cl.Graph.from_affinity(W), cl.Links(3, cannot=[(0, 1)]), normalized=False)
    optimum = mp.mpf(float(W[0, 1])) * (6 - 2 * mp.sqrt(2))
    half = np.sqrt(0.5)
    best = np.array([[1.0, 0.0, half], [0.0, 1.0, half], [half, half, 1.0]])
    # The slack is tvvᵀ with v = (1, 1, −√2) and t = 1/√2.
    unit = np.array([2 - half, 2 - half, 2 - np.sqrt(2)])
    duals = {"unit": size * unit, "cannot": size * np.array([-2 - np.sqrt(2)])}
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(40):
        noise = 10.0 ** rng.uniform(-17, -14) * rng.standard_normal((3, 3))
        point = best + noise + noise.T
        y = {name: dual * (1 + 1e-16 * rng.standard_normal(len(dual))) for name, dual in duals.items()}
        certificate = cl.certify(problem, {"K": point}, y)
        below += mp.mpf(certificate.value) < optimum
        assert certificate.upper_bound is None or mp.mpf(certificate.upper_bound) >= optimum
        assert certificate.lower_bound is None or mp.mpf(certificate.lower_bound) <= optimum
        if size > 1e-200:
            assert certificate.upper_bound - certificate.lower_bound <= 1e-12 * float(optimum)
    assert below  # points just outside are cheaper than the optimum


def test_a_quotient_that_only_rounds_to_the_same_number_forces_nothing_together():
    # 9 K₀₁ = 0.9 and K₀₀ = K₁₁ = 0.1 agree after rounding, but 0.9 / 9 is below 0.1 as both are stored.
    assert 0.9 / 9 == 0.1 and Fraction(0.9) / 9 != Fraction(0.1)

    def program(weight, right):
        unit = LinearSDP.with_fixed_entries(sp.csr_array((2, 2)), {"unit": (np.array([[0, 0], [1, 1]]), 0.1)}).rows
        far = row("near", 2, {(0, 1): weight}, right)
        return LinearSDP(sp.csr_array(np.array([[1.0, -1.0], [-1.0, 1.0]])), (*unit, far))

    with pytest.raises(cl.ReductionRefused):
        cl.Contraction().reduce(program(9.0, 0.9))
    assert cl.Contraction().reduce(program(1.0, 0.1)).program.n == 1


@pytest.mark.parametrize("inside", [1.0, 1e8, 1e16])
def test_tight_blocks_do_not_drown_the_edges_that_leave_them(inside):
    # Two must-linked pairs, joined by one edge of weight w and apart by a cannot-link: K' = I, the optimum is 2w.
    W = np.zeros((4, 4))
    W[0, 1], W[2, 3], W[1, 2] = inside, inside, 0.3
    links = cl.Links(4, must=[(0, 1), (2, 3)], cannot=[(0, 3)])
    problem = cl.PCP(cl.Graph.from_affinity(W + W.T), links, normalized=False)
    certificate = problem.solve(strict=False).certificate
    L = hp.exact(problem.L)  # degrees are rounded when the graph is built; the program is what is stored
    block = mp.matrix([[1, 0], [1, 0], [0, 1], [0, 1]])
    optimum = hp.trace(block.T * L * block)
    assert certificate.lower_bound is None or mp.mpf(certificate.lower_bound) <= optimum
    assert certificate.upper_bound is None or mp.mpf(certificate.upper_bound) >= optimum


@pytest.mark.parametrize("mu", [1e-12, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("size", [1e-140, 1e-9, 1e9, 1e140])
def test_faint_springs_and_extreme_weights(mu, size):
    W = size * np.array([[0, 1, 0, 2], [1, 0, 3, 0], [0, 3, 0, 1e-7], [2, 0, 1e-7, 0]])
    graph, links = cl.Graph.from_affinity(W), cl.Links(4, must=[(0, 1)], cannot=[(1, 2)])
    problem = cl.SRCP(graph, links, normalized=False, mu=mu)
    L, Y, strength = hp.exact(graph.laplacian(False)), hp.exact(links.matrix), mp.mpf(mu)
    with mp.workdps(400):  # what is lost of 1 when it spreads along 1e-140
        optimum = hp.spread_links(L, Y, mu, lambda x, y: 2 * strength / (2 * strength + x + y))
    for F in (np.zeros((4, 4)), links.matrix.toarray(), problem.solve(strict=False, route="eigen").values["F"]):
        certificate = cl.certify(problem, {"F": F})
        with mp.workdps(400):
            value = hp.srcp_value(L, Y, mu, hp.exact(F))
        assert certificate.lower_bound is None or mp.mpf(certificate.lower_bound) <= optimum
        assert abs(mp.mpf(certificate.value) - value) <= mp.mpf(certificate.rounding)


@pytest.mark.parametrize("size", [1e-140, 1.0, 1e120])
def test_harmonic_values_between_weights_of_many_sizes(size):
    rng = np.random.default_rng(0)
    for _ in range(10):
        W = np.triu(10.0 ** rng.uniform(-12, 12, (6, 6)), 1) * size
        problem = cl.GFHF(cl.Graph.from_affinity(W + W.T), np.array([0, 1, -1, -1, -1, 0]))
        data = problem.program.data
        optimum = hp.harmonic(hp.exact(data.L), data.known.tolist(), hp.exact(data.given))
        for f in (rng.uniform(0, 1, (6, 2)), data.extension(data.given)):
            certificate = cl.certify(problem, {"f": f})
            assert certificate.lower_bound is None or mp.mpf(certificate.lower_bound) <= optimum
            assert mp.mpf(certificate.upper_bound) >= optimum


def test_a_certificate_says_what_rounding_can_change(small_pcp):
    solution = small_pcp.solve()
    certificate = solution.certificate
    assert 0 < certificate.rounding < 1e-10 and certificate.rounding_is_proven
    assert f"rounding       {certificate.rounding:.1e}   included in the bounds" in str(certificate)
    noisy = cl.MinKL(cl.Graph.rbf(np.arange(4.0)[:, None], 1.0).kernel(), cl.Links(4, must=[(0, 1)]), must_noise=0.5)
    assert "the bounds hold up to that much" in str(noisy.solve().certificate)


def test_numbers_that_overflow_prove_nothing(small_pcp):
    problem = cl.CCSR(small_pcp.graph, small_pcp.links, order=3)
    for number in (1e308, np.inf, np.nan):
        M = np.eye(3)
        M[0, 1] = M[1, 0] = number
        certificate = cl.certify(problem, {"M": M})
        assert certificate.lower_bound is None and certificate.upper_bound is None and not certificate.holds(1.0)
