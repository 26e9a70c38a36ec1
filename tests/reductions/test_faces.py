"""Faces that linear constraints imply: K = PK'Pᵀ for every feasible K, found exactly, never by a tolerance."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.programs.declared_rows import linear_rows
from cvxlink.reductions.faces import blocks_of
from helpers.programs import Program

N = 5
V = np.array([1.0, 2.0, -1.0, 0.0, 3.0])


def face(constraints, n=N):
    """Return the face of what is written about a symmetric matrix."""
    program = Program(lambda: {"K": cp.Variable((n, n), symmetric=True)}, lambda K: cp.trace(K), constraints)
    return blocks_of(linear_rows(program.declaration, program.declaration.variables["K"])[0])


# what is written, and the vectors that every feasible matrix takes to zero
NULL = {
    "zero diagonal": (lambda K: {"c": K[1, 1] == 0}, [[0, 1, 0, 0, 0]]),
    "diagonal at most zero": (lambda K: {"c": 3 * K[1, 1] <= 0}, [[0, 1, 0, 0, 0]]),
    "fixed entries": (lambda K: {"u": cp.diag(K) == 2, "c": K[0, 3] == 2}, [[1, 0, 0, -1, 0]]),
    "opposite": (lambda K: {"u": cp.diag(K) == 1, "c": K[0, 3] == -1}, [[1, 0, 0, 1, 0]]),
    "bounds": (lambda K: {"u": cp.diag(K) <= 1, "c": K[0, 3] >= 1}, [[1, 0, 0, -1, 0]]),
    "proportional": (lambda K: {"a": K[0, 0] == 4, "b": K[1, 1] == 1, "c": 3 * K[0, 1] == 6}, [[1, -2, 0, 0, 0]]),
    "distance": (lambda K: {"c": 0.3 * (K[0, 0] + K[1, 1] - 2 * K[0, 1]) == 0}, [[1, -1, 0, 0, 0]]),
    "distance at most zero": (lambda K: {"c": K[0, 0] + K[1, 1] - 2 * K[0, 1] <= 0}, [[1, -1, 0, 0, 0]]),
    "length of a sum": (lambda K: {"c": K[0, 0] + K[1, 1] + 2 * K[0, 1] == 0}, [[1, 1, 0, 0, 0]]),
    "sum of distances": (
        lambda K: {"c": 2 * K[0, 0] + K[1, 1] + K[2, 2] - 2 * K[0, 1] - 2 * K[0, 2] <= 0},
        [[1, -1, 0, 0, 0], [1, 0, -1, 0, 0]],
    ),
    "equal rows": (lambda K: {"c": K[0] == K[1]}, [[1, -1, 0, 0, 0]]),
    "opposite rows": (lambda K: {"c": K[0] == -K[1]}, [[1, 1, 0, 0, 0]]),
    "two inequalities": (lambda K: {"c": [K[0, 0] <= K[0, 1], K[1, 1] <= K[0, 1]]}, [[1, -1, 0, 0, 0]]),
    "chain": (lambda K: {"a": cp.diag(K)[:2] == K[4, 4], "c": K[0, 1] == K[4, 4]}, [[1, -1, 0, 0, 0]]),
    "three equations": (lambda K: {"a": K[0, 0] + K[1, 1] == 2, "b": K[0, 1] == 1}, [[1, -1, 0, 0, 0]]),
    "sum of all": (lambda K: {"c": cp.sum(K) == 0}, [[1, 1, 1, 1, 1]]),
    "square": (lambda K: {"c": cp.sum(cp.multiply(np.outer(V, V), K)) == 0}, [V]),
    "product": (lambda K: {"c": K @ V == 0}, [V]),
    "trace of some": (lambda K: {"c": K[0, 0] + 0.1 * K[2, 2] == 0}, [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]),
    # K₀₀ = 0 leaves K₁₁ = K₂₂ = K₁₂ = 1 of the others
    "what follows": (
        lambda K: {"a": K[0, 0] == 0, "u": cp.diag(K)[1:3] == 1, "b": K[1, 2] + 5 * K[0, 1] == 1},
        [[1, 0, 0, 0, 0], [0, 1, -1, 0, 0]],
    ),
    "both signs": (
        lambda K: {"a": K[0] == K[1], "b": K[0] == -K[1]},
        [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NULL)
def test_null_vectors_are_found(name):
    constraints, vectors = NULL[name]
    found, vectors = face(constraints), np.array(vectors, dtype=float)
    P = found.P.toarray()
    assert P.shape == (N, N - len(vectors)) and np.linalg.matrix_rank(P) == P.shape[1]
    np.testing.assert_allclose(vectors @ P, 0, atol=1e-15)
    assert found.is_exact
    # Stiffening: −A*(v) is semidefinite, not zero, vanishes on the face, and bᵀv = 0, with v ≤ 0 for inequalities.
    M = -(found.given.T @ found.stiffening).reshape(N, N)
    assert np.linalg.eigvalsh(M)[0] > -1e-14 or name == "what follows"  # there, only on what the first vector leaves
    np.testing.assert_allclose(P.T @ M @ P, 0, atol=1e-14)
    assert abs(M).max() > 0.1
    K = np.cov(np.random.default_rng(0).normal(size=(N, 9)))
    small = found.restrict(P @ K[: P.shape[1], : P.shape[1]] @ P.T)
    np.testing.assert_allclose(small, K[: P.shape[1], : P.shape[1]], atol=1e-12)


NOTHING = {
    "nearly": lambda K: {"u": cp.diag(K) == 1, "c": K[0, 1] == 1 - 5e-16},
    "nearly zero": lambda K: {"c": K[0, 0] <= 1e-300},
    "one way": lambda K: {"c": [K[0, 1] <= K[0, 0], K[0, 1] <= K[1, 1]]},
    "lower bounds": lambda K: {"u": cp.diag(K) >= 1, "c": K[0, 1] == 1},
    "one row": lambda K: {"c": K[0, 0] == K[0, 1]},
    "indefinite": lambda K: {"c": K[0, 0] + K[1, 1] - 2.0000001 * K[0, 1] == 0},
    "other side": lambda K: {"c": K[0, 0] + K[1, 1] - 2 * K[0, 1] == 1e-200},
    "others": lambda K: {"c": (K @ V)[1:3] == 0},
    "at least": lambda K: {"c": cp.sum(K) >= 0.5},
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_is_not_implied_is_not_found(name):
    found = face(NOTHING[name])
    assert found is None or not found.is_smaller


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_every_feasible_matrix_is_on_the_face(seed):
    # Points with given places, of which some coincide, are opposite or at zero: rows that say so, hidden in any order.
    rng = np.random.default_rng(seed)
    n, place = 7, np.random.default_rng(seed).integers(0, 4, 7)
    sign = rng.choice([-1, 1], n) * (place > 0)
    X = rng.integers(-3, 4, (4, 3))[place] * sign[:, None] * 1.0
    feasible = X @ X.T
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if place[i] == place[j] and place[i] > 0]
    kinds = rng.integers(0, 3, len(pairs))

    def constraints(K):
        written = [K[i, i] == 0 for i in np.flatnonzero(place == 0)]
        for (i, j), kind in zip(pairs, kinds, strict=True):
            s = float(sign[i] * sign[j])
            if kind == 0:
                written.append(K[i] == s * K[j])
            elif kind == 1:
                written.append(K[i, i] + K[j, j] - 2 * s * K[i, j] <= 0)
            else:
                written.append(cp.hstack([K[i, i], K[j, j], K[i, j]]) == feasible[[i, j, i], [i, j, j]])
        return {"hidden": [written[k] for k in rng.permutation(len(written))]}

    found = face(constraints, n)
    blocks = len({p for p in place.tolist() if p > 0})
    P = np.eye(n) if found is None else found.P.toarray()
    assert P.shape[1] <= blocks
    small = np.linalg.pinv(P) @ feasible @ np.linalg.pinv(P).T
    np.testing.assert_allclose(P @ small @ P.T, feasible, atol=1e-10)
    if found is not None:
        residual = found.rows.rows_of(small) - found.rows.b
        assert (np.where(found.rows.is_inequality, np.maximum(residual, 0), abs(residual)) < 1e-10).all()


def test_implied_rows_are_dropped():
    def constraints(K):
        return {
            "unit": cp.diag(K) == 1,
            "must": K[0, 1] == 1,
            "cannot": K[0, 2] == 0,
            "signs": K >= 0,
            "loose": [K[2, 3] <= 0.7, 2 * K[2, 3] <= 1, K[2, 3] >= -1, K[3, 2] >= -0.5],
            "distances": K[2, 2] + K[4, 4] - 2 * K[2, 4] >= 0,
        }

    found = face(constraints)
    by_name = {g.name: len(g) for g in found.rows.rows}
    # of K ≥ 0 on four blocks: six pairs, of which one is fixed at zero; of "loose", K₂₃ ≤ 1/2 only
    assert by_name == {"unit": 4, "cannot": 1, "signs": 5, "loose": 1}
    y = np.random.default_rng(0).normal(size=len(found.rows.b))
    np.testing.assert_allclose(found.merging.restrict(found.merging.spread(y)), y, atol=1e-14)
    # Any multipliers, restricted, have the same matrix on the face, except for rows that K ⪰ 0 implies.
    z = np.random.default_rng(1).normal(size=len(found.merging.row_map)) * (found.merging.row_map >= 0)
    P = found.P.toarray()
    given = P.T @ (found.given.T @ z).reshape(N, N) @ P
    np.testing.assert_allclose(found.rows.adjoint(found.merging.restrict(z)).toarray(), given, atol=1e-12)


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (lambda K: {"a": K[0, 0] == 2, "b": 2 * K[0, 0] == 6}, r"\(0, 0\) is required to be both 2 and 3 \('a' and"),
        (lambda K: {"a": K[0, 1] <= 2, "b": K[0, 1] >= 3}, r"\(0, 1\) is required to be at most 2 and at least 3"),
        (lambda K: {"a": cp.diag(K)[1:] == -1}, r"row 0 of 'a' requires the diagonal entry \(1, 1\)"),
        (lambda K: {"u": cp.diag(K) == 1, "a": K[0, 1] == -2}, r"is required to be -2.* allow at least -1.*'a'"),
        (
            lambda K: {"u": cp.diag(K) == 1, "a": K[0, 1] == 1 + 1e-8},
            r"is required to be 1\.00000001, .* 1 and 1 .* allow at most 1 ",
        ),
        (lambda K: {"a": K[0, 0] + K[1, 1] - 2 * K[0, 1] == -1}, "'a' requires a sum of squared lengths to be -1"),
        (lambda K: {"a": K[0, 0] == 0, "b": K[0, 1] + K[2, 0] == 1}, "'b' becomes 0 == 1"),
        (lambda K: {"a": K[0, 1] - K[2, 3] == 1, "b": K[0, 1] - K[2, 3] <= 0}, "'b' contradicts 'a'.* 0.5 and 0"),
    ],
)  # fmt: skip
def test_contradictions_are_named(constraints, words):
    with pytest.raises(cl.InfeasibleProblem, match=words):
        face(constraints)


@pytest.mark.parametrize(
    "rows",
    [
        lambda K: [K[0, 0] == 1, K[1, 1] == 2, K[0, 1] == 0.3, cp.sum(K) == 3.6],
        lambda K: [K[0, 0] + K[0, 1] == 0.3, K[1, 1] + K[0, 1] == 0.3, K[0, 0] + K[1, 1] + 2 * K[0, 1] == 0.1 * 6],
    ],
)
def test_rows_that_repeat_others_up_to_rounding_prove_nothing(rows):
    """Of 0.3 + 0.3 = 0.6000000000000001 any equation would follow, and points would be merged that are apart."""
    assert face(lambda K: {"rows": rows(K)}, 2) is None
    K = cp.Variable((2, 2), symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.trace(K)), [*rows(K), K >> 0])
    solution = cl.wrap(problem).solve()
    assert solution.status is cl.Status.OPTIMAL
    problem.solve("CLARABEL")
    assert solution.value == pytest.approx(problem.value, abs=1e-6)
