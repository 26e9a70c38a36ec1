"""Programs that are compiled once: each solve is that of the problem with the new numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms

X, y = cl.datasets.load("iris")
GRAPH, LINKS = cl.Graph.knn(X[::10]), cl.Links.sample(y[::10], n_links=8, random_state=0)
LABELS = cl.sample_labels(y[::10], per_class=2, random_state=0)
KERNEL = GRAPH.kernel() + np.eye(15)
CASES = {
    "SRCP": (cl.SRCP(GRAPH, LINKS), "OSQP", [{"mu": 0.05}, {"mu": 2.0}, {}]),
    "LLGC": (cl.LLGC(GRAPH, LABELS), "SCS", [{"alpha": 0.9}, {"alpha": 0.1}, {}]),
    "E2CP": (cl.E2CP(GRAPH, LINKS), "CLARABEL", [{"alpha": 0.9}, {"alpha": 0.1}, {}]),
    "MinKL, bounds": (
        cl.MinKL(KERNEL, LINKS, must_bound=0.5, cannot_bound=1.0),
        "CLARABEL",
        [{"must_bound": 0.1}, {"must_bound": 0.3, "cannot_bound": 0.4}, {}],
    ),
    "MinKL, noise": (
        cl.MinKL(KERNEL, LINKS, must_noise=0.5, cannot_noise=1.0),
        "CLARABEL",
        [{"must_noise": 0.2}, {"cannot_noise": 3.0}, {}],
    ),
    "CCSR": (cl.CCSR(GRAPH, LINKS, order=5), "CLARABEL", [{"must_weight": 10.0}, {"cannot_weight": 0.0}, {}]),
}


@pytest.mark.parametrize("name", CASES)
def test_each_solve_is_that_of_the_problem_with_the_new_numbers(name):
    problem, solver, changes = CASES[name]
    prepared = problem.prepare(solver=solver)
    values = []
    for change in changes:
        solution, best = prepared.solve(**change), replace(problem, **change).solve(accuracy=1e-7)
        assert solution.status is cl.Status.OPTIMAL and solution.plan.solver == solver
        assert solution.value == pytest.approx(best.value, abs=2e-5 * (1 + abs(best.value)))
        assert solution.certificate.lower_bound <= best.value + 1e-6 * (1 + abs(best.value))
        for field, number in change.items():
            assert np.all(getattr(solution.problem, field) == number)
        assert "compiled once" in str(solution.plan)
        values.append(solution.value)
    assert len({round(value, 6) for value in values}) == len(values)  # the numbers make a difference


def test_it_compiles_once():
    problem, solver, _ = CASES["SRCP"]
    prepared = problem.prepare(solver=solver)
    prepared.solve(mu=0.1)
    program = prepared._compiled.compiled._cache.param_prog
    prepared.solve(mu=0.3)
    assert program is not None and prepared._compiled.compiled._cache.param_prog is program


def test_what_cannot_change_says_so():
    with pytest.raises(cl.FormUnavailable, match="KP has no numbers that can change"):
        cl.KP(GRAPH, LINKS).prepare()
    prepared = cl.SRCP(GRAPH, LINKS).prepare(solver="OSQP")
    with pytest.raises(cl.InvalidInput, match="'links' cannot change in a compiled program; mu can"):
        prepared.solve(links=LINKS)
    with pytest.raises(cl.InvalidInput, match="mu must be a positive number"):
        prepared.solve(mu=-1)
    with pytest.raises(cl.InvalidInput, match="accuracy"):
        cl.SRCP(GRAPH, LINKS).prepare(accuracy="x")
    with pytest.raises(cl.SolverUnavailable, match="no solver named"):
        cl.SRCP(GRAPH, LINKS).prepare(solver="nosuch")
    bounds = cl.MinKL(KERNEL, LINKS, must_bound=0.5, cannot_bound=1.0).prepare(solver="CLARABEL")
    with pytest.raises(cl.InvalidInput, match="bounds.*or noise"):
        bounds.solve(must_noise=0.1)


def test_a_formulation_of_ones_own_does_not_inherit_what_may_change():
    class Other(cl.SRCP):
        def objective(self, F):
            return super().objective(F)

    assert Other.adjustable == ()


@dataclass(frozen=True, eq=False)
class Soft(cl.Problem):
    """PCP with must-links that hold and cannot-links at a price."""

    weight: float = 1.0
    ceiling: float = 0.5

    adjustable = ("weight", "ceiling")
    hinge = True

    def variables(self):
        return {"K": cp.Variable((GRAPH.n, GRAPH.n), symmetric=True)}

    def objective(self, K):
        kept = (terms.soft_cannot_links if self.hinge else terms.cannot_sums)(K, LINKS)
        return cp.Minimize(terms.smoothness(K, GRAPH.laplacian()) + self.parameter("weight") * kept)

    def constraints(self, K):
        apart = K[0, 7] <= self.parameter("ceiling")
        return {"unit": terms.unit_diagonal(K), "must": terms.must_links(K, LINKS), "apart": apart, "psd": K >> 0}


class Linear(Soft):
    """The same as a linear semidefinite program."""

    adjustable = ("weight", "ceiling")
    hinge = False


@pytest.mark.parametrize("kind", [Soft, Linear])
@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
def test_the_dual_is_compiled_once_where_a_solve_would_take_it(kind, solver):
    prepared = kind().prepare(solver=solver)
    assert (
        kind().prepare().plan.form == prepared.plan.form == "dual"
        and "form 'dual'" in str(prepared)
        and "compiled once" in str(prepared)
    )
    compiled, values = prepared._compiled.parametrised.compiled, []
    for change in ({}, {"weight": 0.2}, {"weight": 3.0, "ceiling": 0.1}):
        solution = prepared.solve(**change)
        alone = kind(**change).solve(solver="CLARABEL")
        assert solution.status is cl.Status.OPTIMAL and "compiled once" in solution.plan.why
        assert {name: getattr(solution.problem, name) for name in change} == change  # what the certificate is about
        assert solution.value == pytest.approx(alone.value, rel=1e-4, abs=1e-5)
        assert solution.certificate.lower_bound <= alone.value + 1e-5
        assert set(solution.duals) == set(alone.duals)
        values.append(solution.value)
    assert prepared._compiled.parametrised.compiled is compiled
    assert np.ptp(values) > 0.1 and abs(values[2] - kind(weight=3.0).solve(solver="CLARABEL").value) > 0.1


def test_numbers_that_change_the_reduced_program_are_compiled_again():
    @dataclass(frozen=True, eq=False)
    class Turned(Linear):
        turn: float = 1.0

        adjustable = ("turn",)

        def constraints(self, K):
            return {**super().constraints(K), "turned": K[0, 7] + self.turn * K[0, 14] <= 1}

    prepared = Turned().prepare(solver="CLARABEL")
    for turn, words in ((1.0, "compiled once"), (2.0, "compiled again for these numbers"), (2.0, "compiled once")):
        solution = prepared.solve(turn=turn)
        assert words in solution.plan.why
        assert solution.value == pytest.approx(Turned(turn=turn).solve().value, rel=1e-4)


def test_parameters_of_a_cvxpy_problem_are_adjustable():
    x, side = cp.Variable(2, name="x"), cp.Parameter(2, name="side", value=np.ones(2))
    prepared = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= side])).prepare(solver="OSQP")
    assert prepared.solve(side=np.array([2.0, 3.0])).value == pytest.approx(13, abs=1e-3)
    assert prepared.solve(side=np.array([-1.0, 2.0])).value == pytest.approx(4, abs=1e-3)  # it may have any sign
    p = cp.Parameter(nonneg=True, name="p", value=2.0)
    with pytest.raises(cl.FormUnavailable, match="does not use its numbers in a way that CVXPY can compile once"):
        cl.wrap(cp.Problem(cp.Minimize(p**2 * cp.sum_squares(x)), [x >= 1])).prepare()
    both = (cl.wrap(cp.Problem(cp.Minimize(p * cp.sum_squares(x)), [x >= 1])) + (lambda x: cp.sum(x))).prepare()
    assert both.solve(p=3.0).value == pytest.approx(8, abs=1e-3)


@dataclass(frozen=True, eq=False)
class Sphere(cl.Problem):
    """The nearest points to 2 in a ball, with a weight that nothing checks."""

    weight: object = 1.0
    adjustable = ("weight",)

    def variables(self):
        return {"x": cp.Variable(3)}

    def objective(self, x):
        return cp.Minimize(self.parameter("weight") * cp.sum_squares(x - 2))

    def constraints(self, x):
        return {"ball": cp.norm(x) <= 1}


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a", "weight must be a number or an array of numbers, not 'a'"),
        (np.ones(2), r"weight=array\(\[1., 1.\]\) does not fit Sphere|change the shape of the program"),
        ([1.0, 2.0], r"weight=\[1.0, 2.0\] does not fit Sphere|change the shape of the program"),
    ],
)
def test_a_value_that_does_not_fit_names_the_field(value, words, solver):
    with pytest.raises(cl.InvalidInput, match=words) as caught:
        Sphere().prepare(solver).solve(weight=value)
    assert caught.value.argument == "weight"
    with pytest.raises(cl.CvxlinkError, match="weight must be a number|objective"):
        Sphere(weight="a").solve()


@pytest.mark.parametrize("name", ["strict", "verbose"])
def test_numbers_with_the_name_of_an_argument_are_refused_at_once(name):
    x, a = cp.Variable(2, name="x"), cp.Parameter(name=name, value=1.0)
    wrapped = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x - a))))
    with pytest.raises(cl.FormUnavailable, match=f"numbers called '{name}', which is an argument"):
        wrapped.prepare()
    assert wrapped.path(name, [1.0, 2.0]).optima == pytest.approx([0, 0], abs=1e-6)


def test_numbers_may_be_called_self():
    x, a = cp.Variable(2, name="x"), cp.Parameter(name="self", value=1.0)
    wrapped = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x - a))))
    assert wrapped.prepare().solve(**{"self": 3.0}).values["x"] == pytest.approx([3, 3], abs=1e-4)


def test_parameters_keep_what_makes_their_problem_convex():
    x, a = cp.Variable(2, name="x"), cp.Parameter(nonpos=True, name="a", value=-1.0)
    prepared = cl.wrap(cp.Problem(cp.Minimize(a * cp.sum(cp.log(x)) + cp.sum(x)))).prepare()
    assert prepared.solve(a=-3.0).values["x"] == pytest.approx([3, 3], rel=1e-3)  # 1 = −a/x
    M = cp.Parameter((2, 2), PSD=True, name="M", value=np.eye(2))
    with pytest.raises(cl.FormUnavailable, match="does not use its numbers in a way that CVXPY can compile once"):
        cl.wrap(cp.Problem(cp.Minimize(cp.quad_form(x, M) + cp.sum(x)))).prepare()
