"""Searches by both solvers find the same optimum, of every kind of cone."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from cvxlink.certificates import search as module
from cvxlink.certificates.search import Budget, search
from cvxlink.reductions.standard_form import StandardForm
from helpers.programs import Program

D = np.arange(16.0).reshape(4, 4) / 10 + np.eye(4)


def matrix():
    return {"K": cp.Variable((4, 4), symmetric=True)}


PROGRAMS = {
    "rows and matrices": Program(
        matrix,
        lambda K: cp.sum(cp.multiply(D + D.T, K)),
        lambda K: {"unit": cp.diag(K) == 1, "low": K[0, 1] >= 0.2, "psd": K >> 0, "below": 3 * np.eye(4) >> K},
    ),
    "balls": Program(lambda: {"x": cp.Variable(4)}, lambda x: D[0] @ x, lambda x: {"ball": cp.norm(x - 1) <= 2}),
    "exponentials": Program(
        lambda: {"x": cp.Variable(4)}, lambda x: cp.sum(cp.exp(x)) - D[1] @ x, lambda x: {"low": x >= -1}
    ),
    "powers": Program(
        lambda: {"x": cp.Variable(3)},
        lambda x: -x[2],
        lambda x: {"power": cp.PowCone3D(x[0], x[1], x[2], 0.3), "sum": x[0] + 2 * x[1] <= 3},
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_solvers_agree(name, monkeypatch):
    form = StandardForm.of(PROGRAMS[name].declaration, 1000)
    exactly = search(form.cost, form.M, form.a, form.blocks, Budget())
    monkeypatch.setattr(module, "LARGEST_BLOCK", -1)
    monkeypatch.setattr(module, "OF_FIRST_ORDER", 1e-8)
    roughly = search(form.cost, form.M, form.a, form.blocks, Budget(), tolerance=1e-5)
    assert not np.array_equal(exactly.z, roughly.z)  # the other one was asked
    assert form.cost @ roughly.z == pytest.approx(form.cost @ exactly.z, rel=1e-5, abs=1e-6)
    # multipliers come back in the order of the rows: weak duality is tight, and slopes vanish
    assert form.a @ roughly.w == pytest.approx(form.a @ exactly.w, rel=1e-5, abs=1e-6)
    np.testing.assert_allclose(form.M.T @ roughly.w, form.cost, atol=1e-5)
