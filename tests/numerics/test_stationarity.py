"""Stationary labelings: the claims of Wang, Qian & Davidson (2012), and CSC with propagated labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import cvxlink as cl
from helpers.cuts import cut_instance, paper
from helpers.graphs import random_graph


def propagated(graph: cl.Graph, labels: np.ndarray) -> np.ndarray:
    return cl.label_kernel(cl.GFHF(graph, labels).solve().scores)


def test_claim_1_with_beta_zero_csc_finds_the_cheapest_stationary_labeling():
    graph, y, _ = cut_instance(12, seed=7)
    Q = propagated(graph, cl.sample_labels(y, per_class=2, random_state=0))
    problem = cl.CSC(graph, Q, beta=0.0)
    found = paper(problem)
    assert found.stationarity() < 1e-6
    # All of them, by another route: eigenvectors of the unsymmetric propagation (I − S)⁺Q̄.
    rates, vectors = np.linalg.eig(np.linalg.pinv(graph.laplacian().toarray()) @ problem.Q)
    keep = abs(rates) > 1e-10 * abs(rates).max()
    vectors = np.real(vectors[:, keep])
    stationary = [cl.stationarity(f, *problem.solve().learnt.get("propagation")) for f in vectors.T]
    assert max(stationary) < 1e-4
    costs = np.einsum("ij,ij->j", vectors, graph.laplacian() @ vectors) / (vectors**2).sum(axis=0)
    assert found.value == pytest.approx(costs.min(), rel=1e-6)
    # What (7) itself asks for with β = 0 is less: any f will do, so the smoothest, which does not stand still.
    exact = problem.solve()
    assert exact.value == pytest.approx(np.linalg.eigvalsh(graph.laplacian().toarray())[1], abs=1e-9)
    assert exact.value < found.value and exact.stationarity() > 0.01


def test_claim_2_stationary_labelings_of_llgc_are_a_special_case():
    graph, y, _ = cut_instance(10, seed=8)
    labels = cl.sample_labels(y, per_class=1, random_state=0)
    identity = np.eye(10)
    S = identity - graph.laplacian().toarray()
    for alpha in (0.2, 0.5, 0.9):
        within, into, _ = cl.LLGC(graph, labels, alpha=alpha).solve().learnt.get("propagation")
        np.testing.assert_allclose(within.toarray(), alpha * S)
        np.testing.assert_allclose(into.toarray(), identity)
        for f in np.linalg.eigh(S)[1].T:  # f = λ(I − αS)⁻¹f
            image = np.linalg.solve(identity - alpha * S, f)
            np.testing.assert_allclose(image, (image @ f) * f, atol=1e-10)
            assert cl.stationarity(f, within, into) < 1e-10
    # What LLGC itself returns depends on the labels it was given, and moves when it is propagated again.
    assert cl.LLGC(graph, labels).solve().stationarity() > 0.01


def test_claim_3_without_knowledge_csc_finds_the_stationary_labelings_of_llgc():
    graph, y, _ = cut_instance(11, seed=9)
    problem = cl.CSC(graph, np.eye(11), beta=0.0, scaled=False)
    found = paper(problem)
    assert found.value == pytest.approx(problem.solve().value, abs=1e-9)  # here the two agree
    for alpha in (0.1, 0.5, 0.9):
        llgc = cl.LLGC(graph, cl.sample_labels(y, per_class=1, random_state=0), alpha=alpha)
        assert cl.stationarity(found.values["f"], *llgc.solve().learnt.get("propagation")) < 1e-8
    assert found.stationarity() < 1e-8
    also = cl.CSC(graph, np.diag(graph.degrees), beta=0.0)  # scaled by the degrees it is the identity
    assert paper(also).value == pytest.approx(found.value, abs=1e-9)


def test_stationarity_is_a_sine():
    graph, _, _ = cut_instance(9)
    S, null = np.eye(9) - graph.laplacian().toarray(), graph.free_cuts
    eigenvalues, V = np.linalg.eigh(graph.laplacian().toarray())
    a, b = V[:, 1], V[:, 2]
    assert cl.stationarity(3 * a, S, np.eye(9), null) < 1e-10
    left, right = eigenvalues[1:3], np.ones(2)  # (I − S)(a + b) and a + b in coordinates
    cosine = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
    assert cl.stationarity(a + b, S, np.eye(9), null) == pytest.approx(np.sqrt(1 - cosine**2))
    assert cl.stationarity(a + b, S, np.eye(9)) == pytest.approx(np.sqrt(1 - cosine**2))  # null vectors computed
    assert cl.stationarity(graph.trivial_cut, S, np.eye(9), null) == 1.0  # λ would be zero
    assert cl.stationarity(graph.trivial_cut, S, graph.W.toarray() ** 2, null) == 1.0
    assert cl.stationarity(np.column_stack([a, a + b]), S, np.eye(9), null) > 0.01  # the worse of two
    for bad in (np.zeros(9), np.full(9, np.nan), np.ones(3)):
        with pytest.raises(cl.InvalidInput):
            cl.stationarity(bad, S, np.eye(9))


# ---------------------------------------------------------------------- CSC + GFHF


@pytest.mark.parametrize("k", [2, 3])
def test_algorithm_4_by_its_own_words(k):
    graph, y, _ = cut_instance(14, seed=6, k=k)
    labels = cl.sample_labels(y, per_class=2, random_state=1)
    problem = cl.CSCGFHF(graph, labels, sigma=0.8)
    P = graph.W.toarray() / graph.degrees[:, None]
    known = np.flatnonzero(labels >= 0)
    unknown = np.setdiff1d(np.arange(14), known)
    given_ = np.where(labels[known] == 1, 1.0, -1.0)[:, None] if k == 2 else np.eye(k)[labels[known]]
    propagated_ = np.zeros((14, given_.shape[1]))
    propagated_[known] = given_
    propagated_[unknown] = np.linalg.solve(
        np.eye(len(unknown)) - P[np.ix_(unknown, unknown)], P[np.ix_(unknown, known)] @ given_
    )
    np.testing.assert_allclose(problem.y, propagated_, atol=1e-10)
    Q = np.array([[np.exp(-((a - b) @ (a - b)) / (2 * 0.8**2)) for a in propagated_] for b in propagated_])
    scale = 1 / np.sqrt(Q.sum(axis=0))
    Q = np.outer(scale, scale) * Q
    L = graph.laplacian().toarray()
    rates, vectors = scipy.linalg.eig(L, Q)
    keep = np.isfinite(rates) & (abs(rates) > 1e-9) & (abs(rates) < 1e7) & (abs(np.imag(rates)) < 1e-9)
    vectors = np.real(vectors[:, keep])
    vectors /= np.linalg.norm(vectors, axis=0)
    agreement = np.sort(np.einsum("ij,ij->j", vectors, Q @ vectors))[::-1]
    solution = problem.solve()
    assert solution.value == pytest.approx(agreement[: k - 1].sum(), abs=1e-6)
    assert solution.stationarity() < 1e-6
    assert solution.certificate.violations["stationary"] < 1e-6
    f, rates = solution.values["f"], solution.values["rates"]
    trivial = cl.certify(problem, {"f": np.tile(graph.trivial_cut[:, None], k - 1), "rates": 0 * rates})
    assert trivial.violations["nontrivial"] > 0.5  # λ = 0 is excluded
    if k > 2:
        twice = cl.certify(problem, {"f": np.repeat(f[:, :1], 2, 1), "rates": np.repeat(rates[:1], 2)})
        assert twice.violations["different"] == pytest.approx(1)  # and so is the same cut twice
    if k == 2:
        assert solution.cluster().tolist() == (solution.values["f"][:, 0] > 0).astype(int).tolist()


def test_the_kernel_of_labels_is_positive_and_shows_its_width():
    graph, y, _ = cut_instance(20, seed=2)
    labels = cl.sample_labels(y, per_class=3, random_state=0)
    for sigma in (0.1, 1.0, 10.0):
        problem = cl.CSCGFHF(graph, labels, sigma=sigma)
        assert f"σ = {sigma:g}" in str(problem) and f"σ = {sigma:g}" in str(problem.explain())
        assert problem.Q.min() >= 0 and np.linalg.eigvalsh(problem.Q)[0] > -1e-12
    np.testing.assert_allclose(cl.label_kernel([-1.0, 1.0], 2.0), [[1, np.exp(-0.5)], [np.exp(-0.5), 1]])
    with pytest.raises(cl.InvalidInput, match="finite numbers"):
        cl.label_kernel([np.nan, 1])
    with pytest.raises(cl.InvalidInput, match="sigma must be a positive number"):
        cl.CSCGFHF(graph, labels, sigma=0)
    with pytest.raises(cl.InvalidInput, match="connected graph"):
        cl.CSCGFHF(cl.Graph.from_affinity(np.kron(np.eye(2), np.ones((2, 2)))), [0, -1, 1, -1])


# ---------------------------------------------------------------------- all stationary labelings


def test_stationary_labelings_of_llgc_are_the_eigenvectors_of_the_affinity():
    # Claim 2: (I − αS)f = λf for every α.
    graph = random_graph(9, np.random.default_rng(3))
    S = graph.S.toarray()
    for alpha in (0.3, 0.9):
        rates, F = cl.stationary_labelings(alpha * graph.S, np.eye(9))
        np.testing.assert_allclose(np.sort(rates), np.sort(1 - alpha * np.linalg.eigvalsh(S)), atol=1e-9)
        np.testing.assert_allclose(S @ F, F * ((1 - rates) / alpha), atol=1e-8)
        np.testing.assert_allclose(np.linalg.norm(F, axis=0), 1)


def test_every_stationary_labeling_comes_back_from_propagation():
    # (I − P_GG)⁻¹ P_GH f = f/λ for matrices that are not symmetric, as transition matrices are.
    rng = np.random.default_rng(0)
    P, Q = rng.random((7, 7)), rng.random((7, 7))
    P, Q = 0.8 * P / P.sum(axis=1, keepdims=True), Q / Q.sum(axis=1, keepdims=True)
    rates, F = cl.stationary_labelings(P, Q)
    back = np.linalg.solve(np.eye(7) - P, Q @ F)
    np.testing.assert_allclose(F, rates * back, atol=1e-9)
    real = scipy.linalg.eigvals(np.linalg.solve(np.eye(7) - P, Q))
    assert len(rates) == (abs(real.imag) < 1e-9).sum() >= 1
    assert (np.diff(abs(rates)) >= 0).all()


def test_the_null_vector_is_no_stationary_labeling_and_others_are():
    graph = random_graph(8, np.random.default_rng(5))
    labels = [0, -1, -1, 1, -1, -1, -1, -1]
    problem = cl.CSCGFHF(graph, labels)
    rates, F = cl.stationary_labelings(graph.S, problem.Q)
    assert abs(graph.trivial_cut @ (problem.Q @ F)).max() < 1e-7  # Q̄f is orthogonal to D^{1/2}1
    best = F[:, np.argmax(np.einsum("ij,ij->j", F, problem.Q @ F))]
    found = problem.solve().values["f"][:, 0]
    assert abs(best @ found) == pytest.approx(1, abs=1e-6)  # algorithm 4 takes the one that satisfies Q̄ most
    assert cl.stationarity(best, graph.S, problem.Q) < 1e-6
    assert (rates > 0).all()
    with pytest.raises(cl.InvalidInput, match="into"):
        cl.stationary_labelings(np.eye(3), np.eye(4))
