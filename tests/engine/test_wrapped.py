"""Plain CVXPY problems: the answers of cvxlink are those of CVXPY, and come back into the problem."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl

RNG = np.random.default_rng(3)
A = RNG.random((3, 4))
C = RNG.standard_normal((4, 4))
C = C + C.T


def linear(kind=cp.Minimize, sign=1.0):
    x = cp.Variable(4, name="x")
    cost = np.array([0.3, 0.9, 0.5, 0.2])
    return cp.Problem(kind(sign * cost @ x), [(A @ x == A @ np.ones(4)).set_label("balance"), x >= 0])


def quadratic():
    x, lam = cp.Variable(4, name="x"), cp.Parameter(nonneg=True, name="lam", value=0.1)
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - 1) + lam * cp.norm1(x)), [x <= 0.3])


def second_order():
    x, t = cp.Variable(4, name="x"), cp.Variable(name="t")
    return cp.Problem(cp.Minimize(t + x[0]), [cp.SOC(t, x - 1), cp.sum(x) == 2])


def semidefinite():
    X = cp.Variable((4, 4), symmetric=True, name="X")
    return cp.Problem(cp.Minimize(cp.trace(C @ X)), [(cp.diag(X) == 1).set_label("unit"), X >> 0])


def entropic():
    x = cp.Variable(4, name="x")
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(x)) + x[0]), [cp.sum(x) == 1, x[3] >= 0.4])


CASES = {
    "linear": linear,
    "a maximum": lambda: linear(cp.Maximize, -1.0),
    "quadratic": quadratic,
    "second-order": second_order,
    "semidefinite": semidefinite,
    "entropic": entropic,
}


def duals_of(problem):
    return [np.ravel(dual.value, order="F") for constraint in problem.constraints for dual in constraint.dual_variables]


@pytest.mark.parametrize("name", CASES)
def test_the_answer_in_the_problem_is_that_of_cvxpy(name):
    problem = CASES[name]()
    problem.solve(solver="CLARABEL")
    value, duals = problem.value, duals_of(problem)
    values = [np.array(variable.value) for variable in problem.variables()]
    wrapped = cl.wrap(problem)
    solution = wrapped.solve()
    assert solution.status is cl.Status.OPTIMAL and problem.status == "optimal"
    assert problem.value == pytest.approx(value, abs=1e-5) == solution.value
    for variable, expected in zip(problem.variables(), values, strict=True):
        np.testing.assert_allclose(variable.value, expected, atol=1e-3)
        np.testing.assert_array_equal(variable.value, solution.values[variable.name()])
    for found, expected in zip(duals_of(problem), duals, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_what_a_solver_left_there_is_judged(name):
    problem = CASES[name]()
    problem.solve(solver="CLARABEL")
    certificate = cl.certify(problem)
    assert certificate.maximises == isinstance(problem.objective, cp.Maximize)
    assert certificate.value == pytest.approx(problem.value) and certificate.largest_violation < 1e-6
    assert certificate.bound == pytest.approx(problem.value, abs=1e-5)
    # Other multipliers prove less, never more: the bound stays on its side of the optimum.
    for constraint in problem.constraints:
        for dual in constraint.dual_variables:
            dual.save_value(np.array(dual.value) * 1.1 + 0.01)
    other = cl.certify(problem)
    if other.bound is not None:
        assert (other.bound - problem.value) * (1 if certificate.maximises else -1) >= -1e-6


def test_a_wrong_answer_is_seen():
    problem = linear()
    problem.solve(solver="CLARABEL")
    (x,) = problem.variables()
    x.value = x.value + 0.1
    certificate = cl.certify(problem)
    assert certificate.violations["balance"] == pytest.approx((A @ np.full(4, 0.1)).max(), rel=1e-4)
    assert certificate.value > certificate.lower_bound + 0.1


def test_names_come_from_labels_places_and_the_user():
    x, y = cp.Variable(2, name="x"), cp.Variable(2, name="x")
    floor, cap = x >= 1, y <= 5
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [floor, (y >= x).set_label("order"), (x <= 3).set_label("order"), cap])
    wrapped = cl.wrap(problem, names={"the cap": cap})
    assert list(wrapped.declaration.variables) == ["x", "x_2"]
    sizes = {name: len(group) for name, group in wrapped.declaration.constraints.items()}
    assert sizes == {"constraints[0]": 1, "order": 2, "the cap": 1}
    solution = wrapped.solve()
    np.testing.assert_allclose(solution.values["x"], 1, atol=1e-5)
    np.testing.assert_allclose(solution.duals["constraints[0]"], -1, atol=1e-5)
    np.testing.assert_allclose(floor.dual_value, 1, atol=1e-5)
    assert "CVXPY problem" in str(wrapped) and "the cap" in str(wrapped)


def test_its_variables_are_its_own():
    problem = quadratic()
    (x,) = problem.variables()
    x.value = np.full(4, 7.0)
    first, second = cl.wrap(problem), cl.wrap(problem)
    ids = {id(one.declaration.variables["x"]) for one in (first, second, copy.copy(first))}
    assert len(ids) == 3 and id(x) not in ids
    first.explain(), first.to_cvxpy()
    assert (x.value == 7).all()  # nothing but solve() writes into the problem


@pytest.mark.parametrize(
    ("problem", "objective", "constraints"),
    [
        ("nothing to minimise", 0, lambda x: [x >= 1, x <= 2]),
        ("no constraints", "squares", lambda x: []),
        ("a constraint without variables", "squares", lambda x: [x >= 2, cp.Constant(1) <= 2]),
    ],
)
def test_small_programs(problem, objective, constraints):
    x = cp.Variable(name="x")
    goal = cp.square(x - 1) if objective == "squares" else cp.Constant(0)
    solution = cl.wrap(cp.Problem(cp.Minimize(goal), [*constraints(x), cp.abs(x) <= 10])).solve()
    assert solution.status is cl.Status.OPTIMAL
    least = 1.0 if "without variables" in problem else 0.0
    assert solution.value == pytest.approx(least, abs=1e-6) and x.value is not None


def test_an_infeasible_problem_leaves_nothing_of_an_earlier_answer():
    x, side = cp.Variable(name="x"), cp.Parameter(name="side", value=2.0)
    problem = cp.Problem(cp.Minimize(x), [x >= 1, x <= side])
    cl.wrap(problem).solve()
    assert x.value == pytest.approx(1, abs=1e-5)
    side.value = 0.0
    with pytest.raises(cl.InfeasibleProblem, match="contradict one another"):
        cl.wrap(problem).solve()
    assert x.value is None and problem.status == "infeasible" and problem.value == np.inf
    problem = cp.Problem(cp.Maximize(x), [x >= 1])
    assert cl.wrap(problem).solve(strict=False).status is cl.Status.UNBOUNDED
    assert problem.status == "unbounded" and problem.value == np.inf and problem.constraints[0].dual_value is None


def test_a_failure_leaves_nothing_of_an_earlier_answer():
    problem = linear()
    wrapped = cl.wrap(problem)
    solution = wrapped.solve()
    (x,) = problem.variables()
    wrapped.save(replace(solution, status=cl.Status.ERROR, values={}, duals={}))
    assert x.value is problem.value is problem.status is problem.constraints[0].dual_value is None
    wrapped.save(solution)
    assert problem.value == solution.value and problem.status == "optimal"


def test_numbers_of_parameters_are_read_when_it_is_wrapped():
    problem = quadratic()
    (lam,) = problem.parameters()
    wrapped = cl.wrap(problem)
    lam.value = 100.0
    with pytest.raises(
        cl.InvalidInput, match="the parameter lam has changed since the problem was wrapped.*wrap it again"
    ):
        wrapped.solve()
    now = cl.wrap(problem).solve().value
    assert now == pytest.approx(3, abs=1e-4) == problem.value  # x = 0, and ‖1‖² = 3
    changed = wrapped.changed(lam=100.0)
    assert changed.solve().value == pytest.approx(now, abs=1e-4)
    assert wrapped.changed(lam=0.1).solve().value < 1.1
    assert problem.value == pytest.approx(now, abs=1e-4)  # another program's answer is not written into it
    with pytest.raises(cl.InvalidInput, match="no field 'mu'; it has lam"):
        wrapped.changed(mu=1)
    with pytest.raises(cl.InvalidInput, match="lam is not a value of the parameter"):
        wrapped.changed(lam=-1.0)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda x: 3, "problem must be a cvxpy.Problem"),
        (lambda x: cp.Problem(cp.Minimize(1)), "problem has no variables"),
        (lambda x: cp.Problem(cp.Minimize(cp.Variable(boolean=True))), "the boolean variable"),
        (lambda x: cp.Problem(cp.Minimize(cp.sum(cp.Variable(2, integer=True)))), "the integer variable"),
        (lambda x: cp.Problem(cp.Minimize(cp.abs(cp.Variable(complex=True)))), "the complex variable"),
        (lambda x: cp.Problem(cp.Minimize(x * cp.Parameter(name="p"))), "the parameter p without a value"),
        (lambda x: cp.Problem(cp.Maximize(cp.exp(x))), "not convex .* because of its objective"),
        (lambda x: cp.Problem(cp.Minimize(x), [cp.exp(x) >= 1]), r"because of its constraint 'constraints\[0\]'"),
        (lambda x: cp.Problem(cp.Minimize(x**0.5 * x), [x >= 1]), "geometric program"),
        (lambda x: cp.Problem(cp.Minimize(cp.ceil(x)), [x >= 1]), "quasiconvex"),
        (lambda x: cp.Problem(cp.Minimize(cp.perspective(cp.square(cp.Variable()), x))), "the atom perspective"),
    ],
)
def test_what_cannot_be_wrapped_is_refused_in_one_sentence(made, words):
    with pytest.raises((cl.InvalidInput, cl.InvalidProblem), match=words) as raised:
        cl.wrap(made(cp.Variable(pos=True, name="x")))
    assert len(str(raised.value)) < 250


def test_other_mistakes():
    problem = linear()
    with pytest.raises(cl.InvalidInput, match="the variable x has no value; solve the problem first"):
        cl.certify(problem)
    with pytest.raises(cl.InvalidInput, match="names must have variables and constraints of the problem; 'y' is"):
        cl.wrap(problem, names={"y": cp.Variable()})
    with pytest.raises(cl.InvalidInput, match="values must be given"):
        cl.certify(cl.PCP(cl.Graph.knn(np.eye(4), 2), cl.Links(4)))
    with pytest.raises(cl.InvalidInput, match="belongs to another"):
        cl.wrap(problem).save(cl.wrap(quadratic()).solve())


@pytest.mark.slow
def test_it_travels_to_other_processes():
    problem = semidefinite()
    problem.solve(solver="CLARABEL")  # it now holds a solver, which cannot be pickled
    value = problem.value
    wrapped = pickle.loads(pickle.dumps(cl.wrap(problem)))
    assert wrapped.solve().value == pytest.approx(value, abs=1e-5)
    (X,) = problem.variables()
    X.value = np.zeros((4, 4))
    assert cl.wrap(problem).solve(time_limit=60).value == pytest.approx(value, abs=1e-5)
    assert np.trace(C @ X.value) == pytest.approx(value, abs=1e-4)


def test_reductions_and_files(tmp_path):
    n = 5
    X = cp.Variable((n, n), symmetric=True, name="X")
    L = np.diag(np.full(n, 2.0)) - np.eye(n, k=1) - np.eye(n, k=-1)
    problem = cp.Problem(cp.Minimize(cp.trace(L @ X)), [cp.diag(X) == 1, X[0, 1] == 1, X[0, 4] == 0, X >> 0])
    wrapped = cl.wrap(problem)
    reduced = wrapped.reduce()
    assert reduced.program.sizes.psd == (n - 1,) and "merged" in reduced.why
    smaller = reduced.program.declaration.to_cvxpy()
    smaller.solve(solver="CLARABEL")
    values = {name: variable.value for name, variable in reduced.program.declaration.variables.items()}
    lifted, _ = reduced.lift.point(values, {})
    certificate = wrapped.certify(lifted)
    problem.solve(solver="CLARABEL")
    assert certificate.largest_violation < 1e-6
    assert certificate.value == pytest.approx(problem.value, abs=1e-4) == pytest.approx(smaller.value, abs=1e-4)
    path = wrapped.export(tmp_path / "program.dat-s")
    assert path.exists()
    with pytest.raises(cl.InvalidInput, match="store_problem=False"):
        wrapped.export(path, store_problem=True)


def test_nothing_of_an_earlier_solver_stays():
    problem = linear()
    problem.solve(solver="SCS")
    solution = cl.wrap(problem).solve(solver="CLARABEL")
    stats = problem.solver_stats
    assert stats.solver_name == "CLARABEL" and stats.num_iters == solution.iterations
    assert stats.solve_time == solution.timings.solve
    wrapped = cl.wrap(problem)
    failed = replace(solution, status=cl.Status.LIMIT, values={}, duals={})
    wrapped.save(failed)
    assert problem.status == "user_limit" and problem.value is None and problem.solver_stats.solver_name == "CLARABEL"
    infeasible = cp.Problem(
        cp.Minimize(problem.objective.args[0]), [*problem.constraints, problem.variables()[0] <= -1]
    )
    infeasible.solve(solver="SCS")
    with pytest.raises(cl.InfeasibleProblem):
        cl.wrap(infeasible).solve()
    assert infeasible.status == "infeasible" and infeasible.solver_stats is None
    kernel = semidefinite()
    cl.wrap(kernel).solve(route="interior-point")
    assert kernel.solver_stats.solver_name == "cvxlink, route 'interior-point'"


@pytest.mark.parametrize(
    ("values", "duals", "words"),
    [
        ({"x": np.ones(4), "y": 1}, {}, "values has 'y', and there is no such variable; there are 'x'"),
        ({"x": np.ones(4)}, {"balanse": np.ones(3)}, "duals has 'balanse', and .* there are 'balance', 'constraints"),
        (None, {"balanse": np.ones(3)}, "duals has 'balanse'"),
    ],
)
def test_names_that_nothing_has_are_refused(values, duals, words):
    problem = linear()
    problem.solve(solver="CLARABEL")
    for certify in (lambda: cl.certify(problem, values, duals), lambda: cl.wrap(problem).certify(values, duals)):
        with pytest.raises(cl.InvalidInput, match=words):
            certify()


def test_all_multipliers_of_a_solution_have_known_names():
    graph, links = cl.Graph.from_affinity(np.ones((6, 6)) - np.eye(6)), cl.Links(6, cannot=[(0, 1)])
    for problem in (cl.PCP(graph, links), cl.KP(graph, links), cl.SRCP(graph, links)):
        solution = problem.solve()
        assert cl.certify(problem, solution.values, solution.duals).relative_gap < 1e-4
    pcp = cl.PCP(graph, links).solve()
    assert "must" not in pcp.problem.declaration.constraints  # there are no must-links, so there are no such rows
    assert cl.certify(pcp.problem, pcp.values, {**pcp.duals, "must": np.zeros(0)}).has_bound
    K = cp.Variable((3, 3), PSD=True, name="K")
    declared = cl.wrap(cp.Problem(cp.Minimize(cp.trace(K)), [K[0, 1] == 1]))
    answer = declared.solve()
    assert declared.certify(answer.values, answer.duals).relative_gap < 1e-4


def test_what_cvxpy_found_infeasible_has_no_point_to_certify():
    problem = linear()
    infeasible = cp.Problem(problem.objective, [*problem.constraints, problem.variables()[0] <= -1])
    infeasible.solve(solver="CLARABEL")
    with pytest.raises(cl.InvalidInput, match=r"was found infeasible.*cl.wrap\(problem\).why_infeasible\(\)"):
        cl.certify(infeasible)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (lambda c: {"a": c[0], "b": c[0]}, "names has two names, 'a' and 'b', for one part of the problem"),
        (lambda c: {"a": [c[0], c[1]], "b": c[1]}, "names has two names, 'a' and 'b'"),
        (lambda c: {"constraints[1]": c[0]}, r"must not have 'constraints\[1\]' for a constraint"),
        (lambda c: {"cap": c[0]}, "must not have 'cap' for a constraint, which another constraint is called already"),
        (lambda c: {"": c[0]}, "names must not have an empty name"),
    ],
)
def test_names_that_are_not_clear_are_refused(names, words):
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0, x <= 3, (x <= 2).set_label("cap")])
    with pytest.raises(cl.InvalidInput, match=words):
        cl.wrap(problem, names=names(problem.constraints))
    assert list(cl.wrap(problem, names={"cap": problem.constraints[2]}).declaration.constraints)[2] == "cap"


def test_cvxpy_does_not_warn_of_how_we_read_its_sparse_variables():
    S = cp.Variable((6, 6), sparsity=[(0, 1, 4), (1, 2, 5)], name="S")
    problem = cp.Problem(cp.Minimize(cp.sum_squares(S - 1)), [cp.sum(S) <= 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrapped = cl.wrap(problem)
        assert "S = 0 outside 3 of its 36 entries" in str(wrapped)
        for solution in (wrapped.solve(), wrapped.solve("SCS")):
            assert solution.value == pytest.approx(33 + 3 / 9, abs=1e-3)
        assert cl.certify(problem).relative_gap < 1e-4
        assert not wrapped.why_infeasible().is_infeasible
        print(wrapped.explain())


@pytest.mark.parametrize(("value", "words"), [(1 + 1e-7, "1.0000001"), (-1 - 1e-7, "-1.0000001"), (2.0, "2")])
def test_numbers_that_contradict_one_another_are_shown_to_differ(value, words):
    K = cp.Variable((3, 3), symmetric=True, name="K")
    wrapped = cl.wrap(cp.Problem(cp.Minimize(cp.trace(K)), [cp.diag(K) == 1, K[0, 1] == value, K >> 0]))
    limit = "at most 1 " if value > 0 else "at least -1 "
    with pytest.raises(cl.InfeasibleProblem, match=rf"required to be {words}, but .* allow {limit}"):
        wrapped.explain()
