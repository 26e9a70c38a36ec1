"""What is made of terms is printed as mathematics: negated, scaled, added, compared."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms
from cvxlink.model.typesetting import expression, plain, tex

K = cp.Variable((4, 4), symmetric=True, name="K")
A = terms.stands_for(cp.norm(K, "fro"), r"\|@ - I\|", K)
B = terms.trace_penalty(K)
SUM = terms.stands_for(cp.norm(K, "fro") + cp.trace(K), r"\|@\| + \operatorname{tr} @", K)
DIFFERENCE = terms.stands_for(cp.norm(K, "fro") - cp.trace(K), r"\|@\|-\operatorname{tr} @", K)
NEGATIVE = terms.log_det(K)
WEIGHT, MU = cp.Parameter(name="weight", nonneg=True), cp.Parameter(name="mu", nonneg=True)
UNNAMED = cp.Parameter(nonneg=True, value=2.5)
SYMBOL = terms.written_as(cp.Parameter(name="lambda_must", nonneg=True), r"\lambda_m")


@pytest.mark.parametrize(
    ("term", "text", "latex"),
    [
        (-A, "-‖K - I‖", r"-\|K - I\|"),
        (2 * A, "2 ‖K - I‖", r"2 \|K - I\|"),
        (A * 2, "2 ‖K - I‖", r"2 \|K - I\|"),
        (A / 2, "0.5 ‖K - I‖", r"0.5 \|K - I\|"),
        (1.0 * A, "‖K - I‖", r"\|K - I\|"),
        (-1 * A, "-‖K - I‖", r"-\|K - I\|"),
        (0 - (-A), "‖K - I‖", r"\|K - I\|"),
        (2 * (-3 * A), "-6 ‖K - I‖", r"-6 \|K - I\|"),
        (1e-5 * A, "1e-05 ‖K - I‖", r"1e-05 \|K - I\|"),
        (-SUM, "-(‖K‖ + tr K)", r"-(\|K\| + \operatorname{tr} K)"),
        (3 * DIFFERENCE, "3 (‖K‖-tr K)", r"3 (\|K\|-\operatorname{tr} K)"),
        (2 * NEGATIVE, "-2 log det K", r"-2 \log \det K"),
        (-NEGATIVE, "log det K", r"\log \det K"),
        (B - 0.5 * NEGATIVE, "tr K + 0.5 log det K", r"\operatorname{tr} K + 0.5 \log \det K"),
        (MU * NEGATIVE, "-μ log det K", r"-\mu \log \det K"),
        (cp.square(B - 2), "(tr K - 2)²", r"(\operatorname{tr} K - 2)^{2}"),
        (3 * cp.power(A, 3), "3 (‖K - I‖)³", r"3 (\|K - I\|)^{3}"),
        (cp.sum_squares(2 * B), "‖2 tr K‖²", r"\|2 \operatorname{tr} K\|^2"),
        (
            cp.exp(B) - cp.log(1 + B),
            "exp(tr K) - log(1 + tr K)",
            r"\exp(\operatorname{tr} K) - \log(1 + \operatorname{tr} K)",
        ),
        (A + NEGATIVE, "‖K - I‖ - log det K", r"\|K - I\| - \log \det K"),
        (WEIGHT * A, "weight ‖K - I‖", r"\text{weight} \|K - I\|"),
        (MU * SUM, "μ (‖K‖ + tr K)", r"\mu (\|K\| + \operatorname{tr} K)"),
        (2 * MU * A, "2 μ ‖K - I‖", r"2 \mu \|K - I\|"),
        (-MU * A, "-μ ‖K - I‖", r"-\mu \|K - I\|"),
        (A / MU, "‖K - I‖ / μ", r"\|K - I\| / \mu"),
        (UNNAMED * A, "2.5 ‖K - I‖", r"2.5 \|K - I\|"),
        (SYMBOL * A, "λₘ ‖K - I‖", r"\lambda_m \|K - I\|"),
        (A - B, "‖K - I‖ - tr K", r"\|K - I\| - \operatorname{tr} K"),
        (A - SUM, "‖K - I‖ - (‖K‖ + tr K)", r"\|K - I\| - (\|K\| + \operatorname{tr} K)"),
        (A + -2 * B, "‖K - I‖ - 2 tr K", r"\|K - I\| - 2 \operatorname{tr} K"),
        (2 * (A - B), "2 (‖K - I‖ - tr K)", r"2 (\|K - I\| - \operatorname{tr} K)"),
        (3 - B, "3 - tr K", r"3 - \operatorname{tr} K"),
        (sum([A, 2 * B, -A]), "‖K - I‖ + 2 tr K - ‖K - I‖", r"\|K - I\| + 2 \operatorname{tr} K - \|K - I\|"),
        (cp.sum(cp.hstack([A, -B])), "‖K - I‖ - tr K", r"\|K - I\| - \operatorname{tr} K"),
        (cp.maximum(A, 2 * B), "max(‖K - I‖, 2 tr K)", r"\max(\|K - I\|, 2 \operatorname{tr} K)"),
        (cp.max(cp.hstack([A, B, 3])), "max(‖K - I‖, tr K, 3)", r"\max(\|K - I\|, \operatorname{tr} K, 3)"),
        (-cp.minimum(B, 1), "-min(tr K, 1)", r"-\min(\operatorname{tr} K, 1)"),
        (2 * cp.abs(B - 1), "2 |tr K - 1|", r"2 |\operatorname{tr} K - 1|"),
        (A <= 3, "‖K - I‖ ≤ 3", r"\|K - I\| \le 3"),
        (B >= 3, "tr K ≥ 3", r"\operatorname{tr} K \ge 3"),
        (B == 2 * MU, "tr K = 2 μ", r"\operatorname{tr} K = 2 \mu"),
        (2 * A + B <= WEIGHT, "2 ‖K - I‖ + tr K ≤ weight", r"2 \|K - I\| + \operatorname{tr} K \le \text{weight}"),
        (A - 1 <= B, "‖K - I‖ - 1 ≤ tr K", r"\|K - I\| - 1 \le \operatorname{tr} K"),
        (terms.trace_penalty(-2 * K), "tr (-2 K)", r"\operatorname{tr} (-2 K)"),
        (cp.Maximize(-2 * A), "-2 ‖K - I‖", r"-2 \|K - I\|"),
    ],
)
def test_terms_keep_their_mathematics(term, text, latex):
    assert expression(term, {"K": K}) == text
    assert tex(term, {"K": K}) == latex


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac{1}{2} x", "½ x"),
        (r"\tfrac{1}{3}", "1/3"),
        (r"\frac{a + b}{n}", "(a + b)/n"),
        (r"\frac{\lambda}{2 n}", "λ/(2 n)"),
        (r"\sqrt{2 n}", "√(2 n)"),
        (r"\frac{1}{\sqrt{n}}", "1/(√n)"),
    ],
)
def test_fractions_and_roots_fit_on_a_line(latex, text):
    assert plain(latex) == text


def test_sums_over_different_pairs_can_be_told_apart():
    M, X = cp.Variable((2, 2), symmetric=True, name="M"), np.eye(2)
    over_must = terms.mahalanobis(M, X, [(0, 1)], symbol=r"\mathcal{M}")
    assert expression(over_must, {"M": M}) == "Σ𝓜 wᵢⱼ (xᵢ - xⱼ)ᵀ M (xᵢ - xⱼ)"


def test_what_has_no_latex_stays_in_the_words_of_cvxpy():
    assert expression(A + cp.max(K), {"K": K}) == "‖K - I‖ + max(K)"
    assert tex(A + cp.max(K), {"K": K}) == r"\|K - I\| + \texttt{max(K)}"
    assert expression(cp.multiply(np.ones(2), cp.hstack([A, B])), {"K": K}).startswith("[2]")
    other = cp.Variable((4, 4), symmetric=True, name="M")
    assert "M" in expression(2 * terms.trace_penalty(other), {"K": K})  # a variable of nobody's


def test_a_formulation_prints_weights_as_they_are():
    class Weighted(cl.Problem):
        """Two terms of one's own."""

        def variables(self):
            return {"K": cp.Variable((2, 2), symmetric=True)}

        def objective(self, K):
            size = terms.stands_for(cp.sum_squares(K), r"\|@\|^2", K)
            return cp.Minimize(1.0 * size - 0.5 * terms.trace_penalty(K))

        def constraints(self, K):
            return {"bounded": terms.trace_penalty(K) <= 1}

    lines = str(Weighted()).splitlines()
    assert lines[1].strip() == "minimise    ‖K‖² - 0.5 tr K"
    assert lines[2].split() == ["subject", "to", "tr", "K", "≤", "1", "bounded"]
    assert r"\|K\|^2 - 0.5 \operatorname{tr} K" in Weighted()._repr_latex_()
