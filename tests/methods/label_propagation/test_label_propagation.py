"""Labels that spread over a graph: GFHF and LLGC against their definitions, scikit-learn, and one another."""

from __future__ import annotations

import warnings

import cvxpy as cp
import mpmath as mp
import numpy as np
import pytest
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

import cvxlink as cl
from cvxlink.methods.shared import spreading
from helpers.graphs import path_graph, random_points


@pytest.fixture(scope="module")
def instance() -> tuple[cl.Graph, np.ndarray, np.ndarray]:
    X, y = random_points(60, 2, 5), np.arange(60) % 3
    X[y == 1] += 2
    X[y == 2] -= 2
    return cl.Graph.rbf(X, 1.0), y, cl.sample_labels(y, per_class=3, random_state=0)


# ---------------------------------------------------------------------- closed forms


def test_a_path_between_two_labels_is_linear():
    labels = [0, -1, -1, -1, 1]
    solution = cl.GFHF(path_graph(5), labels).solve()
    np.testing.assert_allclose(solution.scores[:, 1], [0, 0.25, 0.5, 0.75, 1], atol=1e-12)
    np.testing.assert_allclose(solution.confidence, [1, 0.75, 0.5, 0.75, 1], atol=1e-12)
    assert solution.value == pytest.approx(2 * 4 * 0.25**2)
    assert solution.certificate.gap < 1e-10 and solution.certificate.distance < 1e-10


def test_gfhf_is_equation_2(instance):
    graph, _, labels = instance
    problem = cl.GFHF(graph, labels)
    P = graph.W.toarray() / graph.degrees[:, None]
    known, unknown = problem.known, np.setdiff1d(np.arange(graph.n), problem.known)
    expected = np.linalg.solve(np.eye(len(unknown)) - P[np.ix_(unknown, unknown)], P[np.ix_(unknown, known)])
    scores = problem.solve().scores
    np.testing.assert_allclose(scores[unknown], expected @ problem.Y[known], atol=1e-10)
    np.testing.assert_allclose(scores.sum(axis=1), 1, atol=1e-10)  # constants are harmonic
    assert scores.min() >= -1e-12  # the maximum principle


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.99])
def test_llgc_is_equation_5(instance, alpha):
    graph, _, labels = instance
    problem = cl.LLGC(graph, labels, alpha=alpha)
    S = graph.W.toarray() / np.sqrt(np.outer(graph.degrees, graph.degrees))
    expected = (1 - alpha) * np.linalg.solve(np.eye(graph.n) - alpha * S, problem.Y)
    np.testing.assert_allclose(problem.solve().scores, expected, atol=1e-10)


# ---------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9])
def test_llgc_is_label_spreading(instance, alpha):
    graph, _, labels = instance
    theirs = LabelSpreading(kernel=lambda a, b: graph.W.toarray(), alpha=alpha, max_iter=10_000, tol=1e-13)
    theirs.fit(graph.points, labels)
    ours = cl.LLGC(graph, labels, alpha=alpha).solve()
    shares = ours.scores / ours.scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, theirs.label_distributions_, atol=1e-8)
    np.testing.assert_array_equal(ours.labels, theirs.transduction_)
    np.testing.assert_allclose(ours.confidence, theirs.label_distributions_.max(axis=1), atol=1e-8)


def test_gfhf_is_label_propagation(instance):
    graph, _, labels = instance
    theirs = LabelPropagation(kernel=lambda a, b: graph.W.toarray(), max_iter=100_000, tol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(graph.points, labels)
    ours = cl.GFHF(graph, labels).solve()
    np.testing.assert_allclose(ours.scores, theirs.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(ours.labels, theirs.transduction_)


# ---------------------------------------------------------------------- certificates


@pytest.mark.parametrize("problem", [cl.GFHF, cl.LLGC])
def test_bounds_hold_for_any_point(instance, problem):
    graph, _, labels = instance
    problem = problem(graph, labels)
    best = problem.solve()
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 1.0):
        f = best.scores + size * rng.standard_normal(best.scores.shape)
        if isinstance(problem, cl.GFHF):
            f[problem.known] = problem.Y[problem.known]
        certificate = cl.certify(problem, {"f": f})
        assert certificate.lower_bound <= best.value <= certificate.value
        assert np.linalg.norm(f - best.scores) <= certificate.distance * (1 + 1e-9)
        assert not certificate.holds(1e-4 * size)


def test_a_label_that_was_changed_is_a_violation(instance):
    graph, _, labels = instance
    problem = cl.GFHF(graph, labels)
    f = problem.solve().scores.copy()
    f[problem.known[0]] += 0.01
    certificate = cl.certify(problem, {"f": f})
    assert certificate.violations["labels"] == pytest.approx(0.01)
    assert not certificate.holds(1e-3)


def test_the_norm_of_the_inverse_is_bounded(instance):
    graph, _, labels = instance
    for normalized in (True, False):
        extension = cl.HarmonicExtension(graph.laplacian(normalized), cl.GFHF(graph, labels).known)
        system = extension.L.toarray()[np.ix_(extension.unknown, extension.unknown)]
        exact, bound = 1 / np.linalg.eigvalsh(system)[0], extension.inverse_norm()
        assert exact <= bound <= 10 * exact
    assert cl.HarmonicExtension(graph.laplacian(), np.arange(graph.n)).inverse_norm() == 0


def test_multipliers_are_derivatives(instance):
    graph, _, labels = instance
    problem = cl.GFHF(graph, labels)
    duals = problem.solve().duals["labels"]
    structure, step = problem.program.data, 1e-4
    moved = structure.given.copy()
    moved[2, 1] += step
    up = structure.roughness(structure.extension(moved))
    moved[2, 1] -= 2 * step
    down = structure.roughness(structure.extension(moved))
    assert duals[2, 1] == pytest.approx((up - down) / (2 * step), rel=1e-6)
    solver = problem.solve(solver="CLARABEL", accuracy=1e-6).duals["labels"]
    np.testing.assert_allclose(solver, duals, atol=1e-4)


# ---------------------------------------------------------------------- what users hand over


def test_names_unknown_and_confidence():
    names = np.array(["cat", None, None, None, "dog"], dtype=object)
    solution = cl.GFHF(path_graph(5), names).solve()
    assert solution.labels.tolist() == ["cat", "cat", solution.labels[2], "dog", "dog"]
    assert solution.cluster().tolist() == [0, 0, int(solution.labels[2] == "dog"), 1, 1]
    unsure = cl.GFHF(path_graph(5), [0, -1, -1, -1, 1], confidence=[1, 1, 1, 1, 0.5]).solve()
    np.testing.assert_allclose(unsure.scores[:, 1], np.linspace(0, 0.75, 5), atol=1e-12)


def test_full_confidence_in_one_label_of_many_moves_the_border():
    sure = cl.LLGC(path_graph(6), [0, -1, -1, -1, -1, 1]).solve()
    faint = cl.LLGC(path_graph(6), [0, -1, -1, -1, -1, 1], confidence=[1, 1, 1, 1, 1, 0.1]).solve()
    assert (sure.labels == 0).sum() == 3 and (faint.labels == 0).sum() > 3


def test_whole_numbers_stay_numbers_and_what_is_missing_is_unknown():
    import pandas as pd

    graph = path_graph(4)
    for given in (
        [3, None, None, 5],
        np.array([3, None, None, 5], dtype=object),
        np.ma.array([3, 3, 3, 5], mask=[0, 1, 1, 0]),
        pd.Series([3, pd.NA, pd.NA, 5], dtype="Int64"),
        np.array([3.0, -1.0, -1.0, 5.0]),
    ):
        labels = cl.GFHF(graph, given).solve().labels
        assert labels.dtype.kind == "i" and labels.tolist() == [3, 3, 5, 5]
    named = cl.GFHF(graph, pd.Series(["a", None, None, "b"])).solve().labels
    assert named.tolist() == ["a", "a", "b", "b"]
    for bad in ([[0], [1, 2], 0, 0], graph.W, np.array(["2020-01-01"] * 4, dtype="datetime64[D]")):
        with pytest.raises(cl.InvalidInput, match="list of numbers or names"):
            cl.GFHF(graph, bad)


def test_a_long_thin_graph_is_certified():
    t = np.sort(np.random.default_rng(0).random(3200)) * 2 * np.pi
    graph = cl.Graph.knn(np.column_stack([np.cos(t), np.sin(t)]), 6)
    solution = cl.GFHF(graph, cl.sample_labels((t > np.pi).astype(int), per_class=2, random_state=0)).solve()
    assert solution.status is cl.Status.OPTIMAL


def test_the_embedding_says_which_label_not_how_near():
    graph = path_graph(9)
    solution = cl.LLGC(graph, [0, -1, -1, -1, -1, -1, -1, -1, 1]).solve()
    np.testing.assert_allclose(solution.embedding.sum(axis=1), 1)
    halves = solution.cluster(2, method="kmeans", random_state=0)
    assert len(set(halves[:4])) == len(set(halves[5:])) == 1 and halves[0] != halves[8]


def test_labels_are_copied():
    given = np.array([0, -1, 1])
    problem = cl.GFHF(path_graph(3), given)
    given[:] = -1
    assert problem.labels.tolist() == [0, -1, 1]


def test_points_that_no_label_reaches():
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = W[2, 3] = W[3, 2] = 1
    graph = cl.Graph.from_affinity(W)
    with pytest.raises(cl.InvalidInput, match="has no known or linked point"):
        cl.GFHF(graph, [0, 1, -1, -1])
    solution = cl.LLGC(graph, [0, 1, -1, -1]).solve()
    np.testing.assert_allclose(solution.confidence[2:], 0.5)
    with pytest.warns(cl.LinkWarning, match="no label reaches 2 points"):
        solution.cluster()
    with pytest.warns(cl.LinkWarning, match="no label reaches 2 points"):
        _ = solution.labels


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda g: cl.GFHF(g, [0, 1]), "2 labels for 3 points"),
        (lambda g: cl.GFHF(g, [-1, -1, -1]), "the labels name no class"),
        (lambda g: cl.LLGC(g, [4, -1, 4]), "the labels name 4, but two classes are needed"),
        (lambda g: cl.LLGC(g, [0, -1, 1], alpha=1), "alpha must be a number between 0 and 1"),
        (lambda g: cl.LLGC(g, [0, -1, 1], alpha="x"), "alpha must be a number between 0 and 1"),
        (lambda g: cl.GFHF(g, [0, -1, 1], confidence=2), "confidence must be a number between 0 and 1"),
        (lambda g: cl.GFHF(g, [0, -1, 1], confidence=[1, 2]), "confidence must be"),
        (lambda g: cl.GFHF(np.eye(3), [0, -1, 1]), "takes a Graph and labels"),
        (lambda g: cl.GFHF(g, cl.Links(3, must=[(0, 1)])), "takes labels, not links"),
        (lambda g: cl.GFHF(g, [0, np.nan, 1]), "mark unknown labels with -1"),
        (lambda g: cl.GFHF(g, [0, -1, 1]).solve().cluster(3), "this GFHF is for 2 clusters, not 3"),
        (lambda g: cl.GFHF(g, [0, -1, 1]).solve().propagated, "does not propagate links"),
        (lambda g: cl.GFHF(g, [0, -1, 1]).solve().stationarity(), "has no labeling that could be stationary"),
        (lambda g: cl.NCuts(g).solve().scores, "has no scores"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, says):
    with pytest.raises(cl.CvxlinkError, match=says):
        call(path_graph(3))


def test_labels_that_are_drawn():
    y = np.array([0] * 5 + [1] * 3)
    for seed in range(20):
        few = cl.sample_labels(y, n_labels=2, random_state=seed)
        assert sorted(few[few >= 0]) == [0, 1]  # one of each class
        assert ((few == y) | (few == -1)).all()
        each = cl.sample_labels(y, per_class=3, random_state=seed)
        assert (each >= 0).sum() == 6 and (each[5:] == 1).all()
    assert cl.sample_labels(y, n_labels=8, random_state=0).tolist() == y.tolist()
    with pytest.raises(cl.InvalidInput, match="per_class must be between 1 and 3"):
        cl.sample_labels(y, per_class=4)
    with pytest.raises(cl.InvalidInput, match="either n_labels or per_class"):
        cl.sample_labels(y)
    drawn = np.mean([cl.sample_labels(y, n_labels=4, random_state=s)[:5] >= 0 for s in range(400)], axis=0)
    np.testing.assert_allclose(drawn, drawn.mean(), atol=0.12)  # no point is favoured within a class
    assert cl.sample_labels(np.array([1, 2, 3], dtype=np.uint8), n_labels=1, random_state=0).min() == -1


def test_a_subclass_with_another_objective_is_solved_as_declared(instance):
    class Flat(cl.GFHF):
        def objective(self, f):
            return cp.Minimize(cp.sum_squares(f))

    graph, _, labels = instance
    solution = Flat(graph, labels).solve()
    assert abs(np.delete(solution.scores, Flat(graph, labels).known, axis=0)).max() < 1e-4


@pytest.mark.parametrize("large", [1e8, 1e14])
def test_weights_far_apart_are_extended_exactly_and_proven(large):
    # 0 and 3 are labelled; 1 and 2 hang together tightly, and to the labels by 1e-10 and 3e-10: both are 3/4 like 3.
    W = np.diag([1e-10, large, 3e-10], 1)
    problem = cl.GFHF(cl.Graph.from_affinity(W + W.T), [0, -1, -1, 1])
    solution = problem.solve(strict=False)
    np.testing.assert_allclose(solution.values["f"], [[1, 0], [0.25, 0.75], [0.25, 0.75], [0, 1]], atol=1e-12)
    certificate = solution.certificate
    assert certificate.distance < 1e-12
    optimum = 2 / (1 / 1e-10 + 1 / large + 1 / 3e-10)  # springs in a row, for each of two columns
    assert certificate.lower_bound <= optimum * (1 + 1e-15) and certificate.lower_bound == pytest.approx(
        optimum, rel=1e-12
    )
    wrong = solution.values["f"].copy()
    wrong[1:3] = [0.4, 0.6]
    # Its value is nearly optimal, as what it breaks weighs next to nothing; the distance shows that it is wrong.
    certificate = cl.certify(problem, {"f": wrong})
    assert certificate.holds(1e-2) and certificate.distance > 0.2


# ---------------------------------------------------------------------- points far from all others


def in_high_precision(graph: cl.Graph, known: np.ndarray, Y: np.ndarray, normalized: bool) -> np.ndarray:
    """Algorithm 1, (I − P_uu)⁻¹ P_ul y_l, from the weights in 400 digits; with L̄ for D^{-1/2}f."""
    W = graph.W.toarray()
    unknown = np.setdiff1d(np.arange(len(W)), known)
    with mp.workdps(400):
        degrees = [mp.fsum(mp.mpf(float(w)) for w in row) for row in W]
        scale = [mp.sqrt(d) if normalized else mp.mpf(1) for d in degrees]
        system = mp.matrix(len(unknown), len(unknown))
        right = mp.matrix(len(unknown), Y.shape[1])
        for a, i in enumerate(unknown):
            for b, j in enumerate(unknown):
                system[a, b] = (degrees[i] if a == b else 0) - mp.mpf(float(W[i, j]))
            for c in range(Y.shape[1]):
                right[a, c] = mp.fsum(mp.mpf(float(W[i, j])) * mp.mpf(float(Y[j, c])) / scale[j] for j in known)
        f = Y.astype(float).copy()
        for c in range(Y.shape[1]):
            g = mp.lu_solve(system, right[:, c])
            f[unknown, c] = [float(scale[i] * g[a]) for a, i in enumerate(unknown)]
    return f


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("apart", [[12.0], [26.0], [38.0], [9.0, 9.5], [12.0, 12.5], [30.0, 30.5]])
def test_points_far_from_all_others_are_labelled_exactly_and_proven(apart, normalized):
    X = np.vstack([random_points(9, 2, 3), random_points(9, 2, 4) + 3, [[0, -far] for far in apart]])
    graph = cl.Graph.rbf(X, 1.0)
    assert graph.degrees[-1] < 1e-15 or len(apart) > 1  # or only near the other one
    labels = np.full(len(X), -1)
    labels[[0, 1, 9, 10]] = [0, 0, 1, 1]
    problem = cl.GFHF(graph, labels, normalized=normalized)
    solution = problem.solve()
    exact = in_high_precision(graph, problem.known, problem.Y, normalized)
    np.testing.assert_allclose(solution.scores, exact, rtol=1e-11)
    assert solution.status is cl.Status.OPTIMAL
    distance = solution.certificate.distance
    assert np.linalg.norm(solution.scores - exact) <= distance <= 1e-8 * np.linalg.norm(exact)
    # Another value at the outlier costs next to nothing, and is still told to be far from the solution.
    wrong = solution.values["f"].copy()
    wrong[-1] += [0.3, -0.3]
    certificate = cl.certify(problem, {"f": wrong})
    assert certificate.distance >= 0.42 and certificate.lower_bound <= solution.value * (1 + 1e-12)


def test_label_propagation_with_the_normalised_laplacian_is_equation_2(instance):
    graph, _, labels = instance
    problem = cl.GFHF(graph, labels, normalized=True)
    L, known = graph.laplacian().toarray(), problem.known
    unknown = np.setdiff1d(np.arange(graph.n), known)
    expected = -np.linalg.solve(L[np.ix_(unknown, unknown)], L[np.ix_(unknown, known)] @ problem.Y[known])
    solution = problem.solve()
    np.testing.assert_allclose(solution.scores[unknown], expected, atol=1e-10)
    assert solution.value < cl.certify(problem, {"f": cl.GFHF(graph, labels).solve().scores}).value - 1e-3
    assert r"\bar L" in problem._repr_latex_() and r"\bar L" not in cl.GFHF(graph, labels)._repr_latex_()


def test_nothing_is_left_to_propagate_where_all_labels_are_known():
    solution = cl.GFHF(path_graph(4), [0, 0, 1, 1]).solve()
    assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(2)
    assert solution.certificate.distance == 0


def test_walks_are_counted():
    # From the k-th of m points on a path behind a known one, a walk needs k(2m − k) steps to get there.
    m = 6
    x, below = cl.HarmonicExtension(path_graph(m + 1).laplacian(normalized=False), [0]).walk
    k = np.arange(1, m + 1)
    np.testing.assert_allclose(x, k * (2 * m - k), rtol=1e-12)
    np.testing.assert_allclose(below, [2, 2, 2, 2, 2, 1], rtol=1e-12)
    assert (below <= [2, 2, 2, 2, 2, 1]).all()


# ---------------------------------------------------------------------- the iterations of the paper


@pytest.mark.parametrize("normalized", [False, True])
def test_equation_1_converges_to_the_harmonic_labels(instance, normalized):
    graph, _, labels = instance
    problem = cl.GFHF(graph, labels, normalized=normalized)
    exact, found = problem.solve().scores, problem.solve(route="spreading", accuracy=1e-6)
    assert found.status is cl.Status.OPTIMAL and len(found.history) == found.iterations > 3
    np.testing.assert_allclose(found.scores, exact, atol=1e-6)
    S = graph.S.toarray()
    P = S if normalized else graph.W.toarray() / graph.degrees[:, None]
    f, unknown = np.where(labels[:, None] >= 0, problem.Y, 0.0), labels == -1
    for bound in found.history:
        f[unknown] = (P @ f)[unknown]  # labels are kept
        assert np.linalg.norm(f - exact) <= bound * (1 + 1e-9) + 1e-12
    np.testing.assert_allclose(found.scores, f, atol=1e-12)
    multipliers = problem.solve().duals["labels"]
    np.testing.assert_allclose(found.duals["labels"], multipliers, atol=1e-4 * abs(multipliers).max())


def test_equation_4_converges_to_equation_5(instance):
    graph, _, labels = instance
    problem = cl.LLGC(graph, labels, alpha=0.8)
    exact, found = problem.solve().scores, problem.solve(route="spreading")
    assert found.status is cl.Status.OPTIMAL and len(found.history) == found.iterations > 10
    f, S = problem.Y, graph.S
    for bound in found.history:
        f = 0.8 * (S @ f) + 0.2 * problem.Y
        assert np.linalg.norm(f - exact) <= bound * (1 + 1e-9) + 1e-12
    np.testing.assert_allclose(found.scores, f, atol=1e-12)
    assert max(a / b for a, b in zip(found.history[1:], found.history[:-1], strict=True)) <= 0.8 + 1e-9


def test_the_iterations_are_only_taken_on_request_and_can_be_stopped(instance, monkeypatch):
    graph, _, labels = instance
    for problem in (cl.GFHF(graph, labels), cl.LLGC(graph, labels)):
        assert "spreading" in problem.routes and problem.explain().route.name != "spreading"
    monkeypatch.setattr(spreading, "MOST_ITERATIONS", 50)
    problem = cl.GFHF(path_graph(100), [0, *[-1] * 98, 1])
    stopped = problem.solve(route="spreading", strict=False)
    off = np.linalg.norm(stopped.scores - problem.solve().scores)
    assert stopped.status is not cl.Status.OPTIMAL and len(stopped.history) == 50
    assert 0.1 < off <= stopped.certificate.distance and off <= stopped.history[-1] * (1 + 1e-9)
