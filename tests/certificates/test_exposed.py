"""The cones that replace a cone in a proof of several steps contain, or leave out, what they should."""

import numpy as np
import pytest

from cvxlink.certificates.exposed import beyond, null_vectors, products, within
from cvxlink.reductions.cones import Block, interior, into_dual, outside, packed, spanned, unpacked

HALF = 0.3
CASES = {
    "nonnegative": (Block("nonnegative", slice(0, 3)), np.array([1.0, 0, 2])),
    "an axis": (Block("second-order", slice(0, 3)), np.array([2.0, 0, -2])),
    "inside a second-order cone": (Block("second-order", slice(0, 3)), np.array([2.0, 1, 0])),
    "a matrix": (Block("semidefinite", slice(0, 6), 3), packed(np.outer([1.0, 1, 0], [1, 1, 0]))),
    "a definite matrix": (Block("semidefinite", slice(0, 6), 3), packed(np.eye(3))),
    "inside an exponential cone": (Block("exponential", slice(0, 3)), np.array([-0.5, 1, 1])),
    "up an exponential cone": (Block("exponential", slice(0, 3)), np.array([0.0, 0, 1])),
    "down an exponential cone": (Block("exponential", slice(0, 3)), np.array([-1.0, 0, 0])),
    "an edge of a power cone": (Block("power", slice(0, 3), alpha=HALF), np.array([1.0, 0, 0])),
}
DUALS = {
    **{name: CASES[name] for name in ("nonnegative", "an axis", "inside a second-order cone", "a matrix")},
    "inside the dual of an exponential cone": (Block("exponential", slice(0, 3)), np.array([-0.5, 1, 1])),
    "a price of y": (Block("exponential", slice(0, 3)), np.array([0.0, 1, 0])),
    "a price of z": (Block("exponential", slice(0, 3)), np.array([0.0, 0, 1])),
    "a price of x": (Block("power", slice(0, 3), alpha=HALF), np.array([1.0, 0, 0])),
}


def is_in(cone, s):
    picks, blocks = cone
    return all(outside(block, (picks @ s)[block.rows]) <= 1e-9 for block in blocks)


def members(block, rng, count=200):
    """Points of a cone: any numbers, moved inside as far as they have to."""
    e, size = interior([block], block.rows.stop), block.rows.stop
    for _ in range(count):
        s = rng.standard_normal(size)
        far = outside(block, s)
        while far > 0:
            s, far = s + (1e-9 + far) * e * 2, outside(block, s + (1e-9 + far) * e * 2)
        yield s


@pytest.mark.parametrize("case", CASES)
def test_what_is_beyond_contains_the_cone_and_the_whole_line(case):
    block, s = CASES[case]
    cone, rng = beyond([block], s, 1e-6), np.random.default_rng(0)
    for member in members(block, rng):
        assert is_in(cone, member - 10 * rng.random() * s)


@pytest.mark.parametrize("case", CASES)
def test_what_is_beyond_is_reached_far_out(case):
    """A point inside and any point beyond, moved far enough along s, are in the cone."""
    block, s = CASES[case]
    cone, rng, e = beyond([block], s, 1e-6), np.random.default_rng(1), interior([block], len(s_of(case)))
    found = 0
    for _ in range(300):
        point = rng.standard_normal(len(s))
        if is_in(cone, point):
            found += 1
            assert min(outside(block, e + point + far * s) for far in 10.0 ** np.arange(9)) == 0
    assert found


def s_of(case):
    return CASES[case][1]


@pytest.mark.parametrize("case", DUALS)
def test_the_part_of_a_cone_where_multipliers_vanish(case):
    """Of all members of the cone just those with wᵀs = 0 are in it."""
    block, w = DUALS[case]
    np.testing.assert_allclose(into_dual([block], w), w, atol=1e-14)
    cone, rng = within([block], w), np.random.default_rng(2)
    for member in members(block, rng):
        assert not is_in(cone, member) or abs(w @ member) < 1e-7
    assert is_in(cone, np.zeros(len(w)))


def test_members_of_that_part():
    matrix, w = DUALS["a matrix"]
    v = np.array([[1.0, 0], [-1, 0], [0, 1]])  # orthogonal to (1, 1, 0)
    assert is_in(within([matrix], w), packed(v @ np.array([[2.0, 1], [1, 3]]) @ v.T))
    cone, w = DUALS["an axis"]
    assert is_in(within([cone], w), np.array([3.0, 0, 3]))
    cone, w = DUALS["a price of y"]
    assert is_in(within([cone], w), np.array([-3.0, 0, 3]))


@pytest.mark.parametrize(
    ("block", "vector"),
    [
        (Block("second-order", slice(0, 3)), np.array([5.0, 3, 4])),
        (Block("exponential", slice(0, 3)), np.array([0.0, 1, 1])),
        (Block("power", slice(0, 3), alpha=0.5), np.array([1.0, 1, 1])),
        (Block("semidefinite", slice(0, 3), 2), packed(np.outer([1, np.sqrt(2)], [1, np.sqrt(2)]))),
    ],
)
def test_places_on_a_curved_boundary_are_refused(block, vector):
    """There rounding would change the cone by its root."""
    assert beyond([block], vector, 1e-6) is None


def test_packed_products():
    rng = np.random.default_rng(3)
    V, N = rng.standard_normal((4, 2)), rng.standard_normal((4, 3))
    S, T = (part + part.T for part in (rng.standard_normal((2, 2)), rng.standard_normal((4, 4))))
    np.testing.assert_allclose(unpacked(spanned(V) @ packed(S), 4), V @ S @ V.T, atol=1e-12)
    np.testing.assert_allclose((products(N) @ packed(T)).reshape(3, 4).T, T @ N, atol=1e-12)


def test_null_vectors_are_simple():
    S = np.outer([1.0, 1, 0], [1, 1, 0]) + 1e-9 * np.eye(3)
    N = null_vectors(S, 1e-6)
    assert N.shape == (3, 2) and set(abs(N).ravel()) <= {0.0, 1.0}
    np.testing.assert_array_equal(np.array([1, 1, 0]) @ N, 0)
