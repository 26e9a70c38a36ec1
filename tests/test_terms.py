"""Terms are the equations they say, print as them, and make up whole formulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms
from cvxlink.model import typesetting as mathematics
from cvxlink.programs.coefficients import coefficients
from cvxlink.programs.declared import body_of
from helpers.gradients import by_gradient

LINKS = cl.Links(4, must=[(0, 1), (1, 2)], cannot=[(0, 3)])
# Of the vectors (1, 0), (0.6, 0.8), (0, 1), (1, 0): all products are known.
PHI = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [1.0, 0.0]])


def kernel() -> cp.Variable:
    K = cp.Variable((4, 4), symmetric=True)
    K.value = PHI @ PHI.T
    return K


def test_objective_terms_have_the_values_their_equations_give():
    K = kernel()
    W = np.array([[0, 1, 0, 2], [1, 0, 3, 0], [0, 3, 0, 1], [2, 0, 1, 0]], dtype=float)
    distances = ((PHI[:, None] - PHI[None]) ** 2).sum(axis=2)
    assert terms.smoothness(K, np.diag(W.sum(axis=1)) - W).value == pytest.approx((W * distances).sum() / 2)
    assert terms.soft_must_links(K, LINKS).value == pytest.approx((1 - 0.6) + (1 - 0.8))
    assert terms.soft_must_links(K, LINKS, weight={(2, 1): 5.0}).value == pytest.approx(0.4 + 5 * 0.2)
    assert terms.must_distances(K, LINKS, weight=[2.0, 1.0]).value == pytest.approx(2 * 0.8 + 0.4)
    assert terms.soft_cannot_links(K, LINKS).value == pytest.approx(1.0)
    assert terms.soft_cannot_links(K, LINKS, weight=2.0, margin=0.25).value == pytest.approx(1.5)
    assert terms.soft_cannot_links(-K, LINKS).value == 0
    assert terms.squared_links(K, LINKS).value == pytest.approx(0.4**2 + 0.2**2 + 1)
    assert terms.trace_penalty(K).value == pytest.approx(4)
    assert terms.nuclear_penalty(K - 2 * np.eye(4)).value == pytest.approx(
        abs(np.linalg.eigvalsh(K.value - 2 * np.eye(4))).sum()
    )
    M = cp.Variable((2, 2), symmetric=True)
    M.value = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 1 and 3
    assert terms.entropy_penalty(M).value == pytest.approx(3 * np.log(3))


def test_constraint_terms_are_violated_by_what_their_equations_say():
    K = kernel()
    assert np.max(terms.unit_diagonal(2 * K, [0, 3]).violation()) == pytest.approx(1)
    assert terms.unit_diagonal(K, [0, 3]).size == 2 and terms.unit_diagonal(K).size == 4
    np.testing.assert_allclose(terms.must_links(K, LINKS).violation(), [0.4, 0.2], atol=1e-12)
    np.testing.assert_allclose(terms.must_links_together(K, LINKS).violation(), [0.8, 0.4], atol=1e-12)
    np.testing.assert_allclose(terms.cannot_links(K, LINKS).violation(), [1.0])
    np.testing.assert_allclose(terms.cannot_links_at_most(K, LINKS, 0.25).violation(), [0.75])
    assert np.max(terms.cannot_links_at_most(-K, LINKS).violation()) == 0
    # A clustering into two and two has rows that sum to two.
    K.value = np.kron(np.eye(2), np.ones((2, 2)))
    assert np.max(terms.balance(K, 2).violation()) == 0 and np.max(terms.balance(K, 4).violation()) == 1
    assert np.max(terms.balance(K, 4, slack=0.5).violation()) == pytest.approx(0.5)
    assert np.max(terms.semidefinite(K - np.eye(4)).violation()) == pytest.approx(1)


@dataclass(frozen=True, eq=False)
class MadeOfTerms(cl.Problem):
    """PCP, written with terms and nothing else."""

    graph: cl.Graph
    links: cl.Links

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()))

    def constraints(self, K):
        return {
            "unit": terms.unit_diagonal(K),
            "must": terms.must_links(K, self.links),
            "cannot": terms.cannot_links(K, self.links),
            "psd": terms.semidefinite(K),
        }


def test_pcp_made_of_terms_is_pcp(small_pcp):
    made = MadeOfTerms(small_pcp.graph, small_pcp.links)
    solution, known = made.solve(), small_pcp.solve()
    assert solution.value == pytest.approx(known.value, abs=1e-6)
    np.testing.assert_allclose(solution.kernel, known.kernel, atol=1e-3)
    assert solution.plan.route is not None and "contraction" in str(made.explain())
    program = [line.split("minimise")[-1] for line in str(made).splitlines()[1:]]
    whole = str(small_pcp).partition("\n  from ")[0]
    expected = [line.split("minimise")[-1] for line in whole.splitlines()[1:]]
    assert program == [line.replace("L̄", "L") for line in expected]


def test_a_mixture_of_terms_and_other_expressions_prints_both():
    @dataclass(frozen=True, eq=False)
    class Mixed(MadeOfTerms):
        weight: float = 0.25

        def objective(self, K):
            return cp.Minimize(
                terms.smoothness(K, self.graph.laplacian())
                + self.weight * terms.soft_cannot_links(K, self.links)
                + cp.max(K)
            )

    K = kernel()
    graph = cl.Graph.from_affinity(np.ones((4, 4)) - np.eye(4))
    text = str(Mixed(graph, LINKS))
    assert mathematics.expression(3 * (terms.trace_penalty(K) + terms.trace_penalty(K)), {"K": K}) == "3 (tr K + tr K)"
    assert mathematics.expression(3 * terms.squared_links(K, LINKS), {"K": K}).startswith("3 (Σ𝓜")
    assert "⟨ L, K ⟩ + 0.25 Σ𝓒 wᵢⱼ max(0, Kᵢⱼ) + " in text and "(K" in text.splitlines()[1].split("+")[-1]
    latex = Mixed(graph, LINKS)._repr_latex_()
    assert r"\langle L, K \rangle + 0.25 \sum_{\mathcal{C}}" in latex and r"\texttt{" in latex


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda K: terms.soft_must_links(K, LINKS, weight=-1.0), "weight must be zero or more"),
        (lambda K: terms.soft_cannot_links(K, LINKS, weight={(0, 1): 1.0}), "not one of these links"),
        (lambda K: terms.soft_cannot_links(K, LINKS, margin="wide"), "margin must be a finite number"),
        (lambda K: terms.balance(K, 5), "n_clusters must be between 1 and 4"),
        (lambda K: terms.balance(K, 2, slack=-0.1), "slack must be zero or more"),
        (lambda K: terms.must_links(K, [(0, 1)]), "Links object"),
        (lambda K: terms.cannot_links(K, cl.Links(5, cannot=[(0, 4)])), "5 points"),
    ],
)
def test_wrong_arguments_are_named(wrong: Any, words: str):
    with pytest.raises(cl.InvalidInput, match=words):
        wrong(kernel())


def rows_of(constraint: Any, K: cp.Variable) -> None:
    """Require that a term carries the rows that CVXPY's gradient gives."""
    linear, b = constraint.rows
    A, a = by_gradient(body_of(constraint), K)
    np.testing.assert_allclose(linear.A.toarray(), A.toarray(), atol=1e-12)
    np.testing.assert_allclose(-b, a, atol=1e-12)


def test_constraints_on_links_are_their_equations_and_rows():
    K = kernel()
    cases = {
        terms.must_links_at_least(K, LINKS, 0.7): [max(0, 0.7 - K.value[i, j]) for i, j in LINKS.must],
        terms.opposite(K, LINKS): [abs(K.value[i, j] + 1) for i, j in LINKS.cannot],
        terms.same_rows(K, LINKS): [abs(K.value[i, k] - K.value[j, k]) for i, j in LINKS.must for k in range(4)],
        terms.nonnegative(K - 0.5): [max(0, 0.5 - K.value[i, j]) for i in range(4) for j in range(i, 4)],
    }
    for constraint, violations in cases.items():
        np.testing.assert_allclose(constraint.violation(), violations, atol=1e-12)
    for constraint in (*list(cases)[:3], terms.nonnegative(K)):
        rows_of(constraint, K)
    texts = [mathematics.expression(constraint, {"K": K}) for constraint in (*list(cases)[:3], terms.nonnegative(K))]
    assert texts == ["Kᵢⱼ ≥ 0.7    (i,j) ∈ 𝓜", "Kᵢⱼ = -1    (i,j) ∈ 𝓒", "Kᵢₖ = Kⱼₖ    for all k, (i,j) ∈ 𝓜", "K ≥ 0"]
    none = cl.Links(4)
    assert all(term(K, none).size == 0 for term in (terms.opposite, terms.same_rows))
    assert terms.must_links_at_least(K, none, 0.5).size == 0


def test_rows_of_assignments_are_the_same_and_not_negative():
    Z, f = cp.Variable((4, 2)), cp.Variable(4)
    Z.value, f.value = np.array([[1.0, 0], [0.5, 0.25], [0.5, 0], [-3, 0]]), np.array([1.0, 2.0, 4.0, -8.0])
    np.testing.assert_allclose(terms.same_rows(Z, LINKS).violation(), [[0.5, 0.25], [0, 0.25]])
    np.testing.assert_allclose(terms.same_rows(f, LINKS).violation(), [1, 2])
    assert np.max(terms.nonnegative(Z).violation()) == 3 and np.max(terms.nonnegative(f).violation()) == 8
    assert mathematics.expression(terms.same_rows(f, LINKS), {"f": f}) == "fᵢ = fⱼ    (i,j) ∈ 𝓜"
    # A square matrix that is not symmetric has no rows in common with its transpose.
    F = cp.Variable((4, 4))
    F.value = np.triu(np.ones((4, 4)))
    np.testing.assert_allclose(terms.same_rows(F, LINKS).violation(), abs(F.value[[0, 1]] - F.value[[1, 2]]))
    F.value = -np.triu(np.ones((4, 4)), 1)
    assert np.sum(terms.nonnegative(F).violation()) == 6


def test_rows_are_the_same_after_division_by_a_scale():
    d, K = np.array([1.0, 2.0, 0.5, 3.0]), kernel()
    K.value = np.outer(d, d)  # all rows are multiples of d, so they are equal after division by it
    for scale in (d, 1e6 * d, 1e-6 * d):
        assert np.max(terms.same_rows(K, LINKS, scale).violation()) < 1e-12
    assert np.max(terms.same_rows(K, LINKS).violation()) > 1
    constraint = terms.same_rows(kernel(), LINKS, d)
    rows_of(constraint, constraint.variables()[0])
    K.value = PHI @ PHI.T
    i, j = LINKS.must.T
    expected = abs(K.value[i] / d[i, None] - K.value[j] / d[j, None]) * (d[i] * d[j] / np.hypot(d[i], d[j]))[:, None]
    np.testing.assert_allclose(terms.same_rows(K, LINKS, d).violation(), np.sqrt(2) * expected.ravel(), atol=1e-12)
    text = mathematics.expression(terms.same_rows(K, LINKS, d), {"K": K})
    assert text == "Kᵢₖ / dᵢ = Kⱼₖ / dⱼ    for all k, (i,j) ∈ 𝓜"
    Z, f = cp.Variable((4, 2)), cp.Variable(4)
    Z.value, f.value = np.outer(d, [1.0, -2.0]), d
    for values in (Z, f):
        assert np.max(terms.same_rows(values, LINKS, d).violation()) < 1e-12
        assert np.max(terms.same_rows(values, LINKS, 1 / d).violation()) > 0.5


def test_a_vector_is_kept():
    d, K = np.array([1.0, 2.0, 0.5, 3.0]), kernel()
    constraint = terms.keeps_vector(K, d)
    np.testing.assert_allclose(constraint.violation(), abs(K.value @ d - d))
    rows_of(constraint, K)
    assert mathematics.expression(terms.keeps_vector(K, d, "w"), {"K": K}) == "K w = w"
    # The rows of a large matrix are not written out before somebody needs them.
    assert terms.keeps_vector(cp.Variable((20_000, 20_000), symmetric=True), np.ones(20_000)).size == 20_000
    F = cp.Variable((4, 4))
    F.value = np.triu(np.ones((4, 4)))
    np.testing.assert_allclose(terms.keeps_vector(F, d).violation(), abs(F.value @ d - d))


def test_the_fantope_holds_averages_of_projections_and_nothing_else():
    X, group = cp.Variable((3, 3), symmetric=True), ("trace", "psd", "below")
    for value, broken in (
        (np.diag([1.0, 1.0, 0.0]), ()),
        (np.diag([1.0, 0.5, 0.5]), ()),
        (np.diag([1.5, 0.5, 0.0]), ("below",)),
        (np.diag([1.0, 1.5, -0.5]), ("psd", "below")),
        (np.eye(3), ("trace",)),
    ):
        X.value = value
        found = terms.fantope(X, 2)
        assert tuple(found) == group
        assert tuple(name for name in group if np.max(found[name].violation()) > 1e-9) == broken
    rows_of(found["trace"], X)
    text = [mathematics.expression(found[name], {"X": X}) for name in group]
    assert text == ["tr X = 2", "X ⪰ 0", "X ⪯ I"]


def test_objectives_of_several_graphs_metrics_and_volumes():
    rng, K = np.random.default_rng(0), kernel()
    graphs = [g @ g.T for g in rng.standard_normal((3, 4, 4))]
    worst = terms.worst_of_graphs(K, graphs)
    assert worst.value == pytest.approx(
        max(sum(L[i, j] * K.value[i, j] for i in range(4) for j in range(4)) for L in graphs)
    )
    assert terms.worst_of_graphs(K, [graphs[1]]).value == pytest.approx(terms.smoothness(K, graphs[1]).value)
    lopsided = np.triu(graphs[0])  # K is symmetric, so only L + Lᵀ counts
    assert terms.worst_of_graphs(K, [lopsided]).value == pytest.approx(np.sum(lopsided * K.value))
    assert worst.is_convex() and mathematics.expression(2 * worst, {"K": K}) == "2 maxᵥ ⟨ Lᵥ, K ⟩"
    M, X, pairs, w = (
        cp.Variable((2, 2), symmetric=True),
        rng.standard_normal((5, 2)),
        [(0, 1), (2, 4), (1, 3)],
        [1.0, 2.0, 0.5],
    )
    M.value = np.array([[2.0, 0.5], [0.5, 1.0]])
    by_hand = sum(c * (X[i] - X[j]) @ M.value @ (X[i] - X[j]) for c, (i, j) in zip(w, pairs, strict=True))
    parameter = cp.Parameter(3, nonneg=True, value=w)
    for weight in (w, parameter):
        assert terms.mahalanobis(M, X, pairs, weight).value == pytest.approx(by_hand)
    assert terms.mahalanobis(M, X, LINKS.must).value == pytest.approx(
        sum((X[i] - X[j]) @ M.value @ (X[i] - X[j]) for i, j in LINKS.must)
    )
    assert terms.log_det(M).value == pytest.approx(-np.log(1.75)) and terms.log_det(M).is_convex()
    A, _ = by_gradient(terms.mahalanobis(M, X, pairs, w), M)
    known, _ = coefficients(terms.mahalanobis(M, X, pairs, w), M)
    np.testing.assert_allclose(known.toarray(), A.toarray(), atol=1e-12)
    assert mathematics.expression(terms.mahalanobis(M, X, pairs), {"M": M}) == "Σᵢⱼ wᵢⱼ (xᵢ - xⱼ)ᵀ M (xᵢ - xⱼ)"


def test_new_terms_solve_what_can_be_solved_by_hand():
    """Opposite points of a cut; the ellipse of largest volume with a given trace; the metric that two pairs leave."""

    @dataclass(frozen=True, eq=False)
    class Cut(cl.Problem):
        """A cut with opposite ends."""

        def variables(self):
            return {"K": cp.Variable((3, 3), symmetric=True)}

        def objective(self, K):
            return cp.Minimize(terms.worst_of_graphs(K, [np.diag([1.0, 0, 0]), np.ones((3, 3))]))

        def constraints(self, K):
            links = cl.Links(3, must=[(1, 2)], cannot=[(0, 1)])
            return {
                "unit": terms.unit_diagonal(K),
                "cannot": terms.opposite(K, links),
                "must": terms.must_links_at_least(K, links, -0.5),
                "psd": terms.semidefinite(K),
            }

    @dataclass(frozen=True, eq=False)
    class Volume(cl.Problem):
        """The largest volume for a trace of 3."""

        def variables(self):
            return {"K": cp.Variable((3, 3), symmetric=True)}

        def objective(self, K):
            return cp.Minimize(terms.log_det(K))

        def constraints(self, K):
            return {"trace": terms.trace_equals(K, 3), "links": terms.nonnegative(K)}

    # The third image is x of the unit sphere: ‖φ₀ + φ₁ + x‖² = 1 as φ₀ = −φ₁, and the worst of the graphs is 1.
    cut = Cut().solve()
    assert cut.value == pytest.approx(1, abs=1e-4) and cut.kernel[0, 1] == pytest.approx(-1, abs=1e-4)
    volume = Volume().solve()
    assert volume.value == pytest.approx(0, abs=1e-4)
    np.testing.assert_allclose(volume.values["K"], np.eye(3), atol=1e-2)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda K: terms.must_links_at_least(K, LINKS, "half"), "bound must be a finite number"),
        (lambda K: terms.same_rows(K[:3], LINKS), "links are on 4 points, but Z has the shape"),
        (lambda K: terms.same_rows("Z", LINKS), "Z must be a CVXPY variable"),
        (lambda K: terms.same_rows(K, LINKS, [1, 2, 3]), "scale must"),
        (lambda K: terms.same_rows(K, LINKS, [1, 2, 3, 0]), "scale must be positive"),
        (lambda K: terms.keeps_vector(K, [1, 2, 3]), "d must"),
        (lambda K: terms.keeps_vector(K, [1, 2, 3, np.nan]), "d has NaN"),
        (lambda K: terms.opposite(K, [(0, 1)]), "Links object"),
        (lambda K: terms.fantope(K, 5), "k must be between 1 and 4"),
        (lambda K: terms.worst_of_graphs(K, []), "laplacians must have at least one matrix"),
        (lambda K: terms.worst_of_graphs(K, [np.eye(3)]), "laplacians must"),
        (lambda K: terms.mahalanobis(K, np.ones((5, 3)), [(0, 1)]), "X must"),
        (lambda K: terms.mahalanobis(K, np.ones((5, 4)), [(0, 7)]), "pairs"),
        (lambda K: terms.log_det(cp.Variable((3, 3))), "K must be symmetric"),
        (lambda K: terms.written_as("K", "k"), "a CVXPY variable or parameter"),
    ],
)
def test_wrong_arguments_of_further_terms_are_named(wrong: Any, words: str):
    with pytest.raises(cl.InvalidInput, match=words):
        wrong(kernel())
