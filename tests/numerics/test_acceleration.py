"""Anderson's acceleration: exact on linear iterations, harmless on others."""

from __future__ import annotations

import numpy as np
import scipy.optimize

from cvxlink.numerics.acceleration import MEMORY, Anderson


def steps_until(step, x, plain: bool, most: int = 20_000) -> int:
    accelerated = Anderson()
    for number in range(most):
        f = step(x)
        if np.linalg.norm(f) < 1e-10:
            return number
        x = x + f if plain else accelerated.after(x, f)
    return most


def test_a_linear_iteration_in_few_unknowns_ends_at_once():
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    M, b = V * np.linspace(0.001, 1, 8) @ V.T, rng.standard_normal(8)
    start = np.zeros(8)
    assert steps_until(lambda x: b - M @ x, start, plain=False) <= 6 * MEMORY
    assert steps_until(lambda x: b - M @ x, start, plain=True) > 5000


def test_projected_gradients_lead_to_the_non_negative_least_squares_solution_sooner():
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((40, 20)) * np.logspace(0, -1, 20), rng.standard_normal(40)
    length = 1 / np.linalg.norm(A, 2) ** 2
    accelerated, x = Anderson(), np.zeros(20)

    def step(x):
        return np.maximum(x - length * (A.T @ (A @ x - b)), 0) - x

    for _ in range(2000):
        x = accelerated.after(x, step(x))
    np.testing.assert_allclose(x, scipy.optimize.nnls(A, b)[0], atol=1e-8)
    assert steps_until(step, np.zeros(20), plain=False) < steps_until(step, np.zeros(20), plain=True) / 2


def test_a_proposal_that_leads_astray_is_taken_back():
    def step(x):  # linear up to 1, hostile beyond
        return 0.01 * (2 - x) if (x < 1).all() else np.full_like(x, 50.0)

    accelerated, x, seen = Anderson(), np.zeros(3), []
    for _ in range(12):
        x = accelerated.after(x, step(x))
        seen.append(float(x.max()))
    assert max(seen) > 1  # it was tempted: the linear part ends at 2
    assert seen[-1] < 1
