"""The rows of a declaration: they are what its constraints say at any point, and CVXPY makes them once."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from cvxlink.model.declared import Declaration
from cvxlink.programs import declared_rows as module
from cvxlink.programs.declared_rows import affine_parts
from cvxlink.reductions.matrix_inequalities import faces_of_inequalities
from cvxlink.reductions.standard_form import StandardForm

RNG = np.random.default_rng(0)
N = 4
pytestmark = pytest.mark.filterwarnings("ignore:Explicitly invoking")
B = RNG.standard_normal((3, N))


def declared() -> Declaration:
    K, x = cp.Variable((N, N), symmetric=True), cp.Variable(N, nonneg=True)
    constraints = {
        "equation": [B @ x == 1],
        "inequality": [K[0] <= x + 2],
        "cone": [K >> 0, np.eye(N) - K >> 0],
        "signs": [cp.constraints.NonNeg(x - 1), cp.constraints.NonPos(cp.trace(K) - 9)],
    }
    return Declaration({"K": K, "x": x}, cp.Minimize(cp.sum_squares(x) + cp.lambda_max(K)), constraints)


def bodies(declaration: Declaration) -> list:
    """Return the constraints that have rows, each with the expression that these are."""
    (equation,), (inequality,), (_, cone), (above, below) = declaration.constraints.values()
    rows = [(equation, equation.expr), (inequality, inequality.expr), (cone, cone.args[0])]
    return [*rows, (above, above.args[0]), (below, below.args[0])]


@pytest.mark.parametrize("is_exact", [True, False])
def test_rows_are_what_the_constraints_say(is_exact):
    declaration = declared()
    x = declaration.variables["x"]
    if not is_exact:  # CVXPY approximates such a power, so there is no conic form
        declaration = Declaration(declaration.variables, cp.Minimize(cp.sum(x**3.3)), declaration.constraints)
    parts = affine_parts(declaration, [term for term, _ in bodies(declaration)])
    half = RNG.standard_normal((N, N))
    declaration.variables["K"].value, x.value = half + half.T, RNG.random(N)
    for (_, body), part in zip(bodies(declaration), parts, strict=True):
        reached = part.a + sum(part.A[name] @ v.value.ravel("F") for name, v in declaration.variables.items())
        np.testing.assert_allclose(reached, np.ravel(body.value, order="F"), atol=1e-12)


def test_variables_keep_their_values():
    declaration = declared()
    declaration.variables["x"].value = np.arange(N)
    StandardForm.of(declaration, 1000)
    np.testing.assert_array_equal(declaration.variables["x"].value, np.arange(N))


def test_it_is_compiled_once(monkeypatch):
    compiled = []
    monkeypatch.setattr(module, "whole_map", lambda given, make=module.whole_map: compiled.append(1) or make(given))
    declaration = declared()
    affine_parts(declaration, [term for term, _ in bodies(declaration)])
    faces_of_inequalities(declaration)
    form = StandardForm.of(declaration, 1000)
    form.with_room(declaration, 1000)
    assert compiled == [1] and StandardForm.of(declaration, 1000) is form
