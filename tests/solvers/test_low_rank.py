"""The low-rank route: the same optimum as interior-point methods, proven, at sizes they do not reach."""

import warnings
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.numerics import eigenpairs as spectrum
from cvxlink.numerics import least_eigenvalue as eigenvalues
from cvxlink.numerics.eigenpairs import norm_bound
from cvxlink.numerics.matrices import Congruence
from cvxlink.solvers import low_rank as lowrank

ROUTE = "low-rank"


@pytest.fixture(scope="module")
def digits():
    X, y = cl.datasets.load("digits")
    return cl.Graph.knn(X[:300], n_neighbors=8), y[:300]


@pytest.mark.parametrize("formulation", [cl.PCP, cl.KP])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("n_links", [6, 40, 200])
def test_it_finds_what_the_interior_point_method_finds(digits, formulation, normalized, n_links):
    graph, y = digits
    problem = formulation(graph, cl.Links.sample(y, n_links=n_links, random_state=0), normalized=normalized)
    found = problem.solve(route=ROUTE, accuracy=1e-6)
    exact = problem.solve(route="interior-point", accuracy=1e-6)
    assert found.status is cl.Status.OPTIMAL and found.certificate.relative_gap <= 1e-6
    assert found.value == pytest.approx(exact.value, rel=2e-6, abs=2e-6)
    # Each one's bound holds for the other one's point.
    assert found.certificate.lower_bound <= exact.value + 1e-9
    assert exact.certificate.lower_bound <= found.value + 1e-9
    assert found.certificate.largest_violation <= 1e-9


def _twice(graph):
    return cl.Graph.from_affinity(sp.block_diag([graph.W, graph.W]))


def _with_isolated(graph):
    return cl.Graph.from_affinity(sp.block_diag([graph.W, sp.csr_array((20, 20))]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    ["clique of 30", "odd cycle", "no links", "disconnected", "isolated points", "weights of 1e6", "weights of 1e-6"],
)
def test_hard_cases_are_certified_too(digits, case):
    graph, y = digits
    links = cl.Links.sample(y, n_links=40, random_state=1)
    normalized = "weights" not in case
    if case == "clique of 30":  # needs 30 columns to be feasible at all
        links = cl.Links(graph.n, cannot=list(combinations(range(30), 2)))
    elif case == "odd cycle":
        links = cl.Links(graph.n, cannot=[(i, (i + 1) % 101) for i in range(101)])
    elif case == "no links":
        links = cl.Links(graph.n)
    elif case == "disconnected":
        graph, links = _twice(graph), cl.Links.sample(np.tile(y, 2), n_links=40, random_state=1)
    elif case == "isolated points":
        graph = _with_isolated(graph)
        links = cl.Links(graph.n, cannot=[(0, graph.n - 1), (1, graph.n - 2), (graph.n - 1, graph.n - 2)])
    elif "weights" in case:
        graph = cl.Graph.from_affinity(graph.W * float(case.split()[-1]))
    problem = cl.PCP(graph, links, normalized=normalized)
    found = problem.solve(route=ROUTE, accuracy=1e-5)
    exact = problem.solve(route="interior-point", accuracy=1e-6)
    assert found.status is cl.Status.OPTIMAL
    scale = abs(exact.value) + min(1.0, float(case.split()[-1]) if "weights" in case else 1.0)
    assert abs(found.value - exact.value) <= 2e-5 * scale


class AtMostZero(cl.PCP):
    """PCP with cannot-links as K_ij ≤ 0, and points of different lengths."""

    def objective(self, K):
        return cp.Minimize(cp.sum(cp.multiply(self.L, K)))

    def constraints(self, K):
        i, j = self.links.cannot.T
        lengths = 1 + np.arange(self.graph.n) % 3
        return {"unit": cp.diag(K) == lengths, "cannot": K[i, j] <= 0, "psd": K >> 0}


def test_inequalities_and_other_lengths():
    X, _ = cl.datasets.load("iris")
    pick = np.arange(0, 150, 3)
    graph = cl.Graph.knn(X[pick], n_neighbors=6)
    links = cl.Links(50, cannot=[(0, 20), (0, 40), (20, 40), (1, 45), (2, 3)])
    problem = AtMostZero(graph, links)
    found = problem.solve(route=ROUTE, accuracy=1e-6)
    exact = problem.solve(solver="CLARABEL", form="declared", accuracy=1e-6)
    assert found.value == pytest.approx(exact.value, rel=1e-5)
    assert found.duals["cannot"].max() <= 0
    assert entries_at(found.kernel, links.cannot).max() <= 1e-9


def entries_at(K, pairs):
    return K[pairs[:, 0], pairs[:, 1]]


def test_the_same_random_state_gives_the_same_answer(digits):
    graph, y = digits
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2))
    first, again, other = (problem.solve(route=ROUTE, random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.factor, again.factor)
    assert not np.array_equal(first.factor, other.factor)
    assert first.value == pytest.approx(other.value, rel=1e-4)


def test_progress_reports_bounds_that_hold(digits):
    graph, y = digits
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2))
    seen = []
    solution = problem.solve(route=ROUTE, progress=seen.append)
    optimum = problem.solve(route="interior-point", accuracy=1e-6).value
    assert [step.step for step in seen] == list(range(len(seen))) and len(seen) == solution.iterations + 1
    assert all(step.bound <= optimum + 1e-7 <= step.objective + 2e-7 for step in seen)
    assert seen[-1].gap <= 1e-5 and all(1 <= step.rank <= 30 for step in seen)
    with pytest.raises(cl.InvalidInput, match="reports no progress"):
        problem.solve(solver="SCS", progress=seen.append)
    with pytest.raises(cl.InvalidInput, match="progress must be a function"):
        problem.solve(progress="yes")


def test_an_exception_in_progress_ends_the_solve(digits):
    graph, y = digits

    def enough(step):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2)).solve(route=ROUTE, progress=enough)


def test_an_earlier_answer_saves_work(digits):
    graph, y = digits
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2))
    first = problem.solve(route=ROUTE)
    again = problem.solve(route=ROUTE, start=first)
    assert _products(again) < _products(first) / 2
    assert again.value == pytest.approx(first.value, rel=2e-5)
    assert problem.solve(route=ROUTE, start=first.factor).status is cl.Status.OPTIMAL
    with pytest.raises(cl.InvalidInput, match="same 300 points"):
        problem.solve(route=ROUTE, start=np.ones((7, 2)))
    with pytest.raises(cl.InvalidInput, match="does not start from an earlier answer"):
        problem.solve(route="interior-point", start=first)


def _products(solution):
    return int(solution.reason.split(" products")[0].split()[-1])


def test_a_gap_that_does_not_close_is_said(digits, monkeypatch):
    graph, y = digits
    monkeypatch.setattr(lowrank, "MOST_ROUNDS", 2)
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2))
    with pytest.warns(cl.InaccurateWarning, match=r"relative gap.*interior-point"):
        solution = problem.solve(route=ROUTE, accuracy=1e-6)
    assert solution.status is cl.Status.INACCURATE and solution.certificate.relative_gap > 1e-6


def test_a_time_limit_is_a_limit(digits):
    graph, y = digits
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2))
    solution = problem.solve(route=ROUTE, accuracy=1e-9, time_limit=1e-3, strict=False)
    assert solution.status in (cl.Status.LIMIT, cl.Status.INACCURATE)


def test_it_is_taken_where_it_is_the_faster_one(digits):
    graph, y = digits
    links = cl.Links.sample(y, n_links=30, random_state=2)
    plan = cl.PCP(graph, links).explain()
    assert plan.route.name == ROUTE and "low rank" in str(plan)
    assert cl.KP(graph, links).explain().route.name == "interior-point"  # its seed kernel is small
    assert cl.PCP(graph, links).routes == (ROUTE, "interior-point")


def test_it_refuses_kernels_of_no_given_length():
    graph = cl.Graph.from_affinity(np.ones((4, 4)))
    problem = cl.KP(graph, cl.Links(4, cannot=[(0, 1)]))
    with pytest.raises(cl.FormUnavailable, match="diagonal entry of point 2"):
        problem.solve(route=ROUTE, presolve=False)


def test_nothing_of_order_n_squared_is_formed(monkeypatch):
    X, y = cl.datasets.blobs(1200, 3, dimension=4, random_state=0)
    problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, n_links=30, random_state=0))

    def refuse(*_, **__):
        raise AssertionError("a dense matrix was asked for")

    monkeypatch.setattr(Congruence, "toarray", refuse)
    monkeypatch.setattr(sp.csr_array, "toarray", _small_only(sp.csr_array.toarray))
    solution = problem.solve(accuracy=1e-5)
    assert solution.plan.route.name == ROUTE and solution.status is cl.Status.OPTIMAL
    assert isinstance(solution.values.stored["K"], Congruence)
    assert cl.metrics.scores(y, solution.cluster(3, random_state=0))["nmi"] > 0.9


def _small_only(method):
    def toarray(self, *arguments, **options):
        assert np.prod(self.shape) < 1000 * 1000, "a dense matrix was asked for"
        return method(self, *arguments, **options)

    return toarray


# ---------------------------------------------------------------------- the bound


@pytest.mark.parametrize("seed", range(5))
def test_a_bound_by_products_holds_and_is_sharp(seed):
    rng = np.random.default_rng(seed)
    X, _ = cl.datasets.blobs(400, 3, dimension=6, random_state=seed)
    L = cl.Graph.knn(X, n_neighbors=12).laplacian()
    values, vectors = np.linalg.eigh(L.toarray())
    near = int((values < 0.03).sum())
    columns = vectors[:, :near] @ rng.standard_normal((near, near)) + 1e-7 * rng.standard_normal((400, near))
    shifted = L - 1e-3 * sp.eye_array(400)
    least = eigenvalues.apart_from(columns, sp.csr_array(shifted))
    assert least.value - least.margin <= values[0] - 1e-3 + 1e-13
    assert least.value >= values[0] - 1e-3 - 1e-8
    assert "probability" in least.basis


@pytest.mark.parametrize("seed", range(5))
def test_a_bound_by_products_sees_what_the_columns_hide(seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    values = np.concatenate([[-1e-3], np.zeros(3), rng.uniform(0.2, 2, 296)])
    matrix = sp.csr_array((Q * values) @ Q.T)
    least = eigenvalues.apart_from(Q[:, 1:4], matrix)  # the negative one is not among them
    assert least is None or least.value - least.margin <= -1e-3 + 1e-12


@pytest.mark.parametrize("hidden", [-1e-3, 0.05])
def test_a_bound_by_products_does_not_believe_lanczos(hidden, monkeypatch):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    values = np.concatenate([[hidden], np.full(3, 0.1), rng.uniform(0.4, 2, 296)])
    matrix = sp.csr_array((Q * values) @ Q.T)
    # As if it had missed the hidden one, and found the next.
    missed = np.array([norm_bound(matrix) - 0.4])
    monkeypatch.setattr(eigenvalues.sp.linalg, "eigsh", lambda *_, **__: missed)
    least = eigenvalues.apart_from(Q[:, 1:4], matrix)
    assert least is None or least.value - least.margin <= hidden + 1e-12


def test_a_bound_by_products_allows_for_columns_that_are_no_eigenvectors(monkeypatch):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((300, 300)))[0]
    matrix = sp.csr_array((Q * np.concatenate([np.zeros(3), rng.uniform(0.4, 2, 297)])) @ Q.T)
    monkeypatch.setattr(eigenvalues, "FILTERED", 0)  # columns stay as they are
    monkeypatch.setattr(eigenvalues, "CLEARLY", 0.1)
    monkeypatch.setattr(eigenvalues, "NEARLY", 0.1)
    monkeypatch.setattr(eigenvalues, "BLUNT", np.inf)
    columns = Q[:, :3] + 1e-4 * rng.standard_normal((300, 3))
    least = eigenvalues.apart_from(columns, matrix)
    # Their Ritz values are above zero by some 1e-6, which is no bound.
    assert -1e-4 < least.value - least.margin <= 0


def test_it_is_not_taken_where_no_kernel_is_strictly_feasible():
    n = 260
    graph = cl.Graph.from_affinity(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]))
    problem = cl.PCP(graph, cl.Links(n, must=[(0, 1)], cannot=[(0, n - 1)]))
    assert problem.explain().route.name == ROUTE
    plan = problem.explain(presolve=False)
    assert plan.route is None or plan.route.name != ROUTE


def test_a_bound_by_products_is_given_up_where_factors_are_sharper(monkeypatch):
    # In the plane the smallest eigenvalues are so close together that Lanczos's method does not see where they end.
    X, y = cl.datasets.blobs(1500, 4, dimension=2, random_state=0)
    problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, n_links=40, random_state=0))
    monkeypatch.setattr(eigenvalues, "FACTORISED", 10)
    gaps = []
    certificate = problem.solve(route=ROUTE, accuracy=1e-6, progress=lambda p: gaps.append(p.gap)).certificate
    assert certificate.relative_gap <= 1.2 * gaps[-1]


@pytest.mark.parametrize("accuracy", [1e-7, 1e-9])
def test_proofs_by_factors_are_sharp(accuracy):
    X, y = cl.datasets.blobs(600, 4, dimension=5, random_state=0)
    problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, n_links=40, random_state=0))
    assert problem.solve(route=ROUTE, accuracy=accuracy).certificate.relative_gap <= accuracy


def test_large_weights_do_no_harm():
    n, i = 600, np.arange(600)
    ring = sp.csr_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    links = cl.Links(n, cannot=[(0, n // 2)])
    values = [
        cl.PCP(cl.Graph.from_affinity(w * (ring + ring.T)), links, normalized=False).solve(strict=False).value / w
        for w in (1.0, 1e12)
    ]
    assert values[0] == pytest.approx(2 * n * (1 - np.cos(np.pi / n)), rel=1e-3)
    assert values[1] == pytest.approx(values[0], rel=1e-3)


@pytest.mark.parametrize("kind", ["one place", "two places", "other links", "tiny", "huge"])
def test_a_start_that_does_not_fit_does_no_harm(digits, kind):
    graph, y = digits
    rng = np.random.default_rng(0)
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=60, random_state=0))
    start = {
        "one place": lambda: np.ones((graph.n, 1)),
        "two places": lambda: np.where((y < 5)[:, None], [1.0, 0.0], [0.0, 1.0]),
        "other links": lambda: cl.PCP(graph, cl.Links.sample(rng.permutation(y), n_links=60, random_state=0)).solve(),
        "tiny": lambda: 1e-200 * rng.standard_normal((graph.n, 3)),
        "huge": lambda: 1e200 * rng.standard_normal((graph.n, 3)),
    }[kind]()
    solution = problem.solve(route=ROUTE, start=start)
    assert solution.status is cl.Status.OPTIMAL
    assert "from a random start" in solution.reason


def test_a_kernel_is_no_start(digits):
    graph, y = digits
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=0))
    for start in (np.zeros((graph.n, 3)), problem.solve().kernel):
        with pytest.raises(cl.InvalidInput, match="fewer columns than rows, and not zero"):
            problem.solve(route=ROUTE, start=start)


def test_arrays_and_programs_that_do_not_fit_are_refused(digits, monkeypatch):
    from cvxlink.engine import learnt_kernel, plan

    graph, y = digits
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=0))
    answer = problem.solve(route=ROUTE)
    monkeypatch.setattr(learnt_kernel, "LARGEST_ARRAY", 100)
    with pytest.raises(cl.InvalidInput, match="solution.factor"):
        answer.kernel  # noqa: B018
    monkeypatch.setattr(plan, "LARGEST_FOR_CVXPY", 100)
    with pytest.raises(cl.InvalidInput, match="more than CVXPY.*'low-rank'"):
        problem.explain(solver="SCS")


def test_large_slacks_are_proven_by_products_or_factors(digits, monkeypatch):
    graph, y = digits
    problem = cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2))
    dense = problem.solve(route=ROUTE, accuracy=1e-6).certificate
    monkeypatch.setattr(eigenvalues, "DENSE_EIGENVALUES", 10)
    monkeypatch.setattr(spectrum, "DENSE", 10)
    factors = problem.solve(route=ROUTE, accuracy=1e-6).certificate
    monkeypatch.setattr(eigenvalues, "FACTORISED", 10)
    products = problem.solve(route=ROUTE, accuracy=1e-6).certificate
    assert "probability" in products.basis and "probability" not in factors.basis
    assert factors.lower_bound == pytest.approx(dense.lower_bound, abs=1e-6)
    assert products.lower_bound == pytest.approx(dense.lower_bound, abs=1e-6)


@pytest.mark.parametrize("by", ["filter", "inversion"])
@pytest.mark.parametrize("on_complement", [False, True])
def test_clusters_of_eigenvalues_are_found_whole(by, on_complement):
    # Seven pieces that hardly hang together: seven eigenvalues near zero, which one Lanczos vector cannot tell apart.
    X = np.vstack([np.random.default_rng(i).standard_normal((60, 3)) + 40 * i for i in range(7)])
    graph = cl.Graph.knn(X, n_neighbors=8)
    L = graph.laplacian()
    v = graph.trivial_cut if on_complement else None
    exact = spectrum.by_lapack(L, 7, v)[0]
    method = spectrum.by_filter if by == "filter" else spectrum.by_inversion
    values, vectors = method(L, 7, v)
    assert values == pytest.approx(exact, abs=1e-9)
    assert vectors.T @ vectors == pytest.approx(np.eye(7), abs=1e-9)
    if on_complement:
        assert abs(v @ vectors).max() < 1e-9


def test_no_warning_is_given_where_all_is_well(digits):
    graph, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cl.PCP(graph, cl.Links.sample(y, n_links=30, random_state=2)).solve(route=ROUTE)
