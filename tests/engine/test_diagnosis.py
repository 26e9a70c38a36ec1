"""why_infeasible() and the messages of solve(): what a user reads when a formulation contradicts itself."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms


class Kernel(cl.Problem):
    """A kernel with links, and sums of rows if they are given."""

    def __init__(self, links, n_clusters=None, **extra):
        self.links, self.n_clusters, self.extra = links, n_clusters, extra

    def variables(self):
        return {"K": cp.Variable((self.links.n, self.links.n), symmetric=True, name="K")}

    def objective(self, K):
        return cp.Minimize(cp.trace(K))

    def constraints(self, K):
        groups = {
            "unit": terms.unit_diagonal(K),
            "must": terms.must_links(K, self.links),
            "cannot": terms.cannot_links(K, self.links),
            "psd": terms.semidefinite(K),
        }
        if self.n_clusters is not None:
            groups |= {"nonnegative": K >= 0, "balance": terms.balance(K, self.n_clusters)}
        return groups | {name: term(K) for name, term in self.extra.items()}


def test_a_cannot_link_that_the_size_of_clusters_does_not_allow():
    """Rows of K must sum to 4, but cannot-links keep every point apart from every other: they sum to 1."""
    n = 4
    everyone = [(i, j) for i in range(n) for j in range(i)]
    found = Kernel(cl.Links(n, cannot=everyone), n_clusters=1).why_infeasible()
    assert found.is_infeasible and {"balance", "cannot", "unit"} >= set(found.blamed)
    assert len(found.blamed["balance"]) == 1 and found.is_irreducible
    named = [row.words for row in found.blamed["cannot"]]
    assert len(named) == n - 1 and all(words.startswith("cannot-link (") for words in named)


def test_must_links_that_make_a_cluster_too_large():
    """Five points are one cluster by must-links; balance asks for two clusters of three among six."""
    links = cl.Links(6, must=[(0, k) for k in range(1, 5)])
    problem = Kernel(links, n_clusters=2)
    found = problem.why_infeasible(time_limit=30)
    assert found.is_infeasible and {"must", "balance"} <= set(found.blamed)
    assert found.relaxation.is_checked and found.relaxation.total > 0
    with pytest.raises(cl.SolveFailed, match=r"'balance' \d+%.*why_infeasible\(\) says which"):
        problem.solve("CLARABEL", presolve=False)


def test_contradicting_links_have_a_witness_before_any_program():
    graph = cl.Graph.from_affinity(1 - np.eye(3))
    with pytest.raises(cl.InconsistentLinks, match="0.*2"):
        cl.PCP(graph, cl.Links(3, must=[(0, 1), (1, 2)], cannot=[(0, 2)]))


def test_a_triangle_of_links_in_a_formulation_of_ones_own():
    links = cl.Links(3, must=[(0, 1)], cannot=[(0, 2)])
    found = Kernel(links, also=lambda K: K[1, 2] == 1).why_infeasible()
    words = {row.words for rows in found.blamed.values() for row in rows}
    assert {"must-link (0, 1): K[0, 1] == 1", "cannot-link (0, 2): K[0, 2] == 0", "K[1, 2] == 1", "K ⪰ 0"} <= words
    # with unit vectors, K₀₁ = K₁₂ = cos 45° and K₀₂ = 0 is the nearest
    assert abs(found.relaxation.total - (2 - np.sqrt(2))) < 1e-3


@pytest.mark.parametrize("pair", [(0, 1), (3, 2)])
def test_a_link_and_a_bound_on_its_entry(pair):
    found = Kernel(cl.Links(4, must=[pair]), low=lambda K: K[pair] <= 0.5).why_infeasible()
    i, j = sorted(pair)
    assert "proven without a solver" in found.proof and f"must-link ({i}, {j})" in found.proof
    assert set(found.blamed) == {"must", "low"} and abs(found.weights["must"] - 0.5) < 1e-6
    assert abs(found.relaxation.total - 0.5) < 1e-5


def test_a_feasible_problem_says_so():
    found = Kernel(cl.Links(4, must=[(0, 1)], cannot=[(1, 2)])).why_infeasible()
    assert found.verdict == "feasible" and not found.blamed and found.relaxation is None


def test_a_large_problem_with_an_evident_point_is_feasible():
    X, y = cl.datasets.load("iris")
    problem = cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, per_class=3, random_state=0))
    found = problem.why_infeasible()
    assert found.verdict == "feasible" and "feasible point" in found.proof


class Merged(Kernel):
    """Two points of unit length are one point by a must-link; nothing bounds the length of the third."""

    def constraints(self, K):
        return super().constraints(K) | {"unit": terms.unit_diagonal(K, [0, 1])}


def test_what_only_merging_points_shows_has_rows_and_a_relaxation():
    """The merged points have different entries with the third: a contradiction that no multipliers prove."""
    problem = Merged(cl.Links(3, must=[(0, 1)]), one=lambda K: K[0, 2] == 5, other=lambda K: K[1, 2] == 4)
    found = problem.why_infeasible()
    assert found.is_infeasible and found.is_irreducible and not found.multipliers
    words = {row.words for rows in found.blamed.values() for row in rows}
    assert {"must-link (0, 1): K[0, 1] == 1", "K[0, 2] == 5", "K[1, 2] == 4", "K[0, 0] == 1", "K ⪰ 0"} <= words
    assert found.relaxation.is_checked
    with pytest.raises(cl.InfeasibleProblem, match=r"merged points.*must-link \(0, 1\).*K\[0, 2\] == 5.*K ⪰ 0"):
        problem.solve()


WRITTEN = {
    "entries": lambda K, i, j: K[i, j] == 1,
    "rows": lambda K, i, j: K[i] == K[j],
    "distances": lambda K, i, j: K[i, i] + K[j, j] - 2 * K[i, j] == 0,
    "nearly": lambda K, i, j: K[i, j] >= 1 - 1e-2,
    "more nearly": lambda K, i, j: K[i, j] >= 1 - 1e-5,
}


class Closed(cl.Problem):
    """Links among 4 classes of points, with must(0, 4), must(4, 8) and cannot(0, 8) among them."""

    def __init__(self, n, written, soft=0.0):
        rng = np.random.default_rng(n)
        pairs = {tuple(sorted(pair)) for pair in rng.integers(0, n, (n // 2, 2)).tolist() if pair[0] != pair[1]}
        same = [pair for pair in sorted(pairs) if (pair[0] - pair[1]) % 4 == 0]
        self.must = [*same, (0, 4), (4, 8)]
        self.cannot = [(0, 8), *(pair for pair in sorted(pairs) if pair not in same)]
        self.n, self.written, self.soft = n, written, soft

    def variables(self):
        return {"K": cp.Variable((self.n, self.n), symmetric=True, name="K")}

    def objective(self, K):
        path = 2 * np.eye(self.n) - np.eye(self.n, k=1) - np.eye(self.n, k=-1)
        return cp.Minimize(cp.trace(path @ K) + self.soft * cp.square(K[1, 5] - 1))

    def constraints(self, K):
        must = [WRITTEN[self.written](K, i, j) for i, j in self.must]
        return {"unit": cp.diag(K) == 1, "must": must, "cannot": [K[i, j] == 0 for i, j in self.cannot], "psd": K >> 0}


@pytest.mark.parametrize("soft", [0.0, 1.0])
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("n", [14, 100])
def test_links_that_contradict_one_another_through_closure_are_named_exactly(written, n, soft):
    problem = Closed(n, written, soft)
    found = problem.why_infeasible()
    assert found.is_infeasible and found.is_irreducible
    linked = {problem.must[row.number] for row in found.blamed["must"]}
    assert linked == {(0, 4), (4, 8)} and [row.words for row in found.blamed["cannot"]] == ["K[0, 8] == 0"]
    if written != "rows" or n == 14:
        assert found.relaxation.is_checked and 0 < found.relaxation.total <= 1 + 1e-4
    else:
        (remark,) = found.remarks
        assert "At least 1 in total must change" in remark and "K[0, 8] == 0 by 1" in remark
    if n == 14:
        declaration = problem.declaration
        assert abs(found.relaxation.total - _least_total(declaration)) < 1e-3


def _least_total(declaration):
    """Ask plain CVXPY for the least total change of the right-hand sides of equations and inequalities."""
    terms, slacks = [], []
    for term in declaration.terms:
        if isinstance(term, cp.constraints.PSD):
            terms.append(term)
            continue
        slacks.append(cp.Variable(term.shape, nonneg=True))
        terms.append(term.expr <= slacks[-1])
        terms += [-term.expr <= slacks[-1]] * isinstance(term, cp.constraints.Equality)
    return cp.Problem(cp.Minimize(sum(map(cp.sum, slacks))), terms).solve(cp.CLARABEL)


def test_solve_names_all_links_of_a_contradiction_between_merged_points():
    """K₀₁ = −1 makes 0 and 1 opposite, K₀₂ = K₁₂ = 1 makes both equal to 2."""
    K = cp.Variable((6, 6), symmetric=True, name="K")
    links = [K[0, 1] == -1, K[0, 2] == 1, K[1, 2] == 1]
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.sum(K)), [cp.diag(K) == 1, *links, K >> 0]))
    reason = problem.solve(strict=False).reason
    assert all(words in reason for words in ("K[0, 1] == -1", "K[0, 2] == 1", "K[1, 2] == 1", "why_infeasible()"))
    assert "K[3, 3]" not in reason and "K[5, 5]" not in reason


class Line(cl.Problem):
    """A line that goes down without end."""

    def variables(self):
        return {"x": cp.Variable(2, name="x"), "t": cp.Variable(name="t", nonneg=True)}

    def objective(self, x, t):
        return cp.Minimize(x[0] + t)

    def constraints(self, x, t):
        return {"low": x[0] + x[1] >= 0}


def test_unbounded_names_the_variables_that_run_away():
    found = Line().why_infeasible()
    assert found.verdict == "unbounded" and found.direction["x"][0] < 0 and found.direction["x"].sum() >= -1e-12
    solution = Line().solve(strict=False)
    assert solution.status is cl.Status.UNBOUNDED and "x[0] falls" in solution.reason


@pytest.mark.parametrize("time_limit", [0, -1, "soon", float("nan")])
def test_a_time_limit_is_a_positive_number(time_limit):
    with pytest.raises(cl.InvalidInput, match="time_limit"):
        Line().why_infeasible(time_limit=time_limit)


def test_programs_that_are_not_convex_are_refused_with_a_remedy():
    X, y = cl.datasets.load("iris")
    problem = cl.CSC(cl.Graph.knn(X[::10]), cl.Links.sample(y[::10], n_links=6, random_state=0))
    with pytest.raises(cl.FormUnavailable, match="not convex"):
        problem.why_infeasible()


def test_it_prints_what_matters():
    text = str(Kernel(cl.Links(3, must=[(0, 1)]), low=lambda K: K[0, 1] <= 0).why_infeasible())
    assert text.startswith("Infeasible: proven") and "Each of these is needed" in text
    assert "relax" in text and "by 1 " in text and max(map(len, text.split("\n"))) <= 100


def test_a_problem_without_any_unknowns_is_feasible():
    nothing = cp.Variable(0, name="u")
    assert cl.wrap(cp.Problem(cp.Minimize(cp.sum(nothing)))).why_infeasible().verdict == "feasible"


@pytest.mark.parametrize("side", [5.0, 1.0, 0.5])
def test_a_row_that_others_contradict_without_is_not_needed(side):
    """‖x‖ ≤ 1 and x₀ + x₁ + x₂ ≥ 3 contradict each other, because a sum is at most √3 ‖x‖; x₀ plays no part."""
    x = cp.Variable(3, name="x")
    found = cl.wrap(cp.Problem(cp.Minimize(0), [cp.norm(x) <= 1, cp.sum(x) >= 3, x[0] <= side])).why_infeasible()
    assert found.is_irreducible and not found.remarks and set(found.blamed) == {"constraints[0]", "constraints[1]"}
    assert abs(found.relaxation.total - (np.sqrt(3) - 1)) < 1e-5 or side < 1
