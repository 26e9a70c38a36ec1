"""Contradictions that are seen without a solver, and programs that have none."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.certificates.plain_contradictions import plain_contradiction
from cvxlink.programs.declared import DeclaredProgram


class Stated(cl.Problem):
    """Some constraints."""

    def __init__(self, groups, **variables):
        self.groups, self.own = groups, variables

    def variables(self):
        return self.own

    def objective(self, **variables):
        return cp.Minimize(0)

    def constraints(self, **variables):
        return self.groups


def found(groups, **variables):
    return plain_contradiction(DeclaredProgram(Stated(groups, **variables)))


def test_equations_that_add_up_to_a_contradiction():
    x = cp.Variable(4, name="x")
    groups = {"a": x[0] + x[1] == 1, "b": x[1] + x[2] == 1, "c": x[0] + 2 * x[1] + x[2] == 3}
    groups |= {"idle": x[0] - x[3] == 7, "also idle": x[0] + x[3] == 5}
    contradiction = found(groups, x=x)
    assert {row.group for row in contradiction.rows} == {"a", "b", "c"}
    assert [row.words for row in contradiction.rows][2] == "x[0] + 2 x[1] + x[2] == 3"
    np.testing.assert_allclose(contradiction.weights, [1, 1, -1])
    assert abs(contradiction.gap - -1) < 1e-9 and "add up to 0 == -1" in str(contradiction)


@pytest.mark.parametrize("seed", range(5))
def test_one_wrong_side_among_fifty_random_combinations(seed):
    """Of 50 combinations of 49 equations, which have a solution, one gets a wrong side: nothing else is wrong."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((49, 60))
    mixed = rng.standard_normal((50, 49)) @ A
    x, point = cp.Variable(60, name="x"), rng.standard_normal(60)
    sides = mixed @ point
    assert found({"mixed": mixed @ x == sides}, x=x) is None
    sides[seed] += 1
    contradiction = found({"mixed": mixed @ x == sides}, x=x)
    places, y = [row.place for row in contradiction.rows], np.array(contradiction.weights)
    assert abs(mixed[places].T @ y).max() < 1e-9 and abs(sides[places] @ y) > 1e-6


def test_few_of_many_rows_are_named():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((300, 400)) * (rng.random((300, 400)) < 0.05)
    b = A @ rng.standard_normal(400)
    A[17], b[17] = A[18] - 2 * A[19], b[18] - 2 * b[19] + 0.5
    x = cp.Variable(400, name="x")
    contradiction = found({"rows": A @ x == b}, x=x)
    assert [row.place for row in contradiction.rows] == [17, 18, 19]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (lambda x: {"least": x >= 2, "most": x <= 1}, {"x[0] >= 2", "x[0] <= 1"}),
        (lambda x: {"least": 3 * x[0] - x[1] >= 2, "most": x[1] - 3 * x[0] >= -1}, None),
        (lambda x: {"same": x[0] - x[1] == 2, "other": 2 * x[0] - 2 * x[1] <= 3}, None),
        (lambda x: {"never": 0 * x[0] >= 2}, {"0 <= -2"}),
        (lambda x: {"never": 0 * x[0] == 2}, {"0 == 2"}),
    ],
)
def test_bounds_on_the_same_expression(groups, words):
    x = cp.Variable(2, name="x")
    contradiction = found(groups(x), x=x)
    assert cp.Problem(cp.Minimize(0), list(groups(x).values())).solve(cp.CLARABEL) == np.inf
    assert len(contradiction.rows) == (1 if "never" in groups(x) else 2)
    if words is not None:
        assert {row.words for row in contradiction.rows} == words


@pytest.mark.parametrize(
    "groups",
    [
        lambda x: {"least": x >= 1, "most": x <= 1},
        lambda x: {"same": x[0] - x[1] == 2, "other": 2 * x[0] - 2 * x[1] <= 4 - 1e-12},
        lambda x: {"twice": x == 0.1 + 0.2, "once": x == 0.3},  # they differ in the last digit
        lambda x: {"far": 1e-9 * x[0] >= 1, "near": x[1] <= 1},
        lambda x: {"nearly parallel": 1e-9 * x[0] + x[1] == 1, "level": x[1] == 0},
        lambda x: {"always": 0 * x[0] <= 2},
        lambda x: {},
    ],
)
def test_nothing_is_found_in_programs_that_have_a_solution_up_to_rounding(groups):
    x = cp.Variable(2, name="x")
    assert found(groups(x), x=x) is None


@given(st.integers(0, 10**6))
def test_equations_with_a_solution_never_contradict_one_another(seed):
    rng = np.random.default_rng(seed)
    m, n, rank = rng.integers(1, 9, size=3)
    A = rng.integers(-3, 4, size=(m, rank)) @ rng.integers(-3, 4, size=(rank, n)) * 10.0 ** rng.integers(-6, 7)
    x = cp.Variable(int(n), name="x")
    assert found({"rows": A @ x == A @ rng.standard_normal(n)}, x=x) is None


def test_rows_of_a_kernel_program_are_named_by_their_links():
    n = 5
    links = cl.Links(n, must=[(0, 1), (3, 4)])
    K = cp.Variable((n, n), symmetric=True, name="K")
    groups = {"must": cl.terms.must_links(K, links), "apart": K[3, 4] == 0, "psd": cl.terms.semidefinite(K)}
    contradiction = found(groups, K=K)
    assert [row.words for row in contradiction.rows] == ["must-link (3, 4): K[3, 4] == 1", "K[3, 4] == 0"]


class Sum(cl.Problem):
    """Three numbers that should have two sums."""

    def variables(self):
        return {"x": cp.Variable(3, name="x")}

    def objective(self, x):
        return cp.Minimize(cp.sum_squares(x))

    def constraints(self, x):
        return {"two": cp.sum(x) == 2, "three": cp.sum(x) == 3}


def test_solve_needs_no_solver_for_it(monkeypatch):
    monkeypatch.setattr(cp.Problem, "solve", lambda *args, **options: pytest.fail("a solver was called"))
    with pytest.raises(cl.InfeasibleProblem, match=r"x\[0\] \+ x\[1\] \+ x\[2\] == 2 \('two'\)"):
        Sum().solve()
    solution = Sum().solve(strict=False)
    assert solution.status is cl.Status.INFEASIBLE and "'three'" in solution.reason
