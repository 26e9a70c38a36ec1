from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.numerics import harmonic
from helpers.graphs import path_graph, random_points

METHODS = ("factorisation", "conjugate gradients")


@pytest.fixture(scope="module")
def graph():
    return cl.Graph.knn(random_points(80), n_neighbors=5)


@pytest.mark.parametrize("method", METHODS)
def test_a_path_between_known_ends_is_a_straight_line(method):
    extend = cl.HarmonicExtension(path_graph(6).laplacian(normalized=False), [5, 0], method)
    np.testing.assert_allclose(extend([10.0, 0.0]), [0, 2, 4, 6, 8, 10], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("normalized", [True, False])
def test_it_solves_the_smoothness_program(graph, method, normalized):
    # min fᵀLf subject to f = y on the known points, by CVXPY.
    L, known = graph.laplacian(normalized), np.array([3, 40, 7])
    values = np.array([[1.0, -2], [0, 1], [5, 0]])
    f = cp.Variable((80, 2))
    root = np.linalg.cholesky(L.toarray() + 1e-13 * np.eye(80)).T
    cp.Problem(cp.Minimize(cp.sum_squares(root @ f)), [f[known] == values]).solve(solver="CLARABEL")
    extended = cl.HarmonicExtension(L, known, method)(values)
    np.testing.assert_allclose(extended, f.value, atol=1e-5)
    np.testing.assert_array_equal(extended[known], values)
    # First-order optimality, to rounding: Lf vanishes off the known points.
    assert abs(np.delete(L @ extended, known, axis=0)).max() < 1e-9


def test_each_value_is_the_weighted_mean_of_its_neighbours(graph):
    f = cl.HarmonicExtension(graph.laplacian(normalized=False), [0, 1])([0.0, 1.0])
    means = (graph.W @ f) / graph.degrees
    np.testing.assert_allclose(f[2:], means[2:], atol=1e-12)
    assert f.min() == 0 and f.max() == 1  # the maximum principle


def test_the_schur_complement_is_what_the_extension_costs(graph):
    L, known = graph.laplacian(), np.arange(10)
    extension = cl.HarmonicExtension(L, known)
    dense = L.toarray()
    expected = dense[:10, :10] - dense[:10, 10:] @ np.linalg.solve(dense[10:, 10:], dense[10:, :10])
    np.testing.assert_allclose(extension.schur_complement, expected, atol=1e-12)
    f = np.random.default_rng(0).standard_normal(10)
    assert f @ extension.schur_complement @ f == pytest.approx(extension(f) @ (L @ extension(f)))


def test_large_systems_choose_conjugate_gradients_only_where_they_converge_fast(monkeypatch):
    monkeypatch.setattr(harmonic, "MOST_FACTORISED", 100)
    spread = cl.Graph.knn(random_points(400, dimension=8), n_neighbors=8)
    line = path_graph(2000)
    few = cl.HarmonicExtension(spread.laplacian(), np.arange(40))
    many = cl.HarmonicExtension(line.laplacian(), [0])
    assert few.method == "conjugate gradients" and many.method == "factorisation"
    monkeypatch.undo()
    assert cl.HarmonicExtension(spread.laplacian(), np.arange(40)).method == "factorisation"


def test_both_methods_agree_on_many_columns(graph):
    values = np.random.default_rng(1).standard_normal((12, 70))
    known = np.arange(0, 36, 3)
    first, second = (cl.HarmonicExtension(graph.laplacian(), known, method)(values) for method in METHODS)
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_everything_known_is_the_identity(graph):
    extension = cl.HarmonicExtension(graph.laplacian(), np.arange(80))
    np.testing.assert_array_equal(extension.matrix, np.eye(80))


def test_a_component_without_a_known_point_is_named():
    W = sp.block_diag([path_graph(3).W, path_graph(4).W, path_graph(2).W])
    L = cl.Graph.from_affinity(W).laplacian()
    with pytest.raises(cl.InvalidInput, match=r"the 4 points 3, 4, 5, 6 has no known.*2 components.*connect=True"):
        cl.HarmonicExtension(L, [0])
    with pytest.raises(cl.InvalidInput, match=r"the 2 points 7, 8 has no known or linked point; link one"):
        cl.HarmonicExtension(L, [0, 5])


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ([], "at least one"),
        ([0, 0], "twice"),
        ([80], "between 0 and 79"),
        ([0.5], "between"),
        ([[0]], "between"),
        (np.arange(80) < 3, "flatnonzero"),
    ],
)
def test_senseless_known_points_are_refused(graph, known, says):
    with pytest.raises(cl.InvalidInput, match=says):
        cl.HarmonicExtension(graph.laplacian(), known)


def test_conjugate_gradients_need_no_more_iterations_than_unknowns(graph, monkeypatch):
    monkeypatch.setattr(harmonic, "MOST_ITERATIONS", 80)
    known = np.arange(20)
    extended = cl.HarmonicExtension(graph.laplacian(), known, "conjugate gradients")(np.eye(20))
    assert abs(np.delete(graph.laplacian() @ extended, known, axis=0)).max() < 1e-9
    monkeypatch.setattr(harmonic, "MOST_ITERATIONS", 3)
    with pytest.raises(cl.InvalidInput, match="did not converge in 3 iterations.*try method='factorisation'"):
        cl.HarmonicExtension(graph.laplacian(), known, "conjugate gradients")(np.eye(20))


@pytest.mark.parametrize(
    ("L", "says"),
    [
        (None, "square"),
        ("abc", "numbers only"),
        (np.ones(3), "square"),
        (np.array([[1.0, 2], [0, 1]]), "not symmetric"),
        (np.array([[1j, 0], [0, 1]]), "complex"),
        (np.array([[np.nan, 0], [0, 1]]), "NaN"),
    ],
)
def test_a_senseless_matrix_is_refused(L, says):
    with pytest.raises(cl.InvalidInput, match=says):
        cl.HarmonicExtension(L, [0])


def test_other_senseless_arguments_are_refused(graph):
    with pytest.raises(cl.InvalidInput, match="values hold NaN"):
        cl.HarmonicExtension(graph.laplacian(), [0])([np.nan])
    with pytest.raises(cl.InvalidInput, match="method"):
        cl.HarmonicExtension(graph.laplacian(), [0], "guess")
    with pytest.raises(cl.InvalidInput, match="square"):
        cl.HarmonicExtension(np.ones((2, 3)), [0])
    with pytest.raises(cl.InvalidInput, match="one row for each of the 2 known"):
        cl.HarmonicExtension(graph.laplacian(), [0, 1])([1.0, 2.0, 3.0])
    for method in METHODS:
        with pytest.raises(cl.InvalidInput, match="positive"):
            cl.HarmonicExtension(-graph.laplacian(), [0], method)(np.ones(1))


def test_weights_too_small_for_a_factorisation_are_no_obstacle_or_an_error():
    W = np.array([[0, 1e-200, 0], [1e-200, 0, 1], [0, 1, 0]])
    graph = cl.Graph.from_affinity(W)
    extend = cl.HarmonicExtension(graph.laplacian(normalized=False), [0])
    np.testing.assert_array_equal(extend([3.0]), [3.0, 3.0, 3.0])
    # Without the vector that a normalised Laplacian takes to zero, its small weights are lost.
    with pytest.raises(cl.InvalidInput, match="too small for double precision"):
        cl.HarmonicExtension(graph.laplacian(), [0])([1.0])
    degrees = np.sqrt(graph.degrees)
    extended = cl.HarmonicExtension(graph.laplacian(), [0], null_vector=degrees)([degrees[0]])
    np.testing.assert_allclose(extended, degrees, rtol=1e-12)
