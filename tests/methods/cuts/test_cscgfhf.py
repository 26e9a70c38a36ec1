"""Stationary labelings: the bound from residuals, against all generalised eigenvectors by another way."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.methods.cuts.proof import certify_stationary
from cvxlink.methods.cuts.routes import Stationary
from cvxlink.methods.cuts.stationary_bound import largest_agreement
from cvxlink.methods.cuts.stationary_cuts import StationaryCuts
from cvxlink.solvers.route import Settings
from helpers.graphs import path_graph, random_graph, random_points


def labelings(problem: cl.CSCGFHF) -> tuple[np.ndarray, np.ndarray]:
    """Return rates and unit labelings from the pencil Lf = λQf of the whole space, by the QZ algorithm."""
    rates, F = scipy.linalg.eig(problem.graph.laplacian().toarray(), problem.Q)
    kept = np.isfinite(rates) & (abs(rates) > 1e-8) & (abs(rates) < 1e8) & (abs(rates.imag) < 1e-9)
    F = F[:, kept].real
    return rates[kept].real, F / np.linalg.norm(F, axis=0)


def some_labels(rng, n: int, k: int) -> np.ndarray:
    labels = np.full(n, -1)
    labels[rng.permutation(n)[: 2 * k]] = np.arange(2 * k) % k
    return labels


@pytest.mark.parametrize("seed", range(6))
def test_nothing_stationary_agrees_more_than_the_bound(seed):
    rng = np.random.default_rng(seed)
    k = 2 + seed % 2
    problem = cl.CSCGFHF(random_graph(9, rng), some_labels(rng, 9, k), sigma=2.0)
    solution = problem.solve()
    certificate = solution.certificate
    F = labelings(problem)[1]
    agreement = np.sort(np.einsum("ij,ij->j", F, problem.Q @ F))[::-1]
    assert solution.value == pytest.approx(agreement[: k - 1].sum(), abs=1e-7)
    assert solution.value <= certificate.upper_bound <= solution.value + 1e-6
    assert certificate.holds(1e-6) and "residuals" in certificate.basis


def test_a_labeling_that_is_stationary_but_not_the_best_never_holds():
    rng = np.random.default_rng(3)
    problem = cl.CSCGFHF(random_graph(9, rng), some_labels(rng, 9, 2), sigma=2.0)
    best = problem.solve().value
    for rate, f in zip(*(part.T for part in labelings(problem)), strict=True):
        certificate = cl.certify(problem, {"f": f[:, None], "rates": np.array([rate])}, {})
        assert certificate.holds(1e-4) == (certificate.value > best - 1e-6)


def test_a_labeling_that_agrees_more_but_is_not_stationary_never_holds():
    rng = np.random.default_rng(4)
    problem = cl.CSCGFHF(random_graph(9, rng), some_labels(rng, 9, 2))
    solution = problem.solve()
    f = np.linalg.eigh(problem.Q)[1][:, -2]
    rate = float(f @ problem.graph.laplacian() @ f) / float(f @ problem.Q @ f)
    assert not cl.certify(problem, {"f": f[:, None], "rates": np.array([rate])}, {}).holds(1e-2)
    near = solution.values["f"][:, 0] + 0.02 * f
    near = near[:, None] / np.linalg.norm(near)
    assert not cl.certify(problem, {"f": near, "rates": solution.values["rates"]}, {}).holds(1e-4)
    assert not cl.certify(problem, {"f": 0 * near, "rates": solution.values["rates"]}, {}).holds(0.1)


@pytest.mark.parametrize("seed", range(4))
def test_of_a_multiple_eigenvalue_the_combinations_that_agree_most_are_taken(seed):
    # In a common basis L has the eigenvalues l and Q has q = θl, with one θ for three of them: all their combinations
    # are stationary, and the best agree as much as the largest q.
    U = np.linalg.qr(np.random.default_rng(seed).standard_normal((8, 8)))[0]
    theta, costs = np.array([0.1, 0.5, 0.5, 0.5, 0.2, 0.3, 0.05]), np.array([1.0, 0.4, 0.9, 1.4, 0.7, 0.3, 1.9])
    L = U[:, 1:] @ np.diag(costs) @ U[:, 1:].T
    Q = U[:, 1:] @ np.diag(theta * costs) @ U[:, 1:].T + np.outer(U[:, 0], U[:, 0])
    for count in (1, 2):
        cuts = StationaryCuts(sp.csr_array(L), Q, U[:, 0], count)
        best = np.sort(theta * costs)[::-1][:count].sum()
        point = Stationary().run(cuts, Settings()).values
        assert cuts.value(point) == pytest.approx(best, abs=1e-9)
        certificate = certify_stationary(cuts, point, {})
        assert certificate.upper_bound == pytest.approx(best, abs=1e-9) and certificate.holds(1e-8)
        assert certificate.upper_bound >= best - 1e-14


def test_flowers_whose_eigenvalues_span_many_orders_of_magnitude():
    X, y = cl.datasets.load("iris")
    labels = np.where(np.arange(150) % 15 == 0, y, -1)
    solution = cl.CSCGFHF(cl.Graph.knn(X), labels).solve()
    assert solution.certificate.holds(1e-5)


def test_two_labelled_points():
    # L̄ = [[1, −1], [−1, 1]], Q = [[1, q], [q, 1]] scaled: the only stationary labeling is (1, −1)/√2.
    problem = cl.CSCGFHF(path_graph(2), [0, 1])
    q = problem.Q[0, 1] / problem.Q[0, 0]
    solution = problem.solve()
    np.testing.assert_allclose(abs(solution.values["f"]).ravel(), np.sqrt(0.5), rtol=1e-12)
    assert solution.value == pytest.approx((1 - q) / (1 + q), rel=1e-12)
    assert solution.certificate.upper_bound == pytest.approx(solution.value, abs=1e-12)


def test_components_that_hardly_hang_together_have_no_bound_instead_of_a_wrong_one():
    W = np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4))
    W[0, 7] = W[7, 0] = 1e-18
    problem = cl.CSCGFHF(cl.Graph.from_affinity(W), [0, -1, -1, -1, -1, -1, -1, 1])
    bound, why = largest_agreement(problem.program.data)
    assert np.isinf(bound) and "double precision" in why
    solution = problem.solve(strict=False)
    assert solution.certificate is None or not solution.certificate.has_bound


def test_a_point_far_from_all_others_is_cut_and_proven():
    X = np.vstack([random_points(9, 2, 3), random_points(9, 2, 4) + 2, [[0, -36.0]]])
    graph, labels = cl.Graph.rbf(X, 1.0), np.full(19, -1)
    labels[[0, 1, 9, 10]] = [0, 0, 1, 1]
    assert 0 < graph.degrees[-1] < 1e-200
    solution = cl.CSCGFHF(graph, labels).solve()
    assert solution.status is cl.Status.OPTIMAL
    # Without it the others are cut alike: its weights reach nobody.
    without = cl.CSCGFHF(cl.Graph.rbf(X[:-1], 1.0), labels[:-1]).solve()
    assert cl.metrics.nmi(solution.cluster()[:-1], without.cluster()) == pytest.approx(1)


def test_a_graph_that_falls_apart_in_double_precision_is_told():
    X = np.vstack([random_points(9, 2, 3), random_points(9, 2, 4) + 25])
    labels = np.where(np.arange(18) % 9 < 2, np.arange(18) // 9, -1)
    with pytest.raises(cl.SolveFailed, match="up to rounding the graph falls into components.*larger sigma"):
        cl.CSCGFHF(cl.Graph.rbf(X, 1.0), labels).solve()
