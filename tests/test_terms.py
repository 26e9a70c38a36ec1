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
