"""Objectives read as sums of functions of single numbers: the same numbers as CVXPY's, or a refusal."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from cvxlink.errors import ReductionRefused
from cvxlink.model.declared import Declaration
from cvxlink.numerics.matrices import congruent
from cvxlink.programs.declared import read_linear_sdp
from cvxlink.programs.linear_sdp import LinearSDP
from cvxlink.programs.separable_reading import read_separable_sdp
from helpers.separable import ADDED, CONSTRAINTS, separable

N = 6
FROM, TO = np.array([0, 1, 2]), np.array([3, 4, 5])
W = np.array([0.5, 1.0, 2.0])
S = np.arange(36.0).reshape(N, N) / 36

READ = {
    "pos": (lambda K: W @ cp.pos(K[FROM, TO] - 0.2), 3),
    "neg": (lambda K: cp.sum(cp.multiply(W, cp.neg(K[FROM, TO]))), 3),
    "minimum": (lambda K: 2 - cp.sum(cp.minimum(K[FROM, TO], 0.3, 1 - K[FROM, TO])), 3),
    "two linear parts": (lambda K: cp.sum(cp.maximum(K[FROM, TO], 2 * K[0, 0] - 1)), 3),
    "abs of a matrix": (lambda K: cp.sum(cp.abs(K - S)) / 3, 36),
    "sums of columns": (lambda K: cp.sum(cp.abs(K), axis=0) @ np.arange(6.0), 36),
    "products on both sides": (lambda K: np.ones(6) @ cp.abs(K) @ np.arange(6.0), 36),
    "selected afterwards": (lambda K: W @ cp.abs(K)[FROM, TO] + cp.mean(cp.square(K[0])), 42),
    "sum of squares": (lambda K: cp.sum_squares(K - S) + cp.trace(S @ K), 36),
    "huber": (lambda K: 0.5 * cp.sum(cp.huber(K[FROM, TO] - 0.1, 0.3)) + 7, 3),
    "squared hinge": (lambda K: cp.sum(cp.square(cp.pos(K[FROM, TO] - 0.1))), 3),
    "differences": (lambda K: cp.tv(K[0]), 5),
    "linear": (lambda K: cp.trace(S @ K) + 1, 0),
}
REFUSED = {
    "norm": (lambda K: cp.norm(K[0]), "pnorm"),
    "fourth power": (lambda K: cp.sum(cp.power(K[FROM, TO], 4)), "power"),
    "largest entry": (lambda K: cp.max(K), "max"),
    "logistic": (lambda K: cp.sum(cp.logistic(K[0])), "logistic"),
    "several different maps": (lambda K: cp.sum(cp.maximum(K[FROM, TO], K[0, 0], K[1, 1])), "more than two"),
    "a square of a norm": (lambda K: cp.square(cp.norm(K[0])), "pnorm"),
    "a parameter": (lambda K: cp.Parameter(nonneg=True, value=1.0) * cp.sum(cp.pos(K[FROM, TO])), "parameters"),
}


def declared(objective, sense=cp.Minimize):
    K = cp.Variable((N, N), symmetric=True)
    return Declaration({"K": K}, sense(objective(K)), {"unit": [cp.diag(K) == 1], "psd": [K >> 0]})


@pytest.mark.parametrize("objective, count", READ.values(), ids=READ.keys())
def test_what_is_read_has_the_values_of_the_declaration(objective, count):
    declaration = declared(objective)
    program = read_separable_sdp(declaration, read_linear_sdp)
    assert len(program.losses) == count
    rng = np.random.default_rng(3)
    for size in (0.1, 1.0, 5.0):
        point = size * rng.standard_normal((N, N))
        point = point + point.T
        declaration.variables["K"].save_value(point)
        assert program.value(point) == pytest.approx(float(declaration.objective.value), rel=1e-12)


@pytest.mark.parametrize("objective, reason", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_read_is_refused(objective, reason):
    with pytest.raises(ReductionRefused, match=reason):
        read_separable_sdp(declared(objective), read_linear_sdp)


def test_a_maximisation_is_refused():
    with pytest.raises(ReductionRefused, match="maximises"):
        read_separable_sdp(declared(lambda K: -cp.sum(cp.pos(K[FROM, TO])), cp.Maximize), read_linear_sdp)


@pytest.mark.parametrize("added", ADDED)
def test_on_blocks_the_objective_is_that_of_the_spread_matrix(added):
    program = separable(added).program.separable_sdp()
    rng = np.random.default_rng(0)
    P = sp.csr_array(sp.random_array((program.n, 9), density=0.3, rng=rng))
    linear = LinearSDP(sp.csr_array(P.T @ program.linear.C @ P), (), program.linear.offset)
    V = rng.standard_normal((9, 3))
    small = program.on_blocks(P, linear).value(V @ V.T)
    assert small == pytest.approx(program.value(congruent(P, V @ V.T).toarray()), rel=1e-10)


@pytest.mark.parametrize("constrained", CONSTRAINTS)
def test_violations_are_those_of_the_declared_constraints(constrained):
    problem = separable("hinge", constrained)
    program = problem.program.separable_sdp()
    point = np.random.default_rng(0).standard_normal((program.n, program.n))
    point = point + point.T
    rows = program.violations(program.linear.violations(point))
    assert set(rows) == set(problem.declaration.constraints)
    problem.declaration.variables["K"].save_value(point)
    for name, group in problem.declaration.constraints.items():
        if name != "psd":
            assert rows[name] == pytest.approx(max(np.max(term.violation()) for term in group))
