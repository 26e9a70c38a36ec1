from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.methods.ccsr.fitted_products import svec_basis
from cvxlink.programs.declared import DeclaredProgram
from helpers.graphs import path_graph, random_graph, random_points
from helpers.limits import stopped_at_once


def instance(n=14, order=4, seed=0, **options) -> cl.CCSR:
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n)
    return cl.CCSR(
        random_graph(n, rng), cl.Links.sample(labels, n_links=min(n, 12) - 1, random_state=seed), order=order, **options
    )


def terms(problem: cl.CCSR):
    """Every (i, j, t, w) of the sum, by its definition."""
    for i in range(problem.graph.n):
        yield i, i, 1.0, 1.0
    for kind, t in (("must", 1.0), ("cannot", 0.0)):
        weight = getattr(problem, f"{kind}_weight")
        for i, j in getattr(problem.links, kind):
            yield i, j, t, weight if isinstance(weight, float) else weight[i, j]


def misfit(problem, M):
    U = problem.spectrum[1]
    return sum(w * (U[i] @ M @ U[j] - t) ** 2 for i, j, t, w in terms(problem))


def random_symmetric(m, rng):
    M = rng.standard_normal((m, m))
    return M + M.T


@pytest.mark.parametrize("weights", [{}, {"must_weight": 3.0, "cannot_weight": 0.25}])
def test_the_quadratic_by_products_is_the_one_by_definition(weights):
    problem = instance(**weights)
    m, U = 4, problem.spectrum[1]
    B, b, c = np.zeros((m * m, m * m)), np.zeros(m * m), 0.0
    for i, j, t, w in terms(problem):
        s = np.outer(U[j], U[i]).ravel(order="F")  # equation (19)
        B += w * np.outer(s, s)
        b -= 2 * w * t * s
        c += w * t**2
    ours = problem.program.data.quadratic
    np.testing.assert_allclose(ours[0], B, atol=1e-13)
    np.testing.assert_allclose(ours[1], b, atol=1e-13)
    assert ours[2] == pytest.approx(c)


@pytest.mark.parametrize("n", [5, 14])  # with 5 points, fewer terms than entries: B is singular
def test_all_ways_to_write_the_objective_are_the_misfit(n):
    rng = np.random.default_rng(n)
    problem = instance(n, 4)
    B, b, c = problem.program.data.quadratic
    R, d, c_0 = problem.program.data.compact
    for _ in range(5):
        M = random_symmetric(4, rng)
        z, x = M.ravel(), svec_basis(4).T @ M.ravel()
        expected = misfit(problem, M)
        assert problem.program.data.misfit(M) == pytest.approx(expected)
        assert z @ B @ z + b @ z + c == pytest.approx(expected)
        assert np.sum((R @ x - d) ** 2) + c_0 == pytest.approx(expected)


def test_rows_in_more_than_one_part(monkeypatch):
    from cvxlink.methods.ccsr import fitted_products as quadratic

    whole = instance().program.data
    monkeypatch.setattr(quadratic, "CHUNK", 5)
    parts = instance().program.data
    for ours, theirs in zip(parts.quadratic, whole.quadratic, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-13)


@given(st.integers(1, 6), st.integers(0, 100))
def test_svec_keeps_inner_products(m, seed):
    rng = np.random.default_rng(seed)
    A, B, T = random_symmetric(m, rng), random_symmetric(m, rng), svec_basis(m)
    np.testing.assert_allclose((T @ (T.T @ A.ravel())).reshape(m, m), A, atol=1e-12)
    assert (T.T @ A.ravel()) @ (T.T @ B.ravel()) == pytest.approx(np.sum(A * B), abs=1e-10)
    np.testing.assert_allclose((T.T @ T).toarray(), np.eye(m * (m + 1) // 2), atol=1e-14)


def test_the_gradient_is_that_of_the_misfit():
    rng, problem = np.random.default_rng(0), instance()
    M, D, h = random_symmetric(4, rng), random_symmetric(4, rng), 1e-5
    slope = (misfit(problem, M + h * D) - misfit(problem, M - h * D)) / (2 * h)
    assert np.sum(problem.program.data.gradient(M)[0] * D) == pytest.approx(slope, rel=1e-7)


def test_the_lower_bound_holds_at_any_point():
    rng, problem = np.random.default_rng(1), instance()
    optimum = problem.solve(accuracy=1e-8).value
    bounds = []
    for size in (1e-3, 1, 30):
        for _ in range(30):
            A = rng.standard_normal((4, rng.integers(1, 5))) * np.sqrt(size)
            bounds.append(problem.program.data.lower_bound(A @ A.T)[0].lower)
    assert max(bounds) <= optimum + 1e-9
    near = problem.solve(accuracy=1e-3).values["M"]
    assert optimum - 0.1 < problem.program.data.lower_bound(near + 0.01 * np.eye(4))[0].lower <= optimum


@pytest.mark.parametrize("seed", range(4))
def test_optimality_conditions_at_the_solution(seed):
    problem = instance(seed=seed)
    solution = problem.solve(accuracy=1e-8)
    M, G = solution.values["M"], problem.program.data.gradient(solution.values["M"])[0]
    scale = abs(G).max() * abs(M).max()
    assert np.linalg.eigvalsh(M)[0] > -1e-8 * abs(M).max() and np.linalg.eigvalsh(G)[0] > -1e-6
    assert abs(np.sum(G * M)) < 1e-5 * max(scale, 1)
    np.testing.assert_allclose(solution.duals["psd"], G, atol=1e-8)
    assert solution.certificate.relative_gap < 1e-7
    for _ in range(20):  # and no feasible step improves
        A = np.random.default_rng(seed).standard_normal((4, 4))
        assert problem.program.data.misfit(M + 0.01 * (A @ A.T - M)) >= solution.value - 1e-8


def test_one_eigenvector_has_a_closed_form():
    # On two points u = (1, 1)/√2. Without links (M/2 − 1)² twice: M = 2. With a cannot-link (M/2)² as well: M = 4/3.
    graph = path_graph(2)
    alone = cl.CCSR(graph, cl.Links(2), order=1).solve()
    assert alone.value == pytest.approx(0, abs=1e-6) and alone.values["M"][0, 0] == pytest.approx(2, rel=1e-3)
    apart = cl.CCSR(graph, cl.Links(2, cannot=[(0, 1)]), order=1).solve()
    assert apart.value == pytest.approx(2 / 3) and apart.values["M"][0, 0] == pytest.approx(4 / 3, rel=1e-4)
    # A weight w on the cannot-link: 2(M/2 − 1)² + w(M/2)² is least at M = 4/(2 + w).
    heavy = cl.CCSR(graph, cl.Links(2, cannot=[(0, 1)]), order=1, cannot_weight={(1, 0): 6.0}).solve()
    assert heavy.values["M"][0, 0] == pytest.approx(4 / 8, rel=1e-4)


def test_all_eigenvectors_and_consistent_links_fit_exactly():
    # With m = n the products can be anything, so the ideal kernel of the labels fits without error.
    labels = np.array([0, 0, 1, 1, 2, 2])
    problem = cl.CCSR(random_graph(6, np.random.default_rng(0)), cl.Links.from_labels(labels), order=6)
    solution = problem.solve(accuracy=1e-7)
    assert solution.value == pytest.approx(0, abs=1e-5)
    np.testing.assert_allclose(solution.kernel, labels[:, None] == labels, atol=5e-3)


def test_links_that_contradict_one_another_are_averaged():
    # u = (1, 1)/√2 again: 2(M/2 − 1)² + (M/2 − 1)² + (M/2)² is least at M/2 = 3/4.
    links = cl.Links(2, must=[(0, 1)], cannot=[(0, 1)])
    assert cl.CCSR(path_graph(2), links, order=1).solve().values["M"][0, 0] == pytest.approx(1.5, rel=1e-4)


def test_a_weight_of_zero_is_no_link_and_one_of_two_is_two():
    links = instance().links
    graph = instance().graph
    without = cl.CCSR(graph, cl.Links(14, must=links.must), order=4).solve(accuracy=1e-8)
    zero = cl.CCSR(graph, links, order=4, cannot_weight=0.0).solve(accuracy=1e-8)
    assert zero.value == pytest.approx(without.value, rel=1e-6)
    doubled = cl.CCSR(graph, links, order=4, must_weight=2.0)
    M = without.values["M"]
    extra = sum((doubled.spectrum[1][i] @ M @ doubled.spectrum[1][j] - 1) ** 2 for i, j in links.must)
    assert doubled.program.data.misfit(M) == pytest.approx(
        cl.CCSR(graph, links, order=4).program.data.misfit(M) + extra
    )


def test_weights_can_be_said_in_four_ways():
    problem = instance()
    graph, links = problem.graph, problem.links
    weights = 1.0 + np.arange(len(links.must))
    matrix = np.zeros((14, 14))
    matrix[links.must[:, 0], links.must[:, 1]] = weights
    by_pair = {(int(j), int(i)): w for (i, j), w in zip(links.must, weights, strict=True)}
    first = tuple(map(int, links.must[0]))
    values = {
        cl.CCSR(graph, links, order=4, must_weight=said).solve().value
        for said in (weights, list(weights), by_pair, matrix, matrix.T, matrix + matrix.T, sp.csr_array(matrix))
    }
    assert max(values) - min(values) < 1e-12
    for said, words in (
        (-1.0, "zero or more"),
        (np.nan, "finite"),
        ([1.0], "must be a number, numbers by pair"),
        ({0: 1.0}, "by pair must look like"),
        ({(0, 99): 1.0}, "with points 0 … 13"),
        (by_pair | {first: 1.0, first[::-1]: 2.0}, "two different numbers"),
        ({(int(links.cannot[0][0]), int(links.cannot[0][1])): 1.0}, "not one of these links"),
        (1e300, "at most 1e[+]50"),
        ({first: "1"}, "must be a number"),
        ("a", "must be a number"),
        (True, "must be a number"),
        (weights > 0, "must hold real numbers"),
        (np.full((14, 14), np.nan), "NaN"),
        (sp.csr_array(matrix * 1j), "must hold real numbers"),
        (matrix + 2 * matrix.T, "make it symmetric"),
    ):
        with pytest.raises(cl.InvalidInput, match=f"must_weight.*{words}"):
            cl.CCSR(graph, links, order=4, must_weight=said)


def test_links_that_are_not_named_weigh_one():
    problem = instance()
    graph, links = problem.graph, problem.links
    pair = tuple(map(int, links.must[1]))
    one = cl.CCSR(graph, links, order=4, must_weight={pair: 7.0})
    every = cl.CCSR(graph, links, order=4, must_weight=np.where(np.arange(len(links.must)) == 1, 7.0, 1.0))
    assert one.solve().value == every.solve().value != problem.solve().value
    # Subsets of the links keep their weights.
    ensemble = one.solve_resampled(3, 6, random_state=0)
    assert len(ensemble.members) == 3 and ensemble.kernel.shape == (14, 14)


def test_the_embedding_is_that_of_the_kernel_and_is_what_k_means_sees():
    X, y = cl.datasets.load("iris")
    problem = cl.CCSR(cl.Graph.knn(X), cl.Links.sample(y, n_links=60, random_state=0), order=15)
    solution = problem.solve()
    E, M, F_m = solution.embedding, solution.values["M"], problem.spectrum[1]
    assert E.shape == (150, 15)
    np.testing.assert_allclose(E @ E.T, F_m @ M @ F_m.T, atol=1e-8)
    np.testing.assert_allclose(solution.factor @ solution.factor.T, solution.kernel, atol=1e-8)
    labels = solution.cluster(3, random_state=0)
    np.testing.assert_array_equal(labels, cl.clustering.kmeans(E, 3, random_state=0))
    # The paper: kernel k-means on F_m M F_mᵀ is equivalent.
    assert cl.metrics.nmi(labels, solution.cluster(3, method="kernel-kmeans", random_state=0)) > 0.95
    assert cl.metrics.nmi(y, labels) > cl.metrics.nmi(y, cl.clustering.spectral(problem.graph.W, 3, random_state=0))
    assert len(solution.extend(X[:3] + 0.01).predict(labels)) == 3


def test_the_order_is_visible():
    problem = instance()
    plan = str(problem.explain())
    assert "order 4: the smoothest eigenvectors of L̄, with the eigenvalues 0," in plan
    assert f"{problem.spectrum[0][-1]:.3g}" in plan
    few = cl.CCSR(path_graph(3), cl.Links(3, must=[(0, 1)]), order=15)
    assert "order 3 (15 asked for, only 3 exist)" in str(few.explain())
    assert few.solve().embedding.shape == (3, 3)
    for order in (0, 2.5, True):
        with pytest.raises(cl.InvalidInput, match="order"):
            cl.CCSR(path_graph(3), cl.Links(3), order=order)
    with pytest.raises(cl.InvalidInput, match="n_clusters must be between 1 and 3"):
        cl.CCSR(path_graph(3), cl.Links(3), n_clusters=4)


def test_the_default_order_has_two_links_for_each_unknown_and_an_eigenvector_for_each_cluster():
    graph, y = cl.Graph.knn(random_points(60, 3, 0)), np.arange(60) % 4
    for count in (0, 1, 11, 12, 19, 20, 100, 239, 240, 1000):
        links = cl.Links.sample(y, n_links=count, random_state=0)
        most = max(m for m in range(16) if 2 * (m * (m + 1) // 2) <= count)
        for k in (1, 2, 4, 20):
            problem = cl.CCSR(graph, links, n_clusters=k)
            assert problem.m == max(most, k, 2) == problem.variables()["M"].shape[0]
        assert cl.CCSR(graph, links).m == max(most, links.least_clusters(), 2)
        assert cl.CCSR(graph, links, order=7, n_clusters=4).m == 7
    assert cl.CCSR(path_graph(3), cl.Links(3)).m == 2 and cl.CCSR(path_graph(1), cl.Links(1)).m == 1
    assert cl.CCSR(path_graph(3), cl.Links(3), n_clusters=3).m == 3


def test_why_the_order_was_chosen_is_said():
    graph, y = cl.Graph.knn(random_points(60, 3, 0)), np.arange(60) % 4

    def plan(n_links, **options):
        return " ".join(str(cl.CCSR(graph, cl.Links.sample(y, n_links, random_state=0), **options).explain()).split())

    assert "order 5 (2 links for each of its 15 unknowns): the smoothest" in plan(30)
    assert "order 6 (as many as there are clusters, at least two; 30 links are too few for more)" in plan(
        30, n_clusters=6
    )
    assert "order 15 (the paper's)" in plan(240)
    assert "order 2 (as many as the cannot-links need clusters, at least two; 1 links" in plan(1)
    assert "order 60 (one per point)" in plan(1, n_clusters=60)


def test_more_clusters_than_eigenvectors_get_a_warning_with_the_remedy():
    graph, y = cl.Graph.knn(random_points(40, 3, 0)), np.arange(40) % 4
    links = cl.Links.sample(y, n_links=6, random_state=0)
    solution = cl.CCSR(graph, links).solve()
    with pytest.warns(cl.LinkWarning, match=r"chose 2 eigenvectors by its 6 links alone, .* with n_clusters=4"):
        solution.cluster(4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution.cluster(2, random_state=0)
        assert len(np.unique(cl.CCSR(graph, links, n_clusters=4).solve().cluster(random_state=0))) == 4
        cl.CCSR(graph, links, order=2).solve().cluster(4, random_state=0)


def test_the_schur_form_is_equation_20():
    problem = instance(order=3)
    program = problem.to_cvxpy(form="schur")
    orders = sorted(term.shape[0] for term in program.constraints if isinstance(term, cp.constraints.PSD))
    assert orders == [3, 3**2 + 1]
    program.solve(solver="CLARABEL")
    assert program.value == pytest.approx(problem.solve().value, abs=1e-6)
    assert problem.forms == ("paper", "compact", "schur") and problem.routes == ("interior-point",)
    with pytest.raises(cl.FormUnavailable, match=r"CCSR has no form 'dual' .*; it has paper, compact, schur"):
        problem.solve(form="dual")
    with pytest.raises(cl.FormUnavailable, match="'interior-point' is a route"):
        problem.solve(form="interior-point")


def test_orders_too_large_for_the_route_go_to_a_solver_and_the_plan_says_so(monkeypatch):
    from cvxlink.methods.ccsr import routes as fitted_products

    monkeypatch.setattr(fitted_products, "LARGEST_ORDER", 3)
    assert "solver CLARABEL" in str(instance().explain()) and instance().routes == ()
    assert instance().solve().plan.solver == "CLARABEL"
    with pytest.raises(cl.FormUnavailable, match="order 4 is too large"):
        instance().solve(route="interior-point")


@pytest.mark.parametrize("solver", [None, "CLARABEL"])
def test_eight_digits_where_directions_are_hardly_seen(solver):
    # 93 of 120 eigenvalues of B are above rounding here: a root of it would lose the small singular values.
    X, y = cl.datasets.load("iris")
    problem = cl.CCSR(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0), order=15)
    solution = problem.solve(solver=solver, accuracy=1e-8)
    assert solution.status is cl.Status.OPTIMAL and solution.certificate.relative_gap < 1e-8


def test_a_clustering_is_no_point_of_it():
    with pytest.raises(cl.CvxlinkError, match="a clustering is no point of CCSR"):
        instance().solve().relaxation_gap(np.arange(14) % 3)


def test_limits_and_progress(capsys):
    solution = stopped_at_once(instance())
    assert solution.status is cl.Status.LIMIT and solution.certificate.relative_gap > 0
    solution = instance().solve(verbose=True)
    assert "gap" in capsys.readouterr().out and len(solution.history) == solution.iterations + 1


@pytest.mark.parametrize("method", [cl.CCSR, cl.SRCP])
def test_a_subclass_that_declares_another_program_is_solved_as_declared(method):
    """What was said about the old program must not be used for the new one."""

    class Shrunk(method):
        """With a penalty on the size."""

        def objective(self, **variables):
            (X,) = variables.values()
            return cp.Minimize(super().objective(**variables).args[0] + 0.3 * cp.sum_squares(X))

    graph, links = cl.Graph.knn(random_points(8), n_neighbors=3), cl.Links(8, must=[(0, 1)], cannot=[(0, 7)])
    shrunk = Shrunk(graph, links)
    assert type(shrunk.program) is DeclaredProgram and shrunk.routes == () and set(shrunk.forms) <= {"declared", "dual"}
    plain, solution = method(graph, links).solve(), shrunk.solve()
    program = shrunk.to_cvxpy()
    program.solve(solver="CLARABEL")
    assert solution.value == pytest.approx(program.value, rel=1e-5) and solution.value > plain.value
    assert "0.3" in str(shrunk) and "½" not in str(shrunk) and "from " not in str(shrunk)
    assert "sum_squares" in str(shrunk) and "quad_over_lin" not in str(shrunk)
