"""The base class is for strangers: these formulations are in no paper, and nothing in src knows of them."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from helpers import SOLVERS
from helpers.formulations import Boxed, MaxCut, SoftCorrelation


@pytest.fixture
def soft():
    S = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.5], [0.2, 0.5, 1.0]])
    return SoftCorrelation(S, cl.Links(3, cannot=[(0, 1)]))


@pytest.fixture
def boxed():
    rng = np.random.default_rng(0)
    graph = cl.Graph.knn(rng.standard_normal((12, 2)), 3)
    return Boxed(graph.laplacian().toarray(), np.array([[0, 1], [2, 3]]), np.array([[0, 2], [4, 5], [6, 7]]))


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS", "CVXOPT"])
def test_a_quadratic_program_of_a_stranger(soft, solver):
    # S is positive definite, so only the hinged entry moves: 2(k - 0.9)² + k has its minimum at k = 0.65.
    solution = soft.solve(solver=solver)
    expected = soft.S.copy()
    expected[0, 1] = expected[1, 0] = 0.65
    np.testing.assert_allclose(solution.kernel, expected, atol=1e-4)
    assert solution.value == pytest.approx(2 * 0.25**2 + 0.65, abs=1e-5)
    certificate = solution.certificate
    assert set(certificate.violations) >= {"unit", "psd"}
    assert abs(solution.value - certificate.lower_bound) <= 1e-4 and "Lagrange" in certificate.basis
    assert solution.status is cl.Status.OPTIMAL
    assert sorted(solution.cluster(2, random_state=0)) in ([0, 0, 1], [0, 1, 1])


def test_reductions_leave_a_soft_formulation_alone_and_say_why(soft):
    assert soft.forms == ("declared", "dual")
    plan = str(soft.explain())
    assert "contraction: left out, no two points are visibly forced together" in plan
    assert "dualisation: left out, with 6 unknowns the program is solved sooner" in plan
    assert "dualisation: left out, the dual would have" in str(soft.explain(solver="CLARABEL"))
    with pytest.raises(cl.FormUnavailable, match="no form 'paper'; it has declared, dual"):
        soft.solve(form="paper")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", ["declared", "dual"])
def test_max_cut_of_the_pentagon(solver, form):
    # Known optimum: the Lovász-type bound of the 5-cycle; adjacent vectors at 144 degrees.
    W = np.roll(np.eye(5), 1, axis=1) / 2
    W = W + W.T
    solution = MaxCut(W).solve(solver=solver, form=form)
    assert solution.value == pytest.approx(5 * np.cos(4 * np.pi / 5), abs=1e-4)
    assert solution.certificate.relative_gap < 1e-4
    np.testing.assert_allclose(np.diag(solution.values["X"]), 1, atol=1e-5)
    # The multipliers are the change of the optimum per unit of right-hand side; by symmetry all are equal.
    np.testing.assert_allclose(solution.duals["diagonal"], np.cos(4 * np.pi / 5), atol=1e-3)
    slack = W - np.diag(solution.duals["diagonal"])
    np.testing.assert_allclose(solution.duals["cone"], slack, atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("form", ["declared", "dual"])
def test_inequalities_and_constants_go_through_the_dual(boxed, solver, form):
    reference = boxed.solve(solver="CLARABEL", form="declared", presolve=False)
    solution = boxed.solve(solver=solver, form=form)
    assert solution.value == pytest.approx(reference.value, abs=1e-4)
    assert solution.certificate.lower_bound == pytest.approx(reference.value, abs=1e-3)
    assert solution.certificate.lower_bound <= reference.value + 1e-6
    np.testing.assert_allclose(solution.kernel, reference.kernel, atol=2e-2)
    assert (solution.duals["near"] <= 1e-6).all() and (solution.duals["far"] <= 1e-6).all()


def test_multipliers_are_prices(boxed):
    @dataclass(frozen=True, eq=False)
    class Shifted(Boxed):
        by: float = 0.0

        def constraints(self, K):
            near, unit = K[self.must[:, 0], self.must[:, 1]] >= 0.9, cp.diag(K) == 1
            return {"unit": unit, "near": near, "far": [K[i, j] <= 0.1 + self.by for i, j in self.cannot]}

    step = 1e-3
    ends = [Shifted(boxed.L, boxed.must, boxed.cannot, by).solve(solver="CLARABEL").value for by in (-step, step)]
    slope = (ends[1] - ends[0]) / (2 * step)
    for form in ("declared", "dual"):
        price = boxed.solve(solver="CLARABEL", form=form).duals["far"].sum()
        assert price == pytest.approx(slope, rel=2e-2)


def test_printing_without_latex_shows_the_declared_expressions(soft):
    text = str(soft)
    assert "SoftCorrelation: Nearest correlation matrix" in text
    assert "minimise" in text and "K ⪰ 0" in text and "unit" in text
    assert "[3×3]" in text and "0.9" not in text  # matrices of numbers are not printed
    latex = soft._repr_latex_()
    assert latex.startswith("$$") and r"\texttt" in latex


def test_an_undocumented_dataclass_prints_its_name_only(boxed):
    @dataclass(frozen=True, eq=False)
    class Plain(Boxed):
        pass

    Plain.__doc__ = "Plain(L: numpy.ndarray)"
    assert str(Plain(boxed.L, boxed.must, boxed.cannot)).splitlines()[0] == "Plain"


def test_to_cvxpy_is_a_plain_problem(soft):
    problem = soft.to_cvxpy()
    assert isinstance(problem, cp.Problem)
    problem.solve(solver="CLARABEL")
    assert problem.value == pytest.approx(soft.solve().value, abs=1e-6)


@pytest.mark.parametrize(
    ("part", "returns", "says"),
    [
        ("variables", {}, "variables by name"),
        ("variables", {"K": np.eye(2)}, "'K' is not a cvxpy.Variable"),
        ("objective", 3, "cvxpy.Minimize"),
        ("constraints", [True], "constraints by name"),
        ("constraints", {"unit": "K = 1"}, "'unit' contains 'K = 1'"),
    ],
)
def test_malformed_declarations_are_named(part, returns, says):
    broken = type("Broken", (MaxCut,), {part: lambda self, **_: returns})(np.eye(2))
    with pytest.raises(cl.InvalidProblem, match=says):
        broken.solve()


def test_non_convex_parts_are_named():
    class Bad(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "ring": cp.norm(X) >= 1}

    with pytest.raises(cl.InvalidProblem, match="'ring'"):
        Bad(np.eye(2)).solve()

    class Worse(MaxCut):
        def objective(self, X):
            return cp.Maximize(cp.norm(X))

    with pytest.raises(cl.InvalidProblem, match="objective"):
        Worse(np.eye(2)).solve()


def test_a_problem_without_a_kernel_says_so():
    class Vector(cl.Problem):
        def variables(self):
            return {"x": cp.Variable(2, nonneg=True)}

        def objective(self, x):
            return cp.Minimize(cp.sum(x))

        def constraints(self, x):
            return {"least": x >= 1}

    solution = Vector().solve()
    assert solution.value == pytest.approx(2, abs=1e-6)
    with pytest.raises(cl.CvxlinkError, match="override learnt"):
        solution.cluster(2)


@pytest.mark.parametrize("form", ["declared", "dual"])
def test_infeasible_and_unbounded_mean_the_same_in_both_forms(form):
    class Infeasible(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "huge": X[0, 1] + X[0, 2] >= 3}

    solution = Infeasible(np.eye(3)).solve(solver="CLARABEL", form=form, strict=False)
    assert solution.status is cl.Status.INFEASIBLE
    with pytest.raises(cl.CvxlinkError, match="no answer"):
        _ = solution.kernel
    with pytest.raises(cl.SolveFailed, match="no point satisfies") as caught:
        Infeasible(np.eye(3)).solve(solver="CLARABEL", form=form)
    assert caught.value.solution.status is cl.Status.INFEASIBLE

    class Unbounded(MaxCut):
        def constraints(self, X):
            return {"one": X[0, 0] == 1, "cone": X >> 0}

    assert Unbounded(-np.eye(3)).solve(solver="CLARABEL", form=form, strict=False).status is cl.Status.UNBOUNDED


@pytest.mark.parametrize("form", ["declared", "dual"])
def test_an_infeasible_dual_does_not_make_an_infeasible_problem_unbounded(form):
    class Neither(MaxCut):
        def constraints(self, X):
            # Together they say that the sum of all entries is −2.
            return {"first": X[0, 0] + X[0, 1] == -1, "second": X[1, 1] + X[0, 1] == -1, "cone": X >> 0}

    solution = Neither(np.diag([0.0, -1.0])).solve(solver="CLARABEL", form=form, strict=False)
    assert solution.status is cl.Status.INFEASIBLE and "proven" in solution.reason


def test_a_problem_with_semidefiniteness_alone():
    class Cone(MaxCut):
        def constraints(self, X):
            return {"cone": X >> 0}

    solution = Cone(np.eye(2)).solve()
    assert solution.value == pytest.approx(0, abs=1e-5)
    assert solution.certificate.lower_bound == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("form", ["declared", "dual"])
def test_one_by_one_matrices(form):
    assert MaxCut(np.array([[2.0]])).solve(solver="CLARABEL", form=form).value == pytest.approx(2, abs=1e-6)


@pytest.mark.parametrize("form", ["declared", "dual"])
@pytest.mark.parametrize("presolve", [True, False])
def test_a_linear_constraint_may_be_called_psd(form, presolve):
    class Named(MaxCut):
        def variables(self):
            return {"X": cp.Variable((2, 2), PSD=True)}

        def constraints(self, X):
            return {"psd": [X[0, 0] == 1, X[1, 1] == 1]}

    W = np.array([[0, 1.0], [1, 0]])
    assert Named(W).solve(solver="CLARABEL", form=form, presolve=presolve).value == pytest.approx(-2, abs=1e-5)


def test_fields_may_be_called_kernel_and_links():
    class Prior(MaxCut):
        def __init__(self, kernel, links):
            super().__init__(-kernel)
            self.kernel, self.links = kernel, links

    solution = Prior(np.ones((3, 3)), np.array([[0, 1]])).solve()
    np.testing.assert_allclose(solution.kernel, 1, atol=1e-3)
    assert set(solution.cluster(1)) == {0}


def test_a_parameter_without_a_value_is_named():
    class Parametric(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "bound": X[0, 1] <= cp.Parameter(name="t")}

    with pytest.raises(cl.InvalidProblem, match="constraint 'bound' has a parameter t without a value"):
        Parametric(np.eye(2)).solve()


def test_undeclared_variables_and_numbers_that_are_none_are_named():
    class Undeclared(MaxCut):
        def objective(self, X):
            return cp.Minimize(cp.trace(X) + cp.Variable(name="t"))

    class Infinite(MaxCut):
        def constraints(self, X):
            return {**super().constraints(X), "bound": X[0, 1] <= np.inf}

    class Complex(MaxCut):
        def variables(self):
            return {"X": cp.Variable((2, 2), hermitian=True)}

    for bad, says in (
        (Undeclared, "variable t that variables"),
        (Infinite, "'bound' has a constant"),
        (Complex, "real"),
    ):
        with pytest.raises(cl.InvalidProblem, match=says):
            bad(np.eye(2)).solve()


def test_a_formulation_may_yield_an_embedding():
    class Centred(cl.Problem):
        def variables(self):
            return {"Z": cp.Variable((6, 2))}

        def objective(self, Z):
            return cp.Minimize(cp.sum_squares(Z - np.repeat([[0, 0], [5, 5]], 3, axis=0)))

        def constraints(self, Z):
            return {"centred": cp.sum(Z, axis=0) == 0}

        def learnt(self, values):
            return cl.Learnt(embedding=values["Z"])

    solution = Centred().solve()
    labels = solution.cluster(2, random_state=0)
    assert len(set(labels[:3])) == len(set(labels[3:])) == 1 and labels[0] != labels[3]


def test_latex_becomes_plain_characters():
    from cvxlink.model.typesetting import expression, plain

    assert plain(r"\langle \bar L, K \rangle \leq \infty, K_{ij} \in S, x^2 \ge 1") == "⟨ L̄, K ⟩ ≤ ∞, Kᵢⱼ ∈ S, x² ≥ 1"
    K = cp.Variable((2, 2))
    assert expression(cp.Minimize(cp.sum(K) + cp.sum(np.eye(2) @ K)), {"K": K}) == "sum(K) + sum([2×2] @ K)"


def test_a_subclass_with_another_program_forgets_what_was_said_of_the_solution():
    class Pinned(cl.CSC):
        """The shortest vector that starts with one."""

        convex = True

        def objective(self, f):
            return cp.Minimize(cp.sum_squares(f))

        def constraints(self, f):
            return {"first": f[0] == 1}

    links = cl.Links(4, must=[(0, 1)])
    solution = Pinned(cl.Graph.from_affinity(np.ones((4, 4))), links).solve()
    assert solution.value == pytest.approx(1) and solution.measures == {} and "measure  " not in str(solution)
    with pytest.raises(cl.CvxlinkError, match="no labeling that could be stationary"):
        solution.stationarity()


@pytest.mark.parametrize("presolve", [True, False])
def test_a_contradiction_that_is_seen_without_a_solver_is_an_outcome_unless_strict(presolve):
    K = cp.Variable((2, 2), symmetric=True, name="K")
    wrapped = cl.wrap(cp.Problem(cp.Minimize(cp.trace(K)), [K[0, 0] == 0, K[0, 1] == 1, K >> 0]))
    assert wrapped.solve(strict=False, presolve=presolve).status is cl.Status.INFEASIBLE
    with pytest.raises(cl.InfeasibleProblem):
        wrapped.solve(presolve=presolve)
