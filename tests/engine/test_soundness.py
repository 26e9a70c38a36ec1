"""Nothing is solved, printed or certified but the program that is declared, however a class came to declare it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms
from cvxlink.programs.declared import DeclaredProgram


class Obtuse:
    """Cannot-links at an angle of more than 101 degrees."""

    def constraints(self, K):
        return {**super().constraints(K), "cannot": terms.cannot_links_at_most(K, self.links, -0.2)}


class Mixed(Obtuse, cl.PCP):
    pass


class Overridden(cl.PCP):
    def constraints(self, K):
        return {**super().constraints(K), "cannot": terms.cannot_links_at_most(K, self.links, -0.2)}


class Grandchild(Overridden):
    pass


class MixedKP(Obtuse, cl.KP):
    pass


def adding():
    """Return a mixin that adds one constraint on the one variable."""

    class Adding:
        def constraints(self, **variables):
            (X,) = variables.values()
            return {**super().constraints(**variables), "added": self.added(X)}

    return Adding


class CappedCCSR(adding(), cl.CCSR):
    def added(self, M):
        return cp.trace(M) <= 5


class BoxedSRCP(adding(), cl.SRCP):
    def added(self, F):
        return F <= 0.05


class BoundedMinKL(adding(), cl.MinKL):
    def added(self, K):
        return cp.trace(K) <= 6


class NonnegativeNCuts(adding(), cl.NCuts):
    def added(self, X):
        return X >= 0


class Absolute:
    """Adds the absolute values to the objective."""

    def objective(self, **variables):
        (F,) = variables.values()
        return cp.Minimize(super().objective(F).args[0] + cp.sum(cp.abs(F - 0.3)))


class SparseE2CP(Absolute, cl.E2CP):
    pass


class PulledGFHF(Absolute, cl.GFHF):
    pass


@pytest.fixture(scope="module")
def given():
    X, y = cl.datasets.load("two_moons", n=16, random_state=0)
    links = cl.Links.sample(y, n_links=6, random_state=0)
    return cl.Graph.knn(X, n_neighbors=4), links, cl.sample_labels(y, per_class=2, random_state=0)


def problems(given) -> dict[str, tuple[cl.Problem, cl.Problem]]:
    """Return each changed formulation with the one it was made of."""
    graph, links, labels = given
    kernel = graph.kernel() + 0.5 * np.eye(graph.n)
    bounds = {"must_bound": 0.5, "cannot_bound": 0.5}
    return {
        "Mixed": (Mixed(graph, links), cl.PCP(graph, links)),
        "Overridden": (Overridden(graph, links), cl.PCP(graph, links)),
        "Grandchild": (Grandchild(graph, links), cl.PCP(graph, links)),
        "MixedKP": (MixedKP(graph, links), cl.KP(graph, links)),
        "CappedCCSR": (CappedCCSR(graph, links, order=4), cl.CCSR(graph, links, order=4)),
        "BoxedSRCP": (BoxedSRCP(graph, links), cl.SRCP(graph, links)),
        "SparseE2CP": (SparseE2CP(graph, links), cl.E2CP(graph, links)),
        "BoundedMinKL": (BoundedMinKL(kernel, links, **bounds), cl.MinKL(kernel, links, **bounds)),
        "NonnegativeNCuts": (NonnegativeNCuts(graph, 2), cl.NCuts(graph, 2)),
        "PulledGFHF": (PulledGFHF(graph, labels), cl.GFHF(graph, labels)),
    }


NAMES = (
    "Mixed",
    "Overridden",
    "Grandchild",
    "MixedKP",
    "CappedCCSR",
    "BoxedSRCP",
    "SparseE2CP",
    "BoundedMinKL",
    "NonnegativeNCuts",
    "PulledGFHF",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_formulation_is_solved_and_certified_as_it_declares(given, name):
    changed, original = problems(given)[name]
    reference = changed.to_cvxpy().solve(solver="CLARABEL")  # CVXPY alone, on the program as it is declared
    solution, before = changed.solve(), original.solve().value
    assert abs(reference - before) > 1e-3 * (1 + abs(before))  # it is another program
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(reference, rel=2e-4)
    assert solution.certificate.lower_bound <= reference + 1e-4 * (1 + abs(reference))
    assert type(changed.program) is DeclaredProgram  # nothing of the original's data is left


@pytest.mark.parametrize("name", NAMES)
def test_a_changed_formulation_prints_what_it_declares_and_cites_nobody(given, name):
    changed, original = problems(given)[name]
    text = str(changed)
    assert "from  " not in text and changed.about.citation is None and original.about.citation is not None
    assert changed.forms[0] == "declared" and changed.equivalents == {} and changed.prefers is None
    if "added" in changed.declaration.constraints:
        assert "added" in text and "added" in changed._repr_latex_().replace("texttt", "added")
    if isinstance(changed, cl.PCP):
        assert "≤ -0.2" in text and r"\le -0.2" in changed._repr_latex_()


def test_a_mixin_on_a_program_that_is_not_convex_is_refused_with_a_reason(given):
    class Balanced(adding(), cl.CSC):
        def added(self, f):
            return cp.sum(f) == 0.3

    graph, links, _ = given
    with pytest.raises(cl.FormUnavailable, match="Balanced is not convex.*declare it convex, or an equivalent"):
        Balanced(graph, links).solve()


def test_super_that_leads_elsewhere_takes_the_data_away(given):
    """B supplies data for its own declaration; behind it, C's mixin changes what B's ``super()`` returns."""

    class Supplies(cl.PCP):
        def constraints(self, K):
            return super().constraints(K)

        @cached_property
        def program(self):
            return cl.LinearSDP.with_fixed_entries(
                self.L,
                {
                    "unit": (np.column_stack([np.arange(self.graph.n)] * 2), 1.0),
                    "must": (self.links.must, 1.0),
                    "cannot": (self.links.cannot, 0.0),
                },
            )

    class Diamond(Supplies, Overridden):
        pass

    graph, links, _ = given
    assert isinstance(Supplies(graph, links).program, cl.LinearSDP)
    assert type(Diamond(graph, links).program) is DeclaredProgram
    reference = Diamond(graph, links).to_cvxpy().solve(solver="CLARABEL")
    assert Diamond(graph, links).solve().value == pytest.approx(reference, rel=1e-4)
    plain = cl.PCP(graph, links).solve().value
    assert Supplies(graph, links).solve().value == pytest.approx(plain, rel=1e-6)


# ---------------------------------------------------------------------- data that disagree with the declaration


@dataclass(frozen=True, eq=False)
class Distance:
    """‖x − a‖² over x ≥ 0, as data."""

    a: np.ndarray
    offset: float = 0.0
    least: float = 0.0

    def value(self, point):
        return float(((point["x"] - self.a) ** 2).sum()) + self.offset

    def violations(self, point):
        return {"positive": float(np.maximum(self.least - point["x"], 0).max())}


class Clip(cl.Route):
    name, why = "clip", "negative coordinates become zero"

    def run(self, data, settings):
        return cl.Attempt(cl.Status.OPTIMAL, "clipped", {"x": np.maximum(data.a, data.least)})


def proven(data: Distance, point: Any, duals: Any) -> cl.Certificate:
    best = np.maximum(data.a, data.least)
    return cl.Certificate(data.value(point), data.violations(point), lower_bound=data.value({"x": best}))


class Nearest(cl.Problem):
    """The nearest nonnegative vector."""

    def __init__(self, a, wrong=None):
        self.a, self.wrong = np.asarray(a, dtype=float), wrong or {}

    def variables(self):
        return {"x": cp.Variable(len(self.a))}

    def objective(self, x):
        return cp.Minimize(cp.sum_squares(x - self.a))

    def constraints(self, x):
        return {"positive": x >= 0}

    @cached_property
    def program(self):
        return cl.SpecialProgram(self, replace(Distance(self.a), **self.wrong), (Clip(),), proven)


def test_data_that_agree_are_used():
    solution = Nearest([1.0, -2.0, 3.0]).solve()
    assert solution.plan.route.name == "clip" and solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(4.0) and solution.certificate.gap == pytest.approx(0)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"offset": 1e-3}, "objective"),
        ({"a": np.array([1.0, -2.0, 3.001])}, "objective"),
        ({"least": 0.5}, "constraint 'positive'"),
    ],
)
def test_data_that_disagree_are_refused(wrong, what):
    problem = Nearest([1.0, -2.0, 3.0], wrong)
    for use in (problem.solve, problem.explain, lambda: cl.certify(problem, {"x": np.ones(3)}, {})):
        with pytest.raises(cl.InvalidProblem, match=f"disagree with its declaration.*the {what}"):
            use()


def test_data_without_an_entry_for_a_constraint_are_refused():
    class Silent(Nearest):
        def constraints(self, x):
            return {"positive": x >= 0, "below": x <= 10}

        @cached_property
        def program(self):
            return cl.SpecialProgram(self, Distance(self.a), (Clip(),), proven)

    with pytest.raises(cl.InvalidProblem, match="say nothing about the constraint 'below'"):
        Silent([1.0]).solve()


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (5, "must return a Certificate, not 5"),
        (cl.Certificate(5.0, {"positive": 0.0}, 4.0), "says that the objective is 5, and its data say 4"),
        (cl.Certificate(4.0, {"positive": 0.0}, 4.5), "is wrong: its lower bound 4.5 is above 4"),
    ],
)
def test_a_proof_that_cannot_be_right_is_refused(returned, says):
    class Proven(Nearest):
        def constraints(self, x):
            return super().constraints(x)

        @cached_property
        def program(self):
            return cl.SpecialProgram(self, Distance(self.a), (Clip(),), lambda *_: returned)

    with pytest.raises(cl.InvalidProblem, match=says):
        Proven([1.0, -2.0, 3.0]).solve()


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_certificate_with_nan_in_it_holds_nothing(order):
    violations = {"a": float("nan"), "b": 0.0}
    certificate = cl.Certificate(1.0, {name: violations[name] for name in order}, 1.0)
    assert not certificate.holds(0.1) and np.isnan(certificate.largest_violation)
    assert not cl.Certificate(1.0, {"a": 0.0}, float("nan"), 1.0).holds(0.1)
    assert not cl.Certificate(1.0, {"a": 0.0}, 1.0, distance=float("nan")).holds(0.1)


def test_linear_data_that_disagree_are_refused(given):
    class Wrong(cl.PCP):
        def variables(self):
            return super().variables()

        @cached_property
        def program(self):
            sdp = super().program.linear_sdp()
            return replace(sdp, C=1.001 * sdp.C)

    graph, links, _ = given
    with pytest.raises(cl.InvalidProblem, match="disagree with its declaration: at a sampled point the objective"):
        Wrong(graph, links).solve()


# ---------------------------------------------------------------------- asked once


def counted(problem_class, calls: dict[str, int]):
    def counting(name):
        def method(self, *arguments, **variables):
            calls[name] = calls.get(name, 0) + 1
            return getattr(super(Counting, self), name)(*arguments, **variables)

        return method

    class Counting(problem_class):
        variables, objective, constraints = map(counting, ("variables", "objective", "constraints"))

    return Counting


@pytest.mark.parametrize("how", [{}, {"solver": "CLARABEL"}, {"form": "dual"}, {"presolve": False}])
@pytest.mark.parametrize("method", ["PCP", "KP", "SRCP", "MinKL"])
def test_one_solve_asks_the_formulation_once(given, method, how):
    if method in ("SRCP", "MinKL") and "form" in how:
        pytest.skip("it is not linear, and has no dual form by that name")
    graph, links, _ = given
    calls: dict[str, int] = {}
    formulation = counted(getattr(cl, method), calls)
    if method == "MinKL":
        kernel = graph.kernel() + 0.5 * np.eye(graph.n)
        problem = formulation(kernel, links, must_bound=0.5, cannot_bound=0.5)
    else:
        problem = formulation(graph, links)
    solution = problem.solve(accuracy=1e-3, strict=False, **how)
    solution.cluster(2, random_state=0)
    assert str(problem) and str(solution.plan) and str(solution.certificate)
    assert calls == {"variables": 1, "objective": 1, "constraints": 1}


# ---------------------------------------------------------------------- what an attack found


class OnSphere(cl.Problem):
    """Smoothness on the unit sphere, with more constraints."""

    def __init__(self, graph, more):
        self.graph, self.more = graph, more

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()))

    def constraints(self, K):
        return {"unit": terms.unit_diagonal(K), **self.more(K), "psd": terms.semidefinite(K)}


def test_slices_that_go_backwards_are_part_of_the_program(given):
    problem = OnSphere(given[0], lambda K: {"sum": cp.sum(K[::-1, 0]) == 0})
    solution = problem.solve()
    assert solution.value == pytest.approx(problem.to_cvxpy().solve(solver="CLARABEL"), rel=1e-4)
    assert abs(solution.kernel[:, 0].sum()) < 1e-3 and solution.value > 1e-2


def test_a_program_of_another_problem_is_refused(given):
    class Borrowing(OnSphere):
        def constraints(self, K):
            return super().constraints(K)

        @cached_property
        def program(self):
            return cl.PCP(self.graph, cl.Links(self.graph.n)).program

    with pytest.raises(cl.InvalidProblem, match="belongs to another problem, a PCP"):
        Borrowing(given[0], lambda K: {"cannot": K[0, 1] == 0}).solve()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: {**rows, "more": (np.array([[0, 5]]), 0.0)}, "a constraint 'more' that it does not declare"),
        (
            lambda rows: {**rows, "cannot": (rows["cannot"][0][:-1], 0.0)},
            "declares . rows == in the constraint 'cannot'",
        ),
        (lambda rows: {**rows, "cannot": (rows["cannot"][0] + [0, 1], 0.0)}, "disagree.*the constraint 'cannot'"),
        (lambda rows: {**rows, "unit": (rows["unit"][0], 1.01)}, "disagree.*the constraint 'unit'"),
    ],
)
def test_one_wrong_row_among_many_is_noticed(given, change, says):
    class Changed(cl.PCP):
        def variables(self):
            return super().variables()

        @cached_property
        def program(self):
            everyone = np.arange(self.graph.n)
            rows = {"unit": (np.column_stack([everyone, everyone]), 1.0)}
            rows |= {"must": (self.links.must, 1.0), "cannot": (self.links.cannot, 0.0)}
            return cl.LinearSDP.with_fixed_entries(self.L, change(rows))

    graph, _, _ = given
    links = cl.Links(graph.n, must=[(0, 1)], cannot=[(0, 2), (3, 7), (4, 9)])
    with pytest.raises(cl.InvalidProblem, match=says):
        Changed(graph, links).solve(route="low-rank")


OUTSIDE = {
    "log": lambda x: {"c": cp.log(x) >= 0},
    "sqrt": lambda x: {"c": cp.sqrt(x) >= 1},
    "inverse": lambda x: {"c": cp.inv_pos(x) <= 1},
    "power": lambda x: {"c": cp.power(x, 1.5) <= 3},
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_points_outside_the_domain_of_a_constraint_violate_it(name):
    class Sum(cl.Problem):
        def variables(self):
            return {"x": cp.Variable(2)}

        def objective(self, x):
            return cp.Minimize(cp.sum(x))

        def constraints(self, x):
            return {**OUTSIDE[name](x), "box": cp.abs(x) <= 9}

    certificate = cl.certify(Sum(), {"x": -5 * np.ones(2)})
    assert certificate.violations["c"] > 1 and not certificate.holds(0.1)


def test_points_outside_the_domain_of_the_objective_are_not_feasible():
    class Inverse(cl.Problem):
        def variables(self):
            return {"x": cp.Variable()}

        def objective(self, x):
            return cp.Minimize(cp.inv_pos(x))

        def constraints(self, x):
            return {"most": x <= 2}

    certificate = cl.certify(Inverse(), {"x": np.array(-0.5)})
    assert certificate.violations["objective domain"] == pytest.approx(0.5)
    assert Inverse().solve().value == pytest.approx(0.5, abs=1e-4)


def test_a_problem_that_was_changed_is_declared_anew():
    problem = Nearest([1.0, -2.0])
    assert problem.solve().value == pytest.approx(4)
    problem.a = np.array([1.0, -3.0])
    assert problem.solve().value == pytest.approx(9)
